#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compiles and runs host programs against the installed library, with the
# flags that pkg-config gives and no others (`make installcheck`).
set -eu

: "${CC=cc}" "${CFLAGS=-O2}" "${PKG_CONFIG=pkg-config}" "${JEMALLOC_LIBS=}"
: "${LEND_LIBDIR:?}" "${LEND_BINDIR:?}"
source=$(dirname "$0")
examples=$source/../../examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$LEND_LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

cflags=$($PKG_CONFIG --cflags lend)
libs=$($PKG_CONFIG --libs lend)

# $1: program; the rest: its source and what it is linked with.
build() {
	program=$1
	shift
	# The flags are lists of words.
	# shellcheck disable=SC2086
	$CC $CFLAGS $cflags -o "$work/$program" "$@"
}

# $1: what is shown; the rest: the command that shows it.
show() {
	what=$1
	shift
	"$@" || { echo "FAIL: $what"; exit 1; }
	echo "PASS: $what"
}

case " $libs " in
*jemalloc*)
	echo "FAIL: pkg-config --libs names jemalloc: $libs"
	exit 1
	;;
esac

# shellcheck disable=SC2086
build host "$source/host.c" $libs -ldl
show "a host keeps the C library's malloc" "$work/host" libc.so

# shellcheck disable=SC2086
build dlopen "$source/dlopen.c" -ldl -pthread
# Debian's jemalloc wants more static thread storage than the C library keeps
# for what is loaded late; without jemalloc the default is enough.
show "the library can be loaded and closed while running" \
	env ${JEMALLOC_LIBS:+GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384} \
	"$work/dlopen" "$LEND_LIBDIR/liblend.so"

if test -n "$JEMALLOC_LIBS"; then
	# shellcheck disable=SC2086
	build host "$source/host.c" $libs -Wl,--no-as-needed $JEMALLOC_LIBS -ldl
	show "a host may have jemalloc for its malloc" \
		"$work/host" libjemalloc
fi

# A program of the second library names that one alone.
cflags=$($PKG_CONFIG --cflags lend-contract)
# shellcheck disable=SC2046
build contract "$examples/contract.c" \
	$($PKG_CONFIG --libs lend-contract) -lm
show "a program of liblend-contract runs" "$work/contract"
show "the program lend runs" env PATH="$LEND_BINDIR:$PATH" lend plan \
	ab,bc-\>ac 3x4 4x5
