/* SPDX-License-Identifier: MIT */
/* The contraction of a request whose body is complete. */
#ifndef EXAMPLES_SERVER_WORK_H
#define EXAMPLES_SERVER_WORK_H

struct request;

/*
 * Sets the request's status, and the answer if that is 200.  Any number at
 * once, on different requests.
 */
void work(struct request *request);

#endif
