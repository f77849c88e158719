#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests order.py with stacks written here, without any interpreter or recording. (native_faults.py
tests order.py with recordings, which have few stacks with lost frames.)"""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from judge import order, pprof  # noqa: E402

N = 9
LOST = pprof.Location("[krait]", "[incomplete: code object lost]", "", 0, 0, 0)
BROKEN = pprof.Location("[krait]", order.DEEP, "", 0, 0, 0)


def frames():
    """Yields (kind, name, what may lie between the frame and its caller) for the program's only
    chain of calls, from the thread's start on: py_K calls deep_K, which calls c_K and low_K,
    which calls py_K+1."""
    for k in range(N):
        yield "python", "py_%d" % k, "python" if k else "any"
        yield "python", "deep_%d" % k, "interpreter"
        yield "native", "c_%d" % k, "any"
        yield "native", "low_%d" % k, "nothing"


def checker():
    edges = [(i, i + 1, kind, [name], between, None)
             for i, (kind, name, between) in enumerate(frames())]
    with tempfile.NamedTemporaryFile("w") as file:
        json.dump({"edges": edges, "copies": None}, file)
        file.flush()
        return order.Checker(order.Graph(file.name), symbols=False)


def location(kind, name):
    return (pprof.Location("[python 3.14]", name, order.OWN + "x.py", 1, 1, 0) if kind == "python"
            else pprof.Location("/lib/libc_part.so", name, "", 0, 0, 0))


def whole():
    """Returns a complete stack, root first. Frames of the interpreter lie between Python frames and
    the program's native frames, as in an interpreter without symbols."""
    out = []
    for kind, name, _ in frames():
        near = kind == "python" and name.startswith("py") or name.startswith("c_")
        out += [pprof.Location("/bin/python3.14", "", "", 0, 0, 0)] * near
        out.append(location(kind, name))
    return out


def at(stack, name):
    return next(i for i, loc in enumerate(stack) if loc.name == name)


def without(stack, *names):
    return [loc for loc in stack if loc.name not in names]


def lost(stack, *names):
    return [LOST if loc.name in names else loc for loc in stack]


def broken(stack, name):
    """Returns @stack (root first) as if unwinding had ended at frame @name: its caller is a mark,
    which says that the native frames further out are missing."""
    i = at(stack, name)
    return [loc for loc in stack[:i] if loc.kind != "native"] + [BROKEN] + stack[i:]


def swapped(stack, a, b):
    out, i, j = list(stack), at(stack, a), at(stack, b)
    out[i], out[j] = out[j], out[i]
    return out


def cases():
    """Yields (what, stack, the results that classify() may give; None: any kind of error)."""
    stack = whole()
    yield "a whole stack", stack, "right"
    yield "a stack that breaks off", broken(stack, "py_5"), "marked"
    yield "a lost frame", lost(stack, "deep_4"), "python"
    yield "lost frames of two loops", lost(stack, "deep_4", "py_5"), "python"
    yield ("lost frames of three loops, further out than the break",
           broken(lost(stack, "deep_1", "py_2", "deep_2", "py_3"), "py_6"), "python")
    yield "frames in a wrong order", swapped(stack, "py_4", "py_5"), None
    yield "a native frame is missing", without(stack, "c_4"), None
    yield "further in than the break", swapped(broken(stack, "py_5"), "c_6", "low_6"), None
    yield ("further in than a lost frame and the break",
           swapped(broken(lost(stack, "deep_1", "py_2"), "py_5"), "c_6", "low_6"), None)
    yield ("further out than lost frames and the break",
           swapped(broken(lost(stack, "deep_2", "py_3"), "py_6"), "py_1", "deep_1"), None)
    yield "between lost frames", swapped(lost(stack, "py_2", "deep_6"), "py_4", "py_5"), None


def main():
    judge, good = checker(), True
    for what, stack, wanted in cases():
        kind, where, _ = judge.classify(stack)
        fits = kind == wanted if wanted else kind not in order.FINE
        good &= fits
        print("%s oracle order %s: %s%s" % ("PASS" if fits else "FAIL", what, kind,
                                            "" if wanted else " at frame %d" % where))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
