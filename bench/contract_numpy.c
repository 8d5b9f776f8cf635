/* SPDX-License-Identifier: MIT */
/*
 * NumPy in a child process, one for each case.  The child has arrays of its
 * own.
 */
#include <stdio.h>
#include <string.h>

#include "bench/contract_peer.h"
#include "bench/harness.h"
#include "bench/python_child.h"

/* argv: einsum or tensordot, the type, A's, B's, C's labels, the extents. */
static const char script[] =
	"import sys, time\n"
	"import numpy as np\n"
	"how, kind, la, lb, lc, extents = sys.argv[1:]\n"
	"extent = dict(zip('abcdefgh', map(int, extents.split(','))))\n"
	"rng = np.random.default_rng(1)\n"
	"def new(labels):\n"
	"    shape = [extent[x] for x in labels]\n"
	"    return rng.random(shape[::-1], dtype=kind).T\n"
	"a, b, c = map(new, (la, lb, lc))\n"
	"text = la + ',' + lb + '->' + lc\n"
	"if how == 'einsum':\n"
	"    path = np.einsum_path(text, a, b, optimize=True)[0]\n"
	"    def contract():\n"
	"        np.einsum(text, a, b, out=c, optimize=path)\n"
	"else:\n"
	"    k = [x for x in la if x in lb]\n"
	"    axes = [la.index(x) for x in k], [lb.index(x) for x in k]\n"
	"    got = [x for x in la + lb if x not in k]\n"
	"    order = [got.index(x) for x in lc]\n"
	"    def contract():\n"
	"        c[...] = np.tensordot(a, b, axes).transpose(order)\n"
	"print('ready', flush=True)\n"
	"for line in sys.stdin:\n"
	"    start = time.perf_counter_ns(), time.process_time_ns()\n"
	"    for _ in range(int(line)):\n"
	"        contract()\n"
	"    print(time.perf_counter_ns() - start[0],\n"
	"          time.process_time_ns() - start[1], flush=True)\n";

/* Of each contender that has one. */
static struct python_child children[CONTRACT_PEERS];

static struct python_child *
child_of(const struct contract_peer *self)
{
	return &children[self - contract_peers];
}

bool
contract_numpy_open(struct contract_peer *self)
{
	if (python_find(&contract_libraries.python))
		return true;
	return contract_refuse(self, "no Python has NumPy");
}

/* The extents of labels a, b, .. with commas. */
static void
write_extents(const struct contract_case *c, char *text, size_t size)
{
	size_t extent[CASE_RANK] = { 0 };
	size_t at = 0;

	for (int o = 0; o < CASE_OPERANDS; o++)
		for (size_t d = 0; d < c->tensor[o].rank; d++)
			extent[c->tensor[o].labels[d] - 'a'] =
				c->tensor[o].extent[d];
	for (int i = 0; i < CASE_RANK && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%zu",
				       i ? "," : "", extent[i]);
}

static bool
begin(struct contract_peer *self, const char *how,
      const struct contract_job *job)
{
	const struct contract_case *c = job->c;
	char extents[128];
	const char *argv[] = {
		contract_libraries.python, "-c", script, how,
		c->single ? "float32" : "float64", c->tensor[CASE_A].labels,
		c->tensor[CASE_B].labels, c->tensor[CASE_C].labels, extents,
		NULL
	};

	write_extents(c, extents, sizeof(extents));
	if (python_start(child_of(self), argv, job->threads))
		return true;
	return contract_refuse(self, "NumPy ended");
}

bool
contract_einsum_begin(struct contract_peer *self,
		      const struct contract_job *job)
{
	return begin(self, "einsum", job);
}

bool
contract_tensordot_begin(struct contract_peer *self,
			 const struct contract_job *job)
{
	return begin(self, "tensordot", job);
}

struct contract_time
contract_numpy_run(struct contract_peer *self, unsigned turns)
{
	return python_run(child_of(self), turns);
}

void
contract_numpy_end(struct contract_peer *self)
{
	python_stop(child_of(self));
}
