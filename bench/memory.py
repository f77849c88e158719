# SPDX-License-Identifier: BSD-2-Clause
"""Measures krait's own memory and CPU time while programs with thousands of different stacks run,
and how much its memory grows beside a program with few stacks. Memory is resident memory plus
what the kernel counts for krait's maps. The memory that krait takes for each CPU is projected to
8 CPUs."""

import os
import time

import lib
from start import Group

MIB = 1 << 20
CPUS = 8
SETTLE = 15  # seconds after which krait's tables and its log of samples don't grow any more


def per_cpu(cpus):
    """Returns how many bytes krait takes for this number of CPUs: buffers for records of code
    objects, states of stack walks, and ring buffers of the size that ring_bytes() of
    src/sampler/per_cpu.c gives. A ring buffer counts twice, because both the kernel's count and the
    resident memory have it."""
    ring = max(1 << 20, 1 << ((8 << 20) // cpus).bit_length() - 1)
    return cpus * (2 * ring + (192 << 10))


def memory(k):
    """Returns (how many bytes krait takes on this machine, how many it would take on 8 CPUs)."""
    now = lib.rss_bytes(k.pid) + k.map_bytes()
    here = lib.cpu_list_length(lib.read("/sys/devices/system/cpu/possible"))
    return now, now + max(0, per_cpu(CPUS) - per_cpu(here))


def watch(target, hz, seconds):
    """Returns (memory after a third of the time, memory at the end of the time, krait's CPU time
    per second in between, krait's closing summary)."""
    with lib.Krait(["-p", str(target.pid), "-F", str(hz)]) as k:
        k.program()
        time.sleep(max(SETTLE, seconds / 3))
        early, cpu, begin = memory(k), lib.cpu_seconds(k.pid), time.monotonic()
        time.sleep(seconds * 2 / 3)
        late, used = memory(k), lib.cpu_seconds(k.pid) - cpu
        share = used / (time.monotonic() - begin)
    return early, late, share, k.summary


def varied(workers, spinning, hz, seconds):
    with Group(lib.newest_interpreter(), workers, spinning) as group:
        return watch(group, hz, seconds)


def growth(hz, seconds):
    """Measures how much krait's memory grows beside a program that repeats the same work."""
    with lib.Target(lib.newest_interpreter()) as target:
        target.depth(20)
        early, late, _, summary = watch(target, hz, seconds)
    return lib.Row(
        "steady work, %d Hz: growth in %.0f s" % (hz, seconds * 2 / 3),
        (late[0] - early[0]) / MIB,
        "MiB",
        0.5,
        note="%d samples, %d stacks" % (summary["samples"], summary["stacks"]),
    )


def run(options):
    seconds = max(3, options.seconds / 5)
    for workers, spinning, hz, most, cpu in (
        (0, 0, 999, 48, 1),
        (0, 0, 9999, None, 5),
        (100, 2, 999, 96, 1),
    ):
        name = "%d processes, %d Hz: " % (workers or 1, hz)
        _, late, share, summary = varied(workers, spinning, hz, seconds)
        if most:
            yield lib.Row(
                name + "memory on %d CPUs" % CPUS,
                late[1] / MIB,
                "MiB",
                most,
                note="%.1f here, %d stacks" % (late[0] / MIB, summary["stacks"]),
            )
        yield lib.Row(name + "krait's CPU", share * 100, "% of one", cpu)
    for hz in (999, 9999):
        yield growth(hz, seconds)
