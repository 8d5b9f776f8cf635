/* SPDX-License-Identifier: MIT */
/* The connections.  This room alone speaks to libmicrohttpd. */
#ifndef EXAMPLES_SERVER_HTTP_H
#define EXAMPLES_SERVER_HTTP_H

#include <stdint.h>

#include "tools/message.h"

struct http;
struct request;
struct server;

/*
 * Listens, and serves from here on.  server->http is set before the first
 * request is.  False: *why says what was wrong.
 */
bool http_start(struct server *server, struct message *why);
uint16_t http_port(const struct http *http);
/* A worker is done with the request, which is now answered. */
void http_contracted(struct request *request);
/*
 * From here on whoever connects is turned away, and no contraction is taken.
 */
void http_quiesce(struct http *http);
/* Ends all connections.  No worker has a request any more. */
void http_stop(struct http *http);

#endif
