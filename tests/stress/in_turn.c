/* SPDX-License-Identifier: MIT */
#include "stress/in_turn.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/scale.h"

/* This program once more, with that LEND_CONF. */
static int
run_with(const struct in_turn *turn, const char *conf, const char *seed,
	 const char *operations)
{
	char *const argv[] = {
		(char *)turn->name, "-c", (char *)conf, "-s", (char *)seed,
		"-n", (char *)operations, NULL
	};
	int status;
	pid_t pid;

	printf("LEND_CONF=%s seed %s, %s %s\n", conf, seed, operations,
	       turn->what);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		setenv("LEND_CONF", conf, 1);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
		printf("LEND_CONF=%s seed %s: FAILED\n", conf, seed);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static int
run_all(const struct in_turn *turn, const char *seed, const char *operations)
{
	int result = EXIT_SUCCESS;

	for (const char *const *conf = turn->confs; *conf; conf++)
		if (run_with(turn, *conf, seed, operations))
			result = EXIT_FAILURE;
	return result;
}

int
in_turn_main(const struct in_turn *turn, int argc, char **argv)
{
	char default_operations[24], default_seed[24];
	const char *conf = NULL, *seed = default_seed;
	const char *operations = default_operations;
	int option;

	snprintf(default_operations, sizeof(default_operations), "%u",
		 scale(turn->operations));
	snprintf(default_seed, sizeof(default_seed), "%llu",
		 (unsigned long long)time(NULL));
	while ((option = getopt(argc, argv, "c:n:s:")) != -1) {
		if (option == 'c')
			conf = optarg;
		else if (option == 'n')
			operations = optarg;
		else if (option == 's')
			seed = optarg;
		else
			return EXIT_FAILURE;
	}
	if (!conf)
		return run_all(turn, seed, operations);
	setenv("LEND_CONF", conf, 1);
	return turn->run(strtoull(seed, NULL, 10),
			 strtol(operations, NULL, 10));
}
