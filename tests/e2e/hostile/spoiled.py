#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Targets that spoil their own interpreter structures while krait looks at them.

One thread of a program is busy, while another thread writes random bytes, cycles and huge sizes
over what krait's stack walker reads: frames, code objects, strings, thread states' links. krait
must neither hang nor crash, and another process profiled at the same time must stay right."""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import Background, check, folder, krait, python

# One process, the spoiler, forks; its child is the victim, whose memory it spoils. If the victim
# crashes, the spoiler forks the next one.
HOSTILE = r"""
import ctypes, os, random, sys, threading, time
def spin(n):
    total = 0
    for i in range(n):
        total += i & 3
    return total
def deep(n):
    return deep(n - 1) if n else spin(10000)
def victim(seed):
    random.seed(seed)
    code = deep.__code__
    addresses = [(id(code), 160), (id(code.co_name), 64), (id(code.co_filename), 64),
                 (id(getattr(code, "co_linetable", getattr(code, "co_lnotab", b""))), 64)]
    frame = sys._getframe()
    addresses.append((id(frame), 120))
    # Changes what the frame object and the code object point to: interpreter frames, names, tables.
    for base, size in list(addresses):
        for offset in range(16, size, 8):
            pointer = ctypes.c_uint64.from_address(base + offset).value
            if 0x10000 < pointer < 1 << 47 and not pointer & 7 and mapped(pointer):
                addresses.append((pointer, 96))
    values = [0, 1, 2**63, 2**64 - 1, 2**31, 0xdeadbeef, 4096, 2**47 - 8]
    def spoil():
        time.sleep(0.05)
        end = time.time() + 0.5
        while time.time() < end:
            base, size = random.choice(addresses)
            at = base + random.randrange(16, size, 8)
            if not mapped(at):
                continue
            kind = random.randrange(4)
            if kind == 0:
                new = random.getrandbits(64)
            elif kind == 1:
                new = random.choice(values)
            elif kind == 2:
                new = random.choice(addresses)[0]  # leads in a circle or to another type
            else:
                new = at & ~15
            ctypes.c_uint64.from_address(at).value = new
            time.sleep(0.001)
    threading.Thread(target=spoil, daemon=True).start()
    end = time.time() + 0.7
    while time.time() < end:
        deep(20)
maps = []
def mapped(address):
    if not maps:
        for line in open("/proc/self/maps"):
            span, rights = line.split()[:2]
            if "w" in rights:
                maps.append([int(x, 16) for x in span.split("-")])
    return any(low <= address < high - 8 for low, high in maps)
seed = int(sys.argv[1])
end = time.time() + float(sys.argv[2])
while time.time() < end:
    seed += 1
    pid = os.fork()
    if pid == 0:
        os.close(2)
        try:
            victim(seed)
        finally:
            os._exit(0)
    late = time.time() + 1
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.time() > late:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            break
        time.sleep(0.01)
"""
SECONDS = 60 if kit.FULL else 6


def spoiled(path, seconds):
    with folder() as d, python() as honest:
        # The hostile programs run longer than the recording, even if the recording is slow to
        # start.
        hostile = [Background(path, "-c", HOSTILE, seed, seconds + 60, cwd=kit.ROOT,
                              stderr=subprocess.DEVNULL) for seed in (1000, 2000)]
        try:
            out = d + "/o.pb.gz"
            args = [a for one in hostile + [honest] for a in ("-p", one.pid)]
            started = time.time()
            done = krait("record", "-d", seconds, "-F", 4999, "-o", out, *args,
                         timeout=seconds + 60)
            took = time.time() - started
            check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr))
            check(took < seconds + 20, "%.1f s for %d s" % (took, seconds))
            kit.sees(out, pids={honest.pid})
        finally:
            for one in hostile:
                one.stop(9)


@kit.case
def spoiled_structures():
    """The hostile program runs under one interpreter for each layout of frames: before 3.11, 3.11
    and later, the newest. krait neither hangs nor crashes, and the samples of an honest process
    in the same recording are right."""
    paths = [path for name, version, kind, path in kit.interpreters()
             if kind in ("static", "shared") and kit.is_plain(name)
             and (kit.FULL or version in ((3, 9), (3, 12), (3, 15)) or name == "python3-dist")]
    for path in paths:
        try:
            spoiled(path, max(3, SECONDS // 2))
        except AssertionError as error:
            raise AssertionError("%s: %s" % (path, error)) from None


CONTROLS = re.compile("[\0-\t\v-\x1f\x7f-\x9f]")


@kit.case
def spoiled_process():
    """A process whose name, mapped files and directory contain control characters and invalid
    UTF-8: no output of krait has an escape sequence, and all output is UTF-8."""
    source = r"""
import ctypes, glob, mmap, os, shutil, sys
libc = ctypes.CDLL(None)
libc.prctl(15, b"\x1b[31m\xff\n;%s", 0, 0, 0)
os.mkdir(sys.argv[1])
with open(sys.argv[1] + "/lib\n\x1b[32m.so", "w") as f:
    f.write("\x7fELF" + 8192 * "x")
with open(f.name, "rb") as f:
    mapped = mmap.mmap(f.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
lzma = (glob.glob("/usr/lib/*/liblzma.so.5") + glob.glob("/usr/lib*/liblzma.so.5"))[0]
copy = sys.argv[1] + "/liblzma\n\x1b[32m.so"
shutil.copy(lzma, copy)
crc32 = ctypes.CDLL(copy).lzma_crc32
nameless = sys.argv[1] + "/nameless\n\x1b[32m.so"  # without ELF sections nothing tells its symbols
shutil.copy(lzma, nameless)
with open(nameless, "r+b") as f:
    f.seek(0x28)
    f.write(bytes(8))
other = ctypes.CDLL(nameless).lzma_crc32
while True:
    for work in crc32, other:
        work(bytes(1 << 20), 1 << 20, 0)
"""
    with folder() as d, Background(kit.PYTHON, "-c", source, d + "/\x1b[33m\x9b") as target:
        for name in ("o.folded", "o.svg", "o.pb.gz"):
            done = krait("record", "-v", "-p", target.pid, "-d", 0.5, "-F", 499,
                         "-o", d + "/" + name, "--by", "thread")
            check(done.returncode == 0, done.stderr)
            check(not CONTROLS.search(done.stderr), "an escape sequence reached the terminal")
            check("/lib??[32m.so" in done.stderr, "krait doesn't mention the file")
        done = krait("top", "--with-native", "-p", target.pid, "-n", 1)
        check("(liblzma??[32m.so)" in done.stdout, "top doesn't show the library: " + done.stdout)
        check(not CONTROLS.search(done.stdout), "an escape sequence reached the terminal")
        for _ in range(40):
            done = krait("dump", "-p", target.pid)
            check(not CONTROLS.search(done.stdout), "an escape sequence reached the terminal")
            if "[nameless??[32m.so+0x" in done.stdout:
                break
        else:
            raise AssertionError("the library without names isn't in dump: " + done.stdout)
        for name in ("o.folded", "o.svg"):
            with open(d + "/" + name, "rb") as f:
                data = f.read()
            check(b"\x1b" not in data, "an escape sequence in " + name)
            data.decode("utf-8")


# A program with code that is in no file, and a perf map of 11 million lines, most of which name the
# same address.
PERF_MAP = r"""
import ctypes, mmap, os
code = mmap.mmap(-1, 4096, prot=7)
code.write(b"\xb9\x80\xf0\xfa\x02\xff\xc9\x75\xfc\xc3")  # mov ecx, 50000000; dec ecx; jnz; ret
path = "/tmp/perf-%d.map" % os.getpid()
with open(path, "w") as f:
    f.writelines("%x 1 a\n" % (0x10000 + 2 * i) for i in range((3 << 18) - 10))
    for i in range(10):
        f.write("1 1 a\n" * (1 << 20))
print("ready", flush=True)
call = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
while True:
    call()
"""


@kit.case
def endless_names():
    """A perf map that costs much to read doesn't spoil the samples of other programs."""
    if os.uname().machine != "x86_64":
        raise kit.Skip("the code is x86-64's")
    with folder() as d, python(PERF_MAP, stdout=subprocess.PIPE) as target, python() as honest:
        target.process.stdout.readline()
        before = os.times()
        try:
            done = krait("record", "-p", target.pid, "-p", honest.pid, "-d", 2, "-F", 499,
                         "-o", d + "/o.pb.gz")
        finally:
            os.unlink("/tmp/perf-%d.map" % target.pid)
        took = sum(os.times()[2:4]) - sum(before[2:4])
        check(done.returncode == 0, done.stderr)
        check(took < 8, "%.1f s of CPU" % took)
        kit.sees(d + "/o.pb.gz", pids={honest.pid})


# A program with 32 MiB of jumps that look like code of CPython's JIT compiler. The program changes
# this code every few milliseconds.
COMPILED = """
import ctypes, mmap
SIZE = 32 << 20
libc = ctypes.CDLL(None)
libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
shim = bytes.fromhex("4157415641554154534989fc4989f54989d6e80a0000005b415c415d415e415fc3")
place = mmap.mmap(-1, SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
address = ctypes.addressof(ctypes.c_char.from_buffer(place))
begins = range(0, SIZE, EVERY)
for at in begins:
    place[at:at + EVERY] = (shim + b"t\\0" * ((EVERY - len(shim)) // 2)).ljust(EVERY, b"\\xc3")
spin = bytes.fromhex("4889f9 48ffc9 75fb c3")  # mov %rdi, %rcx; 1: dec %rcx; jnz 1b; ret
place[SIZE - len(spin):] = spin
call = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(address + SIZE - len(spin))
print("ready", flush=True)
for i in range(1 << 40):
    libc.mprotect(address, SIZE, 3)
    for at in begins:
        place[at + 64:at + 66] = b"t\\0" if i & 1 else b"u\\0"
    libc.mprotect(address, SIZE, 5)
    call(3000000)
"""


@kit.case
def endless_code():
    """A program keeps making code that costs krait much CPU time to understand: krait's CPU time
    and memory stay bounded."""
    path = next((path for _, version, kind, path in kit.interpreters()
                 if version == (3, 14) and kind == "static"), None)
    if not path:
        raise kit.Skip("no Python 3.14")
    for every in 4096, 32 << 20:
        with folder() as d, python() as honest, Background(
                path, "-c", COMPILED.replace("EVERY", str(every)), stdout=subprocess.PIPE) as target:
            target.process.stdout.readline()
            command = [kit.KRAIT, "record", "-q", "--native=full", "-p", target.pid, "-p", honest.pid,
                       "-d", 2, "-F", 499, "-o", d + "/o.pb.gz"]
            _, status, used = os.wait4(subprocess.Popen([str(word) for word in command]).pid, 0)
            check(status == 0, "krait ended with %d" % status)
            took, most = used.ru_utime + used.ru_stime, used.ru_maxrss >> 10
            check(took < 4, "%.1f s of CPU" % took)
            check(most < 160, "%d MiB" % most)
            kit.sees(d + "/o.pb.gz", pids={honest.pid})


@kit.case
def endless_mappings():
    """A program has tens of thousands of mappings: krait still begins to sample in time."""
    source = """
import mmap
keep = []
for i in range(20000):
    keep.append(mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ if i & 1 else 3))
print("ready", flush=True)
""" + kit.BUSY
    with folder() as d, python(source, stdout=subprocess.PIPE) as target:
        target.process.stdout.readline()
        started = time.time()
        done = krait("record", "-p", target.pid, "-d", 1, "-F", 499, "-o", d + "/o.pb.gz")
        check(done.returncode == 0, done.stderr)
        check(time.time() - started < 10, "%.1f s" % (time.time() - started))
        kit.sees(d + "/o.pb.gz")


if __name__ == "__main__":
    sys.exit(kit.main())
