# SPDX-License-Identifier: BSD-2-Clause
# no python: between the script and the interpreter it runs in
# needs: module _xxsubinterpreters|_interpreters
"""Code in sub-interpreters, which has thread states and stacks of its own."""
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
