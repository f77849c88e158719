# SPDX-License-Identifier: BSD-2-Clause
"""Runs commands: vfork(), execve(), and the code that each process begins with."""
import subprocess

import busy


def round_():
    subprocess.run(["/bin/true"], stdout=subprocess.PIPE, check=True)


busy.run(round_)
