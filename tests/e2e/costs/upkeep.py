#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that keep changing what krait reads of them: after a few seconds krait takes at most 5 %
of a CPU, and says that it now reads them less often. The truth is the kernel's account of the
CPU time of krait and of its child processes that read."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from cost import MOST, soon, tasks
from kit import Background, PYTHON, check, folder

SOON = 4  # after so many seconds krait has spent the CPU time that it may take at once

# A program with so many mappings that krait takes long to read them. The program adds and removes a
# mapping all the time.
MAPPINGS = r"""
import ctypes, os
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t) + (ctypes.c_int,) * 3 + (ctypes.c_long,)
libc.munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t
file = os.open(os.path.realpath("/proc/self/exe"), os.O_RDONLY)
def add(page):
    return libc.mmap(None, 4096, 5, 2, file, 4096 * page)  # 5: read and execute, 2: private
for i in range(20000):
    add(i % 2 * 3)  # neighbouring mappings differ, so that the kernel doesn't join them
print("ready", flush=True)
while True:
    libc.munmap(add(0), 4096)
    sum(range(1000))
"""

# A program with many named threads. krait reads the names again for each new thread.
THREADS = r"""
import itertools, threading
end = threading.Event()
threads = [threading.Thread(target=end.wait, daemon=True) for _ in range(3000)]
for t in threads:
    t.start()
print("ready", flush=True)
def work():
    sum(range(300000))
for i in itertools.count():
    t = threading.Thread(target=work, name="new %d" % i)
    t.start()
    t.join()
"""

# A program that starts many threads, one after another; the threads do nothing.
SHORT_THREADS = """
import _thread
print("ready", flush=True)
while True:
    lock = _thread.allocate_lock()
    lock.acquire()
    _thread.start_new_thread(lock.release, ())
    lock.acquire()
"""


def attack(source, what, named=True):
    with folder() as d, Background(PYTHON, "-c", source, stdout=-1) as target:
        target.process.stdout.readline()
        with kit.recorder(d + "/o.pb.gz", "-p", target.pid) as recording:
            time.sleep(SOON)
            took = soon(recording.pid)
            code, said = recording.finish()
    check(code == 0, "exit code %d: %s" % (code, said))
    check(took <= MOST, "%s cost %.1f %% of a CPU: %s" % (what, 100 * took, said))
    if not named:
        return
    named = re.search(r"the first: (\d+) \(.*put off reading them (\d+) times", said)
    check(named and int(named[1]) == target.pid and int(named[2]) > 0,
          "krait doesn't name the process: " + said)


@kit.case
def many_mappings():
    """A program has 20,000 mappings, and adds and removes one mapping all the time."""
    attack(MAPPINGS, "mappings")


@kit.case
def many_threads():
    """A program has 3,000 threads, and starts new threads all the time."""
    attack(THREADS, "threads' names")


@kit.case
def short_threads():
    """Thousands of threads start and end in a second. krait doesn't check for each of them whether
    its process has ended."""
    attack(SHORT_THREADS, "ends of threads", named=False)


# A program that starts Python as often as its input says, one start after the other.
STARTS = """
import subprocess, sys
for line in sys.stdin:
    for _ in range(int(line)):
        subprocess.run([sys.executable, "-c", "pass"])
    print(flush=True)
"""


def requests(pid):
    """Returns how many requests krait's child processes have got. A child sleeps until the next
    request, so each request is one voluntary context switch."""
    texts = [open("/proc/%d/status" % child).read() for child in tasks(pid)[1:]]
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", text, re.M)[1]) for text in texts)


@kit.case
def starts():
    """For each start of a Python process, krait asks its child that reads /proc at most three
    times: once or twice for the mappings, and once for the names of modules."""
    with folder() as d, Background(PYTHON, "-c", STARTS, stdin=-1, stdout=-1) as parent:
        def start(n):
            parent.process.stdin.write(b"%d\n" % n)
            parent.process.stdin.flush()
            parent.process.stdout.readline()

        with kit.recorder(d + "/o.pb.gz", "-F", 499, "-p", parent.pid) as recording:
            start(20)  # from now on krait knows the files that Python maps
            before = requests(recording.pid)
            start(60)
            took = (requests(recording.pid) - before) / 60
            code, said = recording.finish()
    check(code == 0, "exit code %d: %s" % (code, said))
    print("  %.2f requests a start" % took)
    check(0 < took <= 3, "%.1f requests a start" % took)


if __name__ == "__main__":
    sys.exit(kit.main())
