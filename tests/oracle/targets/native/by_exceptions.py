# SPDX-License-Identifier: BSD-2-Clause
# library: throw.cc
# incomplete: 3% libffi's trampolines can be code that nothing describes; a C++ exception's last jump
"""Python called while C++ exceptions are in flight: from a handler, and from a destructor that runs
while the stack is unwound, one inside the other."""
import ctypes
import sys

import stacks

N = 20
DEPTHS = (1, 2, 5, N)
BETWEEN = "ffi|ctypes|closure"
sys.setrecursionlimit(20000)

SOURCE = """
def py_throw_{k}(n):
    spent = 0
    for i in range(30):
        spent += i
    if n > {k}:
        spent += THROWS[{k}](CALLBACKS[{k}], n)
    for i in range(30):
        spent += i
    return spent & 255
"""
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)
THROWS, CALLBACKS = [], []


def make():
    library = ctypes.CDLL(stacks.library("libthrow.so"))
    scope = {"THROWS": THROWS, "CALLBACKS": CALLBACKS}
    source = "".join(SOURCE.format(k=k) for k in range(N + 1))
    stacks.generated(source, scope, "by_exceptions-functions")
    for k in range(N):
        throw = library["e_call_%d" % k]
        throw.argtypes, throw.restype = [CALLBACK, ctypes.c_long], ctypes.c_long
        THROWS.append(throw)
        CALLBACKS.append(CALLBACK(scope["py_throw_%d" % (k + 1)]))
    return scope["py_throw_0"]


def chain(made, state):
    """e_call_K catches what e_throw_K throws through e_guarded_K. The next Python function is
    called from the handler if K is even, else from the destructor."""
    state = made.python(state, "py_throw_0")
    for k in range(N):
        call = made.native(state, "e_call_%d" % k, BETWEEN)
        guarded = made.native(call, "e_guarded_%d" % k, stacks.NOTHING)
        made.native(guarded, "e_throw_%d" % k, stacks.NOTHING)
        if k % 2:
            state = made.native(guarded, "e_unwinding_%d" % k, stacks.NOTHING)
        else:
            state = made.native(call, "e_caught_%d" % k, stacks.NOTHING)
        state = made.python(state, "py_throw_%d" % (k + 1), BETWEEN)


py_throw_0 = make()


def round_():
    for n in DEPTHS:
        py_throw_0(n)


if __name__ == "__main__":
    stacks.main(round_, lambda made: chain(made, made.main()))
