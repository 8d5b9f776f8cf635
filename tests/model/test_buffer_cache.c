/* SPDX-License-Identifier: MIT */
/*
 * The cache of arena/buffer_cache.h, through all interleavings: its owner
 * takes and puts buffers, in the short forms and in the general ones, beside
 * one or two trimmers, or a trimmer and a thread that takes from the list
 * that the cache is emptied to.
 *
 * What is checked: a buffer and a magazine belong to one at a time (plain
 * data stands for both, so a race is reported, and a release during a loan
 * seen); at the end every buffer is in one place.
 *
 * Each of the mutants must be caught.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "explorer.h"

enum mutant {
	RIGHT,
	NO_BARRIER,		/* the trimmer omits its barrier */
	BARRIER_FIRST,		/* or has it before its announcement */
	NO_COMPILER_BARRIER,	/* the owner's */
	ALWAYS_FAST,		/* the short forms do not look for trimmers */
	RELAXED_LOOK,		/* that look does not acquire */
	RELAXED_UNBUSY,		/* the end does not release */
	EARLY_UNBUSY,		/* the end is before what it ends */
	RELAXED_END,		/* the trimmer's end does not release */
	PUT_LATE,		/* into a magazine that is in place already */
	RELAXED_PUSH		/* what goes to the list does not release */
};

static enum mutant mutant;

static bool
barrier(void)
{
	if (mutant != NO_BARRIER && mutant != BARRIER_FIRST)
		model_membarrier();
	return true;
}

#define SLOT_MEMBARRIER() barrier()
#define SLOT_MARK_BUSY(slot) do { \
	store_relaxed(&(slot)->loan.busy, 1); \
	if (mutant != NO_COMPILER_BARRIER) \
		compiler_barrier(); \
} while (0)
static uint32_t look(const _Atomic(uint32_t) *trimmers);
#define SLOT_TRIMMERS(trimmers) look(trimmers)
#define SLOT_UNBUSY(slot) \
	(mutant == RELAXED_UNBUSY ? store_relaxed(&(slot)->loan.busy, 0) : \
	 store_release(&(slot)->loan.busy, 0))
#define STACK_BACK_OFF() ((void)0)
#undef fetch_sub_release
#define fetch_sub_release(p, v) \
	MODEL_FETCH_ADD(p, -MODEL_WORD(p, v), mutant == RELAXED_END ? \
			MODEL_ORDER_RELAXED : MODEL_ORDER_RELEASE, \
			"fetch_sub_release(" #p ", " #v ")")
#undef cas_release_relaxed
#define cas_release_relaxed(p, expected, v) \
	MODEL_CAS(p, expected, v, mutant == RELAXED_PUSH ? \
		  MODEL_ORDER_RELAXED : MODEL_ORDER_RELEASE, \
		  MODEL_ORDER_RELAXED, "cas_release_relaxed(" #p ")")

struct magazine;
static void in_hand(struct magazine *magazine);
#define MAGAZINE_IN_HAND(magazine) in_hand(magazine)

#include "arena/buffer_cache.h"
#include "sync/stack.h"

#define BUFFERS 4
#define MAGAZINES 4
#define CLASS 3
#define BYTES ((size_t)16384)

static struct slot cache;
static _Atomic(uint32_t) about;		/* the arena's `trimmers` */
static struct magazine magazines[MAGAZINES];
static struct buffer buffers[BUFFERS];
static struct registry registry;
static struct stack list;
static int hands[MAGAZINES];		/* plain: what a magazine is made of */
static int content[BUFFERS];		/* plain: the storage */
/*
 * Plain, for what is in place in the slot: where an owner looks at it, having
 * seen no trimmer, and each trimmer's exchange must be ordered, or the owner
 * might see what was there before.
 */
static int in_place[MODEL_THREADS];
/* The explorer's own book. */
static enum place { NEW, HELD, IDLE, GONE } place[BUFFERS];
static unsigned used, fresh;		/* the owner's */
static bool fast;

static uint32_t
look(const _Atomic(uint32_t) *trimmers)
{
	uint32_t there = mutant == ALWAYS_FAST ? 0 :
			 mutant == RELAXED_LOOK ? load_relaxed(trimmers) :
			 load_acquire(trimmers);

	for (unsigned i = 0; i < MODEL_THREADS && there == 0; i++)
		(void)model_plain_read(&in_place[i]);
	return there;
}

static void
in_hand(struct magazine *magazine)
{
	if (mutant == EARLY_UNBUSY)
		store_release(&cache.loan.busy, 0);
	model_plain_write(&hands[magazine - magazines], 1);
}

static uint32_t
number(const struct buffer *buffer)
{
	return buffer->node.index;
}

/* A buffer that was idle, or is new, is the caller's. */
static void
hold(struct buffer *buffer, enum place from)
{
	MODEL_ASSERT(place[number(buffer)] == from);
	place[number(buffer)] = HELD;
	model_plain_write(&content[number(buffer)], 1);
}

static void
use(struct buffer *buffer)
{
	model_plain_write(&content[number(buffer)], 2);
	model_step();
	MODEL_ASSERT(model_plain_read(&content[number(buffer)]) == 2);
	place[number(buffer)] = IDLE;
}

/* As arena/buffer.c does it. */
static struct buffer *
borrow(void)
{
	struct buffer *buffer = cache_take_in_place(&cache, &about, CLASS);

	if (!buffer)
		buffer = cache_take(&cache, &about, CLASS, CLASS);
	if (!buffer)
		buffer = (struct buffer *)stack_pop(&list, &registry);
	if (buffer) {
		hold(buffer, IDLE);
		return buffer;
	}
	MODEL_ASSERT(used < BUFFERS);
	buffer = &buffers[used++];
	store_relaxed(&buffer->buf.bytes, BYTES);
	hold(buffer, NEW);
	return buffer;
}

/* The same; a magazine holds one buffer. */
static void
give_back(struct buffer *buffer)
{
	struct magazine *had, *magazine;

	if (cache_put_in_place(&cache, &about, buffer, CLASS, BYTES))
		return;
	had = magazine = cache_begin(&cache, &about);
	if (!magazine) {
		MODEL_ASSERT(fresh < MAGAZINES);
		magazine = &magazines[fresh++];
	}
	if (mutant == PUT_LATE && !had) {
		cache_end_with(&cache, magazine);
		(void)magazine_put(magazine, buffer, CLASS, BYTES);
		return;
	}
	if (!magazine_put(magazine, buffer, CLASS, BYTES)) {
		stack_push(&list, &magazine_take(magazine, CLASS)->node);
		MODEL_ASSERT(magazine_put(magazine, buffer, CLASS, BYTES));
	}
	if (had)
		cache_end(&cache, magazine);
	else
		cache_end_with(&cache, magazine);
}

/* Two out at once, so that one goes to the list. */
static void
owner(void)
{
	struct buffer *first = borrow(), *second = borrow();

	use(first);
	give_back(first);
	use(second);
	give_back(second);
}

static void
owner_of_one(void)
{
	for (int round = 0; round < 2; round++) {
		struct buffer *buffer = borrow();

		use(buffer);
		give_back(buffer);
	}
}

/* As arena/buffer_idle.c does it. */
static void
trimmer(void)
{
	struct magazine *magazine;
	struct buffer *buffer;

	if (mutant == BARRIER_FIRST)
		model_membarrier();
	MODEL_ASSERT(slot_trim_begin(&about, fast));
	magazine = cache_reclaim(&cache);
	if (magazine)
		model_plain_write(&in_place[model_self()], 1);
	while (magazine && (buffer = magazine_take(magazine, CLASS))) {
		hold(buffer, IDLE);
		model_plain_write(&content[number(buffer)], -1);
		place[number(buffer)] = GONE;
	}
	slot_trim_end(&about);
}

/* Another thread, without a cache. */
static void
other(void)
{
	struct buffer *buffer = (struct buffer *)stack_pop(&list, &registry);

	if (!buffer)
		return;
	hold(buffer, IDLE);
	use(buffer);
	stack_push(&list, &buffer->node);
}

static void
setup(void)
{
	memset(&cache, 0, sizeof(cache));
	memset(magazines, 0, sizeof(magazines));
	memset(buffers, 0, sizeof(buffers));
	memset(&registry, 0, sizeof(registry));
	memset(&list, 0, sizeof(list));
	memset(hands, 0, sizeof(hands));
	memset(content, 0, sizeof(content));
	memset(in_place, 0, sizeof(in_place));
	memset(place, 0, sizeof(place));
	registry.object_bytes = sizeof(struct buffer);
	registry.shift = 4;
	store_relaxed(&registry.count, BUFFERS);
	store_relaxed(&registry.chunk[0], (char *)buffers);
	for (uint32_t i = 0; i < BUFFERS; i++) {
		buffers[i].node.index = i;
		buffers[i].out = word_out(&buffers[i], CLASS);
	}
	/* One is cached, as after a first loan. */
	used = fresh = 1;
	place[0] = IDLE;
	store_relaxed(&buffers[0].buf.bytes, BYTES);
	magazines[0].bytes = BYTES;
	magazines[0].top[CLASS] = &buffers[0];
	store_relaxed(&cache.bufs, &magazines[0].held);
	store_relaxed(&about, fast ? 0 : 1);
}

/* How many are where the place says; each is in one. */
static void
finish(void)
{
	struct magazine *magazine =
		(struct magazine *)load_relaxed(&cache.bufs);
	uint32_t next = (uint32_t)stack_index(load_relaxed(&list.head));
	unsigned found = 0, idle = 0;

	MODEL_ASSERT(load_relaxed(&cache.loan.busy) == 0);
	MODEL_ASSERT(load_relaxed(&about) == (fast ? 0 : 1));
	for (struct buffer *buffer = magazine ? magazine->top[CLASS] : NULL;
	     buffer; buffer = buffer->next) {
		MODEL_ASSERT(place[number(buffer)] == IDLE);
		MODEL_ASSERT(++found <= BUFFERS);
	}
	MODEL_ASSERT(!magazine || magazine->bytes == found * BYTES);
	while (next) {
		MODEL_ASSERT(place[next - 1] == IDLE);
		MODEL_ASSERT(++found <= BUFFERS);
		next = load_relaxed(&buffers[next - 1].node.next);
	}
	for (uint32_t i = 0; i < BUFFERS; i++) {
		MODEL_ASSERT(place[i] != HELD);
		idle += place[i] == IDLE;
	}
	MODEL_ASSERT(found == idle);
}

struct cast {
	const char *name;
	unsigned threads;
	void (*thread[3])(void);
};

static const struct cast casts[] = {
	{ "a trimmer", 2, { owner_of_one, trimmer, NULL } },
	{ "two buffers", 2, { owner, trimmer, NULL } },
	{ "two trimmers", 3, { owner_of_one, trimmer, trimmer } },
	{ "a trimmer and another", 3, { owner, trimmer, other } },
};

#define CASTS ((int)(sizeof(casts) / sizeof(casts[0])))

static struct model_result
explore(enum mutant variant, bool goes_fast, const struct cast *cast,
	enum model_memory memory, unsigned preemptions)
{
	struct model model = {
		.name = cast->name, .threads = cast->threads,
		.thread = { cast->thread[0], cast->thread[1],
			    cast->thread[2] },
		.setup = setup, .finish = finish, .memory = memory,
		.preemptions = preemptions,
	};

	mutant = variant;
	fast = goes_fast;
	return model_explore(&model);
}

START_TEST(all_casts_are_clean)
{
	const struct cast *cast = &casts[_i / 2];

	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++) {
		struct model_result result =
			explore(RIGHT, _i % 2, cast, memory,
				cast->threads == 2 ? 5 : 2);

		if (result.failed)
			model_print_schedule(stderr);
		ck_assert_msg(!result.failed, "%s: %s", cast->name,
			      result.what);
		ck_assert(!result.truncated);
	}
}
END_TEST

START_TEST(mutants_are_caught)
{
	struct model_result result = { .failed = false };

	for (int i = 0; i < CASTS && !result.failed; i++)
		result = explore((enum mutant)_i, true, &casts[i],
				 MODEL_RELAXED, 2);
	ck_assert_msg(result.failed, "mutant %d survived", _i);
	ck_assert_int_ne(result.failure, MODEL_UNUSABLE);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("model_buffer_cache");
	TCase *tcase = tcase_create("cache");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 0);
	tcase_add_loop_test(tcase, all_casts_are_clean, 0, 2 * CASTS);
	tcase_add_loop_test(tcase, mutants_are_caught, NO_BARRIER,
			    RELAXED_PUSH + 1);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
