# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the programs here: NAME.py runs its rounds until it is killed, and says "ready" when
the first one is behind. They are profiled, each for the native code that it spends its time in."""
import sys


def run(round_):
    round_()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        round_()
