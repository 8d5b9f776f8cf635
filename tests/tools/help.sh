#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The manual pages have exactly the options that --help has.

. "${srcdir-.}/tests/tools/common.sh"

for command in contract load network plan bench stats; do
	lend "$command" --help >help || fail "lend $command --help"
	grep -Eo '^  (-.,|   ) --[a-z-]+(=[A-Za-z0-9.]+)?' help |
		sed 's/^  *//' | sort >options
	test -s options || fail "lend $command --help has no options"
	# .TP, and then the option, its letter before it where it has one.
	sed -n '/^\.TP/{n;s/\\fB//g;s/\\fI//g;s/\\fR//g;s/\\-/-/g;p;}' \
		"$top/docs/man/lend-$command.1" | grep -e '^-' |
		sort >manual
	diff options manual ||
		fail "lend $command: <: only in --help, >: only in its manual"
	awk 'length($0) > 80 { print; wide = 1 } END { exit wide }' help ||
		fail "lend $command --help is wider than 80 columns"
	grep -Fq "lend\\-$command" "$top/docs/man/lend.1" ||
		fail "lend(1) does not name lend-$command(1)"
	lend --help | grep -q "^  $command " ||
		fail "lend --help does not name $command"
done
lend --version | grep -Eq '^lend [0-9]+\.[0-9]+\.[0-9]+$' ||
	fail "lend --version"

if command -v mandoc >/dev/null; then
	mandoc -T lint -W error "$top"/docs/man/*.1 || fail "mandoc complains"
fi
if command -v groff >/dev/null; then
	groff -man -ww -z "$top"/docs/man/*.1 2>complaints
	test ! -s complaints || fail "groff: $(cat complaints)"
fi

exit $failed
