# SPDX-License-Identifier: BSD-2-Clause
"""A file system that stops answering at a chosen call, and a program that hangs because of it."""
import contextlib
import ctypes
import os
import select
import struct
import time

import kit


# A program that hangs in mmap(), so that its list of mappings is locked.
LOCKED = """
import mmap, os, sys, threading
def maps():
    direct, cached = [os.open(sys.argv[1] + "/file", os.O_RDWR) for i in range(2)]
    written = mmap.mmap(cached, 4096)
    written[0] = 1
    mmap.mmap(direct, 4096, flags=mmap.MAP_PRIVATE)  # writes back first
thread = threading.Thread(target=maps)
thread.start()
thread.join()
"""


class Mute:
    """A file system (FUSE 7.22) with one file of zeros. It stops answering at the call that
    .serve() is given."""

    ATTRIBUTES = struct.pack("=6Q10I", 2, 4096, 8, 0, 0, 0, 0, 0, 0, 0o100644, 1, 0, 0, 0, 4096, 0)
    ANSWERS = {26: struct.pack("=4I2HI", 7, 22, 0, 0, 1, 1, 4096),  # INIT
               1: struct.pack("=4Q2I", 2, 0, 1000, 1000, 0, 0) + ATTRIBUTES,  # LOOKUP
               # answers to GETATTR, READ
               3: struct.pack("=Q2I", 1000, 0, 0) + ATTRIBUTES, 15: bytes(4096)}
    READ, WRITE = 15, 16

    def __init__(self, place):
        self.place, self.libc = place.encode(), ctypes.CDLL(None, use_errno=True)

    def __enter__(self):
        try:
            self.fd = os.open("/dev/fuse", os.O_RDWR)
        except OSError as error:
            raise kit.Skip(str(error)) from None
        options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % self.fd
        if self.libc.mount(b"mute", self.place, b"fuse.mute", 0, options):
            os.close(self.fd)
            raise kit.Skip("can't mount: " + os.strerror(ctypes.get_errno()))
        return self

    def __exit__(self, *_):
        self.libc.umount2(self.place, 2)

    def close(self):
        """Ends the file system, so that reads fail. Until then nothing ends a thread that reads,
        not even SIGKILL."""
        os.close(self.fd)

    def serve(self, until):
        """Answers requests until the call @until comes. Only the descriptor that is opened first
        reads and writes without the page cache (FOPEN_DIRECT_IO)."""
        opened = 0
        while select.select([self.fd], [], [], 20)[0]:
            _, call, number = struct.unpack_from("=IIQ", os.read(self.fd, 1 << 17))
            if call == until:
                return
            answer = self.ANSWERS.get(call, b"")
            if call == 14:  # OPEN
                answer = struct.pack("=QII", opened, not opened, 0)
                opened += 1
            os.write(self.fd, struct.pack("=IiQ", 16 + len(answer), 0 if answer else -38, number) + answer)
        raise AssertionError("nobody reads or writes")


def state(pid, tid=None):
    with open("/proc/%d/task/%s/stat" % (pid, tid or pid)) as f:
        return f.read().rsplit(")", 1)[1].split()[0]


@contextlib.contextmanager
def hanging(source, call):
    """Starts the program, whose argument is a directory of the file system. Yields when the file
    system has received @call, which it doesn't answer."""
    with kit.folder() as place, Mute(place) as mute, kit.Background(kit.PYTHON, "-c", source, place) as target:
        try:
            mute.serve(call)
            kit.wait_for(lambda: all(state(target.pid, t) in "SD" for t in os.listdir("/proc/%d/task" % target.pid)), 5)
            time.sleep(0.3)
            yield target, place
        finally:
            mute.close()
