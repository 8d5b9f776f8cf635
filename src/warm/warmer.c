/* SPDX-License-Identifier: MIT */
#include "warm/warmer.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/os.h"
#include "mem/backend.h"
#include "mem/init.h"
#include "warm/pool.h"

#define MS UINT64_C(1000000)

/* The beginning. */

static bool
is_usable(const struct lend_warmer_options *options)
{
	return options && options->size == sizeof(*options) &&
	       options->cap > 0 && options->cap <= LEND_WARM_CAP_MAX &&
	       options->target > 0 &&
	       options->target <= LEND_WARM_TARGET_MAX &&
	       options->threads > 0 &&
	       options->threads <= LEND_WARMER_THREADS_MAX &&
	       options->deadline_ms < UINT32_MAX &&
	       options->backoff_ms < UINT32_MAX &&
	       options->backoff_most_ms < UINT32_MAX &&
	       options->prepare && options->destroy;
}

static void
init_locks(lend_warmer *warmer)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&warmer->start_lock, NULL);
	pthread_mutex_init(&warmer->lock, NULL);
	pthread_cond_init(&warmer->work, NULL);
	pthread_cond_init(&warmer->time, &monotonic);
	pthread_cond_init(&warmer->quiet, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

int
lend_warmer_create(lend_warmer **made,
		   const struct lend_warmer_options *options)
{
	lend_warmer *warmer;
	int error;

	if (!made || !is_usable(options))
		return -EINVAL;
	error = lend__init();
	if (error)
		return error;
	warmer = pages_alloc(sizeof(*warmer));
	if (!warmer)
		return -ENOMEM;
	error = lend_warm_pool_create(&warmer->pool, options->cap);
	if (error) {
		pages_free(warmer, sizeof(*warmer));
		return error;
	}
	warmer->options = *options;
	warmer->policy.backoff = options->backoff_ms * MS;
	warmer->policy.most = options->backoff_most_ms * MS;
	warmer->policy.random = os_now();
	TAILQ_INIT(&warmer->tasks);
	init_locks(warmer);
	*made = warmer;
	return 0;
}

/* The end. */

/*
 * Waits until every hand has ended, at `until` gives up the fills of those
 * that prepare, and waits for the others.  Whether all have ended; else the
 * rest are in prepare(), and late.  The lock is held, and let go in between.
 */
static bool
await_hands(lend_warmer *warmer, uint64_t until)
{
	struct timespec moment = warmer_moment(until);

	while (warmer->gone < warmer->hands)
		if (pthread_cond_timedwait(&warmer->quiet, &warmer->lock,
					   &moment) == ETIMEDOUT)
			break;
	warmer_give_up(warmer, UINT64_MAX);
	/* No hand begins to prepare any more. */
	while (warmer->gone + warmer->away < warmer->hands)
		pthread_cond_wait(&warmer->quiet, &warmer->lock);
	return warmer->gone == warmer->hands;
}

/*
 * Fills that nobody has taken, and will not.  The lock is held, and let go in
 * between.  Errors: -ENOMEM (some are still pending).
 */
static int
abandon_pending(lend_warmer *warmer)
{
	struct task *task;
	int error = 0;

	/* Nobody adds or takes any more, so the list stays as it is. */
	TAILQ_FOREACH(task, &warmer->tasks, link) {
		warmer_abandon(warmer, task, 0);
		if (task->pending > 0)
			error = -ENOMEM;
	}
	return error;
}

/*
 * Leaves the pool empty, while a hand that is late may still use the warmer.
 * Errors: -ENOMEM.
 */
static int
empty_pool(lend_warmer *warmer)
{
	int error, drained;

	pthread_mutex_lock(&warmer->lock);
	error = abandon_pending(warmer);
	pthread_mutex_unlock(&warmer->lock);
	drained = lend_warm_pool_drain_all(warmer->pool, warmer_tear_down,
					   warmer);
	return error ? error : drained;
}

/* All hands have ended; fills that are pending end with the pool. */
static void
free_warmer(lend_warmer *warmer)
{
	for (size_t i = 0; i < warmer->hands; i++)
		pthread_join(warmer->hand[i].thread, NULL);
	warm_pool_end(warmer->pool, warmer_tear_down, warmer);
	task_clear(&warmer->tasks);
	pthread_cond_destroy(&warmer->work);
	pthread_cond_destroy(&warmer->time);
	pthread_cond_destroy(&warmer->quiet);
	pthread_mutex_destroy(&warmer->lock);
	pthread_mutex_destroy(&warmer->start_lock);
	pages_free(warmer, sizeof(*warmer));
}

int
lend_warmer_destroy(lend_warmer *warmer, uint64_t patience_ms)
{
	uint64_t until = os_now() + (patience_ms < UINT32_MAX ?
				     patience_ms : UINT32_MAX) * MS;
	bool gone;
	int error;

	if (!warmer)
		return 0;
	pthread_mutex_lock(&warmer->lock);
	warmer->ending = true;
	pthread_cond_broadcast(&warmer->work);
	pthread_cond_broadcast(&warmer->time);
	pthread_mutex_unlock(&warmer->lock);
	/* After the keeper nobody starts threads any more. */
	if (warmer->keeper_started)
		pthread_join(warmer->keeper, NULL);
	warmer->keeper_started = false;
	pthread_mutex_lock(&warmer->lock);
	gone = await_hands(warmer, until);
	pthread_mutex_unlock(&warmer->lock);
	if (!gone) {
		error = empty_pool(warmer);
		return error ? error : -EBUSY;
	}
	free_warmer(warmer);
	return 0;
}

/* In between. */

int
lend_warmer_claim(lend_warmer *warmer, const char *id, void **slot)
{
	const struct lend_warmer_options *options;
	int error;

	if (!warmer || !id || !slot)
		return -EINVAL;
	options = &warmer->options;
	for (;;) {
		error = lend_warm_pool_claim(warmer->pool, id, slot);
		if (error || !options->alive ||
		    options->alive(*slot, options->ctx))
			return error;
		/* Relaxed: a count. */
		fetch_add_relaxed(&warmer->dead, 1);
		warmer_tear_down(*slot, warmer);
		*slot = NULL;
	}
}

/* The lock is held. */
static int
want(lend_warmer *warmer, const char *id)
{
	uint64_t now = os_now();
	struct task *task;

	if (warmer->ending)
		return -ESHUTDOWN;
	task_expire(&warmer->tasks, now);
	task = task_find(&warmer->tasks, id);
	if (!task)
		task = task_add(&warmer->tasks, id);
	if (!task)
		return -ENOMEM;
	if (now < task->not_before) {
		warmer->held_off++;
		return 0;
	}
	task->wanted = true;
	pthread_cond_signal(&warmer->work);
	return 0;
}

int
lend_warmer_refill(lend_warmer *warmer, const char *id)
{
	bool short_of_hands;
	int error;

	if (!warmer || !id)
		return -EINVAL;
	pthread_mutex_lock(&warmer->lock);
	error = want(warmer, id);
	short_of_hands = warmer->hands < warmer->options.threads;
	pthread_mutex_unlock(&warmer->lock);
	if (!error && short_of_hands)
		error = warmer_start(warmer);
	return error;
}

int
lend_warmer_drain(lend_warmer *warmer, const char *id)
{
	if (!warmer)
		return -EINVAL;
	if (!id)
		return lend_warm_pool_drain_all(warmer->pool, warmer_tear_down,
						warmer);
	return lend_warm_pool_drain(warmer->pool, id, warmer_tear_down,
				    warmer);
}

int
lend_warmer_stats(lend_warmer *warmer, struct lend_warmer_stats *stats)
{
	if (!warmer || !stats)
		return -EINVAL;
	memset(stats, 0, sizeof(*stats));
	pthread_mutex_lock(&warmer->lock);
	stats->prepared = warmer->prepared;
	stats->failed = warmer->failed;
	stats->late = warmer->given_up;
	stats->held_off = warmer->held_off;
	stats->preparing = warmer->on_time + warmer->late;
	stats->threads = warmer->hands + warmer->keeper_started;
	pthread_mutex_unlock(&warmer->lock);
	/* Relaxed: counts. */
	stats->dead = load_relaxed(&warmer->dead);
	stats->destroyed = load_relaxed(&warmer->destroyed);
	/* Last: what is counted as failed above is in flight no more. */
	return lend_warm_pool_stats(warmer->pool, &stats->pool);
}

lend_warm_pool *
lend_warmer_pool(lend_warmer *warmer)
{
	return warmer ? warmer->pool : NULL;
}
