/* SPDX-License-Identifier: MIT */
#include "server/client.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

int
client_connect(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	close(fd);
	return -1;
}

bool
client_send(int fd, const void *bytes, size_t size)
{
	const char *p = bytes;

	while (size > 0) {
		ssize_t n = send(fd, p, size, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		p += n;
		size -= (size_t)n;
	}
	return true;
}

/* One byte at a time, so that none of what follows is taken. */
static bool
receive_head(int fd, struct text *head)
{
	char c;

	while (recv(fd, &c, 1, 0) == 1) {
		text_add(head, &c, 1);
		if (head->size >= 4 &&
		    !memcmp(head->bytes + head->size - 4, "\r\n\r\n", 4))
			return true;
	}
	return false;
}

bool
client_receive(int fd, struct answer *answer)
{
	const char *length;
	char buffer[16384];
	size_t left;

	memset(answer, 0, sizeof *answer);
	do {
		answer->head.size = 0;
		if (!receive_head(fd, &answer->head) ||
		    sscanf(answer->head.bytes, "HTTP/1.1 %u",
			   &answer->status) != 1) {
			answer_free(answer);
			return false;
		}
	} while (answer->status == 100);
	length = answer_field(answer, "Content-Length");
	for (left = length ? strtoul(length, NULL, 10) : 0; left > 0;) {
		size_t want = left < sizeof buffer ? left : sizeof buffer;
		ssize_t n = recv(fd, buffer, want, 0);

		if (n <= 0) {
			answer_free(answer);
			return false;
		}
		text_add(&answer->body, buffer, (size_t)n);
		left -= (size_t)n;
	}
	return true;
}

void
client_ask(int fd, const struct text *request, struct answer *answer)
{
	ck_assert(client_send(fd, request->bytes, request->size));
	ck_assert(client_receive(fd, answer));
}

void
client_get(uint16_t port, const char *path, struct answer *answer)
{
	struct text request = { 0 };
	int fd = client_connect(port);

	ck_assert_int_ge(fd, 0);
	text_print(&request, "GET %s HTTP/1.1\r\nHost: here\r\n"
			     "Connection: close\r\n\r\n", path);
	client_ask(fd, &request, answer);
	text_free(&request);
	close(fd);
}

double
client_metric(uint16_t port, const char *name)
{
	size_t length = strlen(name);
	struct answer answer;
	double value;
	char *line;

	client_get(port, "/metrics", &answer);
	ck_assert_uint_eq(answer.status, 200);
	line = answer.body.bytes;
	while (line && (strncmp(line, name, length) || line[length] != ' ')) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!line)
		ck_abort_msg("no %s in %s", name, answer.body.bytes);
	value = strtod(line + length, NULL);
	answer_free(&answer);
	return value;
}

void
client_await(uint16_t port, const char *name, double least, double most)
{
	double value;

	do
		value = client_metric(port, name);
	while (value < least || value > most);
}

void
answer_free(struct answer *answer)
{
	text_free(&answer->head);
	text_free(&answer->body);
}

const char *
answer_field(const struct answer *answer, const char *name)
{
	static _Thread_local char value[256];
	size_t length = strlen(name);
	const char *line = answer->head.bytes;

	while ((line = strstr(line, "\r\n"))) {
		line += 2;
		if (strncasecmp(line, name, length) || line[length] != ':')
			continue;
		line += length + 1 + strspn(line + length + 1, " ");
		snprintf(value, sizeof value, "%.*s",
			 (int)strcspn(line, "\r"), line);
		return value;
	}
	return NULL;
}
