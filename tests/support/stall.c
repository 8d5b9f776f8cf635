/* SPDX-License-Identifier: MIT */
#include "support/stall.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "base/os.h"
#include "mem/backend.h"

/* Steps aside so often: for what does not wait, ample time to be done. */
#define PATIENCE 50000

static const struct backend *before;
static struct backend stalling;
static atomic_bool armed, done, meanwhile;
static sem_t stalled;

static void
stall_extent_free(void *p, size_t size)
{
	if (atomic_exchange(&armed, false)) {
		sem_post(&stalled);
		for (int i = 0; i < PATIENCE && !atomic_load(&done); i++)
			os_yield();
		atomic_store(&meanwhile, atomic_load(&done));
	}
	before->extent_free(p, size);
}

void
stall_begin(void)
{
	sem_init(&stalled, 0, 0);
	atomic_store(&armed, false);
	atomic_store(&done, false);
	atomic_store(&meanwhile, false);
	before = lend__backend;
	stalling = *before;
	stalling.extent_free = stall_extent_free;
	lend__backend = &stalling;
}

void
stall_next(void)
{
	atomic_store(&armed, true);
}

void
stall_await(void)
{
	while (sem_wait(&stalled))
		;
}

void
stall_done(void)
{
	atomic_store(&done, true);
}

bool
stall_end(void)
{
	lend__backend = before;
	sem_destroy(&stalled);
	return atomic_load(&meanwhile);
}
