/* SPDX-License-Identifier: MIT */
/*
 * Figures as people read them and as programs do: a table on standard output,
 * a list of objects in a JSON file.  Values that are not there are NAN here,
 * "-" in the table and null in the file.
 */
#ifndef LEND_BENCH_REPORT_H
#define LEND_BENCH_REPORT_H

#include <stdbool.h>

#include "bench/harness.h"

#define REPORT_PEERS 12
#define REPORT_NOTE 160

enum aim_kind {
	AIM_NONE,
	AIM_RATIO_AT_LEAST,	/* peer / ours: how much better we are */
	AIM_RATIO_AT_MOST,	/* ours / peer: how much worse we are */
	AIM_VALUE_AT_LEAST,
	AIM_VALUE_AT_MOST
};

struct report_row {
	const char *key;	/* which figure */
	int threads;
	const char *unit;
	const char *measure;	/* "wall", "cpu" or "count" */
	const char *form;	/* "calls" or "callback"; null: neither */
	double ours, low, high;	/* the median and its spread */
	const char *peer[REPORT_PEERS];	/* up to the first null */
	double value[REPORT_PEERS];
	double ratio, ratio_low, ratio_high;
	const char *against;	/* whose ratio; null: there is none */
	enum aim_kind aim;
	double bound;
	char note[REPORT_NOTE];
};

/* A new row, its numbers NAN; it lives until the end of the program. */
struct report_row *report_add(const char *key, int threads, const char *unit,
			      const char *measure);
void report_ours(struct report_row *row, const struct bench_series *series);
void report_peer(struct report_row *row, const char *name, double value);
void report_ratio(struct report_row *row, const char *against,
		  const struct bench_series *ratio);
void report_aim(struct report_row *row, enum aim_kind aim, double bound);
void report_note(struct report_row *row, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A smoke run states aims and judges none. */
void report_judge(bool judge);

void report_print(void);
/* 0, or a negative errno value. */
int report_write_json(const char *path);

#endif
