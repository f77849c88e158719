# SPDX-License-Identifier: BSD-2-Clause
"""Compares native stacks of krait, of `perf record -g` (frame pointers), of `perf record
--call-graph dwarf` (8 KiB of stack with each sample) and of `py-spy record --native` (which
stops the target). In each round the tools run one after the other. For each tool: bytes on disk
for a sample, the target's speed, the tool's own CPU time, stacks that reach the program's start,
and samples whose functions can't have called each other in that order. After that, it compares
the target's speed at 9,999 Hz, with the events of krait and of perf -g switched on in turn.
Last, it measures how soon krait can unwind a large library: the time from the library's first
sample to its first whole stack."""

import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import lib
import native
import others
from judge import pprof
import speed

HZ = 999
FAST_HZ = 9999
FAST_POINTS = 3  # percentage points by which krait may slow the target more than perf -g
WINDOW = 1.5
VERSION = "3.12"  # the newest Python version that py-spy knows
SETTINGS = (("20 Python frames", 20, None), ("64 native frames", 64, "deep.so"))


def chain(depth, library):
    """Returns the functions of bench/programs/target.py from the outermost to the innermost."""
    if not library:
        return ["<module>", "main"] + ["step_%d" % i for i in range(depth)] + ["leaf"]
    # the functions' names in deep.c end with numbers in octal
    octal = [10 * k + i for k in (*range(10, 18), *range(20, 28)) for i in range(8)]
    at, functions = octal[0], []
    for _ in range(depth):
        functions.append("deep_%d" % at)
        at = octal[(at + 1) % len(octal)]
    return ["<module>", "main", "call"] + functions


def is_wrong(stack, functions):
    """Tells whether the program can't have this stack (names, the outermost first). A stack isn't
    wrong if inner functions are missing, because the program may be entering or leaving a
    function."""
    own = [name for name in stack if name in functions or re.match("(step|deep)_[0-9]+$", name)]
    return own != functions[:len(own)]


class Profiler:
    """Runs a profiler on a process. After the with block the object has the results .cpu, .samples,
    .bytes, .whole and .wrong."""

    def __init__(self, command, count):
        self.command, self.count = command, count

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(1)
        if self.process.poll() is not None:
            raise lib.Skip("%s: %s" % (self.command[0], self.process.stdout.read()[-200:]))
        return self

    def start_counting(self):
        self.before = lib.cpu_seconds(self.process.pid), time.monotonic()

    def stop_counting(self):
        self.cpu = (lib.cpu_seconds(self.process.pid) - self.before[0]) / (
            time.monotonic() - self.before[1])

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            said = self.process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            said = self.process.communicate()[0]
        self.samples, self.whole, self.bytes, self.wrong = self.count(said)


def count_krait(path, functions):
    profile = pprof.read(path)
    # young: the number of samples from the first seconds, when krait didn't have the unwind rows
    # yet; native.py reports on these samples separately
    causes, young, _ = native.judged(profile)
    total = sum(causes.values())
    wrong = sum(sample.values[0] * is_wrong([short(l.name) for l in profile.stack(sample)], functions)
                for sample in profile.samples)
    return total, causes[""], os.path.getsize(path) * total / max(1, total + young), wrong


def count_perf(path):
    text = subprocess.run(["perf", "script", "-i", path, "-F", "ip,sym"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, encoding="utf-8", errors="replace",
                          timeout=300, check=False).stdout
    stacks = [block.splitlines() for block in text.split("\n\n") if block.strip()]
    whole = sum(stack[-1].split(None, 1)[-1].startswith("_start") for stack in stacks)
    return len(stacks), whole, os.path.getsize(path), None


def count_spy(path, said, functions):
    """py-spy prints how many samples it took and how many it couldn't take. Its file has no native
    frames outside the Python frames, so each stack counts as whole."""
    words = said.replace(",", "").split()
    samples = int(words[words.index("Samples:") + 1]) if "Samples:" in words else 0
    failed = int(words[words.index("Errors:") + 1]) if "Errors:" in words else 0
    text = lib.read(path)
    lines = [line.rsplit(" ", 1) for line in text.splitlines()]
    wrong = sum(int(n) * is_wrong([short(name.split(" (")[0]) for name in stack.split(";")], functions)
                for stack, n in lines)
    return samples + failed, samples, len(text.encode()), wrong


def short(name):
    """Returns the last part of a name like "native_leaf.<locals>.call"."""
    return name.rsplit(".", 1)[-1]


def profilers(pid, d, functions):
    out = os.path.join(d, "out")
    perf = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HZ), "-o", out, "-p", str(pid)]
    yield "krait --native=full", Profiler(
        [lib.KRAIT, "record", "-q", "--native=full", "--format", "pprof", "-F", str(HZ), "-o", out,
         "-p", str(pid)], lambda _: count_krait(out, functions))
    if shutil.which("perf"):
        yield "perf -g", Profiler(perf + ["-g"], lambda _: count_perf(out))
        yield "perf --call-graph dwarf", Profiler(perf + ["--call-graph", "dwarf"],
                                                  lambda _: count_perf(out))
    spy = os.path.join(others.HERE, "bin", "py-spy")
    if others.works([spy, "--version"]):
        yield "py-spy --native", Profiler(
            [spy, "record", "--native", "-r", str(HZ), "-d", "600", "-f", "raw", "-o", out, "-p",
             str(pid)], lambda said: count_spy(out, said, functions))


def once(target, depth, functions, got):
    alone = target.run(depth, WINDOW)
    with tempfile.TemporaryDirectory() as d:
        for name, profiler in profilers(target.pid, d, functions):
            try:
                with profiler as p:
                    target.run(depth, native.WARM_NS / 1e9 - 1)
                    p.start_counting()
                    speed = 100 * target.run(depth, WINDOW) / alone
                    p.stop_counting()
            except lib.Skip as reason:
                print("  %s" % reason, file=sys.stderr)
                continue
            if p.samples:
                got.setdefault(name, []).append((speed, 100 * p.cpu, p.bytes / p.samples,
                                                 100 * p.whole / p.samples, p.wrong, p.samples))


def compare(python, setting, rounds):
    name, depth, library = setting
    got = {}
    with lib.Target(python, native=library and os.path.join(lib.BUILD, "bench", library)) as target:
        for _ in range(rounds):
            once(target, depth, chain(depth, library), got)
    for who, rows in got.items():
        middle = [statistics.median(column) for column in zip(*rows) if None not in column]
        what = "%s: %s: " % (name, who)
        yield lib.Row(what + "target's speed", middle[0], "% of alone")
        yield lib.Row(what + "its CPU time", middle[1], "% of a core")
        yield lib.Row(what + "on disk", middle[2], "bytes/sample",
                      note="%d samples a window" % rows[0][5])
        yield lib.Row(what + ("samples that it could take" if "py-spy" in who else "whole stacks"),
                      middle[3], "%", native.LEAST if "krait" in who else None, True)
        if "perf" not in who:  # perf doesn't show names of Python functions
            yield lib.Row(what + "wrong samples", sum(row[4] for row in rows), "",
                          0 if "krait" in who else None, note="of %d" % sum(row[5] for row in rows))


def in_turn(python, setting, seconds):
    """Compares the target's speed under krait with that under `perf record -g`, at a high rate. The
    events of both profilers are switched on in turn."""
    name, depth, library = setting
    got, end = [], time.monotonic() + seconds
    with lib.Target(python, native=library and os.path.join(lib.BUILD, "bench", library)) as target:
        while time.monotonic() < end or not got:
            got += speed.windows(target, depth, FAST_HZ, ["-g"], ["--native=full"])
    return speed.slower("%s: %d Hz, slower than under perf -g" % (name, FAST_HZ), got, FAST_POINTS)


def first_whole(profile, file):
    """Returns how many ms passed between the first sample in the library @file and the first whole
    stack with this library."""
    first, whole = None, None
    for sample in profile.samples:
        stack, at = profile.stack(sample), sample.labels["time"] / 1e6
        if not any(file in (l.mapping or "") for l in stack):
            continue
        first = at if first is None else min(first, at)
        if not native.cause_of(stack):
            whole = at if whole is None else min(whole, at)
    if first is None or whole is None:
        raise lib.Skip("no whole stack in %s" % file)
    return whole - first


def ready():
    """Starts krait with an empty cache of unwind rows, so that krait has no rows for the program.
    """
    program = native.Program(os.path.join(native.BUSY, "polars_.py"))
    with tempfile.TemporaryDirectory() as d, program:
        out = os.path.join(d, "out.pb.gz")
        subprocess.run([lib.KRAIT, "record", "-q", "--times", "--native=full",
                        "--interpreter-frames", "-F", str(HZ), "-d", "4", "-o", out, "-p",
                        str(program.process.pid)], env=dict(os.environ, XDG_CACHE_HOME=d),
                       check=True)
        return first_whole(pprof.read(out), "polars")


def run(options):
    others.install()
    python = lib.interpreters().get(VERSION)
    if not python:
        raise lib.Skip("no Python %s" % VERSION)
    rounds = max(1, int(options.seconds / len(SETTINGS) / 40))
    for setting in SETTINGS:
        yield from compare(python, setting, rounds)
    yield in_turn(python, SETTINGS[0], options.seconds / 2)
    times = [ready() for _ in range(max(1, rounds))]
    yield lib.Row("178 MB library: from its first sample to the first whole stack",
                  statistics.median(times), "ms", 500, note="%d times" % len(times))
