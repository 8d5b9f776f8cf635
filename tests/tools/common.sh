# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What the program's tests share.  Sourced; leaves the test in an empty
# directory of its own.

set -eu

: "${srcdir=.}" "${LEND_PROGRAM=$PWD/src/tools/lend}"
top=$(cd "$srcdir" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
LC_ALL=C
export LC_ALL
unset LEND_CONF
failed=0

lend() {
	"$LEND_PROGRAM" "$@"
}

# $1: what was wrong.
fail() {
	echo "FAIL: $1"
	failed=1
}

# $1: file; $2: dtype; $3: shape, a Python tuple; $4: how many elements;
# $5: one element's bytes as printf knows them.
npy() {
	dict="{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
	{
		# 118 and 10 bytes before make 128.
		printf '\223NUMPY\001\000v\000%-117s\n' "$dict"
		i=0
		while test "$i" -lt "$4"; do
			# The format is what it is for.
			# shellcheck disable=SC2059
			printf "$5"
			i=$((i + 1))
		done
	} >"$1"
}

# The numbers 1, little endian.
one_f8='\000\000\000\000\000\000\360\077'
one_f4='\000\000\200\077'

# Runs lend with the arguments, which must end with status $1 and say $2, an
# extended regular expression, on standard error.  It must leave no file
# behind that was not there.
must_refuse() {
	status=$1
	what=$2
	shift 2
	: >"$work/.before"; : >"$work/.after"; : >"$work/.out"; : >"$work/.err"
	ls -a >"$work/.before"
	got=0
	lend "$@" >"$work/.out" 2>"$work/.err" || got=$?
	ls -a >"$work/.after"
	test "$got" -eq "$status" ||
		fail "status $got, not $status: lend $*"
	grep -Eq -e "$what" "$work/.err" ||
		fail "'$what' is not in '$(cat "$work/.err")': lend $*"
	! grep -Evq '^lend: ' "$work/.err" ||
		fail "not ours: $(cat "$work/.err")"
	test ! -s "$work/.out" ||
		fail "printed '$(cat "$work/.out")': lend $*"
	cmp -s "$work/.before" "$work/.after" ||
		fail "left files behind: $(diff "$work/.before" "$work/.after")"
}

# A Python, of those that there may be, with the module $1.
find_python() {
	for python in "${PYTHON-python3}" python3 /usr/bin/python3; do
		if "$python" -c "import $1" >"$work/.python" 2>&1; then
			return 0
		fi
	done
	return 1
}
