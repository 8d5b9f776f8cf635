/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lend/warm.h>

#include "warm.h"

#define STATUS_USAGE 2

enum {
	OPT_LISTEN = 256, OPT_PORT, OPT_LIMIT, OPT_MAX_BODY, OPT_CONNECTIONS,
	OPT_IO, OPT_WORKERS, OPT_THREADS, OPT_PLANS, OPT_TIMEOUT, OPT_MIN_RATE,
	OPT_GRACE, OPT_MAX_FLOPS, OPT_MAX_OPERANDS, OPT_WARM, OPT_WARM_BYTES
};

static const struct argp_option table[] = {
	{ "listen", OPT_LISTEN, "ADDRESS", 0,
	  "Where to listen (default 127.0.0.1)", 0 },
	{ "port", OPT_PORT, "N", 0,
	  "The port (default 8080); 0: any that is free", 0 },
	{ "limit", OPT_LIMIT, "BYTES", 0,
	  "The most that is retained (default 1G); 0: no limit", 1 },
	{ "max-body", OPT_MAX_BODY, "BYTES", 0,
	  "The largest request (default 256M)", 1 },
	{ "max-flops", OPT_MAX_FLOPS, "N", 0,
	  "The most operations of a request (default 1e12)", 1 },
	{ "max-operands", OPT_MAX_OPERANDS, "N", 0,
	  "The most operands of a request (default 64)", 1 },
	{ "connections", OPT_CONNECTIONS, "N", 0,
	  "Connections served at once (default 128)", 1 },
	{ "plans", OPT_PLANS, "N", 0,
	  "Plans kept for requests to come (default 64); 0: none", 1 },
	{ "warm", OPT_WARM, "N", 0,
	  "Plans with a prepared workspace, those asked for last (default 0)",
	  1 },
	{ "warm-bytes", OPT_WARM_BYTES, "BYTES", 0,
	  "The most that each such workspace retains (default 16M)", 1 },
	{ "io", OPT_IO, "N", 0,
	  "Threads that read and write (default 2)", 2 },
	{ "workers", OPT_WORKERS, "N", 0,
	  "Contractions at once (default: the processors)", 2 },
	{ "threads", OPT_THREADS, "N", 0,
	  "Threads that they share (default: the processors)", 2 },
	{ "timeout", OPT_TIMEOUT, "SECONDS", 0,
	  "How long a client may be silent (default 30)", 3 },
	{ "min-rate", OPT_MIN_RATE, "BYTES", 0,
	  "The least that it sends of a body in a second, on average over "
	  "such a time (default 1K); 0: any", 3 },
	{ "grace", OPT_GRACE, "SECONDS", 0,
	  "How long the end waits for requests (default 30)", 3 },
	{ 0 },
};

/* A count with K, M, G or T behind it; false: no such thing. */
static bool
read_size(const char *text, size_t *size)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;

	errno = 0;
	*size = strtoull(text, &end, 10);
	if (errno || end == text || strspn(text, "0123456789") == 0)
		return false;
	if (!*end)
		return true;
	unit = strchr(units, *end);
	return unit && !end[1] &&
	       !__builtin_mul_overflow(*size, (size_t)1 << 10 *
					      (unit - units + 1), size);
}

static size_t
take_size(struct argp_state *state, const char *text, size_t least,
	  size_t most)
{
	size_t size;

	if (!read_size(text, &size) || size < least || size > most)
		argp_error(state, "'%s' is not a number from %zu to %zu", text,
			   least, most);
	return size;
}

static double
take_flops(struct argp_state *state, const char *text)
{
	char *end;
	double flops = strtod(text, &end);

	if (end == text || *end || !(flops > 0))
		argp_error(state, "'%s' is not a number above 0", text);
	return flops;
}

/* Something is left for all the rest. */
static void
check_share(struct argp_state *state, const struct options *o)
{
	size_t share = warm_places(o) * o->warm_bytes;

	if (o->limit && share >= o->limit)
		argp_error(state, "%zu workspaces of %zu bytes leave nothing "
			   "of a limit of %zu", warm_places(o), o->warm_bytes,
			   o->limit);
}

static error_t
take(int key, char *text, struct argp_state *state)
{
	const size_t any = SIZE_MAX / 2;
	struct options *o = state->input;

	switch (key) {
	case OPT_LISTEN:
		o->listen = text;
		return 0;
	case OPT_PORT:
		o->port = (uint16_t)take_size(state, text, 0, UINT16_MAX);
		return 0;
	case OPT_LIMIT:
		o->limit = take_size(state, text, 0, any);
		return 0;
	case OPT_MAX_BODY:
		o->max_body = take_size(state, text, 1, any);
		return 0;
	case OPT_MAX_FLOPS:
		o->max_flops = take_flops(state, text);
		return 0;
	case OPT_MAX_OPERANDS:
		o->max_operands = take_size(state, text, 1, 1024);
		return 0;
	case OPT_CONNECTIONS:
		o->connections = take_size(state, text, 1, 4096);
		return 0;
	case OPT_PLANS:
		o->plans = take_size(state, text, 0, 65536);
		return 0;
	case OPT_WARM:
		o->warm = take_size(state, text, 0, LEND_WARM_CAP_MAX);
		return 0;
	case OPT_WARM_BYTES:
		o->warm_bytes = take_size(state, text, 1, (size_t)1 << 40);
		return 0;
	case ARGP_KEY_END:
		check_share(state, o);
		return 0;
	case OPT_IO:
		o->io = take_size(state, text, 1, 64);
		return 0;
	case OPT_WORKERS:
		o->workers = take_size(state, text, 1, 1024);
		return 0;
	case OPT_THREADS:
		o->threads = take_size(state, text, 1, 1024);
		return 0;
	case OPT_TIMEOUT:
		o->timeout = take_size(state, text, 1, 86400);
		return 0;
	case OPT_MIN_RATE:
		o->min_rate = take_size(state, text, 0, any);
		return 0;
	case OPT_GRACE:
		o->grace = take_size(state, text, 0, 86400);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void
options_parse(struct options *options, int argc, char **argv)
{
	static const struct argp argp = {
		table, take, NULL,
		"Contracts tensors that HTTP clients send.\v"
		"POST /contract takes multipart/form-data: the einsum and the "
		"arrays as NumPy's .npy; GET /metrics and /healthz tell how "
		"it goes.  SIGTERM ends it when what was begun is done.",
		NULL, NULL, NULL,
	};
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	*options = (struct options){
		.listen = "127.0.0.1", .port = 8080, .limit = 1 << 30,
		.max_body = 256 << 20, .connections = 128, .io = 2,
		.workers = processors > 0 ? (size_t)processors : 1,
		.threads = processors > 0 ? (size_t)processors : 1,
		.plans = 64, .warm_bytes = 16 << 20, .timeout = 30,
		.min_rate = 1 << 10, .grace = 30, .max_flops = 1e12,
		.max_operands = 64,
	};
	argp_err_exit_status = STATUS_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, options);
}
