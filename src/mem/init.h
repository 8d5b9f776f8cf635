/* SPDX-License-Identifier: MIT */
/*
 * The library's start: configuration, backend, what the system allows.
 */
#ifndef LEND_MEM_INIT_H
#define LEND_MEM_INIT_H

#include <stdbool.h>

#include "base/conf.h"

/* What LEND_CONF asked for.  Constant once lend__init has returned. */
extern struct conf lend__conf;
/* Whether membarrier serves.  Constant once lend__init has returned. */
extern bool lend__membarrier;

/*
 * Every entry that makes an object calls it; the first call does the work, or
 * where memory was short then, a later one.
 * Errors: -ENOMEM, -EINVAL (LEND_CONF names a backend that is not there).
 */
int lend__init(void);

#endif
