/* SPDX-License-Identifier: MIT */
/*
 * A host program against the installed library: it lends once, and it finds
 * its malloc in the library whose name is the first argument.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <lend/lend.h>

static int
lend_once(void)
{
	const struct lend_req req = { .a_bytes = 10000, .tile_bytes = 100 };
	struct lend_worker loan;
	struct lend_stats stats;
	lend_arena *arena;
	int error;

	error = lend_arena_create(&arena, NULL);
	if (error)
		return error;
	error = lend_worker_checkout(arena, &req, &loan);
	if (error)
		return error;
	memset(loan.a, 1, req.a_bytes);
	error = lend_worker_return(arena, &loan);
	if (error)
		return error;
	error = lend_arena_stats(arena, &stats);
	if (error)
		return error;
	printf("backend %s, %zu bytes retained\n", stats.backend,
	       stats.retained_bytes);
	return lend_arena_destroy(arena);
}

int
main(int argc, char **argv)
{
	void *function = dlsym(RTLD_DEFAULT, "malloc");
	Dl_info info;
	int error;

	if (argc != 2 || !function || !dladdr(function, &info))
		return 2;
	printf("malloc is in %s\n", info.dli_fname);
	if (!strstr(info.dli_fname, argv[1])) {
		fprintf(stderr, "malloc is not in %s\n", argv[1]);
		return 1;
	}
	error = lend_once();
	if (error)
		fprintf(stderr, "lending failed: %s\n", strerror(-error));
	return error ? 1 : 0;
}
