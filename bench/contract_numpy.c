/* SPDX-License-Identifier: MIT */
/*
 * NumPy in a child process, one for each case, as it reads its number of
 * threads when it starts.  The child has arrays of its own, takes a number of
 * turns from its input, and answers with how long they took.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/contract_peer.h"
#include "bench/harness.h"

extern char **environ;

/* argv: einsum or tensordot, the type, A's, B's, C's labels, the extents. */
static const char script[] =
	"import sys, time\n"
	"import numpy as np\n"
	"how, kind, la, lb, lc, extents = sys.argv[1:]\n"
	"extent = dict(zip('abcdefgh', map(int, extents.split(','))))\n"
	"rng = np.random.default_rng(1)\n"
	"def new(labels):\n"
	"    shape = [extent[x] for x in labels]\n"
	"    return rng.random(shape[::-1], dtype=kind).T\n"
	"a, b, c = map(new, (la, lb, lc))\n"
	"text = la + ',' + lb + '->' + lc\n"
	"if how == 'einsum':\n"
	"    path = np.einsum_path(text, a, b, optimize=True)[0]\n"
	"    def contract():\n"
	"        np.einsum(text, a, b, out=c, optimize=path)\n"
	"else:\n"
	"    k = [x for x in la if x in lb]\n"
	"    axes = [la.index(x) for x in k], [lb.index(x) for x in k]\n"
	"    got = [x for x in la + lb if x not in k]\n"
	"    order = [got.index(x) for x in lc]\n"
	"    def contract():\n"
	"        c[...] = np.tensordot(a, b, axes).transpose(order)\n"
	"print('ready', flush=True)\n"
	"for line in sys.stdin:\n"
	"    start = time.perf_counter_ns(), time.process_time_ns()\n"
	"    for _ in range(int(line)):\n"
	"        contract()\n"
	"    print(time.perf_counter_ns() - start[0],\n"
	"          time.process_time_ns() - start[1], flush=True)\n";

struct child {
	pid_t pid;
	FILE *to, *from;
};

/* Of each contender that has one. */
static struct child children[CONTRACT_PEERS];

static struct child *
child_of(const struct contract_peer *self)
{
	return &children[self - contract_peers];
}

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
contract_numpy_open(struct contract_peer *self)
{
	const char *given = contract_libraries.python;
	const char *const names[] = { given, "python3", "/usr/bin/python3" };

	/* A child that ends early is an error of the read, not our end. */
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < (given ? 1 : 3); i++) {
		if (!names[i] || !has_numpy(names[i]))
			continue;
		contract_libraries.python = names[i];
		return true;
	}
	return contract_refuse(self, "no Python has NumPy");
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

/* The extents of labels a, b, .. with commas. */
static void
write_extents(const struct contract_case *c, char *text, size_t size)
{
	size_t extent[CASE_RANK] = { 0 };
	size_t at = 0;

	for (int o = 0; o < CASE_OPERANDS; o++)
		for (size_t d = 0; d < c->tensor[o].rank; d++)
			extent[c->tensor[o].labels[d] - 'a'] =
				c->tensor[o].extent[d];
	for (int i = 0; i < CASE_RANK && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%zu",
				       i ? "," : "", extent[i]);
}

static void
spawn(struct child *child, const char *how, const struct contract_job *job)
{
	const struct contract_case *c = job->c;
	char extents[128], name[3][64];
	const char *argv[] = {
		contract_libraries.python, "-c", script, how,
		c->single ? "float32" : "float64", c->tensor[CASE_A].labels,
		c->tensor[CASE_B].labels, c->tensor[CASE_C].labels, extents,
		NULL
	};
	char **envp = environment(job->threads, name);
	posix_spawn_file_actions_t actions;
	int in[2], out[2], error;

	write_extents(c, extents, sizeof(extents));
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

static bool
begin(struct contract_peer *self, const char *how,
      const struct contract_job *job)
{
	struct child *child = child_of(self);
	char line[64];

	spawn(child, how, job);
	if (fgets(line, sizeof(line), child->from))
		return true;
	contract_numpy_end(self);
	return contract_refuse(self, "NumPy ended");
}

bool
contract_einsum_begin(struct contract_peer *self,
		      const struct contract_job *job)
{
	return begin(self, "einsum", job);
}

bool
contract_tensordot_begin(struct contract_peer *self,
			 const struct contract_job *job)
{
	return begin(self, "tensordot", job);
}

struct contract_time
contract_numpy_run(struct contract_peer *self, unsigned turns)
{
	struct child *child = child_of(self);
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
contract_numpy_end(struct contract_peer *self)
{
	struct child *child = child_of(self);

	fclose(child->to);
	fclose(child->from);
	waitpid(child->pid, NULL, 0);
}
