# SPDX-License-Identifier: BSD-2-Clause
# library: hop.c
# incomplete: 3% libffi's trampolines can be code that nothing describes
"""A function that atexit calls, while the interpreter is being finalized."""
import atexit

import by_ctypes
import rig
import stacks

DEPTHS = (0, 1, 2, 10, 30)


def py_at_exit():
    rig.run(round_)


def round_():
    for n in DEPTHS:
        by_ctypes.py_hop_0(n)


def describe(made):
    state = made.python(stacks.START, "py_at_exit", "atexit|inalize")
    state = made.python(made.run(state), "round_")
    by_ctypes.chain(made, state, max(DEPTHS))


if __name__ == "__main__":
    stacks.declare(describe)
    atexit.register(py_at_exit)
