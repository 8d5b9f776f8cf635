#!/bin/sh
# SPDX-License-Identifier: MIT
#
# As numpy_network.sh, of the graphical model alone.
set -eu

: "${srcdir=.}"
for python in ${PYTHON-} python3 /usr/bin/python3; do
	if "$python" -c 'import numpy' 2>/dev/null; then
		exec "$python" "$srcdir/tests/contract/numpy_network.py" \
			"${LEND_PROGRAM:?names no program}" \
			"$srcdir"/tests/data/einsum/gm_*.json
	fi
done
echo 'there is no Python with NumPy'
exit 77
