# SPDX-License-Identifier: BSD-2-Clause
# no python: a thread has no Python frame while it enters or leaves a sub-interpreter
# needs: module _xxsubinterpreters|_interpreters
"""Runs code in sub-interpreters, which have their own thread states and stacks."""
import os

import rig

try:
    import _interpreters as interpreters
    run_string = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    run_string = interpreters.run_string

SCRIPT = """

import sys
sys.path.insert(0, %r)
import subinterpreters_child as child
child.work(%%d)
""" % os.path.dirname(os.path.abspath(__file__))

IDS = []
rig.own("<string>")
rig.own("<script>")


def inside(i):
    if rig.tracing:
        for name in ("<string>", "<script>"):
            exec(compile(SCRIPT % i, name, "exec"), {"__krait_root__": True})
    else:
        run_string(IDS[i], SCRIPT % i)


def round_():
    for i in range(2):
        inside(i)
        rig.spin(2000)


if __name__ == "__main__":
    if not rig.tracing:
        IDS += [interpreters.create(), interpreters.create()]
    rig.run(round_)
