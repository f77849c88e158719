#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that make new code all the time: krait record doesn't use more memory than it may, and
writes what it recorded. Each program itself says which functions it made, and how long each took
by the program's own clock."""
import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import Background, PYTHON, check, folder, krait

HZ = 20000
# In each round the program calls a new function, with a long name and a file of its own, and then
# steady(), which stays the same. The time that steady() takes varies from round to round. If each
# round took some 50 us, which is the time between two samples, the samples would fall on the same
# places in all rounds, and shares would be off by 0.07.
CHURN = r"""
import json, sys, time
def template(n):
    total = 0
    for i in range(n):
        total += i & 3
    return total
def steady(n):
    total = 0
    for i in range(n):
        total += i & 3
    return total
def main(seconds):
    made, in_steady, make = 0, 0, type(template)
    while time.thread_time() < seconds:
        made += 1
        name = "made_%d_" % made + "and_again" * 12
        names = {"co_qualname": name} if sys.version_info >= (3, 11) else {}
        code = template.__code__.replace(
            co_name=name, co_filename="<template %d>" % made + "/a_file" * 12, **names)
        make(code, {"range": range})(400)
        before = time.thread_time()
        begin = time.thread_time()
        steady(made * 7919 % 2000)
        in_steady += time.thread_time() - begin - (begin - before)  # without the clock's own time
    print(json.dumps({"made": made, "steady": in_steady, "all": time.thread_time()}))
main(float(sys.argv[1]))
"""


def record(d, *args, seconds=1.5):
    """Records the program CHURN. Returns (closing lines, summary, what CHURN said, profile)."""
    done = krait("record", "-F", HZ, "-o", d + "/o.pb.gz", "--summary-json", d + "/o.json", *args,
                 "--", PYTHON, "-c", CHURN, seconds, timeout=120)
    check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr))
    with open(d + "/o.json") as f:
        return done.stderr, json.load(f), json.loads(done.stdout), kit.pprof.read(d + "/o.pb.gz")


def check_names(frames):
    """Checks pairs of (name, file): each function has the file with which the program made it."""
    made = [f for f in frames if f[0].startswith("made_")]
    wrong = [f for f in made if not f[1].startswith("<template %s>/" % f[0].split("_")[1])]
    check(made and not wrong,
          "%d of %d functions have another one's file: %s" % (len(wrong), len(made), wrong[:3]))


def count(profile, name=None):
    return sum(s.values[0] for s in profile.samples
               if not name or any(l.name == name for l in profile.stack(s)))


def check_read(path, samples):
    done = krait("report", path)
    check(done.returncode == 0 and "{:,} samples".format(samples) in done.stdout,
          "%d samples: report says %s %s" % (samples, done.stdout[:200], done.stderr))


SLOW = kit.BUSY.replace("busy(100000)", "busy(20000); time.sleep(0.05)").replace("def busy", "import time\ndef busy", 1)


@kit.case
def rare_code_is_summed_up():
    """A program calls many functions only once: no sample is lost, no name is wrong, frequent
    functions keep their shares, and krait's memory stays within its bound."""
    with folder() as d:
        least = record(d, seconds=0.1)[1]["krait_rss_bytes"]
        said, summary, program, profile = record(d, "--memory", "8M", seconds=4)
        check(summary["condensed"] >= 1 and "[rare code]" in said, "krait didn't sum up rare code: " + said)
        samples = count(profile)
        check(samples == summary["samples"],
              "%d samples in the file, %d taken" % (samples, summary["samples"]))
        # If the host takes the CPU away from this machine, the kernel's timer loses some samples.
        # So half of the samples are enough.
        due = program["all"] * HZ
        check(samples + summary["lost_records"] > 0.5 * due, "%d samples of %d" % (samples, due))
        check_names({(l.name, l.file) for s in profile.samples for l in profile.stack(s)})
        check(count(profile, "[rare code]") > 0.01 * samples, "nothing is [rare code]")
        truth, found = program["steady"] / program["all"], count(profile, "steady") / samples
        check(abs(truth - found) < 0.03, "steady has %.3f, not %.3f" % (found, truth))
        check_read(d + "/o.pb.gz", samples)
        # 24 MiB are the 8 MiB of --memory, what malloc() adds by rounding up, and tables of fixed
        # size that aren't full in a short recording.
        grown = summary["krait_rss_bytes"] - least
        check(grown < 24 << 20, "%.1f MiB more than a short recording" % (grown / 1048576))


# A program with a chain of 200 functions, which share one line table of 4 MiB. In each round all of
# these functions are new.
LARGE = r"""
import sys, time, types
names = {"time": time}
exec("def f(all, i):\n if i < len(all): return all[i](all, i + 1)\n end = time.thread_time() + .0005\n"
     " while time.thread_time() < end: pass\n", names)
code = names["f"].__code__
field = "co_linetable" if sys.version_info >= (3, 10) else "co_lnotab"
table = {field: getattr(code, field) * (4 << 20 >> 5)}
print("ready", flush=True)
while True:
    all = [types.FunctionType(code.replace(**table), names) for _ in range(200)]
    all[0](all, 1)
"""


@kit.case
def large_code_without_end():
    """A program makes new code as fast as krait can read it. The recording ends in time, and
    krait's memory stays within its bound."""
    with folder() as d, Background(PYTHON, "-c", LARGE) as target:
        kit.runs(target.pid, 0.3)
        begin = time.monotonic()
        done = krait("record", "-F", 999, "-p", target.pid, "-d", 2, "-o", d + "/o.folded", "--memory", "64M",
                     "--summary-json", d + "/o.json", timeout=120)
        took = time.monotonic() - begin
        check(done.returncode == 0, done.stderr)
        with open(d + "/o.json") as f:
            summary = json.load(f)
        check(summary["samples"] > 100, "only %d samples" % summary["samples"])
        check(summary["krait_rss_bytes"] < 256 << 20, "%d MiB" % (summary["krait_rss_bytes"] >> 20))
        check(took < 8, "2 s took %.1f" % took)


@kit.case
def refused_memory():
    """If the system refuses krait memory, krait writes what it recorded until that moment, also as
    a page."""
    with folder() as d, Background(PYTHON, "-c", CHURN, 100) as target:
        args = ("record", "-F", HZ, "-p", target.pid, "-o", d + "/o.html", "--summary-json",
                d + "/o.json", "--memory", "4G")
        with Background(kit.KRAIT, *args, "-d", "60") as first:
            kit.wait_for(lambda: kit.attached(first.pid), 30)
            kit.runs(target.pid, 0.3)
            with open("/proc/%d/status" % first.pid) as f:
                size = int(f.read().split("VmSize:")[1].split()[0]) << 10
        size += 16 << 20
        done = krait(*args, timeout=100, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_AS, (size, size)))
        check(done.returncode == 1 and "krait shows what it had recorded before that" in done.stderr,
              "exit code %d: %s" % (done.returncode, done.stderr))
        with open(d + "/o.json") as f:
            samples = json.load(f)["samples"]
        check(samples > HZ / 20, "only %d samples" % samples)
        lines = krait("report", d + "/o.html", "--format", "folded", "-o", "-").stdout.splitlines()
        written = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
        check(written == samples, "%d of %d samples" % (written, samples))
        check_names(re.findall(r"(made_\d+_)\w* \(([^:]*):", "".join(lines)))


# A program that maps libraries of 1.5 MB. Each has 62,000 symbols, whose names are all parts of one
# text of 3 KB.
LIBRARIES = r"""
import ctypes, mmap, struct, sys
COUNT, SYMBOLS = int(sys.argv[2]), 62000
NAMES = b"\0" + b"n" * 3000 + b"\0"
STRINGS = b"\0.symtab\0.strtab\0.text\0"
CODE = b"\xb9\x80\x96\x18\x00\xff\xc9\x75\xfc\xc3"  # mov ecx, 1611392; dec ecx; jnz; ret
def section(name, kind, flags, at, offset, size, link, info, entry):
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, at, offset, size, link, info, 8, entry)
def make(path):
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", 1 + i % 1000, 0x12, 0, 4, 0x1010 + i, 1)
                                   for i in range(SYMBOLS)) + struct.pack("<IBBHQQ", 1, 0x12, 0, 4, 0x1000, len(CODE))
    at = 0x1000 + (16 << 12)
    names_at, strings_at = at + len(symbols), at + len(symbols) + len(NAMES)
    heads_at = (strings_at + len(STRINGS) + 7) & ~7
    with open(path, "wb") as f:
        f.write(b"\x7fELF\2\1\1" + bytes(9))
        f.write(struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, heads_at, 0, 64, 56, 1, 64, 5, 3))
        f.write(struct.pack("<IIQQQQQQ", 1, 5, 0x1000, 0x1000, 0x1000, 16 << 12, 16 << 12, 4096))
        f.seek(0x1000)
        f.write(CODE)
        f.seek(at)
        f.write(symbols + NAMES + STRINGS)
        f.seek(heads_at)
        f.write(bytes(64) + section(1, 2, 0, 0, at, len(symbols), 2, 1, 24) + section(9, 3, 0, 0, names_at, len(NAMES), 0, 0, 0) +
                section(9, 3, 0, 0, strings_at, len(STRINGS), 0, 0, 0) + section(17, 1, 6, 0x1000, 0x1000, 16 << 12, 0, 0, 0))
libc = ctypes.CDLL(None)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
calls = []
for i in range(COUNT):
    path = "%s/lib%d.so" % (sys.argv[1], i)
    make(path)
    with open(path, "rb") as f:
        calls.append(ctypes.CFUNCTYPE(None)(libc.mmap(None, 16 << 12, 5, 2, f.fileno(), 4096)))
print("ready", flush=True)
def busy():
    while True:
        for call in calls:
            call()
busy()
"""


@kit.case
def symbols_of_libraries():
    """A program maps libraries of 15 MB; the names of their symbols would take a hundred times as
    much memory. krait's memory stays bounded, and another program's functions are named."""
    if os.uname().machine != "x86_64":
        raise kit.Skip("the code is x86-64's")
    with folder() as d, kit.python() as honest, \
            Background(PYTHON, "-c", LIBRARIES, d, 10, stdout=subprocess.PIPE) as target:
        target.process.stdout.readline()
        size = sum(os.path.getsize(d + "/" + name) for name in os.listdir(d))
        check(14 << 20 < size < 17 << 20, "%d bytes of libraries" % size)
        done = krait("record", "-v", "-F", 499, "-p", target.pid, "-p", honest.pid, "-d", 2, "-o", d + "/o.pb.gz", "--memory", "64M",
                     "--summary-json", d + "/o.json", timeout=60)
        check(done.returncode == 0, done.stderr)
        with open(d + "/o.json") as f:
            summary = json.load(f)
        check(summary["krait_rss_bytes"] < 128 << 20, "%d MiB" % (summary["krait_rss_bytes"] >> 20))
        check("or too large for --memory, " in done.stderr, "krait doesn't say what it left out: " + done.stderr)
        kit.sees(d + "/o.pb.gz", pids={honest.pid}, least=0.99)
        kit.sees(d + "/o.pb.gz", pids={target.pid}, least=0.9)


def group(mib):
    """Makes a new memory control group, of version 1 or 2, with a limit of @mib MiB. Returns its
    path."""
    for tree, name in ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max"):
        path = "%s/krait-test-%d" % (tree, os.getpid())
        try:
            os.mkdir(path)
        except OSError:
            continue
        try:
            with open(path + "/" + name, "w") as f:
                f.write(str(mib << 20))
            return path
        except OSError:
            os.rmdir(path)
    raise kit.Skip("no control groups of memory can be made")


def in_group(mib, *args):
    """Calls krait() in a control group that may use @mib MiB of memory."""
    path = group(mib)

    def enter():
        with open(path + "/cgroup.procs", "w") as f:
            f.write("0")
    try:
        return krait(*args, preexec_fn=enter)
    finally:
        for _ in range(100):
            try:
                os.rmdir(path)
                break
            except OSError:
                time.sleep(0.05)


@kit.case
def small_groups():
    """With 64 MiB in its control group krait can record twenty processes; in a smaller group krait
    says how much it needs."""
    with folder() as d, contextlib.ExitStack() as all_of_them:
        pids = [all_of_them.enter_context(kit.python(SLOW)).pid for _ in range(20)]
        args = [a for pid in pids for a in ("-p", pid)]
        done = in_group(64, "record", "-F", 199, "-d", 1, "-o", d + "/o.pb.gz", *args)
        check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr))
        kit.sees(d + "/o.pb.gz")
        done = in_group(24, "record", "-d", 1, "-o", d + "/o.pb.gz", *args)
        check(done.returncode == 3 and "krait needs at least " in done.stderr,
              "exit code %d: %s" % (done.returncode, done.stderr))


if __name__ == "__main__":
    sys.exit(kit.main())
