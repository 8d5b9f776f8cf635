/* SPDX-License-Identifier: MIT */
/* What the command line says. */
#ifndef EXAMPLES_SERVER_OPTIONS_H
#define EXAMPLES_SERVER_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

struct options {
	const char *listen;	/* an address of this machine */
	uint16_t port;		/* 0: any that is free */
	size_t limit;		/* of all memory lent, in bytes; 0: none */
	size_t max_body;	/* of a request, in bytes */
	size_t connections;	/* served at once */
	size_t io;		/* threads that read and write */
	size_t workers;		/* contractions at once */
	size_t threads;		/* of the pool, that they share */
	size_t plans;		/* kept ready */
	size_t warm;		/* of them, with a prepared workspace; or 0 */
	size_t warm_bytes;	/* of each such workspace, at most */
	size_t timeout;		/* seconds that a client may be silent */
	size_t min_rate;	/* bytes per second that it sends of a body */
	size_t grace;		/* seconds to finish at the end */
	double max_flops;	/* of a request */
	size_t max_operands;	/* of a request */
};

/* Ends the process on --help, and with status 2 on what it cannot use. */
void options_parse(struct options *options, int argc, char **argv);

#endif
