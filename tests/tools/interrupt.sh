#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Interrupted in the middle, lend dies by the signal and leaves nothing under
# the final name, nor under another.

. "${srcdir-.}/tests/tools/common.sh"

# What is started in the background ignores SIGINT otherwise, and so does lend
# then.
if ! env --default-signal=INT true 2>/dev/null; then
	echo "env cannot restore signals"
	exit 77
fi
npy a.npy '<f8' '(2, 3)' 6 "$one_f8"
npy b.npy '<f8' '(3, 4)' 12 "$one_f8"
mkdir out

echo '{"format_string": "ab,bc,cd->ad", "shapes": [[2, 3], [3, 4], [4, 5]]}' \
	>net.json

# $1: signal; $2: the status of a shell's wait for who dies by it; the rest:
# command and operands.
interrupt() {
	signal=$1
	expected=$2
	shift 2
	env --default-signal="$signal" "$LEND_PROGRAM" "$@" -o out/c.npy \
		--repeat 1000000000000 2>err &
	pid=$!
	# The result is mapped: it is at work, or about to be.
	until grep -q "$work/out/" "/proc/$pid/maps" 2>/dev/null; do
		if ! kill -0 "$pid" 2>/dev/null; then
			fail "ended by itself: $(cat err)"
			return
		fi
		sleep 0.05
	done
	kill -s "$signal" "$pid"
	status=0
	wait "$pid" || status=$?
	test "$status" -eq "$expected" ||
		fail "SIG$signal: status $status, not $expected"
}

ls -A out >expected
for each in INT:130 TERM:143 HUP:129; do
	interrupt "${each%:*}" "${each#*:}" contract 'ab,bc->ac' a.npy b.npy
	ls -A out | cmp -s - expected || fail "left behind: $(ls -A out)"
	interrupt "${each%:*}" "${each#*:}" network net.json
	ls -A out | cmp -s - expected || fail "left behind: $(ls -A out)"
done

# What was there stays as it was.
cp a.npy out/c.npy
ls -A out >expected
interrupt INT 130 contract 'ab,bc->ac' a.npy b.npy
ls -A out | cmp -s - expected || fail "left behind: $(ls -A out)"
cmp -s a.npy out/c.npy || fail "the old file was changed"

exit $failed
