# SPDX-License-Identifier: BSD-2-Clause
"""Starts threads that are blocked in functions of all kinds, for tests/live/pypy.py. One is blocked
in a loop that runs often enough to be compiled by PyPy's JIT, unless that is off. Prints a line
when all are blocked. After a line of input it prints a line of JSON: for each thread the functions
that it is in, by sys._current_frames(). After the line "busy" a further thread makes objects all
the time, so that the garbage collector moves objects."""
import json
import sys
import threading
import time

LOOPS = 5000
never = threading.Event()
held = threading.Lock()
held.acquire()


class Käse:
    def méthode(self, depth):
        def innen():
            if depth:
                self.méthode(
                    depth - 1)
            else:
                never.wait()
        innen()


def deep():
    Käse().méthode(5)


def generator():
    yield 1
    held.acquire()


def iterates():
    for _ in generator():
        pass


def calls_back():
    """sorted() is written in Python in PyPy, but its tracebacks don't show it."""
    sorted([2, 1], key=lambda value: [held.acquire()
                                      for _ in (value,)])


def step(seconds):
    time.sleep(seconds)


def hot():
    """The JIT puts step() into the code of the loop, without a frame of its own."""
    for seconds in [0.0] * LOOPS + [1000.0]:
        step(seconds)


def hot_alone():
    """The frame is the interpreter's, but doesn't say any more at which instruction the loop is."""
    for seconds in [0.0] * LOOPS + [1000.0]:
        seconds += 0
        time.sleep(
            seconds)


def in_text():
    exec(compile("\n\ndef made():\n    held.acquire()\nmade()\n", "<text>", "exec"))


def handles():
    try:
        raise KeyError
    except KeyError:
        try:
            pass
        finally:
            held.acquire(
                True,
                1000)


def makes_objects():
    """Makes objects, and threads that are blocked for a moment in frames that are young."""
    while True:
        made = [Käse() for _ in range(100)]
        thread = threading.Thread(target=lambda: time.sleep(0.002))
        thread.start()
        thread.join()
        made.clear()


def columns(code, lasti):
    """Returns (line, end line, column, end column) of an instruction."""
    return list(code.co_positions())[lasti // 2]


def frames_of(frame):
    while frame:
        code = frame.f_code
        yield {"function": code.co_qualname, "file": code.co_filename, "line": frame.f_lineno,
               "position": columns(code, frame.f_lasti)}
        frame = frame.f_back


def used(thread):
    """Returns the CPU time of a thread if it is blocked, else None."""
    folder = "/proc/self/task/%d/" % thread.native_id
    with open(folder + "stat") as stat, open(folder + "schedstat") as times:
        return times.read().split()[0] if stat.read().rsplit(")", 1)[1].split()[0] == "S" else None


def await_blocked(threads):
    """Returns when each thread is blocked, and was already 50 ms ago."""
    before = [None]
    while None in before or before != [used(thread) for thread in threads]:
        before = [used(thread) for thread in threads]
        time.sleep(0.05)


def main():
    targets = [deep, iterates, calls_back, hot, hot_alone, in_text, handles]
    threads = [threading.Thread(target=f, name=f.__name__, daemon=True) for f in targets]
    for thread in threads:
        thread.start()
    await_blocked(threads)
    print("ready", flush=True)
    for line in sys.stdin:
        if line == "busy\n":
            threading.Thread(target=makes_objects, daemon=True).start()
            continue
        now = sys._current_frames()
        print(json.dumps({t.native_id: {"name": t.name, "frames": list(frames_of(now[t.ident]))[::-1]}
                          for t in threads}), flush=True)


main()
