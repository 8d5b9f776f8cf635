/* SPDX-License-Identifier: MIT */
#include "tools/json.h"

#include <inttypes.h>
#include <math.h>

/* UTF-8 stays as it is. */
static void
put_string(FILE *file, const char *text)
{
	putc('"', file);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < ' ' || c == 0x7f)
			fprintf(file, "\\u%04x", c);
		else
			putc(c, file);
	}
	putc('"', file);
}

static void
put_key(struct json_out *json, const char *key)
{
	if (json->inner)
		putc(',', json->file);
	if (json->depth > 0 && key)
		fprintf(json->file, "\n%*s", 2 * json->depth, "");
	else if (json->inner)
		putc(' ', json->file);
	json->inner = true;
	if (!key)
		return;
	put_string(json->file, key);
	fputs(": ", json->file);
}

void
json_begin(struct json_out *json, const char *key, char bracket)
{
	put_key(json, key);
	putc(bracket, json->file);
	json->depth++;
	json->inner = false;
}

void
json_end(struct json_out *json, char bracket)
{
	json->depth--;
	json->inner = true;
	if (bracket == '}')
		fprintf(json->file, "\n%*s", 2 * json->depth, "");
	putc(bracket, json->file);
	if (json->depth == 0)
		putc('\n', json->file);
}

void
json_put_text(struct json_out *json, const char *key, const char *value)
{
	put_key(json, key);
	put_string(json->file, value);
}

void
json_put_size(struct json_out *json, const char *key, uint64_t value)
{
	put_key(json, key);
	fprintf(json->file, "%" PRIu64, value);
}

void
json_put_real(struct json_out *json, const char *key, double value)
{
	put_key(json, key);
	if (isfinite(value))
		fprintf(json->file, "%.10g", value);
	else
		fputs("null", json->file);
}

void
json_put_bool(struct json_out *json, const char *key, bool value)
{
	put_key(json, key);
	fputs(value ? "true" : "false", json->file);
}

void
json_put_null(struct json_out *json, const char *key)
{
	put_key(json, key);
	fputs("null", json->file);
}

void
json_put_raw(struct json_out *json, const char *key, const char *value)
{
	put_key(json, key);
	fputs(value, json->file);
}
