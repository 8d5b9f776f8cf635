/* SPDX-License-Identifier: MIT */
/*
 * A stack with cells beside it, of one node each, for those who lose races.
 *
 *   stack  [ version | index + 1 ] --> node --> node       sync/stack.h
 *   cell   [ version | index + 1, 0: empty ]  [ seen ]     CELLS of them
 *
 *   cell   empty@v -- put --> X@v+1	 the putter owned X until then
 *          X@v -- take --> empty@v+1	 the taker owns X from then
 *          X@v -- put of Y --> Y@v+1	 its putter owns X from then, and
 *					 pushes it onto the stack
 *
 *   thread  no credit -- loses a race for the stack's head --> credit
 *           credit -- CELLS_CREDIT takes --> prolonged, or none
 *           credit -- a put CELLS_APART or more after the one before --> none
 *
 * Where two threads put and take at once, the stack's head travels between
 * their processors at each operation, which takes longer than all the rest.  A
 * lost race for it is the sign.  Who loses one has credit for some takes: it
 * puts into the cell of the processor that it ran on then, and takes from
 * there.  The line of that cell stays with the processor, and the line of the
 * head, which is only read, with all of them.
 *
 * Credit is prolonged while others have theirs prolonged too (`prolonged`, a
 * line that is touched once in CELLS_CREDIT takes), and it ends when a thread
 * puts less often than about once in a microsecond.
 *
 * What is found.  Without a lost race all goes through the stack: the node that
 * was put last is taken first.  With credit a take prefers its cell while the
 * stack's head is what it was when the cell was filled (`seen`): then nothing
 * was pushed since.  Else the stack's top is newer, and is taken.  A node in
 * another thread's cell may be newer than either: that is the price, paid among
 * threads that put at once, once in a microsecond or more often.  Where calls
 * come one after the other, with a pause between one thread's and the next
 * one's, every put goes to the stack, whose head then differs from what any
 * cell has seen: each take finds what was put last, among all that was put so,
 * whatever credit is left.  One thread alone finds what it has put in exact
 * order at any pace: a put moves what the cell held to the stack, and credit
 * ends with a take, which has emptied the cell, or with a put, which does.
 *
 * Nobody loses or doubles a node: each is in one place, and every CAS moves one
 * between a word and the hands of a call, which at no moment holds two.  A
 * cell's CAS depends on nothing but its word, so ABA there is harmless, except
 * for the next paragraph.
 *
 * "None" is the truth.  A take that meets an empty stack looks at all words,
 * the head's included, and if all are empty looks again.  If none has changed,
 * versions included, all were empty at the moment between the two looks: every
 * node was in somebody's hands.  One look is not enough: a node may move from
 * a word that is still to be looked at to one that was.  Words without a
 * version would not do either: empty at both looks, they may have been full in
 * between.  40 bits of version take hours to wrap.
 *
 * Order.  A put releases what its owner wrote to the node, a take acquires it,
 * and a put that finds a node does both.  A take releases as well, from the
 * stack too, and a look acquires: when the first look meets what a take left
 * behind, whatever had been put before that take is met by the second.  (The
 * order that matters there is between different words: without it one might
 * be seen emptied, but the other not yet filled.)
 *
 * Progress: lock-free.  A CAS that fails, or a word that has changed between
 * two looks, is another operation's success.
 */
#ifndef LEND_SYNC_CELLS_H
#define LEND_SYNC_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/os.h"
#include "base/util.h"
#include "sync/registry.h"
#include "sync/stack.h"

/* The model has fewer; tests say where a thread runs, and when. */
#ifndef CELLS
#define CELLS 32		/* a power of two */
#endif
#ifndef CELLS_PLACE
#define CELLS_PLACE()	(os_cpu() & (CELLS - 1))
#endif
#ifndef CELLS_NOW
#define CELLS_NOW()	os_ticks()
#endif

#ifndef CELLS_CREDIT
#define CELLS_CREDIT 128	/* takes */
#endif
/* A put that comes later after the one before ends it. */
#define CELLS_APART OS_TICKS_SHORT
/* So many prolongations without another thread's are the last. */
#define CELLS_QUIET 4

/* The steps that carry the proof; the model's mutants replace them. */
#ifndef CELL_NEXT
#define CELL_NEXT(word, index)		stack_next(word, index)
#endif
#ifndef CELL_PUT
/*
 * Release: pairs with the acquire of CELL_TAKE and of the next CELL_PUT.
 * Acquire: pairs with the release of the CELL_PUT whose node it finds.
 */
#define CELL_PUT(word, old, new)	cas_acq_rel_relaxed(word, old, new)
#endif
#ifndef CELL_TAKE
/*
 * Acquire: pairs with the release of CELL_PUT.  Release: pairs with the
 * acquire of the looks in cells_search.
 */
#define CELL_TAKE(word, old, new)	cas_acq_rel_relaxed(word, old, new)
#endif
#ifndef CELL_FOUND
#define CELL_FOUND(word)		stack_index(word)
#endif
#ifndef CELLS_UNCHANGED
#define CELLS_UNCHANGED(cells, word, head) \
	cells_unchanged(cells, word, head)
#endif

struct cell {
	_Alignas(FALSE_SHARING) _Atomic(uint64_t) word;
	_Atomic(uint64_t) seen;	/* the stack's head when it was filled */
};

struct cells {
	struct stack stack;
	struct cell cell[CELLS];
	/* How often credit came to its end, prolonged or not. */
	_Alignas(FALSE_SHARING) _Atomic(uint64_t) prolonged;
};

/* A thread's, which alone uses it.  All zero: none. */
struct cells_credit {
	uint64_t key;		/* for which cells; 0: none */
	uint32_t place;		/* the own cell */
	uint32_t left;		/* takes */
	uint32_t quiet;		/* prolongations without another thread's */
	uint64_t prolonged;	/* the cells' count at the last one */
	uint64_t last;		/* when the last put was */
};

static inline void
credit_give(struct cells_credit *credit, uint64_t prolonged)
{
	credit->place = CELLS_PLACE();
	credit->left = CELLS_CREDIT;
	credit->prolonged = prolonged;
}

static inline void
credit_begin(struct cells_credit *credit, uint64_t key, struct cells *cells)
{
	credit->key = key;
	credit->quiet = 0;
	credit->last = CELLS_NOW();
	/* Relaxed: the order of what is taken hangs on it, nothing else. */
	credit_give(credit, load_relaxed(&cells->prolonged));
}

static inline void
credit_prolong(struct cells_credit *credit, struct cells *cells)
{
	/* Relaxed: as above. */
	uint64_t all = fetch_add_relaxed(&cells->prolonged, 1);

	credit->quiet = all == credit->prolonged ? credit->quiet + 1 : 0;
	if (credit->quiet == CELLS_QUIET)
		credit->key = 0;
	else
		credit_give(credit, all + 1);
}

/* Of a put: whether it follows closely upon the one before. */
static inline bool
credit_lasts(struct cells_credit *credit)
{
	uint64_t now = CELLS_NOW(), last = credit->last;

	credit->last = now;
	if (likely(now - last <= CELLS_APART))
		return true;
	credit->key = 0;
	return false;
}

static inline struct node *
cells_node(const struct registry *registry, uint64_t word)
{
	return registry_at(registry, (uint32_t)stack_index(word) - 1);
}

/* Puts the node into the cell; one that was there goes onto the stack. */
static inline void
cell_put(struct cells *cells, struct cell *cell,
	 const struct registry *registry, struct node *node)
{
	/* Relaxed: only a guess, which the CAS verifies. */
	uint64_t word = load_relaxed(&cell->word);

	/* Relaxed, both, also below: they decide about the order alone. */
	store_relaxed(&cell->seen, load_relaxed(&cells->stack.head));
	while (unlikely(!CELL_PUT(&cell->word, &word,
				  CELL_NEXT(word, node->index + 1))))
		;
	if (likely(CELL_FOUND(word) == 0))
		return;
	stack_push(&cells->stack, cells_node(registry, word));
	store_relaxed(&cell->seen, load_relaxed(&cells->stack.head));
}

/* The node that `word` names, now the caller's; null: it is not there. */
static inline struct node *
cell_take(struct cell *cell, const struct registry *registry, uint64_t word)
{
	uint64_t seen = word;

	if (stack_index(word) == 0)
		return NULL;
	while (unlikely(!CELL_TAKE(&cell->word, &seen, CELL_NEXT(word, 0))))
		if (seen != word)
			return NULL;
	return cells_node(registry, word);
}

static inline struct node *
cell_take_any(struct cell *cell, const struct registry *registry)
{
	/* Relaxed: only a guess, which the CAS verifies. */
	return cell_take(cell, registry, load_relaxed(&cell->word));
}

/* The second look. */
static inline bool
cells_unchanged(struct cells *cells, const uint64_t word[], uint64_t head)
{
	/* Acquire, all looks: pairs with the release of all takes. */
	for (uint32_t i = 0; i < CELLS; i++)
		if (load_acquire(&cells->cell[i].word) != word[i])
			return false;
	return load_acquire(&cells->stack.head) == head;
}

/*
 * True: *node was in a cell and is now the caller's, or is null, as at one
 * moment there was none in the cells nor on the stack.  False: look again.
 */
static inline bool
cells_search(struct cells *cells, const struct registry *registry,
	     struct node **node)
{
	uint64_t head = load_acquire(&cells->stack.head), word[CELLS];
	uint32_t place = CELLS_PLACE();

	*node = NULL;
	if (stack_index(head))
		return false;
	/* The nearest first. */
	for (uint32_t i = 0; i < CELLS; i++) {
		uint32_t at = i ^ place;

		word[at] = load_acquire(&cells->cell[at].word);
		if (stack_index(word[at]) == 0)
			continue;
		*node = cell_take(&cells->cell[at], registry, word[at]);
		return *node != NULL;
	}
	return CELLS_UNCHANGED(cells, word, head);
}

/* With credit: from the own cell, unless the stack has something newer. */
static inline struct node *
cells_take_own(struct cells *cells, const struct registry *registry,
	       struct cells_credit *credit)
{
	struct cell *cell = &cells->cell[credit->place];
	struct node *node = NULL;

	/* Relaxed, both: they decide about the order alone. */
	if (likely(load_relaxed(&cell->seen) ==
		   load_relaxed(&cells->stack.head)))
		node = cell_take_any(cell, registry);
	if (unlikely(--credit->left == 0))
		credit_prolong(credit, cells);
	return node;
}

/* After a look at the stack that was in vain: a lost race, or empty. */
static struct node *
cells_take_anywhere(struct cells *cells, const struct registry *registry,
		    struct cells_credit *credit, uint64_t key, bool lost)
{
	struct node *node;

	for (;;) {
		if (lost) {
			credit_begin(credit, key, cells);
			node = cell_take_any(&cells->cell[credit->place],
					     registry);
			if (node)
				return node;
			STACK_BACK_OFF();
		} else if (cells_search(cells, registry, &node)) {
			return node;
		}
		lost = !stack_try_pop(&cells->stack, registry, &node);
		if (node)
			return node;
	}
}

/* With credit, or after a look at the stack that was in vain. */
static __attribute__((noinline, unused)) struct node *
cells_take_otherwise(struct cells *cells, const struct registry *registry,
		     struct cells_credit *credit, uint64_t key, bool lost)
{
	struct node *node;

	if (likely(credit->key == key)) {
		node = cells_take_own(cells, registry, credit);
		if (likely(node))
			return node;
		lost = !stack_try_pop(&cells->stack, registry, &node);
		if (node)
			return node;
	}
	return cells_take_anywhere(cells, registry, credit, key, lost);
}

/*
 * Takes a node, now the caller's; null: none was there.  `key`, not 0, is the
 * cells' own: a credit is good for the cells that it was given at.
 */
static inline struct node *
cells_take(struct cells *cells, const struct registry *registry,
	   struct cells_credit *credit, uint64_t key)
{
	struct node *node;
	bool lost = false;

	if (likely(credit->key != key)) {
		lost = !stack_try_pop(&cells->stack, registry, &node);
		if (likely(node))
			return node;
	}
	return cells_take_otherwise(cells, registry, credit, key, lost);
}

/*
 * Puts a node where the credit has just ended: onto the stack, upon what the
 * own cell has, if that is the newest.  By way of the cell, as a call must not
 * have two nodes in hand.
 */
static void
cells_put_last(struct cells *cells, const struct registry *registry,
	       struct node *node, uint32_t place)
{
	struct cell *cell = &cells->cell[place];

	/* Relaxed, both: they decide about the order alone. */
	if (load_relaxed(&cell->seen) == load_relaxed(&cells->stack.head)) {
		cell_put(cells, cell, registry, node);
		node = cell_take_any(cell, registry);
		/* Somebody else has taken it. */
		if (!node)
			return;
	}
	stack_push(&cells->stack, node);
}

/* With credit, or after a lost race. */
static __attribute__((noinline, unused)) void
cells_put_otherwise(struct cells *cells, const struct registry *registry,
		    struct node *node, struct cells_credit *credit,
		    uint64_t key)
{
	if (unlikely(credit->key != key))
		credit_begin(credit, key, cells);
	if (likely(credit_lasts(credit)))
		cell_put(cells, &cells->cell[credit->place], registry, node);
	else
		cells_put_last(cells, registry, node, credit->place);
}

/* Puts a node that is the caller's. */
static inline void
cells_put(struct cells *cells, const struct registry *registry,
	  struct node *node, struct cells_credit *credit, uint64_t key)
{
	if (unlikely(credit->key == key) ||
	    unlikely(!stack_try_push(&cells->stack, node)))
		cells_put_otherwise(cells, registry, node, credit, key);
}

/* Forgets all nodes.  The caller is alone. */
static inline void
cells_reset(struct cells *cells)
{
	stack_reset(&cells->stack);
	for (uint32_t i = 0; i < CELLS; i++) {
		_Atomic(uint64_t) *word = &cells->cell[i].word;

		/* Relaxed: alone.  The version goes on. */
		store_relaxed(word, CELL_NEXT(load_relaxed(word), 0));
	}
}

#endif
