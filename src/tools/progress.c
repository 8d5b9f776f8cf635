/* SPDX-License-Identifier: MIT */
#include "tools/progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tools/cleanup.h"
#include "tools/clock.h"

#define PERIOD_S 1

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended;
static bool running;		/* guarded by the lock */
static pthread_t ticker;	/* the main thread's */
static bool started;		/* the main thread's */
/* Constant while the ticker runs. */
static const char *what;
static size_t total;
static double begin;
static atomic_size_t done;

static void
show(void)
{
	/* Relaxed: a count for the eye. */
	size_t steps = atomic_load_explicit(&done, memory_order_relaxed);
	double seconds = now_seconds() - begin;

	cleanup_line(true);
	if (total > 0)
		fprintf(stderr, "\r%s: %.0f %%, %.0f s ", what,
			100.0 * (double)steps / (double)total, seconds);
	else
		fprintf(stderr, "\r%s: %.0f s ", what, seconds);
	fflush(stderr);
}

static void *
tick(void *unused)
{
	struct timespec next;
	bool shown = false;

	(void)unused;
	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&lock);
	while (running) {
		next.tv_sec += PERIOD_S;
		while (running &&
		       !pthread_cond_timedwait(&ended, &lock, &next))
			;
		if (!running)
			break;
		show();
		shown = true;
	}
	pthread_mutex_unlock(&lock);
	if (shown)
		fputs("\r\033[K", stderr);
	cleanup_line(false);
	return NULL;
}

void
progress_start(const char *new_what, size_t new_total)
{
	pthread_condattr_t monotonic;
	sigset_t before;

	if (!isatty(STDERR_FILENO))
		return;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	what = new_what;
	total = new_total;
	begin = now_seconds();
	/* Relaxed: the ticker begins later. */
	atomic_store_explicit(&done, 0, memory_order_relaxed);
	running = true;
	/* Signals are the main thread's. */
	cleanup_hold(&before);
	started = !pthread_create(&ticker, NULL, tick, NULL);
	cleanup_let(&before);
}

void
progress_step(size_t steps)
{
	/* Relaxed: a count for the eye. */
	atomic_fetch_add_explicit(&done, steps, memory_order_relaxed);
}

void
progress_stop(void)
{
	if (!started)
		return;
	pthread_mutex_lock(&lock);
	running = false;
	pthread_cond_signal(&ended);
	pthread_mutex_unlock(&lock);
	pthread_join(ticker, NULL);
	pthread_cond_destroy(&ended);
	started = false;
}
