/* SPDX-License-Identifier: MIT */
/*
 * The warm pool's own operations, src/warm, through all interleavings.  Its
 * memory alone is the explorer's own: what is given back is used again at
 * once, which is the worst that can happen.
 *
 * Each execution is recorded, with a few operations after it that tell in
 * which state it left the pool, and must be linearizable.  A slot comes with
 * a plain word that its maker writes and its claimer reads, so that a missing
 * release or acquire is a data race.
 *
 * Mutants: see warm_mutant.h.  Each must be caught.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "explorer.h"
#include "mem/backend.h"
#include "mem/init.h"
#include "support/linear.h"
#include "warm/pool.h"

#include "warm_mutant.h"

#define CAP 1
#define IDS 4
#define OBJECTS 16
#define WORDS 64

enum warm_mutant warm_mutant;

/* Memory. */

_Thread_local struct stock_way lend__warm_ways[STOCK_WAYS];

static lend_warm_pool pool;
static struct value_buffer buffers[OBJECTS];
static _Atomic(uint64_t) words[MODEL_THREADS + 2][WORDS];
static struct warm_node nodes[OBJECTS];
static struct stray strays[OBJECTS];
static struct name names[OBJECTS];
static void *free_node[OBJECTS], *free_stray[OBJECTS], *free_name[OBJECTS];
static unsigned free_nodes, free_strays, free_names;

static struct record {
	struct stock_thread thread;
	struct policy_pile pile[CAP];
} records[MODEL_THREADS + 1];
/* Their copies of the value. */
static struct value *copies[MODEL_THREADS + 1];
#define COPY_BYTES (sizeof(struct value) + \
		    POLICY_ROOM(CAP) * sizeof(struct policy_entry))

/* Before the threads, and after them. */
static bool alone;

struct stock_thread *
stock_enter_anew(struct stock *stock)
{
	(void)stock;
	return &records[alone ? MODEL_THREADS : model_self()].thread;
}

void
stock_leave_for_good(struct stock_thread *thread)
{
	(void)thread;
}

struct warm_node *
stock_node_take(struct stock *stock, struct stock_thread *thread)
{
	(void)stock;
	(void)thread;
	MODEL_ASSERT(free_nodes > 0);
	return free_node[--free_nodes];
}

void
stock_node_release(struct stock *stock, struct warm_node *node)
{
	(void)stock;
	MODEL_ASSERT(free_nodes < OBJECTS);
	free_node[free_nodes++] = node;
}

void
stock_node_give(struct stock *stock, struct stock_thread *thread,
		struct warm_node *node)
{
	(void)thread;
	stock_node_release(stock, node);
}

struct stray *
stock_stray_take(struct stock *stock)
{
	(void)stock;
	MODEL_ASSERT(free_strays > 0);
	return free_stray[--free_strays];
}

void
stock_stray_give(struct stock *stock, struct stray *stray)
{
	(void)stock;
	MODEL_ASSERT(free_strays < OBJECTS);
	free_stray[free_strays++] = stray;
}

struct name *
stock_name_take(struct stock *stock, size_t length)
{
	(void)stock;
	(void)length;
	MODEL_ASSERT(free_names > 0);
	return free_name[--free_names];
}

void
stock_name_give(struct stock *stock, struct name *name)
{
	(void)stock;
	MODEL_ASSERT(free_names < OBJECTS);
	free_name[free_names++] = name;
}

/* Not used here: the pool is made by hand. */

int
lend__init(void)
{
	return -1;
}

void *
pages_alloc(size_t size)
{
	(void)size;
	return NULL;
}

void
pages_free(void *p, size_t size)
{
	(void)p;
	(void)size;
}

int
stock_init(struct stock *stock, uint32_t cap)
{
	(void)stock;
	(void)cap;
	return -1;
}

void
stock_fini(struct stock *stock)
{
	(void)stock;
}

int
stock_value_add(struct stock *stock, uint32_t *index)
{
	(void)stock;
	(void)index;
	return -1;
}

uint64_t
stock_total(const struct stock *stock, enum stock_count which)
{
	(void)stock;
	(void)which;
	return 0;
}

/* The threads' operations. */

static struct linear_event events[LINEAR_EVENTS];
static unsigned happened;
static uint64_t now;
static uint32_t payload[LINEAR_EVENTS];

static void
perform(enum warm_kind kind, unsigned id, unsigned arg)
{
	struct linear_event *event = &events[happened++];

	MODEL_ASSERT(happened <= LINEAR_EVENTS);
	event->op.kind = kind;
	event->op.id = id;
	event->op.arg = arg;
	if (kind == WARM_OFFER && !alone)
		model_plain_write(&payload[arg], arg);
	event->call = now++;
	warm_pool_do(&pool, &event->op);
	event->ret = now++;
	if (event->op.slot && !alone)
		(void)model_plain_read(&payload[event->op.slot]);
}

/* What a thread does: up to the first of no kind. */
struct script {
	enum warm_kind kind;
	unsigned id, arg;
};

#define SCRIPT 6
#define DONE { WARM_KINDS, 0, 0 }

static const struct script *scripts[MODEL_THREADS], *before;

static void
play(const struct script *script)
{
	for (; script->kind != WARM_KINDS; script++)
		perform(script->kind, script->id, script->arg);
}

static void
thread_plays(void)
{
	play(scripts[model_self()]);
}

static void
setup_memory(void)
{
	memset(&pool, 0, sizeof(pool));
	memset(words, 0, sizeof(words));
	memset(nodes, 0, sizeof(nodes));
	memset(strays, 0, sizeof(strays));
	memset(names, 0, sizeof(names));
	memset(records, 0, sizeof(records));
	for (unsigned i = 0; i < OBJECTS; i++) {
		names[i].text = names[i].inline_text;
		free_node[i] = &nodes[i];
		free_stray[i] = &strays[i];
		free_name[i] = &names[i];
	}
	free_nodes = free_strays = free_names = OBJECTS;
	for (uint32_t i = 0; i < MODEL_THREADS + 2; i++)
		buffers[i].word = words[i];
	for (uint32_t i = 0; i < MODEL_THREADS + 1; i++) {
		records[i].thread.spare = i;
		records[i].thread.pile = records[i].pile;
		memset(copies[i], 0, COPY_BYTES);
		records[i].thread.value = copies[i];
	}
	pool.stock.key = 1;
	pool.stock.cap = CAP;
	pool.stock.values.object_bytes = sizeof(struct value_buffer);
	pool.stock.values.shift = 4;
	store_relaxed(&pool.stock.values.chunk[0], (char *)buffers);
	store_relaxed(&pool.root, MODEL_THREADS + 1);
}

static void
setup(void)
{
	alone = true;
	setup_memory();
	memset(payload, 0, sizeof(payload));
	happened = 0;
	now = 0;
	play(before);
	alone = false;
}

static void
finish(void)
{
	alone = true;
	for (unsigned id = 0; id < IDS; id++)
		perform(WARM_BEGIN, id, 20);
	perform(WARM_DRAIN_ALL, 0, 0);
	MODEL_ASSERT(linear_check(events, happened, CAP, IDS));
	/* Nothing is ready, so no node is out. */
	MODEL_ASSERT(free_nodes == OBJECTS);
}

struct scenario {
	const struct script *before;
	const struct script *threads[MODEL_THREADS];
	unsigned preemptions;
};

static struct model_result
explore(enum warm_mutant mutant, enum model_memory memory,
	const struct scenario *scenario)
{
	const struct script *const *threads = scenario->threads;
	struct model model = {
		.name = "warm", .setup = setup, .finish = finish,
		.memory = memory, .preemptions = scenario->preemptions,
		.spurious = 1,
	};

	warm_mutant = mutant;
	before = scenario->before;
	for (; model.threads < MODEL_THREADS && threads[model.threads];
	     model.threads++) {
		scripts[model.threads] = threads[model.threads];
		model.thread[model.threads] = thread_plays;
	}
	return model_explore(&model);
}

/* Scripts. */

static const struct script nothing[] = { DONE };
static const struct script one_ready[] = {
	{ WARM_BEGIN, 0, 2 }, { WARM_OFFER, 0, 1 }, DONE
};
/* Both ids with fills in flight, one of them off the list. */
static const struct script off_list[] = {
	{ WARM_BEGIN, 0, 2 }, { WARM_BEGIN, 1, 1 }, DONE
};
/* Two ids are strays. */
static const struct script strays_0_1[] = {
	{ WARM_BEGIN, 0, 2 }, { WARM_BEGIN, 1, 2 }, { WARM_BEGIN, 2, 1 },
	{ WARM_BEGIN, 3, 1 }, DONE
};
static const struct script claim_0[] = { { WARM_CLAIM, 0, 0 }, DONE };
static const struct script fill_0[] = {
	{ WARM_BEGIN, 0, 1 }, { WARM_OFFER, 0, 2 }, DONE
};
static const struct script fill_1[] = {
	{ WARM_BEGIN, 1, 1 }, { WARM_OFFER, 1, 3 }, DONE
};
static const struct script offer_0[] = { { WARM_OFFER, 0, 4 }, DONE };
static const struct script begin_1[] = { { WARM_BEGIN, 1, 1 }, DONE };
static const struct script offer_1[] = { { WARM_OFFER, 1, 7 }, DONE };
static const struct script drain_0[] = {
	{ WARM_DRAIN, 0, 0 }, { WARM_BEGIN, 0, 1 }, DONE
};
static const struct script abandon_0[] = { { WARM_ABANDON, 0, 0 }, DONE };
/* The root's buffer comes back, with another state in it. */
static const struct script claim_and_offer[] = {
	{ WARM_CLAIM, 0, 0 }, { WARM_OFFER, 0, 5 }, DONE
};
static const struct script begin_four_times[] = {
	{ WARM_BEGIN, 0, 3 }, { WARM_BEGIN, 0, 4 }, { WARM_BEGIN, 0, 5 },
	{ WARM_BEGIN, 0, 6 }, DONE
};
/* It writes to the buffer that was the root's before. */
static const struct script offer_and_drain[] = {
	{ WARM_OFFER, 0, 5 }, { WARM_DRAIN, 0, 0 }, DONE
};
static const struct script claim_twice[] = {
	{ WARM_CLAIM, 0, 0 }, { WARM_CLAIM, 0, 0 }, DONE
};

static const struct scenario twos[] = {
	{ one_ready, { claim_0, claim_0 }, 3 },
	{ one_ready, { claim_0, begin_1 }, 3 },
	{ one_ready, { claim_0, claim_and_offer }, 3 },
	{ one_ready, { claim_twice, offer_and_drain }, 2 },
	{ one_ready, { offer_0, drain_0 }, 3 },
	{ nothing, { fill_0, fill_1 }, 2 },
	{ off_list, { offer_0, drain_0 }, 2 },
	{ off_list, { abandon_0, fill_0 }, 2 },
	{ strays_0_1, { offer_0, offer_1 }, 1 },
	{ strays_0_1, { abandon_0, fill_0 }, 1 },
};

static const struct scenario threes[] = {
	{ one_ready, { claim_0, offer_0, begin_1 }, 2 },
	{ one_ready, { claim_0, claim_and_offer, abandon_0 }, 2 },
	{ off_list, { offer_0, begin_1, drain_0 }, 1 },
};

static void
expect_right(struct model_result result)
{
	if (result.failed)
		model_print_schedule(stderr);
	ck_assert_msg(!result.failed, "%s", result.what);
	ck_assert(!result.truncated);
	if (getenv("MODEL_VERBOSE"))
		printf("%llu executions\n",
		       (unsigned long long)result.executions);
}

START_TEST(two_threads_are_clean)
{
	struct scenario scenario = twos[_i];

	expect_right(explore(WARM_RIGHT, MODEL_SC, &scenario));
	/* Stores that wait are choices, too. */
	if (scenario.preemptions > 2)
		scenario.preemptions = 2;
	expect_right(explore(WARM_RIGHT, MODEL_TSO, &scenario));
	expect_right(explore(WARM_RIGHT, MODEL_RELAXED, &scenario));
}
END_TEST

START_TEST(three_threads_are_clean)
{
	expect_right(explore(WARM_RIGHT, MODEL_SC, &threes[_i]));
}
END_TEST

static const struct scenario aba = {
	one_ready, { claim_0, claim_and_offer }, 2
};
static const struct scenario wrap = {
	one_ready, { claim_0, begin_four_times }, 2
};
static const struct scenario torn = {
	one_ready, { claim_twice, offer_and_drain }, 2
};
static const struct scenario lost = {
	one_ready, { claim_0, claim_0 }, 2
};
static const struct scenario handed_on = {
	nothing, { fill_0, claim_0 }, 2
};

struct mutant {
	enum warm_mutant mutant;
	enum model_memory memory;
	const struct scenario *scenario;
	enum model_failure failure;
};

static const struct mutant mutants[] = {
	{ WARM_NO_VERSION, MODEL_SC, &aba, MODEL_ASSERTION },
	{ WARM_TWO_BITS, MODEL_SC, &wrap, MODEL_ASSERTION },
	{ WARM_CREDULOUS, MODEL_SC, &torn, MODEL_ASSERTION },
	{ WARM_TRUSTS_CAS, MODEL_SC, &lost, MODEL_ASSERTION },
	{ WARM_RELAXED_INSTALL, MODEL_SC, &handed_on, MODEL_RACE },
	{ WARM_RELAXED_CLAIM, MODEL_SC, &handed_on, MODEL_RACE },
};

START_TEST(mutants_are_caught)
{
	const struct mutant *mutant = &mutants[_i];
	struct model_result result = explore(mutant->mutant, mutant->memory,
					     mutant->scenario);

	ck_assert(result.failed);
	ck_assert_int_eq(result.failure, mutant->failure);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int
main(void)
{
	Suite *suite = suite_create("model_warm");
	TCase *tcase = tcase_create("warm");
	SRunner *runner;
	int failed;

	for (int i = 0; i < MODEL_THREADS + 1; i++) {
		copies[i] = malloc(COPY_BYTES);
		if (!copies[i])
			return EXIT_FAILURE;
	}
	tcase_set_timeout(tcase, 0);
	tcase_add_loop_test(tcase, two_threads_are_clean, 0, COUNT(twos));
	tcase_add_loop_test(tcase, three_threads_are_clean, 0, COUNT(threes));
	tcase_add_loop_test(tcase, mutants_are_caught, 0, COUNT(mutants));
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	for (int i = 0; i < MODEL_THREADS + 1; i++)
		free(copies[i]);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
