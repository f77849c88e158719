# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the measurements: interpreters, krait as a process with the kernel's statistics of its
BPF programs, the target, simple statistics, the table of results."""

import contextlib
import ctypes
import fcntl
import glob
import json
import mmap
import os
import random
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("KRAIT_BUILD", os.path.join(ROOT, "build/release"))
KRAIT = os.path.join(BUILD, "krait")
CACHE = os.environ.get("KRAIT_TEST_CACHE", os.path.expanduser("~/.cache/krait-tests"))
SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
TARGET = os.path.join(ROOT, "bench/programs/target.py")


class Skip(Exception):
    """Raised if a measurement can't be made on this machine. The message says what is missing."""


class Row:
    """A line of the table. @limit: the most that the value may be; None: no limit. With @least, the
    limit is the least that the value may be."""

    def __init__(self, what, value, unit, limit=None, least=False, note=""):
        self.what, self.value, self.unit = what, value, unit
        self.limit, self.least, self.note = limit, least, note

    def verdict(self):
        if self.limit is None:
            return ""
        good = self.value >= self.limit if self.least else self.value <= self.limit
        return "ok" if good else "OVER" if not self.least else "UNDER"

    def cells(self):
        sign = ">=" if self.least else "<="
        limit = "" if self.limit is None else "%s %s" % (sign, number(self.limit))
        return [self.what, number(self.value), self.unit, limit, self.verdict(), self.note]


def number(v):
    if isinstance(v, int):
        return "{:,}".format(v)
    return "{:,.0f}".format(v) if abs(v) >= 100 else "%.3g" % v


def print_table(head, rows):
    widths = [max(len(r[i]) for r in [head] + rows) for i in range(len(head))]
    for r in [head, ["-" * w for w in widths]] + rows:
        print("| " + " | ".join(c.ljust(w) for c, w in zip(r, widths)) + " |")


def interpreters():
    """Returns one ordinary build of each Python version in the test cache, such as {"3.12": path}.
    """
    found = {}
    table = os.path.join(CACHE, "interpreters.tsv")
    if not os.path.exists(table):
        return {}
    for line in open(table):
        _, version, kind, path = line.rstrip("\n").split("\t")
        minor = ".".join(version.split(".")[:2])
        rank = {"static": 0, "shared": 1}.get(kind)
        if rank is not None and os.access(path, os.X_OK):
            found.setdefault(minor, []).append((rank, path))
    return {v: min(found[v])[1] for v in sorted(found, key=version_key)}


def version_key(minor):
    return tuple(int(x) for x in minor.split("."))


def newest_interpreter():
    got = interpreters()
    return got[max(got, key=version_key)] if got else sys.executable


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))]


def median_interval(values, repeats=2000, seed=1):
    """Returns the median of the values and its 95 % confidence interval, by resampling."""
    rng = random.Random(seed)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(repeats))
    return statistics.median(values), medians[int(repeats * 0.025)], medians[int(repeats * 0.975)]


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


def field(text, name):
    m = re.search(r"^%s:\s*(\d+)" % name, text, re.M)
    return int(m.group(1)) if m else 0


def rss_bytes(pid, name="VmRSS"):
    return field(read("/proc/%d/status" % pid), name) << 10


def cpu_seconds(pid):
    """Returns the CPU time of all threads of a process, from schedstat, which counts nanoseconds
    and not ticks."""
    return (
        sum(
            int((read(t + "/schedstat") or "0").split()[0])
            for t in glob.glob("/proc/%d/task/*" % pid)
        )
        / 1e9
    )


class Sysctl:
    """Sets kernel parameters for the duration of a with block."""

    def __init__(self, **values):
        self.values, self.old = values, {}

    @staticmethod
    def path(name):
        return "/proc/sys/kernel/" + name

    def __enter__(self):
        for name, value in self.values.items():
            self.old[name] = read(self.path(name)).strip()
            with open(self.path(name), "w") as f:
                f.write(str(value))

    def __exit__(self, *_):
        for name, value in self.old.items():
            with open(self.path(name), "w") as f:
                f.write(value)


class BpfStats:
    """The kernel's run-time statistics of BPF programs, for as long as a with block lasts: the
    kernel switches them off when their descriptor is closed, so they never stay on."""

    def __enter__(self):
        # bpf(BPF_ENABLE_STATS) with BPF_STATS_RUN_TIME
        self.fd = bpf(32, struct.pack("I", 0) + bytes(124))

    def __exit__(self, *_):
        os.close(self.fd)


class Program:
    """The kernel's statistics of one BPF program, which is found by the descriptor of the process
    that has it open."""

    def __init__(self, path):
        self.path = path

    def now(self):
        text = read(self.path)
        return field(text, "run_cnt"), field(text, "run_time_ns")


def in_background(command):
    """Runs a profiler in the background. Keeps what the profiler prints on stderr."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


class Krait:
    """Runs krait record in the background: with Krait([...]) as k: ... ; after this block k.summary
    is the JSON of --summary-json."""

    def __init__(self, arguments, output="/dev/null", directory="/tmp", fmt="folded"):
        self.json = os.path.join(directory, "krait-bench-%d.json" % os.getpid())
        self.command = [KRAIT, "record", "-o", output, "--summary-json", self.json] + arguments
        if fmt:
            self.command[2:2] = ["--format", fmt]
        self.summary, self.errors, self.counters = {}, "", None

    def __enter__(self):
        self.process = in_background(self.command)
        self.pid = self.process.pid
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.errors = self.process.communicate(timeout=60)[1]
        if self.process.returncode:
            raise RuntimeError("%s: %s" % (" ".join(self.command), self.errors))
        try:
            with open(self.json) as f:
                self.summary = json.load(f)
            os.unlink(self.json)
        except FileNotFoundError:
            pass

    def fdinfo(self, wanted):
        for path in glob.glob("/proc/%d/fdinfo/*" % self.pid):
            text = read(path)
            if wanted in text:
                yield path, text

    def program(self, timeout=10):
        """Returns the kernel program that samples; waits until it is loaded."""
        end = time.monotonic() + timeout
        while time.monotonic() < end and self.process.poll() is None:
            for path, text in self.fdinfo("prog_type:\t7"):  # BPF_PROG_TYPE_PERF_EVENT
                return Program(path)
            time.sleep(0.02)
        raise RuntimeError(
            "%s: no program: %s" % (" ".join(self.command), self.process.stderr.read())
        )

    def map_bytes(self):
        maps = {
            field(text, "map_id"): field(text, "memlock") for _, text in self.fdinfo("map_type:")
        }
        return sum(maps.values())

    def counter(self, name):
        """Returns a counter of abi/records.h by its name COUNT_..., summed over all CPUs."""
        if not self.counters:
            for _, text in self.fdinfo("map_type:\t6"):  # BPF_MAP_TYPE_PERCPU_ARRAY
                m = BpfMap(field(text, "map_id"))
                if m.name == "counters":
                    self.counters = m
        return self.counters.sum(counter_index(name)) if self.counters else 0


def counter_index(name):
    """Returns the position of a counter in the list BPF_COUNTERS of abi/records.h."""
    text = read(os.path.join(ROOT, "abi/records.h"))
    text = text[text.index("define BPF_COUNTERS") :]
    return re.findall(r"X\((\w+), \"", text).index(name)


def bpf(command, attr):
    r = ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF, command, attr, len(attr))
    if r < 0:
        raise OSError(ctypes.get_errno(), "bpf(%d)" % command)
    return r


class BpfMap:
    """A per-CPU BPF array with u32 keys and u64 values, opened by its id."""

    def __init__(self, number):
        self.fd = bpf(14, struct.pack("IIII", number, 0, 0, 0) + bytes(112))  # GET_FD_BY_ID
        info = ctypes.create_string_buffer(128)
        bpf(15, struct.pack("IIQ", self.fd, len(info), ctypes.addressof(info)) + bytes(112))
        self.name = info.raw[24:40].split(b"\0")[0].decode()

    def sum(self, index):
        cpus = cpu_list_length(read("/sys/devices/system/cpu/possible"))
        key, values = ctypes.c_uint32(index), (ctypes.c_uint64 * cpus)()
        bpf(
            1,
            struct.pack("IIQQQ", self.fd, 0, ctypes.addressof(key), ctypes.addressof(values), 0)
            + bytes(96),
        )  # LOOKUP_ELEM
        return sum(values)


def cpu_list_length(text):
    """Returns how many numbers are in a list like 0-3,5."""
    n = 0
    for part in text.strip().split(","):
        a, _, b = part.partition("-")
        n += int(b or a) - int(a) + 1
    return n


class PerfEvents:
    """The perf events of another process, which this process can switch on and off. So profilers
    that are started only once can take turns of a tenth of a second, in which the machine hardly
    changes."""

    ENABLE, DISABLE = 0x2400, 0x2401  # PERF_EVENT_IOC_*

    def __init__(self, pid):
        process, self.fds = os.pidfd_open(pid), []
        for path in glob.glob("/proc/%d/fd/*" % pid):
            # this descriptor was open only for a moment, and is closed again
            with contextlib.suppress(OSError):
                if os.readlink(path) == "anon_inode:[perf_event]":
                    self.fds.append(pidfd_getfd(process, int(os.path.basename(path))))
        os.close(process)

    def switch(self, on):
        for fd in self.fds:
            fcntl.ioctl(fd, self.ENABLE if on else self.DISABLE, 0)

    @contextlib.contextmanager
    def on(self):
        self.switch(True)
        yield
        self.switch(False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for fd in self.fds:
            os.close(fd)


def pidfd_getfd(process, fd):
    r = ctypes.CDLL(None, use_errno=True).syscall(438, process, fd, 0)
    if r < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return r


def perf_command(pids, hz):
    """Returns a command that runs perf record without call graphs. Without @pids it records the
    whole machine."""
    whose = ["-p", ",".join(str(p) for p in pids)] if pids else ["-a"]
    return ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(hz), "-o", "/dev/null"] + whose


def need_perf():
    if not shutil.which("perf"):
        raise Skip("no perf (linux-perf)")


@contextlib.contextmanager
def perf_events(pid, hz, *options):
    """Starts perf record, which takes call graphs only if an option asks for them. Yields its
    events. With @pid None, the events sample the whole machine."""
    process = in_background(perf_command([pid] if pid else [], hz) + list(options))
    try:
        time.sleep(0.5)
        with PerfEvents(process.pid) as events:
            yield events
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def recorder(pid, hz, *options):
    return Krait(["-F", str(hz), "-p", str(pid), *options])


@contextlib.contextmanager
def krait_events(pid, hz, *options):
    """Starts krait record on a process. Yields krait's perf events, which can be switched on and
    off."""
    with recorder(pid, hz, *options) as k:
        k.program()
        time.sleep(0.3)
        with PerfEvents(k.pid) as events:
            yield events


class Target:
    """Runs bench/programs/target.py, which spins at some depth. The target is a process with an
    interpreter of its own."""

    def __init__(self, python, threads=0, nice=0, native=None):
        """@native: a library whose function deep() makes the stack (bench/programs/deep.c), instead
          of Python's functions."""
        progress = os.memfd_create("progress")
        os.ftruncate(progress, mmap.PAGESIZE)
        self.process = subprocess.Popen(
            [python, TARGET, str(threads), str(progress)] + ([native] if native else []),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[progress],
            text=True,
        )
        self.pid = self.process.pid
        self.progress = mmap.mmap(progress, mmap.PAGESIZE)
        os.close(progress)
        os.setpriority(os.PRIO_PROCESS, self.pid, nice)
        self._answer()

    def run(self, depth, seconds):
        """Lets the target spin at @depth for @seconds, and then sleep. Returns how many rounds a
        second the target made, by its own clock."""
        self.depth(depth)
        time.sleep(seconds)
        self.depth(0)
        return self.speed

    def pace(self, seconds):
        """Returns how many rounds a second the target makes in the next @seconds seconds, by its
        own clock."""
        rounds, at = self._progress()
        time.sleep(seconds)
        rounds_2, at_2 = self._progress()
        return (rounds_2 - rounds) / (at_2 - at)

    def _progress(self):
        """Returns how many rounds the target has made since it began to spin, and the time at which
        the last round ended."""
        while True:
            got = self.progress[:16]
            if got == self.progress[:16]:
                return struct.unpack("dd", got)

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the target ended: " + self.process.stderr.read()[-300:])
        words = line.split()
        self.speed = float(words[1])
        return int(words[0])

    def depth(self, n):
        """Sets how many frames the target's stack has from now on."""
        self.process.stdin.write("%d\n" % n)
        self.process.stdin.flush()
        return self._answer()

    def close(self):
        self.process.kill()
        self.process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
