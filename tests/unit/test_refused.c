/* SPDX-License-Identifier: MIT */
/*
 * membarrier refused, as containers do: "EPERM at query, at register, at
 * use; the slow path alone serves".  The lives of an arena are the same then,
 * word for word (support/scenario.h).
 *
 * A filter stays for ever, and liburcu asks at its start: so each case is a
 * program of its own, begun by a child that has the filter already.
 */
#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os.h"
#include "lend/lend.h"
#include "support/crew.h"
#include "support/demand.h"
#include "support/pattern.h"
#include "support/process.h"
#include "support/scenario.h"
#include "support/suite.h"

#define KIB ((size_t)1024)

/*
 * jemalloc makes its locks anew in a child, which ThreadSanitizer takes for
 * locks that are held for ever.
 */
#define MMAP "backend:mmap"

/* What a child says instead of 0 when the system is not what it takes. */
#define SKIPPED 77

static bool
deny(int index, uint32_t value, int error)
{
	return process_deny(SYS_membarrier, index, value, error);
}

static bool
nothing(void)
{
	return true;
}

static bool
not_permitted(void)
{
	return deny(-1, 0, EPERM);
}

static bool
not_implemented(void)
{
	return deny(-1, 0, ENOSYS);
}

static bool
no_barrier(void)
{
	return deny(0, MEMBARRIER_CMD_PRIVATE_EXPEDITED, EPERM);
}

static bool
no_registration(void)
{
	return deny(0, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, EPERM);
}

static bool
no_query(void)
{
	return deny(0, MEMBARRIER_CMD_QUERY, EPERM);
}

static const struct variant {
	const char *name;
	const char *conf;
	bool (*set)(void);
	bool running;	/* the filter comes when the program runs */
} variants[] = {
	{ "nothing refused", MMAP, nothing, false },
	{ "EPERM", MMAP, not_permitted, false },
	{ "ENOSYS", MMAP, not_implemented, false },
	{ "EPERM for the query", MMAP, no_query, false },
	{ "EPERM for the barrier itself", MMAP, no_barrier, false },
	/* Before its start liburcu does not suffer it. */
	{ "EPERM for the registration", MMAP, no_registration, true },
	{ "switched off", MMAP ",membarrier:false", nothing, false },
};

#define VARIANTS ((int)(sizeof(variants) / sizeof(variants[0])))

/* What a program with this filter writes, and we read. */
struct part {
	const struct variant *variant;
	char text[sizeof(struct transcript)];	/* the protocol first */
};

static struct part *parts;

static void
map_parts(void)
{
	parts = mmap(NULL, 2 * sizeof(*parts), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(parts != MAP_FAILED);
}

static void
unmap_parts(void)
{
	munmap(parts, 2 * sizeof(*parts));
}

static void
play(char *text, size_t size)
{
	static struct transcript transcript;

	scenario_play(&transcript);
	snprintf(text, size, "%c%s",
		 transcript.protocol == LEND_PROTOCOL_FAST ? 'F' : 'E',
		 transcript.text);
}

/* Such a program; its standard error is read. */
static int
play_alone(void)
{
	static struct part part;

	play(part.text, sizeof(part.text));
	fputs(part.text, stderr);
	return 0;
}

static int
play_part(void *arg)
{
	struct part *part = arg;
	const struct variant *variant = part->variant;

	if (!variant->set())
		return SKIPPED;
	if (!variant->running)
		return suite_again("play", variant->conf, part->text,
				   sizeof(part->text));
	setenv("LEND_CONF", variant->conf, 1);
	play(part->text, sizeof(part->text));
	return 0;
}

static bool
played(const struct variant *variant, struct part *part)
{
	int result;

	part->variant = variant;
	result = process_child(play_part, part);
	if (result == SKIPPED) {
		printf("skipped: no filters of system calls: %s\n",
		       variant->name);
		return false;
	}
	ck_assert_msg(result == 0, "%s: ended with %d: %.200s",
		      variant->name, result, part->text);
	return true;
}

/* The first line that differs, for the message. */
static void
same_text(const char *name, const char *a, const char *b)
{
	size_t i = 0, line = 0;

	while (a[i] && a[i] == b[i]) {
		if (a[i] == '\n')
			line = i + 1;
		i++;
	}
	ck_assert_msg(a[i] == b[i], "%s: '%.60s' is now '%.60s'", name,
		      a + line, b + line);
}

START_TEST(refused_makes_no_difference)
{
	const struct variant *variant = &variants[_i];
	/* Against the first, or that against the last. */
	const struct variant *other = &variants[_i ? 0 : VARIANTS - 1];

	if (!played(variant, &parts[0]) || !played(other, &parts[1]))
		return;
	if (_i > 0)
		ck_assert_int_eq(parts[0].text[0], 'E');
	same_text(variant->name, parts[1].text + 1, parts[0].text + 1);
}
END_TEST

static int
works(void *arg)
{
	(void)arg;
	return os_membarrier_register() && os_membarrier() ? 0 : SKIPPED;
}

/* Whether the system has membarrier, before anybody refuses it. */
static bool
system_has_it(void)
{
	int result = process_child(works, NULL);

	ck_assert(result == 0 || result == SKIPPED);
	if (result)
		printf("skipped: this system has no membarrier\n");
	return result == 0;
}

/* "Probe once, say so in the stats": both ways. */
START_TEST(protocol_is_told)
{
	if (system_has_it() && played(&variants[0], &parts[0]))
		ck_assert_int_eq(parts[0].text[0], 'F');
}
END_TEST

/* Refused after it had served. */

static const struct lend_req req = {
	.a_bytes = 64 * KIB, .tile_bytes = 16 * KIB, .team_scatter = 100,
	.barriers = 2
};

static struct lend_stats
stats_now(const lend_arena *arena)
{
	struct lend_stats stats;

	demand(lend_arena_stats(arena, &stats) == 0);
	return stats;
}

static lend_arena *
warm_arena(size_t limit)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	struct lend_worker loan;
	struct lend_team lease;
	lend_arena *arena;

	options.limit = limit;
	demand(lend_arena_create(&arena, &options) == 0);
	demand(lend_worker_checkout(arena, &req, &loan) == 0);
	pattern_write(loan.a, req.a_bytes, 1);
	demand(lend_worker_return(arena, &loan) == 0);
	demand(lend_team_take(arena, &req, 2, 2, &lease) == 0);
	demand(lend_team_panel(arena, &lease, 64 * KIB) == 0);
	demand(lend_team_return(arena, &lease) == 0);
	return arena;
}

static void
lend_in_thread(size_t index, void *ctx)
{
	struct lend_worker loan;

	demand(lend_worker_checkout(ctx, &req, &loan) == 0);
	pattern_write(loan.a, req.a_bytes, index);
	demand(pattern_holds(loan.a, req.a_bytes, index));
	demand(lend_worker_return(ctx, &loan) == 0);
}

/* All that was there works, but that slots cannot be trimmed. */
static void
serves_on(lend_arena *arena)
{
	struct lend_req larger = { .a_bytes = 128 * KIB };
	size_t growths = stats_now(arena).growths;
	struct lend_worker loan, nested;
	struct lend_team lease;

	demand(lend_worker_checkout(arena, &req, &loan) == 0);
	demand(stats_now(arena).growths == growths);
	demand(lend_worker_checkout(arena, &larger, &nested) == 0);
	demand(lend_arena_trim(arena) == -ENOTSUP);
	pattern_write(loan.a, req.a_bytes, 2);
	pattern_write(nested.a, larger.a_bytes, 3);
	demand(pattern_holds(loan.a, req.a_bytes, 2));
	demand(lend_worker_return(arena, &nested) == 0);
	demand(lend_worker_return(arena, &loan) == 0);
	demand(lend_worker_checkout(arena, &larger, &loan) == 0);
	demand(lend_worker_return(arena, &loan) == 0);
	demand(lend_team_take(arena, &req, 2, 2, &lease) == 0);
	demand(lend_team_panel(arena, &lease, 4 * KIB) == 0);
	demand(lend_team_return(arena, &lease) == 0);
	crew_run(2, lend_in_thread, arena);
}

/* "Worker slots are left alone"; team sets need no barrier. */
static void
sets_alone_are_trimmed(lend_arena *arena)
{
	struct lend_stats before = stats_now(arena), after;
	struct lend_worker loan;

	demand(before.panel_bytes > 0);
	demand(lend_arena_trim(arena) == -ENOTSUP);
	after = stats_now(arena);
	demand(after.panel_bytes == 0);
	demand(after.retained_bytes == req.a_bytes + req.tile_bytes);
	demand(after.leased_bytes == 0);
	demand(lend_worker_checkout(arena, &req, &loan) == 0);
	demand(lend_worker_return(arena, &loan) == 0);
	demand(stats_now(arena).growths == before.growths);
}

/* The limit holds, although there is idle storage that cannot be had. */
static void
limit_holds(lend_arena *arena)
{
	struct lend_req more = { .a_bytes = 256 * KIB };
	struct lend_team lease;
	struct lend_stats stats;

	demand(lend_team_take(arena, &req, 1, 1, &lease) == 0);
	demand(lend_team_panel(arena, &lease, more.a_bytes) == -EDQUOT);
	stats = stats_now(arena);
	demand(stats.retained_bytes <= stats.limit_bytes);
	demand(lend_team_panel(arena, &lease, 4 * KIB) == 0);
	demand(lend_team_return(arena, &lease) == 0);
}

/* A child finds out that it is refused, and goes by exchange. */
static int
child_trims(void *arg)
{
	lend_arena *arena = arg;

	demand(stats_now(arena).protocol == LEND_PROTOCOL_EXCHANGE);
	demand(lend_arena_trim(arena) == 0);
	demand(stats_now(arena).retained_bytes == 0);
	return 0;
}

static int
refused_later(void *arg)
{
	lend_arena *arena = warm_arena(0), *limited = warm_arena(256 * KIB);

	(void)arg;
	demand(stats_now(arena).protocol == LEND_PROTOCOL_FAST);
	if (!not_permitted())
		return SKIPPED;
	sets_alone_are_trimmed(arena);
	serves_on(arena);
	limit_holds(limited);
	demand(process_child(child_trims, arena) == 0);
	/* One that is made now does not fare better, or worse. */
	sets_alone_are_trimmed(warm_arena(0));
	/* Its end does not need the barrier. */
	demand(lend_arena_destroy(arena) == 0);
	demand(lend_arena_destroy(limited) == 0);
	return 0;
}

/* Switched off, it is not even tried: the mere call would be the end. */
static bool
kill_at_membarrier(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]), .filter = filter
	};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int
never_called(void *arg)
{
	lend_arena *arena;

	(void)arg;
	if (setenv("LEND_CONF", MMAP ",membarrier:false", 1) ||
	    !kill_at_membarrier())
		return SKIPPED;
	arena = warm_arena(0);
	demand(stats_now(arena).protocol == LEND_PROTOCOL_EXCHANGE);
	demand(lend_arena_trim(arena) == 0);
	demand(stats_now(arena).retained_bytes == 0);
	crew_run(2, lend_in_thread, arena);
	demand(lend_arena_trim(arena) == 0);
	demand(process_child(child_trims, arena) == 0);
	return 0;
}

START_TEST(switched_off_is_not_tried)
{
	int result = process_child(never_called, NULL);

	if (result == SKIPPED)
		printf("skipped: no filters of system calls\n");
	else
		ck_assert_int_eq(result, 0);
}
END_TEST

START_TEST(refused_later_breaks_nothing)
{
	int result;

	if (!system_has_it())
		return;
	setenv("LEND_CONF", MMAP, 1);
	result = process_child(refused_later, NULL);
	if (result == SKIPPED)
		printf("skipped: no filters of system calls\n");
	else
		ck_assert_int_eq(result, 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("membarrier refused");
	TCase *refused = suite_case(suite, "refused");

	if (suite_role())
		return play_alone();
	tcase_add_checked_fixture(refused, map_parts, unmap_parts);
	tcase_add_loop_test(refused, refused_makes_no_difference, 0,
			    VARIANTS);
	tcase_add_test(refused, protocol_is_told);
	tcase_add_test(refused, switched_off_is_not_tried);
	tcase_add_test(refused, refused_later_breaks_nothing);
	return suite_run(suite);
}
