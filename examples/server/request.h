/* SPDX-License-Identifier: MIT */
/*
 * A request: the parts of its body, as they come in.
 *
 *   reading --last byte--> (queued --> contracted) --> answered
 *      \--wrong, too large, no memory: status is set, the buffers are back-->
 *
 * Every part is a field with a name of its own.  `einsum`, `path`, `alpha` and
 * `beta` are texts, `accumulate` is the array that the product is added to,
 * every other one is an operand, in the order in which they stand.
 *
 * One thread at a time works on a request: the one that reads and writes its
 * connection, and between queue_put() and the resumption a worker.
 */
#ifndef EXAMPLES_SERVER_REQUEST_H
#define EXAMPLES_SERVER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytes.h"
#include "tools/message.h"
#include "tools/npy.h"

struct server;

#define PART_NAME_MAX ((size_t)32)
#define PART_TEXT_MAX ((size_t)65536)

struct part {
	char name[PART_NAME_MAX];	/* as the client calls it */
	struct bytes body;		/* a text ends with a zero */
	bool text;
	/* Of an array that has come to its end. */
	struct npy_header header;
	ptrdiff_t stride[LEND_MAX_RANK];
	void *data;	/* in body, aligned, in this machine's order */
};

enum request_stage {
	REQUEST_READING,
	REQUEST_QUEUED,
	REQUEST_ANSWERED
};

enum request_target {
	REQUEST_CONTRACT,
	REQUEST_METRICS,
	REQUEST_HEALTH
};

struct request {
	struct server *server;
	enum request_target target;
	enum request_stage stage;
	double began;
	uint64_t announced;	/* bytes of the body; 0: not known */
	uint64_t received;
	double marked;		/* when its rate was looked at last */
	uint64_t received_then;

	unsigned status;	/* of the answer; 0: nothing is wrong yet */
	struct message why;	/* one line, unless it is 200 */

	struct bytes parts;	/* of struct part */
	size_t count;
	size_t operands;	/* of them */
	/* The answer, if it is 200. */
	unsigned char head[NPY_FORMAT_MAX];
	size_t head_size;
	struct bytes result;	/* empty: it is in the `accumulate` part */
	const void *data;
	size_t data_size;

	void *connection;	/* for http.c */
	void *post;
	struct request *next;	/* in the queue */
};

/* Returns false. */
bool request_refuse(struct request *request, unsigned status,
		    const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Refuses it for want of memory, for a negative errno value and how many
 * bytes were needed, for what.
 */
bool request_refuse_memory(struct request *request, int error, size_t needed,
			   const char *what);

/* Bytes of the part `name`, from its `offset` on; false: refused. */
bool request_take(struct request *request, const char *name, uint64_t offset,
		  const char *data, size_t size);

/* The body is complete; false: refused. */
bool request_end(struct request *request);

struct part *request_part(const struct request *request, size_t i);
/* The part of that name, or null. */
struct part *request_find(const struct request *request, const char *name);
bool part_is_operand(const struct part *part);

/* Returns the buffers that the answer does not lie in. */
void request_release_inputs(struct request *request);
/* Returns all buffers. */
void request_release(struct request *request);

#endif
