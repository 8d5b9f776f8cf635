#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The contractions of the TCCG list against NumPy: see numpy_tccg.py.
# Skipped (77) without a Python that has NumPy, and where the library cannot
# be loaded by one: with a sanitizer.
set -eu

if test -n "${LEND_SANITIZER-}"; then
	echo 'a sanitized library does not load into Python'
	exit 77
fi
# The library that it needs lies beside it.  Jemalloc keeps much thread-local
# storage, for which glibc leaves little room to libraries opened late.
library=${LEND_CONTRACT_SHARED:?names no library}
LD_LIBRARY_PATH=$(dirname "$library")${LD_LIBRARY_PATH+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
GLIBC_TUNABLES=${GLIBC_TUNABLES-glibc.rtld.optional_static_tls=8192}
export GLIBC_TUNABLES

for python in ${PYTHON-} python3 /usr/bin/python3; do
	if "$python" -c 'import numpy' 2>/dev/null; then
		exec "$python" "$(dirname "$0")/numpy_tccg.py" "$library"
	fi
done
echo 'there is no Python with NumPy'
exit 77
