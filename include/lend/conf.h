/* SPDX-License-Identifier: MIT */
/* What LEND_CONF in the environment says to libraries over this one. */
#ifndef LEND_CONF_H
#define LEND_CONF_H

#include <lend/visibility.h>

LEND_BEGIN_DECLS

/* The kernel for contractions that it names, null if it names none. */
LEND_API const char *
lend_conf_kernel(void);

LEND_END_DECLS

#endif
