/* SPDX-License-Identifier: MIT */
/*
 * libmicrohttpd's threads read and write.  A request whose body is complete
 * leaves them: its connection is suspended until a worker is done with it, so
 * that a long contraction keeps nobody else waiting.
 *
 * The end: what is counted as in flight before the flag `quiet` was set may
 * still be queued; whoever is counted after it sees it, as both happen under
 * the lock of the metrics or beside it in that order.
 */
#include "http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "queue.h"
#include "request.h"
#include "server.h"

#define POST_BUFFER ((size_t)16384)
#define FORM "multipart/form-data"
/* Connections beyond the limit that are told so; more wait to be accepted. */
#define SPARE ((size_t)16)

struct http {
	struct server *server;
	struct MHD_Daemon *daemon;
	/*
	 * Set once by the thread that ends it.  Relaxed: a request that is
	 * counted in flight after the last one was gone comes after the lock
	 * under which that was seen, and so after the store.
	 */
	atomic_bool quiet;
};

/* ------------------------------------------------------------------------
 * Answers
 * ------------------------------------------------------------------------ */

static struct MHD_Response *
text_response(const char *text)
{
	return MHD_create_response_from_buffer(strlen(text), (void *)text,
					       MHD_RESPMEM_MUST_COPY);
}

static struct MHD_Response *
metrics_response(struct server *server)
{
	size_t length;
	char *text = metrics_text(&server->metrics, server->arena,
				  server->warm, &length);
	struct MHD_Response *response;

	if (!text)
		return NULL;
	response = MHD_create_response_from_buffer(length, text,
						   MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(text);
	return response;
}

/* The request's buffers outlive it: they go when it is completed. */
static struct MHD_Response *
array_response(struct request *request)
{
	const struct MHD_IoVec part[] = {
		{ request->head, request->head_size },
		{ request->data, request->data_size },
	};

	return MHD_create_response_from_iovec(part,
					      request->data_size ? 2 : 1,
					      NULL, NULL);
}

static struct MHD_Response *
refusal(struct request *request)
{
	size_t length = strlen(request->why.text);

	if (length + 1 == sizeof request->why.text)
		length--;
	strcpy(request->why.text + length, "\n");
	return text_response(request->why.text);
}

static struct MHD_Response *
response_of(struct request *request, const char **type)
{
	*type = "text/plain; charset=utf-8";
	if (request->status != 200)
		return refusal(request);
	switch (request->target) {
	case REQUEST_METRICS:
		*type = METRICS_TYPE;
		return metrics_response(request->server);
	case REQUEST_HEALTH:
		return text_response("ok\n");
	default:
		*type = "application/octet-stream";
		return array_response(request);
	}
}

static enum MHD_Result
answer(struct request *request)
{
	const char *type;
	struct MHD_Response *response = response_of(request, &type);
	bool contract = request->target == REQUEST_CONTRACT;
	enum MHD_Result result;

	/* Without memory for an answer the connection is closed. */
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	if (request->status == 503)
		MHD_add_response_header(response, "Retry-After", "1");
	if (request->status == 405)
		MHD_add_response_header(response, "Allow",
					contract ? "POST" : "GET, HEAD");
	if (atomic_load_explicit(&request->server->http->quiet,
				 memory_order_relaxed))
		MHD_add_response_header(response, "Connection", "close");
	request->stage = REQUEST_ANSWERED;
	result = MHD_queue_response(request->connection, request->status,
				    response);
	MHD_destroy_response(response);
	return result;
}

/* ------------------------------------------------------------------------
 * Bodies
 * ------------------------------------------------------------------------ */

static enum MHD_Result
take_part(void *cls, enum MHD_ValueKind kind, const char *key,
	  const char *filename, const char *type, const char *encoding,
	  const char *data, uint64_t offset, size_t size)
{
	(void)kind;
	(void)filename;
	(void)type;
	(void)encoding;
	return request_take(cls, key ? key : "", offset, data, size)
		? MHD_YES : MHD_NO;
}

/*
 * Whether it trickles: libmicrohttpd's timeout begins anew with each byte.  As
 * long as it may be silent it may also be slow; then it must have kept up.
 */
static bool
too_slow(struct request *request)
{
	const struct options *options = &request->server->options;
	double now = metrics_now(), past = now - request->marked;
	uint64_t came = request->received - request->received_then;

	if (past < (double)options->timeout)
		return false;
	request->marked = now;
	request->received_then = request->received;
	return (double)came < past * (double)options->min_rate;
}

/* False: enough of it; the connection is to be closed. */
static bool
read_body(struct request *request, const char *data, size_t size)
{
	size_t most = request->server->options.max_body;

	request->received += size;
	if (request->received / 2 > most || too_slow(request))
		return false;
	if (request->status)
		return true;
	if (request->received > most)
		request_refuse(request, 413, "the body has more than %zu "
			       "bytes", most);
	else if (MHD_post_process(request->post, data, size) == MHD_NO &&
		 !request->status)
		request_refuse(request, 400, "the body is not %s, at one of "
			       "its bytes from %llu on", FORM,
			       (unsigned long long)(request->received - size));
	return true;
}

static void
end_body(struct request *request)
{
	enum MHD_Result good;

	if (!request->post)
		return;
	good = MHD_destroy_post_processor(request->post);
	request->post = NULL;
	if (request->status)
		return;
	if (good == MHD_NO)
		request_refuse(request, 400, "the body ends before its last "
			       "boundary");
	else
		request_end(request);
}

static enum MHD_Result
contract(struct request *request)
{
	struct MHD_Connection *connection = request->connection;

	/* From the put on the request is the worker's. */
	request->stage = REQUEST_QUEUED;
	MHD_suspend_connection(connection);
	if (!queue_put(request->server->queue, request)) {
		request_refuse(request, 503, "the server is ending");
		MHD_resume_connection(connection);
	}
	return MHD_YES;
}

void
http_contracted(struct request *request)
{
	MHD_resume_connection(request->connection);
}

/* ------------------------------------------------------------------------
 * Headers
 * ------------------------------------------------------------------------ */

static const char *
header(const struct request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection,
					   MHD_HEADER_KIND, name);
}

static void
route(struct request *request, const char *url, const char *method)
{
	bool post = !strcmp(method, "POST");
	bool get = !strcmp(method, "GET") || !strcmp(method, "HEAD");

	if (!strcmp(url, "/contract")) {
		request->target = REQUEST_CONTRACT;
		if (!post)
			request_refuse(request, 405, "%s: only POST", url);
		return;
	}
	request->target = REQUEST_HEALTH;
	if (!strcmp(url, "/metrics"))
		request->target = REQUEST_METRICS;
	else if (strcmp(url, "/healthz"))
		request_refuse(request, 404, "nothing is at this address; "
			       "there are /contract, /metrics and /healthz");
	if (!request->status && !get)
		request_refuse(request, 405, "%s: only GET and HEAD", url);
	if (!request->status)
		request->status = 200;
}

/* What may be refused without the body. */
static void
check_contract(struct request *request)
{
	const struct options *options = &request->server->options;
	const struct http *http = request->server->http;
	const char *type = header(request, "Content-Type");
	const union MHD_ConnectionInfo *info;

	info = MHD_get_connection_info(request->connection,
				       MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	if (atomic_load_explicit(&http->quiet, memory_order_relaxed))
		request_refuse(request, 503, "the server is ending");
	else if (info && info->socket_context)
		request_refuse(request, 503, "too many connections: %zu are "
			       "served at once", options->connections);
	else if (!type || strncasecmp(type, FORM, strlen(FORM)))
		request_refuse(request, 415, "the body's Content-Type is not "
			       "%s", FORM);
	else if (request->announced > options->max_body)
		request_refuse(request, 413, "the body has %llu bytes, more "
			       "than %zu",
			       (unsigned long long)request->announced,
			       options->max_body);
}

static void
read_header(struct request *request, const char *url, const char *method)
{
	const char *length = header(request, "Content-Length");

	if (length)
		request->announced = strtoull(length, NULL, 10);
	route(request, url, method);
	if (!request->status)
		check_contract(request);
	if (request->status)
		return;
	request->post = MHD_create_post_processor(request->connection,
						  POST_BUFFER, take_part,
						  request);
	if (!request->post)
		request_refuse(request, 400, "the body's Content-Type has no "
			       "boundary");
}

static enum MHD_Result
begin(struct server *server, struct MHD_Connection *connection,
      const char *url, const char *method, void **state)
{
	struct request *request = calloc(1, sizeof *request);

	if (!request)
		return MHD_NO;
	*state = request;
	request->server = server;
	request->connection = connection;
	request->began = request->marked = metrics_now();
	metrics_request_begins(&server->metrics);
	read_header(request, url, method);
	/*
	 * A client that asks first, or would send for long, is told at once.
	 * Others send before they read: they get it when they are done.
	 */
	if (request->target == REQUEST_CONTRACT && request->status &&
	    (header(request, "Expect") ||
	     request->announced / 2 > server->options.max_body))
		return answer(request);
	return MHD_YES;
}

/* ------------------------------------------------------------------------
 * What libmicrohttpd calls
 * ------------------------------------------------------------------------ */

static enum MHD_Result
handle(void *cls, struct MHD_Connection *connection, const char *url,
       const char *method, const char *version, const char *data,
       size_t *size, void **state)
{
	struct request *request = *state;

	(void)version;
	if (!request)
		return begin(cls, connection, url, method, state);
	if (*size > 0) {
		if (!read_body(request, data, *size))
			return MHD_NO;
		*size = 0;
		return MHD_YES;
	}
	if (request->stage == REQUEST_READING) {
		end_body(request);
		if (!request->status)
			return contract(request);
	}
	return answer(request);
}

static void
completed(void *cls, struct MHD_Connection *connection, void **state,
	  enum MHD_RequestTerminationCode how)
{
	struct request *request = *state;
	struct server *server = cls;
	bool sent = how == MHD_REQUEST_TERMINATED_COMPLETED_OK;

	(void)connection;
	if (!request)
		return;
	if (request->post)
		MHD_destroy_post_processor(request->post);
	request_release(request);
	metrics_request_ends(&server->metrics, sent ? request->status : 0,
			     metrics_now() - request->began);
	free(request);
	*state = NULL;
}

static void
connected(void *cls, struct MHD_Connection *connection, void **context,
	  enum MHD_ConnectionNotificationCode what)
{
	static char beyond;
	struct server *server = cls;

	(void)connection;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED)
		metrics_disconnected(&server->metrics);
	else if (metrics_connected(&server->metrics) >
		 server->options.connections)
		*context = &beyond;
}

/* ------------------------------------------------------------------------
 * Start and end
 * ------------------------------------------------------------------------ */

/*
 * At the end connections are refused here.  MHD_quiesce_daemon() would take the
 * socket from its threads' epoll sets while they do the same, and abort the
 * process if it comes second.
 */
static enum MHD_Result
admit(void *cls, const struct sockaddr *address, socklen_t size)
{
	const struct http *http = cls;

	(void)address;
	(void)size;
	return atomic_load_explicit(&http->quiet, memory_order_relaxed) ?
		       MHD_NO :
		       MHD_YES;
}

static struct MHD_Daemon *
start(struct server *server, const struct addrinfo *address)
{
	const struct options *o = &server->options;
	unsigned flags = MHD_USE_AUTO_INTERNAL_THREAD |
			 MHD_ALLOW_SUSPEND_RESUME |
			 (address->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0);
	/* The limit is divided among the threads. */
	const struct MHD_OptionItem options[] = {
		{ MHD_OPTION_CONNECTION_LIMIT,
		  (intptr_t)(o->connections + SPARE) * (intptr_t)o->io, NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)o->timeout, NULL },
		/* One is not called a pool. */
		{ o->io > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END,
		  (intptr_t)o->io, NULL },
		{ MHD_OPTION_END, 0, NULL },
	};

	return MHD_start_daemon(flags, 0, admit, server->http, handle, server,
				MHD_OPTION_SOCK_ADDR, address->ai_addr,
				MHD_OPTION_NOTIFY_COMPLETED, completed, server,
				MHD_OPTION_NOTIFY_CONNECTION, connected,
				server,
				MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

bool
http_start(struct server *server, struct message *why)
{
	const struct options *o = &server->options;
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *address;
	struct http *http;
	char port[8];
	int error;

	snprintf(port, sizeof port, "%u", o->port);
	error = getaddrinfo(o->listen, port, &hints, &address);
	if (error)
		return refuse(why, "address '%s': %s", o->listen,
			      gai_strerror(error));
	http = calloc(1, sizeof *http);
	if (http) {
		http->server = server;
		server->http = http;
		errno = 0;
		http->daemon = start(server, address);
	}
	error = errno;
	freeaddrinfo(address);
	if (http && http->daemon)
		return true;
	free(http);
	server->http = NULL;
	return refuse(why, "cannot listen at %s, port %u: %s", o->listen,
		      o->port, strerror(error));
}

uint16_t
http_port(const struct http *http)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT);

	return info ? info->port : 0;
}

void
http_quiesce(struct http *http)
{
	atomic_store_explicit(&http->quiet, true, memory_order_relaxed);
}

void
http_stop(struct http *http)
{
	MHD_stop_daemon(http->daemon);
	free(http);
}
