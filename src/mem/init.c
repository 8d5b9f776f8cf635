/* SPDX-License-Identifier: MIT */
#include "mem/init.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/os.h"
#include "mem/backend.h"
#include "mem/poison.h"

struct conf lend__conf;
bool lend__membarrier;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int result;

static void
choose_backend(void)
{
	const char *name = lend__conf.backend[0] ? lend__conf.backend : NULL;

	result = backend_init(name);
	if (result && name)
		os_complain("lend: no backend '%s'\n", name);
}

static void
init(void)
{
	conf_parse(&lend__conf, secure_getenv("LEND_CONF"));
	choose_backend();
	poison_init();
	lend__membarrier = lend__conf.membarrier &&
			   os_membarrier_register() && os_membarrier();
}

int
lend__init(void)
{
	pthread_once(&once, init);
	return result;
}
