/* SPDX-License-Identifier: MIT */
#include "tools/measure.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/clock.h"
#include "tools/memory.h"
#include "tools/npy.h"

#define M ((size_t)240)
#define K ((size_t)256)
#define N ((size_t)960)
/* Contractions of each thread. */
#define CONTRACTIONS 200
#define CONTRACTIONS_ROUGH 5
#define COPY_BYTES ((size_t)64 << 20)
#define COPY_ROUNDS 8
#define COPY_ROUNDS_ROUGH 1

struct peak_job {
	lend_plan *plan;
	lend_arena *arena;
	void *a, *b, *c;	/* c: one after the other for each thread */
	size_t c_bytes;
	int contractions;
	double *best;		/* seconds, of each thread; INFINITY: refused */
};

struct copy_job {
	char *memory;	/* source and target for each thread */
};

void
measure_fill(enum lend_type type, void *array, size_t bytes, unsigned seed)
{
	uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	size_t real = type_real_bytes(type);

	for (size_t i = 0; i < bytes / real; i++) {
		double value;

		state = state * UINT64_C(6364136223846793005) +
			UINT64_C(1442695040888963407);
		value = (double)(int32_t)(state >> 32) / 2147483648.0;
		if (real == 4)
			((float *)array)[i] = (float)value;
		else
			((double *)array)[i] = value;
	}
}

static void
peak_thread(size_t index, void *ctx)
{
	struct peak_job *job = ctx;
	struct lend_exec serial;
	struct lend_call call = {
		.a = job->a, .b = job->b,
		.c = (char *)job->c + index * job->c_bytes,
	};
	double best = INFINITY;

	lend_exec_serial(&serial);
	for (int i = 0; i < job->contractions; i++) {
		double begin = now_seconds();

		if (lend_plan_execute(job->plan, job->arena, &serial, &call,
				      NULL)) {
			best = INFINITY;
			break;
		}
		best = fmin(best, now_seconds() - begin);
	}
	job->best[index] = best;
}

static void
copy_batch(size_t index, void *ctx)
{
	struct copy_job *job = ctx;
	char *source = job->memory + 2 * index * COPY_BYTES;

	memcpy(source + COPY_BYTES, source, COPY_BYTES);
}

/* The least time of the rounds, the first one for warmth; -1: refused. */
static double
best_round(const struct lend_exec *exec, lend_exec_fn *fn, void *ctx,
	   int rounds)
{
	double best = INFINITY;

	for (int i = 0; i <= rounds; i++) {
		double begin = now_seconds();

		if (lend_exec_broadcast(exec, fn, ctx))
			return -1;
		if (i > 0)
			best = fmin(best, now_seconds() - begin);
	}
	return best;
}

/*
 * The sum of the threads' best rates while all work: whoever else takes a
 * processor meanwhile makes the peak no lower.
 */
static double
sum_rates(const struct peak_job *job, size_t threads)
{
	double flops = 2.0 * M * N * K, sum = 0;

	for (size_t i = 0; i < threads; i++) {
		if (isinf(job->best[i]))
			return -1;
		sum += flops / job->best[i] * 1e-9;
	}
	return sum;
}

static double
run_peak(struct peak_job *job, enum lend_type type,
	 const struct lend_exec *exec)
{
	size_t threads = lend_exec_budget(exec);
	size_t bytes = lend_type_bytes(type);
	size_t a_bytes = M * K * bytes, b_bytes = K * N * bytes;
	double peak = -1;

	job->c_bytes = M * N * bytes;
	job->a = memory_map(a_bytes);
	job->b = memory_map(b_bytes);
	job->c = memory_map(threads * job->c_bytes);
	job->best = calloc(threads, sizeof job->best[0]);
	if (job->a && job->b && job->c && job->best) {
		measure_fill(type, job->a, a_bytes, 1);
		measure_fill(type, job->b, b_bytes, 2);
		if (!lend_exec_broadcast(exec, peak_thread, job))
			peak = sum_rates(job, threads);
	}
	free(job->best);
	memory_unmap(job->a, a_bytes);
	memory_unmap(job->b, b_bytes);
	memory_unmap(job->c, threads * job->c_bytes);
	/* A complex product is four real ones. */
	return type_is_complex(type) ? 4 * peak : peak;
}

double
measure_peak(enum lend_type type, const char *kernel,
	     const struct lend_exec *exec, bool rough, struct message *why)
{
	size_t a[] = { M, K }, b[] = { K, N };
	struct lend_layout a_layout = { 2, a, NULL };
	struct lend_layout b_layout = { 2, b, NULL };
	struct lend_plan_options options = {
		.size = sizeof options, .kernel = kernel
	};
	struct peak_job job = {
		.contractions = rough ? CONTRACTIONS_ROUGH : CONTRACTIONS,
	};
	struct lend_error error;
	double peak = -1;

	if (lend_plan_create(&job.plan, "ik,kj->ij", type, &a_layout,
			     &b_layout, NULL, &options, &error)) {
		refuse(why, "%s", error.text);
		return -1;
	}
	if (!lend_arena_create(&job.arena, NULL))
		peak = run_peak(&job, type, exec);
	if (peak < 0)
		refuse(why, "no memory or no threads to measure the peak");
	lend_plan_destroy(job.plan);
	/* No loan is out, so it cannot be refused. */
	if (job.arena && lend_arena_destroy(job.arena))
		return -1;
	return peak;
}

double
measure_bandwidth(const struct lend_exec *exec, bool rough,
		  struct message *why)
{
	double bytes = 2.0 * (double)COPY_BYTES *
		       (double)lend_exec_budget(exec);
	struct copy_job job = { memory_map((size_t)bytes) };
	double seconds = -1;

	if (job.memory) {
		memset(job.memory, 1, (size_t)bytes);
		seconds = best_round(exec, copy_batch, &job,
				     rough ? COPY_ROUNDS_ROUGH : COPY_ROUNDS);
	}
	memory_unmap(job.memory, (size_t)bytes);
	if (seconds < 0) {
		refuse(why, "no memory or no threads to measure the "
		       "bandwidth");
		return -1;
	}
	return bytes / seconds * 1e-9;
}
