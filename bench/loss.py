# SPDX-License-Identifier: BSD-2-Clause
"""Are samples lost at 9,999 Hz on every CPU, with throttling off? The number of samples is compared
with the CPU time that the kernel counted for the targets, and with the number of perf record's
samples; perf record runs in every other second. (If a timer is late, as when the host takes the
CPU away, it is late for both profilers.)"""

import os
import re
import signal
import tempfile
import time

import lib

HZ = 9999
WINDOW = 1.0  # seconds of one window


class Perf:
    """perf record without call graphs. When perf has ended, .samples is the number of samples that
    it took."""

    def __init__(self, pids):
        self.command = lib.perf_command(pids, HZ)
        # perf starts with its events switched off; they are switched on later
        self.command[self.command.index("-q")] = "--delay=-1"

    def __enter__(self):
        self.file = tempfile.NamedTemporaryFile()
        self.command[self.command.index("/dev/null")] = self.file.name
        self.process = lib.in_background(self.command)
        time.sleep(0.5)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate()[1]
        self.samples = int(re.search(r"\((\d+) samples\)", said).group(1))
        self.file.close()


def cpu_seconds(targets):
    return sum(lib.cpu_seconds(t.pid) for t in targets)


def all_the_time(targets, arguments, seconds):
    """Lets krait record all the time. Returns (krait's closing summary, samples / (CPU time x Hz)).
    """
    with lib.Krait(arguments) as k:
        k.program()
        time.sleep(0.5)
        a, cpu = k.counter("SAMPLES"), cpu_seconds(targets)
        time.sleep(seconds)
        b, cpu = k.counter("SAMPLES"), cpu_seconds(targets) - cpu
    return k.summary, (b - a) / (cpu * HZ)


def in_turn(targets, arguments, seconds):
    """Lets krait and perf record take turns, window by window. Returns [krait's, perf's] samples /
    (CPU time x Hz)."""
    cpu = [0.0, 0.0]
    with lib.Krait(arguments) as k, Perf([t.pid for t in targets]) as p:
        k.program()
        time.sleep(0.5)
        with lib.PerfEvents(k.pid) as krait, lib.PerfEvents(p.process.pid) as perf:
            krait.switch(False)
            a = k.counter("SAMPLES")
            for i in range(int(seconds / WINDOW)):
                before = cpu_seconds(targets)
                with (perf if i % 2 else krait).on():
                    time.sleep(WINDOW)
                cpu[i % 2] += cpu_seconds(targets) - before
            a = k.counter("SAMPLES") - a
    return [a / (cpu[0] * HZ), p.samples / (cpu[1] * HZ)]


def run(options):
    lib.need_perf()
    cpus = lib.cpu_list_length(lib.read("/sys/devices/system/cpu/online"))
    seconds = max(2, options.seconds)
    targets = [lib.Target(lib.newest_interpreter()) for _ in range(cpus)]
    arguments = ["-F", str(HZ)]
    for i, t in enumerate(targets):
        os.sched_setaffinity(t.pid, {sorted(os.sched_getaffinity(0))[i]})
        t.depth(20)
        arguments += ["-p", str(t.pid)]
    with lib.Sysctl(perf_cpu_time_max_percent=0):
        s, share = all_the_time(targets, arguments, seconds)
        krait, perf = in_turn(targets, arguments, seconds)
    for t in targets:
        t.close()
    yield lib.Row("records lost", s["lost_records"], "", 0, note="%d samples" % s["samples"])
    yield lib.Row("samples / (CPU time x Hz)", share, "")
    yield lib.Row(
        "the same in turn with perf record, by perf's",
        krait / perf,
        "",
        0.999,
        least=True,
        note="krait %.4f, perf %.4f" % (krait, perf),
    )
    yield lib.Row(
        "samples written / taken", s["samples"] / max(1, k_samples(s)), "", 1.0, least=True
    )
    yield lib.Row("throttled", s["throttled"], "times", 0)


def k_samples(summary):
    return sum(summary[key] for key in ("samples", "not_python", "unknown", "lost_records"))
