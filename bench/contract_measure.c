/* SPDX-License-Identifier: MIT */
#include "bench/contract_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/contract_check.h"

struct entry {
	bool here;
	unsigned turns;		/* of a sample */
};

static void *
pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		bench_die("no memory");
	/* The same for all that work here; NumPy asks for it as well. */
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

static void
fill(const struct contract_case *c, int o, void *data)
{
	uint64_t x = (uint64_t)o + 1;

	for (size_t i = 0; i < c->tensor[o].elements; i++) {
		double number;

		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		number = (double)(int64_t)x * 0x1p-63;
		if (c->single)
			((float *)data)[i] = (float)number;
		else
			((double *)data)[i] = number;
	}
}

static size_t
bytes_of(const struct contract_case *c, int o)
{
	return c->tensor[o].elements * c->element;
}

/* Once, to warm up, to see whether it is right, and how long it takes. */
static void
warm(struct contract_peer *peer, const struct contract_job *job,
     const struct contract_plan *plan, struct entry *entry, uint64_t *slowest)
{
	uint64_t ns;

	/* Not a number, in both types. */
	if (!peer->foreign)
		memset(job->data[CASE_C], 0xff, bytes_of(job->c, CASE_C));
	ns = peer->run(peer, 1).wall;
	if (!peer->foreign && !contract_check(job))
		bench_die("%s: %s is wrong", job->c->name, peer->name);
	if (ns < plan->sample_ns)
		ns = peer->run(peer, 1).wall;
	entry->turns = (unsigned)(1 + plan->sample_ns / (ns + 1));
	if (ns > *slowest)
		*slowest = ns;
}

/* Nanoseconds of one contraction. */
static double
sample(struct contract_peer *peer, unsigned turns, int threads, bool cpu)
{
	struct contract_time time = peer->run(peer, turns);

	return (cpu ? (double)time.cpu / threads : (double)time.wall) / turns;
}

static void
run_rounds(struct contract_figures *figures, const struct entry *entry,
	   int rounds)
{
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < CONTRACT_PEERS; i++) {
			int p = (i + round) % CONTRACT_PEERS;
			struct contract_peer *peer = &contract_peers[p];
			double ns = NAN;

			if (entry[p].here)
				ns = sample(peer, entry[p].turns,
					    figures->threads, figures->cpu);
			bench_series_add(&figures->series[p],
					 figures->c->flops / ns);
		}
	}
}

void
contract_measure(struct contract_figures *figures,
		 const struct contract_case *c, int threads,
		 const struct contract_plan *plan)
{
	struct contract_job job = { .c = c, .threads = threads };
	struct entry entry[CONTRACT_PEERS] = { { false, 0 } };
	uint64_t slowest = 0;

	memset(figures, 0, sizeof(*figures));
	figures->c = c;
	figures->threads = threads;
	figures->cpu = plan->cpu;
	for (int o = 0; o < CASE_OPERANDS; o++) {
		job.data[o] = pages(bytes_of(c, o));
		fill(c, o, job.data[o]);
	}
	for (int p = 0; p < CONTRACT_PEERS; p++) {
		struct contract_peer *peer = &contract_peers[p];

		entry[p].here = peer->present && !plan->skip[p] &&
				peer->begin(peer, &job);
		if (entry[p].here)
			warm(peer, &job, plan, &entry[p], &slowest);
	}
	run_rounds(figures, entry, slowest > CONTRACT_SLOW_NS ?
				   plan->slow_repeats : plan->repeats);
	for (int p = 0; p < CONTRACT_PEERS; p++)
		if (entry[p].here)
			contract_peers[p].end(&contract_peers[p]);
	for (int o = 0; o < CASE_OPERANDS; o++)
		munmap(job.data[o], bytes_of(c, o));
}
