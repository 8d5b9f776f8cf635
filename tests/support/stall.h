/* SPDX-License-Identifier: MIT */
/*
 * A thread stopped in the middle of what it does: where it gives an extent
 * back.  To show that something else waits for it, or does not.
 *
 *	main thread                      another thread
 *	stall_begin()
 *	                                 stall_next()
 *	stall_await()  <-----------      ... gives an extent back, and waits
 *	does the something               until it is done, or for long enough
 *	stall_done()   ----------->      goes on
 *	joins it
 *	stall_end(): was it done meanwhile?
 */
#ifndef TESTS_SUPPORT_STALL_H
#define TESTS_SUPPORT_STALL_H

#include <stdbool.h>

/* While no arena exists: puts itself before the backend in use. */
void stall_begin(void);
/* The next extent that any thread gives back stalls it. */
void stall_next(void);
/* Until a thread is stalled. */
void stall_await(void);
void stall_done(void);
/* While no arena exists.  Whether it was done before the thread went on. */
bool stall_end(void);

#endif
