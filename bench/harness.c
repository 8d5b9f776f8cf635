/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* RUSAGE_THREAD */
#endif

#include "bench/harness.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u
/* Of a slice: less than this share with all threads in it is disturbed. */
#define OVERLAP 0.9
/* The least real-time priority. */
#define REALTIME 1
/* Batches that a thread does before its slice begins. */
#define WARM_BATCHES 2

struct member {
	pthread_t thread;
	struct bench_crew *crew;
	sem_t go;
	/* Of the last slice; the crew's `done` publishes them. */
	uint64_t begin, end, cpu, operations, preempted;
};

struct bench_crew {
	int size;
	bool realtime;
	/* The slice; `go` publishes it.  No loop: the crew ends. */
	bench_loop_fn *loop;
	void *ctx;
	uint64_t ns;
	bool by_signal;	/* who stops it: else main */
	pthread_barrier_t ready;
	atomic_bool stop;
	atomic_int running;
	sem_t done;	/* by the last one */
	struct member member[BENCH_THREADS_MAX];
};

/* The flag that SIGALRM sets. */
static _Atomic(atomic_bool *) alarm_flag;

struct bench_ticker {
	pthread_t thread;
	atomic_bool stop;
	void (*fn)(void *ctx);
	void *ctx;
	uint64_t period, begin, calls;
};

void
bench_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("bench: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static uint64_t
read_clock(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		bench_die("no clock %d", (int)clock);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t
bench_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t
bench_thread_cpu(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void
bench_sleep_until(uint64_t when)
{
	struct timespec t = {
		.tv_sec = (time_t)(when / NS_PER_S),
		.tv_nsec = (long)(when % NS_PER_S),
	};

	/* Not zero: interrupted by a signal. */
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

static void
wait_for(sem_t *sem)
{
	/* Not zero: interrupted by a signal. */
	while (sem_wait(sem))
		;
}

static uint64_t
preemptions(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		return 0;
	return (uint64_t)usage.ru_nivcsw;
}

static void
stop_slice(struct bench_crew *crew)
{
	/* Relaxed: it publishes nothing. */
	atomic_store_explicit(&crew->stop, true, memory_order_relaxed);
}

static void
on_alarm(int signal)
{
	atomic_bool *flag =
		atomic_load_explicit(&alarm_flag, memory_order_relaxed);

	(void)signal;
	/* Relaxed, both: the crew's first thread set it, and is here. */
	atomic_store_explicit(flag, true, memory_order_relaxed);
}

/* Only the first thread has the signal unblocked: it gets it. */
static void
set_alarm(struct bench_crew *crew)
{
	struct itimerval timer = {
		.it_value.tv_sec = (time_t)(crew->ns / NS_PER_S),
		.it_value.tv_usec = (suseconds_t)(crew->ns % NS_PER_S / 1000),
	};

	atomic_store_explicit(&alarm_flag, &crew->stop, memory_order_relaxed);
	if (setitimer(ITIMER_REAL, &timer, NULL))
		bench_die("no timer");
}

static void
mask_alarm(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(how, &set, NULL);
}

static int
set_priority(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	return -pthread_setschedparam(pthread_self(), policy, &param);
}

static void
work(struct member *member)
{
	struct bench_crew *crew = member->crew;
	static const atomic_bool at_once = true;
	uint64_t cpu, preempted;

	for (int i = 0; i < WARM_BATCHES; i++)
		crew->loop(crew->ctx, &at_once);
	if (crew->realtime && crew->by_signal)
		set_priority(SCHED_FIFO, REALTIME);
	pthread_barrier_wait(&crew->ready);
	if (crew->by_signal && member == &crew->member[0])
		set_alarm(crew);
	preempted = preemptions();
	member->begin = bench_now();
	cpu = bench_thread_cpu();
	member->operations = crew->loop(crew->ctx, &crew->stop);
	member->cpu = bench_thread_cpu() - cpu;
	member->end = bench_now();
	member->preempted = preemptions() - preempted;
	if (crew->realtime && crew->by_signal)
		set_priority(SCHED_OTHER, 0);
	/* Acquire and release: the last one knows what the others noted. */
	if (atomic_fetch_sub_explicit(&crew->running, 1,
				      memory_order_acq_rel) == 1)
		sem_post(&crew->done);
}

static void *
member_main(void *arg)
{
	struct member *member = arg;

	if (member == &member->crew->member[0])
		mask_alarm(SIG_UNBLOCK);
	for (;;) {
		wait_for(&member->go);
		if (!member->crew->loop)
			return NULL;
		work(member);
	}
}

struct bench_crew *
bench_crew_create(int threads)
{
	struct bench_crew *crew = calloc(1, sizeof(*crew));
	struct sigaction action = { .sa_handler = on_alarm };

	if (!crew || threads > BENCH_THREADS_MAX)
		bench_die("no crew of %d threads", threads);
	crew->size = threads;
	sem_init(&crew->done, 0, 0);
	/* Blocked here and in all threads from now on but one. */
	mask_alarm(SIG_BLOCK);
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < threads; i++) {
		struct member *member = &crew->member[i];

		member->crew = crew;
		sem_init(&member->go, 0, 0);
		if (pthread_create(&member->thread, NULL, member_main, member))
			bench_die("no thread %d of %d", i + 1, threads);
	}
	return crew;
}

void
bench_crew_destroy(struct bench_crew *crew)
{
	crew->loop = NULL;
	for (int i = 0; i < crew->size; i++)
		sem_post(&crew->member[i].go);
	for (int i = 0; i < crew->size; i++) {
		pthread_join(crew->member[i].thread, NULL);
		sem_destroy(&crew->member[i].go);
	}
	sem_destroy(&crew->done);
	free(crew);
}

int
bench_crew_realtime(struct bench_crew *crew)
{
	int error = set_priority(SCHED_FIFO, REALTIME + 1);

	crew->realtime = !error;
	return error;
}

static struct bench_sample
collect(const struct bench_crew *crew, int threads)
{
	uint64_t begin = UINT64_MAX, end = 0, all_begun = 0;
	uint64_t one_ended = UINT64_MAX, cpu = 0, operations = 0;
	uint64_t preempted = 0;
	double overlap;

	for (int i = 0; i < threads; i++) {
		const struct member *member = &crew->member[i];

		begin = member->begin < begin ? member->begin : begin;
		end = member->end > end ? member->end : end;
		all_begun = member->begin > all_begun ? member->begin :
							all_begun;
		one_ended = member->end < one_ended ? member->end : one_ended;
		cpu += member->cpu;
		operations += member->operations;
		preempted += member->preempted;
	}
	overlap = (double)one_ended - (double)all_begun;
	return (struct bench_sample) {
		.wall = (double)(end - begin) / (double)operations,
		.cpu = (double)cpu / (double)operations,
		.disturbed = preempted ||
			     overlap < OVERLAP * (double)(end - begin),
	};
}

struct bench_sample
bench_slice(struct bench_crew *crew, int threads, bench_loop_fn *loop,
	    void *ctx, uint64_t ns)
{
	if (threads > crew->size)
		bench_die("%d threads of %d", threads, crew->size);
	crew->loop = loop;
	crew->ctx = ctx;
	crew->ns = ns;
	crew->by_signal = threads <= sysconf(_SC_NPROCESSORS_ONLN);
	/* Relaxed, both: `go` publishes them. */
	atomic_store_explicit(&crew->stop, false, memory_order_relaxed);
	atomic_store_explicit(&crew->running, threads, memory_order_relaxed);
	/* Main meets them only where it has to stop them. */
	pthread_barrier_init(&crew->ready, NULL,
			     (unsigned)threads + !crew->by_signal);
	for (int i = 0; i < threads; i++)
		sem_post(&crew->member[i].go);
	if (!crew->by_signal) {
		pthread_barrier_wait(&crew->ready);
		bench_sleep_until(bench_now() + ns);
		stop_slice(crew);
	}
	wait_for(&crew->done);
	pthread_barrier_destroy(&crew->ready);
	return collect(crew, threads);
}

struct bench_sample
bench_quiet_slice(struct bench_crew *crew, int threads, bench_loop_fn *loop,
		  void *ctx, uint64_t ns, int tries)
{
	/* On a busy machine a try takes longer than its slice. */
	uint64_t enough = bench_now() + 2 * (uint64_t)tries * ns;
	struct bench_sample sample;

	do {
		sample = bench_slice(crew, threads, loop, ctx, ns);
	} while (sample.disturbed && --tries > 0 && bench_now() < enough);
	return sample;
}

static double
seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

struct bench_load
bench_load_now(void)
{
	struct bench_load load = { .all = NAN, .when = bench_now() };
	double user, nice, system, idle, io, irq, soft, stolen;
	FILE *file = fopen("/proc/stat", "r");
	struct rusage usage;

	if (file && fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user,
			   &nice, &system, &idle, &io, &irq, &soft,
			   &stolen) == 8)
		load.all = (user + nice + system + irq + soft + stolen) /
			   (double)sysconf(_SC_CLK_TCK);
	if (file)
		fclose(file);
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		load.own = seconds(usage.ru_utime) + seconds(usage.ru_stime);
	return load;
}

double
bench_load_of_others(const struct bench_load *since)
{
	struct bench_load now = bench_load_now();
	double others = (now.all - since->all) - (now.own - since->own);
	double elapsed = (double)(now.when - since->when) / NS_PER_S;

	return 100 * others /
	       (elapsed * (double)sysconf(_SC_NPROCESSORS_ONLN));
}

static void *
ticker_main(void *arg)
{
	struct bench_ticker *ticker = arg;
	uint64_t next = bench_now();

	while (!bench_stopped(&ticker->stop)) {
		uint64_t now;

		ticker->fn(ticker->ctx);
		ticker->calls++;
		next += ticker->period;
		now = bench_now();
		/* A call that took longer drops ticks: it does not make up. */
		next = next < now ? now : next;
		bench_sleep_until(next);
	}
	return NULL;
}

struct bench_ticker *
bench_ticker_start(void (*fn)(void *ctx), void *ctx, uint64_t period_ns)
{
	struct bench_ticker *ticker = calloc(1, sizeof(*ticker));

	if (!ticker)
		bench_die("no memory");
	ticker->fn = fn;
	ticker->ctx = ctx;
	ticker->period = period_ns;
	ticker->begin = bench_now();
	if (pthread_create(&ticker->thread, NULL, ticker_main, ticker))
		bench_die("no thread");
	return ticker;
}

double
bench_ticker_stop(struct bench_ticker *ticker)
{
	double rate;

	/* Relaxed: it publishes nothing. */
	atomic_store_explicit(&ticker->stop, true, memory_order_relaxed);
	pthread_join(ticker->thread, NULL);
	rate = (double)ticker->calls * NS_PER_S /
	       (double)(bench_now() - ticker->begin);
	free(ticker);
	return rate;
}

void
bench_series_add(struct bench_series *series, double value)
{
	if (series->n < BENCH_ROUNDS_MAX)
		series->value[series->n++] = value;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int
bench_count(const struct bench_series *series)
{
	int n = 0;

	for (int i = 0; i < series->n; i++)
		n += !isnan(series->value[i]);
	return n;
}

double
bench_median(const struct bench_series *series)
{
	double sorted[BENCH_ROUNDS_MAX];
	int n = 0;

	for (int i = 0; i < series->n; i++)
		if (!isnan(series->value[i]))
			sorted[n++] = series->value[i];
	if (n == 0)
		return NAN;
	qsort(sorted, (size_t)n, sizeof(sorted[0]), by_size);
	return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

double
bench_min(const struct bench_series *series)
{
	double least = NAN;

	for (int i = 0; i < series->n; i++)
		least = fmin(least, series->value[i]);
	return least;
}

double
bench_max(const struct bench_series *series)
{
	double most = NAN;

	for (int i = 0; i < series->n; i++)
		most = fmax(most, series->value[i]);
	return most;
}

struct bench_series
bench_ratio(const struct bench_series *a, const struct bench_series *b)
{
	struct bench_series ratio = { .n = 0 };

	for (int i = 0; i < a->n && i < b->n; i++)
		bench_series_add(&ratio, a->value[i] / b->value[i]);
	return ratio;
}
