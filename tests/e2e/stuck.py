#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What doesn't answer: file systems, servers. No recording is lost, and what is missing is said."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import kit
import mute
from kit import KRAIT, Background, check, folder

NAME = "krait-held"  # whom file systems don't answer; other kraits of the machine go on

# Its symbols are in pages that neither the target's loader reads nor krait when it looks at the
# file's headers, which are in the first page and in the last 64 KiB.
FILLER = "".join('__asm__(".set filler%d, %d");\n' % (i, i) for i in range(20000))
LIBRARY = FILLER + """
__asm__(".section .apart,\\"\\",@progbits\\n.zero 65536\\n.text");
static const char room[1 << 20] = {1};
long spin(long n)
{
	volatile long sum = 0;
	for (long i = 0; i < n; i++)
		sum += room[i & 1023];
	return sum;
}
"""
# Works in Python until the file "go" is there, then in the library too.
TARGET = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
library.spin(1000)
def busy(n):
    return sum(i & 3 for i in range(n))
def main():
    while True:
        busy(20000)
        if os.path.exists(sys.argv[2]):
            library.spin(500000)
main()
"""


def cc(*args):
    try:
        subprocess.run(["cc", "-O1", *args], check=True)
    except FileNotFoundError:
        raise kit.Skip("no C compiler") from None


class FileSystem:
    """One with a library in it. From .hold() on it answers everybody but krait; see stuck_fs.c."""

    def __init__(self, d, *options):
        self.mount = os.path.join(d, "mnt")
        os.mkdir(self.mount)
        library = os.path.join(d, "libspin.so")
        with open(d + "/spin.c", "w") as f:
            f.write(LIBRARY)
        cc("-fPIC", "-shared", "-o", library, d + "/spin.c")
        cc("-o", d + "/stuck_fs", os.path.join(kit.ROOT, "tests", "tools", "stuck_fs.c"))
        self.process = subprocess.Popen([d + "/stuck_fs", self.mount, library, NAME, *options],
                                        stdout=subprocess.PIPE)
        self.library = os.path.join(self.mount, "libspin.so")

    def __enter__(self):
        if self.process.stdout.readline() != b"mounted\n":
            raise kit.Skip("no FUSE here")
        return self

    def hold(self):
        self.process.send_signal(signal.SIGUSR1)

    def __exit__(self, *_):
        self.process.terminate()  # whoever waits gets an error then
        self.process.wait()
        subprocess.run(["umount", "-l", self.mount], stderr=subprocess.DEVNULL, check=False)


class Krait(Background):
    """krait, whose words are read while it runs: it can't end before the file system answers."""

    def __init__(self, d, *args, **kw):
        self.words = os.path.join(d, "words")
        program = os.path.join(d, NAME)
        shutil.copy2(KRAIT, program)
        with open(self.words, "wb") as f:
            super().__init__(program, *args, stderr=f, **kw)

    def said(self):
        with open(self.words, encoding="utf-8", errors="replace") as f:
            return f.read()

    def says(self, text, seconds):
        """Seconds until it does."""
        began = time.monotonic()
        try:
            kit.wait_for(lambda: text in self.said(), seconds)
        except AssertionError:
            raise AssertionError("%r isn't said: %s" % (text, self.said())) from None
        return time.monotonic() - began


@contextlib.contextmanager
def held_names(*options):
    """krait records a program in a library whose names krait can't read."""
    with folder() as d, FileSystem(d, "symbols") as fs, \
            Background(kit.PYTHON, "-c", TARGET, fs.library, d + "/go") as target:
        out = d + "/o.folded"
        kit.runs(target.pid, 0.1)
        fs.hold()
        with Krait(d, "record", "-p", target.pid, "-o", out, "-F", 499, *options) as running:
            kit.wait_for(lambda: kit.attached(running.pid), 30)
            with open(d + "/go", "w"):
                kit.runs(target.pid, 0.7)
            try:
                yield d, out, running
            finally:
                fs.__exit__()
            running.process.wait(20)
            check(running.process.returncode == 0, "exit code %d" % running.process.returncode)


def check_written(out, said):
    with open(out) as f:
        text = f.read()
    check("busy" in text and "libspin.so" in text, text[:500])
    check("libspin.so have no names" in said, said)
    check("main" in text and "[kernel+" not in text, text)


@kit.case
def names_have_a_deadline():
    """5 s after the end of sampling everything is written, without the names that didn't come."""
    with held_names("-d", 2) as (_, out, running):
        running.says("waiting for ", 20)
        took = running.says("krait report " + out + "\n", 15)
        check(took < 12, "written after %.1f s" % took)
        check_written(out, running.said())


@kit.case
def second_interrupt_writes_now():
    """Ctrl-C, and again: all is written, well within the 5 s of the first one."""
    with held_names() as (_, out, running):
        running.process.send_signal(signal.SIGINT)
        running.says("waiting for ", 10)
        check(not os.path.exists(out), "written already")
        running.process.send_signal(signal.SIGTERM)
        took = running.says("krait report " + out + "\n", 10)
        check("a signal asked to write" in running.said(), running.said())
        check(took < 3, "written %.1f s after the second signal" % took)
        check_written(out, running.said())


# The names of handle()'s code object lie in memory that comes from the file, and that nobody has read.
HELD_NAME = """
import ctypes, mmap, os, sys
def handle(n):
    return sum(i & 3 for i in range(n))
with open(sys.argv[2], "rb") as f:
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                          ctypes.c_long]
    held = libc.mmap(None, 4096, 3, 2, f.fileno(), 65536)
code = handle.__code__
words = (ctypes.c_uint64 * (sys.getsizeof(code) // 8)).from_address(id(code))
names = {id(code.co_name), id(code.co_qualname)}
for i, word in enumerate(words):
    if word in names:
        words[i] = held
def busy(n):
    return sum(i & 3 for i in range(n))
open(sys.argv[1], "w").close()
while True:
    handle(20000)
    if len(sys.argv) == 3: busy(20000)
"""


@contextlib.contextmanager
def held_memory(*options):
    """A program of which some memory doesn't come, and one beside it."""
    with folder() as d, FileSystem(d, "reads") as fs, kit.python() as other, \
            Background(kit.PYTHON, "-c", HELD_NAME, d + "/ready", fs.library, *options) as target:
        kit.wait_for(lambda: os.path.exists(d + "/ready"), 20)
        fs.hold()
        try:
            yield d, target, other
        finally:
            fs.__exit__()


@kit.case
def memory_that_does_not_come():
    """record ends in time and by itself, the other program's samples are whole, and it is said."""
    with held_memory() as (d, target, other):
        out = d + "/o.pb.gz"
        with Krait(d, "record", "-d", 2, "-F", 499, "-o", out, "-p", target.pid, "-p",
                   other.pid) as running:
            running.process.wait(20)
            said = running.said()
        check(running.process.returncode == 0, said)
        check("%d (python3) first" % target.pid in said and "doesn't answer" in said, said)
        kit.sees(out, "busy", pids=[other.pid])
        total, found = kit.share(out, "busy", pids=[target.pid])
        check(found > total / 4, "%d of %d samples have busy()" % (found, total))


@kit.case
def dump_of_memory_that_does_not_come():
    """The same of dump, when the program is where the memory is wanted."""
    with held_memory("alone") as (d, target, other):
        with open(d + "/stacks", "w") as f, \
                Krait(d, "dump", "-p", target.pid, "-p", other.pid, stdout=f) as running:
            running.process.wait(20)
            said = running.said()
        with open(d + "/stacks") as f:
            text = f.read()
        check(running.process.returncode == 0, said)
        check("Process %d" % other.pid in text and "in main" in text, text + said)
        check("%d (python3) first" % target.pid in said, said + text)


@kit.case
def mappings_that_are_locked():
    """Of a process that hangs in mmap nothing can be read, nor its files opened; record and top show the other one whole."""
    with mute.hanging(mute.LOCKED, mute.Mute.WRITE) as (target, _), kit.python() as other, folder() as d:
        with Krait(d, "record", "-d", 1, "-F", 499, "-o", d + "/o.pb.gz", "-p", target.pid, "-p", other.pid) as running:
            running.process.wait(20)
            said = running.said()
        check(running.process.returncode == 0, said)
        check("%d (python3) first" % target.pid in said, said)
        kit.sees(d + "/o.pb.gz", "busy", pids=[other.pid])
        top = kit.krait("top", "--json", "-n", 1, "-i", "500ms", "-p", target.pid, "-p", other.pid)
        check("busy" in top.stdout, top.stderr)


def held_file(what):
    """krait meets a mapped file that its file system keeps to itself, before the first sample."""
    with folder() as d, FileSystem(d, what) as fs, kit.python() as other, \
            Background(kit.PYTHON, "-c", TARGET, fs.library, d) as target:
        kit.runs(target.pid, 0.2)
        fs.hold()
        try:
            with Krait(d, "record", "-d", 2, "-F", 499, "-o", d + "/o.pb.gz", "-p", target.pid,
                       "-p", other.pid) as running:
                running.process.wait(20)
                said = running.said()
        finally:
            fs.__exit__()
        check(running.process.returncode == 0, said)
        check("1 file system of programs doesn't answer" in said, said)
        kit.sees(d + "/o.pb.gz", "busy", pids=[other.pid])
        total, found = kit.share(d + "/o.pb.gz", "busy", pids=[target.pid])
        check(found >= 20, "%d of %d samples have busy()" % (found, total))


@kit.case
def file_that_can_not_be_read():
    held_file("reads")


@kit.case
def file_that_can_not_be_opened():
    held_file("opens")


@kit.case
def server_that_says_nothing():
    """Debug files of several libraries are asked for at a server that accepts: nobody waits long."""
    source = """
import ctypes, sys
libraries = [ctypes.CDLL(path) for path in sys.argv[1:]]
while True:
    for library in libraries: library.spin(100000)
"""
    with folder() as d, socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(64)
        paths = [d + "/libspin%d.so" % i for i in range(3)]
        for i, path in enumerate(paths):
            with open(d + "/spin.c", "w") as f:
                f.write(LIBRARY + "int number = %d;\n" % i)
            cc("-fPIC", "-shared", "-s", "-Wl,--build-id", "-o", path, d + "/spin.c")
        where = dict(os.environ, DEBUGINFOD_CACHE_PATH=d + "/cache",
                     DEBUGINFOD_URLS="http://127.0.0.1:%d/" % server.getsockname()[1])
        with Background(kit.PYTHON, "-c", source, *paths) as target:
            kit.runs(target.pid, 0.2)
            began = time.monotonic()
            done = kit.krait("record", "-p", target.pid, "-d", 1, "-o", d + "/o.folded", env=where)
            took = time.monotonic() - began
        if "DEBUGINFOD_URLS" not in done.stderr:
            raise kit.Skip("no libdebuginfod here")
        check(done.returncode == 0, done.stderr)
        check(took < 15, "took %.1f s: %s" % (took, done.stderr))
        check("have no names" in done.stderr, done.stderr)
        check("libspin2.so" in open(d + "/o.folded").read(), "not whole")


if __name__ == "__main__":
    sys.exit(kit.main())
