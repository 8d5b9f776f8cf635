/* SPDX-License-Identifier: MIT */
/* What is lent in every figure that names no other size. */
#ifndef LEND_BENCH_REQUEST_H
#define LEND_BENCH_REQUEST_H

#include <stddef.h>

#include <lend/request.h>

extern const struct lend_req bench_req;
/* The shape of every team. */
#define BENCH_PM ((size_t)2)
#define BENCH_PN ((size_t)1)

#endif
