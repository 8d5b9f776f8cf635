#!/bin/sh
# SPDX-License-Identifier: MIT
#
# lend network: what it does when all is well, and what it refuses, each with a
# message that says what and where, status 2, and no file written.

. "${srcdir-.}/tests/tools/common.sh"

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

cat >net.json <<'END'
{
  "name": "three matrices",
  "format_string": "ab,bc,cd->ad",
  "shapes": [[2, 3], [3, 4], [4, 2]],
  "paths": {
    "opt_flops": { "path": [[0, 1], [0, 1]], "log2_size": 3.0 },
    "opt_size": { "path": [[2, 1], [0, 1]] }
  },
  "more": [null, true, 1.5, { "deep": {} }]
}
END
mkdir data
npy data/0.npy '<f8' '(2, 3)' 6 "$one_f8"
npy data/1.npy '<f8' '(3, 4)' 12 "$one_f8"
npy data/2.npy '<f8' '(4, 2)' 8 "$one_f8"
# 12 is 0x4028000000000000.
npy twelves.npy '<f8' '(2, 2)' 4 '\000\000\000\000\000\000\050\100'
npy ones.npy '<f8' '(2, 2)' 4 "$one_f8"

# Every path, lender and number of threads, from files.
for path in opt_flops opt_size greedy; do
	for arena in lend mutex malloc; do
		for threads in 1 2; do
			rm -f r.npy
			must_do network net.json --path "$path" --data data \
				-o r.npy --arena "$arena" --repeat 3 \
				--threads "$threads"
			cmp r.npy twelves.npy ||
				fail "$path, $arena, $threads: wrong"
			must_print "lent by +$arena"
			must_print "path +$path \(taken\)"
		done
	done
done
must_do network net.json --data data/0.npy,data/1.npy,data/2.npy -o r.npy -q
cmp r.npy twelves.npy || fail "files by name"
test ! -s out || fail "--quiet printed $(cat out)"

# Made up: ones give 1, the same seed the same, another one something else.
must_do network net.json --data ones -o r.npy
must_do network net.json -o s.npy
must_do network net.json --data seed:1 -o t.npy --path greedy
must_do network net.json --data seed:2 -o u.npy
cmp -s s.npy u.npy && fail "seeds 1 and 2 are the same"
size=$(wc -c <ones.npy)
test "$(wc -c <r.npy)" -eq "$size" || fail "ones are of another size"
must_do contract 'ab,ab->' r.npy ones.npy --verify
for type in f32 f64 cf32 cf64; do
	must_do network net.json --type "$type" --json --stats
	must_print_json "\"type\": \"$type\""
	must_print '"einsum": "ab,bc->'
	must_print '"name": "greedy"'
done
must_do network net.json --stats --repeat 2
must_print '^three matrices  f64'
must_print 'step 1 +\[0, 1\]'
must_print 'page faults +[0-9]+ at first'

# One operand, scalars, no operands' labels, no elements.
one() {
	printf '{"format_string": "%s", "shapes": %s}' "$1" "$2" >one.json
	must_do network one.json -o o.npy
}
one 'ab->ba' '[[2, 3]]'
one 'aa->' '[[3, 3]]'
one ',->' '[[], []]'
one 'ab,bc->ac' '[[0, 3], [3, 2]]'
one 'αβ,βγ' '[[2, 3], [3, 2]]'

# Refusals.
refuse() {
	must_refuse 2 "$@"
}

# $1: what; $2: the file's text.
refuse_text() {
	printf '%s' "$2" >bad.json
	refuse "^lend: bad.json: $1" network bad.json -o o2.npy
}

# $1: what; the rest: members beside three matrices' text.
refuse_net() {
	refuse_text "$1" '{"format_string": "ab,bc,cd->ad",
		"shapes": [[2, 3], [3, 4], [4, 2]], "paths": {"opt_flops":
		{"path": '"$2"'}}}'
}

refuse_net 'path, step 1: position 2 is not in the working list.* 2' \
	'[[0, 1], [2, 0]]'
refuse_net 'path, step 0: position 1 is used twice' '[[1, 1], [0, 1]]'
refuse_net 'the path has 1 steps, 3 operands need 2' '[[0, 1]]'
refuse_net 'the path has 3 steps' '[[0, 1], [0, 1], [0, 0]]'
refuse_net 'paths.opt_flops.path\[0\] names 3 tensors' '[[0, 1, 2], [0, 1]]'
refuse_net 'paths.opt_flops.path\[1\]\[0\] is negative' '[[0, 1], [-1, 0]]'
refuse_net 'paths.opt_flops.path\[0\]\[1\] is a number with a fraction' \
	'[[0, 1.5], [0, 1]]'
refuse_net 'paths.opt_flops.path\[0\] is null' '[null, [0, 1]]'
refuse_net 'paths.opt_flops.path is an object' '{}'
refuse_net 'line 3.*(big|large)' '[[0, 99999999999999999999], [0, 1]]'

refuse_text "label 'b': extent 4 in dimension 0 of operand 1, but 3 in oper" \
	'{"format_string": "ab,bc->ac", "shapes": [[2, 3], [4, 5]]}'
refuse_text "einsum: label 'x' of the output is in no operand" \
	'{"format_string": "ab,bc->ax", "shapes": [[2, 3], [3, 5]]}'
refuse_text 'einsum, byte [0-9]+: 2 operands, but there are 3' \
	'{"format_string": "ab,bc->ac", "shapes": [[2, 3], [3, 5], [2]]}'
refuse_text "'format_string' is absent" '{"shapes": [[2, 3]]}'
refuse_text "'format_string' is an array" \
	'{"format_string": [], "shapes": [[2, 3]]}'
refuse_text "'shapes' is absent" '{"format_string": "a->a"}'
refuse_text "'shapes' is empty" '{"format_string": "", "shapes": []}'
refuse_text 'shapes\[0\] is a number' '{"format_string": "a", "shapes": [2]}'
refuse_text 'shapes\[0\]\[1\] is a string' \
	'{"format_string": "ab", "shapes": [[2, "3"]]}'
refuse_text "'dtype' is none of" \
	'{"format_string": "a", "shapes": [[2]], "dtype": "int8"}'
refuse_text "'paths' is a truth value" \
	'{"format_string": "a", "shapes": [[2]], "paths": true}'
refuse_text 'step 0.*(overflow|too many|beyond)' \
	'{"format_string": "a,b->ab", "shapes": [[4294967296], [4294967296]]}'

# What is no such JSON at all.
# What a terminal would obey is not shown.
refuse_text "'name' has a control character" \
	'{"format_string": "a", "shapes": [[2]], "name": "x\u001b]0;y\u0007"}'
refuse_text "'name' has a control character" \
	'{"format_string": "a", "shapes": [[2]], "name": "x\u009by"}'
refuse_text 'the name of a path has a control character' \
	'{"format_string": "a", "shapes": [[2]], "paths": {"\u007f": 1}}'
refuse_text 'einsum, byte 0: a control character' \
	'{"format_string": "\u009b", "shapes": [[2]]}'
refuse_text 'it is an array' '[]'
refuse_text 'line 1' ''
refuse_text 'line 1' '{'
refuse_text 'line 1' '{"a": 1, "a": 2}'
refuse_text 'line 1' '{} x'
refuse_text 'line 1.*decode byte' "$(printf '{"a\377": 1}')"
deep=$(awk 'BEGIN { for (i = 0; i < 100000; i++) printf "[" }')
refuse_text 'line 1.*depth' "$deep"
refuse '^lend: none.json: No such file' network none.json
refuse '^lend: data: is a directory' network data
mkfifo pipe
refuse '^lend: pipe: is not a regular file' network pipe
truncate -s 100M large.json
refuse '^lend: large.json: 104857600 bytes are more' network large.json
rm large.json

# Operands.
refuse '^lend: none/?.*: No such file' network net.json --data none -o o2.npy
refuse '^lend: --data names 2 files, which is too few' \
	network net.json --data data/0.npy,data/1.npy -o o2.npy
refuse '^lend: --data names 4 files for 3 operands' \
	network net.json --data data/0.npy,data/1.npy,data/2.npy,x -o o2.npy
refuse '^lend: data/1.npy: extent 3 in dimension 0, where the instance has 2' \
	network net.json --data data/1.npy,data/1.npy,data/2.npy -o o2.npy
npy single.npy '<f4' '(3, 4)' 12 "$one_f4"
refuse '^lend: single.npy: its elements are f32, those of the others f64' \
	network net.json --data data/0.npy,single.npy,data/2.npy -o o2.npy
refuse "^lend: network: --type: the files' elements are f64" \
	network net.json --data data --type f32 -o o2.npy

# Options, and what they ask too much of.
refuse "^lend: net.json: it has no path 'best'; its first one is 'opt_" \
	network net.json --path best
refuse "^lend: network: --data: 'seed:x' is no seed" \
	network net.json --data seed:x
refuse "^lend: network: --arena: 'stack'" network net.json --arena stack
refuse '^lend: network: --limit with --arena=mutex' \
	network net.json --arena mutex --limit 1M
refuse '^lend: network: the limit of 4096 bytes is reached; .* borrows [0-9]' \
	network net.json --limit 4K -o o2.npy
refuse "sse1" network net.json --kernel sse1
refuse '^lend: network: 1 of the operands INSTANCE.json are missing' network
refuse "^lend: network: 'x' is one operand too many" network net.json x
refuse "^lend: nowhere/o.npy: cannot be made in directory 'nowhere'" \
	network net.json -o nowhere/o.npy

exit $failed
