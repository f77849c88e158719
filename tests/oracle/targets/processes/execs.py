# SPDX-License-Identifier: BSD-2-Clause
# storm: child processes begin and end all the time
# no python: a process has no Python frame when it begins or ends
# contract: frames of the module subprocess don't count
# also: execs_child.py
"""Runs many short scripts, one after the other, always two at once."""
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
