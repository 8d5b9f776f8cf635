#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: run.sh
#
# Runs the canaries, programs with a defect on purpose, under the tool that
# must report it.  Passes only if every defect is reported, as what it is and
# where it is, and every corrected form is not.  A tool that sleeps (options,
# suppressions, a library that hides things from it) makes this fail, so that
# the silence of the other tests means something.
#
# LEND_SANITIZER  what the programs were built with, thread or address; or
#                 valgrind, for running them under it; else nothing is run
# VALGRIND        its command
# CANARIES        where the programs are; default: tests/canary
# srcdir          the top of the source tree; default: .
#
# Exit status: 0 passed, 1 failed, 77 nothing to do with these programs.
set -u

: "${CANARIES=tests/canary}"
: "${srcdir=.}"
: "${VALGRIND=valgrind}"
: "${LEND_SANITIZER=none}"

failed=0
output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT

fail() {
	echo "FAIL: $*"
	sed 's/^/    /' "$output" | head -n 40
	failed=1
}

# $1: what the output must have, an extended regular expression, in one
# report; the rest: the command, which must fail.
must_report() {
	pattern=$1
	shift
	if "$@" >"$output" 2>&1; then
		fail "$*: not reported"
	elif ! tr '\n' ' ' <"$output" | grep -Eq "$pattern"; then
		fail "$*: no report with $pattern"
	else
		echo "reported: $*"
	fi
}

must_be_silent() {
	if ! "$@" >"$output" 2>&1 || test -s "$output"; then
		fail "$*: not silent"
	else
		echo "silent: $*"
	fi
}

# Where use_after_return.c writes too late: "worker", "panel", "buffer".
late_write() {
	source=tests/canary/use_after_return.c
	echo "use_after_return.c:$(grep -n "HERE: $1" "$srcdir/$source" |
		cut -d: -f1)"
}

under_valgrind() {
	"$VALGRIND" --quiet --error-exitcode=1 --leak-check=full \
		--errors-for-leak-kinds=definite \
		--show-leak-kinds=definite "$@"
}

case $LEND_SANITIZER in
thread)
	race='WARNING: ThreadSanitizer: data race'
	must_report "$race .*write_shared" "$CANARIES/race" slots
	must_be_silent "$CANARIES/race" slots-right
	must_report "$race .*write_panel" "$CANARIES/race" sets
	must_be_silent "$CANARIES/race" sets-right
	must_report "$race .*write_buffer" "$CANARIES/race" buffers
	must_be_silent "$CANARIES/race" buffers-right
	must_report "$race .*end_object" "$CANARIES/race_rcu" wrong
	must_be_silent "$CANARIES/race_rcu" right
	;;
address)
	use='AddressSanitizer: use-after-poison .* #0 [^#]*'
	must_report "$use$(late_write worker)" \
		"$CANARIES/use_after_return" worker
	must_report "$use$(late_write panel)" \
		"$CANARIES/use_after_return" panel
	must_report "$use$(late_write buffer)" \
		"$CANARIES/use_after_return" buffer
	must_be_silent "$CANARIES/use_after_return" right
	must_report 'LeakSanitizer: detected memory leaks .*leak\.c' \
		"$CANARIES/leak" wrong
	must_be_silent "$CANARIES/leak" right
	;;
valgrind)
	use='Invalid write of size 1 ==[0-9]+==    at [^(]*.'
	must_report "$use$(late_write worker)" \
		under_valgrind "$CANARIES/use_after_return" worker
	must_report "$use$(late_write panel)" \
		under_valgrind "$CANARIES/use_after_return" panel
	must_report "$use$(late_write buffer)" \
		under_valgrind "$CANARIES/use_after_return" buffer
	must_be_silent under_valgrind "$CANARIES/use_after_return" right
	must_report 'definitely lost .*leak\.c' \
		under_valgrind "$CANARIES/leak" wrong
	must_be_silent under_valgrind "$CANARIES/leak" right
	;;
*)
	echo "no sanitizer: LEND_SANITIZER is $LEND_SANITIZER"
	exit 77
	;;
esac
exit $failed
