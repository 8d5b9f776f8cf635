/* SPDX-License-Identifier: MIT */
/* Runs the program `counted`, which lies beside this one, and reads it. */
#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena/layout.h"
#include "bench/contenders.h"
#include "bench/figures.h"
#include "bench/report.h"

extern char **environ;

/* Writes the path of the program beside this one. */
static bool
find_program(char *path, size_t size, const char *name)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 1);
	char *slash;
	size_t left;

	if (length < 0)
		return false;
	path[length] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	left = size - (size_t)(slash + 1 - path);
	return (size_t)snprintf(slash + 1, left, "%s", name) < left;
}

/* Starts it; its standard output comes from *out.  0: it could not. */
static pid_t
start(const struct figures_plan *plan, FILE **out)
{
	char path[PATH_MAX], turns[32];
	char *argv[] = { path, turns, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], error;
	pid_t child = 0;

	snprintf(turns, sizeof(turns), "%zu", plan->counted_loans);
	if (!find_program(path, sizeof(path), "counted") || pipe(ends))
		return 0;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	posix_spawn_file_actions_addclose(&actions, ends[1]);
	error = posix_spawn(&child, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	*out = fdopen(ends[0], "r");
	return error ? 0 : child;
}

static void
report_count(const char *key, int threads, double loans, double count)
{
	struct report_row *row = report_add(key, threads, "/loan", "count");

	row->ours = count < 0 ? NAN : count / loans;
	report_aim(row, AIM_VALUE_AT_MOST, 0);
	if (count < 0)
		report_note(row, "could not be counted here");
	else
		report_note(row, "%.0f in %.0f loans, worker and team in turn",
			    count, loans);
}

void
figures_counted(const struct figures_plan *plan)
{
	double loans, syscalls, calls, growths;
	FILE *out = NULL;
	pid_t child = start(plan, &out);
	int threads, status, lines = 0;

	while (child && out &&
	       fscanf(out, "%d %lf %lf %lf %lf", &threads, &loans, &syscalls,
		      &calls, &growths) == 5) {
		report_count("steady-syscalls", threads, loans, syscalls);
		report_count("steady-allocations", threads, loans, calls);
		report_count("steady-growths", threads, loans, growths);
		lines++;
	}
	if (out)
		fclose(out);
	if (child)
		waitpid(child, &status, 0);
	if (lines == 0) {
		report_count("steady-syscalls", 1, 1, -1);
		report_count("steady-allocations", 1, 1, -1);
	}
}

static void
report_bytes(const char *key, size_t bytes, double most)
{
	struct report_row *row = report_add(key, 1, "bytes", "count");

	row->ours = (double)bytes;
	report_aim(row, AIM_VALUE_AT_MOST, most);
}

void
figures_bookkeeping(void)
{
	report_bytes("bytes-slot", LEND_SLOT_BYTES, 256);
	report_bytes("bytes-set", LEND_SET_BYTES, 256);
	report_bytes("bytes-table-entry", LEND_TABLE_ENTRY_BYTES, 16);
}
