/* SPDX-License-Identifier: MIT */
/*
 * A race on purpose.  In a build with ThreadSanitizer `make check` expects
 * this program to fail: where it passes, the detector is asleep, and the
 * other tests prove nothing.
 */
#include <pthread.h>
#include <stddef.h>

static int raced;

static void *
race(void *arg)
{
	int i;

	for (i = 0; i < 1000; i++)
		raced++;
	return arg;
}

int
main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, race, NULL))
		return 0;
	race(NULL);
	pthread_join(thread, NULL);
	return 0;
}
