/* SPDX-License-Identifier: MIT */
/*
 * NumPy's .npy files.
 *
 *   0      6      8           10 or 12             data
 *   | magic | version | length | dict ....... '\n' | elements ... | end
 *
 * Versions 1.0 (length of 2 bytes), 2.0 and 3.0 (4 bytes), all little endian.
 * The dict is Python source: {'descr': '<f8', 'fortran_order': False,
 * 'shape': (3, 4), }.  It is read by a parser of just that, which trusts
 * nothing: a file is either entirely as its header says or refused.
 *
 *   npy_header.c   the parser and its opposite
 *   npy_input.c    a file, mapped where it lies as this machine wants it
 *   npy_output.c   a file that appears whole or not at all
 *
 * Functions that return bool fill *why with what was wrong when that is false;
 * the file's name is for the caller to add.
 */
#ifndef LEND_TOOLS_NPY_H
#define LEND_TOOLS_NPY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include <lend/contract.h>

#include "tools/message.h"

struct npy_header {
	enum lend_type type;
	bool foreign;		/* the other byte order than this machine's */
	bool fortran;		/* the first index is the fastest */
	size_t rank;
	size_t extent[LEND_MAX_RANK];
	size_t count;		/* elements */
	size_t data;		/* bytes before the first of them */
};

/*
 * Reads the header of the file whose `size` bytes are at `bytes`, and checks
 * that the elements fill the rest of it exactly.
 */
bool npy_parse(struct npy_header *header, const void *bytes, size_t size,
	       struct message *why);

/*
 * How long the file is that begins with the `size` bytes, by its header; 0:
 * the header is not whole, or wrong.
 */
size_t npy_announced(const void *bytes, size_t size);

/*
 * Writes the elements, which lie at `from` as the header says, to `to` in this
 * machine's byte order.  `to` may be at or before `from` and overlap it.
 */
void npy_native(const struct npy_header *header, void *to, const void *from);

/* The most bytes that npy_format() writes. */
#define NPY_FORMAT_MAX ((size_t)(128 + 24 * LEND_MAX_RANK))

/*
 * Writes a header of version 1.0 for this machine's byte order, its length a
 * multiple of 64, and returns that.  Of `header`, type, fortran, rank and
 * extent count.
 */
size_t npy_format(const struct npy_header *header,
		  unsigned char bytes[NPY_FORMAT_MAX]);

/* count and the bytes of all elements, from rank and extent. */
bool npy_measure(struct npy_header *header, size_t *bytes,
		 struct message *why);

/* What lend calls the file's layout; *layout points into both arguments. */
void npy_layout(const struct npy_header *header,
		ptrdiff_t stride[LEND_MAX_RANK], struct lend_layout *layout);

struct npy_input {
	struct npy_header header;
	const void *data;	/* aligned to its elements' reals */
	bool mapped;		/* the file itself, not a copy */
	/* Private. */
	int fd;
	void *memory;
	size_t bytes;
	struct stat seen;
};

/* After false there is nothing to close. */
bool npy_open(struct npy_input *input, const char *path, struct message *why);
/* Whether the file is still what it was: after its elements were read. */
bool npy_unchanged(const struct npy_input *input, struct message *why);
void npy_close(struct npy_input *input);

/*
 * For tests: whether new files get a temporary name at once, as they do where
 * the file system has none without.
 */
extern bool npy_named;

struct npy_output {
	struct npy_header header;
	void *data;		/* aligned to 64 bytes, zeroes at first */
	/* Private. */
	int fd;
	void *memory;
	size_t bytes;
	char path[PATH_MAX];	/* the final name, links resolved */
	char directory[PATH_MAX];
	char temporary[PATH_MAX];	/* empty: the file has no name yet */
};

/*
 * Makes the file, without its name, and maps its elements for writing.  The
 * storage is there: no disk becomes full later.  After false there is nothing
 * to discard.
 */
bool npy_create(struct npy_output *output, const char *path,
		const struct npy_header *header, struct message *why);
/* Gives it its name, in place of what has it.  Then, or else, it is gone. */
bool npy_commit(struct npy_output *output, struct message *why);
void npy_discard(struct npy_output *output);

/* "f32", "f64", "cf32", "cf64". */
const char *type_name(enum lend_type type);
bool type_parse(enum lend_type *type, const char *name);
/* Of its reals: 4 or 8. */
size_t type_real_bytes(enum lend_type type);
bool type_is_complex(enum lend_type type);

#endif
