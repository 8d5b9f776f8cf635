/* SPDX-License-Identifier: MIT */
#include "warm/name.h"

#include <string.h>

#include "base/os.h"
#include "base/util.h"

#define GENERATION (((uint64_t)1 << 24) - 1)
#define COUNT_BITS 40
#define COUNT (((uint64_t)1 << COUNT_BITS) - 1)

_Static_assert(sizeof(struct name) == NAME_BYTES, "a registry's object");

/* A test has all ids collide. */
#ifndef NAME_HASH
#define NAME_HASH(hash) (hash)
#endif

uint64_t lend__name_seed;

void
name_key(struct name_key *key, const char *text)
{
	uint64_t hash;

	key->text = text;
	key->length = strlen(text);
	hash = key->length ^ lend__name_seed;
	for (size_t i = 0; i * NAME_WORD < key->length; i++) {
		hash = (hash ^ name_word(key, i)) *
		       UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	/* The upper bits are what marks hold: mixed once more. */
	hash *= UINT64_C(0xd6e8feb86659fd93);
	key->hash = NAME_HASH(hash);
}

uint64_t
name_write(struct name *name, const struct name_key *key)
{
	name->generation = (name->generation + 1) & GENERATION;
	/* Release: pairs with the acquires of name_is. */
	store_release(&name->hash, key->hash);
	store_release(&name->length, key->length);
	for (size_t i = 0; i * NAME_WORD < key->length; i++)
		store_release(&name->text[i], name_word(key, i));
	for (int i = 0; i < NAME_COUNTS; i++)
		/* Relaxed: an adder of an older life fails by it, or before. */
		store_relaxed(&name->count[i],
			      (uint64_t)name->generation << COUNT_BITS);
	return (key->hash & ~GENERATION) | name->generation;
}

void
name_add(struct name *name, uint64_t mark, enum name_count which)
{
	/* Relaxed: a count publishes nothing; so below. */
	uint64_t seen = load_relaxed(&name->count[which]);

	do {
		if (seen >> COUNT_BITS != (mark & GENERATION))
			return;
	} while (!cas_relaxed(&name->count[which], &seen,
			      (seen & ~COUNT) | ((seen + 1) & COUNT)));
}

uint64_t
name_read(struct name *name, uint64_t mark, enum name_count which)
{
	/* Relaxed: as above. */
	uint64_t seen = load_relaxed(&name->count[which]);

	return seen >> COUNT_BITS == (mark & GENERATION) ? seen & COUNT : 0;
}

uint32_t
name_page_class(size_t length)
{
	size_t pages = ceil_div(length, LEND_PAGE);

	return 1 + (pages > 1 ?
		    64 - (uint32_t)__builtin_clzll(pages - 1) : 0);
}

size_t
name_class_bytes(uint32_t size_class)
{
	return size_class ? LEND_PAGE << (size_class - 1) : 0;
}
