# SPDX-License-Identifier: BSD-2-Clause
"""Starts threads and processes that have no work, and others that wait for something, often in the
same functions of the standard library. Prints, as a line of JSON, which of them does what, lets
them wait for a second, and ends. Before that it lets krait dump its threads: $DUMP is the
command, $DUMP_TO the file for its output. Runs on Python 2.7 and from 3.6 on."""
import ctypes
import json
import logging
import multiprocessing
import multiprocessing.pool
import os
import select
import socket
import subprocess
import sys
import threading
import time

try:
    import queue
    import socketserver
    import concurrent.futures
    import logging.handlers
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from xmlrpc.server import SimpleXMLRPCServer
    import asyncio
    import selectors
except ImportError:  # 2.7
    import Queue as queue
    import SocketServer as socketserver
    from BaseHTTPServer import BaseHTTPRequestHandler, HTTPServer
    from SimpleXMLRPCServer import SimpleXMLRPCServer
    asyncio = concurrent = selectors = None

SECONDS = 1.0
FOREVER = 1000
truth = {}  # thread id: (what the thread does, how its waits must be counted)
gettid_call = {"x86_64": 186, "aarch64": 178}[os.uname()[4]]
libc = ctypes.CDLL(None)
keep, children = [], []


def gettid():
    return libc.syscall(gettid_call)


def threads():
    return {int(t) for t in os.listdir("/proc/self/task")}


def settle(what, counts, before, n):
    """Waits until @n threads have started since @before, and adds them to truth. @what: what they
    do, in words; @counts: how their waits must be counted."""
    end = time.time() + 5
    while len(threads() - before - set(truth)) < n and time.time() < end:
        time.sleep(0.005)
    for tid in threads() - before - set(truth):
        truth[tid] = (what, counts)


def start(function, counts, *args):
    """Starts a thread that calls @function, which waits. @counts: how the thread's waits must be
    counted."""
    def run():
        truth[gettid()] = (function.__name__, counts)
        function(*args)
    thread = threading.Thread(target=run)
    thread.daemon = True
    thread.start()
    return thread


def tcp():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(5)
    return listener


def connected():
    listener = tcp()
    mine = socket.create_connection(listener.getsockname())
    keep.append((listener, mine))
    return mine, listener.accept()[0]


# from here on: functions of threads without work

def accepts():
    tcp().accept()


def accepts_with_timeout():
    listener = tcp()
    listener.settimeout(FOREVER)
    listener.accept()


def accepts_unix():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\0krait-idle-%d" % os.getpid())
    listener.listen(5)
    listener.accept()


def serves_tcp():
    socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler).serve_forever(FOREVER)


def serves_polling():
    socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler).serve_forever(0.1)


def serves_one():
    socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler).handle_request()


def serves_http():
    HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler).serve_forever()


def serves_xml():
    SimpleXMLRPCServer(("127.0.0.1", 0)).serve_forever()


def handles_quiet_client():
    """Waits for a request on a connection whose client never sends one."""
    mine, other = connected()
    keep.append(mine)
    BaseHTTPRequestHandler(other, ("127.0.0.1", 1), None)


def fetches_job():
    """Waits for a job. The test names this function with --idle-at."""
    queue.Queue().get()


def fetches_job_remotely():
    """Waits in a nested function that krait doesn't know. The test names the outer function with
    --idle-at."""
    def reads():
        connected()[1].recv(1)
    reads()


class Jobs(object):
    def get(self):
        """The test names this method with --idle-at, together with its class."""
        threading.Event().wait()


def fetches_job_by_method():
    Jobs().get()


# from here on: functions of threads that wait for something

def consumes():
    queue.Queue().get()


def consumes_simple():
    (getattr(queue, "SimpleQueue", None) or queue.Queue)().get()


def consumes_with_timeout():
    queue.Queue().get(timeout=FOREVER)


class ConnectionPool(object):
    def __init__(self):
        self.free = queue.Queue()

    def checkout(self):
        return self.free.get()


def checks_out():
    ConnectionPool().checkout()


def _worker():
    """A function of this program with the name of the standard library's `_worker` of thread pools.
    """
    queue.Queue().get()


def waits_for_event():
    threading.Event().wait()


def waits_for_condition():
    condition = threading.Condition()
    with condition:
        condition.wait()


def waits_for_semaphore():
    threading.Semaphore(0).acquire()


def waits_for_lock():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def joins():
    thread = threading.Thread(target=time.sleep, args=(FOREVER,))
    thread.daemon = True
    thread.start()
    thread.join()


def sleeps():
    time.sleep(FOREVER)


def receives():
    mine, other = connected()
    keep.append(other)
    mine.recv(1)


def reads_pipe():
    r, w = os.pipe()
    keep.append(w)
    os.read(r, 1)


def selects():
    r, w = os.pipe()
    keep.append(w)
    select.select([r], [], [])


def polls_own_selector():
    r, w = os.pipe()
    keep.append(w)
    if not selectors:
        select.select([r], [], [])
    selector = selectors.DefaultSelector()
    selector.register(r, selectors.EVENT_READ)
    selector.select()


def waits_for_child():
    children.append(subprocess.Popen(["sleep", str(FOREVER)]))
    children[-1].wait()


def receives_from_pipe():
    mine, other = multiprocessing.Pipe()
    keep.append(other)
    mine.recv()


class Slow(BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(FOREVER)

    def log_message(self, *_):
        pass


def handles_slowly():
    mine, other = connected()
    mine.sendall(b"GET / HTTP/1.0\r\n\r\n")
    Slow(other, ("127.0.0.1", 1), None)


class Reads(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(1)

    log_message = Slow.log_message


def handles_slow_client():
    mine, other = connected()
    mine.sendall(b"POST / HTTP/1.0\r\n\r\n")
    Reads(other, ("127.0.0.1", 1), None)


# Pools: after a first task, their workers are idle, or busy with a task that waits.

def told(counts):
    def task():
        truth[gettid()] = ("pool's worker", counts)
    return task


def executors():
    pool = concurrent.futures.ThreadPoolExecutor(1)
    pool.submit(told("idle")).result()
    for f, args in ((consumes, ()), (time.sleep, (FOREVER,)), (checks_out, ()), (selects, ())):
        busy = concurrent.futures.ThreadPoolExecutor(1)
        busy.submit(told("waits")).result()
        busy.submit(f, *args)
        keep.append(busy)
    outer = concurrent.futures.ThreadPoolExecutor(1)
    outer.submit(told("waits")).result()
    outer.submit(lambda: busy.submit(int).result())
    keep.extend((pool, outer))
    for result in (lambda f: f.result(), lambda f: concurrent.futures.wait([f])):
        start(lambda: result(concurrent.futures.Future()), "waits")


def thread_pools():
    before = threads()
    pool = multiprocessing.pool.ThreadPool(1)
    pool.apply(told("idle"))
    settle("helper of a pool", "idle", before, 3)
    keep.append(pool)
    lock = threading.Lock()
    lock.acquire()
    for f, args in ((lock.acquire, ()), (time.sleep, (FOREVER,)), (consumes, ())):
        before = threads()
        busy = multiprocessing.pool.ThreadPool(1)
        busy.apply(told("waits"))
        settle("helper of a pool", "idle", before, 3)
        busy.apply_async(f, args)
        keep.append(busy)


def process_pools():
    before = threads()
    pool = multiprocessing.Pool(1)
    truth[pool.apply(os.getpid)] = ("pool's process", "idle")
    settle("helper of a pool", "idle", before, 3)
    before = threads()
    busy = multiprocessing.Pool(1)
    truth[busy.apply(os.getpid)] = ("pool's process", "waits")
    settle("helper of a pool", "idle", before, 3)
    busy.apply_async(time.sleep, (FOREVER,))
    keep.extend((pool, busy))
    if concurrent:
        executor = concurrent.futures.ProcessPoolExecutor(1)
        truth[executor.submit(os.getpid).result()] = ("executor's process", "idle")
        keep.append(executor)


def others():
    before = threads()
    fed = multiprocessing.Queue()
    fed.put(1)
    settle("feeder", "idle", before, 1)
    keep.append(fed)
    if concurrent:
        before = threads()
        listener = logging.handlers.QueueListener(queue.Queue())
        listener.start()
        settle("listener", "idle", before, 1)
        keep.append(listener)


def timers():
    """A timer is idle. A thread whose target is Event.wait has the same frames as a timer, but it
    isn't idle."""
    before = threads()
    timer = threading.Timer(FOREVER, int)
    timer.daemon = True
    timer.start()
    settle("timer", "idle", before, 1)
    before = threads()
    thread = threading.Thread(target=threading.Event().wait)
    thread.daemon = True
    thread.start()
    settle("thread that waits for an event", "waits", before, 1)


def loops():
    """Event loops without work, event loops with a callback that waits, and code that only looks
    like a loop."""
    def runs(counts, work):
        def run():
            truth[gettid()] = ("loop", counts)
            loop = asyncio.new_event_loop()
            if work:
                loop.call_soon(work)
            loop.run_forever()
        thread = threading.Thread(target=run)
        thread.daemon = True
        thread.start()
    runs("loop", None)
    runs("waits", lambda: time.sleep(FOREVER))
    runs("waits", consumes)
    runs("waits", selects)


# these processes are forked before any thread is started
if hasattr(multiprocessing, "set_start_method"):
    multiprocessing.set_start_method("fork")
process_pools()
thread_pools()
timers()
if concurrent:
    executors()
    loops()
others()
for each in (accepts, accepts_with_timeout, accepts_unix, serves_tcp, serves_polling, serves_one, serves_http,
             serves_xml, handles_quiet_client, fetches_job, fetches_job_remotely, fetches_job_by_method):
    start(each, "idle")
for each in (consumes, consumes_simple, consumes_with_timeout, checks_out, _worker, waits_for_event,
             waits_for_condition, waits_for_semaphore, waits_for_lock, joins, sleeps, receives, reads_pipe, selects,
             polls_own_selector, waits_for_child, receives_from_pipe, handles_slowly, handles_slow_client):
    start(each, "waits")
time.sleep(0.3)
with open(os.environ["DUMP_TO"], "w") as dump:
    subprocess.call(os.environ["DUMP"].split() + ["--pid=%d" % os.getpid()], stdout=dump)
time.sleep(SECONDS)
print(json.dumps(truth))
sys.stdout.flush()
for child in children + multiprocessing.active_children():
    child.terminate()
os._exit(0)
