/* SPDX-License-Identifier: MIT */
#include "bench/report.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ROWS_MAX 1024
#define TEXT 24

enum verdict { NOT_JUDGED, MET, MISSED };

static struct report_row rows[ROWS_MAX];
static int n_rows;
static bool judging = true;

struct report_row *
report_add(const char *key, int threads, const char *unit,
	   const char *measure)
{
	struct report_row *row;

	if (n_rows == ROWS_MAX)
		bench_die("more than %d rows", ROWS_MAX);
	row = &rows[n_rows++];
	row->key = key;
	row->threads = threads;
	row->unit = unit;
	row->measure = measure;
	row->ours = row->low = row->high = NAN;
	row->ratio = row->ratio_low = row->ratio_high = NAN;
	return row;
}

void
report_ours(struct report_row *row, const struct bench_series *series)
{
	row->ours = bench_median(series);
	row->low = bench_min(series);
	row->high = bench_max(series);
}

void
report_peer(struct report_row *row, const char *name, double value)
{
	for (int i = 0; i < REPORT_PEERS; i++) {
		if (row->peer[i])
			continue;
		row->peer[i] = name;
		row->value[i] = value;
		return;
	}
	bench_die("more than %d peers", REPORT_PEERS);
}

void
report_ratio(struct report_row *row, const char *against,
	     const struct bench_series *ratio)
{
	row->against = against;
	row->ratio = bench_median(ratio);
	row->ratio_low = bench_min(ratio);
	row->ratio_high = bench_max(ratio);
}

void
report_aim(struct report_row *row, enum aim_kind aim, double bound)
{
	row->aim = aim;
	row->bound = bound;
}

void
report_note(struct report_row *row, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(row->note, sizeof(row->note), format, args);
	va_end(args);
}

void
report_judge(bool judge)
{
	judging = judge;
}

static enum verdict
judge(const struct report_row *row)
{
	bool of_ratio = row->aim == AIM_RATIO_AT_LEAST ||
			row->aim == AIM_RATIO_AT_MOST;
	bool at_least = row->aim == AIM_RATIO_AT_LEAST ||
			row->aim == AIM_VALUE_AT_LEAST;
	double value = of_ratio ? row->ratio : row->ours;

	if (!judging || row->aim == AIM_NONE || isnan(value))
		return NOT_JUDGED;
	if (at_least)
		return value >= row->bound ? MET : MISSED;
	return value <= row->bound ? MET : MISSED;
}

static const char *
aim_text(const struct report_row *row, char *text)
{
	static const char *const sign[] = {
		[AIM_NONE] = "",
		[AIM_RATIO_AT_LEAST] = ">=", [AIM_RATIO_AT_MOST] = "<=",
		[AIM_VALUE_AT_LEAST] = ">=", [AIM_VALUE_AT_MOST] = "<=",
	};
	bool of_ratio = row->aim == AIM_RATIO_AT_LEAST ||
			row->aim == AIM_RATIO_AT_MOST;

	if (row->aim == AIM_NONE)
		return NULL;
	snprintf(text, TEXT, "%s %g%s", sign[row->aim], row->bound,
		 of_ratio ? "x" : "");
	return text;
}

/* Three or four digits, as people read them. */
static const char *
number(double value, char *text)
{
	double size = fabs(value);

	if (isnan(value))
		snprintf(text, TEXT, "-");
	else if (value == floor(value) && size < 1e7)
		snprintf(text, TEXT, "%.0f", value);
	else if (size >= 1e7)
		snprintf(text, TEXT, "%.2e", value);
	else
		snprintf(text, TEXT, "%.*f",
			 size >= 100 ? 0 : size >= 10 ? 1 : 2, value);
	return text;
}

static double
value_of(const struct report_row *row, const char *peer)
{
	for (int i = 0; i < REPORT_PEERS && row->peer[i]; i++)
		if (strcmp(row->peer[i], peer) == 0)
			return row->value[i];
	return NAN;
}

static void
print_number(double value)
{
	char text[TEXT];

	printf(" %8s", number(value, text));
}

static void
print_row(const struct report_row *row)
{
	static const char *const verdict[] = {
		[NOT_JUDGED] = "", [MET] = "met", [MISSED] = "MISSED",
	};
	char low[TEXT], high[TEXT], spread[2 * TEXT + 2], aim[TEXT];
	const char *text = aim_text(row, aim);

	snprintf(spread, sizeof(spread), "%s..%s", number(row->low, low),
		 number(row->high, high));
	printf("%-20s %3d %-5s %-6s", row->key, row->threads, row->measure,
	       row->unit);
	print_number(row->ours);
	printf(" %16s", isnan(row->low) ? "-" : spread);
	print_number(value_of(row, "peer"));
	print_number(value_of(row, "mutex"));
	print_number(row->ratio);
	printf(" %-5s %-8s %s\n", row->against ? row->against : "",
	       text ? text : "", verdict[judge(row)]);
}

static void
print_figures(void)
{
	printf("%-20s %3s %-5s %-6s %8s %16s %8s %8s %8s %-5s %-8s %s\n",
	       "figure", "thr", "", "unit", "lend", "spread", "peer", "mutex",
	       "ratio", "to", "aim", "");
	for (int i = 0; i < n_rows; i++)
		print_row(&rows[i]);
}

static int
column(const char *name)
{
	return strlen(name) > 8 ? (int)strlen(name) : 8;
}

/* The figures that have other contenders than the two arenas. */
static void
print_others(void)
{
	static const char *const other[] = {
		"peer-inside", "tls", "tls-default", "glibc", "jemalloc",
		"mimalloc", "tcmalloc", "tbb",
	};
	int n = (int)(sizeof(other) / sizeof(other[0]));

	printf("\n%-20s %3s %-5s %-6s %8s", "beside others", "thr", "", "unit",
	       "lend");
	for (int i = 0; i < n; i++)
		printf(" %*s", column(other[i]), other[i]);
	putchar('\n');
	for (int r = 0; r < n_rows; r++) {
		const struct report_row *row = &rows[r];
		char text[TEXT];

		if (isnan(value_of(row, "glibc")))
			continue;
		printf("%-20s %3d %-5s %-6s", row->key, row->threads,
		       row->measure, row->unit);
		print_number(row->ours);
		for (int i = 0; i < n; i++) {
			printf(" %*s", column(other[i]),
			       number(value_of(row, other[i]), text));
		}
		putchar('\n');
	}
}

void
report_print(void)
{
	print_figures();
	print_others();
	putchar('\n');
	for (int i = 0; i < n_rows; i++)
		if (rows[i].note[0])
			printf("%s, %d: %s\n", rows[i].key, rows[i].threads,
			       rows[i].note);
}

static void
json_string(FILE *file, const char *text)
{
	if (!text) {
		fputs("null", file);
		return;
	}
	putc('"', file);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < 0x20)
			fprintf(file, "\\u%04x", c);
		else
			putc(c, file);
	}
	putc('"', file);
}

static void
json_number(FILE *file, double value)
{
	if (isfinite(value))
		fprintf(file, "%.6g", value);
	else
		fputs("null", file);
}

static void
json_member(FILE *file, const char *name, const char *text)
{
	fprintf(file, ", \"%s\": ", name);
	json_string(file, text);
}

static void
json_pair(FILE *file, const char *name, double low, double high)
{
	fprintf(file, ", \"%s\": [", name);
	json_number(file, low);
	fputs(", ", file);
	json_number(file, high);
	putc(']', file);
}

static void
json_peers(FILE *file, const struct report_row *row)
{
	fputs(", \"peers\": {", file);
	for (int i = 0; i < REPORT_PEERS && row->peer[i]; i++) {
		fputs(i ? ", " : "", file);
		json_string(file, row->peer[i]);
		fputs(": ", file);
		json_number(file, row->value[i]);
	}
	putc('}', file);
}

static void
json_row(FILE *file, const struct report_row *row)
{
	static const char *const met[] = {
		[NOT_JUDGED] = "null", [MET] = "true", [MISSED] = "false",
	};
	char aim[TEXT];

	fputs("  {\"key\": ", file);
	json_string(file, row->key);
	fprintf(file, ", \"threads\": %d", row->threads);
	json_member(file, "unit", row->unit);
	json_member(file, "measure", row->measure);
	json_member(file, "form", row->form);
	fputs(", \"ours\": ", file);
	json_number(file, row->ours);
	json_pair(file, "spread", row->low, row->high);
	json_peers(file, row);
	fputs(", \"ratio\": ", file);
	json_number(file, row->ratio);
	json_pair(file, "ratio_spread", row->ratio_low, row->ratio_high);
	json_member(file, "against", row->against);
	json_member(file, "aim", aim_text(row, aim));
	fprintf(file, ", \"met\": %s", met[judge(row)]);
	json_member(file, "note", row->note[0] ? row->note : NULL);
	putc('}', file);
}

int
report_write_json(const char *path)
{
	FILE *file = fopen(path, "w");
	bool failed;

	if (!file)
		return -errno;
	fputs("[\n", file);
	for (int i = 0; i < n_rows; i++) {
		json_row(file, &rows[i]);
		fputs(i + 1 < n_rows ? ",\n" : "\n", file);
	}
	fputs("]\n", file);
	failed = ferror(file);
	return (fclose(file) != 0 || failed) ? -EIO : 0;
}
