#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The example server's results as NumPy has them.

. "${srcdir-.}/tests/tools/common.sh"

if ! find_python numpy; then
	echo "there is no Python with NumPy"
	exit 77
fi
"$python" "$top/tests/server/numpy_server.py" "$LEND_SERVER"
