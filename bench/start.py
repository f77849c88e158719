# SPDX-License-Identifier: BSD-2-Clause
"""Measures the time from the exec of krait until its events are open, and until the first stack is
sent. The times are measured from outside, by krait's descriptors and by the kernel programs'
counters. Another row is the CPU time of a recording that ends at once, from wait4()."""

import contextlib
import os
import signal
import statistics
import subprocess
import time

import lib


class Group:
    """Runs varied.py with its worker processes, in a process group of its own."""

    def __init__(self, python, workers, spinning):
        self.process = subprocess.Popen(
            [python, os.path.join(lib.ROOT, "bench/programs/varied.py"), str(workers), str(spinning)],
            start_new_session=True,
        )
        self.pid = self.process.pid

    def __enter__(self):
        time.sleep(1)
        return self

    def __exit__(self, *_):
        os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()


def events(pid):
    """Returns how many perf events the process has open."""
    n = 0
    for fd in os.listdir("/proc/%d/fd" % pid):
        # This descriptor was closed after it was listed.
        with contextlib.suppress(FileNotFoundError):
            n += os.readlink("/proc/%d/fd/%s" % (pid, fd)) == "anon_inode:[perf_event]"
    return n


def start_once(arguments):
    """Returns (ms until the programs are attached, ms until the first stack is sent)."""
    begin, attached, first = time.monotonic(), 0.0, 0.0
    cpus = lib.cpu_list_length(lib.read("/sys/devices/system/cpu/online"))
    with lib.Krait(arguments) as k:
        while not first and time.monotonic() - begin < 20 and k.process.poll() is None:
            now = time.monotonic()
            # krait opens one event on each CPU for perf's records of mappings and execs. When it
            # has more events than these, its kernel program is attached.
            if not attached and events(k.pid) > cpus:
                attached = now - begin
            if attached and k.counter("STACKS_SENT"):
                first = now - begin
            time.sleep(0.002)
    if not first:
        raise RuntimeError("no sample within 20 s")
    return attached * 1000, first * 1000


def cpu_ms():
    """Returns the CPU time of a recording of a command that ends at once."""
    command = [lib.KRAIT, "record", "--format", "folded", "-o", "/dev/null", "--", "true"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, process.returncode, used = os.wait4(process.pid, 0)
    if process.returncode:
        raise RuntimeError("krait record -- true failed")
    return 1000 * (used.ru_utime + used.ru_stime)


def repeated(arguments, times):
    got = [start_once(arguments) for _ in range(times)]
    return [statistics.median(g[i] for g in got) for i in (0, 1)], [
        max(g[i] for g in got) for i in (0, 1)
    ]


def run(options):
    python = lib.newest_interpreter()
    times = max(3, int(options.seconds / 4))
    cpu = [cpu_ms() for _ in range(times)]
    yield lib.Row(
        "CPU time, record -- true",
        statistics.median(cpu),
        "ms",
        note="%.0f to %.0f in %d" % (min(cpu), max(cpu), times),
    )
    with Group(python, 0, 0) as group:
        medians, worst = repeated(["-p", str(group.pid)], times)
        yield lib.Row(
            "attached, -p", medians[0], "ms", 300, note="worst %.0f of %d" % (worst[0], times)
        )
        yield lib.Row("first stack, 1 process", medians[1], "ms", 400, note="worst %.0f" % worst[1])
    with Group(python, 100, 1) as group:
        for what, arguments in (
            ("-p", ["-p", str(group.pid)]),
            ("machine", ["--comm", "python*", "-F", "999"]),
        ):
            medians, worst = repeated(arguments, times)
            yield lib.Row(
                "first stack, %s with 100 processes" % what,
                medians[1],
                "ms",
                1000,
                note="worst %.0f" % worst[1],
            )
