/* SPDX-License-Identifier: MIT */
/*
 * The accounts, alone: after every one of many random operations the
 * statistics are what an independent model of the arena predicts.  Many
 * threads at once are in test_account_threads.c.
 */
#include "lend/arena.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "mem/backend.h"
#include "support/audit.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

#define SETS 6
#define NESTED 4

/* Capacities, in bytes, as the specification makes them grow. */
struct model_set {
	size_t panel, scatter, barrier;
	size_t rest;		/* account of the last two */
	bool out;
	struct lend_team lease;
};

struct model {
	lend_arena *arena;
	uint64_t random;
	/* The thread's slot. */
	bool has_slot, out;
	size_t a, tile, scatter;
	size_t slot_bytes;	/* its account */
	struct lend_worker loan;
	struct lend_worker nested[NESTED];
	size_t nested_out;
	struct model_set set[SETS];
	size_t sets;		/* that there are */
	size_t idle[SETS], idle_n;	/* most recent last */
	size_t spare[SETS], spare_n;
	uint64_t growths, reentrant, trims;
};

/* To the next power of two, at least a page; zero never allocates. */
static size_t
paged(size_t bytes)
{
	return lend__backend->extent_size(page_buffer_bytes(bytes));
}

static void
grow_page(struct model *model, size_t *have, size_t bytes)
{
	if (bytes <= *have)
		return;
	*have = paged(bytes);
	model->growths++;
}

/* Doubles or takes the need, whichever is more. */
static void
grow_scatter(struct model *model, size_t *have, size_t elements)
{
	size_t need = elements * 8;

	if (need <= *have)
		return;
	if (need < 2 * *have)
		need = 2 * *have;
	*have = lend__backend->extent_size(need);
	model->growths++;
}

static void
grow_barrier(struct model *model, size_t *have, size_t barriers)
{
	if (barriers * LEND_BARRIER_BYTES <= *have)
		return;
	*have = lend__backend->extent_size(barriers * LEND_BARRIER_BYTES);
	model->growths++;
}

/* The statistics that the model predicts; the rest as they are. */
static struct lend_stats
predict(const struct model *model)
{
	struct lend_stats stats = stats_of(model->arena);

	stats.retained_bytes = model->slot_bytes;
	stats.leased_bytes = model->out ? model->slot_bytes : 0;
	stats.panel_bytes = 0;
	stats.sets_out = 0;
	for (size_t i = 0; i < model->sets; i++) {
		const struct model_set *set = &model->set[i];

		stats.panel_bytes += set->panel;
		stats.retained_bytes += set->panel + set->rest;
		stats.leased_bytes += set->out ? set->panel + set->rest : 0;
		stats.sets_out += set->out;
	}
	stats.sets_idle = model->sets - stats.sets_out;
	stats.slots_out = model->out;
	stats.slots_idle = model->has_slot - model->out;
	stats.growths = model->growths;
	stats.reentrant = model->reentrant;
	stats.trims = model->trims;
	stats.abandoned = 0;
	stats.adopted = 0;
	return stats;
}

static void
assert_model(const struct model *model)
{
	struct lend_stats stats = stats_of(model->arena);
	struct lend_stats predicted = predict(model);

	/* An assertion is slow, even one that holds. */
	if (memcmp(&stats, &predicted, sizeof(stats)))
		stats_same(&stats, &predicted);
}

/* Half of the failures lack memory, the others ask for too much. */
static int
arrange_failure(struct model *model, size_t *size)
{
	if (random_below(&model->random, 2)) {
		*size = SIZE_MAX / 2 + 1;
		return -EOVERFLOW;
	}
	fault_fail_all(FAULT_EXTENT);
	return -ENOMEM;
}

static void
fail_checkout(struct model *model)
{
	struct lend_req req = worker_req(model->a + 1, 100, 100);
	struct lend_worker loan;
	int error = arrange_failure(model, &req.a_bytes);

	if (error == -ENOMEM && model->out)
		req.a_bytes = 1;
	ck_assert_int_eq(lend_worker_checkout(model->arena, &req, &loan),
			 error);
	fault_fail_all(0);
	model->has_slot = true;
}

static void
do_checkout(struct model *model)
{
	struct lend_req req =
		worker_req(random_size(&model->random, 65536),
			   random_size(&model->random, 16384),
			   random_size(&model->random, 2048));

	if (model->out) {
		if (model->nested_out == NESTED)
			return;
		model->nested[model->nested_out++] =
			checkout(model->arena, &req);
		model->reentrant++;
		return;
	}
	model->loan = checkout(model->arena, &req);
	model->has_slot = model->out = true;
	grow_page(model, &model->a, req.a_bytes);
	grow_page(model, &model->tile, req.tile_bytes);
	grow_scatter(model, &model->scatter, req.worker_scatter);
	model->slot_bytes = model->a + model->tile + model->scatter;
}

/* In any order: the nested ones may stay when the first goes. */
static void
do_checkin(struct model *model)
{
	if (model->nested_out && random_below(&model->random, 2)) {
		size_t k = random_below(&model->random,
					(unsigned)model->nested_out);

		checkin(model->arena, &model->nested[k]);
		model->nested[k] = model->nested[--model->nested_out];
	} else if (model->out) {
		checkin(model->arena, &model->loan);
		model->out = false;
		model->slot_bytes = model->a + model->tile + model->scatter;
	}
}

static void
do_worker_resize(struct model *model)
{
	size_t length = random_size(&model->random, 4096);
	struct lend_worker *loan = &model->loan;
	int error = 0;

	if (!model->out)
		return;
	if (model->nested_out && random_below(&model->random, 4) == 0)
		loan = &model->nested[0];
	if (random_below(&model->random, 10) == 0) {
		length = model->scatter / 8 + 1000000;
		error = arrange_failure(model, &length);
	}
	ck_assert_int_eq(lend_worker_scatter_resize(model->arena, loan,
						    length), error);
	fault_fail_all(0);
	if (!error && loan == &model->loan)
		grow_scatter(model, &model->scatter, length);
}

/* The set that the next take gets; `at` tells from where. */
static size_t
next_set(struct model *model)
{
	if (model->idle_n)
		return model->idle[--model->idle_n];
	if (model->spare_n)
		return model->spare[--model->spare_n];
	memset(&model->set[model->sets], 0, sizeof(model->set[0]));
	return model->sets++;
}

static void
put_set(struct model *model, size_t i)
{
	struct model_set *set = &model->set[i];

	if (set->panel + set->scatter + set->barrier)
		model->idle[model->idle_n++] = i;
	else
		model->spare[model->spare_n++] = i;
}

static size_t
sets_out(const struct model *model)
{
	return model->sets - model->idle_n - model->spare_n;
}

static void
do_take(struct model *model)
{
	struct lend_req req = team_req(random_size(&model->random, 4096),
				       random_size(&model->random, 100));
	struct model_set *set;
	size_t i;

	if (sets_out(model) == SETS)
		return;
	i = next_set(model);
	set = &model->set[i];
	if (random_below(&model->random, 10) == 0) {
		req.team_scatter = set->scatter / 8 + 1;
		fault_fail_all(FAULT_EXTENT);
		ck_assert_int_eq(lend_team_take(model->arena, &req, 1, 1,
						&set->lease), -ENOMEM);
		fault_fail_all(0);
		put_set(model, i);
		return;
	}
	set->lease = take(model->arena, &req);
	set->out = true;
	grow_scatter(model, &set->scatter, req.team_scatter);
	grow_barrier(model, &set->barrier, req.barriers);
	set->rest = set->scatter + set->barrier;
}

/* A set that is out, or null. */
static struct model_set *
some_set(struct model *model)
{
	size_t n = sets_out(model), k;

	if (n == 0)
		return NULL;
	k = random_below(&model->random, (unsigned)n);
	for (size_t i = 0;; i++)
		if (model->set[i].out && k-- == 0)
			return &model->set[i];
}

static void
do_panel(struct model *model)
{
	struct model_set *set = some_set(model);
	size_t bytes = random_size(&model->random, 65536);
	int error = 0;

	if (!set)
		return;
	if (random_below(&model->random, 10) == 0) {
		bytes = set->panel + 1;
		error = arrange_failure(model, &bytes);
	}
	ck_assert_int_eq(lend_team_panel(model->arena, &set->lease, bytes),
			 error);
	fault_fail_all(0);
	if (!error)
		grow_page(model, &set->panel, bytes);
}

static void
do_team_resize(struct model *model)
{
	struct model_set *set = some_set(model);
	size_t length = random_size(&model->random, 8192);

	if (!set)
		return;
	ck_assert_int_eq(lend_team_scatter_resize(model->arena, &set->lease,
						  length), 0);
	grow_scatter(model, &set->scatter, length);
}

static void
do_team_shrink(struct model *model)
{
	struct model_set *set = some_set(model);
	size_t bytes = 0;

	if (!set)
		return;
	if (set->lease.scatter_length)
		bytes = lend__backend->extent_size(8 *
						   set->lease.scatter_length);
	ck_assert_int_eq(lend_team_scatter_shrink(model->arena, &set->lease),
			 0);
	/* Not counted as a growth. */
	if (bytes < set->scatter)
		set->scatter = bytes;
}

static void
do_team_return(struct model *model)
{
	struct model_set *set = some_set(model);

	if (!set)
		return;
	give_back(model->arena, &set->lease);
	ck_assert_int_eq(lend_team_return(model->arena, &set->lease),
			 -EALREADY);
	set->out = false;
	set->rest = set->scatter + set->barrier;
	put_set(model, (size_t)(set - model->set));
}

static void
do_trim(struct model *model)
{
	ck_assert_int_eq(lend_arena_trim(model->arena), 0);
	model->trims++;
	while (model->idle_n) {
		size_t i = model->idle[--model->idle_n];

		memset(&model->set[i], 0, sizeof(model->set[i]));
		model->spare[model->spare_n++] = i;
	}
	if (!model->out)
		model->a = model->tile = model->scatter =
			model->slot_bytes = 0;
}

static void
do_something(struct model *model)
{
	static void (*const ops[])(struct model *) = {
		do_checkout, do_checkout, do_checkout, do_checkin, do_checkin,
		do_checkin, do_worker_resize, do_take, do_take, do_panel,
		do_panel, do_team_resize, do_team_shrink, do_team_return,
		do_team_return,
	};
	unsigned n = sizeof(ops) / sizeof(ops[0]);
	unsigned op = random_below(&model->random, n * 10);

	if (op < 3)
		do_trim(model);
	else if (op < 9)
		fail_checkout(model);
	else
		ops[op % n](model);
}

static void
settle(struct model *model)
{
	struct model_set *set;

	while (model->nested_out)
		checkin(model->arena, &model->nested[--model->nested_out]);
	if (model->out) {
		checkin(model->arena, &model->loan);
		model->out = false;
		model->slot_bytes = model->a + model->tile + model->scatter;
	}
	while ((set = some_set(model)))
		do_team_return(model);
}

/*
 * "Settled at every checkout, return, take, panel growth, team return and
 * trim"; "while a loan is out, a slot counts at the capacity it had at
 * checkout"; after an operation that fails, "the accounts are settled,
 * nothing else changed".
 */
START_TEST(the_model_predicts_every_operation)
{
	struct model model = { .arena = arena_of(NULL), .random = 5 };
	unsigned operations = scale(100000);

	for (unsigned i = 0; i < operations; i++) {
		do_something(&model);
		assert_model(&model);
	}
	settle(&model);
	assert_model(&model);
	/* "Exact whenever the arena is settled." */
	stats_settled(model.arena);
	ck_assert_uint_eq(audit_arena(model.arena).retained,
			  stats_of(model.arena).retained_bytes);
	ck_assert_ptr_null(audit_arena(model.arena).wrong);
	arena_end(model.arena);
}
END_TEST

/* The same in small: what is resized counts when it is returned. */
START_TEST(a_resized_scratch_counts_at_the_return)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_req req = worker_req(4096, 4096, 512);
	struct lend_worker loan = checkout(arena, &req);

	ck_assert_uint_eq(stats_of(arena).leased_bytes, 3 * 4096);
	ck_assert_int_eq(lend_worker_scatter_resize(arena, &loan, 2048), 0);
	ck_assert_uint_eq(outstanding(), 2 * 4096 + 16384);
	ck_assert_uint_eq(stats_of(arena).retained_bytes, 3 * 4096);
	ck_assert_uint_eq(stats_of(arena).leased_bytes, 3 * 4096);
	checkin(arena, &loan);
	ck_assert_uint_eq(stats_of(arena).retained_bytes, 2 * 4096 + 16384);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* A nested loan's buffers "are not in the arena's accounts". */
START_TEST(a_nested_loan_is_not_in_the_accounts)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_req req = worker_req(4096, 4096, 512);
	struct lend_worker loan = checkout(arena, &req), nested;
	struct lend_stats before = stats_of(arena), after;

	nested = checkout(arena, &req);
	ck_assert_uint_eq(outstanding(), 6 * 4096);
	after = stats_of(arena);
	ck_assert_uint_eq(after.reentrant, 1);
	after.reentrant = 0;
	stats_same(&before, &after);
	checkin(arena, &nested);
	ck_assert_uint_eq(outstanding(), 3 * 4096);
	checkin(arena, &loan);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite = suite_create("account");
	TCase *alone = watched_case(suite, "alone");

	tcase_add_test(alone, the_model_predicts_every_operation);
	tcase_add_test(alone, a_resized_scratch_counts_at_the_return);
	tcase_add_test(alone, a_nested_loan_is_not_in_the_accounts);
	return suite_run_also(suite, confs);
}
