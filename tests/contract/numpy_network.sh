#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The einsum instances against NumPy: see numpy_network.py.  Skipped (77)
# without a Python that has NumPy.  The graphical model takes longer than all
# others together: it is the one of numpy_network_large.sh.
set -eu

: "${srcdir=.}"
for python in ${PYTHON-} python3 /usr/bin/python3; do
	if "$python" -c 'import numpy' 2>/dev/null; then
		exec "$python" "$srcdir/tests/contract/numpy_network.py" \
			"${LEND_PROGRAM:?names no program}" \
			"$srcdir"/tests/data/einsum/[!g]*.json
	fi
done
echo 'there is no Python with NumPy'
exit 77
