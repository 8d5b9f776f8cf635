/* SPDX-License-Identifier: MIT */
/*
 * Ids: strings of any length, copied, compared by hash and then in full.
 *
 * A name is type-stable: readers of an old value of the pool may still compare
 * a name that has come to stand for another id.  So all that they read is
 * atomic, its text never moves, and a name's room for text is constant.  What
 * they make of it is believed only when the root has not moved since.
 *
 *	generation	counts up whenever the name stands for another id
 *	mark		[ hash, upper 40 bits | generation, 24 ], carried by
 *			the entries of the policy: most comparisons end there
 *	count		[ generation, 24 | count, 40 ]: counts that are added
 *			after an operation, when the name may have passed on;
 *			then the generation differs, and nothing is added
 */
#ifndef LEND_WARM_NAME_H
#define LEND_WARM_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "sync/registry.h"

#define NAME_BYTES 256
#define NAME_WORD sizeof(uint64_t)
#define NAME_INLINE 23		/* words of text within a name */

enum name_count { NAME_MISSES, NAME_EVICTIONS, NAME_REJECTED, NAME_THRASH,
		  NAME_COUNTS };

struct name {
	struct node node;
	_Atomic(uint64_t) hash;		/* written while nobody's, so length */
	_Atomic(uint64_t) length;	/* bytes, without the zero */
	_Atomic(uint64_t) *text;	/* constant: its words, zero-padded */
	uint32_t size_class;		/* constant: how much room for text */
	uint32_t generation;		/* its owner's, while it is nobody's */
	_Atomic(uint64_t) count[NAME_COUNTS];	/* any thread */
	_Atomic(uint64_t) inline_text[NAME_INLINE];
};

/* An id as the caller has it. */
struct name_key {
	const char *text;
	size_t length;
	uint64_t hash;
};

void name_key(struct name_key *key, const char *text);

/*
 * What all hashes begin with, so that nobody can prepare ids that collide.
 * Set before the first of them.
 */
extern uint64_t lend__name_seed;

/* Whether the mark may belong to a name of that hash. */
static inline bool
name_mark_fits(uint64_t mark, uint64_t hash)
{
	return (mark ^ hash) >> 24 == 0;
}

/*
 * Has a name, which the caller owns, stand for the key from now.  Returns its
 * mark.
 */
uint64_t name_write(struct name *name, const struct name_key *key);

/* Counts one more, if the name is still what it was when it had the mark. */
void name_add(struct name *name, uint64_t mark, enum name_count which);
uint64_t name_read(struct name *name, uint64_t mark, enum name_count which);

/* The room for text beyond a name's own, in bytes. */
size_t name_class_bytes(uint32_t size_class);

#define NAME_CLASSES 32

/* The size class of a text that has no room in the name itself. */
uint32_t name_page_class(size_t length);

/* What size class a text of that length wants. */
static inline uint32_t
name_class(size_t length)
{
	return length <= NAME_INLINE * NAME_WORD ? 0
						 : name_page_class(length);
}

/* Some 1 to 7 bytes as a word, zero-padded. */
static inline uint64_t
name_tail(const char *text, size_t left)
{
	const unsigned char *byte = (const unsigned char *)text;
	uint32_t low, high;

	/* What is read twice is the same both times. */
	if (left < 4)
		return byte[0] | (uint64_t)byte[left / 2] << 8 * (left / 2) |
		       (uint64_t)byte[left - 1] << 8 * (left - 1);
	memcpy(&low, text, sizeof(low));
	memcpy(&high, text + left - sizeof(high), sizeof(high));
	return low | (uint64_t)high << 8 * (left - sizeof(high));
}

/* Word i of the text, zero-padded. */
static inline uint64_t
name_word(const struct name_key *key, size_t i)
{
	size_t left = key->length - i * NAME_WORD;
	uint64_t word;

	if (left < NAME_WORD)
		return name_tail(key->text + i * NAME_WORD, left);
	memcpy(&word, key->text + i * NAME_WORD, NAME_WORD);
	return word;
}

/* Whether the name stands for the key; stale where the root has moved. */
static inline bool
name_is(const struct name *name, const struct name_key *key)
{
	/*
	 * Acquire, here and below: pairs with the releases of name_write.
	 * Who reads a word of a name's next life then sees, at his look at
	 * the root, that it has moved.
	 */
	if (load_acquire(&name->hash) != key->hash ||
	    load_acquire(&name->length) != key->length ||
	    name->size_class != name_class(key->length))
		return false;
	for (size_t i = 0; i * NAME_WORD < key->length; i++)
		if (load_acquire(&name->text[i]) != name_word(key, i))
			return false;
	return true;
}

#endif
