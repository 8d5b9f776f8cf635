/* SPDX-License-Identifier: MIT */
#include "support/warm_model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/random.h"

void
warm_model_init(struct warm_model *model, unsigned cap, unsigned ids)
{
	memset(model, 0, sizeof(*model));
	model->cap = cap;
	model->ids = ids;
}

static size_t
used(const struct warm_model *model)
{
	return offsetof(struct warm_model, id) +
	       model->ids * sizeof(model->id[0]);
}

void
warm_model_copy(struct warm_model *to, const struct warm_model *from)
{
	memcpy(to, from, used(from));
}

bool
warm_model_equal(const struct warm_model *a, const struct warm_model *b)
{
	if (a->ids != b->ids || a->listed != b->listed ||
	    memcmp(a->order, b->order, a->listed))
		return false;
	for (unsigned i = 0; i < a->ids; i++) {
		const struct warm_model_id *x = &a->id[i], *y = &b->id[i];

		if (x->in_flight != y->in_flight || x->ready != y->ready ||
		    memcmp(x->slot, y->slot, x->ready * sizeof(x->slot[0])))
			return false;
	}
	return true;
}

/* Its place in the order, or `listed`. */
static unsigned
place_of(const struct warm_model *model, unsigned id)
{
	unsigned place = 0;

	while (place < model->listed && model->order[place] != id)
		place++;
	return place;
}

bool
warm_model_listed(const struct warm_model *model, unsigned id)
{
	return place_of(model, id) < model->listed;
}

bool
warm_model_full(const struct warm_model *model, unsigned id)
{
	return model->id[id].ready == WARM_READY;
}

static void
unlist(struct warm_model *model, unsigned id)
{
	unsigned place = place_of(model, id);

	if (place == model->listed)
		return;
	model->listed--;
	memmove(&model->order[place], &model->order[place + 1],
		model->listed - place);
}

static void
touch(struct warm_model *model, unsigned id)
{
	unlist(model, id);
	model->order[model->listed++] = (uint8_t)id;
}

static void
prune(struct warm_model *model, unsigned id)
{
	if (model->id[id].ready == 0 && model->id[id].in_flight == 0)
		unlist(model, id);
}

static void
hand_back(struct warm_model *model, unsigned id, struct warm_op *op)
{
	struct warm_model_id *of = &model->id[id];

	for (unsigned i = 0; i < of->ready; i++)
		op->slots[op->back++] = of->slot[i];
	of->ready = 0;
	unlist(model, id);
}

static void
do_claim(struct warm_model *model, struct warm_op *op)
{
	struct warm_model_id *of = &model->id[op->id];

	op->result = -ENOENT;
	if (of->ready == 0)
		return;
	op->result = 0;
	op->slot = of->slot[--of->ready];
	touch(model, op->id);
	prune(model, op->id);
}

static void
do_begin(struct warm_model *model, struct warm_op *op)
{
	struct warm_model_id *of = &model->id[op->id];
	unsigned there = of->ready + of->in_flight;

	if (op->arg == 0)
		return;
	touch(model, op->id);
	op->spawn = op->arg > there ? op->arg - there : 0;
	of->in_flight = (uint16_t)(of->in_flight + op->spawn);
	while (model->listed > model->cap)
		hand_back(model, model->order[0], op);
}

static void
end_fill(struct warm_model *model, struct warm_op *op)
{
	struct warm_model_id *of = &model->id[op->id];

	if (of->in_flight)
		of->in_flight--;
	if (op->kind == WARM_ABANDON)
		prune(model, op->id);
	else if (warm_model_listed(model, op->id))
		of->slot[of->ready++] = op->arg;
	else
		op->result = -ECANCELED;
}

static void
forget_result(struct warm_op *op)
{
	op->result = 0;
	op->slot = 0;
	op->spawn = 0;
	op->back = 0;
}

void
warm_model_do(struct warm_model *model, struct warm_op *op)
{
	forget_result(op);
	switch (op->kind) {
	case WARM_CLAIM:
		do_claim(model, op);
		break;
	case WARM_BEGIN:
		do_begin(model, op);
		break;
	case WARM_OFFER:
	case WARM_ABANDON:
		end_fill(model, op);
		break;
	case WARM_DRAIN:
		hand_back(model, op->id, op);
		break;
	default:
		while (model->listed)
			hand_back(model, model->order[0], op);
	}
}

/* The pool. */

static void
take_back(void *slot, void *ctx)
{
	struct warm_op *op = ctx;

	if (op->back < WARM_BACK)
		op->slots[op->back] = (unsigned)(uintptr_t)slot;
	op->back++;
}

void
warm_pool_do(lend_warm_pool *pool, struct warm_op *op)
{
	char id[16];
	void *slot = NULL;

	snprintf(id, sizeof(id), "id%u", op->id);
	forget_result(op);
	switch (op->kind) {
	case WARM_CLAIM:
		op->result = lend_warm_pool_claim(pool, id, &slot);
		op->slot = (unsigned)(uintptr_t)slot;
		break;
	case WARM_BEGIN:
		op->result = lend_warm_pool_begin_fill(pool, id, op->arg,
						       &op->spawn, take_back,
						       op);
		break;
	case WARM_OFFER:
		slot = (void *)(uintptr_t)op->arg;
		op->result = lend_warm_pool_offer(pool, id, slot);
		break;
	case WARM_ABANDON:
		op->result = lend_warm_pool_abandon_fill(pool, id);
		break;
	case WARM_DRAIN:
		op->result = lend_warm_pool_drain(pool, id, take_back, op);
		break;
	default:
		op->result = lend_warm_pool_drain_all(pool, take_back, op);
	}
}

bool
warm_op_same(const struct warm_op *a, const struct warm_op *b)
{
	return a->kind == b->kind && a->result == b->result &&
	       a->slot == b->slot && a->spawn == b->spawn &&
	       a->back == b->back && a->back <= WARM_BACK &&
	       memcmp(a->slots, b->slots, a->back * sizeof(a->slots[0])) == 0;
}

void
warm_op_random(struct warm_op *op, const struct warm_model *model,
	       uint64_t *random, unsigned *slots)
{
	unsigned dice = random_below(random, 100);

	op->id = random_below(random, model->ids);
	op->arg = 0;
	if (dice < 30) {
		op->kind = WARM_CLAIM;
	} else if (dice < 60) {
		op->kind = WARM_BEGIN;
		op->arg = random_below(random, 5);
	} else if (dice < 88) {
		/* Also where no fill is in flight. */
		op->kind = warm_model_full(model, op->id) ? WARM_CLAIM
							  : WARM_OFFER;
		op->arg = op->kind == WARM_OFFER ? ++*slots : 0;
	} else if (dice < 96) {
		op->kind = WARM_ABANDON;
	} else {
		op->kind = dice < 99 ? WARM_DRAIN : WARM_DRAIN_ALL;
	}
}

bool
warm_both(lend_warm_pool *pool, struct warm_model *model, struct warm_op *op)
{
	struct warm_op other = *op;

	warm_model_do(model, &other);
	warm_pool_do(pool, op);
	return warm_op_same(op, &other);
}

static bool
id_stats_same(lend_warm_pool *pool, const struct warm_model *model,
	      unsigned id)
{
	struct lend_warm_stats stats;
	char text[16];
	int error;

	snprintf(text, sizeof(text), "id%u", id);
	error = lend_warm_pool_id_stats(pool, text, &stats);
	if (error == -ENOENT)
		return model->id[id].in_flight == 0 &&
		       !warm_model_listed(model, id);
	return error == 0 && stats.ready == model->id[id].ready &&
	       stats.in_flight == model->id[id].in_flight &&
	       stats.pooled == warm_model_listed(model, id);
}

bool
warm_stats_same(lend_warm_pool *pool, const struct warm_model *model)
{
	struct lend_warm_stats stats;
	uint64_t ready = 0, in_flight = 0;

	for (unsigned i = 0; i < model->ids; i++) {
		if (!id_stats_same(pool, model, i))
			return false;
		ready += model->id[i].ready;
		in_flight += model->id[i].in_flight;
	}
	return lend_warm_pool_stats(pool, &stats) == 0 &&
	       stats.ready == ready && stats.in_flight == in_flight &&
	       stats.pooled == model->listed;
}

const char *
warm_op_text(const struct warm_op *op)
{
	static const char *const names[] = {
		"claim", "begin", "offer", "abandon", "drain", "drain all"
	};
	static char text[128];

	snprintf(text, sizeof(text),
		 "%s(id%u, %u): result %d, slot %u, spawn %zu, %u back",
		 names[op->kind], op->id, op->arg, op->result, op->slot,
		 op->spawn, op->back);
	return text;
}
