# SPDX-License-Identifier: BSD-2-Clause
# part of: the other programs in this folder
"""Logs what a program itself knows of its waits, by its clocks and by the kernel's accounting.

The log of a wait has its stack, and before and after the wait the time, the thread's CPU time, and
how long the thread was ready without a CPU (schedstat). The rest of the time is waiting. Each
thread has a Log:

    log.begin()
    time.sleep(1)  # waits: sleep
    log.end()

The wait is on the line after begin(). The comment there gives its state, or several states with "|"
between them. A function with "waits in: STATE" on its first line may wait anywhere in it and in
what it calls. judge/waits.py reads the log and these comments. Reading the clocks keeps the GIL, so
that it adds no wait. Runs on Python 2.7 and 3.x."""
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
TORN_NS = 100000  # if the three readings took longer than this, they don't belong to one moment
logs, started = [], []
libc = ctypes.PyDLL(None, use_errno=True)


def machine():
    """Returns the CPU time of the whole machine so far, in ns: (busy, stolen by the hypervisor)."""
    with open("/proc/stat") as f:
        ticks = [int(n) for n in f.readline().split()[1:]]
    user, nice, system, _, _, irq, soft, stolen = ticks[:8]
    return [n * 10000000 for n in (user + nice + system + irq + soft, stolen)]


class Timespec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]


def block_alarm():
    """Blocks the signal of kinds.Signal in this thread, through libc because Python 2.7 has no call
    for it."""
    signals = ctypes.create_string_buffer(128)
    libc.sigaddset(signals, signal.SIGALRM)
    libc.pthread_sigmask(SIG_BLOCK, signals, None)


def by_libc(clock):
    now = Timespec()
    libc.clock_gettime(clock, ctypes.byref(now))
    return now.s * 1000000000 + now.ns


nanoseconds = getattr(time, "clock_gettime_ns", by_libc)


class Log(object):
    """The log of one thread's waits. The thread itself must create it."""

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
        """Returns the present (time, CPU time, time spent ready without a CPU) of the thread."""
        while True:
            at = nanoseconds(MONOTONIC)
            cpu = nanoseconds(THREAD_CPU)
            size = libc.pread(self.file.fileno(), self.buffer, 96, ctypes.c_long(0))
            if nanoseconds(MONOTONIC) - at < TORN_NS:
                return at, cpu, int(self.buffer.raw[:size].split()[1])

    def begin(self, depth=1, seconds=0):
        """Notes that the next line begins a wait. seconds: for how long the program asks to wait,
        if it knows."""
        self.asked = int(seconds * 1e9)
        frame = sys._getframe(depth)
        self.stack = self.stack_id(frame, frame.f_lineno + 1)
        self.start = self.now()

    def stack_id(self, frame, line):
        """Returns the number of the stack whose leaf is @frame at line @line."""
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
        """Notes that from now on the thread waits within the standard library, in one of @states.
        """
        self.stack, self.library, self.start = len(self.stacks), states, self.now()
        self.stacks.append([])

    def close(self):
        """Notes that the thread's last wait is over."""
        self.last = self.now()

    def told(self):
        """Returns the log. A wait that isn't over has no end in it."""
        still = [] if self.stack is None else [(self.stack,) + self.start]
        return {"tid": self.tid, "begin": self.first, "end": self.last, "stacks": self.stacks,
                "waits": self.waits + still, "library": self.library}


def save():
    """Writes all threads' logs to the file given by the second argument."""
    told = {"pid": os.getpid(), "folder": os.path.dirname(os.path.abspath(__file__)) + os.sep,
            "monotonic": nanoseconds(MONOTONIC), "real": int(time.time() * 1e9),
            "machine": [b - a for a, b in zip(at_start, machine())],
            "threads": [log.told() for log in logs]}
    with open(sys.argv[2] + ".new", "w") as f:
        f.write(json.dumps(told))
    os.rename(sys.argv[2] + ".new", sys.argv[2])


at_start = machine()


def over(rounds):
    """Returns whether the program must end: if it is traced, after two rounds; otherwise when there
    is a file with the log's name and ".stop" after it."""
    return rounds >= 2 if rig.tracing else os.path.exists(sys.argv[2] + ".stop")


def repeat(log, round_):
    """Does rounds until the program must end. The program is ready when every thread has done its
    first round."""
    rounds = 0
    while not over(rounds):
        round_(log)
        rounds += 1
        if rounds == 1:
            started.append(log)
    log.close()


def threads(*functions):
    """Starts a thread for each of @functions."""
    out = [threading.Thread(target=function, name=function.__name__) for function in functions]
    for thread in out:
        thread.daemon = True
        thread.start()
    return out


def beside(round_, *functions):
    """Starts a thread for each of @functions. When each has done its first round, the program is
    ready, and the main thread does rounds until the program must end."""
    log, others = Log(), threads(*functions)
    while len(started) < len(others):
        time.sleep(0.01)
    if not rig.tracing:
        rig.ready()
    repeat(log, round_)
    for thread in others:
        thread.join()
