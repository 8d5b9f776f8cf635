/* SPDX-License-Identifier: MIT */
/*
 *   create   a file without a name (O_TMPFILE), or where the file system has
 *            none such, one of a name of its own that cleanup knows
 *   commit   its name, in one step: link, or rename over what is there
 *   discard  closed, and with it gone
 *
 * While a temporary name exists, either signals are held or cleanup removes
 * it.
 */
#include "tools/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "tools/cleanup.h"

#define MODE 0666	/* less the umask */
#define TRIES 100
#define PROC_FD 32

bool npy_named;

/* Follows links at the final name, so that their target is replaced. */
static bool
resolve(struct npy_output *output, const char *path, struct message *why)
{
	struct stat seen;
	const char *slash;
	size_t length = strlen(path);

	if (length == 0 || path[length - 1] == '/')
		return refuse(why, "names no file");
	if (length >= sizeof output->path)
		return refuse(why, "%s", strerror(ENAMETOOLONG));
	strcpy(output->path, path);
	if (!lstat(path, &seen) && S_ISLNK(seen.st_mode) &&
	    !realpath(path, output->path))
		return refuse(why, "%s", strerror(errno));
	if (!stat(output->path, &seen) && !S_ISREG(seen.st_mode))
		return refuse(why, S_ISDIR(seen.st_mode)
				   ? "is a directory"
				   : "is not a regular file");
	slash = strrchr(output->path, '/');
	length = slash ? (size_t)(slash - output->path) : 0;
	if (!slash)
		strcpy(output->directory, ".");
	else if (length == 0)
		strcpy(output->directory, "/");
	else
		memcpy(output->directory, output->path, length);
	return true;
}

/* A name that nobody has, probably. */
static bool
make_name(struct npy_output *output)
{
	uint64_t number = 0;
	int n;

	/* A name twice is found out: it is made to be new. */
	if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0)
		number = (uint64_t)getpid();
	n = snprintf(output->temporary, sizeof output->temporary,
		     "%s/.lend-%016" PRIx64, output->directory, number);
	if (n > 0 && (size_t)n < sizeof output->temporary)
		return true;
	output->temporary[0] = '\0';
	errno = ENAMETOOLONG;
	return false;
}

/* By which a file without a name can be linked. */
static void
proc_name(int fd, char text[PROC_FD])
{
	snprintf(text, PROC_FD, "/proc/self/fd/%d", fd);
}

static int
open_nameless(const struct npy_output *output)
{
	int fd = open(output->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, MODE);
	char proc[PROC_FD];

	if (fd < 0)
		return -1;
	proc_name(fd, proc);
	if (!access(proc, F_OK))
		return fd;
	close(fd);
	return -1;
}

/* Signals are held. */
static int
open_named(struct npy_output *output)
{
	int fd = -1;

	for (int i = 0; i < TRIES && fd < 0; i++) {
		if (!make_name(output))
			return -1;
		fd = open(output->temporary,
			  O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, MODE);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		output->temporary[0] = '\0';
	else
		cleanup_file(output->temporary);
	return fd;
}

static bool
open_new(struct npy_output *output, struct message *why)
{
	sigset_t before;
	int error = 0;

	cleanup_hold(&before);
	output->fd = npy_named ? -1 : open_nameless(output);
	if (output->fd < 0)
		output->fd = open_named(output);
	if (output->fd < 0)
		error = errno;
	cleanup_let(&before);
	if (!error)
		return true;
	/* The directory is what is refused. */
	return refuse(why, "cannot be made in directory '%.300s': %s",
		      output->directory, strerror(error));
}

/* Its storage, so that none is missing when it is written through the map. */
static bool
reserve(const struct npy_output *output, struct message *why)
{
	int error;

	do
		error = posix_fallocate(output->fd, 0, (off_t)output->bytes);
	while (error == EINTR);
	if (!error)
		return true;
	return refuse(why, "no storage for its %zu bytes: %s", output->bytes,
		      strerror(error));
}

static bool
fill(struct npy_output *output, struct message *why)
{
	unsigned char text[NPY_FORMAT_MAX];
	size_t bytes;

	if (!npy_measure(&output->header, &bytes, why))
		return false;
	output->header.data = npy_format(&output->header, text);
	if (__builtin_add_overflow(bytes, output->header.data,
				   &output->bytes) ||
	    output->bytes > PTRDIFF_MAX)
		return refuse(why, "the shape's product overflows");
	if (!reserve(output, why))
		return false;
	output->memory = mmap(NULL, output->bytes, PROT_READ | PROT_WRITE,
			      MAP_SHARED, output->fd, 0);
	if (output->memory == MAP_FAILED) {
		output->memory = NULL;
		return refuse(why, "its %zu bytes cannot be mapped: %s",
			      output->bytes, strerror(errno));
	}
	memcpy(output->memory, text, output->header.data);
	output->data = (char *)output->memory + output->header.data;
	return true;
}

bool
npy_create(struct npy_output *output, const char *path,
	   const struct npy_header *header, struct message *why)
{
	memset(output, 0, sizeof *output);
	output->header = *header;
	if (!resolve(output, path, why) || !open_new(output, why))
		return false;
	if (!fill(output, why)) {
		npy_discard(output);
		return false;
	}
	return true;
}

/* Gives a nameless file a name of its own.  Signals are held. */
static bool
link_temporary(struct npy_output *output, const char *proc)
{
	for (int i = 0; i < TRIES; i++) {
		if (!make_name(output))
			return false;
		if (!linkat(AT_FDCWD, proc, AT_FDCWD, output->temporary,
			    AT_SYMLINK_FOLLOW))
			return true;
		if (errno != EEXIST)
			break;
	}
	output->temporary[0] = '\0';
	return false;
}

static bool
give_name(struct npy_output *output)
{
	char proc[PROC_FD];

	proc_name(output->fd, proc);
	if (!output->temporary[0]) {
		if (!linkat(AT_FDCWD, proc, AT_FDCWD, output->path,
			    AT_SYMLINK_FOLLOW))
			return true;
		if (errno != EEXIST || !link_temporary(output, proc))
			return false;
	}
	if (rename(output->temporary, output->path))
		return false;
	output->temporary[0] = '\0';
	cleanup_file(NULL);
	return true;
}

bool
npy_commit(struct npy_output *output, struct message *why)
{
	sigset_t before;
	bool done;
	int error;

	cleanup_hold(&before);
	done = give_name(output);
	error = errno;
	npy_discard(output);
	cleanup_let(&before);
	if (done)
		return true;
	return refuse(why, "cannot be given its name: %s", strerror(error));
}

void
npy_discard(struct npy_output *output)
{
	sigset_t before;

	cleanup_hold(&before);
	if (output->memory)
		munmap(output->memory, output->bytes);
	close(output->fd);
	if (output->temporary[0]) {
		unlink(output->temporary);
		output->temporary[0] = '\0';
		cleanup_file(NULL);
	}
	cleanup_let(&before);
}
