# SPDX-License-Identifier: BSD-2-Clause
"""Runs commands, to be sampled in vfork(), in execve(), and in the code with which each process
begins."""
import subprocess

import busy


def round_():
    subprocess.run(["/bin/true"], stdout=subprocess.PIPE, check=True)


busy.run(round_)
