/* SPDX-License-Identifier: MIT */
/*
 * The text of a contraction, "abcd,aebf->dfce", as numbers.
 *
 * Labels are numbered in the order in which they first stand in the text;
 * an operand is the list of its labels' numbers.
 */
#ifndef LEND_CONTRACT_EINSUM_H
#define LEND_CONTRACT_EINSUM_H

#include <stddef.h>
#include <stdint.h>

#include <lend/contract.h>

enum operand { OPERAND_A, OPERAND_B, OPERAND_C, OPERANDS };

struct einsum {
	size_t labels;			/* how many different ones */
	uint32_t point[LEND_MAX_RANK];	/* label -> its code point */
	struct {
		size_t rank;
		uint8_t label[LEND_MAX_RANK];
	} of[OPERANDS];
};

/* -EINVAL with *why filled: see lend_plan_create(). */
int einsum_parse(struct einsum *einsum, const char *text,
		 struct lend_error *why);

/*
 * The label at text[*at], spaces skipped: its code point and its bytes, 0
 * where the text ends or something else than a label stands.
 */
int einsum_next(const char *text, size_t *at, uint32_t *point, size_t *bytes,
		struct lend_error *why);

/* Steps over `what`, which must be there; `where` is for the message. */
int einsum_expect(const char *text, size_t *at, const char *what,
		  const char *where, struct lend_error *why);

/* A label in UTF-8, for messages. */
struct label_text {
	char utf8[5];
};

struct label_text label_text(uint32_t point);

/* "the first operand", "the second operand", "the output". */
const char *operand_name(enum operand which);

#endif
