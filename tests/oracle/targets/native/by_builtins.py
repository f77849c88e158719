# SPDX-License-Identifier: BSD-2-Clause
"""Python -> C -> Python ...: 1 to 200 times through Python's own built-in functions.

py_at_K is called by way of WAYS[(K - 1) % len(WAYS)] from py_at_(K-1) only.
"""
import functools
import re
import sys

import stacks

N = 200
DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100, N)
sys.setrecursionlimit(20000)

# Pairs: an expression that calls py_at_K with n, and what the name of a native frame between caller
# and py_at_K must match.
WAYS = (
    ("sorted([n], key={f})[0]", "sort"),
    ("reduce({r}, (n, n))", "reduce"),
    ("len(PATTERN.sub({m}, 'a' * 3))", "sub"),
    ("list(map({f}, (n,)))[0]", "map"),
    ("len(tuple(filter({f}, (n,))))", "filter"),
    ("max((n,), key={f})", "max"),
    ("partial({f}, n)()", "partial"),
    ("hash({c}(n))", "hash"),
    ("{c}(n)[n]", stacks.ANY),  # from 3.12 on py_item() runs in its caller's loop
    # the interpreter calls py_less() by a slot function, which is machinery
    ("({c}(n) < n) + 0", stacks.ANY),
)
SOURCE = stacks.caller("py_at") + """
def py_two_{k}(n, m):
    return py_at_{k}(n)

def py_match_{k}(match):
    py_at_{k}(LEVEL[0])
    return "b"

class Py{k}(object):
    def __init__(self, n):
        self.n = n

    def py_hash(self):
        return py_at_{k}(self.n)

    def py_item(self, i):
        return py_at_{k}(self.n)

    def py_less(self, other):
        return py_at_{k}(self.n)

    __hash__, __getitem__, __lt__ = py_hash, py_item, py_less
"""
METHODS = ("py_hash", "py_item", "py_less")
LEVEL = [0]


def make():
    scope = {"reduce": functools.reduce, "partial": functools.partial, "LEVEL": LEVEL,
             "PATTERN": re.compile("^a")}
    source = []
    for k in range(N + 1):
        names = {"f": "py_at_%d", "r": "py_two_%d", "m": "py_match_%d", "c": "Py%d"}
        call = WAYS[k % len(WAYS)][0].format(**{x: names[x] % (k + 1) for x in names})
        source.append(SOURCE.format(k=k, call=call))
    stacks.generated("".join(source), scope, "by_builtins-functions")
    return scope["py_at_0"]


def chain(made, state):
    state = made.python(state, "py_at_0")
    for k in range(N):
        way, between = WAYS[k % len(WAYS)]
        step = k + 1
        if "{r}" in way:
            state = made.python(state, "py_two_%d" % step, between)
        elif "{m}" in way:
            state = made.python(state, "py_match_%d" % step, between)
        elif "{c}" in way:
            names = ["%s%s" % (c, METHODS[k % len(WAYS) - 7]) for c in ("Py%d." % step, "")]
            made.python(state, ["Py%d.__init__" % step, "__init__"], stacks.ANY)
            state = made.python(state, names, between)
        else:
            state = made.python(state, "py_at_%d" % step, between)
            continue
        state = made.python(state, "py_at_%d" % step)


py_at_0 = make()


def round_():
    for LEVEL[0] in DEPTHS:
        py_at_0(LEVEL[0])


if __name__ == "__main__":
    stacks.main(round_, lambda made: chain(made, made.main()))
