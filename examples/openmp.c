/* SPDX-License-Identifier: MIT */
/*
 * A host with threads of its own: OpenMP instead of a lend pool.
 *
 * Four functions are all that it takes.  What runs on the token then runs on
 * OpenMP's team, and no second set of threads competes for the processors.
 *
 *	cc -fopenmp openmp.c -llend
 */
#include <errno.h>
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lend/exec.h>

/* The host. */

/* OpenMP may have fewer threads to give than it would like to use. */
static size_t
team_width(void *host)
{
	int most = omp_get_max_threads(), limit = omp_get_thread_limit();

	(void)host;
	return (size_t)(most < limit ? most : limit);
}

/*
 * All at the same time, or none.  The team may come out smaller than asked
 * for; every thread of it sees the same size, so all of them decide alike.
 */
static int
team_broadcast(void *host, size_t budget, lend_exec_fn *fn, void *ctx)
{
	int error = 0;

	(void)host;
#pragma omp parallel num_threads((int)budget)
	{
		if (omp_get_num_threads() == (int)budget) {
			fn((size_t)omp_get_thread_num(), ctx);
		} else {
#pragma omp single
			error = -EAGAIN;
		}
	}
	return error;
}

/*
 * Each once, on whatever threads there are; n is never above the budget.
 * A thread that is done takes what comes next.
 */
static void
team_parallel(void *host, size_t n, lend_exec_fn *fn, void *ctx)
{
	(void)host;
#pragma omp parallel for schedule(dynamic) num_threads((int)n)
	for (size_t i = 0; i < n; i++)
		fn(i, ctx);
}

/*
 * In a team already: another one inside would be smaller than promised.  Not
 * omp_in_parallel(), which does not count a team of one.
 */
static bool
team_is_worker(void *host)
{
	(void)host;
	return omp_get_level() > 0;
}

static const struct lend_exec_host openmp = {
	.size = sizeof(openmp),
	.width = team_width,
	.broadcast = team_broadcast,
	.parallel = team_parallel,
	.is_worker = team_is_worker,
};

/* What runs on it. */

#define PRODUCTS 1000000
#define JOBS_MAX 4

static int
expect(bool right, const char *what)
{
	printf("  %s: %s\n", right ? "yes" : "NO", what);
	return right ? 0 : 1;
}

struct roll {
	const struct lend_exec *exec;
	atomic_size_t here;	/* how many have come */
	size_t budget;
	atomic_int refused;	/* broadcasts from inside: all, it should be */
	atomic_int stray;
};

static void
stray(size_t index, void *ctx)
{
	struct roll *roll = ctx;

	(void)index;
	atomic_fetch_add(&roll->stray, 1);
}

/* Waits for all the others: it would never end if one ran after another. */
static void
answer(size_t index, void *ctx)
{
	struct roll *roll = ctx;

	(void)index;
	atomic_fetch_add(&roll->here, 1);
	while (atomic_load(&roll->here) < roll->budget)
		sched_yield();
	if (lend_exec_broadcast(roll->exec, stray, roll) == -EDEADLK)
		atomic_fetch_add(&roll->refused, 1);
}

/* Once on each of the workers, all at the same time. */
static int
call_the_roll(const struct lend_exec *exec)
{
	struct roll roll = { .exec = exec, .budget = lend_exec_budget(exec) };
	int error = lend_exec_broadcast(exec, answer, &roll), wrong = 0;

	printf("broadcast to %zu workers\n", roll.budget);
	if (error == -EAGAIN) {
		/* OMP_DYNAMIC does this.  Run it serially, or try later. */
		printf("  refused: the team came out smaller\n");
		return expect(atomic_load(&roll.here) == 0, "nothing ran");
	}
	wrong += expect(error == 0, "it was accepted");
	wrong += expect(atomic_load(&roll.here) == roll.budget,
			"all of them met");
	wrong += expect(atomic_load(&roll.refused) == (int)roll.budget &&
			atomic_load(&roll.stray) == 0,
			"a worker that broadcasts is refused, nothing runs");
	return wrong;
}

static void
add_products(size_t begin, size_t end, void *ctx)
{
	unsigned long long sum = 0;

	for (size_t i = begin; i < end; i++)
		sum += (unsigned long long)i * 2;
	atomic_fetch_add((atomic_ullong *)ctx, sum);
}

/* A sum in ranges of at least 1000 products. */
static int
sum_in_ranges(const struct lend_exec *exec)
{
	atomic_ullong sum = 0;
	int error = lend_exec_for_ranges(exec, PRODUCTS, 1000, add_products,
					 &sum);

	printf("for_ranges over %d products: the sum is %llu\n", PRODUCTS,
	       atomic_load(&sum));
	return expect(error == 0 && atomic_load(&sum) ==
		      (unsigned long long)PRODUCTS * (PRODUCTS - 1),
		      "every index was there once");
}

struct contraction {
	size_t budget;
	int broadcast;		/* what its token says to a broadcast */
	atomic_ullong sum;
};

/* A contraction that works with what it was given. */
static void
contract(size_t index, const struct lend_exec *child, void *ctx)
{
	struct contraction *mine = (struct contraction *)ctx + index;

	mine->budget = lend_exec_budget(child);
	mine->broadcast = lend_exec_broadcast(child, stray, NULL);
	if (lend_exec_for_ranges(child, PRODUCTS, 1000, add_products,
				 &mine->sum))
		atomic_store(&mine->sum, 0);
}

/* Contractions that run side by side share the budget. */
static int
share_the_budget(const struct lend_exec *exec, size_t jobs)
{
	struct contraction each[JOBS_MAX];
	size_t budget = lend_exec_budget(exec), sum = 0;
	int error, wrong = 0;

	memset(each, 0, sizeof(each));
	error = lend_exec_fork(exec, jobs, contract, each);
	printf("fork of %zu into %zu jobs, their budgets:", budget, jobs);
	for (size_t i = 0; i < jobs; i++) {
		printf(" %zu", each[i].budget);
		sum += each[i].budget;
		wrong += each[i].broadcast != -EPERM;
		wrong += atomic_load(&each[i].sum) !=
			(unsigned long long)PRODUCTS * (PRODUCTS - 1);
	}
	printf("\n");
	if (jobs <= budget)
		wrong += expect(sum == budget, "handed out whole");
	else
		wrong += expect(sum == jobs,
				"one each, so many at a time as there are");
	return wrong + expect(error == 0 && wrong == 0,
			      "all summed up, none may broadcast");
}

int
main(void)
{
	struct lend_exec exec;
	int wrong = 0;

	/* A wish beyond what there is becomes what there is. */
	if (lend_exec_on_host(&exec, &openmp, SIZE_MAX)) {
		printf("the host was refused\n");
		return EXIT_FAILURE;
	}
	printf("OpenMP gives %zu threads\n", lend_exec_budget(&exec));
	wrong += call_the_roll(&exec);
	wrong += sum_in_ranges(&exec);
	for (size_t jobs = 1; jobs <= JOBS_MAX; jobs++)
		wrong += share_the_budget(&exec, jobs);
	printf(wrong ? "%d wrong\n" : "all right\n", wrong);
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
