#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What lend refuses: each with a message that says what and where, status 2,
# and no file written.

. "${srcdir-.}/tests/tools/common.sh"

npy a.npy '<f8' '(2, 3)' 6 "$one_f8"
npy b.npy '<f8' '(3, 4)' 12 "$one_f8"
npy single.npy '<f4' '(3, 4)' 12 "$one_f4"
npy whole.npy '<i4' '(3, 4)' 12 "$one_f4"
npy c0.npy '<f8' '(2, 4)' 8 "$one_f8"

refuse() {
	must_refuse 2 "$@"
}

# $1: what; $2: einsum.
refuse_einsum() {
	refuse "$1" contract "$2" a.npy b.npy -o c.npy
}

# The einsum and what it is for.
refuse_einsum "ab,bc->ad.*'d'" 'ab,bc->ad'
refuse_einsum "'b'.* 3.* 4|'b'.* 4.* 3" 'ab,cb->ac'
refuse_einsum 'abx,bc->ac' 'abx,bc->ac'
refuse_einsum 'ab->a' 'ab->a'
refuse_einsum 'ab,bc,cd->ad' 'ab,bc,cd->ad'
refuse_einsum "'a'" 'ab,bc->aac'
refuse_einsum 'lend: ' ''

# Files that are not there, or not what they should be.
refuse '^lend: none.npy: No such file' \
	contract ab,bc-\>ac none.npy b.npy -o c.npy
refuse '^lend: none.npy: No such file' \
	contract ab,bc-\>ac a.npy none.npy -o c.npy
mkdir folder
refuse '^lend: folder: is a directory' \
	contract ab,bc-\>ac folder b.npy -o c.npy
mkfifo pipe
refuse '^lend: pipe: is not a regular file' \
	contract ab,bc-\>ac a.npy pipe -o c.npy
refuse '^lend: single.npy: its elements are f32, those of a.npy are f64' \
	contract ab,bc-\>ac a.npy single.npy -o c.npy
refuse "^lend: whole.npy: elements are of type '<i4'" \
	contract ab,bc-\>ac whole.npy b.npy -o c.npy

# Cut anywhere, a file is refused; and with something after its end.
size=$(wc -c <b.npy)
for n in 0 1 5 6 8 9 10 60 127 128 $((size - 1)); do
	head -c "$n" b.npy >cut.npy
	refuse '^lend: cut.npy: (truncated|the file is empty)' \
		contract ab,bc-\>ac a.npy cut.npy -o c.npy
done
{ cat b.npy && echo; } >long.npy
refuse '^lend: long.npy: 1 bytes too many' \
	contract ab,bc-\>ac a.npy long.npy -o c.npy

# Hostile headers.
hostile() {
	npy bad.npy '<f8' "$2" 0 ''
	refuse "^lend: bad.npy: $1" contract ab,bc-\>ac a.npy bad.npy -o c.npy
}
hostile 'the shape.s product overflows' '(4294967296, 4294967296)'
hostile 'the shape.s product overflows' '(0, 4294967296, 4294967296)'
hostile 'an extent is too large' '(99999999999999999999999,)'
hostile 'an extent is negative' '(-3, 4)'
hostile 'truncated: its shape takes 9600000000000 bytes, and 0' \
	'(1200000000000, 1)'
hostile 'header: no extent' '(3, x)'
hostile 'header: the shape is no tuple' '(3)'
printf '\223NUMPY\002\000\377\377\377\377{' >bad.npy
refuse '^lend: bad.npy: a header of 4294967295 bytes' \
	contract ab,bc-\>ac a.npy bad.npy -o c.npy
printf 'PK\003\004 an archive, of arrays even' >bad.npy
refuse '^lend: bad.npy: not a .npy file' \
	contract ab,bc-\>ac bad.npy b.npy -o c.npy

# Places that cannot be written to.
refuse "^lend: nowhere/c.npy: cannot be made in directory 'nowhere'" \
	contract ab,bc-\>ac a.npy b.npy -o nowhere/c.npy
refuse '^lend: a.npy/c.npy: .*Not a directory' \
	contract ab,bc-\>ac a.npy b.npy -o a.npy/c.npy
refuse '^lend: folder: is a directory' \
	contract ab,bc-\>ac a.npy b.npy -o folder
refuse '^lend: /dev/full: is not a regular file' \
	contract ab,bc-\>ac a.npy b.npy -o /dev/full
refuse '^lend: : names no file' contract ab,bc-\>ac a.npy b.npy -o ''
if test "$(id -u)" -ne 0; then
	chmod a-w folder
	refuse 'Permission denied' \
		contract ab,bc-\>ac a.npy b.npy -o folder/c.npy
fi

# What is in the way stays as it is.
cp a.npy keep.npy
refuse 'lend: ' contract ab,bc-\>ad a.npy b.npy -o keep.npy
cmp -s a.npy keep.npy || fail "a refused contraction changed its output"

# Not enough of what it takes.
npy square.npy '<f8' '(64, 64)' 4096 "$one_f8"
refuse '^lend: contract: the limit of 4096 bytes' \
	contract ab,bc-\>ac square.npy square.npy -o c.npy --limit 4K
npy row.npy '<f8' '(1000, 1)' 1000 "$one_f8"
npy column.npy '<f8' '(1, 1000)' 1000 "$one_f8"
(
	# Blocks of 512 bytes: less than the result's 8 MB.
	ulimit -f 100
	refuse '^lend: c.npy: no storage for its 8000128 bytes' \
		contract ab,bc-\>ac row.npy column.npy -o c.npy
	exit $failed
) || failed=1
if test -z "${LEND_SANITIZER-}"; then
	# The result would be of 24 GB.
	npy empty.npy '<f8' '(0, 55000)' 0 ''
	(
		ulimit -v 4000000
		refuse '^lend: contract: no memory for the result' \
			contract ba,bc-\>ac empty.npy empty.npy
		exit $failed
	) || failed=1
fi
npy wide.npy '<f8' '(0, 4294967296)' 0 ''
refuse '^lend: ba,bc->ac: the elements of the output are too many' \
	contract ba,bc-\>ac wide.npy wide.npy

# Accumulation.
refuse '^lend: contract: --beta without --accumulate' \
	contract ab,bc-\>ac a.npy b.npy -o c.npy --beta 2
refuse '^lend: b.npy: its shape is not the result.s' \
	contract ab,bc-\>ac a.npy b.npy -o c.npy --accumulate b.npy
refuse '^lend: single.npy: its elements are f32' \
	contract ab,bc-\>ac a.npy b.npy -o c.npy --accumulate single.npy

# Options.
refuse "^lend: contract: unknown .*option '--bogus'" \
	contract ab,bc-\>ac a.npy b.npy --bogus
refuse "^lend: contract: unknown option '-z'" \
	contract ab,bc-\>ac a.npy b.npy -z
refuse "^lend: contract: option '--threads' lacks its value" \
	contract ab,bc-\>ac a.npy b.npy --threads
refuse "^lend: contract: option '--json=3' takes no value" \
	contract ab,bc-\>ac a.npy b.npy --json=3
refuse "^lend: contract: --threads: '0' is not" \
	contract ab,bc-\>ac a.npy b.npy --threads 0
refuse "^lend: contract: --threads: '-1' is not" \
	contract ab,bc-\>ac a.npy b.npy --threads=-1
refuse "^lend: contract: --repeat: '99999999999999999999' is not" \
	contract ab,bc-\>ac a.npy b.npy --repeat 99999999999999999999
refuse "^lend: contract: --team: '2' is not" \
	contract ab,bc-\>ac a.npy b.npy --team 2
refuse '^lend: contract: a team of 2x2 is more than 3 threads' \
	contract ab,bc-\>ac a.npy b.npy --team 2x2 --threads 3
refuse "^lend: contract: --limit: '12Q' is not" \
	contract ab,bc-\>ac a.npy b.npy --limit 12Q
refuse "^lend: contract: --limit: '99999999T' is not" \
	contract ab,bc-\>ac a.npy b.npy --limit 99999999T
refuse "^lend: contract: --arena: 'stack' is not" \
	contract ab,bc-\>ac a.npy b.npy --arena stack
refuse '^lend: contract: --limit with --arena=malloc' \
	contract ab,bc-\>ac a.npy b.npy --arena malloc --limit 1G
for number in '' x 1,2,3 1+2 1,2i 1.5i2 ,2; do
	refuse "^lend: contract: --alpha: '.*' is not a number" \
		contract ab,bc-\>ac a.npy b.npy --alpha "$number"
done
refuse '^lend: contract: alpha has an imaginary part' \
	contract ab,bc-\>ac a.npy b.npy --alpha 1,2
refuse "sse1" contract ab,bc-\>ac a.npy b.npy --kernel sse1
refuse '^lend: contract: 1 of the operands .* are missing' \
	contract ab,bc-\>ac a.npy
refuse "^lend: contract: 'd.npy' is one operand too many" \
	contract ab,bc-\>ac a.npy b.npy d.npy

# The other commands.
refuse '^lend: no command'
refuse "^lend: unknown command 'frobnicate'" frobnicate
refuse "^lend: unknown option '--frobnicate'" --frobnicate
refuse '^lend: 2x: not a shape' plan ab,bc-\>ac 2x 3x4
refuse '^lend: ab,bc->ad: ' plan ab,bc-\>ad 2x3 3x4
refuse '^lend: 4294967296x4294967296: the shape.s product overflows' \
	plan ab,bc-\>ac 4294967296x4294967296 3x4
refuse "^lend: plan: --type: 'i32' is not" plan ab,bc-\>ac 2x3 3x4 --type i32
refuse '^lend: a.npy: its elements are f64, not f32' \
	plan ab,bc-\>ac a.npy 3x4 --type f32
refuse "^lend: plan: --peak: 'inf' is not" \
	plan ab,bc-\>ac 2x3 3x4 --peak inf
refuse "^lend: bench: 'nothing' is neither" bench nothing
refuse "^lend: bench: no sizes after 'ab,bc->ac'" bench ab,bc-\>ac
refuse "gives no size of label 'c'" bench ab,bc-\>ac a:2,b:3
refuse "^lend: stats: 'x' is one operand too many" stats x

exit $failed
