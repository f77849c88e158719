# SPDX-License-Identifier: BSD-2-Clause
"""Measures the truth about a program: the CPU time that its threads spend in `with measured:`. Each
process writes this time to a file of its own."""
import os
import struct
import threading
import time


class Measured(threading.local):
    lock = threading.Lock()
    spent, file = 0.0, None

    def __enter__(self):
        self.began = time.thread_time()

    def __exit__(self, *_):
        took = time.thread_time() - self.began
        with self.lock:
            Measured.spent += took
            if Measured.file is None:
                Measured.file = os.open("%s/%d" % (os.environ["TRUTH"], os.getpid()), os.O_CREAT | os.O_WRONLY)
            os.pwrite(Measured.file, struct.pack("d", Measured.spent), 0)


BEGAN = []


def is_over():
    """True if the program has run for long enough since this function was first called. Time in
    which the program had to wait for a CPU doesn't count."""
    with open("/proc/%d/schedstat" % os.getpid()) as f:
        queued = int(f.read().split()[1]) / 1e9
    BEGAN.append(time.monotonic() - queued)
    return time.monotonic() - queued - BEGAN[0] > float(os.environ["SECONDS"])


def forked():
    Measured.spent, Measured.file = 0.0, None


measured = Measured()
os.register_at_fork(after_in_child=forked)
