#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""File systems and servers stop answering while krait records: no recording is lost, and krait says
what is missing."""
import contextlib
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import cost
import kit
import mute
from kit import KRAIT, Background, check, folder

# The name under which krait runs in this test. The test's file systems don't answer a process of
# this name. Other kraits on the machine get an error from them.
NAME = "krait-held"

# A library whose symbols are in pages of the file that nobody has read yet. The target's loader
# doesn't read them, and krait at first reads only the file's headers, which are in the first page
# and in the last 64 KiB.
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
# A program that works in Python until the file "go" exists, and from then on also in the library.
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


def spin_library(d, more=""):
    path = os.path.join(d, "libspin.so")
    with open(d + "/spin.c", "w") as f:
        f.write(more + LIBRARY)
    cc("-fPIC", "-shared", "-o", path, d + "/spin.c")
    return path


class FileSystem:
    """A file system with one file, which is a library by default. After .hold() it still answers
    every program except krait; see stuck_fs.c."""

    def __init__(self, d, what, file=None, within=None):
        """Mounts the file system at d/mnt or, if @within is given, as /tmp of process @within, in
        that process's mount namespace."""
        self.mount, place = os.path.join(d, "mnt"), []
        os.mkdir(self.mount)
        if within:
            self.mount, place = "/tmp", ["nsenter", "-t", str(within), "-m"]
        file = file or spin_library(d)
        cc("-o", d + "/stuck_fs", os.path.join(kit.ROOT, "tests", "tools", "stuck_fs.c"))
        self.process = subprocess.Popen([*place, d + "/stuck_fs", self.mount, file, NAME, what], stdout=subprocess.PIPE)
        self.file = self.library = os.path.join(self.mount, os.path.basename(file))

    def __enter__(self):
        if self.process.stdout.readline() != b"mounted\n":
            raise kit.Skip("no FUSE here")
        return self

    def hold(self):
        self.process.send_signal(signal.SIGUSR1)

    def __exit__(self, *_):
        self.process.terminate()  # ends the file system; each read that waits then gets an error
        self.process.wait()
        if self.mount != "/tmp":
            subprocess.run(["umount", "-l", self.mount], stderr=subprocess.DEVNULL, check=False)


class Krait(Background):
    """A krait in the background, whose messages can be read while it runs."""

    def __init__(self, d, *args, **kw):
        self.words = os.path.join(d, "words")
        program = os.path.join(d, NAME)
        # The program isn't copied again, because a krait that hangs may still run it.
        if not os.path.exists(program):
            shutil.copy2(KRAIT, program)
        with open(self.words, "wb") as f:
            super().__init__(program, *args, stderr=f, **kw)

    def ends(self, systems):
        """Waits until krait and its children have ended. If that takes more than 20 s, the test
        fails, and ends the file systems, so that krait and its children can end."""
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            for fs in systems:
                fs.__exit__()
            raise AssertionError("krait hangs: " + self.said()) from None

    def said(self):
        with open(self.words, encoding="utf-8", errors="replace") as f:
            return f.read()

    def says(self, text, seconds):
        """Waits until krait has printed @text, for at most @seconds. Returns how many seconds that
        took."""
        began = time.monotonic()
        try:
            kit.wait_for(lambda: text in self.said(), seconds)
        except AssertionError:
            raise AssertionError("%r isn't said: %s" % (text, self.said())) from None
        return time.monotonic() - began


@contextlib.contextmanager
def held_names(*options):
    """In this with block, krait records a program that runs in a library whose symbols krait can't
    read."""
    with folder() as d, FileSystem(d, "symbols") as fs, \
            Background(kit.PYTHON, "-c", TARGET, fs.library, d + "/go") as target:
        out = d + "/o.folded"
        kit.runs(target.pid, 0.1)
        fs.hold()
        with Krait(d, "record", "-p", target.pid, "-o", out, "-F", 499, *options) as running:
            kit.wait_for(lambda: kit.attached(running.pid), 30)
            with open(d + "/go", "w"):
                kit.runs(target.pid, 0.7)
            yield d, out, running
            running.ends([fs])
            check(running.process.returncode == 0, "exit code %d" % running.process.returncode)


def check_written(out, said):
    with open(out) as f:
        text = f.read()
    check("busy" in text and "libspin.so" in text, text[:500])
    check(re.search(r"libspin\.so (have no names|among them)", said), said)
    check("main" in text and "[kernel+" not in text, text)


@kit.case
def names_have_a_deadline():
    """When sampling has ended, krait waits for missing names for 5 s at most. Then it writes the
    recording without them."""
    with held_names("-d", 2) as (_, out, running):
        running.says("waiting for ", 20)
        took = running.says("krait report " + out + "\n", 15)
        check(took < 12, "written after %.1f s" % took)
        check_written(out, running.said())


@kit.case
def file_of_intervals():
    """The file system with the file of --label-intervals stops answering: krait writes the
    recording without the labels, and says so."""
    with folder() as d:
        with open(d + "/intervals", "w") as f:
            f.write("{}\n" * 30000)
        for what in ("opens", "reads"):
            place = os.path.join(d, what)
            os.mkdir(place)
            with FileSystem(place, what, d + "/intervals") as fs:
                fs.hold()
                with Krait(d, "record", "-o", d + "/o.pb.gz", "--label-intervals", fs.file, "--", kit.PYTHON, "-c", "for i in range(3000000): i") as running:
                    running.ends([fs])
                    check(running.process.returncode == 0 and "its file system doesn't answer" in running.said(), running.said())
                check(kit.pprof.read(d + "/o.pb.gz").samples, "no samples")


@kit.case
def second_interrupt_writes_now():
    """After Ctrl-C krait waits up to 5 s for missing names. A second signal makes it write the
    recording at once."""
    with held_names() as (_, out, running):
        running.process.send_signal(signal.SIGINT)
        running.says("waiting for ", 10)
        check(not os.path.exists(out), "written already")
        running.process.send_signal(signal.SIGTERM)
        took = running.says("krait report " + out + "\n", 10)
        check("a signal asked to write" in running.said(), running.said())
        check(took < 3, "written %.1f s after the second signal" % took)
        check_written(out, running.said())


# A program in which the names of handle()'s code object are in memory that is mapped from a file
# and that nobody has read yet.
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
    """In this with block two programs run: one has memory that can't be read, the other is an
    ordinary program."""
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
    """One program has memory that can't be read: `krait record` ends in time and by itself, the
    other program's samples are whole, and krait says what is missing."""
    with held_memory() as (d, target, other):
        out = d + "/o.pb.gz"
        with Krait(d, "record", "-d", 2, "-F", 499, "-o", out, "-p", target.pid, "-p",
                   other.pid) as running:
            running.process.wait(20)
            said = running.said()
        check(running.process.returncode == 0, said)
        check("the first: %d, python3" % target.pid in said and "doesn't answer" in said, said)
        kit.sees(out, "busy", pids=[other.pid])
        total, found = kit.share(out, "busy", pids=[target.pid])
        check(found > total / 4, "%d of %d samples have busy()" % (found, total))


@kit.case
def dump_of_memory_that_does_not_come():
    """`krait dump -p TARGET -p OTHER`: TARGET runs a function whose name is in memory that can't be
    read. krait ends by itself, shows OTHER, and says what is missing of TARGET."""
    with held_memory("alone") as (d, target, other):
        with open(d + "/stacks", "w") as f, \
                Krait(d, "dump", "-p", target.pid, "-p", other.pid, stdout=f) as running:
            running.process.wait(20)
            said = running.said()
        with open(d + "/stacks") as f:
            text = f.read()
        check(running.process.returncode == 0, said)
        check("Process %d" % other.pid in text and "in main" in text, text + said)
        check("the first: %d, python3" % target.pid in said, said + text)


def children_of(pid):
    with contextlib.suppress(OSError):
        return cost.tasks(pid)[1:]
    return []


def is_alive(pid):
    with contextlib.suppress(OSError):
        return mute.state(pid) != "Z"
    return False


@kit.case
def mappings_that_are_locked():
    """A process hangs in mmap(), so that nothing of it can be read and its files can't be opened;
    record and top show the other process whole. krait's child processes that wait for the
    hanging one end with krait."""
    with mute.hanging(mute.LOCKED, mute.Mute.WRITE) as (target, _), kit.python() as other, folder() as d:
        with Krait(d, "record", "-d", 1, "-F", 499, "-o", d + "/o.pb.gz", "-p", target.pid, "-p", other.pid) as running:
            children = set()
            kit.wait_for(lambda: running.process.poll() is not None or children.update(children_of(running.pid)), 20)
            said = running.said()
        check(running.process.returncode == 0, said)
        check("the first: %d, python3" % target.pid in said, said)
        check(children, "krait has no children that read")
        kit.wait_for(lambda: not any(is_alive(child) for child in children), 5)
        kit.sees(d + "/o.pb.gz", "busy", pids=[other.pid])
        top = kit.krait("top", "--json", "-n", 1, "-i", "500ms", "-p", target.pid, "-p", other.pid)
        check("busy" in top.stdout, top.stderr)


def held_file(what):
    """A program has mapped a file that its file system doesn't let krait read. krait tries to read
    the file before the first sample, and must still record the other program."""
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


# Source of a library with so many exports that the tables by which its functions are found aren't
# in its first page.
EXPORTS = "".join("int exported_%d;\n" % i for i in range(4000))
# The program maps the file argv[1] once that file exists. A file for the program's process number
# is made after the program's start, so that krait doesn't take it for the file of an older process.
MAPPED = """
import mmap, os, sys
def busy(n):
    return sum(i & 3 for i in range(n))
def main():
    mapped, code = None, mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
    while True:
        busy(20000)
        if not mapped and len(sys.argv) > 1 and os.path.exists(sys.argv[1]):
            with open(sys.argv[1], "rb") as f:
                mapped = mmap.mmap(f.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
main()
"""
SCRIPT = """
def busy(n):
    return sum(i & 3 for i in range(n))
def main():
    while True:
        busy(20000)
main()
"""


@contextlib.contextmanager
def library_that_stops(d, what, exports=""):
    with FileSystem(d, what, spin_library(d, exports)) as fs, \
            Background(kit.PYTHON, "-c", TARGET, fs.library, d) as target:
        kit.runs(target.pid, 0.2)
        yield target, fs


@contextlib.contextmanager
def perf_map_that_stops(d, what):
    """The program's /tmp is a file system that stops answering. The program's perf map lies there.
    """
    kit.need("unshare")
    with Background("unshare", "-m", kit.PYTHON, "-c", MAPPED) as target:
        kit.runs(target.pid, 0.2)
        file = "%s/perf-%d.map" % (d, target.pid)
        with open(file, "w") as f:
            f.writelines("%x 10 f_%d\n" % (0x1000 + 16 * i, i) for i in range(40000))
        with FileSystem(d, what, file, target.pid) as fs:
            yield target, fs


@contextlib.contextmanager
def jitdump_that_stops(d, what):
    """The program maps a jitdump. The file's header is right, so krait takes the file for a
    jitdump. Then the file system on which the file lies stops answering."""
    with Background(kit.PYTHON, "-c", MAPPED, d + "/mnt/jit-1.dump") as target:
        kit.runs(target.pid, 0.2)
        load = struct.pack("=IIQIIQQQQ", 0, 68, 0, target.pid, target.pid, 0, 0x1000, 16, 0) + b"name_of_it\0\0"
        with open(d + "/jit-1.dump", "wb") as f:
            f.write(struct.pack("=6IQQ", 0x4A695444, 1, 40, 62, 0, target.pid, 0, 0) + load * 4000)
        with FileSystem(d, what, d + "/jit-1.dump") as fs:
            kit.wait_for(lambda: "jit-1.dump" in open("/proc/%d/maps" % target.pid).read(), 10)
            yield target, fs


@contextlib.contextmanager
def script_that_stops(d, what):
    """The program's script, whose text krait would read, is on a file system that stops answering.
    """
    with open(d + "/manage.py", "w") as f:
        f.write(SCRIPT)
    with FileSystem(d, what, d + "/manage.py") as fs, Background(kit.PYTHON, fs.file) as target:
        kit.runs(target.pid, 0.2)
        yield target, fs


# Ways to hang: each one starts a program with a file whose file system stops answering. The ways
# differ in what krait reads at that moment.
WAYS = {
    "tables": lambda d: library_that_stops(d, "symbols", EXPORTS),
    "map": lambda d: perf_map_that_stops(d, "twice"),
    "map_name": lambda d: perf_map_that_stops(d, "names"),
    "map_open": lambda d: perf_map_that_stops(d, "opens"),
    "jitdump": lambda d: jitdump_that_stops(d, "symbols"),
    "script": lambda d: script_that_stops(d, "opens"),
}


def held_ways(ways):
    """Records programs whose file systems stop answering in the given ways, together with an
    ordinary program. The ordinary program's samples must be whole, and half of the other
    programs' samples must be named."""
    with folder() as d, kit.python() as other, contextlib.ExitStack() as stack:
        targets, systems = [], []
        for way in ways:
            os.mkdir(d + "/" + way)
            target, fs = stack.enter_context(WAYS[way](d + "/" + way))
            targets.append(target)
            systems.append(fs)
        # At the end of this with block the file systems end before the targets, because targets may
        # hang as long as the file systems run.
        stack.callback(lambda: [fs.__exit__() for fs in systems])
        for fs in systems:
            fs.hold()
        pids = [x for target in [other, *targets] for x in ("-p", target.pid)]
        with Krait(d, "record", "-d", 1.5, "-F", 499, "-o", d + "/o.pb.gz", *pids) as running:
            running.ends(systems)
            said = running.said()
        check(running.process.returncode == 0, said)
        check("of programs do" in said and "answer" in said, said)
        kit.sees(d + "/o.pb.gz", "busy", pids=[other.pid])
        for target in targets:
            total, found = kit.share(d + "/o.pb.gz", "busy", pids=[target.pid])
            check(found > total * 0.5 and found > 5, "%d of %d samples have busy()" % (found, total))


@kit.case
def files_that_stop():
    """File systems stop answering while krait is in the middle of a file, or looks for a file: the
    recording ends in time and has everything else."""
    held_ways(WAYS)


@kit.full_case
def each_file_that_stops():
    """Tries the ways to hang one by one, so that the test shows what each of them costs."""
    for way in WAYS:
        held_ways([way])


@kit.case
def files_that_come():
    """krait's child process reads an interpreter and a library whose file system might not answer,
    but does: krait has names and unwind rows as for any other file."""
    with folder() as d, contextlib.ExitStack() as stack:
        os.mkdir(d + "/python")
        os.mkdir(d + "/library")
        python = stack.enter_context(FileSystem(d + "/python", "free", os.path.realpath(kit.PYTHON)))
        library = stack.enter_context(FileSystem(d + "/library", "free"))
        with open(d + "/go", "w"), Background(python.file, "-c", TARGET, library.library, d + "/go") as target:
            kit.runs(target.pid, 0.3)
            kit.krait("record", "-p", target.pid, "-d", 1.5, "-F", 499, "--native=full", "-o", d + "/o.folded")
        with open(d + "/o.folded") as f:
            lines = f.read().splitlines()
        whole = [x for x in lines if "main" in x and "[" + "incomplete" not in x]
        count = lambda some: sum(int(x.rsplit(" ", 1)[1]) for x in some)
        check(count(whole) >= 0.95 * count(lines), "%d of %d are whole" % (count(whole), count(lines)))
        for name in ("busy", "spin (libspin.so)", "_start (%s)" % os.path.basename(os.path.realpath(kit.PYTHON))):
            check(count(x for x in lines if name in x) > 0.1 * count(lines), "no %s: %s" % (name, lines[:3]))


@kit.case
def source_that_stops():
    """If the file system doesn't answer the opening of the script, krait makes the dump and the
    page without the script's text."""
    with folder() as d, kit.python() as other, script_that_stops(d, "opens") as (target, fs):
        fs.hold()
        try:
            with open(d + "/stacks", "w") as f, \
                    Krait(d, "dump", "-p", target.pid, "-p", other.pid, stdout=f) as running:
                running.ends([fs])
            text = open(d + "/stacks").read()
            check(running.process.returncode == 0 and text.count("in main") >= 2, text + running.said())
            with Krait(d, "record", "-d", 1, "-o", d + "/o.html", "-p", target.pid, "-p", other.pid) as running:
                running.ends([fs])
            check(running.process.returncode == 0 and os.path.getsize(d + "/o.html") > 10000, running.said())
        finally:
            fs.__exit__()


@kit.case
def server_that_says_nothing():
    """A server for debug files (debuginfod) accepts connections and never answers. krait asks it
    for the debug files of several libraries, and doesn't wait long."""
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
        check("libspin2.so" in open(d + "/o.folded").read(), "no sample is in libspin2.so")


if __name__ == "__main__":
    sys.exit(kit.main())
