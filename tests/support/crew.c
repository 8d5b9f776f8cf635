/* SPDX-License-Identifier: MIT */
#include "support/crew.h"

#include <check.h>

static void *
member_main(void *arg)
{
	struct crew_member *member = arg;
	struct crew *crew = member->crew;

	pthread_barrier_wait(&crew->start);
	crew->fn(member->index, crew->ctx);
	return NULL;
}

void
crew_start(struct crew *crew, size_t n, crew_fn *fn, void *ctx)
{
	ck_assert_uint_le(n, CREW_MAX);
	crew->n = n;
	crew->fn = fn;
	crew->ctx = ctx;
	pthread_barrier_init(&crew->start, NULL, (unsigned)n);
	pthread_barrier_init(&crew->step, NULL, (unsigned)n + 1);
	for (size_t i = 0; i < n; i++) {
		struct crew_member *member = &crew->member[i];

		member->crew = crew;
		member->index = i;
		ck_assert_int_eq(pthread_create(&member->thread, NULL,
						member_main, member), 0);
	}
}

void
crew_step(struct crew *crew)
{
	pthread_barrier_wait(&crew->step);
}

void
crew_join(struct crew *crew)
{
	for (size_t i = 0; i < crew->n; i++)
		ck_assert_int_eq(pthread_join(crew->member[i].thread, NULL),
				 0);
	pthread_barrier_destroy(&crew->start);
	pthread_barrier_destroy(&crew->step);
}

void
crew_run(size_t n, crew_fn *fn, void *ctx)
{
	struct crew crew;

	crew_start(&crew, n, fn, ctx);
	crew_join(&crew);
}
