/* SPDX-License-Identifier: MIT */
/*
 * The sequential policy alone, against what it should do: src/warm/policy.c.
 * The rows of its table are in test_warm_pool.c.
 */
#include "warm/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"
#include "support/warm_model.h"

#define SLOTS 1200000

/* A caller of the policy: who keeps what the value does not. */
static struct {
	struct policy *policy;
	uint32_t off[WARM_IDS];		/* fills of unknown ids */
	char id[WARM_IDS];		/* their addresses are the ids */
	uint32_t *below;		/* [slot]: what lies below it */
} caller;

static void *
as_slot(uint32_t number)
{
	return number ? (void *)(uintptr_t)number : NULL;
}

static uint32_t
number_of(const void *slot)
{
	return (uint32_t)(uintptr_t)slot;
}

static void
make(uint32_t cap)
{
	memset(&caller, 0, sizeof(caller));
	caller.policy = calloc(1, sizeof(struct policy) + POLICY_ROOM(cap) *
					  sizeof(struct policy_entry));
	caller.below = calloc(SLOTS, sizeof(*caller.below));
	ck_assert(caller.policy && caller.below);
	caller.policy->cap = cap;
}

static void
end(void)
{
	free(caller.policy);
	free(caller.below);
}

static uint32_t
find(unsigned id)
{
	for (uint32_t i = 0; i < caller.policy->known; i++)
		if (caller.policy->entry[i].id == &caller.id[id])
			return i;
	return POLICY_UNKNOWN;
}

/* Earliest first. */
static void
hand_back(struct warm_op *op, struct policy_pile pile)
{
	uint32_t slot = number_of(pile.top);

	for (uint32_t i = pile.slots; i-- > 0; slot = caller.below[slot])
		op->slots[op->back + i] = slot;
	ck_assert_uint_eq(slot, 0);
	op->back += pile.slots;
}

static void
begin(struct warm_op *op, uint32_t at)
{
	struct policy_entry fresh = {
		.id = &caller.id[op->id], .mark = op->id,
		.in_flight = caller.off[op->id],
	};
	struct policy_fill fill;

	if (at == POLICY_UNKNOWN)
		caller.off[op->id] = 0;
	policy_begin(caller.policy, at, &fresh, op->arg, &fill);
	op->spawn = fill.spawn;
	if (!fill.evicted)
		return;
	ck_assert_ptr_eq(fill.evicted, &caller.id[fill.mark]);
	hand_back(op, fill.pile);
}

static void
offer(struct warm_op *op, uint32_t at)
{
	void *below = NULL;

	if (policy_offer(caller.policy, at, as_slot(op->arg), &below,
			 &caller.off[op->id]))
		caller.below[op->arg] = number_of(below);
	else
		op->result = -ECANCELED;
}

static void
claim(struct warm_op *op, uint32_t at)
{
	uint32_t top = 0;

	if (at < caller.policy->listed)
		top = number_of(caller.policy->entry[at].top);
	op->slot = number_of(policy_claim(caller.policy, at,
					  as_slot(caller.below[top])));
	op->result = op->slot ? 0 : -ENOENT;
}

static void
drain_all(struct warm_op *op)
{
	struct policy_pile pile[WARM_IDS];
	uint32_t piles = policy_drain_all(caller.policy, pile);

	for (uint32_t i = 0; i < piles; i++)
		hand_back(op, pile[i]);
}

static void
policy_do(struct warm_op *op)
{
	uint32_t at;

	while (policy_sheds(caller.policy)) {
		struct policy_entry entry = policy_shed(caller.policy);

		caller.off[entry.mark] = entry.in_flight;
	}
	at = find(op->id);
	if (op->kind == WARM_CLAIM)
		claim(op, at);
	else if (op->kind == WARM_BEGIN && op->arg)
		begin(op, at);
	else if (op->kind == WARM_OFFER)
		offer(op, at);
	else if (op->kind == WARM_ABANDON)
		policy_abandon(caller.policy, at, &caller.off[op->id]);
	else if (op->kind == WARM_DRAIN)
		hand_back(op, policy_drain(caller.policy, at));
	else if (op->kind == WARM_DRAIN_ALL)
		drain_all(op);
}

static void
counts_are_the_models(const struct warm_model *model)
{
	for (unsigned id = 0; id < model->ids; id++) {
		uint32_t at = find(id), in_flight = caller.off[id], ready = 0;

		if (at != POLICY_UNKNOWN) {
			ck_assert_uint_eq(in_flight, 0);
			in_flight = caller.policy->entry[at].in_flight;
			ready = caller.policy->entry[at].ready;
		}
		ck_assert_uint_eq(in_flight, model->id[id].in_flight);
		ck_assert_uint_eq(ready, model->id[id].ready);
		ck_assert_int_eq(at < caller.policy->listed,
				 warm_model_listed(model, id));
	}
}

struct setting {
	unsigned cap, ids, operations;
};

static const struct setting settings[] = {
	{ 2, 5, 1000000 }, { 1, 3, 200000 }, { 3, 20, 200000 },
	{ 8, 8, 200000 }, { 64, WARM_IDS, 200000 },
};

/* Return by return, and what is there now and then. */
START_TEST(random_operations_do_as_they_should)
{
	const struct setting *setting = &settings[_i];
	static struct warm_model model;
	uint64_t random = (uint64_t)_i;
	unsigned slots = 0;

	make(setting->cap);
	warm_model_init(&model, setting->cap, setting->ids);
	for (unsigned i = 0; i < scale(setting->operations); i++) {
		struct warm_op op = { .kind = WARM_CLAIM }, other;

		warm_op_random(&op, &model, &random, &slots);
		op.result = 0;
		op.slot = 0;
		op.spawn = 0;
		op.back = 0;
		other = op;
		policy_do(&op);
		warm_model_do(&model, &other);
		ck_assert(policy_holds(caller.policy));
		if (!warm_op_same(&op, &other))
			ck_abort_msg("%u: %s", i, warm_op_text(&op));
		if (i % 64 == 0)
			counts_are_the_models(&model);
	}
	end();
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warm_policy");
	TCase *tcase = suite_case(suite, "policy");

	tcase_add_loop_test(tcase, random_operations_do_as_they_should, 0,
			    sizeof(settings) / sizeof(settings[0]));
	return suite_run(suite);
}
