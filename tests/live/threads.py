# SPDX-License-Identifier: BSD-2-Clause
# Starts threads with all kinds of names (Python 2.7-3.15). Prints "TID NAME" for each, as the
# interpreter itself knows it, then "ready", and waits for the end of its input.
from __future__ import print_function
import ctypes
import sys
import threading

PY2 = sys.version_info[0] == 2
GETTID = {"x86_64": 186, "aarch64": 178}[__import__("os").uname()[4]]
stop = threading.Event()
rows = []
arrived = []


def gettid():
    return ctypes.CDLL(None).syscall(GETTID)


def wait():
    arrived.append((gettid(), threading.current_thread()))
    stop.wait(100)


class Named(threading.Thread):
    def __init__(self, name):
        threading.Thread.__init__(self, name=name)
        self.more = list(range(3))
        for i in range(40):  # more attributes than CPython keeps as inline values
            setattr(self, "attribute%d" % i, i)

    def run(self):
        wait()


class Slots(threading.Thread):
    __slots__ = ("a", "b")

    def run(self):
        wait()


def text(name):
    """Returns a thread's name as krait must show it."""
    name = name if PY2 else name.encode("utf-8")
    return name.replace(b"\n", b"\\n").replace(b"\x1b", b"\\x1b")


def start():
    yield threading.Thread(target=wait)
    yield threading.Thread(target=wait, name="plain")
    yield threading.Thread(target=wait, name="caf\u00e9" if not PY2 else "caf\xc3\xa9")
    yield threading.Thread(target=wait, name="\u0440\u0430\u0431\u043e\u0442\u0430 \u4e2d"
                           if not PY2 else "\xd1\x8f")
    yield threading.Thread(target=wait, name="\U0001f40d" if not PY2 else "snake")
    yield threading.Thread(target=wait, name="two\nlines \x1b[1m")
    yield threading.Thread(target=wait, name="long " * 100 + "name")
    yield Named("subclass")
    yield Slots(name="slots")
    t = threading.Timer(0.0, wait)
    t.name = "timer"
    yield t
    t = threading.Thread(target=wait, name="before")
    t.__dict__["extra"] = 1  # gives the object a dict instead of inline values
    yield t
    for i in range(int(sys.argv[1]) if len(sys.argv) > 1 else 20):
        yield threading.Thread(target=wait, name="worker-%d" % i)


def main():
    out = sys.stdout if PY2 else sys.stdout.buffer
    threads = list(start())
    for t in threads:
        t.daemon = True
        t.start()
    while len(arrived) < len(threads):
        stop.wait(0.01)
    for tid, t in arrived:
        if t.name == "before":
            t.name = "renamed"
    arrived.append((gettid(), threading.current_thread()))
    for tid, t in arrived:
        out.write(("%d " % tid).encode("ascii") + text(t.name) + b"\n")
    out.write(b"ready\n")
    out.flush()
    sys.stdin.read()


main()
