/* SPDX-License-Identifier: MIT */
/*
 * Where the memory of contractions comes from, so that one can see what
 * each brings.
 *
 *   lend     an arena of the library
 *   mutex    lists of idle buffers under one mutex, which grow and stay
 *   malloc   aligned_alloc() and free(), loan by loan
 */
#ifndef LEND_TOOLS_LENDERS_H
#define LEND_TOOLS_LENDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/contract.h>
#include <lend/network.h>

enum lender_kind { LENDER_LEND, LENDER_MUTEX, LENDER_MALLOC };

bool lender_parse(enum lender_kind *kind, const char *name);
const char *lender_name(enum lender_kind kind);

struct lender {
	enum lender_kind kind;
	lend_arena *arena;		/* lend's, else null */
	struct lend_lender table;	/* the others' */
};

struct lender_counts {
	size_t retained_bytes;	/* held now, between loans */
	size_t leased_bytes;	/* of lend's arena: lent now */
	uint64_t allocations;	/* of buffers, so far */
};

/*
 * A ceiling of `limit` bytes (0: none) is for lend's arena alone.  Returns 0
 * or a negative errno value.
 */
int lender_create(struct lender *lender, enum lender_kind kind, size_t limit);
void lender_destroy(struct lender *lender);
void lender_counts(const struct lender *lender, struct lender_counts *counts);
int lender_execute(const struct lender *lender, const lend_plan *plan,
		   const struct lend_exec *exec, const struct lend_call *call,
		   struct lend_error *why);
int lender_execute_network(const struct lender *lender,
			   const lend_network *network,
			   const struct lend_exec *exec,
			   const struct lend_network_call *call,
			   struct lend_error *why);

/* A plain buffer: 0 or a negative errno value. */
int lender_borrow(const struct lender *lender, size_t bytes, void **buffer);
void lender_give_back(const struct lender *lender, void *buffer);

/* The two others.  Null: no memory. */
void *lender_mutex_create(struct lend_lender *table);
void lender_mutex_destroy(void *host);
void lender_mutex_counts(void *host, struct lender_counts *counts);
void *lender_malloc_create(struct lend_lender *table);
void lender_malloc_destroy(void *host);
void lender_malloc_counts(void *host, struct lender_counts *counts);

#endif
