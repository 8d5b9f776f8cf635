/* SPDX-License-Identifier: MIT */
/*
 * Requests that wait for a worker, first come, first served.  There is room
 * for all: each one is of another connection.
 */
#ifndef EXAMPLES_SERVER_QUEUE_H
#define EXAMPLES_SERVER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

struct queue;
struct request;

/*
 * Starts `workers` threads, each of which takes a request, calls `work` and
 * then `done` for it.  0, -ENOMEM or -EAGAIN.
 */
int queue_create(struct queue **queue, size_t workers,
		 void (*work)(struct request *request),
		 void (*done)(struct request *request));
/* Any thread.  False: it has ended, and nothing happened. */
bool queue_put(struct queue *queue, struct request *request);
/* Does all that waits, and ends the threads. */
void queue_end(struct queue *queue);
/* Frees what has ended.  Null is accepted. */
void queue_destroy(struct queue *queue);

#endif
