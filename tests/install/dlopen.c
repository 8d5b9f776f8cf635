/* SPDX-License-Identifier: MIT */
/*
 * A host that loads the library, whose path is the first argument, while it
 * runs.  The thread that used it ends after the dlclose.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <lend/lend.h>

#define FIND(library, function) \
	(*(void **)&function = dlsym((library), "lend_" #function))

static void *
lend_and_close(void *library)
{
	static const struct lend_req req = { .a_bytes = 10000 };
	__typeof__(&lend_arena_create) arena_create;
	__typeof__(&lend_worker_checkout) worker_checkout;
	__typeof__(&lend_worker_return) worker_return;
	__typeof__(&lend_arena_destroy) arena_destroy;
	struct lend_worker loan;
	lend_arena *arena;

	if (!FIND(library, arena_create) || !FIND(library, worker_checkout) ||
	    !FIND(library, worker_return) || !FIND(library, arena_destroy))
		return "a function is missing";
	if (arena_create(&arena, NULL) ||
	    worker_checkout(arena, &req, &loan))
		return "no loan";
	memset(loan.a, 1, req.a_bytes);
	if (worker_return(arena, &loan) || arena_destroy(arena))
		return "no return";
	return dlclose(library) ? "no dlclose" : NULL;
}

int
main(int argc, char **argv)
{
	void *library, *complaint;
	pthread_t thread;

	if (argc != 2)
		return 2;
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	if (pthread_create(&thread, NULL, lend_and_close, library) ||
	    pthread_join(thread, &complaint))
		return 2;
	if (complaint)
		fprintf(stderr, "%s\n", (char *)complaint);
	return complaint ? 1 : 0;
}
