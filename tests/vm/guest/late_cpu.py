# SPDX-License-Identifier: BSD-2-Clause
"""Runs as root. Switches CPU 1 on and spends 2 s of CPU time on it in late(). Spends half a second
in stepped() after it set the clock an hour forward, and half a second after it set it two hours
back. Then switches the CPU off and spends 1 s in left(). At the end it prints how long all of it
took."""
import os
import time


def late(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def stepped(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def left(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def set_clock(hours):
    time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME) + 3600 * hours)


def switch(on):
    with open("/sys/devices/system/cpu/cpu1/online", "w") as f:
        f.write(str(on))


begin = time.monotonic()
switch(1)
time.sleep(1)  # krait looks every 100 ms whether new CPUs are there
os.sched_setaffinity(0, {1})
late(2)
set_clock(1)
stepped(0.5)
set_clock(-2)
stepped(0.5)
switch(0)
left(1)
print(time.monotonic() - begin)
