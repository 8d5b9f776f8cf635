#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The completion, as bash would use it, and that it has what --help has.

. "${srcdir-.}/tests/tools/common.sh"

if ! command -v bash >/dev/null; then
	echo "there is no bash"
	exit 77
fi
touch one.npy two.npy other.txt net.json
mkdir folder

cat >complete.bash <<'END'
source "$1" || exit 1
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
_lend
printf '%s\n' "${COMPREPLY[@]}" | sort
END

# $1: what must come, words in order; the rest: the line, its last word being
# typed.
must_complete() {
	want=$1
	shift
	got=$(bash complete.bash "$top/completions/lend" "$@" |
		tr '\n' ' ' | sed 's/ $//')
	test "$got" = "$want" ||
		fail "'$want' should come, not '$got', after: $*"
}

bash -c 'source "$1" && complete -p lend' - "$top/completions/lend" \
	>registered || fail "it cannot be sourced"
grep -q -- '-F _lend' registered || fail "it is not registered"

must_complete '--help --version bench contract load network plan stats' lend ''
must_complete 'contract' lend co
must_complete '--version' lend --v
must_complete '--threads' lend contract --thr
must_complete 'lend malloc mutex' lend contract --arena ''
must_complete 'malloc' lend contract --arena = ma
must_complete 'cf32 cf64 f32 f64' lend plan --type ''
must_complete 'avx2 avx512 portable' lend bench --kernel ''
must_complete 'folder one.npy two.npy' lend contract ab,bc-\>ac ''
must_complete 'one.npy' lend contract -o on
must_complete 'one.npy' lend contract --accumulate on
must_complete 'abcdef-dega-gfbc abcdef-degb-gfac abcdef-degc-gfab' \
	lend bench abcdef-de
must_complete 'folder net.json' lend network ''
must_complete 'greedy opt_flops opt_size' lend network --path ''
must_complete 'folder net.json' lend load ''
must_complete 'ones seed' lend network --data ''
must_complete 'one.npy ones' lend network -d on
must_complete '' lend contract --repeat ''

for command in contract load network plan bench stats; do
	lend "$command" --help |
		sed -n 's/^  \(-.,\|   \) \(--[a-z-]*\).*/\2/p' |
		sort >options
	bash complete.bash "$top/completions/lend" lend "$command" -- \
		>completed
	diff options completed ||
		fail "lend $command: <: only in --help, >: only completed"
done

exit $failed
