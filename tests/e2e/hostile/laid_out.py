#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that lay out files and memory so that reading them takes long.

Each attack runs beside an honest program, whose stacks are known from its source and must stay
whole. The attacking program may cost krait only little CPU time. krait says once what it didn't
read of this program."""
import json
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import Background, check, folder, honest_is_whole, python
from judge import pprof


def record(d, attack, honest, seconds=1, *more):
    """Records the attacking and the honest program. Returns (krait's CPU seconds, its summary, its
    messages)."""
    command = [kit.KRAIT, "record", "-v", "-p", attack.pid, "-p", honest.pid, "-d", seconds, "-F", 499,
               "--summary-json", d + "/s.json", "-o", d + "/o.pb.gz", *more]
    with open(d + "/said", "w+") as said:
        _, status, used = os.wait4(subprocess.Popen([str(w) for w in command], stderr=said).pid, 0)
        said.seek(0)
        text = said.read()
    check(status == 0, "krait ended with %d: %s" % (status, text))
    with open(d + "/s.json") as f:
        return used.ru_utime + used.ru_stime, json.load(f), text


def beside(d, source, *args, seconds=1, most=2.0, says=None, lines=1):
    """Records an attacking program beside an honest one. The attacking program prints @lines lines
    when it is ready. krait must take less than @most CPU seconds, print the message @says, and
    have whole stacks of the honest program. The lines name the perf maps of the attacking
    program, which are removed at the end. Returns the attacking program's pid."""
    with python() as honest, Background(kit.PYTHON, "-c", source, *args, stdout=subprocess.PIPE) as attack:
        printed = [attack.process.stdout.readline().decode().strip() for _ in range(lines)]
        try:
            check(all(printed), "the attack says %s" % printed)
            took, _, said = record(d, attack, honest, seconds)
            if os.environ.get("VERBOSE"):
                print("%.2f s of CPU\n%s" % (took, said))
            check(took < most, "%.1f s of CPU" % took)
            check(not says or says in said, "krait doesn't say what it left out: " + said)
            honest_is_whole(d + "/o.pb.gz", honest.pid)
        finally:
            for path in printed:
                if path.startswith("/tmp/perf-"):
                    os.unlink(path)
        return attack.pid


def need_x86():
    if os.uname().machine != "x86_64":
        raise kit.Skip("the code is x86-64's")


# A library of one page of code whose table of exported symbols is a hole of SIZE bytes in the file.
DYNSYM = r"""
import mmap, struct, sys
SIZE = (500 << 20) // 24 * 24
NAMES = b"\0.dynsym\0.dynstr\0"
def section(name, kind, flags, offset, size, link, info, entry):
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, offset, size, link, info, 8, entry)
def make(path):
    with open(path, "wb") as f:
        f.truncate(0x3000 + SIZE)
        f.write(b"\x7fELF\2\1\1" + bytes(9))
        f.write(struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0x1100, 0, 64, 56, 1, 64, 3, 2))
        f.write(struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 4096, 4096, 4096))
        f.seek(0x1100)
        f.write(bytes(64) + section(1, 11, 2, 0x3000, SIZE, 2, 1, 24) +
                section(9, 3, 2, 0x2000, len(NAMES), 0, 0, 0))
        f.seek(0x2000)
        f.write(NAMES)
keep = []
for i in range(4):
    path = "%s/lib%d.so" % (sys.argv[1], i)
    make(path)
    with open(path, "rb") as f:
        keep.append(mmap.mmap(f.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
print("ready", flush=True)
""" + kit.BUSY


@kit.case
def endless_symbols():
    """Libraries whose tables of exported symbols are holes of 500 MiB in the files: krait begins to
    sample in time, and says what it left out."""
    with folder() as d:
        pid = beside(d, DYNSYM, d, most=3, says="too large to be read to the end")
        honest_is_whole(d + "/o.pb.gz", pid)


# Several processes run code that is in no file. Each has a perf map that consists of a hole of 1
# TiB and one line after it.
SPARSE = r"""
import ctypes, mmap, os, sys
code = mmap.mmap(-1, 4096, prot=7)
code.write(b"\xb9\x80\xf0\xfa\x02\xff\xc9\x75\xfc\xc3")  # mov ecx, 50000000; dec ecx; jnz; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
for i in range(5):
    if os.fork() == 0:
        break
path = "/tmp/perf-%d.map" % os.getpid()
with open(path, "w") as f:
    f.truncate(1 << 40)
    f.seek(1 << 40)
    f.write("\n%x a found\n" % address)
os.write(1, (path + "\n").encode())
call = ctypes.CFUNCTYPE(None)(address)
while True:
    call()
"""


@kit.case
def sparse_maps():
    """A program's perf map begins with a hole of 1 TiB. krait reads the line after the hole. The
    stacks of another program in the recording are whole."""
    need_x86()
    with folder() as d:
        beside(d, SPARSE, seconds=2, lines=6)
        profile = pprof.read(d + "/o.pb.gz")
        found = sum(s.values[0] for s in profile.samples if any(l.name == "found" for l in profile.stack(s)))
        check(found > 20, "%d samples have the name behind the hole" % found)


# Programs with perf maps that have more lines than krait can read during the recording. The
# programs append more lines all the time.
GROWING = r"""
import ctypes, mmap, os
code = mmap.mmap(-1, 4096, prot=7)
code.write(b"\xb9\x80\xf0\xfa\x02\xff\xc9\x75\xfc\xc3")
for i in range(3):
    if os.fork() == 0:
        break
path = "/tmp/perf-%d.map" % os.getpid()
with open(path, "w") as f:
    for k in range(10):
        f.writelines("%x 1 a\n" % (0x10000 + 2 * i) for i in range(1 << 17))
    os.write(1, (path + "\n").encode())
    call = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    while True:
        call()
        f.write("10 1 b\n")
        f.flush()
"""


@kit.full_case
def growing_maps():
    """Perf maps have a million lines, and more lines are added all the time: krait leaves out what
    it can't read in the time that it allows for this, and says so."""
    need_x86()
    with folder() as d:
        beside(d, GROWING, seconds=2, most=4, says="weren't read to the end", lines=4)


# A program that registers code for gdb. argv[2] is "names" (one file of 400,000 symbols at one
# address, whose names overlap in 16 MB of underscores) or "many" (8,000 files, each with a page of
# code).
LISTS = r"""
import ctypes, mmap, struct, sys
library = ctypes.CDLL(sys.argv[1])
code = mmap.mmap(-1, 8004 * 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
code.write(b"\xb9\x80\x96\x98\x00\xff\xc9\x75\xfc\xc3")  # mov ecx, 10000000; dec ecx; jnz; ret
for page in range(1, 8004):
    code[page * 4096:page * 4096 + 4096] = b"\x74\0" * 2048
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
libc = ctypes.CDLL(None)
libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
def section(kind, flags, at, offset, size, link, entry):
    return struct.pack("<IIQQQQIIQQ", 0, kind, flags, at, offset, size, link, 0, 8, entry)
def elf(at, symbols, names):
    head = 64 + 4 * 64
    text = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, 4, 0)
    return (text + bytes(64) + section(1, 6, at, 0, 4096, 0, 0) +
            section(2, 0, 0, head, len(symbols), 3, 24) +
            section(3, 0, 0, head + len(symbols), len(names), 0, 0) + symbols + names)
def symbol(name, value, size):
    return struct.pack("<IBBHQQ", name, 2, 0, 1, value, size)
many = b"".join(symbol(40 * i, 0, 16) for i in range(400000))
files = [elf(address, many, b"_" * (16 << 20) + b"\0")]
files += [elf(address + 4096 * i, symbol(1, 0, 4096), b"\0f\0") for i in range(1, 8001)]
buffers = [ctypes.create_string_buffer(f, len(f)) for f in files]
entries = (ctypes.c_uint64 * (4 * len(files)))()
base = ctypes.addressof(entries)
order = list(range(1, len(files))) + [0] if sys.argv[2] == "many" else list(range(len(files)))
for k, i in enumerate(order):
    entries[4 * k:4 * k + 4] = [base + 32 * (k + 1) if k + 1 < len(files) else 0,
                                base + 32 * (k - 1) if k else 0,
                                ctypes.addressof(buffers[i]), len(files[i])]
descriptor = ctypes.c_uint64.in_dll(library, "__jit_debug_descriptor")
ctypes.c_uint64.from_address(ctypes.addressof(descriptor) + 16).value = base
libc.mprotect(address, len(code), 5)
print("ready", flush=True)
call = ctypes.CFUNCTYPE(None)(address)
turn = 0
while True:
    call()
    turn += 1
    entries[4 * len(files) - 4] = 0
    ctypes.c_uint32.from_address(ctypes.addressof(descriptor) + 4).value = turn & 1  # not the same
"""


@kit.full_case
def endless_lists():
    """Lists of code that is registered for gdb change all the time, with long names or with many
    files: krait leaves out a part of the lists and says so."""
    kit.need("cc")
    need_x86()
    with folder() as d:
        library = d + "/lists.so"
        subprocess.check_call(["cc", "-shared", "-fPIC", "-o", library,
                               os.path.join(kit.HERE, "native", "jit_lists.c")])
        for which in "names", "many":
            beside(d, LISTS, library, which, seconds=2, most=2.5, says="too long to be read whole")


# A program that registers code for gdb as LLVM does: code_a(), which runs, then argv[2] other
# functions. If argv[3] isn't 0, one more function is registered and unregistered every argv[3]
# microseconds.
REGISTERED = r"""
import ctypes, sys, threading, time
folder, n, us = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
lists = ctypes.CDLL(folder + "/lists.so")
lists.load_many.argtypes = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint
lists.come_and_go.argtypes = lists.load_many.argtypes
PLACE = 0x7e0000000000
lists.load_many(folder.encode() + b"/a.o", PLACE, 1)
lists.load_many(folder.encode() + b"/b.o", PLACE + (1 << 20), n)
if us:
    threading.Thread(target=lists.come_and_go, args=(folder.encode() + b"/b.o", PLACE + (1 << 30), us), daemon=True).start()
code = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(PLACE)
def calls():
    while True: code(200000)
print("ready", flush=True)
calls()
"""
FUNCTION = "long %s(long n) { volatile long sum = 0; for (volatile long i = 0; i < n; i++) sum += i; return sum; }"


def build_registered(d):
    kit.need("cc")
    subprocess.check_call(["cc", "-shared", "-fPIC", "-o", d + "/lists.so", os.path.join(kit.HERE, "native", "jit_lists.c")])
    for x in "ab":
        subprocess.run(["cc", "-O1", "-c", "-o", "%s/%s.o" % (d, x), "-x", "c", "-"], check=True,
                       input=(FUNCTION % ("code_" + x)).encode())


def registered(n, us, **kw):
    """Records the program REGISTERED beside an honest program. Returns the share of REGISTERED's
    samples in code_a() that have the function's name."""
    with folder() as d:
        build_registered(d)
        pid = beside(d, REGISTERED, d, n, us, **kw)
        profile, named, total = pprof.read(d + "/o.pb.gz"), 0, 0
        for sample in profile.samples:
            names = [l.name for l in profile.stack(sample)]
            if int(sample.labels.get("pid", 0)) != pid or "calls" not in names:
                continue
            check("code_b" not in names, "what doesn't run is shown")
            total += sample.values[0]
            named += sample.values[0] * ("code_a" in names)
        check(total > 100, "only %d samples" % total)
        print("# %d functions, one more each %d us: %.1f %% of %d samples are named" % (n, us, 100 * named / total, total))
        return named / total


@kit.full_case
def long_list():
    """In a list of 4,000 small functions the oldest function has its name (on a busy machine only
    after some seconds). A list of 16,000 functions, one of which comes and goes, costs krait
    little CPU time."""
    check(any(registered(4000, 0, seconds=s, most=3 + s / 6) > 0.5 for s in (3, 6, 12)), "the code has no name")
    registered(16000, 10000, seconds=3, most=4)


@kit.case
def changing_list():
    """A list of 1,000 functions changes every 1 to 100 ms: the functions that stay have their
    names."""
    named = [registered(1000, us, seconds=3) for us in (1000, 10000, 100000)]
    check(min(named) > 0.2, "the code has no name: %s" % named)


# A program that has as many mappings as a process may have. Neighbouring mappings have different
# rights, so that the kernel doesn't join them. One mapping is made executable and not executable in
# turn, all the time.
MAPPINGS = r"""
import ctypes, mmap, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
most = int(open("/proc/sys/vm/max_map_count").read())
n = min(most, 65530) - sum(1 for _ in open("/proc/self/maps")) - 60
at = libc.mmap(None, 4096 * n, 5, 0x22, -1, 0)
for i in range(0, n, 2):
    if libc.mprotect(at + 4096 * i, 4096, 7):
        break
def change():
    while True:
        libc.mprotect(at + 4096, 4096, 3)
        libc.mprotect(at + 4096, 4096, 5)
        time.sleep(0.001)
threading.Thread(target=change, daemon=True).start()
print("ready", flush=True)
""" + kit.BUSY


@kit.full_case
def many_mappings():
    """A program has 65,530 executable mappings, and changes one of them all the time: krait's CPU
    time is bounded, and the stacks of the honest program are whole."""
    with folder() as d:
        beside(d, MAPPINGS, seconds=6, most=2.2)


# A program that keeps starting processes, which live only for a moment and have command lines of 2
# MB.
ARGUMENTS = r"""
import os, subprocess, sys
words = ["x" * 130000] * 15
print("ready", flush=True)
while True:
    running = [subprocess.Popen([sys.executable, "-S", "-c", "sum(range(3000000))"] + words) for _ in range(2)]
    for one in running:
        one.wait()
"""


@kit.case
def long_command_lines():
    """Processes with command lines of 2 MB come and go: krait's CPU time is bounded, and the stacks
    of the honest program are whole."""
    with folder() as d:
        beside(d, ARGUMENTS, seconds=2, most=1.5)


# A program whose threads have long names in Python. Some threads work in turn; others begin and end
# all the time.
THREADS = r"""
import sys, threading, time
threading.stack_size(65536)
hold = threading.Event()
for i in range(int(sys.argv[1])):
    threading.Thread(target=hold.wait, name="n" * 5000 + str(i), daemon=True).start()
def work():
    end = time.monotonic() + 0.01
    while time.monotonic() < end: pass
def begin():
    while True:
        one = threading.Thread(target=work, name="m" * 5000, daemon=True)
        one.start()
        one.join()
print("ready", flush=True)
begin()
"""


@kit.full_case
def many_threads():
    """A program has 5,000 threads with names of 5,000 letters, and starts new threads all the time:
    krait's CPU time is bounded, and the stacks of the honest program are whole."""
    with folder() as d:
        beside(d, THREADS, 5000, seconds=6, most=2.4)


if __name__ == "__main__":
    sys.exit(kit.main())
