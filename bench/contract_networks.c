/* SPDX-License-Identifier: MIT */
/*
 * Each instance by lend, from a warm arena, and by NumPy in two ways, step by
 * step along the same path: einsum as it is, and einsum with optimize=True,
 * which hands steps that are matrix products to a BLAS.  Operands are constant
 * and scaled so that the result is 1 everywhere: all of them are checked.
 */
#include "bench/contract_networks.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <lend/network.h>

#include "bench/contract_peer.h"
#include "bench/harness.h"
#include "bench/python_child.h"
#include "bench/report.h"
#include "tools/instance.h"

/* What takes this long a turn is measured in few rounds. */
#define SLOW_NS 1000000000u
#define SLOW_ROUNDS 2

enum { LEND, EINSUM, BLAS, CONTENDERS };

static const char *const names[CONTENDERS] = {
	"lend", "einsum", "einsum-blas"
};

/* argv: the instance, the path, plain or blas. */
static const char script[] =
	"import json, sys, time\n"
	"import numpy as np\n"
	"file, name, how = sys.argv[1:]\n"
	"j = json.load(open(file))\n"
	"text, out = j['format_string'].split('->')\n"
	"inputs = text.split(',')\n"
	"letters = [chr(c) for c in range(65, 123) if chr(c).isalpha()]\n"
	"extent, seen, tensors = {}, set(out), []\n"
	"for labels, shape in zip(inputs, j['shapes']):\n"
	"    extent.update(zip(labels, shape))\n"
	"    new = set(labels) - seen\n"
	"    seen |= new\n"
	"    scale = 1 / np.prod([float(extent[c]) for c in new])\n"
	"    tensors.append(np.full(shape, scale))\n"
	"work, steps = list(inputs), []\n"
	"for pair in j['paths'][name]['path']:\n"
	"    x, y = sorted(pair)\n"
	"    b, a = work.pop(y), work.pop(x)\n"
	"    rest = set(out).union(*work)\n"
	"    c = ''.join(k for k in dict.fromkeys(a + b) if k in rest)\n"
	"    c = c if work else out\n"
	"    to = {k: letters[i] for i, k in "
	"enumerate(dict.fromkeys(a + b))}\n"
	"    short = [''.join(to[k] for k in s) for s in (a, b, c)]\n"
	"    steps.append((x, y, '{},{}->{}'.format(*short)))\n"
	"    work.append(c)\n"
	"def contract():\n"
	"    work = list(tensors)\n"
	"    for x, y, text in steps:\n"
	"        b, a = work.pop(y), work.pop(x)\n"
	"        work.append(np.einsum(text, a, b, optimize=how == 'blas'))\n"
	"    return work[0]\n"
	"print('ready', flush=True)\n"
	"for line in sys.stdin:\n"
	"    start = time.perf_counter_ns(), time.process_time_ns()\n"
	"    for _ in range(int(line)):\n"
	"        contract()\n"
	"    print(time.perf_counter_ns() - start[0],\n"
	"          time.process_time_ns() - start[1], flush=True)\n";

struct network {
	struct instance instance;
	const struct instance_path *path;
	lend_network *network;
	struct lend_network_info info;
	void **operand;
	size_t *bytes;
	double *result;
	size_t elements;
	lend_arena *arena;
	lend_pool *pool;
	struct lend_exec exec;
};

static double *
pages(size_t elements)
{
	size_t bytes = elements * sizeof(double);
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		bench_die("no memory");
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

static size_t
elements_of(const struct lend_layout *layout)
{
	size_t elements = 1;

	for (size_t i = 0; i < layout->rank; i++)
		elements *= layout->extent[i];
	return elements;
}

static void
make_operands(struct network *n)
{
	const struct instance *in = &n->instance;
	const char *text = in->einsum;

	n->operand = calloc(in->count, sizeof(*n->operand));
	n->bytes = calloc(in->count, sizeof(*n->bytes));
	if (!n->operand || !n->bytes)
		bench_die("no memory");
	for (size_t t = 0; t < in->count; t++) {
		size_t elements = elements_of(&in->layout[t]);
		double scale = instance_scale(in, t, &text);
		double *x = pages(elements);

		for (size_t i = 0; i < elements; i++)
			x[i] = scale;
		n->operand[t] = x;
		n->bytes[t] = elements * sizeof(*x);
	}
}

/* False: the instance has not that path. */
static bool
network_open(struct network *n, const char *file, const char *path,
	     int threads)
{
	struct lend_layout output;
	struct lend_error error;
	struct message why;

	if (!instance_read(&n->instance, file, &why))
		bench_die("%s: %s", file, why.text);
	n->path = instance_path(&n->instance, path);
	if (!n->path) {
		instance_free(&n->instance);
		return false;
	}
	if (lend_network_create(&n->network, n->instance.einsum, LEND_F64,
				n->instance.count, n->instance.layout,
				n->path->pair, n->path->steps, NULL, &error))
		bench_die("%s: %s", file, error.text);
	n->info.size = sizeof(n->info);
	if (lend_network_describe(n->network, &n->info))
		bench_die("%s: no description", file);
	make_operands(n);
	lend_network_output(n->network, &output);
	n->elements = elements_of(&output);
	n->result = pages(n->elements);
	if (lend_arena_create(&n->arena, NULL) ||
	    lend_pool_create(&n->pool, (size_t)threads) ||
	    lend_exec_on_pool(&n->exec, n->pool, (size_t)threads))
		bench_die("no arena or no pool");
	return true;
}

static void
network_close(struct network *n)
{
	for (size_t t = 0; t < n->instance.count; t++)
		munmap(n->operand[t], n->bytes[t]);
	munmap(n->result, n->elements * sizeof(double));
	free(n->operand);
	free(n->bytes);
	lend_network_destroy(n->network);
	instance_free(&n->instance);
	if (lend_pool_destroy(n->pool) || lend_arena_destroy(n->arena))
		bench_die("a pool or an arena is busy");
}

static struct contract_time
run_lend(struct network *n, unsigned turns)
{
	struct lend_network_call call = {
		.operands = (const void *const *)n->operand,
		.output = n->result
	};
	struct contract_time start = contract_now();
	struct lend_error why;

	for (unsigned i = 0; i < turns; i++)
		if (lend_network_execute(n->network, n->arena, &n->exec,
					 &call, &why))
			bench_die("%s", why.text);
	return contract_since(start);
}

static void
check(const struct network *n, const char *file)
{
	for (size_t i = 0; i < n->elements; i++)
		if (!(fabs(n->result[i] - 1) < 1e-10))
			bench_die("%s: element %zu is %g, not 1", file, i,
				  n->result[i]);
}

/* All contenders of one network. */
struct field {
	const struct networks_plan *plan;
	struct network network;
	struct python_child child[CONTENDERS];
	bool here[CONTENDERS];
	unsigned turns[CONTENDERS];
	struct bench_series series[CONTENDERS];
	int threads, rounds;
};

static struct contract_time
turn(struct field *f, int who, unsigned turns)
{
	return who == LEND ? run_lend(&f->network, turns) :
			     python_run(&f->child[who], turns);
}

static void
start(struct field *f, const char *file)
{
	for (int who = 0; who < CONTENDERS; who++) {
		const char *argv[] = {
			contract_libraries.python, "-c", script, file,
			f->network.path->name, who == BLAS ? "blas" : "plain",
			NULL
		};
		uint64_t ns;

		f->here[who] = who == LEND || (f->plan->numpy &&
			python_start(&f->child[who], argv, f->threads));
		if (!f->here[who])
			continue;
		turn(f, who, 1);
		ns = who == LEND ? turn(f, who, 1).wall : 0;
		if (who != LEND)
			ns = turn(f, who, 1).wall;
		f->turns[who] = 1 + (unsigned)(f->plan->sample_ns / (ns + 1));
		if (ns > SLOW_NS && f->rounds > SLOW_ROUNDS)
			f->rounds = SLOW_ROUNDS;
	}
}

/*
 * Turns before those that count: after the other contenders' the threads have
 * slept, and some kernels wake both on one processor, to part them only tens
 * of milliseconds later.
 */
static void
warm_up(struct field *f, int who)
{
	if (f->turns[who] > 1)
		turn(f, who, f->turns[who]);
}

/* In ms. */
static void
measure(struct field *f)
{
	for (int r = 0; r < f->rounds; r++)
		for (int i = 0; i < CONTENDERS; i++) {
			int who = (i + r) % CONTENDERS;
			struct contract_time t;
			double ns;

			if (!f->here[who])
				continue;
			warm_up(f, who);
			t = turn(f, who, f->turns[who]);
			ns = f->plan->cpu ? (double)t.cpu / f->threads :
					    (double)t.wall;
			bench_series_add(&f->series[who],
					 ns / f->turns[who] / 1e6);
		}
}

static void
tell(const struct field *f, const char *key)
{
	struct report_row *row = report_add(key, f->threads, "ms",
					    f->plan->cpu ? "cpu" : "wall");
	const struct lend_network_info *info = &f->network.info;
	int best = 0;

	report_ours(row, &f->series[LEND]);
	for (int who = EINSUM; who < CONTENDERS; who++) {
		if (!f->here[who])
			continue;
		report_peer(row, names[who], bench_median(&f->series[who]));
		if (!best || bench_median(&f->series[who]) <
			     bench_median(&f->series[best]))
			best = who;
	}
	if (best) {
		struct bench_series ratio =
			bench_ratio(&f->series[best], &f->series[LEND]);

		report_ratio(row, names[best], &ratio);
		report_aim(row, AIM_RATIO_AT_LEAST, 3);
	}
	report_note(row, "%zu steps, %.3g GFLOP, buffers of %.3g MB",
		    info->steps, info->flops * 1e-9,
		    (double)info->peak_bytes * 1e-6);
	printf("%-52s %d  lend %8.3f ms", key, f->threads,
	       bench_median(&f->series[LEND]));
	for (int who = EINSUM; who < CONTENDERS; who++)
		if (f->here[who])
			printf("  %s %8.3f", names[who],
			       bench_median(&f->series[who]));
	putchar('\n');
}

/* "net NAME PATH", for as long as the program runs. */
static const char *
key_of(const char *file, const char *path)
{
	const char *name = strrchr(file, '/');
	char *key;

	name = name ? name + 1 : file;
	if (asprintf(&key, "net %.*s %s", (int)strcspn(name, "."), name,
		     path) < 0)
		bench_die("no memory");
	return key;
}

static void
one(const struct networks_plan *plan, const char *file, const char *path,
    int threads)
{
	struct field f = { .plan = plan, .threads = threads,
			   .rounds = plan->repeats };

	if (!network_open(&f.network, file, path, threads))
		return;
	start(&f, file);
	check(&f.network, file);
	measure(&f);
	tell(&f, key_of(file, path));
	for (int who = EINSUM; who < CONTENDERS; who++)
		if (f.here[who])
			python_stop(&f.child[who]);
	network_close(&f.network);
}

void
contract_networks(const struct networks_plan *plan, int threads)
{
	char pattern[4096];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*.json", plan->folder);
	if (glob(pattern, 0, NULL, &found))
		bench_die("%s: no instances", plan->folder);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *file = found.gl_pathv[i];

		if (plan->only && !strstr(file, plan->only))
			continue;
		for (int p = 0; plan->path[p]; p++)
			one(plan, file, plan->path[p], threads);
	}
	globfree(&found);
}
