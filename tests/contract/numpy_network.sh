#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The einsum instances against NumPy: see numpy_network.py.  Skipped (77)
# without a Python that has NumPy.  The graphical model takes longer than all
# others together: it is the one of numpy_network_large.sh.  In a sanitized
# build those that are contracted in milliseconds, and briefly.
set -eu

: "${LEND_PROGRAM:?names no program}" "${srcdir=.}"
data=$srcdir/tests/data/einsum
if test -n "${LEND_SANITIZER-}"; then
	set -- --brief "$LEND_PROGRAM" "$data"/bin_*matmul*.json \
		"$data"/lm_*_brackets_*.json "$data"/str_mps_*.json
else
	set -- "$LEND_PROGRAM" "$data"/[!g]*.json
fi
for python in ${PYTHON-} python3 /usr/bin/python3; do
	if "$python" -c 'import numpy' 2>/dev/null; then
		exec "$python" "$srcdir/tests/contract/numpy_network.py" "$@"
	fi
done
echo 'there is no Python with NumPy'
exit 77
