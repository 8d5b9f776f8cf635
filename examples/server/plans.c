/* SPDX-License-Identifier: MIT */
/*
 * One list, the plan that was taken last at its beginning, under one mutex.
 * Plans are made outside of it; of two threads that make the same one at once
 * the second gives its own up.
 */
#include "plans.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plans {
	size_t room;
	pthread_mutex_t lock;
	/* Under the lock, as are next and users of each plan. */
	struct plan *first;
	size_t count;
	unsigned long long made;	/* so far, for their names */
};

struct plans *
plans_create(size_t room)
{
	struct plans *plans = calloc(1, sizeof *plans);

	if (!plans)
		return NULL;
	plans->room = room;
	pthread_mutex_init(&plans->lock, NULL);
	return plans;
}

static void
destroy(struct plan *plan)
{
	if (!plan)
		return;
	lend_network_destroy(plan->network);
	free(plan);
}

void
plans_destroy(struct plans *plans)
{
	struct plan *next;

	if (!plans)
		return;
	for (struct plan *plan = plans->first; plan; plan = next) {
		next = plan->next;
		destroy(plan);
	}
	pthread_mutex_destroy(&plans->lock);
	free(plans);
}

/* ------------------------------------------------------------------------
 * Keys: bytes that are equal where the plans are.
 * ------------------------------------------------------------------------ */

static size_t
layout_size(const struct lend_layout *layout)
{
	return sizeof(size_t) + layout->rank * (sizeof *layout->extent +
						sizeof *layout->stride);
}

static size_t
key_size(const struct plans_key *key)
{
	size_t size = strlen(key->einsum) + 1 + 5 * sizeof(size_t) +
		      key->steps * sizeof *key->path;

	for (size_t i = 0; i < key->count; i++)
		size += layout_size(&key->operands[i]);
	return size + (key->output ? layout_size(key->output) : 0);
}

static unsigned char *
put(unsigned char *to, const void *from, size_t size)
{
	/* A scalar's extents may be null. */
	if (size > 0)
		memcpy(to, from, size);
	return to + size;
}

static unsigned char *
put_layout(unsigned char *to, const struct lend_layout *layout)
{
	size_t rank = layout->rank;

	to = put(to, &rank, sizeof rank);
	to = put(to, layout->extent, rank * sizeof *layout->extent);
	return put(to, layout->stride, rank * sizeof *layout->stride);
}

static void
key_write(const struct plans_key *key, unsigned char *to)
{
	size_t head[5] = {
		(size_t)key->type, key->count, key->output != NULL,
		key->path != NULL, key->steps,
	};

	to = put(to, head, sizeof head);
	to = put(to, key->path, key->steps * sizeof *key->path);
	to = put(to, key->einsum, strlen(key->einsum) + 1);
	for (size_t i = 0; i < key->count; i++)
		to = put_layout(to, &key->operands[i]);
	if (key->output)
		put_layout(to, key->output);
}

/* ------------------------------------------------------------------------
 * The list.  All under the lock.
 * ------------------------------------------------------------------------ */

/* Takes one that is like `model` off the list; null: there is none. */
static struct plan *
unlink_equal(struct plans *plans, const struct plan *model)
{
	for (struct plan **at = &plans->first; *at; at = &(*at)->next) {
		struct plan *plan = *at;

		if (plan->key_size != model->key_size ||
		    memcmp(plan->key, model->key, model->key_size))
			continue;
		*at = plan->next;
		plans->count--;
		return plan;
	}
	return NULL;
}

static void
link_first(struct plans *plans, struct plan *plan)
{
	plan->next = plans->first;
	plans->first = plan;
	plans->count++;
}

/* The oldest that nobody uses, if there are too many; else null. */
static struct plan *
unlink_surplus(struct plans *plans)
{
	struct plan **oldest = NULL, *plan;

	if (plans->count <= plans->room)
		return NULL;
	for (struct plan **at = &plans->first; *at; at = &(*at)->next)
		if ((*at)->users == 0)
			oldest = at;
	if (!oldest)
		return NULL;
	plan = *oldest;
	*oldest = plan->next;
	plans->count--;
	return plan;
}

/* Uses the one that is like `model`, or null. */
static struct plan *
find(struct plans *plans, const struct plan *model)
{
	struct plan *plan = unlink_equal(plans, model);

	if (!plan)
		return NULL;
	plan->users++;
	link_first(plans, plan);
	return plan;
}

int
plans_take(struct plans *plans, const struct plans_key *key,
	   struct plan **plan, int *found, struct lend_error *why)
{
	struct lend_network_options options = { sizeof options, NULL,
						key->output };
	size_t size = key_size(key);
	struct plan *own = calloc(1, sizeof *own + size);
	int error;

	if (!own) {
		strcpy(why->text, "no memory for a plan");
		return -ENOMEM;
	}
	own->key_size = size;
	own->users = 1;
	key_write(key, own->key);
	pthread_mutex_lock(&plans->lock);
	*plan = find(plans, own);
	pthread_mutex_unlock(&plans->lock);
	*found = *plan != NULL;
	if (*found) {
		destroy(own);
		return 0;
	}
	error = lend_network_create(&own->network, key->einsum, key->type,
				    key->count, key->operands, key->path,
				    key->steps, &options, why);
	if (error) {
		free(own);
		return error;
	}
	pthread_mutex_lock(&plans->lock);
	*plan = find(plans, own);
	if (!*plan) {
		snprintf(own->id, sizeof own->id, "%llu", plans->made++);
		link_first(plans, own);
		*plan = own;
		own = NULL;
	}
	pthread_mutex_unlock(&plans->lock);
	destroy(own);
	return 0;
}

void
plans_return(struct plans *plans, struct plan *plan)
{
	struct plan *surplus;

	pthread_mutex_lock(&plans->lock);
	plan->users--;
	surplus = unlink_surplus(plans);
	pthread_mutex_unlock(&plans->lock);
	destroy(surplus);
}

struct plan *
plans_find(struct plans *plans, const char *id)
{
	struct plan *plan;

	pthread_mutex_lock(&plans->lock);
	plan = plans->first;
	while (plan && strcmp(plan->id, id))
		plan = plan->next;
	if (plan)
		plan->users++;
	pthread_mutex_unlock(&plans->lock);
	return plan;
}
