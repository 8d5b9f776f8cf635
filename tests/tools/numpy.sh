#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Files and results as NumPy has them.

. "${srcdir-.}/tests/tools/common.sh"

if ! find_python numpy; then
	echo "there is no Python with NumPy"
	exit 77
fi
"$python" "$top/tests/tools/compare.py" "$LEND_PROGRAM" || failed=1
exit $failed
