/* SPDX-License-Identifier: MIT */
/* Statistics: the struct, the text, the bytes in huge pages, the print. */
#include "lend/arena.h"

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/crew.h"
#include "support/fault.h"
#include "support/json.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/process.h"
#include "support/suite.h"

#define TEXT 4096

static const struct lend_req some = {
	.a_bytes = 10000, .tile_bytes = 5000, .worker_scatter = 300,
	.team_scatter = 512, .barriers = 3,
};

/* The arena's text, whole, parsed.  It must be one object and nothing else. */
static void
read_text(const lend_arena *arena, char text[TEXT], struct json *json)
{
	ssize_t n = lend_arena_stats_json(arena, text, TEXT);

	ck_assert_int_gt(n, 0);
	ck_assert_int_lt(n, TEXT);
	ck_assert_uint_eq(strlen(text), (size_t)n);
	if (!json_parse(json, text))
		ck_abort_msg("no object: %s", text);
}

static void
assert_number(const struct json *json, const char *key, uint64_t value)
{
	uint64_t number;

	if (!json_number(json, key, &number))
		ck_abort_msg("no number '%s'", key);
	if (number != value)
		ck_abort_msg("%s is %" PRIu64 ", not %" PRIu64, key, number,
			     value);
}

static void
assert_string(const struct json *json, const char *key, const char *value)
{
	const char *string = json_string(json, key);

	if (!string)
		ck_abort_msg("no string '%s'", key);
	ck_assert_str_eq(string, value);
}

static void
assert_agree(const lend_arena *arena, const char *name)
{
	struct lend_stats stats = stats_of(arena);
	char text[TEXT];
	struct json json;
	size_t huge;

	read_text(arena, text, &json);
	ck_assert_uint_eq(json.n, 21);
	assert_string(&json, "name", name);
	assert_number(&json, "key", stats.key);
	assert_number(&json, "retained_bytes", stats.retained_bytes);
	assert_number(&json, "leased_bytes", stats.leased_bytes);
	assert_number(&json, "panel_bytes", stats.panel_bytes);
	assert_number(&json, "limit_bytes", stats.limit_bytes);
	assert_number(&json, "slots_idle", stats.slots_idle);
	assert_number(&json, "slots_out", stats.slots_out);
	assert_number(&json, "sets_idle", stats.sets_idle);
	assert_number(&json, "sets_out", stats.sets_out);
	assert_number(&json, "buffer_bytes", stats.buffer_bytes);
	assert_number(&json, "buffers_idle", stats.buffers_idle);
	assert_number(&json, "buffers_out", stats.buffers_out);
	assert_number(&json, "growths", stats.growths);
	assert_number(&json, "reentrant", stats.reentrant);
	assert_number(&json, "abandoned", stats.abandoned);
	assert_number(&json, "adopted", stats.adopted);
	assert_number(&json, "trims", stats.trims);
	assert_string(&json, "protocol",
		      stats.protocol == LEND_PROTOCOL_FAST ? "fast"
							   : "exchange");
	assert_string(&json, "backend", stats.backend);
	if (lend_arena_huge_bytes(arena, &huge) == 0)
		assert_number(&json, "huge_bytes", huge);
	else
		ck_assert(json_is_null(&json, "huge_bytes"));
}

struct visit {
	lend_arena *arena;
	bool keep;	/* the loan out, when the thread ends */
	int error;
};

static void
visit_main(size_t index, void *ctx)
{
	struct visit *visit = ctx;
	struct lend_worker loan;

	(void)index;
	visit->error = lend_worker_checkout(visit->arena, &some, &loan);
	if (!visit->error && !visit->keep)
		visit->error = lend_worker_return(visit->arena, &loan);
}

static void
send_visitor(lend_arena *arena, bool keep)
{
	struct visit visit = { .arena = arena, .keep = keep };

	crew_run(1, visit_main, &visit);
	ck_assert_int_eq(visit.error, 0);
}

/* The struct and the text, in a state where no two counts are alike. */
START_TEST(the_text_says_what_the_struct_says)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	struct lend_team lease[3];
	struct lend_worker loan, nested;
	struct lend_stats stats;
	lend_arena *arena;

	options.name = "plain";
	options.limit = (size_t)1 << 40;
	arena = arena_of(&options);
	assert_agree(arena, "plain");
	for (int i = 0; i < 9; i++)
		send_visitor(arena, i % 2 == 0);
	for (int i = 0; i < 7; i++)
		ck_assert_int_eq(lend_arena_trim(arena), 0);
	loan = checkout(arena, &some);
	for (int i = 0; i < 3; i++) {
		nested = checkout(arena, &some);
		checkin(arena, &nested);
	}
	for (int i = 0; i < 3; i++)
		lease[i] = take(arena, &some);
	ck_assert_int_eq(lend_team_panel(arena, &lease[0], 100000), 0);
	give_back(arena, &lease[2]);
	assert_agree(arena, "plain");
	stats = stats_of(arena);
	ck_assert_uint_eq(stats.slots_out, 1);
	ck_assert_uint_eq(stats.sets_out, 2);
	ck_assert_uint_eq(stats.sets_idle, 1);
	ck_assert_uint_eq(stats.panel_bytes, 131072);
	ck_assert_uint_eq(stats.limit_bytes, (size_t)1 << 40);
	give_back(arena, &lease[0]);
	give_back(arena, &lease[1]);
	checkin(arena, &loan);
	assert_agree(arena, "plain");
	arena_end(arena);
}
END_TEST

/* Each counter counts its own thing, and nothing else does. */
START_TEST(counters_count)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_worker loan, nested, inner;
	struct lend_stats stats;

	send_visitor(arena, false);
	send_visitor(arena, true);	/* adopts the first one's slot */
	send_visitor(arena, true);
	stats = stats_of(arena);
	ck_assert_uint_eq(stats.adopted, 2);
	ck_assert_uint_eq(stats.abandoned, 2);
	ck_assert_uint_eq(stats.growths, 3);
	ck_assert_uint_eq(stats.reentrant + stats.trims, 0);
	ck_assert_uint_eq(stats.slots_idle, 1);
	loan = checkout(arena, &some);	/* the main thread's: adopted too */
	nested = checkout(arena, &some);
	inner = checkout(arena, &some);
	checkin(arena, &inner);
	checkin(arena, &nested);
	checkin(arena, &loan);
	stats = stats_of(arena);
	ck_assert_uint_eq(stats.reentrant, 2);
	ck_assert_uint_eq(stats.adopted, 3);
	ck_assert_uint_eq(stats.growths, 3);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(lend_arena_trim(arena), 0);
	ck_assert_uint_eq(stats_of(arena).trims, 5);
	ck_assert_uint_eq(stats_of(arena).abandoned, 2);
	loan = checkout(arena, &some);
	checkin(arena, &loan);
	ck_assert_uint_eq(stats_of(arena).growths, 6);
	arena_end(arena);
}
END_TEST

START_TEST(null_is_refused)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_stats stats;
	char text[16];
	size_t bytes = 5;

	ck_assert_int_eq(lend_arena_stats(NULL, &stats), -EINVAL);
	ck_assert_int_eq(lend_arena_stats(arena, NULL), -EINVAL);
	ck_assert_int_eq(lend_arena_huge_bytes(NULL, &bytes), -EINVAL);
	ck_assert_int_eq(lend_arena_huge_bytes(arena, NULL), -EINVAL);
	ck_assert_int_eq(lend_arena_stats_json(NULL, text, 16), -EINVAL);
	ck_assert_int_eq(lend_arena_stats_json(NULL, NULL, 0), -EINVAL);
	ck_assert_int_eq(lend_arena_stats_json(arena, NULL, 1), -EINVAL);
	ck_assert_uint_eq(bytes, 5);
	arena_end(arena);
}
END_TEST

/* "Returns the length of the whole text, as snprintf does": for every size. */
START_TEST(the_text_is_cut_as_snprintf_does)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	char whole[TEXT], text[TEXT];
	lend_arena *arena;
	size_t length;

	options.name = "\"quoted\"\n";
	arena = arena_of(&options);
	length = (size_t)lend_arena_stats_json(arena, whole, TEXT);
	ck_assert_uint_eq(strlen(whole), length);
	ck_assert_int_eq(lend_arena_stats_json(arena, NULL, 0),
			 (ssize_t)length);
	for (size_t size = 0; size < length + 3; size++) {
		size_t kept = size <= length ? size : length + 1;

		memset(text, '~', sizeof(text));
		ck_assert_int_eq(lend_arena_stats_json(arena, text, size),
				 (ssize_t)length);
		if (kept > 0) {
			ck_assert_mem_eq(text, whole, kept - 1);
			ck_assert_int_eq(text[kept - 1], '\0');
		}
		ck_assert_int_eq(text[kept], '~');
	}
	arena_end(arena);
}
END_TEST

static const char *const names[] = {
	"", "plain", "two words", "\"", "\\", "a\"b\\c/d", "\n\r\t\b\f",
	"\x01\x02\x1f\x7f end", "snow\xe2\x98\x83man", "{\"key\":1}",
	/* As many as are kept, each six bytes long in the text. */
	"\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1",
};

#define NAMES (sizeof(names) / sizeof(names[0]))

/* Whatever the name is: the text stays an object, and says the name. */
START_TEST(names_are_escaped)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	lend_arena *arena;

	options.name = names[_i];
	arena = arena_of(&options);
	assert_agree(arena, names[_i]);
	arena_end(arena);
}
END_TEST

#define NOT "\xef\xbf\xbd"	/* U+FFFD, which says: not a character */

/* Names that are not UTF-8, or only just, and what the text calls them. */
static const struct { const char *name, *text; } bytes[] = {
	{ "\xff", NOT }, { "caf\xe9", "caf" NOT }, { "\x80" "a", NOT "a" },
	/* Cut short, by another character and by the end. */
	{ "\xc3.", NOT "." }, { "\xe2\x98", NOT NOT },
	{ "\xf0\x9f\x98\"", NOT NOT NOT "\"" },
	/* Longer than needed. */
	{ "\xc1\xbf", NOT NOT }, { "\xc2\x80", "\xc2\x80" },
	{ "\xe0\x9f\xbf", NOT NOT NOT }, { "\xe0\xa0\x80", "\xe0\xa0\x80" },
	{ "\xf0\x8f\xbf\xbf", NOT NOT NOT NOT },
	{ "\xf0\x90\x80\x80", "\xf0\x90\x80\x80" },
	/* Surrogates, and what is beside them; the last character. */
	{ "\xed\xa0\x80", NOT NOT NOT }, { "\xed\x9f\xbf", "\xed\x9f\xbf" },
	{ "\xee\x80\x80", "\xee\x80\x80" },
	{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
	{ "\xf4\x90\x80\x80", NOT NOT NOT NOT }, { "\xf5", NOT },
	{ "\xf0\x9f\x98\x80\xff", "\xf0\x9f\x98\x80" NOT },
};

/* "The text is JSON": UTF-8 whatever bytes the name has. */
START_TEST(bytes_that_are_no_characters_are_replaced)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	lend_arena *arena;

	options.name = bytes[_i].name;
	arena = arena_of(&options);
	assert_agree(arena, bytes[_i].text);
	arena_end(arena);
}
END_TEST

#define LARGE ((size_t)64 << 20)

/* "How much of the retained storage is backed by huge pages." */
START_TEST(huge_bytes_are_those_in_huge_pages)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_req req = worker_req(LARGE, 0, 0);
	struct lend_worker loan;
	size_t huge = 1;
	int error = lend_arena_huge_bytes(arena, &huge);

	/* A kernel that does not tell. */
	if (error == 0) {
		ck_assert_uint_eq(huge, 0);
		loan = checkout(arena, &req);
		/* There, but not in memory. */
		ck_assert_int_eq(lend_arena_huge_bytes(arena, &huge), 0);
		ck_assert_uint_eq(huge, 0);
		pattern_stain(loan.a, LARGE, 1);
		ck_assert_int_eq(lend_arena_huge_bytes(arena, &huge), 0);
		ck_assert_uint_le(huge, LARGE);
		if (process_huge_pages())
			ck_assert_uint_gt(huge, 0);
		assert_agree(arena, "");
		checkin(arena, &loan);
		ck_assert_int_eq(lend_arena_trim(arena), 0);
		ck_assert_int_eq(lend_arena_huge_bytes(arena, &huge), 0);
		ck_assert_uint_eq(huge, 0);
	}
	arena_end(arena);
}
END_TEST

/* Parts that a process plays for us, each with another LEND_CONF. */

/* Writes its arena's text to standard error. */
static int
play_text(void)
{
	char text[TEXT];
	lend_arena *arena;

	if (lend_arena_create(&arena, NULL) ||
	    lend_arena_stats_json(arena, text, sizeof(text)) < 0)
		return 1;
	fprintf(stderr, "%s", text);
	return lend_arena_destroy(arena) ? 2 : 0;
}

/* Destroys one arena, is refused another, and leaves that and a third. */
static int
play_print(void)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	struct lend_req req = worker_req(4096, 0, 0);
	struct lend_worker loan;
	lend_arena *gone, *busy, *idle;

	options.name = "gone";
	if (lend_arena_create(&gone, &options))
		return 1;
	options.name = names[NAMES - 1];
	options.limit = SIZE_MAX;
	if (lend_arena_create(&idle, &options))
		return 2;
	options.name = "busy";
	if (lend_arena_create(&busy, &options))
		return 3;
	if (lend_worker_checkout(busy, &req, &loan) ||
	    lend_arena_destroy(busy) != -EBUSY)
		return 4;
	return lend_arena_destroy(gone) ? 5 : 0;
}

static int
play(const char *role)
{
	return strcmp(role, "text") ? play_print() : play_text();
}

static bool
membarrier_serves(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 &&
	       (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

static void
assert_field(const char *conf, const char *key, const char *value)
{
	char text[TEXT];
	struct json json;

	ck_assert_int_eq(suite_again("text", conf, text, sizeof(text)), 0);
	if (!json_parse(&json, text))
		ck_abort_msg("no object: %s", text);
	assert_string(&json, key, value);
}

START_TEST(protocol_and_backend_are_those_in_use)
{
	assert_field("", "protocol",
		     membarrier_serves() ? "fast" : "exchange");
	assert_field("membarrier:false", "protocol", "exchange");
	assert_field("backend:mmap", "backend", "mmap");
#ifdef LEND_HAVE_JEMALLOC
	assert_field("backend:jemalloc", "backend", "jemalloc");
	assert_field("", "backend", "jemalloc");
#else
	assert_field("", "backend", "mmap");
#endif
}
END_TEST

/* One line each: "lend: ", an object, the end.  Returns what follows. */
static char *
assert_line(char *line, const char *name, uint64_t slots_out)
{
	char *end = strchr(line, '\n');
	struct json json;

	ck_assert_ptr_nonnull(end);
	*end = '\0';
	ck_assert_int_eq(strncmp(line, "lend: ", 6), 0);
	if (!json_parse(&json, line + 6))
		ck_abort_msg("no object: %s", line);
	assert_string(&json, "name", name);
	assert_number(&json, "slots_out", slots_out);
	return end + 1;
}

/* At destroy, and at exit for the arenas that are still there. */
START_TEST(statistics_are_printed_where_asked_for)
{
	char text[TEXT], *line = text;

	ck_assert_int_eq(suite_again("print", "stats_print:true", text,
				     sizeof(text)), 0);
	line = assert_line(line, "gone", 0);
	line = assert_line(line, names[NAMES - 1], 0);
	line = assert_line(line, "busy", 1);
	ck_assert_str_eq(line, "");
	ck_assert_int_eq(suite_again("print", "", text, sizeof(text)), 0);
	ck_assert_str_eq(text, "");
}
END_TEST

static void
add_tests(Suite *suite)
{
	TCase *counts = watched_case(suite, "counts");
	TCase *text = watched_case(suite, "text");
	TCase *again = watched_case(suite, "again");

	tcase_add_test(counts, counters_count);
	tcase_add_test(counts, huge_bytes_are_those_in_huge_pages);
	tcase_add_test(counts, null_is_refused);
	tcase_add_test(text, the_text_says_what_the_struct_says);
	tcase_add_test(text, the_text_is_cut_as_snprintf_does);
	tcase_add_loop_test(text, names_are_escaped, 0, NAMES);
	tcase_add_loop_test(text, bytes_that_are_no_characters_are_replaced, 0,
			    sizeof(bytes) / sizeof(bytes[0]));
	tcase_add_test(again, protocol_and_backend_are_those_in_use);
	tcase_add_test(again, statistics_are_printed_where_asked_for);
}

int
main(void)
{
	Suite *suite;

	if (suite_role())
		return play(suite_role());
	suite = suite_create("stats");
	add_tests(suite);
	return suite_run(suite);
}
