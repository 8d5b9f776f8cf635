/* SPDX-License-Identifier: MIT */
/*
 * How the benchmarks measure.
 *
 * A crew of threads that live as long as the run; a slice lets the first T of
 * them run one contender's loop for a fixed time.  Slices of all contenders
 * take turns, round after round, so that whatever else the machine does falls
 * on all of them; a figure is the median of the rounds.
 *
 *   main    post T threads --- meet --- wait ------------- collect
 *   thread  warm up ---------- meet --- loop until stop --- note the time
 *
 * Where a processor is there for each thread, a signal to the first of them
 * sets the stop flag, so that main need not take a processor away for it; else
 * main sets it.
 *
 * wall: from the first thread's start to the last one's end, divided by the
 * operations of all threads.  cpu: the processor time of all threads, divided
 * likewise.
 *
 * Other programs run as well.  Where a processor is there for each thread, a
 * slice counts only if no thread was preempted and all ran at the same time
 * for most of it: else there was less contention than there should be.  It is
 * done again, some times.  Sleeping on a lock is neither.
 */
#ifndef LEND_BENCH_HARNESS_H
#define LEND_BENCH_HARNESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_THREADS_MAX	64
#define BENCH_ROUNDS_MAX	64

/* Complains and ends the program: a benchmark has no way on. */
_Noreturn void bench_die(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* The pointer counts as used, so that the compiler keeps what made it. */
static inline void
bench_keep(const void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* Relaxed: nothing is published; a late look costs one batch more. */
static inline bool
bench_stopped(const atomic_bool *stop)
{
	return atomic_load_explicit(stop, memory_order_relaxed);
}

uint64_t bench_now(void);	/* CLOCK_MONOTONIC, in ns */
uint64_t bench_thread_cpu(void);	/* CLOCK_THREAD_CPUTIME_ID, in ns */
void bench_sleep_until(uint64_t when);

/*
 * Does whole batches of operations until *stop is set, at least one, and
 * returns how many operations that were.
 */
typedef uint64_t bench_loop_fn(void *ctx, const atomic_bool *stop);

/* Nanoseconds per operation of one slice. */
struct bench_sample {
	double wall;
	double cpu;
	/* A thread was preempted, or they did not run at the same time. */
	bool disturbed;
};

struct bench_crew;

struct bench_crew *bench_crew_create(int threads);
void bench_crew_destroy(struct bench_crew *crew);
/*
 * From now on slices with a processor for each thread run at real-time
 * priority, and the caller, with the threads that it makes, above it: other
 * programs wait.  With more threads than processors they would not take turns
 * any more: these slices run as before.  Returns 0, or a negative errno value
 * (-EPERM: this wants a privilege).
 */
int bench_crew_realtime(struct bench_crew *crew);
/* One slice: the crew's first `threads` threads loop for `ns`. */
struct bench_sample bench_slice(struct bench_crew *crew, int threads,
				bench_loop_fn *loop, void *ctx, uint64_t ns);
/*
 * The first undisturbed one of up to `tries` slices, in about the time that
 * twice as many would take on an idle machine; else the last one.
 */
struct bench_sample bench_quiet_slice(struct bench_crew *crew, int threads,
				      bench_loop_fn *loop, void *ctx,
				      uint64_t ns, int tries);

/* How much of the machine others use. */
struct bench_load {
	double all, own;	/* busy processor seconds so far */
	uint64_t when;
};

struct bench_load bench_load_now(void);
/* Per cent of all processors' time since then; NAN: the system tells not. */
double bench_load_of_others(const struct bench_load *since);

/* A thread that calls fn(ctx) at a fixed rate, until it is stopped. */
struct bench_ticker;

struct bench_ticker *bench_ticker_start(void (*fn)(void *ctx), void *ctx,
					uint64_t period_ns);
/* Ends the thread; returns the calls that it made per second. */
double bench_ticker_stop(struct bench_ticker *ticker);

/* The values of one figure, round by round; NAN: a round without. */
struct bench_series {
	int n;
	double value[BENCH_ROUNDS_MAX];
};

void bench_series_add(struct bench_series *series, double value);
/* Rounds with a value. */
int bench_count(const struct bench_series *series);
/* NAN when there are none. */
double bench_median(const struct bench_series *series);
double bench_min(const struct bench_series *series);
double bench_max(const struct bench_series *series);
/* Round by round, a[i] / b[i]. */
struct bench_series bench_ratio(const struct bench_series *a,
				const struct bench_series *b);

#endif
