/* SPDX-License-Identifier: MIT */
#include "support/family.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem/init.h"
#include "support/audit.h"
#include "support/demand.h"
#include "support/fault.h"
#include "support/suite.h"

/* Longer than any child takes under the slowest tool. */
#define HANGING_SECONDS 100

static void
count_begin(void)
{
	/* First: it chooses the backend that the counting stands before. */
	ck_assert_int_eq(lend__init(), 0);
	fault_install(NULL);
}

static void
count_end(void)
{
	size_t left = fault_counts().extent_bytes;

	fault_uninstall();
	ck_assert_uint_eq(left, 0);
}

TCase *
family_case(Suite *suite, const char *name)
{
	TCase *tcase = suite_case(suite, name);

	tcase_add_checked_fixture(tcase, count_begin, count_end);
	return tcase;
}

int
family_fork(void (*fn)(void *arg), void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(HANGING_SECONDS);
		fn(arg);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : 128 + WTERMSIG(status);
}

void
demand_accounts(void)
{
	struct audit audit = audit_process();

	if (audit.wrong)
		demand_failed(__FILE__, __LINE__, audit.wrong);
	demand(audit.retained + audit.privates == fault_counts().extent_bytes);
}

struct lend_stats
stats_now(const lend_arena *arena)
{
	struct lend_stats stats;

	demand(lend_arena_stats(arena, &stats) == 0);
	return stats;
}

void
demand_end(lend_arena *arena)
{
	demand(lend_arena_trim(arena) == 0);
	demand(stats_now(arena).retained_bytes == 0);
	demand_accounts();
	demand(lend_arena_destroy(arena) == 0);
}
