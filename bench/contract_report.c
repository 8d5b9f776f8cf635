/* SPDX-License-Identifier: MIT */
#include "bench/contract_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report.h"

#define LINES_MAX 512
#define SUMS_MAX 128

/* What the sums need of each contraction: medians, in flops per ns. */
struct line {
	bool single;
	int threads;
	double median[CONTRACT_PEERS];
	double bound;
};

static struct line lines[LINES_MAX];
static int n_lines;
/* Rows beside the contractions. */
static struct report_row *sums[SUMS_MAX];
static int n_sums;

/* The four that the engine must be ahead at, of all that there are. */
static bool
is_aimed_at(const char *name)
{
	static const char *const aimed[] = {
		"abcde-efbad-cf", "abcd-dbea-ec", "abcdef-dega-gfbc",
		"abcd-aebf-dfce",
	};

	for (int i = 0; i < 4; i++)
		if (strcmp(name, aimed[i]) == 0)
			return true;
	return false;
}

static int
best_peer(const struct contract_figures *figures)
{
	double most = 0;
	int best = 0;

	for (int p = CONTRACT_LEND + 1; p < CONTRACT_PEERS; p++) {
		double median = bench_median(&figures->series[p]);

		if (median > most) {
			most = median;
			best = p;
		}
	}
	return best;
}

static void
print_head(void)
{
	printf("GFLOP/s             type thr    lend  %%bound");
	for (int p = CONTRACT_LEND + 1; p < CONTRACT_PEERS; p++)
		printf(" %9s", contract_peers[p].name);
	puts("    bound  lend/best");
}

static void
print_value(int width, double value)
{
	if (isnan(value))
		printf(" %*s", width, "-");
	else
		printf(" %*.1f", width, value);
}

static void
print_line(const struct contract_figures *figures, const struct line *line)
{
	int best = best_peer(figures);

	if (n_lines == 1)
		print_head();
	printf("%-19s %4s %3d", figures->c->name,
	       line->single ? "f32" : "f64", line->threads);
	print_value(7, line->median[CONTRACT_LEND]);
	print_value(6, 100 * line->median[CONTRACT_LEND] / line->bound);
	for (int p = CONTRACT_LEND + 1; p < CONTRACT_PEERS; p++)
		print_value(9, line->median[p]);
	print_value(8, line->bound);
	if (best && !isnan(line->median[CONTRACT_LEND]))
		printf(" %9.2fx", line->median[CONTRACT_LEND] /
				  line->median[best]);
	putchar('\n');
	fflush(stdout);
}

void
contract_report_case(const struct contract_figures *figures)
{
	const struct contract_case *c = figures->c;
	const struct bench_series *ours = &figures->series[CONTRACT_LEND];
	char *key = malloc(strlen(c->name) + 8);
	int best = best_peer(figures);
	struct report_row *row;
	struct line *line;

	if (!key || n_lines == LINES_MAX)
		bench_die("no room for another contraction");
	sprintf(key, "%s %s", c->single ? "f32" : "f64", c->name);
	row = report_add(key, figures->threads, "GFLOP/s",
			 figures->cpu ? "cpu" : "wall");
	line = &lines[n_lines++];
	*line = (struct line){
		.single = c->single,
		.threads = figures->threads,
		.bound = figures->bound,
	};
	for (int p = 0; p < CONTRACT_PEERS; p++) {
		line->median[p] = bench_median(&figures->series[p]);
		if (p != CONTRACT_LEND)
			report_peer(row, contract_peers[p].name,
				    line->median[p]);
	}
	report_peer(row, "bound", figures->bound);
	report_ours(row, ours);
	if (best) {
		struct bench_series ratio =
			bench_ratio(ours, &figures->series[best]);

		report_ratio(row, contract_peers[best].name, &ratio);
	}
	if (is_aimed_at(c->name))
		report_aim(row, AIM_RATIO_AT_LEAST, 1);
	report_note(row, "%.0f %% of the bound",
		    100 * line->median[CONTRACT_LEND] / line->bound);
	print_line(figures, line);
}

/* ------------------------------------------------------------------------
 * Sums
 * --------------------------------------------------------------------- */

/* Of a type and a number of threads. */
static bool
is_of(const struct line *line, bool single, int threads)
{
	return line->single == single && line->threads == threads &&
	       !isnan(line->median[CONTRACT_LEND]);
}

static struct report_row *
add_sum(const char *what, bool single, int threads, const char *unit)
{
	char *key = malloc(strlen(what) + 8);
	struct report_row *row;

	if (!key || n_sums == SUMS_MAX)
		bench_die("no room for another sum");
	sprintf(key, "%s %s", single ? "f32" : "f64", what);
	row = report_add(key, threads, unit, "wall");
	sums[n_sums++] = row;
	return row;
}

/* The geometric mean of lend's figures over the peer's. */
static void
sum_peer(int peer, bool single, int threads)
{
	struct report_row *row;
	double sum = 0;
	int n = 0;

	for (int i = 0; i < n_lines; i++) {
		if (!is_of(&lines[i], single, threads) ||
		    isnan(lines[i].median[peer]))
			continue;
		sum += log(lines[i].median[CONTRACT_LEND] /
			   lines[i].median[peer]);
		n++;
	}
	if (!n)
		return;
	row = add_sum("mean", single, threads, "x");
	row->ratio = exp(sum / n);
	row->against = contract_peers[peer].name;
	if (peer == CONTRACT_TBLIS)
		report_aim(row, AIM_RATIO_AT_LEAST, 1.5);
	report_note(row, "geometric mean over %d contractions", n);
}

static void
sum_bound(bool single, int threads)
{
	struct report_row *row;
	double sum = 0;
	int n = 0;

	for (int i = 0; i < n_lines; i++) {
		if (!is_of(&lines[i], single, threads))
			continue;
		sum += 100 * lines[i].median[CONTRACT_LEND] / lines[i].bound;
		n++;
	}
	if (!n)
		return;
	row = add_sum("of-bound", single, threads, "%");
	row->ours = sum / n;
	report_aim(row, AIM_VALUE_AT_LEAST, 75);
	report_note(row, "mean over %d contractions", n);
}

void
contract_report_sums(void)
{
	for (int single = 0; single < 2; single++) {
		for (int threads = 1; threads <= BENCH_THREADS_MAX;
		     threads++) {
			sum_bound(single, threads);
			for (int p = CONTRACT_LEND + 1; p < CONTRACT_PEERS;
			     p++)
				sum_peer(p, single, threads);
		}
	}
}

void
contract_report_print(void)
{
	putchar('\n');
	for (int i = 0; i < n_sums; i++) {
		const struct report_row *row = sums[i];

		printf("%-14s %2d thr ", row->key, row->threads);
		if (row->against)
			printf("%6.2fx %-9s", row->ratio, row->against);
		else
			printf("%6.1f%% %9s", row->ours, "");
		printf(" %s\n", row->note);
	}
}
