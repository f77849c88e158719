# SPDX-License-Identifier: BSD-2-Clause
# needs: 3.6
"""Generators and coroutines that C code resumes, and chains of them that Python code resumes."""
import sys

import stacks

N = 60
DEPTHS = (1, 2, 5, 10, 30, N)
sys.setrecursionlimit(20000)

WAYS = (
    ("sum(py_gen_{j}(n))", "sum|gen"),
    ("list(py_gen_{j}(n))[0]", "list|gen"),
    ("next(py_gen_{j}(n))", "next|gen"),
    ("py_gen_{j}(n).send(None)", stacks.ANY),
    ("py_drive(py_coro_{j}(n))", None),
    ("sorted(py_outer_{j}(n))[0]", "sort|list|gen"),
    ("[i for i in py_gen_{j}(n)][0]", None),
)
SOURCE = stacks.caller("py_at") + """
def py_gen_{k}(n):
    yield py_at_{k}(n)

def py_outer_{k}(n):
    yield from py_gen_{k}(n)

async def py_await_{k}(n):
    return py_at_{k}(n)

async def py_coro_{k}(n):
    return await py_await_{k}(n)
"""


def py_drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value


def make():
    scope = {"py_drive": py_drive}
    source = [SOURCE.format(k=k, call=WAYS[k % len(WAYS)][0].format(j=k + 1)) for k in range(N + 1)]
    stacks.generated("".join(source), scope, "by_generators-functions")
    return scope["py_at_0"]


def chain(made, state):
    """A generator's frame is also in the stack for a moment while the generator function is called,
    before anything resumes the generator."""
    state = made.python(state, "py_at_0")
    for k in range(N):
        way, between = WAYS[k % len(WAYS)]
        name = "%%s_%d" % (k + 1)
        if "py_drive" in way:
            made.python(state, name % "py_coro")
            state = made.python(state, "py_drive")
            state = made.python(state, name % "py_coro", stacks.ANY)
            state = made.python(state, name % "py_await", stacks.ANY)
        elif "py_outer" in way:
            made.python(state, name % "py_outer")
            state = made.python(state, name % "py_outer", between)
            state = made.python(state, name % "py_gen", stacks.ANY)
        elif between:
            made.python(state, name % "py_gen")
            state = made.python(state, name % "py_gen", between)
        else:
            # Up to 3.11 a comprehension has a frame of its own.
            made.python(state, name % "py_gen", stacks.ANY)
            inner = made.python(state, ["<listcomp>", "py_at_%d.<locals>.<listcomp>" % k])
            state = made.python(state, name % "py_gen", stacks.ANY)
            made.python(inner, name % "py_gen", stacks.ANY, to=state)
        state = made.python(state, name % "py_at")


py_at_0 = make()


def round_():
    for n in DEPTHS:
        py_at_0(n)


if __name__ == "__main__":
    stacks.main(round_, lambda made: chain(made, made.main()))
