/* SPDX-License-Identifier: MIT */
#include "tools/lenders.h"

#include <errno.h>
#include <string.h>

#include <lend/buffer.h>

static const char *const names[] = {
	[LENDER_LEND] = "lend", [LENDER_MUTEX] = "mutex",
	[LENDER_MALLOC] = "malloc",
};

bool
lender_parse(enum lender_kind *kind, const char *name)
{
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(name, names[i]))
			continue;
		*kind = (enum lender_kind)i;
		return true;
	}
	return false;
}

const char *
lender_name(enum lender_kind kind)
{
	return names[kind];
}

int
lender_create(struct lender *lender, enum lender_kind kind, size_t limit)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;

	memset(lender, 0, sizeof *lender);
	lender->kind = kind;
	lender->table.size = sizeof lender->table;
	options.limit = limit;
	options.name = "lend";
	if (kind == LENDER_LEND)
		return lend_arena_create(&lender->arena, &options);
	lender->table.host = kind == LENDER_MUTEX
				     ? lender_mutex_create(&lender->table)
				     : lender_malloc_create(&lender->table);
	return lender->table.host ? 0 : -ENOMEM;
}

void
lender_destroy(struct lender *lender)
{
	if (lender->kind == LENDER_MUTEX)
		lender_mutex_destroy(lender->table.host);
	else if (lender->kind == LENDER_MALLOC)
		lender_malloc_destroy(lender->table.host);
	/* No loan is out, so it cannot be refused. */
	else if (lend_arena_destroy(lender->arena))
		return;
}

void
lender_counts(const struct lender *lender, struct lender_counts *counts)
{
	struct lend_stats stats = { 0 };

	counts->leased_bytes = 0;
	if (lender->kind == LENDER_MUTEX) {
		lender_mutex_counts(lender->table.host, counts);
		return;
	}
	if (lender->kind == LENDER_MALLOC) {
		lender_malloc_counts(lender->table.host, counts);
		return;
	}
	lend_arena_stats(lender->arena, &stats);
	counts->retained_bytes = stats.retained_bytes;
	counts->leased_bytes = stats.leased_bytes;
	counts->allocations = stats.growths;
}

int
lender_execute(const struct lender *lender, const lend_plan *plan,
	       const struct lend_exec *exec, const struct lend_call *call,
	       struct lend_error *why)
{
	if (lender->kind == LENDER_LEND)
		return lend_plan_execute(plan, lender->arena, exec, call, why);
	return lend_plan_execute_on(plan, &lender->table, exec, call, why);
}

int
lender_execute_network(const struct lender *lender,
		       const lend_network *network,
		       const struct lend_exec *exec,
		       const struct lend_network_call *call,
		       struct lend_error *why)
{
	if (lender->kind == LENDER_LEND)
		return lend_network_execute(network, lender->arena, exec,
					    call, why);
	return lend_network_execute_on(network, &lender->table, exec, call,
				       why);
}

int
lender_borrow(const struct lender *lender, size_t bytes, void **buffer)
{
	if (lender->kind == LENDER_LEND)
		return lend_buffer_borrow(lender->arena, bytes, buffer);
	return lender->table.buffer_borrow(lender->table.host, bytes, buffer);
}

void
lender_give_back(const struct lender *lender, void *buffer)
{
	if (lender->kind == LENDER_LEND)
		lend_buffer_return(buffer);
	else
		lender->table.buffer_return(lender->table.host, buffer);
}
