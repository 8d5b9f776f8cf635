/* SPDX-License-Identifier: MIT */
#include <lend/lend.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/contenders.h"
#include "bench/figures.h"
#include "bench/report.h"

#define SMALL_PAGE 4096
#define MIB ((double)(1 << 20))
#define THP "/sys/kernel/mm/transparent_hugepage/enabled"

struct touched {
	struct bench_series faults, ms;
};

enum thp { THP_UNKNOWN, THP_NEVER, THP_MADVISE, THP_ALWAYS };

static enum thp
thp_mode(void)
{
	FILE *file = fopen(THP, "r");
	char line[80] = "";

	if (!file)
		return THP_UNKNOWN;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	return strstr(line, "[madvise]") ? THP_MADVISE :
	       strstr(line, "[always]") ? THP_ALWAYS :
	       strstr(line, "[never]") ? THP_NEVER : THP_UNKNOWN;
}

static double
faults(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		bench_die("no getrusage");
	return (double)usage.ru_minflt + (double)usage.ru_majflt;
}

static void
touch(volatile char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += SMALL_PAGE)
		p[i] = 1;
}

static void
add(struct touched *into, double faults_before, uint64_t begin)
{
	bench_series_add(&into->ms, (double)(bench_now() - begin) / 1e6);
	bench_series_add(&into->faults, faults() - faults_before);
}

/* One buffer through an arena of its own.  False: no memory. */
static bool
touch_lend(size_t bytes, struct touched *into, struct bench_series *huge)
{
	struct lend_req req = { .a_bytes = bytes };
	struct lend_worker loan;
	lend_arena *arena;
	double before = faults();
	uint64_t begin = bench_now();
	size_t huge_bytes;
	bool done = false;

	if (lend_arena_create(&arena, NULL))
		return false;
	if (lend_worker_checkout(arena, &req, &loan) == 0) {
		touch(loan.a, bytes);
		add(into, before, begin);
		if (lend_arena_huge_bytes(arena, &huge_bytes) == 0)
			bench_series_add(huge, 100.0 * (double)huge_bytes /
					       (double)bytes);
		lend_worker_return(arena, &loan);
		done = true;
	}
	return lend_arena_destroy(arena) == 0 && done;
}

static bool
touch_malloc(struct contender *c, size_t bytes, struct touched *into)
{
	double before = faults();
	uint64_t begin = bench_now();
	char *p = contender_malloc(c, bytes);

	if (!p)
		return false;
	touch(p, bytes);
	add(into, before, begin);
	contender_free(c, p);
	return true;
}

static bool
room_for(size_t bytes)
{
	double pages = (double)sysconf(_SC_AVPHYS_PAGES);

	return pages * (double)sysconf(_SC_PAGESIZE) > 1.5 * (double)bytes;
}

static void
report_touch(const struct figures_plan *plan, enum thp thp,
	     const struct touched *ours, const struct touched *glibc,
	     const struct bench_series *huge)
{
	const char *name = contenders[GLIBC].name;
	struct bench_series ratio =
		bench_ratio(&glibc->faults, &ours->faults);
	struct report_row *row = report_add("touch-huge", 1, "%", "count");

	report_ours(row, huge);
	if (thp != THP_NEVER)
		report_aim(row, AIM_VALUE_AT_LEAST, 95);
	report_note(row, "of %.0f MiB, first touched; huge pages: %s",
		    (double)plan->touch_bytes / MIB,
		    thp == THP_MADVISE ? "madvise" :
		    thp == THP_ALWAYS ? "always" :
		    thp == THP_NEVER ? "never" : "unknown");
	row = report_add("touch-faults", 1, "faults", "count");
	report_ours(row, &ours->faults);
	report_peer(row, name, bench_median(&glibc->faults));
	report_ratio(row, name, &ratio);
	/* With "always" malloc gets huge pages as well: nothing to win. */
	if (thp == THP_MADVISE)
		report_aim(row, AIM_RATIO_AT_LEAST, 10);
	row = report_add("touch-time", 1, "ms", "wall");
	ratio = bench_ratio(&glibc->ms, &ours->ms);
	report_ours(row, &ours->ms);
	report_peer(row, name, bench_median(&glibc->ms));
	report_ratio(row, name, &ratio);
}

void
figures_touch(const struct figures_plan *plan)
{
	struct touched ours = { 0 }, glibc = { 0 };
	struct bench_series huge = { 0 };
	bool malloc_there = contenders[GLIBC].present;
	size_t bytes = plan->touch_bytes;
	bool enough = room_for(bytes);

	/* Whoever is second gets pages that are warm: they take turns. */
	for (int i = 0; enough && i < plan->touch_rounds; i++) {
		bool first = i % 2 == 0;

		enough = (!first || touch_lend(bytes, &ours, &huge)) &&
			 (!malloc_there ||
			  touch_malloc(&contenders[GLIBC], bytes, &glibc)) &&
			 (first || touch_lend(bytes, &ours, &huge));
	}
	if (!enough)
		fprintf(stderr, "bench: first touch: not enough memory\n");
	report_touch(plan, thp_mode(), &ours, &glibc, &huge);
}
