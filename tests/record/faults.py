# SPDX-License-Identifier: BSD-2-Clause
"""The program that windows.c records. Three threads cause page faults, some of them in newly made
code. One thread is started late, and one has a name from the beginning."""
import mmap
import sys
import threading
import time


def touch(pages):
    with mmap.mmap(-1, pages * mmap.PAGESIZE) as m:
        for i in range(pages):
            m[i * mmap.PAGESIZE] = 1


def deep(n):
    return deep(n - 1) if n else touch(2)


def work(end):
    """Works until @end, but for at least 20 rounds, however busy the machine is. Then the thread
    goes on existing, because its name can't be read after it has ended."""
    i = 0
    while time.monotonic() < end or i < 20:
        made = {"touch": touch}
        exec("\n" * (i % 50) + "def new_%d():\n  touch(2)" % i, made)
        made["new_%d" % i]()
        deep(i % 20)
        i += 1
        time.sleep(0.05)
    over.release()
    if threading.current_thread() is not threading.main_thread():
        stop.wait()


over = threading.Semaphore(0)
stop = threading.Event()
print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + 2
threading.Thread(target=work, args=(end,), name="early", daemon=True).start()
work(end - 1)
threading.Thread(target=work, args=(end,), name="late", daemon=True).start()
work(end)
for i in range(4):
    over.acquire()
print("done", flush=True)
sys.stdin.readline()
stop.set()
