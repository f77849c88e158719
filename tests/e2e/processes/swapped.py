#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs whose memory was paged out: krait's user space reads what its kernel program couldn't
read."""
import contextlib
import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import Background, Skip, check, folder, krait, python

PROCESS_MADVISE = 440  # number of the system call process_madvise, on every architecture
MADV_PAGEOUT = 21
# how many mappings one call takes: UIO_MAXIOV is 1024, and this test passes half of it
AT_ONCE = 512

# A server whose functions main() and serve_forever() don't run again while handle() works, so that
# nothing brings their code objects back into memory.
SERVER = """
import json
def handle(k):
    return json.dumps({'k': [i*i for i in range(400)]})
def serve_forever():
    while True:
        handle(1)
def main():
    serve_forever()
main()
"""


@contextlib.contextmanager
def swap(directory, mib=256):
    """Adds swap space, a file in @directory, until the with block ends."""
    path = os.path.join(directory, "swap")
    with open(path, "wb") as f:
        os.chmod(path, 0o600)
        os.posix_fallocate(f.fileno(), 0, mib << 20)
    for command in ["mkswap", path], ["swapon", path]:
        try:
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
                                  check=False)
        except FileNotFoundError:
            raise Skip("no %s" % command[0]) from None
        if done.returncode:
            raise Skip("%s isn't possible here: %s" % (command[0], done.stderr.strip()))
    try:
        yield
    finally:
        subprocess.run(["swapoff", path], check=True)


def mappings(pid, wanted):
    with open("/proc/%d/maps" % pid) as f:
        for line in f:
            span, prot, *_ = fields = line.split()
            if wanted(prot, fields[-1]):
                start, end = (int(part, 16) for part in span.split("-"))
                yield start, end - start


def page_out(pid, wanted=lambda prot, name: prot.startswith("rw") and name != "[vvar]"):
    """Pages out the mappings of a process for which @wanted is true."""
    libc = ctypes.CDLL(None, use_errno=True)
    spans = list(mappings(pid, wanted))
    pidfd = os.pidfd_open(pid)
    try:
        for i in range(0, len(spans), AT_ONCE):
            part = b"".join(struct.pack("PN", *span) for span in spans[i:i + AT_ONCE])
            if libc.syscall(PROCESS_MADVISE, pidfd, part, ctypes.c_size_t(len(part) // 16), MADV_PAGEOUT, 0) < 0:
                raise Skip("process_madvise: " + os.strerror(ctypes.get_errno()))
    finally:
        os.close(pidfd)


def swapped_kb(pid):
    with open("/proc/%d/status" % pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmSwap"))


def counts(out, names, pid=None, since_s=0.0):
    """Returns (the number of samples later than @since_s seconds after the recording's start, how
    many of these samples have all functions in @names)."""
    profile, total, whole = kit.pprof.read(out), 0, 0
    for sample in profile.samples:
        if pid and int(sample.labels.get("pid", 0)) != pid:
            continue
        if since_s and sample.labels["time"] < since_s * 1e9:
            continue
        seen = {l.name for l in profile.stack(sample) if l.kind == "python" and l.line > 0}
        total += sample.values[0]
        whole += sample.values[0] if set(names) <= seen else 0
    return total, whole


# Versions of Python that differ in how they keep frames and code objects.
FEW = (2, 7), (3, 8), (3, 11), (3, 12), (3, 15)


def versions():
    """Yields (name, version, path) of one interpreter of each version; in the fast tier only of the
    versions in FEW."""
    seen = set()
    for name, version, kind, path in kit.interpreters():
        if not kit.FULL and version not in FEW:
            continue
        if kind in ("static", "shared") and kit.is_plain(name) and version not in seen:
            seen.add(version)
            yield name, version, path


# On an idle machine one to ten samples miss functions, because each of krait's reads takes the time
# of one or two samples. On a busy machine krait reads later. So only the second half of a recording
# counts.
SECONDS = 1.6


def paged_out(path, d):
    """Pages a program out, waits a while, and records it."""
    with python(SERVER, path, cwd=kit.ROOT) as target:
        kit.runs(target.pid, 0.3)
        page_out(target.pid)
        time.sleep(0.5)
        check(swapped_kb(target.pid) > 500, "only %d KiB were paged out" % swapped_kb(target.pid))
        done = krait("record", "-p", target.pid, "-d", SECONDS, "-o", d + "/o.pb.gz", "--times", "-v")
        check(done.returncode == 0, done.stderr)
        late, whole = counts(d + "/o.pb.gz", ("main", "serve_forever"), since_s=SECONDS / 2)
        return late, whole, done.stderr


@kit.case
def paged_out_programs():
    """With every version of Python, main() and serve_forever() of a program that was paged out are
    in all samples except the first few."""
    wrong = []
    with folder() as d, swap(d):
        for name, _, path in versions():
            total, whole, said = paged_out(path, d)
            print("#", name, total, whole)
            if not total or total - whole > total / 100:
                wrong.append("%s: %d of %d: %s" % (name, whole, total, said))
    check(not wrong, "; ".join(wrong))


@kit.case
def reasons_are_true():
    """The memory of the first samples' frames is paged out. krait doesn't say of these samples that
    one frame replaced another during the walk."""
    with folder() as d, swap(d):
        for name, version, path in versions():
            if version in ((3, 11), (3, 12)):
                said = paged_out(path, d)[2]
                check("frame replaced another" not in said, "%s: %s" % (name, said))


@kit.case
def paged_out_files():
    """No other process has mapped this interpreter, so its own code and data are paged out too. In
    the second half of the recording, the samples have the program's functions."""
    with folder() as d, swap(d):
        for executable, library, prefix in kit.shared():
            copy = os.path.join(d, os.path.basename(library))
            shutil.copy(library, copy)
            env = dict(os.environ, LD_LIBRARY_PATH=d, PYTHONHOME=prefix)
            with python(SERVER, executable, env=env) as target:
                kit.runs(target.pid, 0.3)
                page_out(target.pid, lambda prot, name: name[0] != "[" or prot.startswith("rw"))
                out = d + "/o.pb.gz"
                done = krait("record", "-p", target.pid, "-d", SECONDS, "--times", "-o", out)
            total, whole = counts(out, ("main", "serve_forever"), since_s=SECONDS / 2)
            check(done.returncode == 0 and whole >= 0.99 * total > 0, "%s: %d of %d: %s" % (
                library, whole, total, done.stderr))
            return
    raise Skip("no interpreter with a library that can be copied")


# A program that pages its own memory out all the time.
RESTLESS = """
import ctypes
libc = ctypes.CDLL(None)
spans = []
for line in open("/proc/self/maps"):
    span, prot = line.split()[:2]
    if prot.startswith("rw") and not line.rstrip().endswith("]"):
        start, end = (int(part, 16) for part in span.split("-"))
        spans.append((ctypes.c_void_p(start), ctypes.c_size_t(end - start)))
def leaf():
    for span in spans: libc.madvise(*span, 21)
def inner(n):
    return inner(n - 1) if n else leaf()
while True: inner(50)
"""


@kit.case
def pages_out_all_the_time():
    """A program's memory is paged out again and again: krait's work is bounded, and the stacks of
    an honest program are whole."""
    with folder() as d, swap(d), python(RESTLESS) as target, python(SERVER) as honest:
        kit.runs([target.pid, honest.pid], 0.2)
        page_out(honest.pid)
        out = d + "/o.pb.gz"
        done = krait("record", "-p", target.pid, "-p", honest.pid, "-d", 3, "--times", "-o", out, "-v")
        check(done.returncode == 0, done.stderr)
        total, whole = counts(out, ("main", "serve_forever"), honest.pid, since_s=1.5)
        check(whole >= 0.99 * total > 0, "%d of %d: %s" % (whole, total, done.stderr))
        share = float(re.search(r"([0-9.]+) % of one CPU", done.stderr).group(1))
        check(share < 60, "krait took %.1f %% of a CPU: %s" % (share, done.stderr))


# A program with a function whose file name is in memory where nobody answers a page fault
# (userfaultfd).
UNANSWERED = """
import ctypes, fcntl, mmap, struct, sys
def trap():
    while True: sum(range(1000))
fd = ctypes.CDLL(None).syscall(%d, 0)
fcntl.ioctl(fd, 0xc018aa3f, bytearray(struct.pack("QQQ", 0xaa, 0, 0)))
memory = mmap.mmap(-1, 1 << 20)
at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
fcntl.ioctl(fd, 0xc020aa00, bytearray(struct.pack("QQQQ", at, 1 << 20, 1, 0)))
ctypes.c_uint64.from_address(id(trap.__code__) + int(sys.argv[1])).value = at + 4096
print(flush=True)
trap()
"""
USERFAULTFD = 282 if os.uname().machine == "aarch64" else 323
# The offset of co_filename in the code object, for versions in which krait recognizes a code object
# by its contents.
CO_FILENAME = {(3, 8): 104, (3, 9): 104, (3, 10): 104, (3, 11): 112}


@kit.case
def page_fault_that_nobody_answers():
    """If a read of one program's memory never returns, the recording still has another program's
    stacks and ends in time."""
    target_of = next(((path, CO_FILENAME[version]) for _, version, path in versions() if version in CO_FILENAME), None)
    if not target_of:
        raise Skip("no interpreter of 3.8 to 3.11")
    with folder() as d, swap(d), python(SERVER) as honest:
        kit.runs(honest.pid, 0.2)
        with Background(target_of[0], "-c", UNANSWERED % USERFAULTFD, target_of[1], cwd=kit.ROOT,
                        stdout=subprocess.PIPE) as target:
            if not target.process.stdout.readline():
                raise Skip("no userfaultfd: " + target.process.stderr.read().decode())
            page_out(honest.pid)
            out, began = d + "/o.pb.gz", time.time()
            done = krait("record", "-p", target.pid, "-p", honest.pid, "-d", 4, "-o", out)
            took = time.time() - began
        check(done.returncode == 0, done.stderr)
        check(took < 15, "%.1f s for 4 s" % took)
        total, whole = counts(out, ("main", "serve_forever"), honest.pid)
        # krait waits 2 s for the read that doesn't return. Meanwhile it reads nothing of other
        # programs.
        check(whole > total / 4, "%d of %d: %s" % (whole, total, done.stderr))
        check("of 1 process, first of %d" % target.pid in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(kit.main())
