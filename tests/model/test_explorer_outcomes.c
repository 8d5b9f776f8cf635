/* SPDX-License-Identifier: MIT */
/*
 * The explorer against a machine that is too simple to be wrong.
 *
 * Random short programs are run by the explorer without a preemption bound,
 * and by a machine that is one set of states and rules: any thread may make
 * its next step that its buffer allows, any buffered store that may leave may
 * reach memory, in any state.  It leaves nothing out.  Both must reach the
 * same outcomes: what each load found, and what memory holds at the end.
 * So the arrivals that the explorer does not try are not missed.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "explorer.h"

#define THREADS	3
#define LENGTH	4
#define WORDS	3
#define STATES	(1u << 18)
#define OUTCOMES (1u << 14)

enum kind {
	LOAD, STORE, STORE_RELEASE, EXCHANGE, EXCHANGE_ACQ_REL, CAS_RELEASE,
	FENCE, COMPILER_BARRIER, HEAVY_BARRIER, KINDS
};

struct instruction {
	uint8_t kind, word, value;
};

static struct {
	unsigned threads, length;
	struct instruction code[THREADS][LENGTH];
} program;

static enum model_memory memory;

/* Sets of outcomes.  Four bits for each load and each word. */

struct outcomes {
	uint64_t member[OUTCOMES];	/* 0: free; outcomes have bit 63 */
	unsigned count;
};

static struct outcomes explored, reached;

static void
add_outcome(struct outcomes *set, uint64_t outcome)
{
	uint64_t i = outcome * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	outcome |= UINT64_C(1) << 63;
	for (;; i++) {
		uint64_t *member = &set->member[i % OUTCOMES];

		if (*member == outcome)
			return;
		if (!*member) {
			*member = outcome;
			set->count++;
			ck_assert_uint_lt(set->count, OUTCOMES / 2);
			return;
		}
	}
}

static bool
has_outcome(const struct outcomes *set, uint64_t outcome)
{
	uint64_t i = outcome * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	outcome |= UINT64_C(1) << 63;
	for (; set->member[i % OUTCOMES]; i++)
		if (set->member[i % OUTCOMES] == outcome)
			return true;
	return false;
}

static uint64_t
found(unsigned thread, unsigned at, uint64_t value)
{
	return value << 4 * (thread * LENGTH + at);
}

static uint64_t
left(unsigned word, uint64_t value)
{
	return value << 4 * (THREADS * LENGTH + word);
}

/* The program in the explorer. */

static _Atomic(uint32_t) words[WORDS];
static uint64_t outcome;

static uint32_t
perform(struct instruction i)
{
	_Atomic(uint32_t) *word = &words[i.word];
	uint32_t expected = 0;

	switch (i.kind) {
	case LOAD:
		return load_acquire(word);
	case STORE:
		store_relaxed(word, i.value);
		return 0;
	case STORE_RELEASE:
		store_release(word, i.value);
		return 0;
	case EXCHANGE:
		return exchange_relaxed(word, i.value);
	case EXCHANGE_ACQ_REL:
		return exchange_acq_rel(word, i.value);
	case CAS_RELEASE:
		(void)cas_release_relaxed(word, &expected, i.value);
		return expected;
	case FENCE:
		model_fence();
		return 0;
	case COMPILER_BARRIER:
		compiler_barrier();
		return 0;
	}
	model_membarrier();
	return 0;
}

static void
perform_all(void)
{
	for (unsigned at = 0; at < program.length; at++)
		outcome += found(model_self(), at, perform(
			program.code[model_self()][at]));
}

static void
start(void)
{
	outcome = 0;
	for (unsigned n = 0; n < WORDS; n++)
		store_relaxed(&words[n], 0);
}

static void
note_outcome(void)
{
	for (unsigned n = 0; n < WORDS; n++)
		outcome += left(n, load_relaxed(&words[n]));
	add_outcome(&explored, outcome);
}

static void
explore(void)
{
	struct model m = {
		.name = "outcomes", .threads = program.threads,
		.thread = { perform_all, perform_all, perform_all },
		.setup = start, .finish = note_outcome,
		.memory = memory, .preemptions = 100
	};

	memset(&explored, 0, sizeof(explored));
	ck_assert(!model_explore(&m).failed);
}

/* The machine. */

struct store {
	uint8_t word, value, release, settled;
};

struct machine {
	uint64_t outcome;
	uint8_t at[THREADS];
	uint8_t interrupted[THREADS];	/* in a heavy barrier: whom next */
	uint8_t buffered[THREADS];
	uint8_t word[WORDS];
	struct store buffer[THREADS][LENGTH];
};

static struct machine states[STATES];
static uint32_t used_by[STATES];
static uint32_t round_number;

/* Whether the state is new in this round. */
static bool
enter(const struct machine *m)
{
	uint64_t hash = 0;
	uint64_t part[sizeof(*m) / 8];

	_Static_assert(sizeof(*m) % 8 == 0, "hashed by words");
	memcpy(part, m, sizeof(*m));
	for (unsigned i = 0; i < sizeof(*m) / 8; i++)
		hash = (hash ^ part[i]) * UINT64_C(0x9e3779b97f4a7c15) ^
			hash >> 29;
	for (unsigned tries = 0; tries < STATES / 2; tries++) {
		uint64_t i = ((hash >> 20) + tries) % STATES;

		if (used_by[i] != round_number) {
			used_by[i] = round_number;
			states[i] = *m;
			return true;
		}
		if (!memcmp(&states[i], m, sizeof(*m)))
			return false;
	}
	ck_abort_msg("too many states");
	return false;
}

static bool
holds_word(const struct machine *m, unsigned t, unsigned word)
{
	for (unsigned i = 0; i < m->buffered[t]; i++)
		if (m->buffer[t][i].word == word)
			return true;
	return false;
}

static bool
holds_settled(const struct machine *m, unsigned t)
{
	return m->buffered[t] && m->buffer[t][0].settled;
}

/* May the store leave, as far as the older ones in its buffer matter? */
static bool
may_leave(const struct machine *m, unsigned t, unsigned i)
{
	const struct store *s = m->buffer[t];

	if (i && (memory == MODEL_TSO || s[i].release))
		return false;
	for (unsigned j = 0; j < i; j++)
		if (s[j].word == s[i].word)
			return false;
	return true;
}

static void
leave(struct machine *m, unsigned t, unsigned i)
{
	struct store *s = m->buffer[t];

	m->word[s[i].word] = s[i].value;
	memmove(&s[i], &s[i + 1], (--m->buffered[t] - i) * sizeof(*s));
	memset(&s[m->buffered[t]], 0, sizeof(*s));
}

static void
settle(struct machine *m, unsigned t)
{
	for (unsigned i = 0; i < m->buffered[t]; i++)
		m->buffer[t][i].settled = true;
}

static void
machine_store(struct machine *m, unsigned t, struct instruction i)
{
	if (memory == MODEL_SC) {
		m->word[i.word] = i.value;
		return;
	}
	m->buffer[t][m->buffered[t]++] = (struct store){
		i.word, i.value, i.kind == STORE_RELEASE,
		memory == MODEL_TSO };
}

static uint8_t
machine_load(const struct machine *m, unsigned t, unsigned word)
{
	for (unsigned i = m->buffered[t]; i-- > 0;)
		if (m->buffer[t][i].word == word)
			return m->buffer[t][i].value;
	return m->word[word];
}

/* False: the thread's buffer does not allow it yet. */
static bool
machine_modify(struct machine *m, unsigned t, struct instruction i)
{
	uint8_t old = m->word[i.word];
	bool swaps = i.kind != CAS_RELEASE || !old;
	bool all = memory == MODEL_TSO || (swaps && i.kind != EXCHANGE);

	if (all ? m->buffered[t] > 0 : holds_word(m, t, i.word))
		return false;
	m->outcome += found(t, m->at[t], old);
	if (swaps)
		m->word[i.word] = i.value;
	return true;
}

/* One part of a heavy barrier; false: not yet. */
static bool
machine_heavy(struct machine *m, unsigned t, bool *done)
{
	unsigned other = m->interrupted[t] - 1u;

	if (!m->interrupted[t]) {
		if (m->buffered[t])
			return false;
	} else if (other != t) {
		if (holds_settled(m, other))
			return false;
	}
	*done = m->interrupted[t]++ == program.threads;
	if (*done)
		m->interrupted[t] = 0;
	return true;
}

/* The thread's next step, if it may make it. */
static bool
machine_step(struct machine *m, unsigned t)
{
	struct instruction i;
	bool done = true;

	if (m->at[t] == program.length)
		return false;
	i = program.code[t][m->at[t]];
	switch (i.kind) {
	case LOAD:
		m->outcome += found(t, m->at[t], machine_load(m, t, i.word));
		break;
	case STORE:
	case STORE_RELEASE:
		machine_store(m, t, i);
		break;
	case FENCE:
		if (m->buffered[t])
			return false;
		break;
	case COMPILER_BARRIER:
		settle(m, t);
		break;
	case HEAVY_BARRIER:
		if (!machine_heavy(m, t, &done))
			return false;
		break;
	default:
		if (!machine_modify(m, t, i))
			return false;
	}
	m->at[t] += done;
	return true;
}

static void
reach(const struct machine *m)
{
	bool ended = true;

	if (!enter(m))
		return;
	for (unsigned t = 0; t < program.threads; t++) {
		struct machine after = *m;

		if (machine_step(&after, t))
			reach(&after);
		ended &= m->at[t] == program.length && !m->buffered[t];
		for (unsigned i = 0; i < m->buffered[t]; i++) {
			if (!may_leave(m, t, i))
				continue;
			after = *m;
			leave(&after, t, i);
			reach(&after);
		}
	}
	if (ended) {
		uint64_t end = m->outcome;

		for (unsigned n = 0; n < WORDS; n++)
			end += left(n, m->word[n]);
		add_outcome(&reached, end);
	}
}

/* Random programs. */

static uint32_t random_state = 1;

static unsigned
random_below(unsigned bound)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 16) % bound;
}

/* Loads and stores are two thirds of it; `kinds` bounds the other third. */
static void
random_program(unsigned threads, unsigned length, unsigned used_words,
	       unsigned kinds)
{
	static const uint8_t common[] = { LOAD, LOAD, STORE, STORE_RELEASE };

	program.threads = threads;
	program.length = length;
	for (unsigned t = 0; t < threads; t++)
		for (unsigned at = 0; at < length; at++)
			program.code[t][at] = (struct instruction){
				random_below(3) ? common[random_below(4)] :
						  random_below(kinds),
				random_below(used_words),
				1 + t * LENGTH + at };
}

static void
compare(void)
{
	struct machine m;

	memset(&m, 0, sizeof(m));
	memset(&reached, 0, sizeof(reached));
	round_number++;
	reach(&m);
	explore();
	for (unsigned i = 0; i < OUTCOMES; i++)
		if (reached.member[i])
			ck_assert_msg(has_outcome(&explored,
						  reached.member[i]),
				      "missed: %#llx",
				      (unsigned long long)reached.member[i]);
	ck_assert_uint_eq(explored.count, reached.count);
}

static void
compare_all(unsigned programs, unsigned threads, unsigned length,
	    unsigned kinds)
{
	unsigned weaker[MODEL_RELAXED + 1] = { 0 };

	for (unsigned n = 0; n < programs; n++) {
		unsigned before = 0;

		random_program(threads, length, 2 + n % 2, kinds);
		for (memory = MODEL_SC; memory <= MODEL_RELAXED; memory++) {
			compare();
			weaker[memory] += explored.count > before;
			ck_assert_uint_ge(explored.count, before);
			before = explored.count;
		}
	}
	/* The memories differ, else this would be no test of them. */
	ck_assert_uint_gt(weaker[MODEL_TSO], programs / 50);
	ck_assert_uint_gt(weaker[MODEL_RELAXED], programs / 50);
}

START_TEST(two_threads)
{
	compare_all(400, 2, 4, KINDS);
}
END_TEST

START_TEST(three_threads)
{
	compare_all(200, 3, 3, HEAVY_BARRIER);
}
END_TEST

/* Shorter: where there are interrupts the paths are many more. */
START_TEST(three_threads_interrupted)
{
	compare_all(400, 3, 2, KINDS);
}
END_TEST

static Suite *
outcomes_suite(void)
{
	Suite *suite = suite_create("explorer outcomes");
	TCase *tcase = tcase_create("random programs");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, two_threads);
	tcase_add_test(tcase, three_threads);
	tcase_add_test(tcase, three_threads_interrupted);
	suite_add_tcase(suite, tcase);
	return suite;
}

int
main(void)
{
	SRunner *runner = srunner_create(outcomes_suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
