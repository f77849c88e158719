# SPDX-License-Identifier: BSD-2-Clause
# packages: numba
"""Runs code that LLVM makes at run time: loops, calls of libm, a sort, recursion, a ufunc."""
import numba
import numpy

import busy


@numba.njit
def loop(n):
    s = 0.0
    for i in range(n):
        s += i % 7 * 1.5
    return s


@numba.njit
def libm(values):
    s = 0.0
    for x in values:
        s += numpy.sin(x) * numpy.exp(-x)
    return s


@numba.njit
def sort(values):
    copy = values.copy()
    copy.sort()
    return copy[0]


@numba.njit
def recurse(n):
    return n if n < 2 else recurse(n - 1) + recurse(n - 2)


@numba.vectorize
def ufunc(a, b):
    return a * b + 1.0 / (a + 2)


VALUES = numpy.random.rand(30000)


def round_():
    loop(300000)
    libm(VALUES)
    sort(VALUES[:3000])
    recurse(20)
    ufunc(VALUES, VALUES)


busy.run(round_)
