# SPDX-License-Identifier: BSD-2-Clause
"""The run time of krait's kernel program for one sample whose stack is in the caches, for each
CPython version. Two depths of stack give a fixed part and a part for each frame. The table also
has, measured at the same time, what a loop that only reads the same frames takes for each frame.

The target has a high priority: other processes would displace it from the caches between samples.
krait's program also runs for processes that aren't recorded. The cost of these runs is measured
while the target is stopped, and subtracted."""

import os
import signal
import statistics
import subprocess
import time

import lib

DEPTHS = (10, 200)
HZ = 3999  # Hz; at this rate caches are warm: the stack is still in them at the next sample


def limits(version):
    """Returns the limits for this version: (ns for each frame, ratio to the loop that only reads
    frames)."""
    v = lib.version_key(version)
    return (110, 1.9) if v >= (3, 12) else (220, 3.5) if v >= (3, 11) else (290, 4.5)


class Bare:
    def __init__(self, pid):
        self.process = subprocess.Popen(
            [os.path.join(lib.BUILD, "bench/bare"), str(pid), str(HZ)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._read()

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise lib.Skip("no bare loop: " + self.process.stderr.read().strip()[-200:])
        return [int(x) for x in line.split()]

    def now(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self._read()

    def close(self):
        self.process.communicate()


class State:
    def __init__(self, krait, program, bare):
        self.samples, self.run = krait.counter("SAMPLES"), program.now()
        self.bare = bare.now()


def window(k, program, bare, seconds):
    """Returns what was counted during a window: the target's samples; runs and ns of krait's
    program; runs, ns and steps of the bare loop."""
    a = State(k, program, bare)
    time.sleep(seconds)
    b = State(k, program, bare)
    return {
        "samples": b.samples - a.samples,
        "runs": b.run[0] - a.run[0],
        "ns": b.run[1] - a.run[1],
        "bare_runs": b.bare[2] - a.bare[2],
        "bare_ns": b.bare[3] - a.bare[3],
        "bare_steps": b.bare[1] - a.bare[1],
    }


def foreign_cost(k, program, bare, target, seconds):
    """Returns how many ns a run of krait's program takes for a process that isn't recorded."""
    os.kill(target.pid, signal.SIGSTOP)
    time.sleep(0.01)
    w = window(k, program, bare, seconds)
    os.kill(target.pid, signal.SIGCONT)
    return w["ns"] / w["runs"] if w["runs"] > 20 else 300.0


def measure(python, windows, seconds, depths=DEPTHS, native=None):
    """Returns {depth: (frames, [ns of krait's program], [ns of the bare loop])}. @native: see
    lib.Target."""
    result = {d: (0, [], []) for d in depths}
    mode = "full" if native else "none"
    with lib.Target(python, nice=-19, native=native) as target, lib.Krait(
        ["-p", str(target.pid), "-F", str(HZ), "--native=" + mode, "--no-kernel"]
    ) as k:
        program = k.program()
        bare = Bare(target.pid)
        for _ in range(windows):
            for d in depths:
                frames = target.depth(d)
                time.sleep(0.25)
                w = window(k, program, bare, seconds)
                foreign = foreign_cost(k, program, bare, target, seconds / 3)
                ns = w["ns"] - foreign * max(0, w["runs"] - w["samples"])
                if w["samples"] < 20 or w["bare_runs"] < 20:
                    continue
                result[d][1].append(ns / w["samples"])
                result[d][2].append(w["bare_ns"] / w["bare_runs"])
                result[d] = (frames,) + result[d][1:]
        target.depth(0)
        bare.close()
    return result


def line(result, which):
    """Returns (the fixed part, the part for each frame), computed from the medians at both depths.
    """
    (n0, *a), (n1, *b) = result.values()
    low, high = statistics.median(a[which]), statistics.median(b[which])
    slope = (high - low) / (n1 - n0)
    return low - n0 * slope, slope


def run(options):
    got = lib.interpreters()
    if not got:
        raise lib.Skip("no test interpreters (tests/setup/interpreters.sh)")
    wanted = options.versions or got
    seconds = 0.5
    windows = max(2, int(options.seconds / len(wanted) / len(DEPTHS) / (seconds * 4 / 3 + 0.4)))
    for version in wanted:
        r = measure(got[version], windows, seconds)
        fixed, slope = line(r, 0)
        bare_fixed, bare_slope = line(r, 1)
        most, ratio = limits(version)
        yield lib.Row("%s fixed" % version, fixed, "ns", 2000, note="bare %.0f" % bare_fixed)
        yield lib.Row("%s slope" % version, slope, "ns/frame", most, note="bare %.0f" % bare_slope)
        yield lib.Row(
            "%s slope / bare" % version,
            slope / bare_slope,
            "",
            ratio,
            note="%d windows" % len(r[DEPTHS[0]][1]),
        )
