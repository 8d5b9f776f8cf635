/* SPDX-License-Identifier: MIT */
#include "contract/caches.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/util.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct caches found;

/* What is not known, or cannot be true, becomes `usual`. */
static size_t
size_of(int name, size_t usual)
{
	long size = sysconf(name);

	return size < 4096 ? usual : (size_t)size;
}

/*
 * The part of the third level that one processor reaches, as Linux tells it;
 * 0 if it does not.  The C library may tell of a whole package's.
 */
static size_t
third_level(void)
{
	static const char path[] =
		"/sys/devices/system/cpu/cpu0/cache/index3/size";
	FILE *file = fopen(path, "re");
	size_t size = 0;
	char unit = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%zu%c", &size, &unit) != 2 || unit != 'K' ||
	    size > SIZE_MAX >> 10)
		size = 0;
	fclose(file);
	return size << 10;
}

static void
look(void)
{
	size_t l3 = third_level();

	found.l1 = size_of(_SC_LEVEL1_DCACHE_SIZE, (size_t)32 << 10);
	found.l2 = size_of(_SC_LEVEL2_CACHE_SIZE, (size_t)512 << 10);
	found.l3 = l3 ? l3 : size_of(_SC_LEVEL3_CACHE_SIZE, 4 * found.l2);
	/* Some virtual machines tell of a level less than there is. */
	found.l2 = size_max(found.l2, 4 * found.l1);
	found.l3 = size_max(found.l3, 2 * found.l2);
}

const struct caches *
caches(void)
{
	pthread_once(&once, look);
	return &found;
}
