/* SPDX-License-Identifier: MIT */
/*
 * The warm pool for long: slots that must be conserved, and rounds that must
 * be linearizable, with threads that step aside in the middle of operations.
 *
 *	stress_warm [-n OPERATIONS] [-r ROUNDS] [-s SEED]
 */
#include <lend/warm.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "support/linear.h"
#include "support/scale.h"
#include "support/suite.h"
#include "support/warm_crowd.h"
#include "support/warm_hook.h"

#define OPERATIONS 10000000u
#define ROUNDS 100000u
#define THREADS 8

static void
conserve(unsigned operations, unsigned cap, unsigned ids, uint64_t seed)
{
	struct warm_crowd crowd = {
		.threads = THREADS, .operations = operations / THREADS,
		.ids = ids, .seed = seed,
	};
	const char *wrong;

	ck_assert_int_eq(lend_warm_pool_create(&crowd.pool, cap), 0);
	wrong = warm_crowd_run(&crowd);
	ck_assert_msg(!wrong, "%s", wrong);
	printf("cap %u, %u ids: %llu claims, %llu slots handed back, "
	       "%llu offers rejected\n", cap, ids,
	       (unsigned long long)crowd.claims,
	       (unsigned long long)crowd.backs,
	       (unsigned long long)crowd.rejected);
	ck_assert_int_eq(lend_warm_pool_destroy(crowd.pool), 0);
}

static void
perform(void *object, struct warm_op *op)
{
	warm_pool_do(object, op);
}

static void
linearize(unsigned rounds, unsigned threads, unsigned operations,
	  unsigned cap, unsigned ids, uint64_t seed)
{
	struct linear_run run = {
		.perform = perform, .threads = threads,
		.operations = operations, .cap = cap, .ids = ids,
		.rounds = rounds, .seed = seed,
	};
	lend_warm_pool *pool;

	ck_assert_int_eq(lend_warm_pool_create(&pool, cap), 0);
	run.object = pool;
	warm_hook = warm_hook_step_aside;
	ck_assert_uint_eq(linear_run(&run), 0);
	warm_hook = NULL;
	printf("cap %u, %u ids: %u rounds of %u x %u operations\n", cap, ids,
	       rounds, threads, operations);
	ck_assert_int_eq(lend_warm_pool_destroy(pool), 0);
}

static unsigned operations, rounds;
static uint64_t seed;

START_TEST(slots_are_conserved)
{
	conserve(operations / 2, 2, 3, seed);
	conserve(operations / 4, 8, 8, seed + 100);
	conserve(operations / 8, 2, 60, seed + 200);
	conserve(operations / 8, 64, 64, seed + 300);
}
END_TEST

START_TEST(rounds_are_linearizable)
{
	linearize(rounds / 2, 3, 6, 2, 3, seed + 400);
	linearize(rounds / 4, 3, 6, 1, 4, seed + 500);
	linearize(rounds / 4, 6, 3, 2, 3, seed + 600);
}
END_TEST

static int
run(void)
{
	Suite *suite = suite_create("stress_warm");
	TCase *tcase = suite_case(suite, "warm");

	tcase_set_timeout(tcase, 0);
	tcase_add_test(tcase, slots_are_conserved);
	tcase_add_test(tcase, rounds_are_linearizable);
	return suite_run(suite);
}

int
main(int argc, char **argv)
{
	int option;

	operations = scale(OPERATIONS);
	rounds = scale(ROUNDS);
	seed = (uint64_t)time(NULL);
	while ((option = getopt(argc, argv, "n:r:s:")) != -1) {
		if (option == 'n')
			operations = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 'r')
			rounds = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 's')
			seed = strtoull(optarg, NULL, 10);
		else
			return EXIT_FAILURE;
	}
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	return run();
}
