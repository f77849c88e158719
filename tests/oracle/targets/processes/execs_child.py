# SPDX-License-Identifier: BSD-2-Clause
# part of: execs.py
"""The script of an exec storm: 40 ms in functions that depend on its argument."""
import sys
import time

import rig


def zero(end):
    while time.time() < end:
        rig.spin(500)


def one(end):
    while time.time() < end:
        one_inner(
            500)


def one_inner(n):
    return rig.spin(n)


for which in (0, 1) if rig.tracing else [int(sys.argv[1])]:
    (zero, one)[which](time.time() + 0.04)
