# SPDX-License-Identifier: BSD-2-Clause
"""Runs commands: vfork(), execve(), and what a process begins with."""
import subprocess

import busy


def round_():
    subprocess.run(["/bin/true"], stdout=subprocess.PIPE, check=True)


busy.run(round_)
