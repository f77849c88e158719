# SPDX-License-Identifier: BSD-2-Clause
# storm: children come and go
# no python: processes that begin and end
# contract: subprocess's frames
# also: execs_child.py
"""Exec storms: short scripts one after another, two at once."""
import os
import subprocess
import sys

import rig

CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "execs_child.py")


def start(i):
    command = [sys.executable, CHILD, str(i)]
    if rig.tracing:
        command[1:] = ["-c", "pass"]
    return subprocess.Popen(command)


def round_():
    children = [start(0), start(1)]
    rig.spin(2000)
    for child in children:
        child.wait()


if __name__ == "__main__":
    rig.run(round_)
