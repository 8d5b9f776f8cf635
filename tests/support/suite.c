/* SPDX-License-Identifier: MIT */
#include "support/suite.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROLE "LEND_TEST_ROLE="
#define CONF "LEND_CONF="
/* The role of a process that runs all tests under another LEND_CONF. */
#define TESTS "tests"

extern char **environ;

TCase *
suite_case(Suite *suite, const char *name)
{
	TCase *tcase;

	/* Check's own 4 seconds a test are short on a busy machine. */
	setenv("CK_DEFAULT_TIMEOUT", "60", false);
	tcase = tcase_create(name);
	suite_add_tcase(suite, tcase);
	return tcase;
}

const char *
suite_role(void)
{
	const char *role = getenv("LEND_TEST_ROLE");

	return role && strcmp(role, TESTS) ? role : NULL;
}

static bool
begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Our environment but for the two variables; null: no memory. */
static char **
environment(char *role, char *conf)
{
	size_t n = 0, to = 0;
	char **copy;

	while (environ[n])
		n++;
	copy = calloc(n + 3, sizeof(*copy));
	if (!copy)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (!begins(environ[i], ROLE) && !begins(environ[i], CONF))
			copy[to++] = environ[i];
	copy[to++] = role;
	copy[to] = conf;
	return copy;
}

/* Starts it; its standard error goes to `err`, where that is not negative. */
static pid_t
start(const char *role_name, const char *conf_text, int err)
{
	char path[4096], role[64], conf[256];
	char *argv[] = { path, NULL };
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	posix_spawn_file_actions_t actions;
	char **envp;
	pid_t pid = -1;

	snprintf(role, sizeof role, ROLE "%s", role_name);
	snprintf(conf, sizeof conf, CONF "%s", conf_text);
	envp = environment(role, conf);
	if (n <= 0 || !envp)
		return -1;
	path[n] = '\0';
	posix_spawn_file_actions_init(&actions);
	if (err >= 0)
		posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
	if (posix_spawn(&pid, path, &actions, NULL, argv, envp))
		pid = -1;
	posix_spawn_file_actions_destroy(&actions);
	free(envp);
	return pid;
}

static int
await_end(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : 128 + WTERMSIG(status);
}

/* Reads to the end; what has no room is dropped. */
static void
read_all(int fd, char *text, size_t size)
{
	char rest[512];
	size_t length = 0;
	ssize_t n;

	do {
		if (length + 1 < size) {
			n = read(fd, text + length, size - 1 - length);
			length += n > 0 ? (size_t)n : 0;
		} else {
			n = read(fd, rest, sizeof rest);
		}
	} while (n > 0);
	text[length] = '\0';
}

int
suite_again(const char *role, const char *conf, char *text, size_t size)
{
	int ends[2];
	pid_t pid;

	if (!text)
		return await_end(start(role, conf, -1));
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid = start(role, conf, ends[1]);
	close(ends[1]);
	read_all(ends[0], text, size);
	close(ends[0]);
	return await_end(pid);
}

int
suite_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int
suite_run_also(Suite *suite, const char *const *confs)
{
	int result = suite_run(suite);

	/* Once is enough. */
	if (getenv("LEND_TEST_ROLE"))
		return result;
	for (; *confs; confs++) {
		printf("With LEND_CONF=%s:\n", *confs);
		fflush(stdout);
		if (suite_again(TESTS, *confs, NULL, 0))
			result = EXIT_FAILURE;
	}
	return result;
}
