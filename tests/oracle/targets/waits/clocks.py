# SPDX-License-Identifier: BSD-2-Clause
# part of: the programs beside it
"""What a program that waits knows of its waits, by its own clocks and the kernel's count of itself.

Of each wait: its stack, and at both ends the time, the thread's CPU time, and how long it was ready
without a CPU (schedstat). What is left of the time is waiting. Each thread has a Log:

    log.begin()
    time.sleep(1)  # waits: sleep
    log.end()

The wait is on the line after begin(). The comment says its state, or several with "|" between. A
function with "waits in: STATE" on its first line waits anywhere in it, and in what it calls.
judge/waits.py reads both. Measuring keeps the GIL, so that it makes no wait of its own. Runs on
Python 2.7 and 3.x.
"""
import ctypes
import json
import os
import signal
import sys
import threading
import time

import rig

MONOTONIC, THREAD_CPU = 1, 3  # clock ids
SIG_BLOCK = 0
PR_SET_TIMERSLACK = 29
TORN_NS = 100000              # three readings that took longer belong to different moments
logs, started = [], []
libc = ctypes.PyDLL(None, use_errno=True)


def machine():
    """Returns what all CPUs did until now, in ns: (busy, stolen by the hypervisor)."""
    with open("/proc/stat") as f:
        ticks = [int(n) for n in f.readline().split()[1:]]
    user, nice, system, _, _, irq, soft, stolen = ticks[:8]
    return [n * 10000000 for n in (user + nice + system + irq + soft, stolen)]


class Timespec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]


def block_alarm():
    """Keeps kinds.Signal's signal from interrupting this thread; Python 2.7 has no call for it."""
    signals = ctypes.create_string_buffer(128)
    libc.sigaddset(signals, signal.SIGALRM)
    libc.pthread_sigmask(SIG_BLOCK, signals, None)


def by_libc(clock):
    now = Timespec()
    libc.clock_gettime(clock, ctypes.byref(now))
    return now.s * 1000000000 + now.ns


nanoseconds = getattr(time, "clock_gettime_ns", by_libc)


class Log(object):
    """What one thread knows of its waits; made in that thread."""

    def __init__(self):
        self.tid = int(os.readlink("/proc/thread-self").split("/")[-1])
        self.file = open("/proc/thread-self/schedstat", "rb")
        self.buffer = ctypes.create_string_buffer(96)
        self.stacks, self.stack_ids, self.waits, self.last = [], {}, [], None
        self.stack = None
        self.asked, self.library = 0, ""
        libc.prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(1))
        self.first = self.now()
        logs.append(self)
        if self.tid != os.getpid():
            block_alarm()

    def now(self):
        """Returns the time, CPU time and time without a CPU of this moment."""
        while True:
            at = nanoseconds(MONOTONIC)
            cpu = nanoseconds(THREAD_CPU)
            size = libc.pread(self.file.fileno(), self.buffer, 96, ctypes.c_long(0))
            if nanoseconds(MONOTONIC) - at < TORN_NS:
                return at, cpu, int(self.buffer.raw[:size].split()[1])

    def begin(self, depth=1, seconds=0):
        """Says that the next line waits. seconds: for how long, if that is known."""
        self.asked = int(seconds * 1e9)
        frame = sys._getframe(depth)
        self.stack = self.stack_id(frame, frame.f_lineno + 1)
        self.start = self.now()

    def stack_id(self, frame, line):
        """Returns the number of a stack whose leaf is at @line."""
        key = []
        while frame:
            key.append((frame.f_code, line or frame.f_lineno))
            frame, line = frame.f_back, 0
        key = tuple(key)
        if key not in self.stack_ids:
            self.stack_ids[key] = len(self.stacks)
            self.stacks.append([(getattr(code, "co_qualname", code.co_name), code.co_filename,
                                 code.co_firstlineno, at) for code, at in reversed(key)])
        return self.stack_ids[key]

    def end(self):
        self.waits.append((self.stack,) + self.start + self.now() + (self.asked,))
        self.stack = None

    def rests(self, states):
        """Says that the thread waits from now on, in the standard library alone, in this state."""
        self.stack, self.library, self.start = len(self.stacks), states, self.now()
        self.stacks.append([])

    def close(self):
        """Notes that the thread's last wait is over."""
        self.last = self.now()

    def told(self):
        """Returns what is known. A wait that isn't over has no end."""
        still = [] if self.stack is None else [(self.stack,) + self.start]
        return {"tid": self.tid, "begin": self.first, "end": self.last, "stacks": self.stacks,
                "waits": self.waits + still, "library": self.library}


def save():
    """Writes all logs to the file that the second argument names."""
    told = {"pid": os.getpid(), "folder": os.path.dirname(os.path.abspath(__file__)) + os.sep,
            "monotonic": nanoseconds(MONOTONIC), "real": int(time.time() * 1e9),
            "machine": [b - a for a, b in zip(at_start, machine())],
            "threads": [log.told() for log in logs]}
    with open(sys.argv[2] + ".new", "w") as f:
        f.write(json.dumps(told))
    os.rename(sys.argv[2] + ".new", sys.argv[2])


at_start = machine()


def over(rounds):
    """Tells whether the program shall end. If it is traced, that is after two rounds; else when
    there is a file that has the log's name with ".stop" behind it."""
    return rounds >= 2 if rig.tracing else os.path.exists(sys.argv[2] + ".stop")


def repeat(log, round_):
    """Does rounds until the program shall end. Once every thread has done its first round, the
    program is ready."""
    rounds = 0
    while not over(rounds):
        round_(log)
        rounds += 1
        if rounds == 1:
            started.append(log)
    log.close()


def threads(*functions):
    """Starts a thread for each function."""
    out = [threading.Thread(target=function, name=function.__name__) for function in functions]
    for thread in out:
        thread.daemon = True
        thread.start()
    return out


def beside(round_, *functions):
    """Starts a thread for each function. Once each has done its first round, the program is ready,
    and the main thread does rounds until the program shall end."""
    log, others = Log(), threads(*functions)
    while len(started) < len(others):
        time.sleep(0.01)
    if not rig.tracing:
        rig.ready()
    repeat(log, round_)
    for thread in others:
        thread.join()
