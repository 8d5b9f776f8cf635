/* SPDX-License-Identifier: MIT */
#include "base/assert.h"

#include <stdlib.h>

#include "base/os.h"

_Noreturn void
lend__check_failed(const char *file, int line, const char *what)
{
	os_complain("lend: %s:%d: check failed: %s\n", file, line, what);
	abort();
}
