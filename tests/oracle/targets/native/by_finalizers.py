# SPDX-License-Identifier: BSD-2-Clause
# library: hop.c
# needs: 3.6
"""__del__ and weak reference callbacks that run during garbage collection, and what they call."""
import gc
import sys
import weakref

import by_ctypes
import stacks

DEPTH = 3
COLLECT = "gc|collect|finalize"


class Node(object):
    def __init__(self):
        self.other = self

    def __del__(self):
        py_deleted(DEPTH)


class Weak(object):
    pass


class Counted(object):
    def __del__(self):
        py_counted(DEPTH)


def py_deleted(n):
    return by_ctypes.py_hop_0(n)


def py_counted(n):
    return by_ctypes.py_hop_0(n)


def py_gone(reference):
    return by_ctypes.py_hop_0(DEPTH)


def py_collect():
    Node()
    kept = Weak()
    kept.itself, reference = kept, weakref.ref(kept, py_gone)
    del kept
    gc.collect()
    return reference


def py_drop():
    counted = [Counted(), Counted()]
    counted.sort(key=id)
    del counted[:]
    return counted


def round_():
    gc.disable()
    for _ in range(5):
        py_collect()
        py_drop()


def describe(made):
    """Objects that gc.collect() finds are deleted during that call, because nothing else here runs
    the collector."""
    state = made.main()
    collect = made.python(state, "py_collect")
    made.python(collect, ["Node.__init__", "__init__"], stacks.ANY)
    node = made.python(collect, ["Node.__del__", "__del__"], COLLECT)
    by_ctypes.chain(made, made.python(node, "py_deleted"), DEPTH)
    by_ctypes.chain(made, made.python(collect, "py_gone", COLLECT), DEPTH)
    drop = made.python(state, "py_drop")
    counted = made.python(drop, ["Counted.__del__", "__del__"], "list|dealloc|finalize")
    by_ctypes.chain(made, made.python(counted, "py_counted"), DEPTH)


if __name__ == "__main__":
    stacks.main(round_, describe)
