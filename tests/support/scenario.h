/* SPDX-License-Identifier: MIT */
/*
 * One life of an arena, step by step and the same in every run, with what
 * each call returned and all statistics written down: for comparing what must
 * not make a difference.
 */
#ifndef TESTS_SUPPORT_SCENARIO_H
#define TESTS_SUPPORT_SCENARIO_H

#include <stddef.h>

#include "lend/arena.h"

struct transcript {
	enum lend_protocol protocol;	/* the one thing that is not in it */
	size_t length;
	char text[32768];
};

/*
 * Plays it: worker loans, growth, nesting, trims before, during and after
 * loans, threads that come, go and are succeeded, teams, plain buffers, a limit.
 */
void scenario_play(struct transcript *transcript);

#endif
