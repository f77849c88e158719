# SPDX-License-Identifier: BSD-2-Clause
"""Measures the CPU time of a running krait and of its child processes that read other processes, as
the kernel counts it."""
import os
import time

MOST = 0.05  # the part of a CPU that krait may take
SECONDS = 3
# krait is judged by the best of this many windows, because on a busy machine one reading may take
# long
WINDOWS = 3


def tasks(pid):
    """Returns the process ids of krait and its children."""
    texts = [open("/proc/%d/task/%s/children" % (pid, t)).read()
             for t in os.listdir("/proc/%d/task" % pid)]
    return [pid] + [int(child) for text in texts for child in text.split()]


def cpu(pid):
    """Returns the CPU seconds of a process by its own clock, which includes threads that have
    ended."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0


def share(pid, seconds=SECONDS):
    """Returns which part of a CPU krait takes in the next @seconds."""
    pids, at = tasks(pid), time.monotonic()
    before = sum(map(cpu, pids))
    time.sleep(seconds)
    return (sum(map(cpu, pids)) - before) / (time.monotonic() - at)


def soon(pid, windows=WINDOWS):
    """Measures several windows. As soon as krait takes at most the part MOST of a CPU in a window,
    returns that part. If there is no such window, returns the smallest part."""
    least = 1.0
    for _ in range(windows):
        least = min(least, share(pid))
        if least <= MOST:
            break
    return least
