#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The shared libraries' dynamic symbols: exactly the checked lists are
# exported, what is exported is declared to the public and the other way round;
# and liblend calls no allocator, as a program may route its malloc to it.
set -eu

: "${srcdir=.}" "${NM=nm}" "${READELF=readelf}"
: "${LEND_SHARED=src/.libs/liblend.so}"
: "${LEND_CONTRACT_SHARED=src/.libs/liblend-contract.so}"
list=$srcdir/src/lend.sym
failed=0

if ! test -f "$LEND_SHARED"; then
	echo "$LEND_SHARED is not there: a build without a shared library"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# $1: complaint; $2, $3: files that must hold the same lines.
must_equal() {
	if ! diff "$2" "$3" >"$work/diff"; then
		echo "$1 (<: there alone, >: here alone)"
		cat "$work/diff"
		failed=1
	fi
}

LC_ALL=C
export LC_ALL

# $1: library; $2: its list; the rest: its public headers.
compare() {
	library=$1
	symbols=$2
	shift 2
	$NM -D --defined-only "$library" |
		awk '$(NF - 1) != "A" { sub(/@.*/, "", $NF); print $NF }' |
		sort >"$work/exported"
	must_equal "exported symbols differ from $symbols" \
		"$symbols" "$work/exported"

	# In our headers a function's name starts its line.
	sed -n 's/^\(lend_[a-z0-9_]*\)(.*/\1/p' "$@" |
		sort -u >"$work/declared"
	must_equal "public headers differ from $symbols" \
		"$symbols" "$work/declared"
}

# The names are a list of words without spaces.
# shellcheck disable=SC2046
compare "$LEND_SHARED" "$list" $(ls "$srcdir"/include/lend/*.h |
	grep -Ev '/(contract|network)\.h$')
compare "$LEND_CONTRACT_SHARED" "$srcdir/src/lend-contract.sym" \
	"$srcdir/include/lend/contract.h" "$srcdir/include/lend/network.h"

$NM -D --undefined-only "$LEND_SHARED" |
	awk '{ sub(/@.*/, "", $NF); print $NF }' |
	grep -xE 'malloc|calloc|realloc|reallocarray|free|posix_memalign|aligned_alloc|memalign|valloc|strdup|strndup|v?asprintf|getline|fopen|opendir' \
	>"$work/allocators" || :
if test -s "$work/allocators"; then
	echo "the library calls an allocator:"
	cat "$work/allocators"
	failed=1
fi

# A definition does not inherit the model of its declaration.
if $NM -D --undefined-only "$LEND_SHARED" | grep -q __tls_get_addr; then
	echo "a thread-local variable is not of the initial-exec model"
	failed=1
fi

if command -v "$READELF" >/dev/null &&
	! $READELF -d "$LEND_SHARED" | grep -q NODELETE; then
	echo "the library is not marked NODELETE"
	failed=1
fi

exit $failed
