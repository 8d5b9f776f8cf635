/* SPDX-License-Identifier: MIT */
/*
 * A server that contracts what its clients send, with memory that one arena
 * lends: the bodies, the results, and what contractions need meanwhile.
 *
 *   libmicrohttpd's threads    workers               pool
 *   body into buffers -------> plan, result, ------> execution
 *   result from its buffer <-- execute
 *
 * One limit bounds all of them together.  Nothing waits while it holds
 * memory: what does not fit is refused at once, and all of it given back.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <lend/lend.h>

#include "http.h"
#include "plans.h"
#include "queue.h"
#include "request.h"
#include "server.h"
#include "warm.h"
#include "work.h"

static int
say(const char *what, const char *why)
{
	fprintf(stderr, "lend-server: %s%s%s\n", what, why[0] ? ": " : "", why);
	return 1;
}

/* Whether all that was lent has come back. */
static int
settle(struct server *server)
{
	struct lend_stats stats;
	int error = lend_pool_destroy(server->pool);

	if (error)
		return say("the pool", strerror(-error));
	if (lend_arena_stats(server->arena, &stats) == 0 &&
	    (stats.leased_bytes || stats.buffers_out || stats.abandoned))
		say("the end", "not all loans were returned");
	error = lend_arena_destroy(server->arena);
	return error ? say("the arena", strerror(-error)) : 0;
}

static int
serve(struct server *server, const sigset_t *ends)
{
	struct message why;
	int which;

	if (!http_start(server, &why))
		return say(why.text, "");
	printf("lend-server: listening on %s port %u\n",
	       server->options.listen, http_port(server->http));
	fflush(stdout);
	sigwait(ends, &which);
	printf("lend-server: ending\n");
	fflush(stdout);
	http_quiesce(server->http);
	if (!metrics_await_idle(&server->metrics, server->options.grace))
		say("the end", "some requests were not finished");
	queue_end(server->queue);
	http_stop(server->http);
	return 0;
}

static int
with_warmth(struct server *server, const sigset_t *ends)
{
	int error = 0, status;

	if (server->options.warm)
		error = warm_create(&server->warm, server);
	if (error)
		return say("the warmer", strerror(-error));
	status = serve(server, ends);
	queue_end(server->queue);
	error = warm_destroy(server->warm, server->options.grace);
	return error ? say("the warmer", strerror(-error)) : status;
}

static int
with_memory(struct server *server, const sigset_t *ends)
{
	int status, error;

	server->plans = plans_create(server->options.plans);
	if (!server->plans)
		return say("no memory", "");
	error = queue_create(&server->queue, server->options.workers, work,
			     http_contracted);
	if (error) {
		plans_destroy(server->plans);
		return say("the workers", strerror(-error));
	}
	status = with_warmth(server, ends);
	queue_end(server->queue);
	queue_destroy(server->queue);
	plans_destroy(server->plans);
	return status;
}

static int
start(struct server *server, const sigset_t *ends)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	const struct options *o = &server->options;
	int status, end, error;

	options.limit = o->limit;
	if (o->limit)
		options.limit -= warm_places(o) * o->warm_bytes;
	options.name = "lend-server";
	error = lend_arena_create(&server->arena, &options);
	if (error)
		return say("an arena", strerror(-error));
	error = lend_pool_create(&server->pool, o->threads);
	if (!error)
		error = lend_exec_on_pool(&server->exec, server->pool,
					  o->threads);
	if (error)
		return say("a pool", strerror(-error));
	status = with_memory(server, ends);
	end = settle(server);
	return status ? status : end;
}

int
main(int argc, char **argv)
{
	static struct server server;
	sigset_t ends;
	int status;

	options_parse(&server.options, argc, argv);
	/* Before there are threads, which inherit it. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	metrics_init(&server.metrics);
	status = start(&server, &ends);
	metrics_destroy(&server.metrics);
	return status;
}
