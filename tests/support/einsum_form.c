/* SPDX-License-Identifier: MIT */
#include "support/einsum_form.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "support/random.h"

enum { A, B, C };

void
form_lay(struct random_tensor *tensor, const char *labels, size_t rank,
	 const struct form_extents *extents, ptrdiff_t gap, bool reversed)
{
	ptrdiff_t stride = 1;

	for (size_t d = 0; d < rank; d++) {
		tensor->extent[d] = extents->of[(unsigned char)labels[d]];
		tensor->stride[d] = stride;
		stride = stride * (ptrdiff_t)tensor->extent[d] + gap;
	}
	if (reversed && rank > 1)
		tensor->stride[rank - 1] *= -1;
}

struct random_einsum
form_einsum(const char *form, enum lend_type type,
	    const struct form_extents *extents, uint64_t seed)
{
	static const double betas[] = { 0, 0, 1, -2 };
	const char *b = strchr(form, ',') + 1, *c = strchr(form, '>') + 1;
	const size_t rank[] = {
		(size_t)(b - 1 - form), (size_t)(c - 2 - b), strlen(c)
	};
	const char *const labels[] = { form, b, c };
	struct random_einsum einsum = { .seed = seed, .type = type };

	snprintf(einsum.text, sizeof(einsum.text), "%s", form);
	ck_assert(naive_parse(einsum.text, einsum.labels));
	einsum.exact = random_below(&seed, 2);
	einsum.alpha[0] = random_below(&seed, 2) ? 1 : 3;
	einsum.beta[0] = betas[random_below(&seed, 4)];
	for (int o = A; o <= C; o++) {
		bool reversed = random_below(&seed, 2);

		form_lay(&einsum.tensor[o], labels[o], rank[o], extents,
			 random_below(&seed, 3), reversed);
	}
	return einsum;
}
