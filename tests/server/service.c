/* SPDX-License-Identifier: MIT */
#include "server/service.h"

#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 16

bool
service_possible(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr *any = (struct sockaddr *)&address;
	socklen_t size = sizeof address;
	int server = socket(AF_INET, SOCK_STREAM, 0);
	int client = socket(AF_INET, SOCK_STREAM, 0);
	bool possible = server >= 0 && client >= 0 &&
			bind(server, any, size) == 0 &&
			listen(server, 1) == 0 &&
			getsockname(server, any, &size) == 0 &&
			connect(client, any, size) == 0;

	if (server >= 0)
		close(server);
	if (client >= 0)
		close(client);
	return possible;
}

/* In the child. */
static void
become(const char *const *arguments, int output, int errors)
{
	const char *argv[ARGUMENTS_MAX] = { getenv("LEND_SERVER") };
	int n = 1;

	if (!argv[0])
		argv[0] = "examples/server/lend-server";
	while (*arguments && n + 1 < ARGUMENTS_MAX)
		argv[n++] = *arguments++;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(output, STDOUT_FILENO) >= 0 &&
	    dup2(errors, STDERR_FILENO) >= 0)
		execv(argv[0], (char *const *)argv);
	_exit(127);
}

static void
launch(struct service *service, const char *const *arguments)
{
	FILE *errors = tmpfile();
	int ends[2];

	memset(service, 0, sizeof *service);
	ck_assert_ptr_nonnull(errors);
	service->errors = dup(fileno(errors));
	ck_assert_int_ge(service->errors, 0);
	fclose(errors);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	service->pid = fork();
	ck_assert_int_ge(service->pid, 0);
	if (service->pid == 0)
		become(arguments, ends[1], service->errors);
	close(ends[1]);
	service->output = ends[0];
}

/* Its first line ends with the port. */
static void
read_port(struct service *service)
{
	char line[256];
	size_t length = 0;
	const char *last;

	do {
		if (length + 1 == sizeof line ||
		    read(service->output, &line[length], 1) != 1) {
			service_wait(service);
			ck_abort_msg("it does not listen: %s", service->text);
		}
	} while (line[length++] != '\n');
	line[length - 1] = '\0';
	last = strrchr(line, ' ');
	ck_assert_ptr_nonnull(last);
	service->port = (uint16_t)atoi(last + 1);
	ck_assert_uint_gt(service->port, 0);
}

void
service_start(struct service *service, const char *const *arguments)
{
	const char *all[ARGUMENTS_MAX] = { "--port=0" };

	for (int n = 1; *arguments; n++) {
		ck_assert_int_lt(n + 1, ARGUMENTS_MAX);
		all[n] = *arguments++;
	}
	launch(service, all);
	read_port(service);
}

int
service_run(struct service *service, const char *const *arguments)
{
	launch(service, arguments);
	return service_wait(service);
}

int
service_wait(struct service *service)
{
	int status;
	ssize_t n;

	ck_assert_int_eq(waitpid(service->pid, &status, 0), service->pid);
	n = pread(service->errors, service->text, sizeof service->text - 1, 0);
	service->text[n > 0 ? n : 0] = '\0';
	close(service->errors);
	close(service->output);
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : 128 + WTERMSIG(status);
}

void
service_end(struct service *service)
{
	int status;

	ck_assert_int_eq(kill(service->pid, SIGTERM), 0);
	status = service_wait(service);
	if (status || service->text[0])
		ck_abort_msg("it ended with %d: %s", status, service->text);
}
