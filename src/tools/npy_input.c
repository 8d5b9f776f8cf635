/* SPDX-License-Identifier: MIT */
#include "tools/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/cleanup.h"
#include "tools/memory.h"

static void
swap_32(unsigned char *to, const unsigned char *from, size_t n)
{
	uint32_t real;

	for (size_t i = 0; i < n; i++) {
		memcpy(&real, from + i * sizeof real, sizeof real);
		real = __builtin_bswap32(real);
		memcpy(to + i * sizeof real, &real, sizeof real);
	}
}

static void
swap_64(unsigned char *to, const unsigned char *from, size_t n)
{
	uint64_t real;

	for (size_t i = 0; i < n; i++) {
		memcpy(&real, from + i * sizeof real, sizeof real);
		real = __builtin_bswap64(real);
		memcpy(to + i * sizeof real, &real, sizeof real);
	}
}

void
npy_native(const struct npy_header *header, void *to, const void *from)
{
	size_t bytes = header->count * lend_type_bytes(header->type);
	size_t real = type_real_bytes(header->type);

	if (!header->foreign)
		memmove(to, from, bytes);
	else if (real == 4)
		swap_32(to, from, bytes / real);
	else
		swap_64(to, from, bytes / real);
}

/*
 * Replaces the map by a copy in this machine's order, at an address that suits
 * the elements.
 */
static bool
copy(struct npy_input *input, struct message *why)
{
	const struct npy_header *header = &input->header;
	const unsigned char *from =
		(unsigned char *)input->memory + header->data;
	size_t bytes = header->count * lend_type_bytes(header->type);
	void *own = memory_map(bytes);

	if (!own)
		return refuse(why, "no memory for a copy of its %zu bytes",
			      bytes);
	npy_native(header, own, from);
	cleanup_unmap(input->memory);
	munmap(input->memory, input->bytes);
	input->memory = own;
	input->bytes = bytes;
	input->data = own;
	input->mapped = false;
	return true;
}

static bool
map(struct npy_input *input, const char *path, struct message *why)
{
	if (fstat(input->fd, &input->seen))
		return refuse(why, "%s", strerror(errno));
	if (!S_ISREG(input->seen.st_mode))
		return refuse(why, S_ISDIR(input->seen.st_mode)
				   ? "is a directory"
				   : "is not a regular file");
	if (input->seen.st_size == 0)
		return refuse(why, "the file is empty");
	input->bytes = (size_t)input->seen.st_size;
	input->memory = mmap(NULL, input->bytes, PROT_READ, MAP_PRIVATE,
			     input->fd, 0);
	if (input->memory == MAP_FAILED)
		return refuse(why, "cannot be mapped: %s", strerror(errno));
	cleanup_map(input->memory, input->bytes, path);
	return true;
}

static bool
load(struct npy_input *input, struct message *why)
{
	const struct npy_header *header = &input->header;

	if (!npy_parse(&input->header, input->memory, input->bytes, why))
		return false;
	input->mapped = true;
	input->data = (const char *)input->memory + header->data;
	if (header->foreign || header->data % type_real_bytes(header->type))
		return copy(input, why);
	/* Advice: where it is refused, pages come when they are touched. */
	madvise(input->memory, input->bytes, MADV_WILLNEED);
	return true;
}

bool
npy_open(struct npy_input *input, const char *path, struct message *why)
{
	memset(input, 0, sizeof *input);
	/* Not to wait for the other end of what is a pipe. */
	input->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (input->fd < 0)
		return refuse(why, "%s", strerror(errno));
	if (!map(input, path, why)) {
		close(input->fd);
		return false;
	}
	if (!load(input, why)) {
		npy_close(input);
		return false;
	}
	return true;
}

bool
npy_unchanged(const struct npy_input *input, struct message *why)
{
	struct stat now;

	if (fstat(input->fd, &now))
		return refuse(why, "%s", strerror(errno));
	if (now.st_size != input->seen.st_size ||
	    now.st_mtim.tv_sec != input->seen.st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != input->seen.st_mtim.tv_nsec)
		return refuse(why, "the file was changed while it was read");
	return true;
}

void
npy_close(struct npy_input *input)
{
	cleanup_unmap(input->memory);
	if (input->mapped || !input->data)
		munmap(input->memory, input->bytes);
	else
		memory_unmap(input->memory, input->bytes);
	close(input->fd);
}
