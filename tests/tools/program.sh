#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What lend does when all is well.

. "${srcdir-.}/tests/tools/common.sh"

# The test must end with status 0 and say nothing on standard error.
must_do() {
	lend "$@" >out 2>err || fail "status $?: lend $*: $(cat err)"
	test ! -s err || fail "complained '$(cat err)': lend $*"
}

# $1: an extended regular expression that the output must match.
must_print() {
	grep -Eq -e "$1" out || fail "'$1' is not in '$(cat out)'"
}

json=no
if find_python json; then
	json=yes
fi
must_print_json() {
	must_print "$1"
	test "$json" = no ||
		"$python" -m json.tool out >/dev/null 2>err ||
		fail "no JSON: $(cat err): $(cat out)"
}

npy a.npy '<f8' '(2, 3)' 6 "$one_f8"
npy b.npy '<f8' '(3, 4)' 12 "$one_f8"
npy square.npy '<f4' '(60, 60)' 3600 "$one_f4"
# 3 is 0x4008000000000000.
npy threes.npy '<f8' '(2, 4)' 8 '\000\000\000\000\000\000\010\100'
npy fours.npy '<f8' '(2, 4)' 8 '\000\000\000\000\000\000\020\100'

# The product of ones, byte by byte as NumPy would write it.
must_do contract 'ab,bc->ac' a.npy b.npy -o c.npy --verify
must_print 'result +in c.npy'
must_print 'verified +8 elements'
cmp c.npy threes.npy || fail "the product is wrong"
must_do contract 'ab,bc->ac' a.npy b.npy --output=c.npy --accumulate c.npy \
	--alpha 3 --beta=-1.6666666666666667 --repeat 4 --quiet
test ! -s out || fail "--quiet printed $(cat out)"
cmp c.npy fours.npy || fail "3 x 3 - 5/3 x 3 is not 4"
# It may be one of the inputs.
cp threes.npy d.npy
must_do contract 'ab,ab->ab' d.npy d.npy -o d.npy --verify
cmp -s d.npy threes.npy && fail "the output was not written"
# A link is followed, the file that it names is replaced.
ln -s target.npy link.npy
cp a.npy target.npy
must_do contract 'ab,bc->ac' a.npy b.npy -o link.npy
test -L link.npy || fail "the link was replaced"
cmp target.npy threes.npy || fail "the link's target was not written"
must_do contract 'ab,bc->ac' a.npy b.npy
must_print 'result +not kept'

# Every lender, some teams.
for arena in lend mutex malloc; do
	for team in 1x1 2x1 1x2 2x2; do
		must_do contract 'ab,bc->ac' square.npy square.npy \
			--arena "$arena" --team "$team" --repeat 3 --verify
		must_print "lent by +$arena"
		must_do contract 'ab,bc->ac' square.npy square.npy --json \
			--arena "$arena" --team "$team" --stats --verify
		must_print_json '"wrong": 0'
	done
done
must_do contract 'ab,bc->ac' square.npy square.npy --stats
must_print 'backend (jemalloc|mmap)'

# Scalars, no elements, labels of several bytes.
must_do contract 'ab,ab->' a.npy a.npy -o s.npy --verify --json
must_print_json '"c": \[\]'
npy empty.npy '<f8' '(0, 3)' 0 ''
must_do contract 'ab,bc->ac' empty.npy b.npy -o e.npy --verify
must_do contract 'αβ,βγ->αγ' a.npy b.npy -o g.npy --json --verify
must_print_json '"einsum": "αβ,βγ->αγ"'
cmp g.npy threes.npy || fail "Greek labels"

# Plans.
must_do plan 'ab,bc->ac' 100x200 200x300
must_print 'matrices '
must_do plan 'ab,bc->ac' a.npy 3x300 --json --threads 2 --peak 100 \
	--bandwidth 10
must_print_json '"bound_gflops": [0-9]'
must_do plan ',->' scalar scalar --type cf32 --json
must_print_json '"type": "cf32"'
must_do plan 'ab,bc->ac' 100x200 200x300 --team 2x1 --json
must_print_json '"pm": 2'

if test -z "${LEND_SANITIZER-}"; then
	must_do plan 'ab,bc->ac' 100x200 200x300 --measure --json
	must_print_json '"peak_gflops": [0-9]'
	must_print '"bandwidth_gbps": [0-9]'
fi

# What there is, and what it does.
must_do stats
must_print 'kernels .*portable'
must_do stats --json
must_print_json '"kernels": \[.*"portable"\]'
# Small ones where each takes many times as long.
scale=24
test -z "${LEND_SANITIZER-}" || scale=8
must_do bench --quick --scale "$scale" --threads 2 --type f32
must_print 'abcdef-dfgb-geac'
must_do bench --quick --json --threads 1 --scale 8 \
	abc-bda-dc 'ab,bc->ac' a:9,b:8,c:7
must_print_json '"einsum": "adb,cd->cba"'
must_print '"einsum": "ab,bc->ac"'

# A full disk under standard output.
if test -c /dev/full; then
	status=0
	lend stats >/dev/full 2>err || status=$?
	test "$status" -eq 2 || fail "status $status with /dev/full"
	grep -q 'lend: standard output: ' err || fail "said $(cat err)"
fi

exit $failed
