/* SPDX-License-Identifier: MIT */
#include "tools/load_session.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <lend/buffer.h>

#include "base/util.h"
#include "tools/load.h"

/* How long a workspace may take at the end, in ms. */
#define PATIENCE 60000

/* What the warmer's threads do.  The id is the file's name. */

static const struct load_case *
find(const struct load *load, const char *file)
{
	size_t i = 0;

	/* It is one of them. */
	while (strcmp(load->cases[i].file, file))
		i++;
	return &load->cases[i];
}

static int
request(const char *file, struct lend_req *req, void *ctx)
{
	const struct load_sessions *sessions = ctx;

	*req = find(sessions->load, file)->req;
	return 0;
}

/* The buffers of a request: of its result, and while that is out the rest. */
static int
rehearse(const char *file, lend_workspace *ws, void *ctx)
{
	const struct load_sessions *sessions = ctx;
	const struct load_case *c = find(sessions->load, file);
	lend_arena *arena = lend_workspace_arena(ws);
	void *result;
	int error = lend_buffer_borrow(arena, c->result_bytes, &result);

	if (error)
		return error;
	memset(result, 0, c->result_bytes);
	error = lend_network_warm(c->network, arena,
				  &sessions->load->threads.exec, NULL);
	lend_buffer_return(result);
	return error;
}

/* All of them. */

int
load_sessions_start(struct load_sessions *sessions, const struct load *load)
{
	const struct load_options *o = load->options;
	struct lend_warmer_options options = LEND_WARMER_OPTIONS_INIT;
	int error;

	memset(sessions, 0, sizeof *sessions);
	sessions->load = load;
	if (o->warm == 0)
		return 0;
	sessions->prepared = (struct lend_prepared){
		.size = sizeof sessions->prepared, .exec = load->threads.exec,
		.request = request, .rehearse = rehearse, .ctx = sessions,
		.limit = o->limit, .name = "prepared",
	};
	options.cap = o->files_count;
	options.target = o->warm;
	error = lend_prepared_use(&sessions->prepared, &options);
	if (!error)
		error = lend_warmer_create(&sessions->warmer, &options);
	return error;
}

/* Until all are there, or one has failed. */
static int
await_filled(const struct load_sessions *sessions, const char *file)
{
	static const struct timespec moment = { 0, 500000 };
	lend_warm_pool *pool = lend_warmer_pool(sessions->warmer);
	struct lend_warmer_stats all;
	struct lend_warm_stats one;
	int error;

	for (;;) {
		error = lend_warmer_stats(sessions->warmer, &all);
		if (error || all.failed || all.late)
			return error;
		error = lend_warm_pool_id_stats(pool, file, &one);
		/* -ENOENT: not begun yet. */
		if (error && error != -ENOENT)
			return error;
		if (!error && one.ready >= sessions->load->options->warm)
			return 0;
		nanosleep(&moment, NULL);
	}
}

int
load_sessions_fill(struct load_sessions *sessions)
{
	const struct load *load = sessions->load;
	int error = 0;

	for (size_t i = 0; sessions->warmer && !error &&
			   i < load->options->files_count; i++) {
		const char *file = load->cases[i].file;

		error = lend_warmer_refill(sessions->warmer, file);
		if (!error)
			error = await_filled(sessions, file);
	}
	return error;
}

int
load_sessions_end(struct load_sessions *sessions)
{
	return lend_warmer_destroy(sessions->warmer, PATIENCE);
}

/* One of them. */

static int
make_cold(const struct load_sessions *sessions, const struct load_case *c,
	  struct load_session *session)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;

	options.limit = sessions->load->options->limit;
	options.name = "cold";
	return lend_workspace_create(&session->workspace, &c->req, &options);
}

static int
claim(const struct load_sessions *sessions, const struct load_case *c,
      struct load_session *session)
{
	struct lend_stats stats;
	void *slot;
	int error = lend_warmer_claim(sessions->warmer, c->file, &slot);

	if (error)
		return error;
	session->workspace = slot;
	session->warm = true;
	error = lend_arena_stats(lend_workspace_arena(slot), &stats);
	session->growths = stats.growths;
	return error;
}

int
load_session_open(struct load_sessions *sessions, const struct load_case *c,
		  struct load_session *session)
{
	int error = -ENOENT;

	memset(session, 0, sizeof *session);
	if (sessions->warmer)
		error = claim(sessions, c, session);
	if (error == -ENOENT)
		error = make_cold(sessions, c, session);
	if (error)
		return error;
	session->lender.kind = LENDER_LEND;
	session->lender.arena = lend_workspace_arena(session->workspace);
	return 0;
}

int
load_session_close(struct load_sessions *sessions, const struct load_case *c,
		   struct load_session *session, uint64_t *growths,
		   size_t *retained)
{
	struct lend_stats stats;
	int error = lend_arena_stats(session->lender.arena, &stats);

	if (!error)
		error = lend_workspace_destroy(session->workspace);
	if (error)
		return error;
	*growths += stats.growths - session->growths;
	*retained = size_max(*retained, stats.retained_bytes);
	return sessions->warmer ?
		       lend_warmer_refill(sessions->warmer, c->file) : 0;
}
