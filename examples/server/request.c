/* SPDX-License-Identifier: MIT */
#include "request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <lend/buffer.h>

#include "server.h"

/* More than comes in at once: it may have been counted and not been taken. */
#define IN_HAND ((size_t)1 << 20)

/*
 * An array of known length is lent its length / AHEAD^k, for the largest k that
 * holds what has come in: who falls silent holds less than AHEAD times what it
 * has sent.  Growing copies a third of the array in all, and has a quarter of
 * it out beside the whole.  With 2 it would be a whole one and a half.
 */
#define AHEAD ((size_t)4)
/* Whoever has sent less counts as having sent this. */
#define AT_FIRST ((size_t)16384)

/* ------------------------------------------------------------------------
 * Refusals
 * ------------------------------------------------------------------------ */

bool
request_refuse(struct request *request, unsigned status, const char *format,
	       ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(request->why.text, sizeof request->why.text, format, args);
	va_end(args);
	/* One line, whatever the client's names are made of. */
	for (char *p = request->why.text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	request->status = status;
	request_release(request);
	return false;
}

bool
request_refuse_memory(struct request *request, int error, size_t needed,
		      const char *what)
{
	struct lend_stats stats;

	if (error == -EOVERFLOW)
		return request_refuse(request, 400, "%s: beyond any address "
				      "space", what);
	if (error != -EDQUOT ||
	    lend_arena_stats(request->server->arena, &stats))
		return request_refuse(request, 503, "%s: no memory for %zu "
				      "bytes: %s", what, needed,
				      strerror(-error));
	return request_refuse(request, 503, "%s: over the memory limit: "
			      "needed %zu bytes, limit %zu, retained %zu, of "
			      "them lent %zu", what, needed,
			      stats.limit_bytes, stats.retained_bytes,
			      stats.leased_bytes);
}

/* ------------------------------------------------------------------------
 * Parts
 * ------------------------------------------------------------------------ */

struct part *
request_part(const struct request *request, size_t i)
{
	return (struct part *)(void *)request->parts.start + i;
}

struct part *
request_find(const struct request *request, const char *name)
{
	for (size_t i = 0; i < request->count; i++)
		if (!strcmp(request_part(request, i)->name, name))
			return request_part(request, i);
	return NULL;
}

bool
part_is_operand(const struct part *part)
{
	return !part->text && strcmp(part->name, "accumulate");
}

static bool
is_text(const char *name)
{
	return !strcmp(name, "einsum") || !strcmp(name, "alpha") ||
	       !strcmp(name, "beta") || !strcmp(name, "path");
}

/* No memory for so many bytes of the part. */
static bool
refuse_part(struct request *request, const struct part *part, int error,
	    size_t needed)
{
	char what[PART_NAME_MAX + 16];

	snprintf(what, sizeof what, "%s '%s'", part->text ? "field" : "array",
		 part->name);
	return request_refuse_memory(request, error, needed, what);
}

static bool
end_text(struct request *request, struct part *part)
{
	int error = bytes_grow(&part->body, request->server->arena, 1);

	if (error)
		return refuse_part(request, part, error, part->body.size + 1);
	if (part->body.size && memchr(part->body.start, 0, part->body.size))
		return request_refuse(request, 400, "field '%s': a zero byte",
				      part->name);
	part->body.start[part->body.size] = '\0';
	return true;
}

/*
 * Sees to it that the elements lie as a contraction wants them: they move to
 * where their file began if they are not aligned.
 */
static bool
end_array(struct request *request, struct part *part)
{
	struct bytes *body = &part->body;
	struct npy_header *header = &part->header;
	struct lend_layout layout;
	struct message why;
	unsigned char *from;

	if (!npy_parse(header, body->start, body->size, &why))
		return request_refuse(request, 400, "array '%s': %s",
				      part->name, why.text);
	from = body->start + header->data;
	part->data = from;
	if (header->data % type_real_bytes(header->type))
		part->data = body->start;
	if (header->foreign || part->data != from)
		npy_native(header, part->data, from);
	npy_layout(header, part->stride, &layout);
	return true;
}

static bool
end_part(struct request *request)
{
	struct part *part;

	if (request->count == 0)
		return true;
	part = request_part(request, request->count - 1);
	return (part->text ? end_text : end_array)(request, part);
}

static bool
begin_part(struct request *request, const char *name)
{
	size_t most = request->server->options.max_operands;
	struct part *part;
	int error;

	if (!end_part(request))
		return false;
	if (name[0] == '\0' || strlen(name) >= PART_NAME_MAX)
		return request_refuse(request, 400, "part %zu: its name has "
				      "not 1 to %zu bytes",
				      request->count + 1, PART_NAME_MAX - 1);
	if (request_find(request, name))
		return request_refuse(request, 400, "field '%s' stands twice",
				      name);
	error = bytes_grow(&request->parts, request->server->arena,
			   sizeof *part);
	if (error)
		return request_refuse_memory(request, error, sizeof *part,
					     "the list of parts");
	request->parts.size += sizeof *part;
	part = request_part(request, request->count++);
	memset(part, 0, sizeof *part);
	strcpy(part->name, name);
	part->text = is_text(name);
	/* Of all other names there is one part at most. */
	if (part_is_operand(part) && ++request->operands > most)
		return request_refuse(request, 400, "array '%s': more than "
				      "the %zu operands that are allowed",
				      name, most);
	return true;
}

/* ------------------------------------------------------------------------
 * Their bytes
 * ------------------------------------------------------------------------ */

/*
 * How much the whole part takes, if its header says so and no more than what
 * the client still sends; else 0: its buffer grows by what comes in.
 */
static size_t
foresee(const struct request *request, const struct part *part)
{
	uint64_t left = request->announced - request->received + IN_HAND;
	size_t total;

	if (part->text || request->announced < request->received)
		return 0;
	total = npy_announced(part->body.start, part->body.size);
	return total > part->body.size && total - part->body.size <= left
		? total : 0;
}

/* The bytes lent for `sent` bytes of an array of `total`. */
static size_t
share(size_t total, size_t sent)
{
	size_t least = sent > AT_FIRST ? sent : AT_FIRST;

	while (total / AHEAD >= least)
		total /= AHEAD;
	return total;
}

/* What an array takes, and what it grows from, while it moves. */
static size_t
at_most(size_t total)
{
	size_t from = total / AHEAD >= AT_FIRST ? total / AHEAD : 0;

	return lend_buffer_size(total) + lend_buffer_size(from);
}

/* Whether there would be room for so much, if nobody else had any. */
static bool
fits_alone(const lend_arena *arena, size_t bytes)
{
	struct lend_stats stats;

	return lend_arena_stats(arena, &stats) || stats.limit_bytes == 0 ||
	       bytes <= stats.limit_bytes;
}

/* Sees to room for `size` bytes more, and some ahead. */
static bool
make_room(struct request *request, struct part *part, size_t size)
{
	lend_arena *arena = request->server->arena;
	struct bytes *body = &part->body;
	size_t need = body->size + size, total = foresee(request, part);
	int error = 0;

	if (total && !fits_alone(arena, at_most(total)))
		return refuse_part(request, part, -EDQUOT, at_most(total));
	if (total)
		error = bytes_reserve(body, arena, share(total, need));
	if (!error)
		error = bytes_grow(body, arena, size);
	if (error)
		return refuse_part(request, part, error,
				   total ? at_most(total) : need);
	return true;
}

static bool
append(struct request *request, struct part *part, const char *data,
       size_t size)
{
	struct bytes *body = &part->body;

	if (size > body->capacity - body->size &&
	    !make_room(request, part, size))
		return false;
	memcpy(body->start + body->size, data, size);
	body->size += size;
	return true;
}

bool
request_take(struct request *request, const char *name, uint64_t offset,
	     const char *data, size_t size)
{
	struct part *part = NULL;

	if (request->count > 0)
		part = request_part(request, request->count - 1);
	/*
	 * The parser may report a part twice at its beginning.  No two have
	 * one name: what has come to nothing so far goes on.
	 */
	if (!part || strcmp(part->name, name) ||
	    (offset == 0 && part->body.size > 0)) {
		if (!begin_part(request, name))
			return false;
		part = request_part(request, request->count - 1);
	}
	if (size == 0)
		return true;
	if (part->text && size > PART_TEXT_MAX - part->body.size)
		return request_refuse(request, 400, "field '%s': more than "
				      "%zu bytes", part->name, PART_TEXT_MAX);
	return append(request, part, data, size);
}

bool
request_end(struct request *request)
{
	return end_part(request);
}

void
request_release_inputs(struct request *request)
{
	for (size_t i = 0; i < request->count; i++) {
		struct part *part = request_part(request, i);

		if (part->text || part_is_operand(part))
			bytes_release(&part->body);
	}
}

void
request_release(struct request *request)
{
	for (size_t i = 0; i < request->count; i++)
		bytes_release(&request_part(request, i)->body);
	request->count = 0;
	request->operands = 0;
	bytes_release(&request->parts);
	bytes_release(&request->result);
}
