# SPDX-License-Identifier: BSD-2-Clause
# library: hop.c
# incomplete: 3% libffi's trampolines can be code that nothing describes
# no python: threads that begin and end
"""Threads made in C call Python, in chains as in by_ctypes.py, while the main thread waits."""
import ctypes

import by_ctypes
import stacks

DEPTHS = (2, 10, 20, 40)
LIBRARY = ctypes.CDLL(stacks.library("libhop.so"))


@by_ctypes.CALLBACK
def py_left(n):
    return by_ctypes.py_hop_0(n)


@by_ctypes.CALLBACK
def py_right(n):
    spent = 0
    for i in range(1000):
        spent += i
    return py_below(spent)


def py_below(n):
    for i in range(1000):
        n += i
    return n & 255


def round_():
    for n in DEPTHS:
        LIBRARY.c_threads(py_left, py_right, ctypes.c_long(n))


def describe(made):
    state = made.main()
    made.native(state, "c_threads", by_ctypes.BETWEEN)
    thread = made.native(stacks.START, "c_thread")
    by_ctypes.chain(made, made.python(thread, "py_left", by_ctypes.BETWEEN), max(DEPTHS))
    right = made.python(thread, "py_right", by_ctypes.BETWEEN)
    made.python(right, "py_below")


if __name__ == "__main__":
    stacks.main(round_, describe)
