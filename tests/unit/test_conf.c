/* SPDX-License-Identifier: MIT */
/* LEND_CONF: src/base/conf.c, and what an arena makes of it. */
#include "base/conf.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lend/lend.h"
#include "support/capture.h"
#include "support/loans.h"
#include "support/suite.h"

/* Parses and returns how many lines of complaint that gave, see said. */
static char said[4096];

static int
parse(struct conf *conf, const char *text)
{
	int lines = 0;

	memset(conf, 0xff, sizeof(*conf));
	capture_begin();
	conf_parse(conf, text);
	capture_end(said, sizeof(said));
	for (const char *p = said; (p = strchr(p, '\n')); p++)
		lines++;
	return lines;
}

static const struct conf defaults = {
	.buffer_cache = (size_t)64 << 20, .membarrier = true, .fork = true
};

static void
assert_conf(const struct conf *conf, const struct conf *want)
{
	ck_assert_str_eq(conf->backend, want->backend);
	ck_assert_str_eq(conf->kernel, want->kernel);
	ck_assert_uint_eq(conf->buffer_cache, want->buffer_cache);
	ck_assert_uint_eq(conf->limit, want->limit);
	ck_assert_int_eq(conf->trace, want->trace);
	ck_assert_int_eq(conf->hugetlb, want->hugetlb);
	ck_assert_int_eq(conf->membarrier, want->membarrier);
	ck_assert_int_eq(conf->fork, want->fork);
	ck_assert_int_eq(conf->stats_print, want->stats_print);
}

/* `text` is taken silently and gives `want`. */
static void
assert_parsed(const char *text, const struct conf *want)
{
	struct conf conf;

	ck_assert_int_eq(parse(&conf, text), 0);
	ck_assert_str_eq(said, "");
	assert_conf(&conf, want);
}

/* `text` gives one complaint that has `word` in it, and changes nothing. */
static void
assert_refused(const char *text, const char *word)
{
	struct conf conf;

	ck_assert_msg(parse(&conf, text) == 1, "'%s': '%s'", text, said);
	ck_assert_ptr_nonnull(strstr(said, "LEND_CONF"));
	ck_assert_msg(strstr(said, word) != NULL, "'%s': '%s'", text, said);
	assert_conf(&conf, &defaults);
}

START_TEST(nothing_gives_the_defaults)
{
	assert_parsed(NULL, &defaults);
	assert_parsed("", &defaults);
}
END_TEST

/* Each key sets its own field alone, to either value. */
START_TEST(each_flag_is_set)
{
	struct conf conf;

	conf = defaults;
	assert_parsed("trace:false", &conf);
	conf.trace = true;
	assert_parsed("trace:true", &conf);
	conf = defaults;
	assert_parsed("hugetlb:false", &conf);
	conf.hugetlb = true;
	assert_parsed("hugetlb:true", &conf);
	conf = defaults;
	assert_parsed("membarrier:true", &conf);
	conf.membarrier = false;
	assert_parsed("membarrier:false", &conf);
	conf = defaults;
	assert_parsed("fork:true", &conf);
	conf.fork = false;
	assert_parsed("fork:false", &conf);
	conf = defaults;
	assert_parsed("stats_print:false", &conf);
	conf.stats_print = true;
	assert_parsed("stats_print:true", &conf);
}
END_TEST

/* The units are the limit's, below. */
START_TEST(buffer_cache_is_a_size)
{
	struct conf conf = defaults;

	conf.buffer_cache = 0;
	assert_parsed("buffer_cache:0", &conf);
	conf.buffer_cache = (size_t)3 << 20;
	assert_parsed("buffer_cache:3M", &conf);
	assert_refused("buffer_cache:", "buffer_cache");
	assert_refused("buffer_cache:true", "true");
}
END_TEST

START_TEST(backend_is_a_word)
{
	struct conf conf = defaults;

	strcpy(conf.backend, "mmap");
	assert_parsed("backend:mmap", &conf);
	strcpy(conf.backend, "jemalloc");
	assert_parsed("backend:jemalloc", &conf);
	/* As long as there is room for. */
	strcpy(conf.backend, "fifteen-letters");
	assert_parsed("backend:fifteen-letters", &conf);
	assert_refused("backend:sixteen-letters!", "sixteen-letters!");
	assert_refused("backend:", "backend");
}
END_TEST

START_TEST(limit_has_units)
{
	static const struct {
		const char *text;
		size_t value;
	} cases[] = {
		{ "limit:0", 0 },
		{ "limit:1", 1 },
		{ "limit:0012", 12 },
		{ "limit:4096", 4096 },
		{ "limit:1K", (size_t)1 << 10 },
		{ "limit:3k", (size_t)3 << 10 },
		{ "limit:512M", (size_t)512 << 20 },
		{ "limit:7m", (size_t)7 << 20 },
		{ "limit:2G", (size_t)2 << 30 },
		{ "limit:2g", (size_t)2 << 30 },
		{ "limit:5T", (size_t)5 << 40 },
		{ "limit:5t", (size_t)5 << 40 },
		/* The largest that there are. */
		{ "limit:18446744073709551615", SIZE_MAX },
		{ "limit:18014398509481983K", SIZE_MAX - 0x3ff },
		{ "limit:16777215T", SIZE_MAX - (((size_t)1 << 40) - 1) },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf conf = defaults;

		conf.limit = cases[i].value;
		assert_parsed(cases[i].text, &conf);
	}
}
END_TEST

/* One more than fits is refused, with every unit; it never wraps. */
START_TEST(limit_that_overflows_is_refused)
{
	static const char *const texts[] = {
		"limit:18446744073709551616",
		"limit:18446744073709551625",
		"limit:99999999999999999999999999",
		"limit:18014398509481984K",
		"limit:17592186044416M",
		"limit:17179869184G",
		"limit:16777216T",
		"limit:18446744073709551615T",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_refused(texts[i], strchr(texts[i], ':') + 1);
}
END_TEST

START_TEST(limit_that_is_no_size_is_refused)
{
	static const char *const texts[] = {
		"limit:", "limit:K", "limit:M", "limit:1KK", "limit:1KB",
		"limit:-1", "limit:+1", "limit:0x10", "limit: 1", "limit:1 ",
		"limit:1.5G", "limit:1Q", "limit:K1", "limit:true",
		"limit:1:2",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_refused(texts[i], "'limit'");
}
END_TEST

START_TEST(flag_that_is_no_flag_is_refused)
{
	static const char *const keys[] = {
		"trace", "hugetlb", "membarrier", "fork", "stats_print"
	};
	static const char *const values[] = {
		"", "1", "0", "yes", "no", "TRUE", "tru", "truee", "true ",
		" false", "false:true",
	};
	char text[64];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]);
		     j++) {
			snprintf(text, sizeof(text), "%s:%s", keys[i],
				 values[j]);
			assert_refused(text, keys[i]);
		}
	}
}
END_TEST

START_TEST(unknown_key_is_refused)
{
	static const char *const texts[] = {
		"colour:red", "LIMIT:1", "limi:1", "limits:1", "limit :1",
		"limit :1", "stats-print:true", "backends:mmap",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char key[32];

		strcpy(key, texts[i]);
		*strchr(key, ':') = '\0';
		assert_refused(texts[i], "unknown");
		ck_assert_ptr_nonnull(strstr(said, key));
	}
	assert_refused(":1", "unknown");
}
END_TEST

START_TEST(key_without_a_value_is_refused)
{
	assert_refused("trace", "'trace'");
	assert_refused("limit=1K", "'limit=1K'");
	assert_refused("limit;1K", "'limit;1K'");
}
END_TEST

/* What is wrong is skipped, one line each; what is right holds. */
START_TEST(the_rest_holds_beside_what_is_refused)
{
	struct conf conf, want = defaults;

	want.limit = 1024;
	want.trace = true;
	want.fork = false;
	ck_assert_int_eq(parse(&conf, "limit:1K,limit:x,colour:red,trace:true,"
			       "trace:maybe,oops,fork:false"), 4);
	assert_conf(&conf, &want);
	ck_assert_ptr_nonnull(strstr(said, "bad value 'x' for 'limit'"));
	ck_assert_ptr_nonnull(strstr(said, "unknown key 'colour'"));
	ck_assert_ptr_nonnull(strstr(said, "bad value 'maybe' for 'trace'"));
	ck_assert_ptr_nonnull(strstr(said, "'oops'"));
}
END_TEST

START_TEST(all_at_once_and_the_last_one_wins)
{
	struct conf want = {
		.backend = "mmap", .kernel = "avx2", .buffer_cache = 5,
		.limit = 3072,
		.trace = true,
		.hugetlb = true, .stats_print = true,
	};

	assert_parsed("buffer_cache:5,limit:1K,kernel:avx2,stats_print:true,"
		      "backend:jemalloc,trace:true,hugetlb:true,"
		      "membarrier:false,fork:false,limit:2K,backend:mmap,limit:3K", &want);
}
END_TEST

START_TEST(empty_pieces_are_nothing)
{
	struct conf want = defaults;

	assert_parsed(",", &want);
	assert_parsed(",,,,", &want);
	want.trace = true;
	want.limit = 1024;
	assert_parsed(",,trace:true,,,limit:1K,", &want);
}
END_TEST

/* However long it is, a complaint is one line and quotes its beginning. */
START_TEST(long_text_is_quoted_shortly)
{
	char text[3000];
	struct conf conf;

	memset(text, 'k', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(parse(&conf, text), 1);
	ck_assert_uint_lt(strlen(said), 200);
	ck_assert_ptr_nonnull(strstr(said, "kkkkkkkkkkkkkkkk"));
	text[1500] = ':';
	ck_assert_int_eq(parse(&conf, text), 1);
	ck_assert_uint_lt(strlen(said), 200);
	memcpy(text, "trace:", 6);
	ck_assert_int_eq(parse(&conf, text), 1);
	ck_assert_uint_lt(strlen(said), 200);
	assert_conf(&conf, &defaults);
}
END_TEST

/*
 * The library reads LEND_CONF once, at the first arena: each role below is
 * played by a process of its own, whose exit status tells.
 */

static int
play_defaults(void)
{
	struct lend_req req = worker_req(4096, 4096, 0);
	struct lend_stats stats;
	struct lend_worker loan;
	lend_arena *arena;

	if (lend_arena_create(&arena, NULL) ||
	    lend_arena_stats(arena, &stats))
		return 1;
	if (stats.limit_bytes != 65536 || strcmp(stats.backend, "mmap") ||
	    stats.protocol != LEND_PROTOCOL_EXCHANGE)
		return 2;
	if (lend_worker_checkout(arena, &req, &loan) ||
	    lend_worker_return(arena, &loan))
		return 3;
	req.a_bytes = 65536;
	if (lend_worker_checkout(arena, &req, &loan) != -EDQUOT)
		return 4;
	return lend_arena_destroy(arena) ? 5 : 0;
}

static int
play_options(void)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	struct lend_stats stats;
	lend_arena *arena;

	options.limit = 1 << 20;
	if (lend_arena_create(&arena, &options) ||
	    lend_arena_stats(arena, &stats))
		return 1;
	if (stats.limit_bytes != 1 << 20)
		return 2;
	return lend_arena_destroy(arena) ? 3 : 0;
}

static void
add_capacity(const struct lend_trace_record *record, void *ctx)
{
	*(size_t *)ctx += record->capacity;
}

static int
play_trace(void)
{
	struct lend_req req = worker_req(4096, 4096, 0);
	struct lend_worker loan;
	lend_arena *arena;
	size_t grown = 0;

	if (lend_arena_create(&arena, NULL) ||
	    lend_worker_checkout(arena, &req, &loan) ||
	    lend_worker_return(arena, &loan))
		return 1;
	if (lend_trace_take(arena, add_capacity, &grown) != 2 ||
	    grown != 8192)
		return 2;
	return lend_arena_destroy(arena) ? 3 : 0;
}

static int
play_backend(void)
{
	lend_arena *arena = NULL;

	if (lend_arena_create(&arena, NULL) != -EINVAL)
		return 1;
	return lend_arena_create(&arena, NULL) == -EINVAL && !arena ? 0 : 2;
}

/* One arena that is destroyed, one that is there when the process ends. */
static int
play_print(void)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	lend_arena *gone, *left;

	options.name = "gone";
	if (lend_arena_create(&gone, &options))
		return 1;
	options.name = "left";
	if (lend_arena_create(&left, &options))
		return 2;
	return lend_arena_destroy(gone) ? 3 : 0;
}

static int
play(const char *role)
{
	if (strcmp(role, "defaults") == 0)
		return play_defaults();
	if (strcmp(role, "options") == 0)
		return play_options();
	if (strcmp(role, "trace") == 0)
		return play_trace();
	if (strcmp(role, "backend") == 0)
		return play_backend();
	if (strcmp(role, "print") == 0)
		return play_print();
	return 127;
}

/* Runs the role; what it says is in `said`. */
static int
ask(const char *role, const char *conf)
{
	return suite_again(role, conf, said, sizeof(said));
}

START_TEST(defaults_of_an_arena_come_from_the_environment)
{
	ck_assert_int_eq(ask("defaults",
			     "limit:64K,backend:mmap,membarrier:false"), 0);
	ck_assert_str_eq(said, "");
	ck_assert_int_eq(ask("trace", "trace:true"), 0);
	/* By default there is no tracing. */
	ck_assert_int_eq(ask("trace", ""), 2);
}
END_TEST

START_TEST(what_a_program_has_set_stays)
{
	ck_assert_int_eq(ask("options", "limit:64K"), 0);
}
END_TEST

START_TEST(unknown_backend_makes_no_arena)
{
	ck_assert_int_eq(ask("backend", "backend:punchcards"), 0);
	ck_assert_ptr_nonnull(strstr(said, "punchcards"));
}
END_TEST

START_TEST(statistics_are_printed_at_destroy_and_at_exit)
{
	const char *gone, *left;

	ck_assert_int_eq(ask("print", "stats_print:true"), 0);
	gone = strstr(said, "\"name\":\"gone\"");
	left = strstr(said, "\"name\":\"left\"");
	ck_assert_ptr_nonnull(gone);
	ck_assert_ptr_nonnull(left);
	ck_assert(gone < left);
	/* Once each. */
	ck_assert_ptr_null(strstr(gone + 1, "\"name\":\"gone\""));
	ck_assert_ptr_null(strstr(left + 1, "\"name\":\"left\""));
	ck_assert_int_eq(ask("print", "stats_print:false"), 0);
	ck_assert_str_eq(said, "");
}
END_TEST

int
main(void)
{
	Suite *suite;
	TCase *text, *use;

	if (suite_role())
		return play(suite_role());
	suite = suite_create("conf");
	text = suite_case(suite, "text");
	tcase_add_test(text, buffer_cache_is_a_size);
	tcase_add_test(text, nothing_gives_the_defaults);
	tcase_add_test(text, each_flag_is_set);
	tcase_add_test(text, backend_is_a_word);
	tcase_add_test(text, limit_has_units);
	tcase_add_test(text, limit_that_overflows_is_refused);
	tcase_add_test(text, limit_that_is_no_size_is_refused);
	tcase_add_test(text, flag_that_is_no_flag_is_refused);
	tcase_add_test(text, unknown_key_is_refused);
	tcase_add_test(text, key_without_a_value_is_refused);
	tcase_add_test(text, the_rest_holds_beside_what_is_refused);
	tcase_add_test(text, all_at_once_and_the_last_one_wins);
	tcase_add_test(text, empty_pieces_are_nothing);
	tcase_add_test(text, long_text_is_quoted_shortly);
	use = suite_case(suite, "use");
	tcase_add_test(use, defaults_of_an_arena_come_from_the_environment);
	tcase_add_test(use, what_a_program_has_set_stays);
	tcase_add_test(use, unknown_backend_makes_no_arena);
	tcase_add_test(use, statistics_are_printed_at_destroy_and_at_exit);
	return suite_run(suite);
}
