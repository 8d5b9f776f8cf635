/* SPDX-License-Identifier: MIT */
#include "bench/contract_bound.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MS 1000000u
#define SLICES 7
#define PIECE ((size_t)4 << 20)

/* Enough for a latency of 5 and two units. */
#define CHAINS 12
#define BATCH 2000

/*
 * Each chain is x = x * s + t; it goes to 1, so that no number becomes
 * special.  The flops of one batch come back.
 */
#define DEFINE_PEAK(name, type, bytes, target)				\
target static uint64_t							\
name(void *ctx, const atomic_bool *stop)				\
{									\
	typedef type vector __attribute__((vector_size(bytes)));	\
	vector s = (vector){ 0 } + (type)0.5, t = s, x[CHAINS];		\
	uint64_t flops = 0;						\
									\
	(void)ctx;							\
	UNROLLED							\
	for (int c = 0; c < CHAINS; c++)				\
		x[c] = s + (type)c;					\
	do {								\
		for (int i = 0; i < BATCH; i++)				\
			UNROLLED					\
			for (int c = 0; c < CHAINS; c++)		\
				x[c] = x[c] * s + t;			\
		flops += 2 * BATCH * CHAINS * (bytes) / sizeof(type);	\
	} while (!bench_stopped(stop));					\
	UNROLLED							\
	for (int c = 0; c < CHAINS; c++)				\
		s += x[c];						\
	bench_keep(&s);							\
	return flops;							\
}

/* Else the chains are not in registers. */
#define UNROLLED _Pragma("GCC unroll 12")
#define PLAIN
#ifdef __x86_64__
#define AVX512 __attribute__((target("avx512f,avx512dq,fma")))
#define AVX2 __attribute__((target("avx2,fma")))
DEFINE_PEAK(peak_double_512, double, 64, AVX512)
DEFINE_PEAK(peak_float_512, float, 64, AVX512)
DEFINE_PEAK(peak_double_256, double, 32, AVX2)
DEFINE_PEAK(peak_float_256, float, 32, AVX2)
#endif
DEFINE_PEAK(peak_double, double, 16, PLAIN)
DEFINE_PEAK(peak_float, float, 16, PLAIN)

static bench_loop_fn *
peak_loop(bool single)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512dq"))
		return single ? peak_float_512 : peak_double_512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return single ? peak_float_256 : peak_double_256;
#endif
	return single ? peak_float : peak_double;
}

struct stream {
	char *bytes;
	size_t size;
	atomic_size_t next;	/* piece, over and over */
};

static uint64_t
read_piece(const char *bytes)
{
	typedef uint64_t vector __attribute__((vector_size(64)));
	const vector *p = (const vector *)bytes;
	vector sum[4] = { { 0 } };

	for (size_t i = 0; i < PIECE / sizeof(*p); i += 4)
		for (int j = 0; j < 4; j++)
			sum[j] += p[i + (size_t)j];
	bench_keep(sum);
	return PIECE;
}

/* One operation is one byte. */
static uint64_t
read_stream(void *ctx, const atomic_bool *stop)
{
	struct stream *stream = ctx;
	size_t pieces = stream->size / PIECE;
	uint64_t bytes = 0;

	do {
		/* Relaxed: only that it differs matters. */
		size_t next = atomic_fetch_add_explicit(&stream->next, 1,
							memory_order_relaxed);

		bytes += read_piece(stream->bytes + next % pieces * PIECE);
	} while (!bench_stopped(stop));
	return bytes;
}

/* Operations per ns, the best of the slices. */
static double
best(struct bench_crew *crew, int threads, bench_loop_fn *loop, void *ctx,
     uint64_t ns, bool cpu)
{
	double most = 0;

	for (int i = 0; i < SLICES; i++) {
		struct bench_sample sample = bench_slice(crew, threads, loop,
							 ctx, ns);

		double each = cpu ? sample.cpu / threads : sample.wall;

		if (1 / each > most)
			most = 1 / each;
	}
	return most;
}

struct contract_bound
contract_bound_measure(struct bench_crew *crew, int threads, bool cpu,
		       bool quick)
{
	uint64_t ns = (quick ? 5 : 60) * MS;
	struct stream stream = {
		.size = (size_t)(quick ? 64 : 512) << 20,
	};
	struct contract_bound bound;

	stream.bytes = mmap(NULL, stream.size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stream.bytes == MAP_FAILED)
		bench_die("no memory");
	madvise(stream.bytes, stream.size, MADV_HUGEPAGE);
	memset(stream.bytes, 1, stream.size);
	bound.peak[0] = best(crew, threads, peak_loop(false), NULL, ns,
			     cpu);
	bound.peak[1] = best(crew, threads, peak_loop(true), NULL, ns,
			     cpu);
	bound.bandwidth = best(crew, threads, read_stream, &stream, ns, cpu);
	munmap(stream.bytes, stream.size);
	return bound;
}

double
contract_bound_of(const struct contract_bound *bound, bool single,
		  double flops, double bytes)
{
	double compute = flops / bound->peak[single];
	double move = bytes / bound->bandwidth;

	return flops / (compute > move ? compute : move);
}
