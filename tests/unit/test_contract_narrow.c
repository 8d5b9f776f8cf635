/* SPDX-License-Identifier: MIT */
/*
 * Products of few columns, whose first operand is read where it lies: every
 * way in which its vectors can go, with extents at and off their edges.
 */
#include "lend/contract.h"

#include <check.h>
#include <string.h>

#include "base/util.h"
#include "contract/caches.h"
#include "contract/kernel.h"
#include "support/contract_site.h"
#include "support/einsum_form.h"
#include "support/einsum_random.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

#define CASES 8

enum { A, B, C };

static const char *const names[] = { "avx512", "avx2", "portable" };

#define NAMES ((int)(sizeof(names) / sizeof(names[0])))

/*
 * v: A's unit stride among the rows; l: C's; k, j: summed; n, m: columns; r:
 * rows beside; z: batch; s: summed out of B alone.  Column-major, so that the
 * first label has the unit stride.
 */
static const char *const forms[] = {
	"vkl,kn->lvn",
	"vkrl,nk->lrvn",
	"vrjkl,knj->lvnr",
	"vkrlz,knz->lvrnz",
	"vkrl,kns->lvnr",
	"vkrl,kmn->lvnrm",
	"klr,kn->lnr",
	"klr,nk->lrn",
	"krjl,jkn->lnr",
	"klrz,nkz->lrnz",
	"klr,skn->lrn",
	"kn,vkrl->lvrn",
	"kn,klr->lrn",
	/* C's unit stride is A's, .. */
	"vk,kn->vn",
	"vkrl,nk->vrln",
	"vrjkl,knj->vnlr",
	"vkrz,knz->vnrz",
	"vkr,kmns->vnrm",
	"nk,vkl->vln",
	/* .. or the columns'. */
	"vk,kn->nv",
	"vkrl,nk->nlrv",
	"vrjkl,knj->nvlr",
	"vkrz,knz->nvrz",
	"vkl,kmns->nvml",
	"nk,vkl->nlv",
	"kl,kn->nl",
	"klr,nk->nrl",
	"krjl,jkn->nlr",
	"klrz,nkz->nlrz",
	"klr,skmn->nrml",
	"kn,klr->nlr"
};

#define FORMS ((int)(sizeof(forms) / sizeof(forms[0])))

/* Off the edges as often as not. */
static size_t
about(uint64_t *seed, size_t vectors, size_t lanes)
{
	return vectors * lanes + random_below(seed, 2) *
	       random_below(seed, (unsigned)lanes);
}

/* Whether A's unit stride is in the sum. */
static bool
is_sums(const char *form)
{
	return !strchr(form, 'v');
}

static struct form_extents
choose(uint64_t *seed, const struct kernel *kernel, const char *form)
{
	size_t lanes = kernel->lanes, mr = kernel->rows_mr;
	size_t nr = is_sums(form) ? kernel->sums_nr : kernel->rows_nr;
	size_t blocks = is_sums(form) ? 1 : 1 + random_below(seed, 3);
	struct form_extents e = { { 0 } };

	e.of['v'] = about(seed, 1 + random_below(seed, 2), mr);
	e.of['l'] = about(seed, 1 + random_below(seed, 3), lanes);
	e.of['k'] = 16 + random_below(seed, 9);
	e.of['j'] = 2;
	e.of['m'] = 2;
	e.of['n'] = blocks * nr - random_below(seed, (unsigned)(nr / 2));
	e.of['z'] = 3;
	e.of['s'] = 2;
	e.of['r'] = 3;
	if (strchr(form, 'm'))
		e.of['n'] = (nr + 1) / 2;
	/* Runs of columns in C have a vector at least. */
	if (strstr(form, ">n"))
		e.of['n'] = size_max(e.of['n'], lanes);
	return e;
}

static struct random_einsum
make(uint64_t number, const char *form, enum lend_type type,
     const struct kernel *kernel)
{
	uint64_t seed = number;
	struct form_extents extents = choose(&seed, kernel, form);
	struct random_einsum einsum =
		form_einsum(form, type, &extents, seed);

	einsum.seed = number;
	return einsum;
}

static struct lend_plan_info
info_of(const struct random_einsum *einsum,
	const struct lend_plan_options *options)
{
	struct lend_plan_info info = { .size = sizeof(info) };
	struct lend_layout layout[NAIVE_OPERANDS];
	struct lend_error why = { "" };
	lend_plan *plan;

	for (int o = A; o <= C; o++)
		layout[o] = random_layout(einsum, o);
	ck_assert_msg(lend_plan_create(&plan, einsum->text, einsum->type,
				       &layout[A], &layout[B], &layout[C],
				       options, &why) == 0, "%s", why.text);
	ck_assert_int_eq(lend_plan_describe(plan, 1, &info), 0);
	lend_plan_destroy(plan);
	return info;
}

static bool
is_in_place(const struct random_einsum *einsum,
	    const struct lend_plan_options *options)
{
	return info_of(einsum, options).in_place;
}

/* By kernel and form. */
static void
try_form(int index, enum lend_type type)
{
	const char *name = names[index % NAMES], *form = forms[index / NAMES];
	struct lend_plan_options options = {
		.size = sizeof(options), .kernel = name
	};
	const struct kernel *kernel = kernel_find(name, lend_type_bytes(type));
	struct site site;

	if (!kernel)
		return;
	site = site_open();
	for (unsigned i = 0; i < scale(CASES); i++) {
		struct random_einsum einsum =
			make((unsigned)index * CASES + i, form, type, kernel);

		ck_assert_msg(is_in_place(&einsum, &options),
			      "%s %u: packed", einsum.text, i);
		site_try(&site, &einsum, &options,
			 team_shape(i + (unsigned)index), FROM_ARENA);
	}
	site_close(&site);
}

START_TEST(doubles)
{
	try_form(_i, LEND_F64);
}
END_TEST

START_TEST(floats)
{
	try_form(_i, LEND_F32);
}
END_TEST

/*
 * A sum may be as deep as B, packed, has room in the second cache, where A's
 * unit stride is in the sum; in a quarter of it, where that is among the rows.
 */
START_TEST(sums_are_as_deep_as_the_cache)
{
	const struct kernel *kernel = kernel_find(NULL, sizeof(double));
	/* A multiple of the columns of all kernels. */
	size_t columns = 24;
	size_t quarter = caches()->l2 / 4 / columns / sizeof(double);
	const struct {
		const char *form;
		size_t k;
		bool in_place;
	} deep[] = {
		{ "kl,kn->ln", size_min(3 * quarter, 4096), true },
		{ "kl,kn->ln", size_min(5 * quarter, 4097), false },
		{ "vkl,kn->lvn", 3 * quarter, false },
	};
	struct form_extents e = { {
		['v'] = kernel->rows_mr, ['l'] = 19, ['n'] = columns
	} };
	struct site site = site_open();

	for (size_t i = 0; i < sizeof(deep) / sizeof(deep[0]); i++) {
		struct random_einsum einsum;

		e.of['k'] = deep[i].k;
		einsum = form_einsum(deep[i].form, LEND_F64, &e, i);
		ck_assert_msg(is_in_place(&einsum, NULL) == deep[i].in_place,
			      "%s, k %zu", deep[i].form, deep[i].k);
		site_try(&site, &einsum, NULL, team_shape((unsigned)i),
			 FROM_ARENA);
	}
	site_close(&site);
}
END_TEST

/*
 * Terms of the sum that lie a multiple of 4096 bytes apart: A is gathered, all
 * that there is along at once, or so many units where the second cache has no
 * room for more.
 */
static void
try_gathered(int index, enum lend_type type, size_t units)
{
	struct lend_plan_options options = {
		.size = sizeof(options), .kernel = names[index]
	};
	struct caches *found = (struct caches *)caches(), real = *found;
	const struct kernel *kernel =
		kernel_find(options.kernel, lend_type_bytes(type));
	ptrdiff_t apart = 4096 / (ptrdiff_t)lend_type_bytes(type);
	struct form_extents e = { { ['k'] = 16, ['z'] = 2 } };
	struct site site;

	if (!kernel)
		return;
	site = site_open();
	/* Beyond one kernel's columns, so that lines are read again. */
	e.of['n'] = kernel->rows_nr + 1;
	if (units)
		found->l2 = (4 * units + 2) / 3 * NARROW_LINES * kernel->line *
			    e.of['k'] * CACHE_LINE;
	for (unsigned i = 0; i < scale(4); i++) {
		struct random_einsum einsum;

		/* Two lines to three and a half. */
		e.of['v'] = kernel->line * (4 + i) / 2;
		e.of['l'] = kernel->line * 5 / 2 + i;
		einsum = form_einsum(i % 2 ? "vkl,kn->lvn" : "vklz,knz->lvnz",
				     type, &e, i);
		einsum.tensor[A].stride[1] = apart;
		einsum.tensor[A].stride[2] = 16 * apart;
		einsum.tensor[A].stride[3] = 16 * apart *
					     (ptrdiff_t)e.of['l'];
		ck_assert_uint_gt(info_of(&einsum, &options).req.a_bytes,
				  4 * e.of['k'] * e.of['n'] * kernel->bytes);
		site_try(&site, &einsum, &options, team_shape(i), FROM_ARENA);
	}
	*found = real;
	site_close(&site);
}

START_TEST(colliding_lines_are_gathered)
{
	for (unsigned units = 0; units < scale(3); units++) {
		try_gathered(_i, LEND_F64, units);
		try_gathered(_i, LEND_F32, units);
	}
}
END_TEST

/* Units do not go along A's unit stride first: -1 is as close. */
START_TEST(another_dim_is_as_close)
{
	const enum lend_type type = _i / NAMES ? LEND_F32 : LEND_F64;
	const size_t bytes = lend_type_bytes(type);
	struct lend_plan_options options = { .size = sizeof(options),
					     .kernel = names[_i % NAMES] };
	const struct kernel *kernel = kernel_find(options.kernel, bytes);
	struct form_extents e = { { ['r'] = 3, ['k'] = 16 } };
	struct random_einsum einsum;
	struct site site;

	if (!kernel)
		return;
	site = site_open();
	e.of['n'] = kernel->rows_nr + 1;
	e.of['v'] = e.of['l'] = kernel->line * 5 / 2;
	einsum = form_einsum("rvkl,kn->lrvn", type, &e, 1);
	einsum.tensor[A].stride[0] = -1;
	einsum.tensor[A].stride[1] = 1;
	einsum.tensor[A].stride[2] = 4096 / (ptrdiff_t)bytes;
	einsum.tensor[A].stride[3] = 16 * einsum.tensor[A].stride[2];
	ck_assert(is_in_place(&einsum, &options));
	for (unsigned i = 0; i < 3; i++)
		site_try(&site, &einsum, &options, team_shape(i), FROM_ARENA);
	site_close(&site);
}
END_TEST

START_TEST(packed_when_asked)
{
	struct lend_plan_options options = {
		.size = sizeof(options), .pack = true
	};
	struct site site = site_open();

	for (int i = 0; i < FORMS; i++) {
		struct random_einsum einsum =
			make((unsigned)i, forms[i], LEND_F64,
			     kernel_find(NULL, sizeof(double)));

		ck_assert(is_in_place(&einsum, NULL));
		ck_assert(!is_in_place(&einsum, &options));
		site_try(&site, &einsum, &options, team_shape((unsigned)i),
			 FROM_ARENA);
	}
	site_close(&site);
}
END_TEST

/* What does not suit is packed, as ever. */
START_TEST(others_are_packed)
{
	static const struct {
		const char *form;
		enum lend_type type;
		size_t n, r;
	} other[] = {
		{ "vkrl,kn->lvrn", LEND_CF64, 24, 40 },	/* complex */
		{ "klr,kn->lrn", LEND_F64, 30, 40 },	/* of a short sum */
		{ "vkrl,kn->lvrn", LEND_F64, 200, 40 },	/* too many */
		{ "kn,vkrl->rlvn", LEND_F64, 24, 2 },	/* short lines of C */
		{ "rkvl,kn->lvrn", LEND_F64, 24, 2 }	/* of A */
	};
	struct form_extents e = { {
		['v'] = 16, ['k'] = 20, ['l'] = 40
	} };

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		struct random_einsum einsum;

		e.of['n'] = other[i].n;
		e.of['r'] = other[i].r;
		einsum = form_einsum(other[i].form, other[i].type, &e, 0);
		ck_assert_msg(!is_in_place(&einsum, NULL), "%s, n %zu",
			      other[i].form, other[i].n);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("contract_narrow");
	TCase *tcase = suite_case(suite, "narrow");

	tcase_add_loop_test(tcase, doubles, 0, NAMES * FORMS);
	tcase_add_loop_test(tcase, floats, 0, NAMES * FORMS);
	tcase_add_test(tcase, sums_are_as_deep_as_the_cache);
	tcase_add_loop_test(tcase, colliding_lines_are_gathered, 0, NAMES);
	tcase_add_loop_test(tcase, another_dim_is_as_close, 0, 2 * NAMES);
	tcase_add_test(tcase, packed_when_asked);
	tcase_add_test(tcase, others_are_packed);
	return suite_run(suite);
}
