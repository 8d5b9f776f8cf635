# SPDX-License-Identifier: MIT
"""Contractions of the TCCG benchmark's list, scaled down, against NumPy.

usage: numpy_tccg.py LIBRARY

LIBRARY is the shared liblend-contract.  Each contraction is done for all four
types, with arrays in Fortran order as the list means them, in C order, and
seen through steps and backwards, by one thread and by a team.  The reference
is numpy.einsum in long double.  An element may differ from it by

    2 * epsilon * (products + 8) * sum of the magnitudes
"""
import ctypes
import itertools
import sys

import numpy as np

# C-A-B, the first label having stride 1.
CONTRACTIONS = """
abc-bda-dc abc-dca-bd abcd-dbea-ec abcd-deca-be abcd-ebad-ce
abcde-efbad-cf abcde-ecbfa-fd abcde-efcad-bf
abcd-ea-ebcd abcd-eb-aecd abcd-ec-abed
ab-ac-cb ab-acd-dbc ab-cad-dcb abc-acd-db abc-ad-bdc abc-adc-bd abc-adc-db
abc-adec-ebd
abcd-aebf-dfce abcd-aebf-fdec abcd-aecf-bfde abcd-aecf-fbed abcd-aedf-bfce
abcd-aedf-fbec abcd-aefb-fdce abcd-aefc-fbed abcd-eafb-fdec abcd-eafc-bfde
abcd-eafd-fbec
abcdef-dega-gfbc abcdef-degb-gfac abcdef-degc-gfab abcdef-dfga-gebc
abcdef-dfgb-geac abcdef-dfgc-geab abcdef-efga-gdbc abcdef-efgb-gdac
abcdef-efgc-gdab abcdef-gdab-efgc abcdef-gdac-efgb abcdef-gdbc-efga
abcdef-geab-dfgc abcdef-geac-dfgb abcdef-gebc-dfga abcdef-gfab-degc
abcdef-gfac-degb abcdef-gfbc-dega
""".split()

# The more labels, the smaller.
EXTENTS = {
    3: (67, 59, 83),
    4: (26, 19, 23, 29),
    5: (9, 11, 13, 10, 12),
    6: (7, 5, 8, 6, 9, 10),
    7: (5, 7, 4, 6, 3, 5, 8),
}

# As in enum lend_type.
TYPES = (np.float32, np.float64, np.complex64, np.complex128)
ORDERS = ("F", "C", "steps")
THREADS = 4


class Layout(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_size_t),
                ("extent", ctypes.POINTER(ctypes.c_size_t)),
                ("stride", ctypes.POINTER(ctypes.c_ssize_t))]


class Error(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 240)]


class Exec(ctypes.Structure):
    _fields_ = [("pool", ctypes.c_void_p), ("host", ctypes.c_void_p),
                ("budget", ctypes.c_size_t), ("forked", ctypes.c_bool)]


class Call(ctypes.Structure):
    _fields_ = [("a", ctypes.c_void_p), ("b", ctypes.c_void_p),
                ("c", ctypes.c_void_p), ("alpha", ctypes.c_void_p),
                ("beta", ctypes.c_void_p),
                ("pm", ctypes.c_size_t), ("pn", ctypes.c_size_t)]


def layout_of(array):
    extent = (ctypes.c_size_t * array.ndim)(*array.shape)
    stride = (ctypes.c_ssize_t * array.ndim)(
        *(s // array.itemsize for s in array.strides))
    return Layout(array.ndim, extent, stride)


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.arena = self.make("lend_arena_create", None)
        self.pool = self.make("lend_pool_create", ctypes.c_size_t(THREADS))
        self.serial = Exec()
        self.library.lend_exec_serial(ctypes.byref(self.serial))
        self.team = Exec()
        self.check(self.library.lend_exec_on_pool(
            ctypes.byref(self.team), self.pool, ctypes.c_size_t(THREADS)))

    def make(self, function, argument):
        thing = ctypes.c_void_p()
        self.check(getattr(self.library, function)(ctypes.byref(thing),
                                                   argument))
        return thing

    @staticmethod
    def check(error, why=None):
        if error:
            text = why.text.decode() if why else ""
            raise RuntimeError(f"error {error}: {text}")

    def contract(self, text, a, b, c, threads):
        """c = einsum(text, a, b)"""
        plan = ctypes.c_void_p()
        why = Error()
        layouts = [ctypes.byref(layout_of(x)) for x in (a, b, c)]
        self.check(self.library.lend_plan_create(
            ctypes.byref(plan), text.encode(), TYPES.index(a.dtype.type),
            *layouts, None, ctypes.byref(why)), why)
        call = Call(a.ctypes.data, b.ctypes.data, c.ctypes.data, None, None,
                    *((2, threads // 2) if threads > 1 else (1, 1)))
        token = self.team if threads > 1 else self.serial
        try:
            self.check(self.library.lend_plan_execute(
                plan, self.arena, ctypes.byref(token), ctypes.byref(call),
                ctypes.byref(why)), why)
        finally:
            self.library.lend_plan_destroy(plan)


def empty(shape, dtype, order):
    if order != "steps":
        return np.empty(shape, dtype, order)
    # Every other element, the first index backwards.
    whole = np.empty([2 * n for n in shape], dtype)
    return whole[tuple(slice(None, None, 2) for _ in shape)][::-1]


def fill(rng, array):
    array[...] = rng.uniform(-1, 1, array.shape)
    if array.dtype.kind == "c":
        array[...] += 1j * rng.uniform(-1, 1, array.shape)


def wide(array):
    return array.astype(np.clongdouble if array.dtype.kind == "c"
                        else np.longdouble)


def try_one(library, rng, contraction, dtype, order, threads):
    c_labels, a_labels, b_labels = contraction.split("-")
    names = sorted(set(a_labels + b_labels))
    extent = dict(zip(names, EXTENTS[len(names)]))
    a, b, c = (empty([extent[x] for x in labels], dtype, order)
               for labels in (a_labels, b_labels, c_labels))
    fill(rng, a)
    fill(rng, b)
    c[...] = np.nan
    text = f"{a_labels},{b_labels}->{c_labels}"
    library.contract(text, a, b, c, threads)
    should = np.einsum(text, wide(a), wide(b))
    size = np.einsum(text, np.abs(a).astype(np.float64),
                     np.abs(b).astype(np.float64))
    terms = np.prod([extent[x] for x in names if x not in c_labels])
    most = 2 * np.finfo(dtype).eps * (terms + 8) * size
    # So that a NaN fails as well.
    if not np.all(np.abs(c - should) <= most):
        worst = np.nanmax(np.abs(c - should) / most)
        raise RuntimeError(f"{worst} times the error there may be")


def main():
    library = Library(sys.argv[1])
    rng = np.random.default_rng(1)
    failed = 0
    cases = list(itertools.product(CONTRACTIONS, TYPES, ORDERS))
    for i, (contraction, dtype, order) in enumerate(cases):
        threads = 1 if i % 2 else THREADS
        try:
            try_one(library, rng, contraction, dtype, order, threads)
        except RuntimeError as error:
            failed += 1
            print(f"{contraction} {dtype.__name__} {order}, {threads} "
                  f"threads: {error}")
    print(f"{len(cases)} contractions, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
