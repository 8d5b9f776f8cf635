/* SPDX-License-Identifier: MIT */
/*
 * Reads one flat JSON object: strings, whole numbers and null by name.
 * Strict: what is not such an object, and nothing else, is refused.
 */
#ifndef TESTS_SUPPORT_JSON_H
#define TESTS_SUPPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_MEMBERS 32
#define JSON_STRING 256

struct json {
	size_t n;
	struct json_member {
		char key[JSON_STRING];
		enum { JSON_TEXT, JSON_NUMBER, JSON_NULL } kind;
		char text[JSON_STRING];	/* unescaped */
		uint64_t number;
	} member[JSON_MEMBERS];
};

bool json_parse(struct json *json, const char *text);

/* The member's value; null or false: no such member of that kind. */
const char *json_string(const struct json *json, const char *key);
bool json_number(const struct json *json, const char *key, uint64_t *number);
bool json_is_null(const struct json *json, const char *key);

#endif
