#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Clients that contract networks at once.

. "${srcdir-.}/tests/tools/common.sh"

cat >chain.json <<'END'
{ "name": "chain", "format_string": "ab,bc,cd->ad",
  "shapes": [[8, 40], [40, 30], [30, 9]],
  "paths": { "opt_flops": { "path": [[0, 1], [0, 1]] } } }
END
cat >trace.json <<'END'
{ "name": "trace", "format_string": "ab,bc,ca->",
  "shapes": [[16, 16], [16, 16], [16, 16]] }
END
cat >wide.json <<'END'
{ "format_string": "a,b->ab", "shapes": [[1000], [1000]] }
END
cat >empty.json <<'END'
{ "format_string": "ab,bc->ac", "shapes": [[0, 2], [2, 3]] }
END

cat >large.json <<'END'
{ "format_string": "ab,bc->ac", "shapes": [[600, 600], [600, 600]] }
END

# $1: an extended regular expression; what lend prints has it.
must_print() {
	what=$1
	shift
	lend "$@" >out 2>err || fail "status $?: lend $*: $(cat err)"
	grep -Eq -e "$what" out || fail "'$what' is not in '$(cat out)': lend $*"
	test ! -s err || fail "'$(cat err)': lend $*"
}

for arena in lend mutex malloc; do
	must_print "^  load +4 clients, 2 threads, $arena for" \
		load chain.json trace.json --clients 4 --threads 2 \
		--seconds 0.2 --arena "$arena"
	grep -Eq '^  requests +[1-9][0-9]*, ' out || fail "no requests: $arena"
	grep -Eq '^  refused +0,' out || fail "refused: $arena"
done

# In the steady state lend's arena neither allocates nor grows.
must_print '"allocations_per_request": 0,' \
	load chain.json trace.json --clients 1 --threads 1 --seconds 0.2 \
	--json
must_print '"allocations_per_request": [1-9]' \
	load chain.json --clients 1 --threads 1 --seconds 0.2 --json \
	--arena malloc

# What a limit has no room for is refused, and the others go on.
must_print '"refused": [1-9]' \
	load chain.json wide.json --clients 4 --threads 1 --seconds 0.2 \
	--limit 1M --json
grep -Eq '"requests": [1-9]' out || fail "a limit stops all"

# Sessions: each in a workspace of its own, cold or prepared.
must_print '^  sessions +of 2 requests: 0 claims, 0 misses, 0 prepared, ' \
	load chain.json trace.json --clients 3 --threads 1 --seconds 0.2 \
	--session 2
grep -Eq '^  cold +[1-9][0-9]* first requests: p50 ' out || fail "none cold"
grep -Eq '^  warm ' out && fail "warm without --warm"
must_print '^  sessions +of 16 requests: [1-9][0-9]* claims, ' \
	load chain.json trace.json --clients 3 --threads 2 --seconds 0.2 \
	--warm 2
grep -Eq '^  warm +[1-9][0-9]* first requests: p50 ' out || fail "none warm"
grep -Eq '^  refused +0,' out || fail "refused: sessions"

# One client at a time claims what is ready, and nothing grows in it.
must_print '"allocations_per_request": 0,' \
	load chain.json --clients 1 --threads 1 --seconds 0.2 --warm 2 \
	--session 100000000 --json
grep -Eq '"claims": 1,' out || fail "claims: $(cat out)"
grep -Eq '"misses": 0,' out || fail "misses: $(cat out)"
must_print '"allocations_per_request": [1-9]' \
	load chain.json --clients 1 --threads 1 --seconds 0.2 --session 1 \
	--json

# Where workspaces cannot be prepared sessions are cold, and are refused too.
must_print '"failed": [1-9]' \
	load wide.json chain.json --clients 2 --threads 1 --seconds 0.2 \
	--warm 1 --session 2 --limit 1M --json
grep -Eq '"refused": [1-9]' out || fail "none refused"
grep -Eq '"requests": [1-9]' out || fail "a limit stops all sessions"

must_print '^ +2 malloc ' load chain.json --clients 2 --threads 1 \
	--seconds 0.1 --rounds 3 --plot load.svg
test "$(grep -c '<polyline' load.svg)" -eq 9 || fail "lines of the plot"
grep -q '^</svg>$' load.svg || fail "the plot's end"

# What takes longer than all the seconds counts, and so does its time.
must_print '"most_seconds": ' load large.json --clients 2 --threads 1 \
	--seconds 0.001 --json
awk '/"seconds"/ { s = $2 + 0 } /"most_seconds"/ { m = $2 + 0 }
     END { exit !(s >= m) }' out ||
	fail "a request's time is not counted: $(cat out)"

must_refuse 2 'missing.json: No such file' load missing.json
must_refuse 2 'no memory for the results' load chain.json --clients 8 \
	--rounds 4611686018427387904 --plot rounds.svg
test ! -e rounds.svg || fail 'a picture of nothing'
ln -s nowhere.svg link.svg
must_refuse 2 'no memory for the results' load chain.json --clients 8 \
	--rounds 4611686018427387904 --plot link.svg
test -L link.svg || fail 'a link was removed'
test ! -e nowhere.svg || fail 'something where the link leads'
must_refuse 2 "no path 'best'" load chain.json --path best
must_refuse 2 'is not one of' load chain.json --arena none
must_refuse 2 'has no elements' load empty.json
must_refuse 2 'cannot be written' load chain.json --plot missing/load.svg
must_refuse 2 'only lend.s arena has a limit' \
	load chain.json --arena malloc --limit 1M
must_refuse 2 'for lend.s arena alone' \
	load chain.json --session 4 --arena malloc
must_refuse 2 'for lend.s arena alone' load chain.json --warm 4 --plot x.svg
must_refuse 2 '--warm: 2000 are more' load chain.json --warm 2000
must_refuse 2 '--warm' load chain.json --warm 0
must_refuse 2 '--seconds' load chain.json --seconds 0
must_refuse 2 '--clients' load chain.json --clients 5000

exit $failed
