/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "contract/kernel.h"
#include "contract/kernel_isa.h"

struct isa {
	const struct kernel *kernels;	/* KERNELS_PER_ISA of them */
	bool (*here)(void);		/* whether the processor has it */
};

#ifdef __x86_64__
/* These also ask whether the system keeps the registers. */
static bool
avx512_here(void)
{
	return __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("fma");
}

static bool
avx2_here(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

static bool
always_here(void)
{
	return true;
}

/* The best first. */
static const struct isa isas[] = {
#ifdef __x86_64__
	{ kernels_avx512, avx512_here },
	{ kernels_avx2, avx2_here },
#endif
	{ kernels_portable, always_here }
};

const struct kernel *
kernel_at(size_t i)
{
	for (size_t isa = 0; isa < sizeof(isas) / sizeof(isas[0]); isa++) {
		if (!isas[isa].here())
			continue;
		if (i < KERNELS_PER_ISA)
			return &isas[isa].kernels[i];
		i -= KERNELS_PER_ISA;
	}
	return NULL;
}

const struct kernel *
kernel_find(const char *name, size_t bytes)
{
	const struct kernel *kernel;

	for (size_t i = 0; (kernel = kernel_at(i)); i++) {
		if (kernel->bytes != bytes)
			continue;
		if (!name || !strcmp(kernel->name, name))
			return kernel;
	}
	return NULL;
}

void
kernel_fence(void)
{
#ifdef __x86_64__
	__builtin_ia32_sfence();
#endif
}
