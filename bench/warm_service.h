/* SPDX-License-Identifier: MIT */
/*
 * A service's first contraction of a plan, in a new workspace and in a
 * prepared one: time and page faults, as rows of the report.
 */
#ifndef LEND_BENCH_WARM_SERVICE_H
#define LEND_BENCH_WARM_SERVICE_H

void warm_service(int rounds);

#endif
