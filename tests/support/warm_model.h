/* SPDX-License-Identifier: MIT */
/*
 * What the warm pool should do, written down once more: for tests to compare
 * with.  It shares no code with the library.  Ids and slots are small numbers;
 * a slot is not 0.
 */
#ifndef TESTS_SUPPORT_WARM_MODEL_H
#define TESTS_SUPPORT_WARM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/warm.h>

#define WARM_IDS 100
#define WARM_READY 24		/* of one id, at most */
#define WARM_BACK 256		/* handed back by one operation, at most */

enum warm_kind {
	WARM_CLAIM, WARM_BEGIN, WARM_OFFER, WARM_ABANDON, WARM_DRAIN,
	WARM_DRAIN_ALL, WARM_KINDS
};

/* An operation, and what it returned. */
struct warm_op {
	enum warm_kind kind;
	unsigned id;
	unsigned arg;		/* begin: the target; offer: the slot */
	int result;
	unsigned slot;		/* claimed, or 0 */
	size_t spawn;
	unsigned back;		/* slots handed back, in order */
	unsigned slots[WARM_BACK];
};

struct warm_model {
	unsigned cap, ids;
	unsigned listed;
	uint8_t order[WARM_IDS];	/* least recent first */
	struct warm_model_id {
		uint16_t in_flight, ready;
		uint32_t slot[WARM_READY];
	} id[WARM_IDS];
};

void warm_model_init(struct warm_model *model, unsigned cap, unsigned ids);
/* Without the ids that are not there. */
void warm_model_copy(struct warm_model *to, const struct warm_model *from);
bool warm_model_equal(const struct warm_model *a, const struct warm_model *b);
bool warm_model_listed(const struct warm_model *model, unsigned id);
/* Whether one more slot of the id would have no room here. */
bool warm_model_full(const struct warm_model *model, unsigned id);

/* Does it, and writes what it returns into *op. */
void warm_model_do(struct warm_model *model, struct warm_op *op);
/* Does it on a pool, where the ids are "id0", "id1" ... */
void warm_pool_do(lend_warm_pool *pool, struct warm_op *op);
bool warm_op_same(const struct warm_op *a, const struct warm_op *b);

/* A random operation with numbers of slots from *slots on. */
void warm_op_random(struct warm_op *op, const struct warm_model *model,
		    uint64_t *random, unsigned *slots);
/* The same on a pool and on its model; false: they differ. */
bool warm_both(lend_warm_pool *pool, struct warm_model *model,
	       struct warm_op *op);
/* Whether the pool's statistics are what the model holds. */
bool warm_stats_same(lend_warm_pool *pool, const struct warm_model *model);

/* Text of the operation; static storage. */
const char *warm_op_text(const struct warm_op *op);

#endif
