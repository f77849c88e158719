# SPDX-License-Identifier: BSD-2-Clause
"""gil_blame_target.py LIBRARY FOLDER SECONDS GAP KIND...: runs a thread for each KIND. Each thread
has a function of its own on which waits for the GIL are blamed; see gil_blame.py. Each leaves its
account in FOLDER. Runs on Python 2.7 and 3.x.
"""
import ctypes
import os
import random
import re
import sys
import threading
import time

LIBRARY, FOLDER, SECONDS, GAP = ctypes.PyDLL(sys.argv[1]), sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
CONTEND = LIBRARY.krait_contend
CONTEND.argtypes = [ctypes.c_int, ctypes.py_object, ctypes.py_object, ctypes.c_long, ctypes.c_long,
                    ctypes.c_longlong, ctypes.c_longlong, ctypes.c_char_p]
CONTEND.restype = None
LIST = [random.random() for _ in range(20000)]
MATCH, TEXT = re.compile("(a+)+b").match, "a" * 17
NAP = 15000000


def asks(begin, end, path):
    CONTEND(0, None, None, 0, 300000, begin, end, path)


def sorts(begin, end, path):
    CONTEND(1, LIST, None, len(LIST), int(GAP * 1e9), begin, end, path)


def matches(begin, end, path):
    CONTEND(2, MATCH, TEXT, 0, int(GAP * 1e9), begin, end, path)


def sleeps(begin, end, path):
    CONTEND(3, None, None, NAP, int(GAP * 1e9) + 30000000, begin, end, path)


def clock_ns():
    """Returns CLOCK_MONOTONIC, for which Python 2.7 has no function."""
    class Time(ctypes.Structure):
        _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]
    t = Time()
    ctypes.CDLL(None).clock_gettime(1, ctypes.byref(t))
    return t.s * 1000000000 + t.ns


def main():
    time.sleep(0.1)  # krait sees the process when it first waits, and has time to examine it
    begin = clock_ns() + 500000000
    end = begin + int(SECONDS * 1e9)
    threads = []
    for i, kind in enumerate(sys.argv[5:]):
        path = os.path.join(FOLDER, "%d.%s" % (i, kind)).encode()
        threads.append(threading.Thread(target=globals()[kind], args=(begin, end, path), name="%s-%d" % (kind, i)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
