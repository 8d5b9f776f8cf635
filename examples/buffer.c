/* SPDX-License-Identifier: MIT */
/*
 * Buffer loans: intermediates of any size.  One thread fills what another
 * uses and returns; the second round finds what the first has left.
 */
#include <pthread.h>
#include <stdio.h>

#include <lend/lend.h>

#define ELEMENTS ((size_t)1 << 18)

/* Sums an intermediate, and returns it: any thread may. */
static void *
consume(void *arg)
{
	float *intermediate = arg;
	double sum = 0;

	for (size_t i = 0; i < ELEMENTS; i++)
		sum += (double)intermediate[i];
	printf("sum %.0f; returned: %d\n", sum,
	       lend_buffer_return(intermediate));
	return NULL;
}

static int
produce(lend_arena *arena)
{
	size_t capacity;
	pthread_t consumer;
	float *intermediate;
	void *start;

	if (lend_buffer_borrow(arena, ELEMENTS * sizeof(float), &start) ||
	    lend_buffer_capacity(start, &capacity))
		return 1;
	printf("borrowed %zu bytes\n", capacity);
	intermediate = start;
	for (size_t i = 0; i < ELEMENTS; i++)
		intermediate[i] = (float)(i % 2);
	if (pthread_create(&consumer, NULL, consume, intermediate))
		return 1;
	return pthread_join(consumer, NULL);
}

int
main(void)
{
	struct lend_stats stats;
	lend_arena *arena;

	if (lend_arena_create(&arena, NULL) || produce(arena) ||
	    produce(arena) || lend_arena_stats(arena, &stats))
		return 1;
	printf("%zu bytes retained after %llu growth; destroyed: %d\n",
	       stats.buffer_bytes, (unsigned long long)stats.growths,
	       lend_arena_destroy(arena));
	return stats.growths != 1;
}
