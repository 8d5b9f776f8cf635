#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every source file is in a Makemodule.am, by its name or, where automake
# derives that, by the name of its program: no test lies about that nobody
# runs, no header, script or datum is missing in the tarball.
set -eu

: "${srcdir=.}"
cd "$srcdir"

missing=$(
	find include src tests bench examples \
		-name '*.[ch]' -o -name '*.cc' -o -name '*.sh' -o \
		-name '*.py' -o -path 'tests/*.json' -o -name '*.supp' | sort |
		awk '
		FILENAME != "-" {
			for (i = 1; i <= NF; i++)
				listed[$i]
			next
		}
		{
			program = $0
			sub(/\.c$/, "", program)
			if (!($0 in listed) && !(program in listed))
				print
		}' Makefile.am ./*/Makemodule.am ./*/*/Makemodule.am -
)
if test -n "$missing"; then
	echo "in no Makemodule.am:"
	echo "$missing"
	exit 1
fi
