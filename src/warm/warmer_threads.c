/* SPDX-License-Identifier: MIT */
/* The warmer's threads: hands that prepare, and a keeper of deadlines. */
#include <errno.h>
#include <time.h>

#include "base/os.h"
#include "base/spawn.h"
#include "base/util.h"
#include "warm/warmer.h"

#define MS UINT64_C(1000000)

void
warmer_tear_down(void *slot, void *ctx)
{
	lend_warmer *warmer = ctx;

	warmer->options.destroy(slot, warmer->options.ctx);
	/* Relaxed: a count. */
	fetch_add_relaxed(&warmer->destroyed, 1);
}

/* As many as there is memory for; how many are left. */
static size_t
try_abandon(lend_warm_pool *pool, const char *id, size_t fills)
{
	while (fills > 0 && lend_warm_pool_abandon_fill(pool, id) == 0)
		fills--;
	return fills;
}

void
warmer_abandon(lend_warmer *warmer, struct task *task, size_t taken)
{
	size_t fills = task->pending + taken;

	task->pending = 0;
	do {
		pthread_mutex_unlock(&warmer->lock);
		fills = try_abandon(warmer->pool, task->id, fills);
		if (fills > 0)
			os_yield();
		pthread_mutex_lock(&warmer->lock);
	} while (fills > 0 && !warmer->ending);
	task->pending += fills;
}

struct timespec
warmer_moment(uint64_t ns)
{
	return (struct timespec) {
		.tv_sec = (time_t)(ns / (1000 * MS)),
		.tv_nsec = (long)(ns % (1000 * MS)),
	};
}

/* Hands.  The lock is held where they begin and end. */

/* What a hand may do now, or null. */
static struct task *
next_task(lend_warmer *warmer)
{
	struct task *task;

	if (warmer->on_time == warmer->options.threads)
		return NULL;
	TAILQ_FOREACH(task, &warmer->tasks, link)
		if (task_waits(task))
			break;
	if (!task)
		return NULL;
	/* Ids take turns. */
	TAILQ_REMOVE(&warmer->tasks, task, link);
	TAILQ_INSERT_TAIL(&warmer->tasks, task, link);
	return task;
}

/* Plans fills of it; what it evicts is torn down here. */
static void
begin(lend_warmer *warmer, struct task *task)
{
	size_t spawn = 0;
	int error;

	task->wanted = false;
	task->users++;
	pthread_mutex_unlock(&warmer->lock);
	error = lend_warm_pool_begin_fill(warmer->pool, task->id,
					  warmer->options.target, &spawn,
					  warmer_tear_down, warmer);
	pthread_mutex_lock(&warmer->lock);
	task->users--;
	if (error)
		task_failed(task, &warmer->policy, os_now());
	task->pending += spawn;
	pthread_cond_broadcast(&warmer->work);
}

/*
 * Brings in what prepare() made; the lock is not held.  After an error the
 * fill is still in flight.
 */
static int
bring_in(lend_warmer *warmer, const char *id, void *slot, int error)
{
	if (!error && !slot)
		error = -EINVAL;
	if (error)
		return error;
	error = lend_warm_pool_offer(warmer->pool, id, slot);
	if (error)
		warmer_tear_down(slot, warmer);
	/* Its id has left the list: it was made in vain, but it was made. */
	return error == -ECANCELED ? 0 : error;
}

/* A fill of the task has failed: it is abandoned, and with it those to come. */
static void
fail(lend_warmer *warmer, struct task *task)
{
	task_failed(task, &warmer->policy, os_now());
	warmer_abandon(warmer, task, 1);
}

/* How a fill of the task has come out that was not given up. */
static void
finish(lend_warmer *warmer, struct task *task, int error)
{
	if (!error) {
		warmer->prepared++;
		task_succeeded(task);
		return;
	}
	fail(warmer, task);
	/* Who sees it counted sees it in flight no more. */
	warmer->failed++;
}

static void
end_late(struct hand *hand, void *slot, int error)
{
	lend_warmer *warmer = hand->warmer;

	hand->late = false;
	if (error || !slot)
		return;
	pthread_mutex_unlock(&warmer->lock);
	warmer_tear_down(slot, warmer);
	pthread_mutex_lock(&warmer->lock);
}

static void
prepare(struct hand *hand, struct task *task)
{
	lend_warmer *warmer = hand->warmer;
	uint64_t limit = warmer->options.deadline_ms;
	void *slot = NULL;
	int error;

	task->pending--;
	task->users++;
	hand->task = task;
	hand->deadline = limit ? os_now() + limit * MS : UINT64_MAX;
	hand->preparing = true;
	warmer->away++;
	warmer->on_time++;
	pthread_cond_signal(&warmer->time);
	pthread_mutex_unlock(&warmer->lock);
	error = warmer->options.prepare(task->id, &slot, warmer->options.ctx);
	pthread_mutex_lock(&warmer->lock);
	hand->preparing = false;
	warmer->away--;
	if (hand->late) {
		end_late(hand, slot, error);
		warmer->late--;
	} else {
		pthread_mutex_unlock(&warmer->lock);
		error = bring_in(warmer, task->id, slot, error);
		pthread_mutex_lock(&warmer->lock);
		finish(warmer, task, error);
		warmer->on_time--;
	}
	task->users--;
	pthread_cond_signal(&warmer->work);
}

static void *
hand_main(void *arg)
{
	struct hand *hand = arg;
	lend_warmer *warmer = hand->warmer;

	spawn_name("lend-warmer");
	pthread_mutex_lock(&warmer->lock);
	while (!warmer->ending) {
		struct task *task = next_task(warmer);

		if (!task)
			pthread_cond_wait(&warmer->work, &warmer->lock);
		else if (task->wanted)
			begin(warmer, task);
		else
			prepare(hand, task);
	}
	warmer->gone++;
	pthread_cond_signal(&warmer->quiet);
	pthread_mutex_unlock(&warmer->lock);
	return NULL;
}

/* The keeper. */

void
warmer_give_up(lend_warmer *warmer, uint64_t now)
{
	for (size_t i = 0; i < warmer->hands; i++) {
		struct hand *hand = &warmer->hand[i];
		struct task *task = hand->task;

		if (!hand->preparing || hand->late || hand->deadline > now)
			continue;
		hand->late = true;
		warmer->on_time--;
		warmer->late++;
		warmer->given_up++;
		/* The hand may end meanwhile. */
		task->users++;
		fail(warmer, task);
		task->users--;
		/* Another one may prepare in its place. */
		pthread_cond_broadcast(&warmer->work);
	}
}

static uint64_t
next_deadline(const lend_warmer *warmer)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < warmer->hands; i++) {
		const struct hand *hand = &warmer->hand[i];

		if (hand->preparing && !hand->late && hand->deadline < next)
			next = hand->deadline;
	}
	return next;
}

static void
keep(lend_warmer *warmer)
{
	uint64_t next = next_deadline(warmer);
	struct timespec moment = warmer_moment(next);
	bool over = next <= os_now();

	if (!over && next == UINT64_MAX)
		pthread_cond_wait(&warmer->time, &warmer->lock);
	else if (!over)
		pthread_cond_timedwait(&warmer->time, &warmer->lock, &moment);
	if (!over)
		return;
	warmer_give_up(warmer, os_now());
	/* Others in the place of those that are late. */
	pthread_mutex_unlock(&warmer->lock);
	(void)warmer_start(warmer);
	pthread_mutex_lock(&warmer->lock);
}

static void *
keeper_main(void *arg)
{
	lend_warmer *warmer = arg;

	spawn_name("lend-warmer");
	pthread_mutex_lock(&warmer->lock);
	while (!warmer->ending)
		keep(warmer);
	pthread_mutex_unlock(&warmer->lock);
	return NULL;
}

/* Starting. */

/* How many hands there should be, and in *hands how many there are. */
static size_t
hands_wanted(lend_warmer *warmer, size_t *hands)
{
	size_t wanted;

	pthread_mutex_lock(&warmer->lock);
	*hands = warmer->hands;
	wanted = warmer->ending ? 0 : warmer->options.threads +
		 size_min(warmer->late, warmer->options.threads);
	pthread_mutex_unlock(&warmer->lock);
	return wanted;
}

static bool
start_hand(lend_warmer *warmer, size_t number)
{
	struct hand *hand = &warmer->hand[number];

	hand->warmer = warmer;
	if (spawn_thread(&hand->thread, hand_main, hand))
		return false;
	pthread_mutex_lock(&warmer->lock);
	warmer->hands++;
	pthread_mutex_unlock(&warmer->lock);
	return true;
}

static void
start_keeper(lend_warmer *warmer)
{
	bool started;

	if (warmer->keeper_started)
		return;
	started = !spawn_thread(&warmer->keeper, keeper_main, warmer);
	pthread_mutex_lock(&warmer->lock);
	warmer->keeper_started = started;
	pthread_mutex_unlock(&warmer->lock);
}

int
warmer_start(lend_warmer *warmer)
{
	size_t hands;

	pthread_mutex_lock(&warmer->start_lock);
	while (hands_wanted(warmer, &hands) > hands &&
	       start_hand(warmer, hands))
		hands++;
	if (hands > 0 && warmer->options.deadline_ms)
		start_keeper(warmer);
	pthread_mutex_unlock(&warmer->start_lock);
	return hands > 0 ? 0 : -EAGAIN;
}
