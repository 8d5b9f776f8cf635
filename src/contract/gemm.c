/* SPDX-License-Identifier: MIT */
/*
 * The product, block by block, as Goto and van de Geijn order the loops:
 *
 *   for each of the batch
 *     columns jc .. jc + nc			B panel: kc x nc, in L3
 *       sums pc .. pc + kc			packed by the group together
 *         rows ic .. ic + mc			A block: mc x kc, in L2
 *           columns jr .. jr + nr		of the panel, in L1
 *             rows ir .. ir + mr		kernel: a tile in registers
 *
 * Packing reads the tensors where they lie, by the offsets of the rows and
 * columns of the block at hand; no more of them is ever computed.
 */
#include <string.h>

#include <lend/team.h>

#include "base/util.h"
#include "contract/ahead.h"
#include "contract/operand.h"
#include "contract/task.h"

/* Up to so many columns, reading ahead pays. */
#define AHEAD_COLUMNS 1024

struct job {
	const struct task *task;
	const struct lend_plan *plan;
	const struct seat *seat;
	const char *a, *b;	/* of the present product of the batch */
	char *c;
	size_t parts;		/* reals of an element: 2 where complex */
	size_t mr, kr;		/* kernel's rows; real depth of a block */
	size_t m_max;		/* rows of the largest block */
	bool stream;
	/* The packed block of A, which may serve the next columns as well. */
	bool packed;
	size_t packed_row, packed_col;
	struct ahead ahead;
	/* Offsets: the thread's, then the group's. */
	int64_t *row_a, *row_c, *col_a, *row_b, *sums;
	int64_t *panel_b;	/* rows of one panel of B, in bytes */
	int64_t *col_b, *col_c;
};

static size_t
parts(const struct lend_plan *plan)
{
	return plan->complex ? 2 : 1;
}

size_t
gemm_a_bytes(const struct lend_plan *plan)
{
	return plan->blocks.mc * plan->blocks.kc * plan->bytes * parts(plan);
}

size_t
gemm_b_bytes(const struct lend_plan *plan)
{
	return plan->blocks.nc * plan->blocks.kc * plan->bytes;
}

size_t
gemm_tile_bytes(const struct lend_plan *plan)
{
	return plan->kernel->mr * plan->kernel->nr * plan->kernel->bytes;
}

size_t
gemm_scratch(const struct lend_plan *plan)
{
	const struct blocks *blocks = &plan->blocks;

	return blocks->mc * (1 + parts(plan)) + 2 * blocks->kc +
	       size_max(OPERAND_SUMS, SCALE_SCRATCH) +
	       size_max(blocks->mc, blocks->nc) + 2 * blocks->kc +
	       blocks->kc * parts(plan);
}

size_t
gemm_columns(const struct lend_plan *plan)
{
	return 2 * plan->blocks.nc;
}

/* The offsets of C, or of a partial result, in reals. */

static void
rows_of_c(const struct job *job, size_t begin, size_t count)
{
	int64_t *row = job->row_c;

	if (job->seat->partial)
		for (size_t i = 0; i < count; i++)
			row[i] = (int64_t)(begin + i);
	else
		dims_offsets(job->plan->m, OPERAND_C, begin, count, row);
	if (job->parts == 1)
		return;
	for (size_t i = count; i-- > 0;) {
		int64_t offset = 2 * row[i];

		row[2 * i] = offset;
		row[2 * i + 1] = offset + 1;
	}
}

static void
cols_of_c(const struct job *job, size_t begin, size_t count, int64_t *col)
{
	if (job->seat->partial)
		for (size_t j = 0; j < count; j++)
			col[j] = (int64_t)((begin + j) * job->plan->m->total);
	else
		dims_offsets(job->plan->n, OPERAND_C, begin, count, col);
	if (job->parts == 2)
		for (size_t j = 0; j < count; j++)
			col[j] *= 2;
}

/* Packing. */

static bool
is_packed(const struct job *job, size_t ic, size_t pc)
{
	return job->packed && job->packed_row == ic && job->packed_col == pc;
}

static void
pack_rows(struct job *job, size_t ic, size_t mc, size_t pc, size_t kc)
{
	const struct lend_plan *plan = job->plan;
	const struct pack_spec spec = {
		plan->kernel, PACK_A, plan->complex
	};
	const struct operand_block block = {
		.spec = &spec, .rows = mc, .cols = kc, .src = job->a,
		.row = job->row_a, .col = job->col_a,
		.period = plan->period_a, .sums = job->sums
	};

	job->packed = true;
	job->packed_row = ic;
	job->packed_col = pc;
	dims_offsets(plan->m, OPERAND_A, ic, mc, job->row_a);
	rows_of_c(job, ic, mc);
	operand_pack(job->task, &block, job->seat->a);
}

/* This rank's share of the panel, and of the columns' offsets. */
static void
pack_columns(struct job *job, size_t jc, size_t nc, size_t kc)
{
	const struct lend_plan *plan = job->plan;
	const struct pack_spec spec = {
		plan->kernel, PACK_B, plan->complex
	};
	struct share share = share_of(nc, plan->blocks.nr, job->seat->rank,
				      job->task->pm);
	size_t count = share.end - share.begin;
	int64_t *col_b = job->col_b + share.begin;
	const struct operand_block block = {
		.spec = &spec, .rows = count, .cols = kc, .src = job->b,
		.row = col_b, .col = job->row_b,
		.period = plan->period_b, .sums = job->sums
	};
	char *dst = (char *)job->seat->b +
		    share.begin * job->kr * plan->kernel->bytes;

	if (!count)
		return;
	dims_offsets(plan->n, OPERAND_B, jc + share.begin, count, col_b);
	cols_of_c(job, jc + share.begin, count, job->col_c + share.begin);
	operand_pack(job->task, &block, dst);
}

static void
meet(const struct job *job)
{
	if (job->seat->barrier)
		lend_barrier_wait(job->seat->barrier);
}

/* The inner two loops. */

/* One bit for each panel of rows that lie without gaps in C. */
struct whole {
	uint64_t bit[2 * MOST_MC / LEAST_MR / 64 + 1];
};

static bool
is_run(const int64_t *offset, size_t count)
{
	int64_t gaps = 0;

	for (size_t i = 1; i < count; i++)
		gaps |= offset[i] - offset[i - 1] - 1;
	return gaps == 0;
}

static void
find_whole(const struct job *job, size_t rows, struct whole *whole)
{
	/* The last panel, if not full, is none of them. */
	memset(whole, 0, (rows / job->mr / 64 + 1) * sizeof(uint64_t));
	for (size_t i = 0; i + job->mr <= rows; i += job->mr)
		if (is_run(job->row_c + i, job->mr))
			whole->bit[i / job->mr / 64] |=
				(uint64_t)1 << (i / job->mr % 64);
}

static bool
is_whole(const struct whole *whole, size_t panel)
{
	return whole->bit[panel / 64] >> (panel % 64) & 1;
}

/*
 * What is asked for during the tile of row i and column j.  Where no block is
 * read ahead it is the next panel of B, which comes from the third cache: 1.5
 * to 2 % at n = 2600.  The second tile does it, as the first one waits for its
 * own.
 */
static const struct kernel_ahead *
ahead_of_tile(struct job *job, size_t i, const char *next_b,
	      struct kernel_ahead *panel)
{
	const struct kernel_ahead *ahead = ahead_next(&job->ahead, job->kr);

	if (ahead || i != job->mr || !next_b)
		return ahead;
	*panel = (struct kernel_ahead){ next_b, job->panel_b, 1 };
	return panel;
}

static void
multiply(struct job *job, size_t rows, size_t cols,
	 enum kernel_update update)
{
	const struct kernel *kernel = job->plan->kernel;
	const char *a = job->seat->a, *b = job->seat->b;
	size_t mr = job->mr, nr = kernel->nr, kr = job->kr;
	size_t step = mr * kr * kernel->bytes;
	double beta = job->task->beta.re;
	void *tile = job->seat->tile;
	struct whole whole;

	find_whole(job, rows, &whole);
	for (size_t j = 0; j < cols; j += nr) {
		const int64_t *col = job->col_c + j;
		size_t n = size_min(nr, cols - j);
		const char *panel = a;
		const char *next = j + nr < cols ?
				   b + nr * kr * kernel->bytes : NULL;

		for (size_t i = 0; i < rows; i += mr, panel += step) {
			struct kernel_ahead next_panel;
			const struct kernel_ahead *ahead =
				ahead_of_tile(job, i, next, &next_panel);

			if (n == nr && is_whole(&whole, i / mr)) {
				kernel->direct(kr, panel, b, job->c +
					job->row_c[i] *
					(int64_t)kernel->bytes, col, update,
					beta, ahead);
				continue;
			}
			kernel->tile(kr, panel, b, tile, ahead);
			kernel->scatter(size_min(mr, rows - i), n, tile,
					job->c, job->row_c + i, col, update,
					beta);
		}
		b = next;
	}
}

/* How a block of the sum meets C. */
static enum kernel_update
update_of(const struct job *job, bool first)
{
	struct scalar beta = job->task->beta;

	if (!first)
		return KERNEL_ADD;
	if (job->seat->partial || scalar_is(beta, 0))
		return job->stream ? KERNEL_STREAM : KERNEL_SET;
	/* Kernels know real factors alone; a complex one was applied. */
	return scalar_is(beta, 1) || beta.im != 0 ? KERNEL_ADD : KERNEL_SCALE;
}

/* Tiles of a block of rows. */
static size_t
tiles(const struct job *job, size_t mc, size_t nc)
{
	const struct blocks *blocks = &job->plan->blocks;

	return ceil_div(mc, blocks->mr) * ceil_div(nc, blocks->nr);
}

/* Reads ahead the block of rows from ic on, of the sum pc .. pc + kc. */
static void
rows_ahead(struct job *job, size_t ic, struct share m, size_t pc, size_t kc,
	   size_t tiles_now)
{
	struct ahead_block next = {
		.row_dims = job->plan->m, .col_dims = job->plan->k,
		.which = OPERAND_A, .row = ic,
		.rows = size_min(job->m_max, m.end - ic),
		.col = pc, .cols = kc
	};

	job->ahead.base = job->a;
	ahead_plan(&job->ahead, &next, tiles_now);
}

/* Reads ahead this rank's share of the next panel of columns. */
static void
columns_ahead(struct job *job, size_t jc, struct share n, size_t pc,
	      size_t kc, size_t tiles_now)
{
	size_t nc = size_min(job->plan->blocks.nc, n.end - jc);
	struct share share = share_of(nc, job->plan->blocks.nr,
				      job->seat->rank, job->task->pm);
	struct ahead_block next = {
		.row_dims = job->plan->n, .col_dims = job->plan->k,
		.which = OPERAND_B, .row = jc + share.begin,
		.rows = share.end - share.begin, .col = pc, .cols = kc
	};

	job->ahead.base = job->b;
	ahead_plan(&job->ahead, &next, tiles_now);
}

/* Where the loops stand: columns jc .. jc + nc, sums pc .. pc + kc. */
struct place {
	size_t jc, nc, pc, kc;
};

static void
plan_ahead(struct job *job, const struct shares *shares,
	   const struct place *at, size_t ic, size_t mc)
{
	size_t next = ic + mc, now = tiles(job, mc, at->nc);
	size_t jc = at->jc + at->nc, pc = at->pc + at->kc;

	ahead_none(&job->ahead);
	/* Many columns: the block is read once and used for long. */
	if (at->nc > AHEAD_COLUMNS || job->plan->complex)
		return;
	if (next < shares->m.end)
		rows_ahead(job, next, shares->m, at->pc, at->kc, now);
	else if (pc < shares->k.end)
		rows_ahead(job, shares->m.begin, shares->m, pc,
			   size_min(at->kc, shares->k.end - pc), now);
	else if (ic == shares->m.begin && jc < shares->n.end &&
		 job->plan->sum_b->total == 1)
		columns_ahead(job, jc, shares->n, at->pc, at->kc, now);
}

static void
row_blocks(struct job *job, const struct shares *shares,
	   const struct place *at)
{
	const struct share *m = &shares->m;
	enum kernel_update update = update_of(job, at->pc == shares->k.begin);

	for (size_t ic = m->begin; ic < m->end; ic += job->m_max) {
		size_t mc = size_min(job->m_max, m->end - ic);

		if (!is_packed(job, ic, at->pc))
			pack_rows(job, ic, mc, at->pc, at->kc);
		plan_ahead(job, shares, at, ic, mc);
		multiply(job, mc * job->parts, at->nc, update);
	}
}

static void
sum_blocks(struct job *job, const struct shares *shares, size_t jc)
{
	const struct lend_plan *plan = job->plan;
	struct place at = {
		.jc = jc, .nc = size_min(plan->blocks.nc, shares->n.end - jc)
	};

	for (at.pc = shares->k.begin; at.pc < shares->k.end;
	     at.pc += plan->blocks.kc) {
		at.kc = size_min(plan->blocks.kc, shares->k.end - at.pc);
		job->kr = at.kc * job->parts;
		dims_offsets(plan->k, OPERAND_A, at.pc, at.kc, job->col_a);
		dims_offsets(plan->k, OPERAND_B, at.pc, at.kc, job->row_b);
		pack_columns(job, jc, at.nc, at.kc);
		meet(job);
		row_blocks(job, shares, &at);
		/* The panel is not repacked under those who still read it. */
		meet(job);
	}
}

static bool
wants_stream(const struct task *task, const struct seat *seat)
{
	return !seat->partial && task_streams(task) &&
	       task->plan->k->total <= task->plan->blocks.kc;
}

static void
lay_out(struct job *job)
{
	const struct blocks *blocks = &job->plan->blocks;

	job->row_a = job->seat->scratch;
	job->row_c = job->row_a + blocks->mc;
	job->col_a = job->row_c + blocks->mc * job->parts;
	job->row_b = job->col_a + blocks->kc;
	job->sums = job->row_b + blocks->kc;
	job->ahead.row = job->sums + size_max(OPERAND_SUMS, SCALE_SCRATCH);
	job->ahead.col = job->ahead.row + size_max(blocks->mc, blocks->nc);
	job->ahead.list = job->ahead.col + blocks->kc;
	job->ahead.bytes = (int64_t)job->plan->bytes;
	job->panel_b = job->ahead.list + blocks->kc;
	job->col_b = job->seat->columns;
	job->col_c = job->col_b + blocks->nc;
}

/* Blocks of a single tile's height have no second tile. */
static void
find_panel(struct job *job)
{
	const struct kernel *kernel = job->plan->kernel;

	if (job->m_max * job->parts > job->mr)
		for (size_t p = 0; p < job->plan->blocks.kc * job->parts; p++)
			job->panel_b[p] = (int64_t)(p * kernel->nr *
						    kernel->bytes);
}

static void
one_product(struct job *job, const struct shares *shares)
{
	size_t nc = job->plan->blocks.nc;

	for (size_t jc = shares->n.begin; jc < shares->n.end; jc += nc)
		sum_blocks(job, shares, jc);
}

void
gemm_run(const struct task *task, const struct seat *seat)
{
	const struct lend_plan *plan = task->plan;
	struct shares shares = task_divide(task, seat);
	struct job job = {
		.task = task, .plan = plan, .seat = seat,
		.parts = parts(plan), .mr = plan->kernel->mr,
		.stream = wants_stream(task, seat)
	};
	int64_t bytes = (int64_t)plan->bytes;

	lay_out(&job);
	job.m_max = block_even(shares.m.end - shares.m.begin,
			       plan->blocks.m_share, plan->blocks.mc);
	find_panel(&job);
	if (task->beta.im != 0 && !seat->partial)
		scale_shares(task, &shares, seat->scratch);
	for (size_t i = shares.batch.begin; i < shares.batch.end; i++) {
		job.a = task->a + dims_offset(plan->batch, OPERAND_A, i) *
				  bytes;
		job.b = task->b + dims_offset(plan->batch, OPERAND_B, i) *
				  bytes;
		job.c = seat->partial ? seat->partial :
			task->c + dims_offset(plan->batch, OPERAND_C, i) *
				  bytes;
		job.packed = false;
		one_product(&job, &shares);
	}
	if (job.stream)
		kernel_fence();
}
