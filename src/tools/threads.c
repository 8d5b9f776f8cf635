/* SPDX-License-Identifier: MIT */
#include "tools/threads.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "tools/message.h"

size_t
threads_of_machine(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	if (!sched_getaffinity(0, sizeof set, &set))
		return (size_t)CPU_COUNT(&set);
	return online > 0 ? (size_t)online : 1;
}

int
threads_start(struct threads *threads, size_t n)
{
	int error;

	threads->pool = NULL;
	lend_exec_serial(&threads->exec);
	if (n == 1)
		return 0;
	error = lend_pool_create(&threads->pool, n);
	if (!error)
		error = lend_exec_on_pool(&threads->exec, threads->pool, n);
	if (!error)
		return 0;
	threads_stop(threads);
	return complain("a pool of %zu threads: %s", n, strerror(-error));
}

void
threads_stop(struct threads *threads)
{
	/* Nothing runs on it, so that it cannot be refused. */
	if (lend_pool_destroy(threads->pool))
		return;
	threads->pool = NULL;
}
