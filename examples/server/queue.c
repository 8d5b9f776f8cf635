/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "request.h"

struct queue {
	void (*work)(struct request *request);
	void (*done)(struct request *request);
	pthread_mutex_t lock;
	pthread_cond_t more;
	/* Under the lock. */
	struct request *first;
	struct request **end;	/* where the next one is linked */
	bool ending;
	/* The creator's. */
	size_t started;
	pthread_t thread[];
};

/* Waits for one; null: it ends, and none is left. */
static struct request *
take(struct queue *queue)
{
	struct request *request;

	pthread_mutex_lock(&queue->lock);
	while (!queue->first && !queue->ending)
		pthread_cond_wait(&queue->more, &queue->lock);
	request = queue->first;
	if (request) {
		queue->first = request->next;
		if (!queue->first)
			queue->end = &queue->first;
	}
	pthread_mutex_unlock(&queue->lock);
	return request;
}

static void *
run(void *arg)
{
	struct queue *queue = arg;
	struct request *request;

	while ((request = take(queue))) {
		queue->work(request);
		queue->done(request);
	}
	return NULL;
}

int
queue_create(struct queue **made, size_t workers,
	     void (*work)(struct request *request),
	     void (*done)(struct request *request))
{
	struct queue *queue = calloc(1, sizeof *queue +
					workers * sizeof queue->thread[0]);
	int error;

	if (!queue)
		return -ENOMEM;
	queue->work = work;
	queue->done = done;
	queue->end = &queue->first;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->more, NULL);
	for (; queue->started < workers; queue->started++) {
		error = pthread_create(&queue->thread[queue->started], NULL,
				       run, queue);
		if (!error)
			continue;
		queue_end(queue);
		queue_destroy(queue);
		return -error;
	}
	*made = queue;
	return 0;
}

bool
queue_put(struct queue *queue, struct request *request)
{
	bool ending;

	request->next = NULL;
	pthread_mutex_lock(&queue->lock);
	ending = queue->ending;
	if (!ending) {
		*queue->end = request;
		queue->end = &request->next;
		pthread_cond_signal(&queue->more);
	}
	pthread_mutex_unlock(&queue->lock);
	return !ending;
}

void
queue_end(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->ending = true;
	pthread_cond_broadcast(&queue->more);
	pthread_mutex_unlock(&queue->lock);
	while (queue->started > 0)
		pthread_join(queue->thread[--queue->started], NULL);
}

void
queue_destroy(struct queue *queue)
{
	if (!queue)
		return;
	pthread_cond_destroy(&queue->more);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}
