/* SPDX-License-Identifier: MIT */
#include "tools/cleanup.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tools/message.h"

#define MAPS 4

/*
 * What the handlers look at.  The main thread writes it while the signals
 * that end the program are held; a map is written before the threads that
 * may fault in it are set to work.
 */
static char file[PATH_MAX];
static struct {
	uintptr_t begin, end;
	char path[PATH_MAX];
} map[MAPS];
static volatile sig_atomic_t line_unfinished;

static const int ending[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
#define ENDINGS (sizeof ending / sizeof ending[0])

static void
clean(void)
{
	if (file[0])
		unlink(file);
	file[0] = '\0';
	if (line_unfinished && write(STDERR_FILENO, "\n", 1) < 0)
		return;
	line_unfinished = 0;
}

/* The signal is blocked here, and raised again takes its default after. */
static void
on_ending(int signal)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	clean();
	sigaction(signal, &action, NULL);
	raise(signal);
}

static void
say(const char *text)
{
	size_t length = strlen(text);

	while (length > 0) {
		ssize_t n = write(STDERR_FILENO, text, length);

		if (n <= 0)
			return;
		text += n;
		length -= (size_t)n;
	}
}

static void
on_bus_error(int signal, siginfo_t *info, void *context)
{
	uintptr_t where = (uintptr_t)info->si_addr;

	(void)context;
	for (size_t i = 0; i < MAPS; i++) {
		if (where < map[i].begin || where >= map[i].end)
			continue;
		clean();
		say("lend: ");
		say(map[i].path);
		say(": the file was cut while it was read, or its device "
		    "failed\n");
		_exit(STATUS_BAD);
	}
	on_ending(signal);
}

void
cleanup_install(void)
{
	struct sigaction action = { .sa_handler = on_ending }, old;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ENDINGS; i++)
		sigaddset(&action.sa_mask, ending[i]);
	for (size_t i = 0; i < ENDINGS; i++) {
		sigaction(ending[i], NULL, &old);
		if (old.sa_handler != SIG_IGN)
			sigaction(ending[i], &action, NULL);
	}
	action.sa_sigaction = on_bus_error;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGBUS, &action, NULL);
	/* A file that may not grow further is an error, not the end. */
	signal(SIGXFSZ, SIG_IGN);
}

void
cleanup_hold(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ENDINGS; i++)
		sigaddset(&set, ending[i]);
	pthread_sigmask(SIG_BLOCK, &set, before);
}

void
cleanup_let(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

void
cleanup_file(const char *path)
{
	file[0] = '\0';
	if (path && strlen(path) < sizeof file)
		strcpy(file, path);
}

void
cleanup_map(const void *memory, size_t bytes, const char *path)
{
	for (size_t i = 0; i < MAPS; i++) {
		if (map[i].end)
			continue;
		strncpy(map[i].path, path, sizeof map[i].path - 1);
		map[i].begin = (uintptr_t)memory;
		map[i].end = map[i].begin + bytes;
		return;
	}
}

void
cleanup_unmap(const void *memory)
{
	for (size_t i = 0; i < MAPS; i++)
		if (map[i].begin == (uintptr_t)memory)
			map[i].begin = map[i].end = 0;
}

void
cleanup_line(bool unfinished)
{
	line_unfinished = unfinished;
}
