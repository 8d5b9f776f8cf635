/* SPDX-License-Identifier: MIT */
/*
 * Sessions: requests for one network, one after the other, in a workspace that
 * nobody else has.
 *
 *   open     claim a prepared one, or make one that is cold
 *            request, request, ..
 *   close    destroy it, and ask for another one to be prepared
 *
 * A prepared one has the loans of the network's request warm, its buffers and
 * its result.  The functions return 0 or a negative errno value.
 */
#ifndef LEND_TOOLS_LOAD_SESSION_H
#define LEND_TOOLS_LOAD_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/prepared.h>

#include "tools/lenders.h"

struct load;
struct load_case;

/* Any thread, but to start and end them. */
struct load_sessions {
	const struct load *load;
	struct lend_prepared prepared;
	lend_warmer *warmer;	/* null: all are cold */
};

/* One client's. */
struct load_session {
	lend_workspace *workspace;
	struct lender lender;	/* of its arena */
	bool warm;
	uint64_t growths;	/* of the arena, before it was claimed */
};

int load_sessions_start(struct load_sessions *sessions,
			const struct load *load);
/* Has workspaces prepared for each network, and waits for them. */
int load_sessions_fill(struct load_sessions *sessions);
/* No session is open.  -EBUSY: one is still being prepared. */
int load_sessions_end(struct load_sessions *sessions);

int load_session_open(struct load_sessions *sessions,
		      const struct load_case *c, struct load_session *session);
/*
 * Adds how often it grew since it was opened to *growths, and raises
 * *retained to the bytes that it had in the end.
 */
int load_session_close(struct load_sessions *sessions,
		       const struct load_case *c, struct load_session *session,
		       uint64_t *growths, size_t *retained);

#endif
