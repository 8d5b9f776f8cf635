/* SPDX-License-Identifier: MIT */
#include "support/litmus.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/os.h"

/* The two words of the litmus, and the round that is on, each on its line. */
struct table {
	_Alignas(128) _Atomic(uint64_t) x;
	_Alignas(128) _Atomic(uint32_t) y;
	_Alignas(128) _Atomic(uint64_t) begun;	/* rounds, by the other */
	_Alignas(128) _Atomic(uint64_t) turning; /* the owner is in round */
	_Alignas(128) _Atomic(uint64_t) ended;	/* rounds, by the owner */
	uint64_t seen;		/* the owner's, handed over by `ended` */
	uint64_t rounds;
};

/* Waits for the word; on one processor the writer wants it. */
static void
await(_Atomic(uint64_t) *word, uint64_t value)
{
	unsigned spins = 0;

	/* Acquire: pairs with the release of the writer. */
	while (load_acquire(word) < value)
		if (++spins % 1024 == 0)
			os_yield();
}

static void
turns(struct table *table, unsigned pauses)
{
	uint64_t k = 0, seen = 0;

	for (;;) {
		/* Relaxed: the membarrier of the other makes it seen. */
		store_relaxed(&table->x, ++k);
		compiler_barrier();
		/* Acquire: as in slot.h. */
		if (load_acquire(&table->y))
			break;
		seen = k;
		/* So that the other one can have both lines at hand. */
		for (unsigned i = 0; i < pauses; i++)
			os_cpu_relax();
		/* So that on one processor the other one comes to run. */
		if (k % 4096 == 0)
			os_yield();
	}
	table->seen = seen;
}

static void *
owner_main(void *arg)
{
	struct table *table = arg;

	for (uint64_t round = 1; round <= table->rounds; round++) {
		await(&table->begun, round);
		/* Release, both: pair with await(). */
		store_release(&table->turning, round);
		turns(table, (unsigned)(round / 64 % 8));
		store_release(&table->ended, round);
	}
	return NULL;
}

static bool
pass(enum litmus barrier)
{
	if (barrier == LITMUS_FENCE)
		__sync_synchronize();
	else if (barrier == LITMUS_MEMBARRIER)
		return os_membarrier();
	compiler_barrier();
	return true;
}

/* 1: violated, 0: not, -1: no barrier. */
static int
play_round(struct table *table, enum litmus barrier, uint64_t round)
{
	uint64_t r;
	bool passed;

	/* Relaxed: `begun` publishes both. */
	store_relaxed(&table->x, 0);
	store_relaxed(&table->y, 0);
	store_release(&table->begun, round);
	await(&table->turning, round);
	/* At another moment of the owner's turns each time. */
	for (uint64_t i = 0; i < round % 64; i++)
		os_cpu_relax();
	(void)load_relaxed(&table->x);
	/* Relaxed: the barrier makes it seen. */
	store_relaxed(&table->y, 1);
	passed = pass(barrier);
	/* Relaxed: the barrier comes before it. */
	r = load_relaxed(&table->x);
	await(&table->ended, round);
	if (!passed)
		return -1;
	return r < table->seen;
}

long
litmus_run(enum litmus barrier, unsigned rounds)
{
	static struct table table;
	pthread_t owner;
	long violated = 0;
	bool refused = false;

	table = (struct table){ .rounds = rounds };
	if (pthread_create(&owner, NULL, owner_main, &table))
		return -1;
	for (uint64_t round = 1; round <= rounds; round++) {
		int result = play_round(&table, barrier, round);

		refused |= result < 0;
		violated += result > 0;
	}
	pthread_join(owner, NULL);
	return refused ? -1 : violated;
}

int
litmus_processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return CPU_COUNT(&set);
}
