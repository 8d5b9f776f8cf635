#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Ten minutes of 16 clients over changing networks, SOAK_SECONDS if set, first
# without and then with a limit of half of what the arena then had: resident
# memory is no more in the second half than from a tenth of the time to the
# first; with a limit it is below that and what is not the arena's; at the end
# nothing is lent.

. "${srcdir-.}/tests/tools/common.sh"

seconds=${SOAK_SECONDS-600}
data=$top/tests/data/einsum

# $1: a figure of the report.
figure() {
	sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" report
}

soak() {
	lend load "$data"/bin_batched_matmul_b32_m64_n64_k64.json \
		"$data"/bin_matmul_256.json \
		"$data"/lm_batch_likelihood_brackets_4_4d.json \
		"$data"/str_matrix_chain_multiplication_100.json \
		"$data"/str_mps_varying_inner_product_200.json \
		--clients 16 --seconds "$seconds" --json "$@" >report ||
		fail "lend load $*"
	cat report
	early=$(figure resident_early_bytes)
	most=$(figure resident_bytes)
	# 2 % and a MiB, for what threads and the C library take.
	test "$most" -le $((early + early / 50 + 1048576)) ||
		fail "resident memory grew from $early to $most"
	test "$(figure requests)" -gt 0 || fail "no requests"
}

soak
test "$(figure refused)" -eq 0 || fail "refused without a limit"
most=$(figure retained_bytes)
rest=$(($(figure resident_bytes) - most))
limit=$((most / 2))
soak --limit "$limit"
test "$(figure retained_bytes)" -le "$limit" ||
	fail "more than $limit retained"
within=$((limit + rest + limit / 50 + 1048576))
test "$(figure resident_bytes)" -le "$within" ||
	fail "more than $within resident"

exit $failed
