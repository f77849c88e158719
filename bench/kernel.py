# SPDX-License-Identifier: BSD-2-Clause
"""Measures what the kernel frames of a stack cost: the BPF time of a sample with these frames and
without them, in turn, for a program that is nearly always in the kernel."""

import os
import statistics
import subprocess
import sys
import time

import lib

HZ = 3999
WINDOW = 0.5

READS = """
import os
fd = os.open("/dev/zero", os.O_RDONLY)
buffer = bytearray(1 << 20)
print("ready", flush=True)
while True:
    os.readv(fd, [buffer])
"""


def sample_ns(pid, *options):
    with lib.Krait(["-p", str(pid), "-F", str(HZ), "--native=none", *options]) as k:
        program = k.program()
        time.sleep(0.3)
        samples, (runs, ns) = k.counter("SAMPLES"), program.now()
        time.sleep(WINDOW)
        samples, (runs_2, ns_2) = k.counter("SAMPLES") - samples, program.now()
    return (ns_2 - ns - 300 * max(0, runs_2 - runs - samples)) / max(1, samples)


def run(options):
    target = subprocess.Popen([sys.executable, "-c", READS], stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    os.setpriority(os.PRIO_PROCESS, target.pid, -19)
    try:
        with lib.BpfStats():
            rows = [(sample_ns(target.pid, "--no-kernel"), sample_ns(target.pid))
                    for _ in range(max(3, int(options.seconds / 4)))]
    finally:
        target.kill()
        target.wait()
    yield lib.Row("a sample in the kernel without its stack", statistics.median(a for a, _ in rows), "ns")
    yield lib.Row("its kernel stack", statistics.median(b - a for a, b in rows), "ns",
                  note="%d pairs of windows" % len(rows))
