/* SPDX-License-Identifier: MIT */
/*
 * Worker threads.
 *
 * A worker's states.  Every change is made under pool->lock.
 *
 *           spawn         dispatch.c gives it a work
 *   (none) ------> idle --------------------------> running
 *                  |  ^                                |
 *          destroy |  +------- the function returned --+
 *                  v
 *                ended, then joined
 *
 * Which idle worker gets which work, and why nothing starves, is in
 * dispatch.h.
 *
 * No lost wake-up.  A worker sleeps only while its own `work` is null, a
 * caller only while its own record has workers to come or running; both look
 * under the lock, and whoever changes that does so under the lock and then
 * signals a condition on which that one thread alone can sleep.
 *
 * No deadlock.  Locks are taken in the order start_lock, lock; pools_lock
 * stands alone; none is held while a work's function runs.  A running
 * function waits in here only for the helpers of its own fork: workers, and
 * callers while they are in their team, may neither broadcast nor call for a
 * team, so no worker ever waits for a worker to become idle, nor does a team's
 * caller that has a seat, as its workers have theirs then.  Waits of
 * workers thus form trees along the nesting of forks, whose leaves run: all
 * running work ends (if the caller's functions end), its workers become idle,
 * its seats free, and the head gang goes as soon as enough are.  Enough there
 * are: a gang is queued only when as many threads as it wants have been
 * started, none ends before the pool does, and a budget is no more than the
 * seats.  A fork waits for nobody to become idle.
 *
 * fork(2).  A child has one thread and a copy of this memory, in which the
 * locks may be held and the queues half changed by threads that it has not.
 * The child's handler writes every living pool anew, as it was made, from
 * what is constant, and counts up `life`; nothing of the old state is read,
 * so the parent's handler need not wait for any pool.  Only the list of pools
 * must be whole: its lock is held across the fork, and otherwise never while
 * anything is called.  A thread that forked inside a work's function and
 * comes back here in the child sees that `life` changed: a worker ends, a
 * fork's caller does not wait for helpers that are gone (a job that they were
 * at is lost to the child).
 */
#include "exec/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>

#include "base/once.h"
#include "base/spawn.h"
#include "exec/dispatch.h"
#include "mem/backend.h"
#include "mem/init.h"

#define WIDTH_MAX 65535

struct lend_pool {
	LIST_ENTRY(lend_pool) link;	/* guarded by pools_lock */
	size_t bytes;			/* of this object, constant */
	pthread_mutex_t start_lock;	/* held by who starts threads */
	pthread_mutex_t lock;		/* guards all that follows */
	uint64_t life;			/* forks that it came through */
	size_t started;			/* stored under both locks */
	size_t promised;		/* sum of what callers in here want */
	bool ending;
	struct dispatch dispatch;
	struct worker workers[];	/* then the map of the idle ones */
};

/*
 * A pool whose worker this thread is, for good or while it is in a team.  On
 * the stack of who it is about; the last one first.
 */
struct duty {
	const struct lend_pool *pool;
	const struct duty *before;
};

static _Thread_local const struct duty *duties
	__attribute__((tls_model("initial-exec")));

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, lend_pool) pools = LIST_HEAD_INITIALIZER(pools);

/* The pool as it was made: no threads, no work. */
static void
pool_reset(struct lend_pool *pool)
{
	pthread_mutex_init(&pool->start_lock, NULL);
	pthread_mutex_init(&pool->lock, NULL);
	pool->started = 0;
	pool->promised = 0;
	pool->ending = false;
	dispatch_reset(&pool->dispatch);
}

/* Around fork(2). */

static void
before_fork(void)
{
	pthread_mutex_lock(&pools_lock);
}

static void
after_fork_parent(void)
{
	pthread_mutex_unlock(&pools_lock);
}

static void
after_fork_child(void)
{
	struct lend_pool *pool;

	LIST_FOREACH(pool, &pools, link) {
		pool_reset(pool);
		pool->life++;
	}
	pthread_mutex_unlock(&pools_lock);
}

static int
install_handlers(void)
{
	return -pthread_atfork(before_fork, after_fork_parent,
			       after_fork_child);
}

static int
init(void)
{
	static struct once once;
	int error = lend__init();

	if (error || !lend__conf.fork)
		return error;
	return once_try(&once, install_handlers);
}

/* Threads. */

/* Idle until it has a work, or until the pool ends (null). */
static struct work *
await_work(struct worker *worker)
{
	struct lend_pool *pool = worker->pool;

	while (!worker->work && !pool->ending)
		pthread_cond_wait(&worker->wake, &pool->lock);
	return worker->work;
}

static void *
worker_main(void *arg)
{
	struct worker *worker = arg;
	struct lend_pool *pool = worker->pool;
	const struct duty duty = { .pool = pool };
	struct work *work;
	uint64_t life;

	duties = &duty;
	spawn_name("lend-worker");
	pthread_mutex_lock(&pool->lock);
	life = pool->life;
	while ((work = await_work(worker))) {
		size_t index = worker->index;

		pthread_mutex_unlock(&pool->lock);
		work->fn(index, work->ctx);
		pthread_mutex_lock(&pool->lock);
		if (life != pool->life)
			break;
		if (--work->running == 0)
			pthread_cond_signal(&work->ended);
		dispatch_idle(&pool->dispatch, worker);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Starts the worker with this number.  start_lock is held. */
static bool
spawn(struct lend_pool *pool, size_t number)
{
	struct worker *worker = &pool->workers[number];
	int error;

	worker->pool = pool;
	worker->work = NULL;
	pthread_cond_init(&worker->wake, NULL);
	error = spawn_thread(&worker->thread, worker_main, worker);
	if (error)
		pthread_cond_destroy(&worker->wake);
	return error == 0;
}

/*
 * Starts threads until there are `wish`, or no more are to be had.  The
 * pool's lock is not held meanwhile: pthread_create() calls the program's
 * allocator.  start_lock is held.
 */
static void
start_workers(struct lend_pool *pool, size_t wish)
{
	size_t started;

	pthread_mutex_lock(&pool->lock);
	started = pool->started;
	pthread_mutex_unlock(&pool->lock);
	while (started < wish && spawn(pool, started)) {
		pthread_mutex_lock(&pool->lock);
		/* Idle before it runs: what a work finds is not chance. */
		dispatch_idle(&pool->dispatch, &pool->workers[started]);
		pool->started = ++started;
		pthread_mutex_unlock(&pool->lock);
	}
}

/* What a caller does in here. */

/*
 * A caller comes in who wants `count` workers.  Starts threads so that all
 * callers in here may have theirs at once, as far as the pool is wide.
 * Whoever starts threads already is waited for only if `must`.  Returns the
 * pool's life.
 */
static uint64_t
enter(struct lend_pool *pool, size_t count, bool must)
{
	size_t wish = pool->dispatch.width;
	uint64_t life;
	bool enough;

	pthread_mutex_lock(&pool->lock);
	life = pool->life;
	pool->promised += count;
	if (wish > pool->promised)
		wish = pool->promised;
	enough = pool->started >= wish;
	pthread_mutex_unlock(&pool->lock);
	if (enough)
		return life;
	if (must)
		pthread_mutex_lock(&pool->start_lock);
	else if (pthread_mutex_trylock(&pool->start_lock))
		return life;
	start_workers(pool, wish);
	pthread_mutex_unlock(&pool->start_lock);
	return life;
}

/* Whether workers are at it, or will be.  The lock is held. */
static bool
is_under_way(const struct work *work)
{
	return work->wanted || work->running;
}

/*
 * Gives up the caller's seat, if it has one, waits for the workers, and takes
 * `count` out of what is promised.
 */
static void
leave(struct lend_pool *pool, struct work *work, size_t count, uint64_t life)
{
	pthread_mutex_lock(&pool->lock);
	if (life == pool->life && work->seated)
		dispatch_leave(&pool->dispatch, work);
	while (life == pool->life && is_under_way(work))
		pthread_cond_wait(&work->ended, &pool->lock);
	if (life == pool->life)
		pool->promised -= count;
	pthread_mutex_unlock(&pool->lock);
}

/* False: there are not so many threads. */
static bool
start_gang(struct lend_pool *pool, struct work *gang, bool is_team)
{
	bool enough;

	pthread_mutex_lock(&pool->lock);
	enough = pool->started >= gang->wanted;
	if (!enough)
		gang->wanted = 0;
	else if (!is_team || !dispatch_team(&pool->dispatch, gang))
		dispatch_gang(&pool->dispatch, gang);
	pthread_mutex_unlock(&pool->lock);
	return enough;
}

/* The caller's share, as one of the pool's workers meanwhile. */
static void
take_part(struct lend_pool *pool, const struct work *gang)
{
	const struct duty duty = { .pool = pool, .before = duties };

	duties = &duty;
	gang->fn(0, gang->ctx);
	duties = duty.before;
}

/*
 * Here and in pool_parallel the caller cannot be cancelled: workers hold
 * references to its stack.
 */
static int
run_gang(struct lend_pool *pool, struct work *gang, bool is_team)
{
	size_t count = gang->wanted;
	uint64_t life;
	int cancel;
	bool enough;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_cond_init(&gang->ended, NULL);
	life = enter(pool, count, true);
	enough = start_gang(pool, gang, is_team);
	if (gang->seated)
		take_part(pool, gang);
	leave(pool, gang, count, life);
	pthread_cond_destroy(&gang->ended);
	pthread_setcancelstate(cancel, NULL);
	return enough ? 0 : -EAGAIN;
}

static int
pool_broadcast(void *host, size_t budget, lend_exec_fn *fn, void *ctx)
{
	struct work gang = { .fn = fn, .ctx = ctx, .wanted = budget };

	return run_gang(host, &gang, false);
}

int
lend__pool_team(struct lend_pool *pool, size_t budget, lend_exec_fn *fn,
		void *ctx)
{
	struct work gang = { .fn = fn, .ctx = ctx, .wanted = budget };

	if (budget > 1)
		return run_gang(pool, &gang, true);
	take_part(pool, &gang);
	return 0;
}

/* Takes back the rest of the offer: the first index that nobody got. */
static size_t
withdraw(struct lend_pool *pool, struct work *offer, uint64_t life)
{
	size_t index;

	pthread_mutex_lock(&pool->lock);
	if (life == pool->life)
		dispatch_withdraw(&pool->dispatch, offer);
	index = offer->index;
	pthread_mutex_unlock(&pool->lock);
	return index;
}

static void
pool_parallel(void *host, size_t n, lend_exec_fn *fn, void *ctx)
{
	struct lend_pool *pool = host;
	struct work offer = { .fn = fn, .ctx = ctx, .wanted = n - 1,
			      .index = 1 };
	uint64_t life;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_cond_init(&offer.ended, NULL);
	life = enter(pool, n - 1, false);
	pthread_mutex_lock(&pool->lock);
	dispatch_offer(&pool->dispatch, &offer);
	pthread_mutex_unlock(&pool->lock);
	fn(0, ctx);
	for (size_t i = withdraw(pool, &offer, life); i < n; i++)
		fn(i, ctx);
	leave(pool, &offer, n - 1, life);
	pthread_cond_destroy(&offer.ended);
	pthread_setcancelstate(cancel, NULL);
}

static size_t
pool_width(void *host)
{
	return lend_pool_width(host);
}

static bool
pool_is_worker(void *host)
{
	const struct duty *duty = duties;

	while (duty && duty->pool != host)
		duty = duty->before;
	return duty;
}

const struct lend_exec_host lend__pool_host = {
	.size = sizeof(struct lend_exec_host),
	.width = pool_width,
	.broadcast = pool_broadcast,
	.parallel = pool_parallel,
	.is_worker = pool_is_worker,
};

/* Making and ending. */

/* The bytes of a pool; *map_start is where its map begins. */
static size_t
pool_bytes(size_t width, size_t *map_start)
{
	*map_start = sizeof(struct lend_pool) + width * sizeof(struct worker);
	return *map_start + dispatch_map_words(width) * sizeof(uint64_t);
}

int
lend_pool_create(lend_pool **pool, size_t width)
{
	struct lend_pool *made;
	size_t bytes, map_start;
	int error;

	if (!pool || width == 0 || width > WIDTH_MAX)
		return -EINVAL;
	error = init();
	if (error)
		return error;
	bytes = pool_bytes(width, &map_start);
	made = pages_alloc(bytes);
	if (!made)
		return -ENOMEM;
	made->bytes = bytes;
	made->dispatch.width = width;
	made->dispatch.workers = made->workers;
	made->dispatch.idle_map = (void *)((char *)made + map_start);
	pool_reset(made);
	pthread_mutex_lock(&pools_lock);
	LIST_INSERT_HEAD(&pools, made, link);
	pthread_mutex_unlock(&pools_lock);
	*pool = made;
	return 0;
}

/* Tells the workers to end.  False: somebody is in here. */
static bool
end_workers(struct lend_pool *pool)
{
	bool alone;

	pthread_mutex_lock(&pool->lock);
	alone = pool->promised == 0;
	pool->ending = alone;
	for (size_t i = 0; alone && i < pool->started; i++)
		pthread_cond_signal(&pool->workers[i].wake);
	pthread_mutex_unlock(&pool->lock);
	return alone;
}

int
lend_pool_destroy(lend_pool *pool)
{
	if (!pool)
		return 0;
	if (pool_is_worker(pool))
		return -EDEADLK;
	if (!end_workers(pool))
		return -EBUSY;
	pthread_mutex_lock(&pools_lock);
	LIST_REMOVE(pool, link);
	pthread_mutex_unlock(&pools_lock);
	/* `started` is at rest: nobody is in here who could start another. */
	for (size_t i = 0; i < pool->started; i++) {
		pthread_join(pool->workers[i].thread, NULL);
		pthread_cond_destroy(&pool->workers[i].wake);
	}
	pthread_mutex_destroy(&pool->lock);
	pthread_mutex_destroy(&pool->start_lock);
	pages_free(pool, pool->bytes);
	return 0;
}

size_t
lend_pool_width(const lend_pool *pool)
{
	return pool ? pool->dispatch.width : 0;
}

void
lend__pool_look(struct lend_pool *pool, struct pool_view *view)
{
	const struct work *work;

	memset(view, 0, sizeof(*view));
	pthread_mutex_lock(&pool->lock);
	view->started = pool->started;
	view->idle = pool->dispatch.idle;
	TAILQ_FOREACH(work, &pool->dispatch.gangs, link)
		view->gangs++;
	TAILQ_FOREACH(work, &pool->dispatch.offers, link)
		view->offers++;
	view->sound = dispatch_sound(&pool->dispatch);
	pthread_mutex_unlock(&pool->lock);
}
