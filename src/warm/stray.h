/* SPDX-License-Identifier: MIT */
/*
 * Strays: ids with fills in flight that left the list so long ago that the
 * pool's value knows them no more.  There may be any number of them.
 *
 * They are leaves of a binary trie over the bits of their ids' hashes, the
 * highest differing bit first, so it is never deeper than 64.  Leaves of
 * one hash are chained.
 *
 *   root --> [ bit 61 ] --> [ bit 7 ] --> [ id, fills in flight ]
 *                  |              +-----> [ id, ... ] -> [ id, same hash ]
 *                  +------> [ id, ... ]
 *
 * The trie is persistent: what can be reached from a root does not change.  A
 * change copies the nodes from the root to the leaf, and names a new root,
 * which becomes true when the pool's value that holds it is installed.  Then
 * the old path is given back, else the new one (pool.c).  Nodes are
 * type-stable: who walks an old root may meet nodes that have a new life, and
 * so a walk is bounded, and is believed only when the pool's root has not
 * moved since.  So all fields are atomic.
 */
#ifndef LEND_WARM_STRAY_H
#define LEND_WARM_STRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "sync/registry.h"
#include "warm/name.h"

#define STRAY_BYTES 64
#define STRAY_LEAF 64		/* in place of a bit's number */

struct stray {
	struct node node;
	/*
	 * Written by who owns it; acquired by whoever walks.  A field means
	 * the same in all lives of a node, so that a pointer never leads to
	 * something else; `bit` is written last.
	 */
	_Atomic(uint32_t) bit;		/* of a branch: 0 .. 63 */
	_Atomic(uint32_t) in_flight;	/* the rest of a leaf: > 0 */
	_Atomic(uint64_t) hash;
	_Atomic(uint64_t) mark;
	_Atomic(uint64_t) claims;
	_Atomic(struct name *) name;	/* not null in a leaf */
	_Atomic(struct stray *) zero;	/* sides of a branch */
	_Atomic(struct stray *) one;	/* leaf: the next one of its hash */
};

/* Nodes that one change copies: a path, and a chain of one hash. */
#define STRAY_PATH 192

struct stray_change {
	uint32_t made, dropped;
	struct stray *fresh[STRAY_PATH];	/* given back if it fails */
	struct stray *old[STRAY_PATH];	/* given back if it succeeds */
};

/* Where nodes come from; null: no memory. */
typedef struct stray *stray_source(void *ctx);

/* The leaf of the id, or null. */
struct stray *stray_find(struct stray *root, const struct name_key *key);

/*
 * What a leaf holds.  in_flight 0: the leaf goes.
 */
struct stray_leaf {
	struct name *name;
	uint64_t hash, mark, claims;
	uint32_t in_flight;
};

struct stray_leaf stray_read(const struct stray *leaf);

/*
 * Puts the leaf into the trie at *root, in the place of the one of the same
 * name, or takes that one out; *root is then the new one.  What was made and
 * what was left is in *change, also after an error.
 * Errors: -ENOMEM, -EAGAIN (the walk met too many nodes: the root is stale, or
 * there are more than a hundred ids of one hash).
 */
int stray_put(struct stray **root, const struct stray_leaf *leaf,
	      struct stray_change *change, stray_source *source, void *ctx);

#endif
