/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON.  A null key is for elements of an array and the outermost
 * value.
 */
#ifndef LEND_TOOLS_JSON_H
#define LEND_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
	FILE *file;
	int depth;
	bool inner;	/* something stands before in the present brackets */
};

/* Closing the outermost brackets ends the line. */
void json_begin(struct json_out *json, const char *key, char bracket);
void json_end(struct json_out *json, char bracket);

void json_put_text(struct json_out *json, const char *key, const char *value);
void json_put_size(struct json_out *json, const char *key, uint64_t value);
/* null for what is no finite number. */
void json_put_real(struct json_out *json, const char *key, double value);
void json_put_bool(struct json_out *json, const char *key, bool value);
void json_put_null(struct json_out *json, const char *key);
/* Text that is JSON already. */
void json_put_raw(struct json_out *json, const char *key, const char *value);

#endif
