/* SPDX-License-Identifier: MIT */
/*
 * The main() of stress programs that run with several LEND_CONFs in turn, each
 * in a process of its own:
 *
 *   [-s SEED] [-n OPERATIONS] [-c LEND_CONF]
 *
 * With -c it is that one alone, in this process.
 */
#ifndef TESTS_STRESS_IN_TURN_H
#define TESTS_STRESS_IN_TURN_H

#include <stdint.h>

struct in_turn {
	const char *name;		/* the program's, for argv[0] */
	const char *what;		/* operations are called so */
	unsigned operations;		/* without -n, to be scaled */
	const char *const *confs;	/* the last one is null */
	int (*run)(uint64_t seed, long operations);	/* an exit status */
};

/* An exit status: 0 where every run's was. */
int in_turn_main(const struct in_turn *turn, int argc, char **argv);

#endif
