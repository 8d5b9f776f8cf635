/* SPDX-License-Identifier: MIT */
/*
 * Plans of requests that were served, for those that are alike: the same text,
 * type, extents and order.  Any thread, any time.
 */
#ifndef EXAMPLES_SERVER_PLANS_H
#define EXAMPLES_SERVER_PLANS_H

#include <stddef.h>

#include <lend/network.h>

struct plans;

/* What a plan is made from. */
struct plans_key {
	const char *einsum;
	enum lend_type type;
	size_t count;
	const struct lend_layout *operands;
	const struct lend_layout *output;	/* or null */
	const struct lend_network_pair *path;	/* null: to be found */
	size_t steps;
};

/* Keeps `room` plans, and more only while they are used.  Null: no memory. */
struct plans *plans_create(size_t room);
/* None may be in use. */
void plans_destroy(struct plans *plans);

/* A plan that is used by somebody, or waits to be. */
struct plan {
	lend_network *network;
	/* A name that no other one has, nor had. */
	char id[24];
	/* The room's own. */
	struct plan *next;
	size_t users;
	size_t key_size;
	unsigned char key[];
};

/*
 * Finds the plan, else makes it; *found tells which.
 * Errors: those of lend_network_create(), with *why filled; -ENOMEM.
 */
int plans_take(struct plans *plans, const struct plans_key *key,
	       struct plan **plan, int *found, struct lend_error *why);
void plans_return(struct plans *plans, struct plan *plan);

/* The one of that name, which is then used by the caller as well; or null. */
struct plan *plans_find(struct plans *plans, const char *id);

#endif
