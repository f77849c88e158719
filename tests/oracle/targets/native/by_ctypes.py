# SPDX-License-Identifier: BSD-2-Clause
# library: hop.c
# incomplete: 3% libffi's trampolines can be code that nothing describes
"""Python -> C -> Python ...: 1 to 200 times through a plain C library, by ctypes and callbacks.

py_hop_K is called by c_low_(K-1) only, which c_hop_(K-1) calls. Between py_hop_K and c_hop_K lie
none, one or two Python functions more, which from 3.11 on run in the same evaluation loop.
"""
import ctypes
import sys

import stacks

N = 200
DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100, N)
BETWEEN = "ffi|ctypes|closure"
sys.setrecursionlimit(20000)

SOURCE = stacks.caller("py_hop") + """
def py_mid_{k}(n):
    spent = py_deep_{k}(*(n,))
    for i in range(12):
        spent += i
    return spent & 255

def py_deep_{k}(n):
    spent = HOPS[{k}](CALLBACKS[{k}], n)
    for i in range(12):
        spent += i
    return spent & 255
"""
CALLS = ("HOPS[{k}](CALLBACKS[{k}], n)", "py_deep_{k}(n)", "py_mid_{k}(n)")

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)
PYCALLBACK = ctypes.PYFUNCTYPE(ctypes.c_long, ctypes.c_long)
HOPS, CALLBACKS = [], []


def make():
    """Makes pairs of functions; the second of each is called with the GIL held."""
    path = stacks.library("libhop.so")
    libraries = (ctypes.CDLL(path), CALLBACK), (ctypes.PyDLL(path), PYCALLBACK)
    scope = {"HOPS": HOPS, "CALLBACKS": CALLBACKS}
    source = "".join(SOURCE.format(k=k, call=CALLS[k % 3].format(k=k)) for k in range(N + 1))
    stacks.generated(source, scope, "by_ctypes-functions")
    for k in range(N):
        library, kind = libraries[k % 2]
        hop = library["c_hop_%d" % k]
        hop.argtypes, hop.restype = [kind, ctypes.c_long], ctypes.c_long
        HOPS.append(hop)
        CALLBACKS.append(kind(scope["py_hop_%d" % (k + 1)]))
    return scope["py_hop_0"]


def chain(stacks_, state, n=N):
    """Declares one whole chain, which is called in @state. Returns the states in which its Python
    functions run."""
    out = []
    state = stacks_.python(state, "py_hop_0")
    for k in range(n):
        out.append(state)
        if k % 3 == 2:
            state = stacks_.python(state, "py_mid_%d" % k)
            out.append(state)
        if k % 3:
            state = stacks_.python(state, "py_deep_%d" % k)
            out.append(state)
        state = stacks_.native(state, "c_hop_%d" % k, BETWEEN, "closure|Callback|CallPython")
        state = stacks_.native(state, "c_low_%d" % k, stacks.NOTHING)
        state = stacks_.python(state, "py_hop_%d" % (k + 1), BETWEEN,
                               "call_?proc|PyCFuncPtr|c_hop|c_low")
    return out + [state]


py_hop_0 = make()


def round_():
    for n in DEPTHS:
        py_hop_0(n)


if __name__ == "__main__":
    stacks.main(round_, lambda made: chain(made, made.main()))
