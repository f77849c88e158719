#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Other people may read a recording. So no output shows where in memory the kernel's code lies, or
where code lies that a process made at run time.

The truth is /proc/kallsyms, as root sees it, and the program itself, which says where it has put
its code."""
import bisect
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from judge import pprof
from kit import case, check, folder, krait

KERNEL = """
import time
end = time.time() + 0.5
with open("/dev/zero", "rb", 0) as f:
    while time.time() < end: f.read(1 << 20)
"""
# A program with two functions of machine code, at 0x140 and 0x240 of a mapping. Its perf map names
# only the first.
MADE = """
import ctypes, mmap, os, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
at = libc.mmap(None, 8192, 3, 0x22, -1, 0)
code = bytes.fromhex("48ffcf75fbc3")  # 1: dec %rdi; jnz 1b; ret
for offset in (0x140, 0x240):
    ctypes.memmove(at + offset, code, len(code))
libc.mprotect(ctypes.c_void_p(at), 8192, 5)
with open("/tmp/perf-%d.map" % os.getpid(), "w") as f:
    f.write("%x 6 made_here\\n" % (at + 0x140))
calls = [ctypes.CFUNCTYPE(None, ctypes.c_long)(at + o) for o in (0x140, 0x240)]
end = time.time() + 1.0
while time.time() < end:
    for call in calls: call(10000000)
print("%x %d" % (at, os.getpid()))
"""
OFFSETS = (0x140, 0x240)
OUTPUTS = ("html", "pb.gz", "folded", "jsonl", "speedscope.json", "svg")


def symbols():
    """Returns the start addresses of the kernel's own code, ascending, and the names that each
    address has."""
    at = {}
    with open("/proc/kallsyms") as f:
        for line in f:
            address, kind, name = line.split()[:3]
            if "[" not in line and kind in "tTwW":
                at.setdefault(int(address, 16), set()).add(name)
    if not any(at):
        raise kit.Skip("/proc/kallsyms hides addresses from root")
    stext = [a for a, names in at.items() if "_stext" in names][0]
    return sorted(at), at, stext


def locations(out):
    return [frame for frames in pprof.read(out).locations.values() for frame in frames]


def kernel_locations(out):
    found = [l for l in locations(out) if l.mapping.startswith("[kernel")]
    check(len(found) > 5, "only %d kernel frames" % len(found))
    return found


def prove(frames, base):
    """Checks each frame in [kernel] that has a name: kallsyms has this name at the frame's address
    plus @base."""
    starts, at, _ = symbols()
    proved = 0
    for l in frames:
        if l.mapping != "[kernel]" or l.name.startswith("[kernel"):
            continue
        start = starts[bisect.bisect_right(starts, base + l.address) - 1]
        check(l.name in at[start], "%s at 0x%x, where kallsyms has %s" % (
            l.name, l.address, ", ".join(at[start])))
        proved += 1
    check(proved > 5, "only %d names" % proved)


@case
def kernel_is_relative():
    """Addresses of kernel frames are relative to _stext, in every output."""
    with folder() as d:
        out = d + "/x.pb.gz"
        check(krait("record", "-q", "-o", out, "--", kit.PYTHON, "-c", KERNEL).returncode == 0, "record")
        frames = kernel_locations(out)
        high = [l for l in frames if l.address >> 32]
        check(not high, "raw addresses: %s" % [(l.name, hex(l.address)) for l in high[:5]])
        prove(frames, symbols()[2])
        for end in OUTPUTS:
            done = krait("report", out, "--native=full", "-o", "%s/y.%s" % (d, end))
            if done.returncode == 2:
                done = krait("report", out, "-o", "%s/y.%s" % (d, end))
            check(done.returncode == 0, done.stderr)
            if not end.endswith("gz"):
                with open("%s/y.%s" % (d, end), errors="replace") as f:
                    raw = re.findall(r"0xffff[0-9a-f]{12}", f.read())
                check(not raw, "%s has %s" % (end, raw[:3]))


@case
def kernel_as_it_is():
    """With --kernel-addresses krait writes absolute kernel addresses."""
    with folder() as d:
        out = d + "/x.pb.gz"
        done = krait("record", "-q", "--kernel-addresses", "-o", out, "--", kit.PYTHON, "-c", KERNEL)
        check(done.returncode == 0, done.stderr)
        frames = kernel_locations(out)
        check(all(l.address >> 47 for l in frames), "relative ones")
        prove(frames, 0)


@case
def only_for_who_may_know():
    """A user without the right to see kernel addresses gets none, although krait's executable has
    that right as a file capability."""
    with folder() as d:
        os.chmod(d, 0o777)
        own = shutil.copy(kit.KRAIT, d + "/krait")
        if subprocess.run([own, "doctor", "--grant"], capture_output=True).returncode:
            raise kit.Skip("no file capabilities here")
        os.chmod(own, 0o755)
        subprocess.run(["setcap", "cap_bpf,cap_perfmon,cap_syslog,cap_checkpoint_restore=ep", own],
                       check=True)

        def run(*args):
            return subprocess.run(
                ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", own, "record", "-q",
                 "-o", d + "/x.pb.gz", *args, "--", kit.PYTHON, "-c", KERNEL],
                capture_output=True, text=True, cwd=d)

        with open("/proc/sys/kernel/kptr_restrict", "r+") as f:
            before = f.read()
            f.write("1")
            f.flush()
            try:
                done = run("--kernel-addresses")
            finally:
                f.write(before)
        check(done.returncode == 3 and "kptr_restrict" in done.stderr,
              "%d: %s" % (done.returncode, done.stderr))
        check(not os.path.exists(d + "/x.pb.gz"), "krait wrote something")
        done = run()
        check(done.returncode == 0, done.stderr)
        frames = kernel_locations(d + "/x.pb.gz")
        check(not any(l.address >> 32 for l in frames), "raw addresses")
        prove(frames, symbols()[2])


@case
def code_made_at_run_time():
    """Addresses of functions made at run time are relative to their mapping, whether they have a
    name or not."""
    if os.uname().machine != "x86_64":
        raise kit.Skip("the program's code is x86-64's")
    with folder() as d:
        out = d + "/x.pb.gz"
        done = krait("record", "-q", "--native=full", "-o", out, "--", kit.PYTHON, "-c", MADE)
        check(done.returncode == 0, done.stderr)
        where, pid = int(done.stdout.split()[0], 16), done.stdout.split()[1]
        os.unlink("/tmp/perf-%s.map" % pid)
        made = [l for l in locations(out)
                if l.name in ("made_here", "[unknown code]")]
        check({l.name for l in made} == {"made_here", "[unknown code]"},
              "found %s" % [(l.name, hex(l.address)) for l in made])
        for l in made:
            check(l.address < 1 << 20, "%s at 0x%x; its mapping is at 0x%x" % (l.name, l.address, where))
        for name, offset in zip(("made_here", "[unknown code]"), OFFSETS):
            check(any(l.name == name and 0 <= l.address - offset < 6 for l in made),
                  "%s isn't at 0x%x" % (name, offset))


if __name__ == "__main__":
    sys.exit(kit.main())
