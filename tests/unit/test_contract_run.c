/* SPDX-License-Identifier: MIT */
/*
 * `lend contract` when its engine fails, is wrong, or is interrupted: what it
 * then exits with, says, and leaves.
 */
#include "tools/contract.h"

#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/suite.h"
#include "tools/cleanup.h"
#include "tools/message.h"

#define N 60
#define TEXT 1024

/* What the engine does wrong. */
enum fault {
	FAULT_NONE, FAULT_ELEMENT, FAULT_MEMORY, FAULT_LIMIT, FAULT_OTHER,
	FAULT_SIGNAL, FAULT_CUT, FAULT_CHANGE
};

static char directory[] = "/tmp/test_contract_run_XXXXXX";
static enum fault fault;
static int number;	/* of the signal */

static void
touch_input(enum fault what)
{
	int fd = open("a.npy", O_WRONLY);

	ck_assert_int_ge(fd, 0);
	if (what == FAULT_CUT)
		ck_assert(!ftruncate(fd, 128));
	else
		ck_assert(!futimens(fd, NULL) && write(fd, "\x93", 1) == 1);
	close(fd);
}

static int
refuse_with(struct lend_error *why, int error)
{
	strcpy(why->text, "refused on purpose");
	return error;
}

/* In place of the library's. */
int
lend_plan_execute(const lend_plan *plan, lend_arena *arena,
		  const struct lend_exec *exec, const struct lend_call *call,
		  struct lend_error *why)
{
	int (*real)(const lend_plan *plan, lend_arena *arena,
		    const struct lend_exec *exec,
		    const struct lend_call *call, struct lend_error *why);
	int error;

	*(void **)&real = dlsym(RTLD_NEXT, "lend_plan_execute");
	if (fault == FAULT_MEMORY)
		return refuse_with(why, -ENOMEM);
	if (fault == FAULT_LIMIT)
		return refuse_with(why, -EDQUOT);
	if (fault == FAULT_OTHER)
		return refuse_with(why, -EINVAL);
	if (fault == FAULT_SIGNAL)
		raise(number);
	if (fault == FAULT_CUT)
		touch_input(fault);
	error = real(plan, arena, exec, call, why);
	if (fault == FAULT_ELEMENT)
		((double *)call->c)[N + 3] += 1e-9;
	if (fault == FAULT_CHANGE)
		touch_input(fault);
	return error;
}

static void
write_input(const char *path)
{
	struct npy_header header = { .type = LEND_F64, .rank = 2,
				     .extent = { N, N } };
	struct npy_output output;

	ck_assert(npy_create(&output, path, &header, NULL));
	for (size_t i = 0; i < header.extent[0] * header.extent[1]; i++)
		((double *)output.data)[i] = (double)(i % 7);
	ck_assert(npy_commit(&output, NULL));
}

static void
set_up(void)
{
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert(!chdir(directory));
	write_input("a.npy");
	write_input("b.npy");
	/* The times of a change must differ. */
	ck_assert(!utimensat(AT_FDCWD, "a.npy",
			     (struct timespec[]){ { 1, 0 }, { 1, 0 } }, 0));
}

static void
tear_down(void)
{
	char command[128];

	ck_assert(!chdir("/"));
	snprintf(command, sizeof command, "rm -rf %s", directory);
	ck_assert(!system(command));
}

/* In a child: with the signals' handlers, and as the program would exit. */
static void
run(int error_output)
{
	struct contract_options options = {
		.einsum = "ab,bc->ac", .path = { "a.npy", "b.npy" },
		.output = "c.npy", .threads = 1, .repeat = 1, .verify = true,
		.quiet = true, .alpha = { 1, 0 }, .limit = 1 << 30,
	};

	dup2(error_output, STDERR_FILENO);
	if (number)
		signal(number, SIG_DFL);
	cleanup_install();
	_exit(contract_run(&options));
}

/* How it ends, and what it says. */
static int
end_of(enum fault what, char text[TEXT])
{
	size_t length = 0;
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	fault = what;
	ck_assert(!pipe(ends));
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		run(ends[1]);
	close(ends[1]);
	while ((n = read(ends[0], text + length, TEXT - 1 - length)) > 0)
		length += (size_t)n;
	text[length] = '\0';
	close(ends[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static size_t
files(void)
{
	DIR *open = opendir(".");
	struct dirent *entry;
	size_t n = 0;

	while ((entry = readdir(open)))
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(open);
	return n;
}

START_TEST(is_right)
{
	char text[TEXT];
	int status = end_of(FAULT_NONE, text);

	ck_assert_str_eq(text, "");
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ck_assert_uint_eq(files(), 3);
}
END_TEST

static const struct {
	enum fault fault;
	int status;
	const char *what;
} refused[] = {
	{ FAULT_ELEMENT, STATUS_MISMATCH, "lend: verify: element [1, 3] is " },
	{ FAULT_ELEMENT, STATUS_MISMATCH, "1 of 3600 elements are wrong" },
	{ FAULT_MEMORY, STATUS_BAD, "lend: contract: no memory to lend" },
	{ FAULT_LIMIT, STATUS_BAD,
	  "lend: contract: the limit of 1073741824 bytes is reached" },
	{ FAULT_OTHER, STATUS_BAD, "lend: contract: refused on purpose" },
	{ FAULT_CUT, STATUS_BAD, "lend: a.npy: the file was cut" },
	{ FAULT_CHANGE, STATUS_BAD, "lend: a.npy: the file was changed" },
};

START_TEST(refuses)
{
	char text[TEXT];
	int status;

	npy_named = _i % 2;
	status = end_of(refused[_i / 2].fault, text);
	if (!strstr(text, refused[_i / 2].what))
		ck_abort_msg("'%s' does not say '%s'", text,
			     refused[_i / 2].what);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), refused[_i / 2].status);
	ck_assert_uint_eq(files(), 2);
}
END_TEST

static const int ending[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

START_TEST(dies_in_the_middle)
{
	char text[TEXT];
	int status;

	npy_named = _i % 2;
	number = ending[_i / 2];
	status = end_of(FAULT_SIGNAL, text);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), number);
	ck_assert_str_eq(text, "");
	ck_assert_uint_eq(files(), 2);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("contract_run");
	TCase *runs = suite_case(suite, "runs");

	tcase_add_checked_fixture(runs, set_up, tear_down);
	tcase_add_test(runs, is_right);
	/* With a temporary name and without. */
	tcase_add_loop_test(runs, refuses, 0,
			    2 * sizeof refused / sizeof refused[0]);
	tcase_add_loop_test(runs, dies_in_the_middle, 0,
			    2 * sizeof ending / sizeof ending[0]);
	return suite_run(suite);
}
