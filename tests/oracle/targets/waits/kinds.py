# SPDX-License-Identifier: BSD-2-Clause
# part of: turns.py, beside.py, throughout.py
"""Kinds of wait, a class each. The thread that waits makes one object of the class. Each call of
its wait() waits for about the given time."""
import atexit
import fcntl
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import clocks
import rig

try:
    import queue
except ImportError:
    import Queue as queue

HERE = os.path.dirname(os.path.abspath(__file__))
PAGES = 512  # number of pages of the file that is mapped
STEP = 64                # pages from one fault to the next: more than is read ahead
EVER = 3600              # seconds


class Peer(object):
    """The process that ends waits. It is started once."""
    port = None

    def __init__(self):
        if not Peer.port:
            process = subprocess.Popen([sys.executable, os.path.join(HERE, "peer.py")],
                                       close_fds=True, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)
            Peer.process, Peer.port = process, int(process.stdout.readline())
            atexit.register(process.kill)
        self.socket = socket.create_connection(("127.0.0.1", Peer.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, what, seconds, argument=""):
        self.socket.sendall(("%s %f %s\n" % (what, seconds, argument)).encode())


def scratch(name):
    """A file's path that no other thread or process uses."""
    return os.path.join(rig.scratch(), "%s-%d-%d" % (name, os.getpid(), len(os.listdir(
        rig.scratch()))))


class Releaser(object):
    """A thread that calls a function some time after it was asked to."""

    def __init__(self, function):
        self.function = function
        self.asked, self.ask_here = os.pipe()
        clocks.threads(self.releases)

    def ask(self, seconds):
        os.write(self.ask_here, struct.pack("d", seconds))

    def releases(self):
        log = clocks.Log()
        while True:
            log.begin()
            asked = os.read(self.asked, 8)  # waits: pipe
            log.end()
            seconds = struct.unpack("d", asked)[0]
            log.begin(seconds=seconds)
            time.sleep(seconds)  # waits: sleep
            log.end()
            self.function()


class Sleep(object):
    def wait(self, log, seconds):
        log.begin(seconds=seconds)
        time.sleep(seconds)  # waits: sleep
        log.end()


class Lock(object):
    def __init__(self):
        self.lock = threading.Lock()
        self.lock.acquire()
        self.releaser = Releaser(self.lock.release)

    def wait(self, log, seconds):
        self.releaser.ask(seconds)
        log.begin()
        self.lock.acquire()  # waits: lock
        log.end()


class Condition(object):
    def __init__(self):
        self.condition, self.there = threading.Condition(), False
        self.releaser = Releaser(self.notify)

    def notify(self):
        with self.condition:
            self.there = True
            self.condition.notify()

    def wait(self, log, seconds):
        with self.condition:
            self.releaser.ask(seconds)
            while not self.there:
                log.begin()
                self.condition.wait()  # waits: lock
                log.end()
            self.there = False


class Queue(object):
    def __init__(self):
        self.queue = queue.Queue()
        self.releaser = Releaser(self.put)

    def put(self):
        self.queue.put(1)

    def wait(self, log, seconds):
        self.releaser.ask(seconds)
        log.begin()
        self.queue.get()  # waits: lock
        log.end()


class Select(object):
    def __init__(self):
        self.peer = Peer()

    def wait(self, log, seconds):
        self.peer.ask("reply", seconds)
        log.begin()
        select.select([self.peer.socket], [], [])  # waits: poll
        log.end()
        self.peer.socket.recv(1)


class Poll(object):
    def __init__(self):
        self.peer, self.poll = Peer(), select.poll()
        self.poll.register(self.peer.socket, select.POLLIN)

    def wait(self, log, seconds):
        self.peer.ask("reply", seconds)
        log.begin()
        self.poll.poll()  # waits: poll
        log.end()
        self.peer.socket.recv(1)


class Epoll(object):
    def __init__(self):
        self.peer, self.poll = Peer(), select.epoll()
        self.poll.register(self.peer.socket, select.EPOLLIN)

    def wait(self, log, seconds):
        self.peer.ask("reply", seconds)
        log.begin()
        self.poll.poll()  # waits: poll
        log.end()
        self.peer.socket.recv(1)


class Recv(object):
    def __init__(self):
        self.peer = Peer()

    def wait(self, log, seconds):
        self.peer.ask("reply", seconds)
        log.begin()
        self.peer.socket.recv(1)  # waits: net
        log.end()


class Accept(object):
    def __init__(self):
        self.peer, self.listener = Peer(), socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(4)

    def wait(self, log, seconds):
        self.peer.ask("connect", seconds, self.listener.getsockname()[1])
        log.begin()
        connection, _ = self.listener.accept()  # waits: net
        log.end()
        connection.close()


class Pipe(object):
    def __init__(self):
        self.peer, self.path = Peer(), scratch("pipe")
        os.mkfifo(self.path)
        self.pipe = os.open(self.path, os.O_RDWR)

    def wait(self, log, seconds):
        self.peer.ask("write", seconds, self.path)
        log.begin()
        os.read(self.pipe, 1)  # waits: pipe
        log.end()


class Flock(object):
    def __init__(self):
        self.peer, self.file = Peer(), open(scratch("flock"), "w")

    def wait(self, log, seconds):
        self.peer.ask("hold", seconds, self.file.name)
        log.begin()
        self.peer.socket.recv(1)  # waits: net
        log.end()
        log.begin()
        fcntl.flock(self.file, fcntl.LOCK_EX)  # waits: lock
        log.end()
        fcntl.flock(self.file, fcntl.LOCK_UN)


class Fsync(object):
    """Waits until data is on the disk, which decides how long that takes."""

    def __init__(self):
        self.file = os.open(scratch("fsync"), os.O_RDWR | os.O_CREAT)

    def wait(self, log, _):
        os.lseek(self.file, 0, 0)
        os.write(self.file, os.urandom(4096))
        log.begin()
        os.fsync(self.file)  # waits: disk
        log.end()


class PageFault(object):
    """Waits for a page of a file that isn't in memory. The disk decides how long that takes. The
    peer, not this thread, makes the kernel forget the file, because the hypervisor may stop a CPU
    for that."""

    def __init__(self):
        self.peer, self.path = Peer(), scratch("mapped")
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT)
        os.write(self.file, b"x" * PAGES * mmap.PAGESIZE)
        os.fsync(self.file)
        self.at, self.map = PAGES, None

    def map_anew(self, log):
        self.map = None
        self.peer.ask("forget", 0, self.path)
        log.begin()
        self.peer.socket.recv(1)  # waits: net
        log.end()
        self.map = mmap.mmap(self.file, PAGES * mmap.PAGESIZE)
        self.at = 0

    def wait(self, log, _):
        if self.at >= PAGES:
            self.map_anew(log)
        log.begin()
        self.map[self.at * mmap.PAGESIZE]  # waits: page-fault
        log.end()
        self.at += STEP


class Child(object):
    def wait(self, log, seconds):
        command = ["sleep", "%f" % seconds]
        log.begin()
        child = subprocess.Popen(command, close_fds=True)  # waits: child|pipe|page-fault|disk
        log.end()
        log.begin()
        child.wait()  # waits: child
        log.end()


def tick(*_):
    pass


class Signal(object):
    """Waits for a signal, in the main thread alone. It is made before other threads begin, so that
    they inherit that the signal is blocked."""

    def __init__(self):
        if hasattr(signal, "sigwait"):
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            self.wait = self.wait_blocked
        else:
            rig.anywhere(tick)
            signal.signal(signal.SIGALRM, tick)

    def wait_blocked(self, log, seconds):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        log.begin()
        signal.sigwait([signal.SIGALRM])  # waits: signal
        log.end()

    def wait(self, log, seconds):
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
        log.begin()
        signal.pause()  # waits: signal
        log.end()
        signal.setitimer(signal.ITIMER_REAL, 0)


OF_THREADS = (Sleep, Lock, Condition, Queue, Select, Poll, Epoll, Recv, Accept, Pipe, Flock, Fsync,
              PageFault, Child)
