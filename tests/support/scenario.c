/* SPDX-License-Identifier: MIT */
#include "support/scenario.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "lend/lend.h"
#include "support/pattern.h"

#define KIB ((size_t)1024)
#define MEMBERS 3

static const struct lend_req little = {
	.a_bytes = 5 * KIB, .tile_bytes = 3 * KIB, .worker_scatter = 100,
	.team_scatter = 100, .barriers = 2
};
static const struct lend_req large = {
	.a_bytes = 50 * KIB, .tile_bytes = 30 * KIB, .worker_scatter = 5000,
	.team_scatter = 5000, .barriers = 200
};

struct play {
	struct transcript *transcript;
	lend_arena *arena;
	pthread_barrier_t meeting;	/* of the members and the main thread */
	int error[MEMBERS];	/* the sum of what the members' calls gave */
};

struct member {
	struct play *play;
	size_t index;
	pthread_t thread;
};

static void
meet(struct play *play)
{
	pthread_barrier_wait(&play->meeting);
}

static __attribute__((format(printf, 2, 3))) void
write_down(struct transcript *to, const char *format, ...)
{
	size_t room = sizeof(to->text) - to->length;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(to->text + to->length, room, format, args);
	va_end(args);
	if (n > 0)
		to->length += (size_t)n < room ? (size_t)n : room - 1;
}

/* A step's result, and everything that the arena tells of itself after it. */
static void
step(struct play *play, const char *what, int result)
{
	struct lend_stats s = { 0 };
	int error = lend_arena_stats(play->arena, &s);

	play->transcript->protocol = s.protocol;
	write_down(play->transcript, "%s: %d\n", what, result);
	write_down(play->transcript, "  %d bytes %zu %zu %zu of %zu\n", error,
		   s.retained_bytes, s.leased_bytes, s.panel_bytes,
		   s.limit_bytes);
	write_down(play->transcript, "  slots %zu %zu sets %zu %zu\n",
		   s.slots_idle, s.slots_out, s.sets_idle, s.sets_out);
	write_down(play->transcript, "  buffers %zu %zu of %zu bytes\n",
		   s.buffers_idle, s.buffers_out, s.buffer_bytes);
	write_down(play->transcript, "  counts %llu %llu %llu %llu %llu\n",
		   (unsigned long long)s.growths,
		   (unsigned long long)s.reentrant,
		   (unsigned long long)s.abandoned,
		   (unsigned long long)s.adopted,
		   (unsigned long long)s.trims);
}

static void
play_worker(struct play *play)
{
	lend_arena *arena = play->arena;
	struct lend_worker loan, nested;
	bool whole;

	step(play, "trim of nothing", lend_arena_trim(arena));
	step(play, "checkout", lend_worker_checkout(arena, &little, &loan));
	pattern_write(loan.a, little.a_bytes, 1);
	step(play, "trim while lent", lend_arena_trim(arena));
	step(play, "nested", lend_worker_checkout(arena, &large, &nested));
	step(play, "trim", lend_arena_trim(arena));
	step(play, "destroy", lend_arena_destroy(arena));
	step(play, "resize", lend_worker_scatter_resize(arena, &loan, 5000));
	step(play, "trim", lend_arena_trim(arena));
	whole = pattern_holds(loan.a, little.a_bytes, 1);
	step(play, "content", whole);
	step(play, "return", lend_worker_return(arena, &loan));
	step(play, "return again", lend_worker_return(arena, &loan));
	step(play, "nested return", lend_worker_return(arena, &nested));
	step(play, "growth", lend_worker_checkout(arena, &large, &loan));
	step(play, "return", lend_worker_return(arena, &loan));
	step(play, "trim", lend_arena_trim(arena));
	step(play, "regrowth", lend_worker_checkout(arena, &little, &loan));
	pattern_write(loan.a, little.a_bytes, 2);
	step(play, "return", lend_worker_return(arena, &loan));
}

static void
play_team(struct play *play)
{
	lend_arena *arena = play->arena;
	struct lend_team lease, other;

	step(play, "take", lend_team_take(arena, &little, 2, 2, &lease));
	step(play, "panel", lend_team_panel(arena, &lease, 20 * KIB));
	step(play, "other", lend_team_take(arena, &large, 1, 1, &other));
	step(play, "trim", lend_arena_trim(arena));
	step(play, "resize", lend_team_scatter_resize(arena, &lease, 9000));
	step(play, "return", lend_team_return(arena, &lease));
	step(play, "return again", lend_team_return(arena, &lease));
	step(play, "trim", lend_arena_trim(arena));
	step(play, "return other", lend_team_return(arena, &other));
	step(play, "trim", lend_arena_trim(arena));
}

static void
play_buffers(struct play *play)
{
	lend_arena *arena = play->arena;
	void *buffer = NULL, *other = NULL;
	size_t bytes = 0;

	step(play, "borrow", lend_buffer_borrow(arena, 50 * KIB, &buffer));
	pattern_write(buffer, 50 * KIB, 3);
	step(play, "other", lend_buffer_borrow(arena, 9 * KIB, &other));
	step(play, "give back", lend_buffer_return(other));
	step(play, "give back again", lend_buffer_return(other));
	step(play, "less", lend_buffer_borrow(arena, 8 * KIB, &other));
	step(play, "trim", lend_arena_trim(arena));
	step(play, "destroy", lend_arena_destroy(arena));
	step(play, "content", pattern_holds(buffer, 50 * KIB, 3));
	step(play, "capacity", lend_buffer_capacity(buffer, &bytes));
	step(play, "which is", (int)bytes);
	step(play, "too much", lend_buffer_borrow(arena, SIZE_MAX, &other));
	step(play, "give back", lend_buffer_return(other));
	step(play, "give back", lend_buffer_return(buffer));
	step(play, "trim", lend_arena_trim(arena));
	step(play, "regrowth", lend_buffer_borrow(arena, 50 * KIB, &buffer));
	step(play, "give back", lend_buffer_return(buffer));
	step(play, "trim", lend_arena_trim(arena));
}

/* Together with the others, in the order that the barriers dictate. */
static void *
member_main(void *arg)
{
	const struct member *member = arg;
	struct play *play = member->play;
	size_t index = member->index;
	struct lend_worker loan, nested;
	void *buffer;
	int *error = &play->error[index];

	*error = lend_worker_checkout(play->arena, &large, &loan);
	*error += lend_buffer_borrow(play->arena, 8 * KIB, &buffer);
	pattern_write(loan.a, large.a_bytes, index);
	meet(play);	/* all have one: the main thread looks */
	meet(play);
	*error += !pattern_holds(loan.a, large.a_bytes, index);
	*error += lend_worker_return(play->arena, &loan);
	*error += lend_buffer_return(buffer);
	meet(play);	/* none has one: it trims */
	meet(play);
	*error += lend_worker_checkout(play->arena, &little, &loan);
	*error += lend_worker_checkout(play->arena, &little, &nested);
	/* Two are left out. */
	return NULL;
}

static void
play_threads(struct play *play)
{
	struct member member[MEMBERS];

	pthread_barrier_init(&play->meeting, NULL, MEMBERS + 1);
	for (size_t i = 0; i < MEMBERS; i++) {
		member[i] = (struct member){ .play = play, .index = i };
		write_down(play->transcript, "thread: %d\n",
			   pthread_create(&member[i].thread, NULL, member_main,
					  &member[i]));
	}
	meet(play);
	step(play, "all lent", 0);
	step(play, "trim of lent ones", lend_arena_trim(play->arena));
	meet(play);
	meet(play);
	step(play, "all idle", 0);
	step(play, "trim of idle ones", lend_arena_trim(play->arena));
	meet(play);
	for (size_t i = 0; i < MEMBERS; i++)
		pthread_join(member[i].thread, NULL);
	pthread_barrier_destroy(&play->meeting);
	for (size_t i = 0; i < MEMBERS; i++)
		step(play, "member", play->error[i]);
}

/* Growth that has to trim what threads of the past have left. */
static void
play_limit(struct play *play)
{
	struct lend_req all = { .a_bytes = 512 * KIB };
	struct lend_req more = { .a_bytes = 1024 * KIB };
	struct lend_worker loan;

	step(play, "growth", lend_worker_checkout(play->arena, &all, &loan));
	step(play, "nested", lend_worker_return(play->arena, &loan));
	step(play, "too much", lend_worker_checkout(play->arena, &more,
						    &loan));
	step(play, "enough", lend_worker_checkout(play->arena, &all, &loan));
	step(play, "return", lend_worker_return(play->arena, &loan));
}

static void
play_all(struct transcript *transcript, size_t limit)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	struct play play = { .transcript = transcript };

	options.limit = limit;
	write_down(transcript, "create: %d\n",
		   lend_arena_create(&play.arena, &options));
	play_worker(&play);
	play_team(&play);
	play_buffers(&play);
	play_threads(&play);
	play_threads(&play);
	play_limit(&play);
	write_down(transcript, "destroy: %d\n",
		   lend_arena_destroy(play.arena));
}

void
scenario_play(struct transcript *transcript)
{
	transcript->length = 0;
	play_all(transcript, 0);
	play_all(transcript, 560 * KIB);
}
