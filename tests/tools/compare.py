# SPDX-License-Identifier: MIT
"""Contracts with lend and with NumPy, and compares.

usage: compare.py PROGRAM, in an empty directory
"""

import subprocess
import sys
import zlib

import numpy as np

PROGRAM = sys.argv[1]

# C-A-B of the TCCG benchmark, the first index the fastest.
TCCG = """
abc-bda-dc abc-dca-bd abcd-dbea-ec abcd-deca-be abcd-ebad-ce abcde-efbad-cf
abcde-ecbfa-fd abcde-efcad-bf abcd-ea-ebcd abcd-eb-aecd abcd-ec-abed ab-ac-cb
ab-acd-dbc ab-cad-dcb abc-acd-db abc-ad-bdc abc-adc-bd abc-adc-db abc-adec-ebd
abcd-aebf-dfce abcd-aebf-fdec abcd-aecf-bfde abcd-aecf-fbed abcd-aedf-bfce
abcd-aedf-fbec abcd-aefb-fdce abcd-aefc-fbed abcd-eafb-fdec abcd-eafc-bfde
abcd-eafd-fbec abcdef-dega-gfbc abcdef-degb-gfac abcdef-degc-gfab
abcdef-dfga-gebc abcdef-dfgb-geac abcdef-dfgc-geab abcdef-efga-gdbc
abcdef-efgb-gdac abcdef-efgc-gdab abcdef-gdab-efgc abcdef-gdac-efgb
abcdef-gdbc-efga abcdef-geab-dfgc abcdef-geac-dfgb abcdef-gebc-dfga
abcdef-gfab-degc abcdef-gfac-degb abcdef-gfbc-dega
""".split()

# Batches, sums of one operand, diagonals, outer products, elementwise, the
# output implied.
OTHERS = """
abc,acd->abd zab,zbc->zac zyab,yzbc->yazc ab,ab->ab ab,ab-> a,b->ab ab,cd->ac
ab,cd-> aab,bc->ac aa,aa->a aab,bcc->ac abc,c->b ,ab->ba ,-> ab,bc ba,ac a,a
""".split()

TYPES = ["f4", "f8", "c8", "c16"]
failed = 0
count = 0


def extents(einsum):
    """Small, all different and not round."""
    labels = sorted(set(einsum) - set(",->"))
    return {label: 3 + (5 * i + len(einsum)) % 11
            for i, label in enumerate(labels)}


def random(rng, shape, dtype):
    """Numbers about 0, of the type, in this machine's order."""
    values = rng.standard_normal(shape)
    if dtype[0] == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values, dtype=dtype)


def write(path, array, version, order, byteorder):
    """Saves the array so."""
    array = np.asarray(array, order=order)
    array = array.astype(array.dtype.newbyteorder(byteorder), order=order)
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def complain(what):
    """Counts a failure."""
    global failed
    failed += 1
    print("FAIL:", what)


def bound(einsum, a, b, terms):
    """What each element may be off by."""
    magnitude = np.einsum(einsum, np.abs(a), np.abs(b))
    epsilon = np.finfo(a.dtype).eps
    return 8 * epsilon * max(terms, 1) * magnitude + 1e-30


def compare(einsum, dtype, options=(), alpha=1, c0=None, beta=0):
    """One contraction by both."""
    global count
    rng = np.random.default_rng(zlib.crc32((einsum + dtype).encode()))
    size = extents(einsum)
    operands = einsum.split("->")[0].split(",")
    a, b = (random(rng, [size[l] for l in labels], dtype)
            for labels in operands)
    # Each combination comes up in turn.
    version = [(1, 0), (2, 0), (3, 0)][count % 3]
    order = "CF"[count // 3 % 2]
    byteorder = "<>"[count // 6 % 2]
    count += 1
    write("a.npy", a, version, order, byteorder)
    write("b.npy", b, version, "FC"[count % 2], byteorder)
    wide = "c16" if dtype[0] == "c" else "f8"
    want = alpha * np.einsum(einsum, a.astype(wide), b.astype(wide))
    magnitude = abs(alpha) * bound(einsum, a, b, np.prod(list(size.values())))
    arguments = ["contract", einsum, "a.npy", "b.npy", "-o", "c.npy",
                 "--quiet", *options]
    if c0 is not None:
        c0 = random(rng, want.shape, dtype)
        write("c0.npy", c0, version, order, byteorder)
        arguments += ["--accumulate", "c0.npy"]
        want = want + beta * c0.astype(wide)
        magnitude += 8 * np.finfo(dtype).eps * np.abs(beta * c0)
    done = subprocess.run([PROGRAM, *arguments], stderr=subprocess.PIPE,
                          check=False)
    what = " ".join(arguments) + f" ({dtype}, {order}, {byteorder})"
    if done.returncode != 0 or done.stderr:
        complain(f"{what}: {done.returncode}: {done.stderr.decode()}")
        return
    got = np.load("c.npy")
    if got.shape != want.shape or got.dtype != np.dtype(dtype):
        complain(f"{what}: {got.shape}, {got.dtype}")
    elif not (np.abs(got - want) <= magnitude).all():
        worst = np.abs(got - want).max()
        complain(f"{what}: off by up to {worst}")


def main():
    """All of them."""
    for name in TCCG:
        c, a, b = (labels[::-1] for labels in name.split("-"))
        compare(f"{a},{b}->{c}", "f8")
        compare(f"{a},{b}->{c}", TYPES[count % 4], ["--team", "2x1"])
    for einsum in OTHERS:
        for dtype in TYPES:
            compare(einsum, dtype, ["--verify"])
    for dtype in TYPES:
        compare("ab,cb->ca", dtype, ["--alpha", "1.5", "--beta=-2"],
                1.5, True, -2)
        compare("abc,dcb->da", dtype, ["--repeat", "3", "--beta", "0.5"],
                1, True, 0.5)
    for dtype in TYPES[2:]:
        compare("ab,cb->ca", dtype,
                ["--alpha", "1.5-2i", "--beta", "0,1", "--verify"],
                1.5 - 2j, True, 1j)
    print(count, "contractions,", failed, "failed")
    return failed > 0


sys.exit(main())
