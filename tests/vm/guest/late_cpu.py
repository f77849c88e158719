# SPDX-License-Identifier: BSD-2-Clause
"""Switches CPU 1 on, as root, then spends 2 s of its CPU time in late(); sets the clock an hour
forward and back, and spends 1 s in stepped(); switches the CPU off while left() runs there, for 1
s. At the end it prints how long all of it took."""
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
time.sleep(1)  # krait looks every 100 ms whether CPUs came
os.sched_setaffinity(0, {1})
late(2)
set_clock(1)
stepped(0.5)
set_clock(-2)
stepped(0.5)
switch(0)
left(1)
print(time.monotonic() - begin)
