# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the programs of this folder: each one runs its rounds until it is killed, and prints
"ready" when the first round is done. Each program is profiled for the native code in which it
spends its time."""
import sys


def run(round_):
    round_()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        round_()
