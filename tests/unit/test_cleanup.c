/* SPDX-License-Identifier: MIT */
/* Signals: the program dies by them, and its temporary file is gone. */
#include "tools/cleanup.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/suite.h"
#include "tools/message.h"

#define ALIVE 42

static char path[] = "/tmp/test_cleanup_XXXXXX";

static void
set_up(void)
{
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert(!ftruncate(fd, 8192));
	close(fd);
}

static void
tear_down(void)
{
	unlink(path);
}

/* How a child ends that does this. */
static int
end_of(void (*fn)(int), int argument)
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		fn(argument);
		_exit(ALIVE);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static bool
is_there(void)
{
	return !access(path, F_OK);
}

static const int ending[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

static void
be_ended(int number)
{
	sigset_t before;

	signal(number, SIG_DFL);
	cleanup_install();
	cleanup_hold(&before);
	cleanup_file(path);
	raise(number);
	/* Held: it is still here. */
	if (!is_there())
		_exit(1);
	cleanup_let(&before);
}

START_TEST(ends_and_removes)
{
	int status = end_of(be_ended, ending[_i]);

	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), ending[_i]);
	ck_assert(!is_there());
}
END_TEST

static void
release_first(int number)
{
	signal(number, SIG_DFL);
	cleanup_install();
	cleanup_file(path);
	cleanup_file(NULL);
	raise(number);
}

START_TEST(removes_no_other)
{
	int status = end_of(release_first, ending[_i]);

	ck_assert(WIFSIGNALED(status));
	ck_assert(is_there());
}
END_TEST

static void
ignore(int number)
{
	signal(number, SIG_IGN);
	cleanup_install();
	cleanup_file(path);
	raise(number);
}

START_TEST(leaves_ignored_signals)
{
	int status = end_of(ignore, ending[_i]);

	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), ALIVE);
	ck_assert(is_there());
}
END_TEST

/* Reads behind the end of a file that was cut; `told`: whether it is known. */
static void
read_cut_file(int told)
{
	int fd = open(path, O_RDWR);
	char *memory = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
	volatile char byte;

	cleanup_install();
	if (told)
		cleanup_map(memory, 8192, "a.npy");
	if (ftruncate(fd, 0))
		_exit(1);
	byte = memory[4096];
	(void)byte;
}

START_TEST(tells_of_a_cut_file)
{
	int ends[2], saved = dup(STDERR_FILENO), status;
	char text[256] = "";

	ck_assert(!pipe(ends));
	dup2(ends[1], STDERR_FILENO);
	status = end_of(read_cut_file, 1);
	dup2(saved, STDERR_FILENO);
	close(ends[1]);
	ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), STATUS_BAD);
	ck_assert_ptr_eq(strstr(text, "lend: a.npy: the file was cut"), text);
}
END_TEST

START_TEST(dies_of_other_bus_errors)
{
	int status = end_of(read_cut_file, 0);

	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGBUS);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cleanup");
	TCase *signals = suite_case(suite, "signals");
	TCase *cut = suite_case(suite, "cut files");
	int n = sizeof ending / sizeof ending[0];

	tcase_add_checked_fixture(signals, set_up, tear_down);
	tcase_add_checked_fixture(cut, set_up, tear_down);
	tcase_add_loop_test(signals, ends_and_removes, 0, n);
	tcase_add_loop_test(signals, removes_no_other, 0, n);
	tcase_add_loop_test(signals, leaves_ignored_signals, 0, n);
	tcase_add_test(cut, tells_of_a_cut_file);
	tcase_add_test(cut, dies_of_other_bus_errors);
	return suite_run(suite);
}
