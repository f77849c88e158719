# SPDX-License-Identifier: BSD-2-Clause
"""Switches CPU 1 on, as root, then spends 2 s of its CPU time in late()."""
import os
import time


def late():
    end = time.thread_time() + 2
    while time.thread_time() < end:
        pass


with open("/sys/devices/system/cpu/cpu1/online", "w") as f:
    f.write("1")
time.sleep(1)  # krait looks every 100 ms
os.sched_setaffinity(0, {1})
late()
