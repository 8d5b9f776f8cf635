/* SPDX-License-Identifier: MIT */
/* What clients send, and the arrays that they get. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/client.h"
#include "tools/npy.h"

#define BOUNDARY "5cf0c9fe"

void
text_add(struct text *text, const void *bytes, size_t size)
{
	if (text->room - text->size <= size) {
		text->room = 2 * text->room + size + 1;
		text->bytes = realloc(text->bytes, text->room);
		ck_assert_ptr_nonnull(text->bytes);
	}
	if (size > 0)
		memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
	text->bytes[text->size] = '\0';
}

void
text_print(struct text *text, const char *format, ...)
{
	char line[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	ck_assert(n >= 0 && (size_t)n < sizeof line);
	text_add(text, line, (size_t)n);
}

void
text_free(struct text *text)
{
	free(text->bytes);
	memset(text, 0, sizeof *text);
}

void
form_field(struct text *form, const char *name, const void *bytes, size_t size)
{
	text_print(form, "--" BOUNDARY "\r\nContent-Disposition: form-data; "
			 "name=\"%s\"\r\n\r\n", name);
	text_add(form, bytes, size);
	text_add(form, "\r\n", 2);
}

void
form_string(struct text *form, const char *name, const char *string)
{
	form_field(form, name, string, strlen(string));
}

void
form_array(struct text *form, const char *name, size_t rank,
	   const size_t *extent, const double *number)
{
	struct npy_header header = { .type = LEND_F64, .rank = rank };
	unsigned char head[NPY_FORMAT_MAX];
	struct text file = { 0 };
	size_t bytes;

	if (rank > 0)
		memcpy(header.extent, extent, rank * sizeof *extent);
	ck_assert(npy_measure(&header, &bytes, NULL));
	text_add(&file, head, npy_format(&header, head));
	text_add(&file, number, bytes);
	form_field(form, name, file.bytes, file.size);
	text_free(&file);
}

void
form_end(struct text *form)
{
	text_print(form, "--" BOUNDARY "--\r\n");
}

void
post_header(struct text *request, size_t size)
{
	text_print(request, "POST /contract HTTP/1.1\r\nHost: here\r\n"
			    "Content-Type: multipart/form-data; boundary="
			    BOUNDARY "\r\n");
	if (size > 0)
		text_print(request, "Content-Length: %zu\r\n\r\n", size);
	else
		text_print(request, "Transfer-Encoding: chunked\r\n\r\n");
}

void
post(struct text *request, const struct text *form)
{
	post_header(request, form->size);
	text_add(request, form->bytes, form->size);
}

const double *
answer_array(const struct answer *answer, size_t rank, const size_t *extent)
{
	struct npy_header header;
	struct message why;

	if (answer->status != 200)
		ck_abort_msg("%u: %s", answer->status, answer->body.bytes);
	if (!npy_parse(&header, answer->body.bytes, answer->body.size, &why))
		ck_abort_msg("no array: %s", why.text);
	ck_assert_int_eq(header.type, LEND_F64);
	ck_assert_uint_eq(header.rank, rank);
	for (size_t i = 0; i < rank; i++)
		ck_assert_uint_eq(header.extent[i], extent[i]);
	/* 128 bytes behind what realloc() gave: aligned. */
	ck_assert_uint_eq(header.data % sizeof(double), 0);
	return (const double *)(const void *)(answer->body.bytes +
					      header.data);
}
