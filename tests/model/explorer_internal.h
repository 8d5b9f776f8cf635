/* SPDX-License-Identifier: MIT */
/*
 * What the explorer's files share:
 *   explorer.c         the search: paths, scheduling, executions, printing
 *   explorer_memory.c  values, vector clocks, store buffers
 *   explorer_arrivals.c  when buffered stores reach memory
 *   explorer_steps.c   the operations that the code under test calls
 *   explorer_fiber.c   the stacks of the threads
 */
#ifndef LEND_MODEL_EXPLORER_INTERNAL_H
#define LEND_MODEL_EXPLORER_INTERNAL_H

#include "explorer.h"
#include "explorer_fiber.h"

#define BUFFER	32		/* stores; the oldest leaves a full buffer */
#define OBJECTS	1024		/* a power of two; half of them get used */
#define PATH	(1u << 16)
#define EVENTS	(1u << 15)
#define STEPS	10000

/* Vector clock: how far each thread's own count is known to be before. */
struct clock {
	uint32_t at[MODEL_THREADS];
};

struct object {
	const void *address;
	uint32_t execution;	/* an entry of another execution is free */
	struct clock released;	/* what an acquire of the value learns */
	struct clock reads;	/* plain ones since the last plain write */
	unsigned writer;	/* of the last plain write */
	uint32_t written;	/* when, on the writer's clock; 0: never */
};

/* A store that is on its way to memory. */
struct entry {
	void *address;
	uint64_t value;
	struct clock clock;	/* the thread's for a release, else zero */
	const char *text;
	size_t size;
	bool release;
	bool settled;		/* a compiler barrier came after it */
};

enum state { READY, WAITING, DONE };

struct thread {
	struct fiber fiber;
	enum state state;
	bool resumed;		/* just chosen to run: must make a step */
	uint64_t woken;		/* explorer.changes when it stopped waiting */
	struct clock clock;
	uint32_t stepped;	/* own count at the last step */
	struct clock settled;	/* the clock at the last compiler barrier */
	struct clock pending;	/* joins the clock at the next one */
	struct entry buffer[BUFFER];
	unsigned buffered;
};

struct choice {
	uint8_t taken, outcomes;
};

enum deed { READ, STORED, ARRIVED, SWAPPED, NOT_SWAPPED, PASSED };

struct event {
	const char *text;
	uint64_t value;
	uint8_t thread, deed;
};

struct search {
	struct model model;	/* the one explored, or the last one */
	struct model_result result;
	bool exploring;
	bool direct;		/* setup, finish, or not exploring at all */
	uint32_t heavy;		/* the threads known to make heavy barriers */
	bool restart;		/* another one was just found to */
	struct thread thread[MODEL_THREADS];
	struct thread *current;
	struct fiber main, director;
	struct choice path[PATH];
	unsigned length;	/* of the path; the first `depth` are taken */
	unsigned depth;

	/* Of one execution: */
	uint32_t execution;	/* its number, from 1, never reused */
	unsigned preemptions, spurious, steps;
	uint64_t changes;	/* of memory */
	unsigned objects;
	struct object object[OBJECTS];
	unsigned events;
	struct event event[EVENTS];
};

extern struct search explorer;

/* explorer.c */

/* Ends the exploration; called on a fiber. */
_Noreturn void explorer_fail(enum model_failure failure, const char *format,
			     ...) __attribute__((format(printf, 2, 3)));
/* One of the outcomes 0 .. outcomes - 1; the first one, on a new path. */
unsigned explorer_choose(unsigned outcomes);
/* Before every step: others may run.  Returns the thread that makes it. */
struct thread *explorer_arrive(void);
/* The same before a step that an interrupt alone can tell from a later one. */
struct thread *explorer_arrive_locally(void);
/* The thread makes heavy barriers; explores anew if that is news. */
void explorer_expect_heavy(const struct thread *t);
void explorer_record(const struct thread *t, enum deed deed, const char *text,
		     uint64_t value);

static inline unsigned
thread_number(const struct thread *t)
{
	return (unsigned)(t - explorer.thread);
}

/* explorer_memory.c */

uint64_t explorer_get(const void *address, size_t size);
void explorer_put(void *address, size_t size, uint64_t value);
/* The value as an object of that size holds it. */
uint64_t explorer_cut(uint64_t value, size_t size);
struct object *explorer_object(const void *address);
void explorer_join(struct clock *clock, const struct clock *other);

/* A compiler barrier: what the thread did so far is done before the rest. */
void explorer_settle(struct thread *t);
/* Puts a store on its way. */
void explorer_issue(struct thread *t, const struct entry *e);
/* The newest value that the thread may see; acquired if it is another's. */
uint64_t explorer_look(struct thread *t, const void *address, size_t size,
		       enum model_order order);

/* Entry i of the buffer and all that must reach memory before it. */
uint32_t explorer_with_preceding(const struct thread *t, unsigned i);
/* The entries of the set reach memory, the oldest first. */
void explorer_drain_set(struct thread *t, uint32_t set);

/* explorer_arrivals.c */

/* Which stores a step drains from its thread's buffer. */
enum drained { NONE, OF_ADDRESS, SETTLED, ALL };
/* What a step touches in memory. */
struct touch {
	struct thread *actor;
	const void *address;
	enum drained drained;
};

/* Before the step: chooses which stores reach memory that it can tell. */
void explorer_offer_drains(const struct touch *touch);
/* Part of the step: drains what it does. */
void explorer_drain(const struct touch *touch);
/* At a standstill: some store reaches memory.  False: there is none. */
bool explorer_drain_any(void);
/* At the end: all do, in some order of those that compete. */
void explorer_drain_all(void);

#endif
