/* SPDX-License-Identifier: MIT */
/*
 * TBLIS through its C functions, declared here as its documentation has them,
 * so that nothing of it is needed to build.  Tensors are filled in by its own
 * functions: their fields are not the same in all versions.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "bench/contract_peer.h"
#include "bench/harness.h"

/* At least as large as its tensor, of any version. */
struct tblis_tensor {
	_Alignas(16) char opaque[256];
};

static struct {
	void (*init_d)(struct tblis_tensor *t, double scalar, unsigned ndim,
		       ptrdiff_t *len, double *data, ptrdiff_t *stride);
	void (*init_s)(struct tblis_tensor *t, float scalar, unsigned ndim,
		       ptrdiff_t *len, float *data, ptrdiff_t *stride);
	void (*mult)(const void *comm, const void *config,
		     const struct tblis_tensor *a, const char *labels_a,
		     const struct tblis_tensor *b, const char *labels_b,
		     struct tblis_tensor *c, const char *labels_c);
	void (*set_threads)(unsigned n);
} tblis;

static struct {
	struct tblis_tensor tensor[CASE_OPERANDS];
	ptrdiff_t extent[CASE_OPERANDS][CASE_RANK];
	ptrdiff_t stride[CASE_OPERANDS][CASE_RANK];
	const struct contract_case *c;
	void *data[CASE_OPERANDS];
} now;

static bool
find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol;
}

bool
contract_tblis_open(struct contract_peer *self)
{
	void *library;

	if (!contract_libraries.tblis)
		return contract_refuse(self, "no library given (--tblis)");
	library = dlopen(contract_libraries.tblis, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return contract_refuse(self, "%s", dlerror());
	if (!find(library, "tblis_init_tensor_scaled_d", &tblis.init_d) ||
	    !find(library, "tblis_init_tensor_scaled_s", &tblis.init_s) ||
	    !find(library, "tblis_tensor_mult", &tblis.mult) ||
	    !find(library, "tblis_set_num_threads", &tblis.set_threads))
		return contract_refuse(self, "%s", dlerror());
	return true;
}

static void
init(int o)
{
	void *data = now.data[o];
	const struct case_tensor *tensor = &now.c->tensor[o];
	double scalar = o == CASE_C ? 0 : 1;

	for (size_t d = 0; d < tensor->rank; d++) {
		now.extent[o][d] = (ptrdiff_t)tensor->extent[d];
		now.stride[o][d] = tensor->stride[d];
	}
	if (now.c->single)
		tblis.init_s(&now.tensor[o], (float)scalar,
			     (unsigned)tensor->rank, now.extent[o], data,
			     now.stride[o]);
	else
		tblis.init_d(&now.tensor[o], scalar, (unsigned)tensor->rank,
			     now.extent[o], data, now.stride[o]);
}

bool
contract_tblis_begin(struct contract_peer *self,
		     const struct contract_job *job)
{
	(void)self;
	now.c = job->c;
	memcpy(now.data, job->data, sizeof(now.data));
	for (int o = 0; o < CASE_OPERANDS; o++)
		init(o);
	tblis.set_threads((unsigned)job->threads);
	return true;
}

struct contract_time
contract_tblis_run(struct contract_peer *self, unsigned turns)
{
	struct contract_time start = contract_now();

	(void)self;
	for (unsigned i = 0; i < turns; i++) {
		/* The factor of what is there, 0, has become 1. */
		init(CASE_C);
		tblis.mult(NULL, NULL, &now.tensor[CASE_A],
			   now.c->tensor[CASE_A].labels,
			   &now.tensor[CASE_B], now.c->tensor[CASE_B].labels,
			   &now.tensor[CASE_C], now.c->tensor[CASE_C].labels);
	}
	return contract_since(start);
}

void
contract_tblis_end(struct contract_peer *self)
{
	(void)self;
}
