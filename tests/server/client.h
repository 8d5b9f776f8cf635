/* SPDX-License-Identifier: MIT */
/*
 * A client over plain sockets: what it sends is known to the byte.  Any number
 * of threads, each with its own.
 */
#ifndef TESTS_SERVER_CLIENT_H
#define TESTS_SERVER_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that become more; zeroes are empty. */
struct text {
	char *bytes;	/* a zero follows them */
	size_t size;
	size_t room;
};

void text_add(struct text *text, const void *bytes, size_t size);
void text_print(struct text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void text_free(struct text *text);

/* A body of multipart/form-data. */
void form_field(struct text *form, const char *name, const void *bytes,
		size_t size);
void form_string(struct text *form, const char *name, const char *string);
/* Row-major numbers as a .npy file. */
void form_array(struct text *form, const char *name, size_t rank,
		const size_t *extent, const double *number);
void form_end(struct text *form);

/* The header of a POST of a body of so many bytes; 0: in chunks. */
void post_header(struct text *request, size_t size);
/* Header and body. */
void post(struct text *request, const struct text *form);

struct answer {
	unsigned status;
	struct text head;	/* all lines of it */
	struct text body;
};

/* -1: refused. */
int client_connect(uint16_t port);
/* False: the server has closed the connection. */
bool client_send(int fd, const void *bytes, size_t size);
bool client_receive(int fd, struct answer *answer);
/* Sends and receives; the connection must stay good. */
void client_ask(int fd, const struct text *request, struct answer *answer);
/* GET on a connection of its own. */
void client_get(uint16_t port, const char *path, struct answer *answer);
/* The one number of that metric, its labels included, as /metrics has it. */
double client_metric(uint16_t port, const char *name);
/* Asks again and again until it is that. */
void client_await(uint16_t port, const char *name, double least, double most);

/* A header field's value, until the thread's next call; null: there is none. */
const char *answer_field(const struct answer *answer, const char *name);
/* Numbers of the .npy body, which must have this shape. */
const double *answer_array(const struct answer *answer, size_t rank,
			   const size_t *extent);
void answer_free(struct answer *answer);

#endif
