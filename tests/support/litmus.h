/* SPDX-License-Identifier: MIT */
/*
 * The store buffer, and the barrier that one thread pays for another.
 *
 *   owner, k = 1, 2, ...        other
 *   x = k       (plain)         y = 1
 *   compiler barrier            membarrier
 *   y == 0 ?  then seen = k     r = x
 *
 * A checkout is a turn of the owner: it marks its slot and looks for a
 * trimmer.  A trim is the other: it announces itself and looks for marks.
 * The owner's turn k either was before the barrier, then r >= k, or its look
 * was after it, then it does not see 0.  So
 *
 *   r >= seen
 *
 * and where it is not, an owner and a trimmer have both gone ahead.
 */
#ifndef TESTS_SUPPORT_LITMUS_H
#define TESTS_SUPPORT_LITMUS_H

/* What the other one does between its store and its look. */
enum litmus {
	LITMUS_MEMBARRIER,	/* the library's way */
	LITMUS_FENCE,		/* mutant: a fence on this side alone */
	LITMUS_NOTHING		/* mutant: no barrier at all */
};

/*
 * In how many of so many rounds it was violated; or -1: no second thread, or
 * the system refused the barrier.
 */
long litmus_run(enum litmus barrier, unsigned rounds);

/* How many processors this thread may run on. */
int litmus_processors(void);

#endif
