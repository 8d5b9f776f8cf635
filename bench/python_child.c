/* SPDX-License-Identifier: MIT */
#include "bench/python_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/harness.h"

extern char **environ;

static bool
has_numpy(const char *python)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "'%s' -c 'import numpy' >/dev/null 2>&1", python);
	return system(command) == 0;
}

/* The first one of the path may be of an environment without NumPy. */
bool
python_find(const char **python)
{
	const char *const names[] = { *python, "python3", "/usr/bin/python3" };

	/* A child that ends early is an error of the read, not our end. */
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < (*python ? 1 : 3); i++) {
		if (!names[i] || !has_numpy(names[i]))
			continue;
		*python = names[i];
		return true;
	}
	return false;
}

/* Our environment, with this number of threads for any BLAS. */
static char **
environment(int threads, char (*text)[64])
{
	static const char *const name[] = {
		"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
	};
	size_t n = 0, to = 0;
	char **copy;

	while (environ[n])
		n++;
	copy = calloc(n + 4, sizeof(*copy));
	if (!copy)
		bench_die("no memory");
	for (int i = 0; i < 3; i++) {
		snprintf(text[i], sizeof(text[i]), "%s=%d", name[i], threads);
		copy[to++] = text[i];
	}
	for (size_t i = 0; i < n; i++)
		if (!strstr(environ[i], "_NUM_THREADS="))
			copy[to++] = environ[i];
	return copy;
}

static void
spawn(struct python_child *child, const char *const *argv, int threads)
{
	char name[3][64];
	char **envp = environment(threads, name);
	posix_spawn_file_actions_t actions;
	int in[2], out[2], error;

	/* No child holds an end of another one's. */
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		bench_die("pipe: %s", strerror(errno));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	error = posix_spawnp(&child->pid, argv[0], &actions, NULL,
			     (char *const *)argv, envp);
	if (error)
		bench_die("%s: %s", argv[0], strerror(error));
	posix_spawn_file_actions_destroy(&actions);
	free(envp);
	close(in[0]);
	close(out[1]);
	child->to = fdopen(in[1], "w");
	child->from = fdopen(out[0], "r");
}

bool
python_start(struct python_child *child, const char *const *argv, int threads)
{
	char line[64];

	spawn(child, argv, threads);
	if (fgets(line, sizeof(line), child->from))
		return true;
	python_stop(child);
	return false;
}

struct contract_time
python_run(struct python_child *child, unsigned turns)
{
	struct contract_time time;
	char line[64], *rest;

	fprintf(child->to, "%u\n", turns);
	if (fflush(child->to) || !fgets(line, sizeof(line), child->from))
		bench_die("NumPy ended");
	time.wall = strtoull(line, &rest, 10);
	time.cpu = strtoull(rest, NULL, 10);
	return time;
}

void
python_stop(struct python_child *child)
{
	fclose(child->to);
	fclose(child->from);
	waitpid(child->pid, NULL, 0);
}
