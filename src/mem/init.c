/* SPDX-License-Identifier: MIT */
#include "mem/init.h"

#include <errno.h>
#include <stdlib.h>

#include <lend/conf.h>

#include "base/once.h"
#include "base/os.h"
#include "mem/backend.h"
#include "mem/poison.h"

struct conf lend__conf;
bool lend__membarrier;

static struct once once;
static int refused;	/* what another try would not change */

/* It complains: once. */
static void
read_conf(void)
{
	static bool done;

	if (!done)
		conf_parse(&lend__conf, secure_getenv("LEND_CONF"));
	done = true;
}

static int
choose_backend(void)
{
	const char *name = lend__conf.backend[0] ? lend__conf.backend : NULL;
	int error = backend_init(name);

	if (error == -EINVAL)
		os_complain("lend: no backend '%s'\n", name);
	return error;
}

static int
init(void)
{
	int error;

	read_conf();
	error = choose_backend();
	if (error == -ENOMEM)
		return error;
	refused = error;
	poison_init();
	lend__membarrier = lend__conf.membarrier &&
			   os_membarrier_register() && os_membarrier();
	return 0;
}

/* Without memory the library does not start, but has read what it was told. */
const char *
lend_conf_kernel(void)
{
	(void)lend__init();
	return lend__conf.kernel[0] ? lend__conf.kernel : NULL;
}

int
lend__init(void)
{
	int error = once_try(&once, init);

	return error ? error : refused;
}
