/* SPDX-License-Identifier: MIT */
#include "exec/dispatch.h"

#include <string.h>

#define WORD_BITS 64

size_t
dispatch_map_words(size_t width)
{
	return (width + WORD_BITS - 1) / WORD_BITS;
}

void
dispatch_reset(struct dispatch *dispatch)
{
	dispatch->idle = 0;
	dispatch->busy = 0;
	dispatch->guests = 0;
	memset(dispatch->idle_map, 0,
	       dispatch_map_words(dispatch->width) * sizeof(uint64_t));
	TAILQ_INIT(&dispatch->gangs);
	TAILQ_INIT(&dispatch->offers);
}

/* The idle worker with the lowest number, idle no more.  There is one. */
static struct worker *
take_idle(struct dispatch *dispatch)
{
	uint64_t *word = dispatch->idle_map;
	size_t number;

	while (*word == 0)
		word++;
	number = (size_t)(word - dispatch->idle_map) * WORD_BITS +
		(size_t)__builtin_ctzll(*word);
	*word &= *word - 1;
	dispatch->idle--;
	return &dispatch->workers[number];
}

static void
give_worker(struct dispatch *dispatch, struct work_queue *queue,
	    struct work *work)
{
	struct worker *worker = take_idle(dispatch);

	dispatch->busy++;
	worker->work = work;
	worker->index = work->index++;
	work->running++;
	if (--work->wanted == 0)
		TAILQ_REMOVE(queue, work, link);
	pthread_cond_signal(&worker->wake);
}

static size_t
free_seats(const struct dispatch *dispatch)
{
	return dispatch->width - dispatch->busy - dispatch->guests;
}

static bool
gang_can_go(const struct dispatch *dispatch, const struct work *gang)
{
	return gang->wanted <= dispatch->idle &&
	       gang->wanted <= free_seats(dispatch);
}

static bool
offers_get(const struct dispatch *dispatch)
{
	return dispatch->idle > 0 && free_seats(dispatch) > 0;
}

/* Restores the equations (2) and (3). */
static void
give_workers(struct dispatch *dispatch)
{
	struct work *work;

	while ((work = TAILQ_FIRST(&dispatch->gangs))) {
		if (!gang_can_go(dispatch, work))
			return;
		while (work->wanted)
			give_worker(dispatch, &dispatch->gangs, work);
	}
	while (offers_get(dispatch) && (work = TAILQ_FIRST(&dispatch->offers)))
		give_worker(dispatch, &dispatch->offers, work);
}

void
dispatch_idle(struct dispatch *dispatch, struct worker *worker)
{
	size_t number = (size_t)(worker - dispatch->workers);

	if (worker->work)
		dispatch->busy--;
	worker->work = NULL;
	dispatch->idle_map[number / WORD_BITS] |=
		UINT64_C(1) << number % WORD_BITS;
	dispatch->idle++;
	give_workers(dispatch);
}

void
dispatch_gang(struct dispatch *dispatch, struct work *gang)
{
	TAILQ_INSERT_TAIL(&dispatch->gangs, gang, link);
	give_workers(dispatch);
}

bool
dispatch_team(struct dispatch *dispatch, struct work *gang)
{
	if (!TAILQ_EMPTY(&dispatch->gangs) ||
	    gang->wanted - 1 > dispatch->idle ||
	    gang->wanted > free_seats(dispatch))
		return false;
	dispatch->guests++;
	gang->seated = true;
	gang->index++;
	if (--gang->wanted)
		dispatch_gang(dispatch, gang);
	return true;
}

void
dispatch_leave(struct dispatch *dispatch, struct work *gang)
{
	dispatch->guests--;
	gang->seated = false;
	give_workers(dispatch);
}

void
dispatch_offer(struct dispatch *dispatch, struct work *offer)
{
	TAILQ_INSERT_TAIL(&dispatch->offers, offer, link);
	give_workers(dispatch);
}

void
dispatch_withdraw(struct dispatch *dispatch, struct work *offer)
{
	if (offer->wanted)
		TAILQ_REMOVE(&dispatch->offers, offer, link);
	offer->wanted = 0;
}

static size_t
count_bits(const struct dispatch *dispatch)
{
	size_t bits = 0;

	for (size_t i = 0; i < dispatch_map_words(dispatch->width); i++)
		bits += (size_t)__builtin_popcountll(dispatch->idle_map[i]);
	return bits;
}

bool
dispatch_sound(const struct dispatch *dispatch)
{
	const struct work *head = TAILQ_FIRST(&dispatch->gangs);

	if (dispatch->idle != count_bits(dispatch) ||
	    dispatch->idle + dispatch->busy > dispatch->width ||
	    dispatch->busy + dispatch->guests > dispatch->width)
		return false;
	if (head)
		return !gang_can_go(dispatch, head);
	return TAILQ_EMPTY(&dispatch->offers) || !offers_get(dispatch);
}
