# SPDX-License-Identifier: BSD-2-Clause
"""Starts threads that are blocked in all kinds of ways (Python 2.7-3.15), for tests/live/dump.py.
When none of them moves any more, it prints a line of JSON. For each thread it says what the
thread is doing, which the program itself has chosen, and where the thread is, by
sys._current_frames(). Then the main thread waits for the end of its input."""
import ctypes
import json
import os
import re
import select
import socket
import subprocess
import shutil
import sys
import tempfile
import threading
import time

try:
    import queue
except ImportError:
    import Queue as queue

try:
    import faulthandler
except ImportError:
    faulthandler = None

PY2 = sys.version_info[0] == 2
GETTID = {"x86_64": 186, "aarch64": 178}[os.uname()[4]]
LIBC = ctypes.CDLL(None)
FOREVER = 1000
held = threading.Lock()
held.acquire()
folder = tempfile.mkdtemp(prefix="krait-dump.")
pipe_read, pipe_write = os.pipe()
near, far = socket.socketpair()
rows = []
keep = []


def gettid():
    return LIBC.syscall(GETTID)


def in_lock():
    with held:
        pass


class Waiter(object):
    def __init__(self):
        self.condition = threading.Condition()

    def run(self):
        with self.condition:
            self.condition.wait()


def in_condition():
    Waiter().run()


def in_event():
    threading.Event().wait()


def in_queue():
    return [item for item in (q.get() for q in [queue.Queue()])]


def in_socket():
    near.recv(
        10)


def in_accept():
    server = socket.socket()
    keep.append(server)
    server.bind(("127.0.0.1", 0))
    server.listen(1)
    server.accept()


def in_select():
    select.select([pipe_read], [], [])


def in_poll():
    p = select.poll()
    p.register(pipe_read, select.POLLIN)
    return (p.poll(), 1)


def in_epoll():
    e = select.epoll()
    keep.append(e)
    e.register(pipe_read, select.EPOLLIN)
    e.poll()


def in_sleep():
    sorted([2, 1], key=lambda _: time.sleep(FOREVER))


def in_child():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(%d)" % FOREVER])
    keep.append(child)
    child.wait()


def in_pipe():
    os.read(pipe_read, 1)


def in_c_code():
    LIBC.usleep(FOREVER * 1000000)


def in_fifo():
    path = os.path.join(folder, "fifo")
    os.mkfifo(path)
    open(path)


def in_file_lock():
    import fcntl
    path = os.path.join(folder, "locked")
    files = [open(path, "w"), open(path, "w")]
    keep.extend(files)
    fcntl.flock(files[0], fcntl.LOCK_EX)
    fcntl.flock(files[1], fcntl.LOCK_EX)


def recurse(depth):
    if depth:
        return recurse(depth - 1)
    time.sleep(FOREVER)


def in_deep():
    recurse(200)


STATES = ((in_lock, "lock"), (in_condition, "lock"), (in_event, "lock"), (in_queue, "lock"),
          (in_socket, "net"), (in_accept, "net"), (in_select, "poll"), (in_poll, "poll"),
          (in_epoll, "poll"), (in_sleep, "sleep"), (in_child, "child"), (in_pipe, "pipe"),
          (in_c_code, "sleep"), (in_fifo, "pipe"), (in_file_lock, "lock"), (in_deep, "sleep"))


def start(function, state):
    def run():
        rows.append((gettid(), threading.current_thread(), state))
        function()
    thread = threading.Thread(target=run, name="th-" + function.__name__)
    thread.daemon = True
    thread.start()


def position(code, lasti):
    """Returns (line, end line, column, end column) of the instruction at @lasti, as the interpreter
    gives them, or None if it doesn't."""
    if not hasattr(code, "co_positions"):
        return None
    return list(code.co_positions())[lasti // 2]


def frames(frame):
    found = []
    while frame:
        code = frame.f_code
        found.append({"function": getattr(code, "co_qualname", code.co_name),
                      "name": code.co_name, "file": code.co_filename, "line": frame.f_lineno,
                      "position": position(code, frame.f_lasti)})
        frame = frame.f_back
    return found[::-1]


def blocked(tid):
    with open("/proc/self/task/%d/stat" % tid) as f:
        return f.read().rsplit(")", 1)[1].split()[0] in "SD"


def snapshot():
    now = sys._current_frames()
    return [(tid, t, state, frames(now[t.ident])) for tid, t, state in list(rows)]


def settled():
    last = None
    while True:
        time.sleep(0.05)
        now = snapshot()
        if len(now) == len(STATES) and now == last and all(blocked(row[0]) for row in now):
            return now
        last = now


def by_faulthandler():
    """Returns {thread: [[file, line, function], innermost first]}, parsed from faulthandler's
    output."""
    found = {}
    if faulthandler:
        with tempfile.TemporaryFile("w+") as f:
            faulthandler.dump_traceback(f)
            f.seek(0)
            for part in re.split("hread 0x", f.read())[1:]:
                found[int(part.split()[0], 16)] = [
                    [name, int(line), function] for name, line, function in re.findall(
                        'File "(.*)", line ([0-9]+) in (.*)', part)]
    return found


def say(frame):
    told = [{"tid": tid, "name": t.name, "state": state, "frames": stack}
            for tid, t, state, stack in settled()]
    others = by_faulthandler()
    for row, (_, t, _) in zip(told, rows):
        row["faulthandler"] = others.get(t.ident, [])
    main = frames(frame)
    main[-1]["position"] = None
    told.append({"tid": gettid(), "name": threading.current_thread().name, "state": "pipe",
                 "frames": main, "faulthandler": []})
    line = json.dumps(told) + "\n"
    os.write(1, line if PY2 else line.encode())
    return "x"


for function, state in STATES:
    start(function, state)
# in one line, because the main thread must be on the line that say() has printed
os.read(0, len(say(sys._getframe())))
for each in keep:
    if hasattr(each, "kill"):
        each.kill()
shutil.rmtree(folder)
os._exit(0)
