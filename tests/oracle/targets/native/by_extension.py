# SPDX-License-Identifier: BSD-2-Clause
# library: ext.c
"""Python -> C -> Python ...: 1 to 200 times through an extension module (Python.h).

py_ext_K is called by x_low_(K-1) only, which x_hop_(K-1) calls. For two of three K, py_mid_K() is
between py_ext_K() and x_hop_K(). One of three py_ext_K is called by a method, PyK.py_call().
"""
import sys

import stacks
import ext  # noqa: E402  where the harness has put it

N = 200
DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100, N)
sys.setrecursionlimit(20000)

SOURCE = stacks.caller("py_ext") + """
def py_mid_{k}(n):
    return x_hop_{k}({f}, n)

class Py{k}(object):
    def py_call(self, n):
        return py_ext_{k}(n)

    __call__ = py_call

py_object_{k} = Py{k}()
"""
CALLS = ("x_hop_{k}({f}, n)", "py_mid_{k}(n)", "py_mid_{k}(n)")


def callee(k):
    return "py_object_%d" % k if k % 3 == 2 else "py_ext_%d" % k


def make():
    scope = {name: getattr(ext, name) for name in dir(ext) if name.startswith("x_hop_")}
    source = []
    for k in range(N + 1):
        names = {"k": k, "f": callee(k + 1)}
        source.append(SOURCE.format(call=CALLS[k % 3].format(**names), **names))
    stacks.generated("".join(source), scope, "by_extension-functions")
    return scope["py_ext_0"]


def chain(made, state):
    state = made.python(state, "py_ext_0")
    for k in range(N):
        if k % 3:
            state = made.python(state, "py_mid_%d" % k)
        state = made.native(state, "x_hop_%d" % k)
        state = made.native(state, "x_low_%d" % k, stacks.NOTHING)
        if (k + 1) % 3 == 2:
            state = made.python(state, ["Py%d.py_call" % (k + 1), "py_call"], stacks.ANY)
            state = made.python(state, "py_ext_%d" % (k + 1))
        else:
            state = made.python(state, "py_ext_%d" % (k + 1), stacks.ANY)


py_ext_0 = make()


def round_():
    for n in DEPTHS:
        py_ext_0(n)


if __name__ == "__main__":
    stacks.main(round_, lambda made: chain(made, made.main()))
