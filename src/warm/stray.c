/* SPDX-License-Identifier: MIT */
#include "warm/stray.h"

#include <errno.h>
#include <stddef.h>

#include "base/assert.h"

/* The way from a root to where a leaf is or would be. */
struct path {
	uint32_t depth;
	struct stray *branch[STRAY_LEAF];
	struct stray *leaf;	/* the chain at its end; null: empty trie */
};

/* Where nodes of this change come from. */
struct maker {
	struct stray_change *change;
	stray_source *source;
	void *ctx;
};

/*
 * All reads of a walk acquire: they pair with the releases in make_...().  Who
 * reads a node's next life then sees, at his look at the pool's root, that it
 * has moved.
 */
static uint32_t
bit_of(const struct stray *stray)
{
	return load_acquire(&stray->bit);
}

static struct stray *
side_of(const struct stray *branch, uint64_t hash)
{
	return hash >> (bit_of(branch) & 63) & 1 ? load_acquire(&branch->one)
						 : load_acquire(&branch->zero);
}

static struct stray *
next_of(const struct stray *leaf)
{
	return load_acquire(&leaf->one);
}

/* False: deeper than any trie. */
static bool
descend(struct path *path, struct stray *root, uint64_t hash)
{
	struct stray *at = root;

	path->depth = 0;
	while (at && bit_of(at) != STRAY_LEAF) {
		if (path->depth == STRAY_LEAF)
			return false;
		path->branch[path->depth++] = at;
		at = side_of(at, hash);
	}
	path->leaf = at;
	return true;
}

struct stray *
stray_find(struct stray *root, const struct name_key *key)
{
	struct stray *at;
	struct path path;

	if (!root || !descend(&path, root, key->hash))
		return NULL;
	at = path.leaf;
	for (uint32_t i = 0; at && i < STRAY_PATH; i++) {
		if (bit_of(at) != STRAY_LEAF ||
		    load_acquire(&at->hash) != key->hash)
			return NULL;
		if (name_is(load_acquire(&at->name), key))
			return at;
		at = next_of(at);
	}
	return NULL;
}

struct stray_leaf
stray_read(const struct stray *leaf)
{
	struct stray_leaf read;

	read.name = load_acquire(&leaf->name);
	read.hash = load_acquire(&leaf->hash);
	read.mark = load_acquire(&leaf->mark);
	read.claims = load_acquire(&leaf->claims);
	read.in_flight = load_acquire(&leaf->in_flight);
	return read;
}

/* A new node, which nobody knows yet; *node is null where that failed. */
static int
make(const struct maker *maker, struct stray **node)
{
	struct stray_change *change = maker->change;

	*node = NULL;
	if (change->made == STRAY_PATH)
		return -EAGAIN;
	*node = maker->source(maker->ctx);
	if (!*node)
		return -ENOMEM;
	change->fresh[change->made++] = *node;
	return 0;
}

static int
make_leaf(const struct maker *maker, const struct stray_leaf *leaf,
	  struct stray *next, struct stray **made)
{
	int error = make(maker, made);

	if (error)
		return error;
	/* Releases: see the head of this file. */
	store_release(&(*made)->name, leaf->name);
	store_release(&(*made)->one, next);
	store_release(&(*made)->in_flight, leaf->in_flight);
	store_release(&(*made)->hash, leaf->hash);
	store_release(&(*made)->mark, leaf->mark);
	store_release(&(*made)->claims, leaf->claims);
	store_release(&(*made)->bit, STRAY_LEAF);
	return 0;
}

static int
make_branch(const struct maker *maker, uint32_t bit, uint64_t hash,
	    struct stray *here, struct stray *there, struct stray **made)
{
	bool one = hash >> bit & 1;
	int error = make(maker, made);

	if (error)
		return error;
	/* Releases: see the head of this file. */
	store_release(&(*made)->zero, one ? there : here);
	store_release(&(*made)->one, one ? here : there);
	store_release(&(*made)->bit, bit);
	return 0;
}

static int
drop(struct stray_change *change, struct stray *node)
{
	if (change->dropped == STRAY_PATH)
		return -EAGAIN;
	change->old[change->dropped++] = node;
	return 0;
}

/*
 * The chain of leaves without the one of the name, those before it copied.
 * Where there is none such, the chain itself.
 */
static int
chain_without(const struct maker *maker, struct stray *chain,
	      const struct name *name, struct stray **rest)
{
	struct stray *at = chain;
	uint32_t length = 0;
	int error = 0;

	while (at && load_acquire(&at->name) != name) {
		if (++length == STRAY_PATH)
			return -EAGAIN;
		at = next_of(at);
	}
	*rest = at ? next_of(at) : chain;
	if (!at)
		return 0;
	error = drop(maker->change, at);
	for (struct stray *copy = chain; copy != at && !error;
	     copy = next_of(copy)) {
		struct stray_leaf leaf = stray_read(copy);

		error = drop(maker->change, copy);
		if (!error)
			error = make_leaf(maker, &leaf, *rest, rest);
	}
	return error;
}

/* Copies the path's first `depth` branches, with another one at its end. */
static int
copy_path(const struct maker *maker, const struct path *path, uint32_t depth,
	  uint64_t hash, struct stray *end, struct stray **root)
{
	int error = 0;

	for (uint32_t i = depth; i-- > 0 && !error;) {
		struct stray *branch = path->branch[i];
		uint32_t bit = bit_of(branch) & 63;
		struct stray *other = side_of(branch,
					      hash ^ (uint64_t)1 << bit);

		error = drop(maker->change, branch);
		/* A branch with one side is none. */
		if (!error && end)
			error = make_branch(maker, bit, hash, end, other,
					    &end);
		else
			end = other;
	}
	*root = end;
	return error;
}

/* A leaf whose hash the trie has not: a branch where they differ first. */
static int
put_new(const struct maker *maker, struct path *path,
	const struct stray_leaf *leaf, struct stray *root,
	uint64_t differs, struct stray **new_root)
{
	uint32_t bit = 63 - (uint32_t)__builtin_clzll(differs), depth = 0;
	struct stray *made, *there, *end;
	int error;

	while (depth < path->depth && bit_of(path->branch[depth]) > bit)
		depth++;
	there = depth == 0 ? root : side_of(path->branch[depth - 1],
					    leaf->hash);
	error = make_leaf(maker, leaf, NULL, &made);
	if (!error)
		error = make_branch(maker, bit, leaf->hash, made, there, &end);
	if (!error)
		error = copy_path(maker, path, depth, leaf->hash, end,
				  new_root);
	return error;
}

int
stray_put(struct stray **root, const struct stray_leaf *leaf,
	  struct stray_change *change, stray_source *source, void *ctx)
{
	struct maker maker = { change, source, ctx };
	struct stray *chain;
	struct path path;
	uint64_t differs;
	int error;

	change->made = change->dropped = 0;
	if (!descend(&path, *root, leaf->hash))
		return -EAGAIN;
	if (!path.leaf && leaf->in_flight)
		return make_leaf(&maker, leaf, NULL, root);
	if (!path.leaf)
		return 0;
	differs = load_acquire(&path.leaf->hash) ^ leaf->hash;
	if (differs && leaf->in_flight == 0)
		return 0;
	if (differs)
		return put_new(&maker, &path, leaf, *root, differs, root);
	error = chain_without(&maker, path.leaf, leaf->name, &chain);
	if (!error && leaf->in_flight)
		error = make_leaf(&maker, leaf, chain, &chain);
	if (!error)
		error = copy_path(&maker, &path, path.depth, leaf->hash,
				  chain, root);
	return error;
}
