/* SPDX-License-Identifier: MIT */
/*
 * The explorer finds data races by the orders of the operations, whatever
 * the memory; each order that is right has a weaker one beside it.
 */
#include "explorer_litmus.h"

/* The threads. */

static void
write_data(void)
{
	model_plain_write(&data, 1);
}

static void
read_data(void)
{
	(void)model_plain_read(&data);
}

static void
write_other(void)
{
	model_plain_write(&other, 1);
}

#define WRITER(name, operation) \
	static void \
	name(void) \
	{ \
		model_plain_write(&data, 1); \
		operation; \
	}

WRITER(write_release, store_release(&flag, 1))
WRITER(write_relaxed, store_relaxed(&flag, 1))
WRITER(write_broken, (store_release(&flag, 1), store_relaxed(&flag, 2)))
WRITER(write_continued,
       (store_release(&flag, 1), (void)fetch_add_relaxed(&flag, 1)))
WRITER(write_late,
       (store_release(&flag, 1), model_plain_write(&data, 2)))
WRITER(write_exchange, (void)exchange_acq_rel(&flag, 1))
WRITER(write_count, (void)fetch_sub_release(&flag, 1))
WRITER(write_heavy, (model_membarrier(), store_relaxed(&flag, 1)))
WRITER(write_light, (compiler_barrier(), store_relaxed(&flag, 1)))

#define READER(name, operation, value) \
	static void \
	name(void) \
	{ \
		if ((operation) == (value)) \
			MODEL_ASSERT(model_plain_read(&data) == 1); \
	}

READER(read_acquire, load_acquire(&flag), 1)
READER(read_acquire_2, load_acquire(&flag), 2)
READER(read_relaxed, load_relaxed(&flag), 1)
READER(read_relaxed_later, (model_step(), load_relaxed(&flag)), 1)
READER(read_both_counts, load_acquire(&flag), UINT32_MAX - 1)
READER(read_light, ({ uint32_t f_ = load_relaxed(&flag);
		      compiler_barrier(); f_; }), 1)
READER(read_after_heavy, ({ uint32_t f_ = load_relaxed(&flag);
			    model_membarrier(); f_; }), 1)

static void
count(void)
{
	(void)fetch_sub_release(&flag, 1);
}

static void
read_after_failed_cas(void)
{
	uint32_t seen = 5;

	if (!cas_acquire_acquire(&flag, &seen, 6) && seen == 1)
		(void)model_plain_read(&data);
}

static void
read_after_failed_release(void)
{
	uint32_t seen = 5;

	if (!cas_acq_rel_relaxed(&flag, &seen, 6) && seen == 1)
		(void)model_plain_read(&data);
}

static void
read_late(void)
{
	store_release(&flag, 1);
	(void)model_plain_read(&data);
}

static void
write_after_acquire(void)
{
	if (load_acquire(&flag))
		model_plain_write(&data, 2);
}

static void
heavy_then_read(void)
{
	model_membarrier();
	read_data();
}

static void
exchange_then_write(void)
{
	if (!exchange_acquire(&flag, 1)) {
		model_plain_write(&data, model_plain_read(&data) + 1);
		store_release(&flag, 0);
	}
}

/* Between its look and its write the writer is not known of. */
static void
look_and_write(void)
{
	if (!load_acquire(&y))
		model_plain_write(&data, 1);
}

static void
forbid_and_read(void)
{
	store_relaxed(&y, 1);
	model_membarrier();
	read_data();
}

/* But where it tells that it is busy it is. */
#define BUSY_WRITER(name, store) \
	static void \
	name(void) \
	{ \
		store_relaxed(&x, 1); \
		compiler_barrier(); \
		if (!load_acquire(&y)) \
			model_plain_write(&data, 1); \
		store(&x, 0); \
	}

BUSY_WRITER(busy_write, store_release)
BUSY_WRITER(busy_write_relaxed, store_relaxed)

static void
forbid_and_read_unless_busy(void)
{
	store_relaxed(&y, 1);
	model_membarrier();
	if (!load_acquire(&x))
		read_data();
}

#define RACE_MODEL(a, b) (struct model){ .thread = { a, b } }

START_TEST(races)
{
	expect_all(RACE_MODEL(write_data, write_data), MODEL_RACE);
	expect_all(RACE_MODEL(write_data, read_data), MODEL_RACE);
	expect_all(RACE_MODEL(read_data, write_data), MODEL_RACE);
	expect_all(RACE_MODEL(read_data, read_data), MODEL_PASSED);
	expect_all(RACE_MODEL(write_data, write_other), MODEL_PASSED);
	expect_all(RACE_MODEL(write_release, read_acquire), MODEL_PASSED);
	expect_all(RACE_MODEL(write_release, read_relaxed), MODEL_RACE);
	expect_all(RACE_MODEL(write_relaxed, read_acquire), MODEL_RACE);
	expect_all(RACE_MODEL(write_late, read_acquire), MODEL_RACE);
	expect_all(RACE_MODEL(write_broken, read_acquire_2), MODEL_RACE);
	expect_all(RACE_MODEL(write_continued, read_acquire_2), MODEL_PASSED);
	expect_all(RACE_MODEL(write_exchange, read_acquire), MODEL_PASSED);
	expect_all(RACE_MODEL(write_release, read_after_failed_cas),
		   MODEL_PASSED);
	expect_all(RACE_MODEL(write_release, read_after_failed_release),
		   MODEL_RACE);
	expect_all(RACE_MODEL(read_late, write_after_acquire), MODEL_RACE);
	expect_all((struct model){ .thread = { write_count, count,
					       read_both_counts },
				   .threads = 3 }, MODEL_PASSED);
	expect_all(RACE_MODEL(exchange_then_write, exchange_then_write),
		   MODEL_PASSED);
}
END_TEST

START_TEST(heavy_barrier_orders)
{
	expect_all(RACE_MODEL(write_light, read_after_heavy), MODEL_PASSED);
	expect_each(RACE_MODEL(write_relaxed, read_after_heavy),
		    MODEL_PASSED, MODEL_PASSED, MODEL_RACE);
	expect_all(RACE_MODEL(write_heavy, read_light), MODEL_PASSED);
	expect_each(RACE_MODEL(write_heavy, read_relaxed_later),
		    MODEL_PASSED, MODEL_PASSED, MODEL_RACE);
	expect_all(RACE_MODEL(look_and_write, forbid_and_read), MODEL_RACE);
	expect_all(RACE_MODEL(busy_write, forbid_and_read), MODEL_RACE);
	expect_all(RACE_MODEL(busy_write, forbid_and_read_unless_busy),
		   MODEL_PASSED);
	expect_all(RACE_MODEL(busy_write_relaxed, forbid_and_read_unless_busy),
		   MODEL_RACE);
	/* The barrier alone tells nothing about who was first. */
	expect_all(RACE_MODEL(write_light, heavy_then_read), MODEL_RACE);
}
END_TEST

static Suite *
races_suite(void)
{
	Suite *suite = suite_create("explorer races");
	TCase *tcase = tcase_create("explorer races");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, races);
	tcase_add_test(tcase, heavy_barrier_orders);
	suite_add_tcase(suite, tcase);
	return suite;
}

int
main(void)
{
	return run_suite(races_suite());
}
