/* SPDX-License-Identifier: MIT */
#include "support/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool
skip(const char **at, const char *token)
{
	size_t length = strlen(token);

	if (strncmp(*at, token, length))
		return false;
	*at += length;
	return true;
}

/* What follows a backslash; a code beyond one byte is none of ours. */
static bool
read_escape(const char **at, char *to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	const char *place = **at ? strchr(from, **at) : NULL;
	char digits[5] = "", *end;
	unsigned long code;

	if (place) {
		(*at)++;
		*to = into[place - from];
		return true;
	}
	if (!skip(at, "u"))
		return false;
	strncpy(digits, *at, 4);
	code = strtoul(digits, &end, 16);
	if (end != digits + 4 || code == 0 || code > 0x7f)
		return false;
	*at += 4;
	*to = (char)code;
	return true;
}

static bool
read_string(const char **at, char to[JSON_STRING])
{
	size_t n = 0;

	if (!skip(at, "\""))
		return false;
	while (**at != '"') {
		/* Bare control characters are not allowed; nor is the end. */
		if ((unsigned char)**at < 0x20 || n == JSON_STRING - 1)
			return false;
		if (skip(at, "\\")) {
			if (!read_escape(at, &to[n++]))
				return false;
		} else {
			to[n++] = *(*at)++;
		}
	}
	(*at)++;
	to[n] = '\0';
	return true;
}

static bool
read_number(const char **at, uint64_t *number)
{
	char *end;

	if (**at < '0' || **at > '9' || (**at == '0' && (*at)[1] >= '0' &&
					 (*at)[1] <= '9'))
		return false;
	errno = 0;
	*number = strtoull(*at, &end, 10);
	*at = end;
	return errno == 0;
}

static bool
read_member(const char **at, struct json_member *member)
{
	if (!read_string(at, member->key) || !skip(at, ":"))
		return false;
	if (**at == '"') {
		member->kind = JSON_TEXT;
		return read_string(at, member->text);
	}
	if (skip(at, "null")) {
		member->kind = JSON_NULL;
		return true;
	}
	member->kind = JSON_NUMBER;
	return read_number(at, &member->number);
}

static const struct json_member *
find(const struct json *json, const char *key)
{
	for (size_t i = 0; i < json->n; i++)
		if (strcmp(json->member[i].key, key) == 0)
			return &json->member[i];
	return NULL;
}

bool
json_parse(struct json *json, const char *text)
{
	json->n = 0;
	if (!skip(&text, "{"))
		return false;
	do {
		struct json_member *member = &json->member[json->n];

		if (json->n == JSON_MEMBERS || !read_member(&text, member) ||
		    find(json, member->key))
			return false;
		json->n++;
	} while (skip(&text, ","));
	return skip(&text, "}") && *text == '\0';
}

const char *
json_string(const struct json *json, const char *key)
{
	const struct json_member *member = find(json, key);

	return member && member->kind == JSON_TEXT ? member->text : NULL;
}

bool
json_number(const struct json *json, const char *key, uint64_t *number)
{
	const struct json_member *member = find(json, key);

	if (!member || member->kind != JSON_NUMBER)
		return false;
	*number = member->number;
	return true;
}

bool
json_is_null(const struct json *json, const char *key)
{
	const struct json_member *member = find(json, key);

	return member && member->kind == JSON_NULL;
}
