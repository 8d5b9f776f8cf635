/* SPDX-License-Identifier: MIT */
#include "support/linear.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "support/crew.h"
#include "support/random.h"

/* Search. */

#define SEEN_BITS 14
#define SEEN (1u << SEEN_BITS)

static struct {
	const struct linear_event *events;
	unsigned n;
	/* What was tried before in vain: operations done, and the state. */
	struct {
		unsigned search;
		uint64_t done, state;
	} seen[SEEN];
	unsigned search;
} search;

static uint64_t
mix(uint64_t hash, uint64_t value)
{
	/* What is 0 must count, too. */
	hash = (hash + value + 1) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 29) * UINT64_C(0xd6e8feb86659fd93);
	return hash ^ hash >> 32;
}

static uint64_t
state_of(const struct warm_model *model)
{
	uint64_t hash = model->listed;

	for (unsigned i = 0; i < model->listed; i++)
		hash = mix(hash, model->order[i]);
	for (unsigned i = 0; i < model->ids; i++) {
		const struct warm_model_id *id = &model->id[i];

		hash = mix(hash, id->in_flight | (uint64_t)id->ready << 16);
		for (unsigned k = 0; k < id->ready; k++)
			hash = mix(hash, id->slot[k]);
	}
	return hash;
}

/* Whether we have been here; remembers it, where there is room. */
static bool
seen_before(uint64_t done, const struct warm_model *model)
{
	uint64_t state = state_of(model), at = mix(state, done);

	for (unsigned i = 0; i < 16; i++) {
		unsigned place = (unsigned)(at + i) % SEEN;

		if (search.seen[place].search != search.search) {
			search.seen[place].search = search.search;
			search.seen[place].done = done;
			search.seen[place].state = state;
			return false;
		}
		if (search.seen[place].done == done &&
		    search.seen[place].state == state)
			return true;
	}
	return false;
}

static uint64_t
first_return(uint64_t done)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < search.n; i++)
		if (!(done >> i & 1) && search.events[i].ret < first)
			first = search.events[i].ret;
	return first;
}

/* Whether the rest can follow from here. */
static bool
rest_follows(uint64_t done, const struct warm_model *model)
{
	uint64_t first = first_return(done);

	if (first == UINT64_MAX)
		return true;
	if (seen_before(done, model))
		return false;
	for (unsigned i = 0; i < search.n; i++) {
		const struct linear_event *event = &search.events[i];
		struct warm_op op;
		struct warm_model next;

		if (done >> i & 1 || event->call > first)
			continue;
		op.kind = event->op.kind;
		op.id = event->op.id;
		op.arg = event->op.arg;
		warm_model_copy(&next, model);
		warm_model_do(&next, &op);
		if (warm_op_same(&op, &event->op) &&
		    rest_follows(done | (uint64_t)1 << i, &next))
			return true;
	}
	return false;
}

bool
linear_check(const struct linear_event *events, unsigned n, unsigned cap,
	     unsigned ids)
{
	struct warm_model model;

	ck_assert_uint_le(n, LINEAR_EVENTS);
	warm_model_init(&model, cap, ids);
	search.events = events;
	search.n = n;
	search.search++;
	return rest_follows(0, &model);
}

/* Rounds. */

struct running {
	const struct linear_run *run;
	struct crew crew;
	_Atomic(uint64_t) time;
	struct linear_event event[LINEAR_THREADS][LINEAR_EVENTS];
	uint64_t random[LINEAR_THREADS];
};

static void
perform(struct running *running, struct linear_event *event)
{
	/* Acquire, release: what happens between them stays between. */
	event->call = fetch_add_acq_rel(&running->time, 1);
	running->run->perform(running->run->object, &event->op);
	event->ret = fetch_add_acq_rel(&running->time, 1);
}

/* Mostly what changes something; slots are told apart by their numbers. */
static void
choose(struct warm_op *op, const struct linear_run *run, uint64_t *random,
       unsigned slot)
{
	static const enum warm_kind kinds[] = {
		WARM_CLAIM, WARM_CLAIM, WARM_CLAIM, WARM_CLAIM, WARM_BEGIN,
		WARM_BEGIN, WARM_BEGIN, WARM_BEGIN, WARM_OFFER, WARM_OFFER,
		WARM_OFFER, WARM_OFFER, WARM_OFFER, WARM_ABANDON, WARM_DRAIN,
		WARM_DRAIN_ALL
	};

	op->kind = kinds[random_below(random, 16)];
	op->id = random_below(random, run->ids);
	op->arg = 0;
	if (op->kind == WARM_BEGIN)
		op->arg = 1 + random_below(random, 2);
	if (op->kind == WARM_OFFER)
		op->arg = slot;
}

static void
member(size_t self, void *ctx)
{
	struct running *running = ctx;
	const struct linear_run *run = running->run;

	for (unsigned round = 0; round < run->rounds; round++) {
		crew_step(&running->crew);
		for (unsigned i = 0; i < run->operations; i++) {
			struct linear_event *event = &running->event[self][i];

			choose(&event->op, run, &running->random[self],
			       (unsigned)self * LINEAR_EVENTS + i + 1);
			perform(running, event);
		}
		crew_step(&running->crew);
	}
}

/* Tells by operations what is there, and leaves nothing. */
static unsigned
finish(struct running *running, struct linear_event *events, unsigned n)
{
	const struct linear_run *run = running->run;
	struct linear_event event = { .op = { .kind = WARM_DRAIN_ALL } };

	for (unsigned id = 0; id < run->ids; id++) {
		events[n].op.kind = WARM_BEGIN;
		events[n].op.id = id;
		events[n].op.arg = 40;
		perform(running, &events[n]);
		n++;
	}
	events[n].op.kind = WARM_DRAIN_ALL;
	events[n].op.id = events[n].op.arg = 0;
	perform(running, &events[n]);
	n++;
	/* 40 are in flight of each, if all is well; no more are made. */
	event.op.kind = WARM_ABANDON;
	for (event.op.id = 0; event.op.id < run->ids; event.op.id++)
		for (unsigned i = 0; i < 40 + LINEAR_EVENTS; i++)
			perform(running, &event);
	return n;
}

static unsigned
collect(struct running *running, struct linear_event *events)
{
	const struct linear_run *run = running->run;
	unsigned n = 0;

	for (unsigned i = 0; i < run->threads; i++)
		for (unsigned k = 0; k < run->operations; k++)
			events[n++] = running->event[i][k];
	return finish(running, events, n);
}

unsigned
linear_run(const struct linear_run *run)
{
	static struct linear_event events[LINEAR_EVENTS];
	static struct running running;
	unsigned bad = 0;

	running.run = run;
	for (unsigned i = 0; i < run->threads; i++)
		running.random[i] = run->seed + i;
	crew_start(&running.crew, run->threads, member, &running);
	for (unsigned round = 0; round < run->rounds; round++) {
		unsigned n;

		crew_step(&running.crew);
		crew_step(&running.crew);
		n = collect(&running, events);
		bad += !linear_check(events, n, run->cap, run->ids);
	}
	crew_join(&running.crew);
	return bad;
}
