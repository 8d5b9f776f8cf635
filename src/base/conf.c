/* SPDX-License-Identifier: MIT */
#include "base/conf.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/os.h"

/* The default: a handful of large intermediates. */
#define BUFFER_CACHE ((size_t)64 << 20)

/* A piece of the text, not terminated. */
struct span {
	const char *text;
	size_t length;
};

static bool
span_is(struct span span, const char *word)
{
	return span.length == strlen(word) &&
	       memcmp(span.text, word, span.length) == 0;
}

static bool
parse_bool(struct span value, bool *to)
{
	if (!span_is(value, "true") && !span_is(value, "false"))
		return false;
	*to = span_is(value, "true");
	return true;
}

static unsigned
unit_shift(char unit)
{
	switch (unit) {
	case 'K': case 'k': return 10;
	case 'M': case 'm': return 20;
	case 'G': case 'g': return 30;
	case 'T': case 't': return 40;
	default: return 0;
	}
}

/* Digits, then at most one of K, M, G, T. */
static bool
parse_size(struct span value, size_t *to)
{
	unsigned shift = 0;
	size_t sum = 0;

	if (value.length > 1)
		shift = unit_shift(value.text[value.length - 1]);
	if (shift)
		value.length--;
	if (value.length == 0)
		return false;
	for (size_t i = 0; i < value.length; i++) {
		char c = value.text[i];

		if (c < '0' || c > '9' ||
		    __builtin_mul_overflow(sum, (size_t)10, &sum) ||
		    __builtin_add_overflow(sum, (size_t)(c - '0'), &sum))
			return false;
	}
	if (sum > SIZE_MAX >> shift)
		return false;
	*to = sum << shift;
	return true;
}

static bool
parse_word(struct span value, char *to, size_t size)
{
	if (value.length == 0 || value.length >= size)
		return false;
	memcpy(to, value.text, value.length);
	to[value.length] = '\0';
	return true;
}

/* Returns 1: set, 0: impossible value, -1: unknown key. */
static int
set(struct conf *conf, struct span key, struct span value)
{
	if (span_is(key, "backend"))
		return parse_word(value, conf->backend, sizeof(conf->backend));
	if (span_is(key, "kernel"))
		return parse_word(value, conf->kernel, sizeof(conf->kernel));
	if (span_is(key, "buffer_cache"))
		return parse_size(value, &conf->buffer_cache);
	if (span_is(key, "limit"))
		return parse_size(value, &conf->limit);
	if (span_is(key, "trace"))
		return parse_bool(value, &conf->trace);
	if (span_is(key, "hugetlb"))
		return parse_bool(value, &conf->hugetlb);
	if (span_is(key, "membarrier"))
		return parse_bool(value, &conf->membarrier);
	if (span_is(key, "fork"))
		return parse_bool(value, &conf->fork);
	if (span_is(key, "stats_print"))
		return parse_bool(value, &conf->stats_print);
	return -1;
}

static int
shown(struct span span)
{
	return span.length > 64 ? 64 : (int)span.length;
}

static void
parse_pair(struct conf *conf, struct span pair)
{
	const char *colon = memchr(pair.text, ':', pair.length);
	struct span key = pair, value = { NULL, 0 };
	int result;

	if (!colon) {
		os_complain("lend: LEND_CONF: no value in '%.*s'\n",
			    shown(pair), pair.text);
		return;
	}
	key.length = (size_t)(colon - pair.text);
	value.text = colon + 1;
	value.length = pair.length - key.length - 1;
	result = set(conf, key, value);
	if (result < 0)
		os_complain("lend: LEND_CONF: unknown key '%.*s'\n",
			    shown(key), key.text);
	else if (result == 0)
		os_complain("lend: LEND_CONF: bad value '%.*s' for '%.*s'\n",
			    shown(value), value.text, shown(key), key.text);
}

void
conf_parse(struct conf *conf, const char *text)
{
	memset(conf, 0, sizeof(*conf));
	conf->buffer_cache = BUFFER_CACHE;
	conf->membarrier = true;
	conf->fork = true;
	while (text && *text) {
		size_t length;

		text += strspn(text, " ");
		length = strcspn(text, ",");

		if (length)
			parse_pair(conf, (struct span){ text, length });
		text += length;
		text += *text == ',';
	}
}
