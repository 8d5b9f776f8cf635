/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* RUSAGE_THREAD */
#endif
#include "tools/load_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/clock.h"

static bool
stopped(const struct run *run)
{
	/* Relaxed: any time soon will do. */
	return atomic_load_explicit(&run->stop, memory_order_relaxed);
}

static void
fail(struct run *run, const struct load_case *c, int error,
     const struct lend_error *why)
{
	pthread_mutex_lock(&run->lock);
	if (!run->error) {
		run->error = error;
		run->file = c->file;
		run->why = *why;
	}
	pthread_mutex_unlock(&run->lock);
	/* Relaxed: it is looked at again and again. */
	atomic_store_explicit(&run->stop, true, memory_order_relaxed);
}

/* Requests. */

static int
request_into(const struct run *run, const struct lender *lender,
	     const struct load_case *c, void *result, struct lend_error *why)
{
	struct lend_network_call call = {
		.operands = c->data.operand, .output = result
	};

	return lender_execute_network(lender, c->network,
				      &run->load->threads.exec, &call, why);
}

static int
request(const struct run *run, const struct lender *lender,
	const struct load_case *c, struct lend_error *why)
{
	void *result;
	int error = lender_borrow(lender, c->result_bytes, &result);

	if (error) {
		snprintf(why->text, sizeof why->text, "the result's %zu bytes: "
			 "%s", c->result_bytes, strerror(-error));
		return error;
	}
	error = request_into(run, lender, c, result, why);
	lender_give_back(lender, result);
	return error;
}

/*
 * What the limit refuses is counted, and the next one made; any other error
 * ends the run.  Returns whether there was none.
 */
static bool
went_well(struct client *client, const struct load_case *c, int error,
	  const struct lend_error *why)
{
	if (error == -EDQUOT)
		client->refused++;
	else if (error)
		fail(client->run, c, error, why);
	return !error;
}

/* One request, for which the client has waited since `begin`. */
static bool
request_counted(struct client *client, const struct lender *lender,
		const struct load_case *c, double begin)
{
	struct lend_error why = { "" };
	int error = request(client->run, lender, c, &why);

	if (!went_well(client, c, error, &why))
		return false;
	latency_add(&client->latency, now_seconds() - begin);
	client->flops += c->flops;
	/* Relaxed: a count for the eye. */
	atomic_fetch_add_explicit(&client->done, 1, memory_order_relaxed);
	return true;
}

/* Sessions. */

static uint64_t
faults_of_thread(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_minflt;
}

/* Whether an open or close went well. */
static bool
session_went_well(struct client *client, const struct load_case *c, int error)
{
	struct lend_error why = { "" };

	if (error)
		snprintf(why.text, sizeof why.text, "a session's workspace: "
			 "%s", strerror(-error));
	return went_well(client, c, error, &why);
}

/* The first one from `begin` on, when the thread had so many faults. */
static void
requests(struct client *client, const struct load_session *session,
	 const struct load_case *c, size_t most, double begin, uint64_t faults)
{
	struct load_first *first = session->warm ? &client->warm :
						   &client->cold;

	if (request_counted(client, &session->lender, c, begin)) {
		latency_add(&first->latency, now_seconds() - begin);
		first->faults += faults_of_thread() - faults;
	}
	for (size_t i = 1; i < most && !stopped(client->run); i++)
		request_counted(client, &session->lender, c, now_seconds());
}

/* Of `most` requests. */
static void
session(struct client *client, const struct load_case *c, size_t most)
{
	struct load_sessions *sessions = &client->run->sessions;
	uint64_t faults = faults_of_thread();
	double begin = now_seconds();
	struct load_session session;

	if (!session_went_well(client, c,
			       load_session_open(sessions, c, &session)))
		return;
	requests(client, &session, c, most, begin, faults);
	session_went_well(client, c,
			  load_session_close(sessions, c, &session,
					     &client->growths,
					     &client->retained));
}

/* All of it. */

/* A session of `most` requests, or a request. */
static void
ask(struct client *client, const struct load_case *c, size_t most)
{
	if (client->run->load->options->session)
		session(client, c, most);
	else
		request_counted(client, &client->run->lender, c,
				now_seconds());
}

static void
warm_up(struct client *client)
{
	const struct load *load = client->run->load;

	for (size_t i = 0; i < load->options->files_count; i++)
		ask(client, &load->cases[i], 1);
	/* Relaxed: a count for the eye. */
	atomic_store_explicit(&client->done, 0, memory_order_relaxed);
	client->flops = 0;
	client->refused = 0;
	memset(&client->latency, 0, sizeof client->latency);
	memset(&client->cold, 0, sizeof client->cold);
	memset(&client->warm, 0, sizeof client->warm);
	client->growths = 0;
	client->retained = 0;
}

void *
client_main(void *ctx)
{
	struct client *client = ctx;
	struct run *run = client->run;
	size_t count = run->load->options->files_count, i = client->number;

	warm_up(client);
	pthread_barrier_wait(&run->barrier);
	pthread_barrier_wait(&run->barrier);
	while (!stopped(run))
		ask(client, &run->load->cases[i++ % count],
		    run->load->options->session);
	return NULL;
}
