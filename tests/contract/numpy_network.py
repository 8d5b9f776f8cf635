# SPDX-License-Identifier: MIT
"""The einsum instances by `lend network` against NumPy along the same path.

usage: numpy_network.py [--brief] PROGRAM INSTANCE.json...

For each instance, both given paths: NumPy contracts step by step (by einsum,
large steps by matmul of what einsum would take minutes for), in double
precision and on the very operands that the program makes up (as the head of
network_data.h says); then the program does, with 1 and 2 threads and memory
from every kind of arena, in the other types that the sizes allow with lend's
own.  Where both paths are the same the second one is compared briefly, to see
that it is found.  No element may be off by more than the bound, relative to the
largest one.  Prints one line for each instance and path, with the largest error
seen of each type.

--brief: both paths with two threads and lend's arena, f64, and cf32 along
opt_flops: for a program that a sanitizer slows down.

The large ones are for machines that have the memory: those whose path needs
more than a third of what is available are left out, and that is said.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

BOUND = {"f32": 5e-6, "cf32": 5e-6, "f64": 1e-13, "cf64": 1e-13}
NUMPY = {"f32": "f4", "cf32": "c8", "f64": "f8", "cf64": "c16"}
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Products of a path above which only f64 is tried.
LARGE = 1e9

all_brief = sys.argv[1] == "--brief"
program, *instances = sys.argv[1 + all_brief:]
failed = False


def mix(x):
    factor, shift = np.uint64(0xD6E8FEB86659FD93), np.uint64(32)
    x = x + np.uint64(0x9E3779B97F4A7C15)
    for _ in range(2):
        x = (x ^ x >> shift) * factor
    return x ^ x >> shift


def fraction(key, n):
    return (mix(n + key) >> np.uint64(11)).astype("f8") * 2.0**-53


def operand(t, shape, scale, kind):
    count = int(np.prod(shape, dtype=object)) if shape else 1
    n = np.arange(count, dtype="u8") * np.uint64(2)
    with np.errstate(over="ignore"):
        key = mix(np.uint64(t) + mix(np.uint64(1)))
        x = scale * (0.5 + fraction(key, n))
        if kind in ("cf32", "cf64"):
            x = x + 1j * (scale * (fraction(key, n + np.uint64(1)) - 0.5))
    # Rounded as the program's, and exact from there on.
    wide = "c16" if kind in ("cf32", "cf64") else "f8"
    return x.astype(NUMPY[kind]).astype(wide).reshape(shape)


def scales(inputs, output, extent):
    seen = set(output)
    for labels in inputs:
        product = 1.0
        for label in labels:
            if label not in seen:
                product *= extent[label]
            seen.add(label)
        yield 1 / product


def steps(inputs, output, path):
    """Positions, the later one first, and NumPy's text of each step."""
    work = list(inputs)
    for pair in path:
        x, y = sorted(pair)
        second, first = work.pop(y), work.pop(x)
        rest = set(output).union(*work)
        kept = [c for c in dict.fromkeys(first + second) if c in rest]
        result = "".join(kept) if work else output
        name = {}
        for label in first + second:
            name.setdefault(label, LETTERS[len(name)])
        text = "{},{}->{}".format(
            *("".join(name[c] for c in s) for s in (first, second, result))
        )
        work.append(result)
        yield x, y, text, first, second, result


def multiply(text, x, y):
    """The step as a batch of matrices."""
    operands, result = text.split("->")
    first, second = operands.split(",")
    batch = [c for c in result if c in first and c in second]
    m = [c for c in result if c in first and c not in second]
    n = [c for c in result if c in second and c not in first]
    k = [c for c in first if c in second and c not in result]
    extent = dict(zip(first + second, x.shape + y.shape))

    def matrices(labels, tensor, rows, columns):
        alone = [c for c in labels if c not in batch + rows + columns]
        tensor = tensor.sum(tuple(labels.index(c) for c in alone))
        left = [c for c in labels if c not in alone]
        order = [left.index(c) for c in batch + rows + columns]
        shape = [int(np.prod([extent[c] for c in group])) for group in
                 (batch, rows, columns)]
        return tensor.transpose(order).reshape(shape)

    product = matrices(first, x, m, k) @ matrices(second, y, k, n)
    lies = batch + m + n
    product = product.reshape([extent[c] for c in lies])
    return product.transpose([lies.index(c) for c in result])


def contract(tensors, plan, extent):
    work = list(tensors)
    for x, y, text, one, two, _ in plan:
        second, first = work.pop(y), work.pop(x)
        terms = np.prod([float(extent[c]) for c in set(one + two)])
        work.append(multiply(text, first, second) if terms > 1e6 else
                    np.einsum(text, first, second))
    return work[0]


def cost(plan, extent):
    """Elements that are there at one time, at most; products of all steps."""
    size = lambda labels: float(np.prod([float(extent[c]) for c in labels]))
    most = products = 0.0
    for _, _, _, first, second, result in plan:
        most = max(most, size(first) + size(second) + size(result))
        products += size(dict.fromkeys(first + second))
    return most, products


def available():
    with open("/proc/meminfo") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 1 << 30


def run(file, path, kind, threads, arena):
    out = os.path.join(folder, "r.npy")
    subprocess.run(
        [program, "network", file, "--path", path, "--type", kind, "-q",
         "--threads", str(threads), "--arena", arena, "-o", out],
        check=True,
    )
    return np.load(out)


def compare(got, want, what, kind):
    global failed
    peak = np.abs(want).max() if want.size else 0.0
    off = np.abs(got - want).max() / peak if peak else 0.0
    if got.shape != want.shape or not off <= BOUND[kind]:
        print(f"FAIL: {what}: off by {off:.3g} of {peak:.3g}")
        failed = True
    return off


def check(file, name, brief):
    instance = json.load(open(file))
    text, output = instance["format_string"].split("->")
    inputs, shapes = text.split(","), instance["shapes"]
    extent = {c: e for s, t in zip(inputs, shapes) for c, e in zip(s, t)}
    plan = list(steps(inputs, output, instance["paths"][name]["path"]))
    most, products = cost(plan, extent)
    base = os.path.basename(file)
    if most * 8 * 2 > available() / 3:
        print(f"{base} {name}: left out, it takes {most * 16:.3g} bytes")
        return
    kinds = ["f64"] if products > LARGE else ["f64", "f32", "cf64", "cf32"]
    if brief:
        kinds = kinds[:1] + kinds[3:] if name == "opt_flops" else kinds[:1]
    said = []
    for kind in kinds:
        want = contract(
            [operand(t, shape, scale, kind) for t, (shape, scale) in
             enumerate(zip(shapes, scales(inputs, output, extent)))],
            plan, extent)
        worst = 0.0
        arenas = ["lend"]
        if kind == "f64" and not brief:
            arenas += ["mutex", "malloc"]
        for threads in [2] if brief else [1, 2]:
            for arena in arenas:
                got = run(file, name, kind, threads, arena)
                what = f"{base} {name} {kind} {threads} {arena}"
                worst = max(worst, compare(got, want, what, kind))
        said.append(f"{kind} {worst:.2g}")
    print(f"{base} {name}: off by at most", ", ".join(said), flush=True)


with tempfile.TemporaryDirectory() as folder:
    for file in instances:
        paths = json.load(open(file))["paths"]
        same = paths["opt_flops"]["path"] == paths["opt_size"]["path"]
        check(file, "opt_flops", all_brief)
        check(file, "opt_size", all_brief or same)
sys.exit(failed)
