# SPDX-License-Identifier: BSD-2-Clause
"""Every sample at 9,999 Hz on every CPU: what came against the CPU time that the kernel counted
for the targets, with throttling off."""

import os
import time

import lib

HZ = 9999


def run(options):
    cpus = lib.cpu_list_length(lib.read("/sys/devices/system/cpu/online"))
    seconds = max(2, options.seconds)
    targets = [lib.Target(lib.newest_interpreter()) for _ in range(cpus)]
    arguments = ["-F", str(HZ)]
    for i, t in enumerate(targets):
        os.sched_setaffinity(t.pid, {sorted(os.sched_getaffinity(0))[i]})
        t.depth(20)
        arguments += ["-p", str(t.pid)]
    with lib.Sysctl(perf_cpu_time_max_percent=0):
        with lib.Krait(arguments) as k:
            k.program()
            time.sleep(0.5)
            a, cpu = k.counter("SAMPLES"), sum(lib.cpu_seconds(t.pid) for t in targets)
            time.sleep(seconds)
            b, cpu = k.counter("SAMPLES"), sum(lib.cpu_seconds(t.pid) for t in targets) - cpu
    for t in targets:
        t.close()
    s = k.summary
    yield lib.Row("records lost", s["lost_records"], "", 0, note="%d samples" % s["samples"])
    yield lib.Row(
        "samples / (CPU time x Hz)",
        (b - a) / (cpu * HZ),
        "",
        0.999,
        least=True,
        note="%.1f CPU-s" % cpu,
    )
    yield lib.Row(
        "samples written / taken", s["samples"] / max(1, k_samples(s)), "", 1.0, least=True
    )
    yield lib.Row("throttled", s["throttled"], "times", 0)


def k_samples(summary):
    return sum(summary[key] for key in ("samples", "not_python", "unknown", "lost_records"))
