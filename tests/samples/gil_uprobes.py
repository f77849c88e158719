#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Is `gil_wait` how long CPython itself waits in take_gil()? perf has uprobes on the beginning and
the return of that function, in the same seconds and threads that krait records.

    gil_uprobes.py [--only GLOB] [--seconds N]

Needs interpreters with symbols. A call that doesn't wait takes as long as the probes do, so the
median of these calls is taken off each call that waits. A thread may be preempted in take_gil()
before it begins to wait: such a call counts from its first sleep. If it is preempted elsewhere in
that function, it doesn't wait for the GIL then, but for a CPU; the sum of these times is allowed.
"""
import argparse
import collections
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "oracle"))
import oracle  # noqa: E402
from drivers.switches import Perf  # noqa: E402
from judge import pprof  # noqa: E402

WITHIN = 0.01
GROUP = "krait_take_gil_%d" % os.getpid()
NAME = re.compile(r"^([0-9a-f]+) [tT] (take_gil(?:\.\w+)*)$", re.M)
LINE = re.compile(r"^\s*(\d+)\s+(\d+)\.(\d+):\s+(?:%s:(in|out)|PERF_RECORD_SWITCH(?:_CPU_WIDE)? (IN|OUT)\s*(preempt)?)" % GROUP, re.M)


def object_of(path):
    """Returns the file that has the interpreter's code: itself, or its libpython."""
    path = os.path.realpath(path)
    said = subprocess.run([path, "-c", "import sys; print(open('/proc/self/maps').read())"],
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    return next((line.split()[-1] for line in said.splitlines() if "/libpython" in line), None) or next(
        line.split()[-1] for line in said.splitlines() if "r-xp" in line)


def copies(file):
    """Returns the offsets in the file of all copies of take_gil()."""
    said = subprocess.run(["nm", file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
    return [offset(file, int(addr, 16)) for addr, name in NAME.findall(said) if not name.endswith(".cold")]


def offset(file, addr):
    """Returns where the code at an address is in the file."""
    with open(file, "rb") as f:
        head = f.read(64)
        at, size, n = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        f.seek(at)
        for _ in range(n):
            kind, _, start, vaddr, _, length = struct.unpack_from("<IIQQQQ", f.read(size))
            if kind == 1 and vaddr <= addr < vaddr + length:
                return addr - vaddr + start
    raise ValueError("%x is in no segment of %s" % (addr, file))


def tracefs(text, check=True):
    """Writes a line to the kernel's list of uprobes."""
    subprocess.run(Perf.alone("echo '%s' >> /sys/kernel/tracing/uprobe_events" % text), check=check,
                   stderr=subprocess.DEVNULL)


class Probes(object):
    """uprobes on these places of a file, while a with block runs."""

    def __init__(self, file, places):
        self.made = []
        self.lines = [("%s%d" % (what, i), "%s:%s/%s%d %s:%#x" % (letter, GROUP, what, i, file, place))
                      for i, place in enumerate(places) for letter, what in (("p", "in"), ("r", "out"))]

    def __enter__(self):
        for name, line in self.lines:
            tracefs(line)
            self.made.append(name)
        return self

    def __exit__(self, *_):
        for name in self.made:
            tracefs("-:%s/%s" % (GROUP, name), check=False)


# what happened to a thread: .what is "in", "out" (of take_gil()), "IN", "OUT" (of a CPU)
Event = collections.namedtuple("Event", "ns what preempted")


def events_of(data):
    """Returns {thread id: [Event]} of perf's file; None: perf has lost some."""
    said = subprocess.run(Perf.alone("exec perf script -i '%s' -F tid,time,event --ns --show-switch-events "
                                     "--show-lost-events" % data),
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode(errors="replace")
    if "PERF_RECORD_LOST" in said:
        return None
    out = collections.defaultdict(list)
    for tid, s, ns, call, switch, preempted in LINE.findall(said):
        out[int(tid)].append(Event(int(s) * 1000000000 + int(ns), call or switch, bool(preempted)))
    return {tid: sorted(events) for tid, events in out.items()}


Call = collections.namedtuple("Call", "ns slept lacked")


def calls_of(events):
    """Returns a thread's calls of take_gil(): how long each took, whether the thread slept, and for
    how long it was preempted meanwhile."""
    out, begin, slept, off, lacked = [], None, False, None, 0
    for event in events:
        if event.what == "in":
            begin, slept, lacked, off = event.ns, False, 0, None
        elif begin is None:
            continue
        elif event.what == "out":
            out.append(Call(event.ns - begin, slept, lacked))
            begin = None
        elif event.what == "OUT":
            off = event if event.preempted else None
            if not event.preempted and not slept:
                slept = True
                if lacked:  # it was preempted before: the wait begins here
                    begin, lacked = event.ns, 0
        elif off:
            lacked += event.ns - off.ns
            off = None
    return out


# .waits: {thread id: ns}. .lacked: ns of preemption within these. .cost: ns of a call's probes.
Truth = collections.namedtuple("Truth", "waits lacked cost calls")


def truth_of(events):
    calls = {tid: calls_of(each) for tid, each in events.items()}
    quick = [call.ns for each in calls.values() for call in each if not call.slept and not call.lacked]
    cost = statistics.median(quick) if quick else 0
    return Truth({tid: sum(max(0, call.ns - cost) for call in each if call.slept) for tid, each in calls.items()},
                 {tid: sum(call.lacked for call in each if call.slept) for tid, each in calls.items()},
                 cost, sum(len(each) for each in calls.values()))


def recorded_of(profile):
    at, out = [name for name, _ in profile.sample_types].index("gil_wait"), collections.Counter()
    for sample in profile.samples:
        out[int(sample.labels["tid"])] += sample.values[at]
    return out


def judge(truth, recorded):
    """Returns what is wrong, as text."""
    out, most = [], max(truth.waits.values())
    for tid, ns in sorted(truth.waits.items()):
        if ns > most / 20 and abs(recorded[tid] - ns) > WITHIN * ns + truth.lacked[tid]:
            out.append("thread %d waited %.2f ms in take_gil(), recorded %.2f" % (tid, ns / 1e6, recorded[tid] / 1e6))
    true, got, lacked = sum(truth.waits.values()), sum(recorded.values()), sum(truth.lacked.values())
    if abs(got - true) > WITHIN * true + lacked:
        out.append("all waited %.2f ms, recorded %.2f" % (true / 1e6, got / 1e6))
    return out


def line_of(stream, words):
    for line in iter(stream.readline, b""):
        if words in line:
            return
    raise RuntimeError("it ended before it said %s" % words.decode())


def run(krait, interpreter, seconds, folder):
    """Returns (perf's events, krait's profile)."""
    out, data = os.path.join(folder, "o.pb.gz"), os.path.join(folder, "perf.data")
    program = subprocess.Popen([interpreter.path, os.path.join(TESTS, "samples", "gil_uprobes_target.py"), str(seconds)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=interpreter.environment())
    perf = recorder = None
    try:
        line_of(program.stdout, b"ready")
        perf = subprocess.Popen(
            Perf.alone("exec perf record -q -m 4096 -k CLOCK_MONOTONIC --switch-events -p %d -e '%s:*' -o '%s'" % (
                program.pid, GROUP, data)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        recorder = subprocess.Popen([krait, "record", "-v", "--wall", "-p", str(program.pid), "-o", out],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        line_of(recorder.stderr, b"sampling began")
        subprocess.run(["sleep", "0.7"], check=True)  # perf doesn't say when it has begun
        program.stdin.write(b"x\n")
        program.stdin.flush()
        line_of(program.stdout, b"done")
        for process in recorder, perf:
            process.send_signal(2)
            said = process.communicate(timeout=60)[1]
            if process is recorder and process.returncode:
                raise RuntimeError(said.decode(errors="replace")[-300:])
        return events_of(data), pprof.read(out)
    finally:
        for process in (program, perf, recorder):
            if process and process.poll() is None:
                process.kill()
                process.wait()


def test(krait, interpreter, seconds):
    what = "gil-uprobes " + interpreter.name
    file = object_of(interpreter.path)
    places = copies(file)
    if not places:
        print("SKIP %s: %s has no symbol take_gil" % (what, os.path.basename(file)))
        return True
    folder = tempfile.mkdtemp(prefix="krait-uprobes-")
    try:
        with Probes(file, places):
            events, profile = run(krait, interpreter, seconds, folder)
    except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
        print("FAIL %s: %s" % (what, error))
        return False
    finally:
        shutil.rmtree(folder)
    if events is None:
        print("SKIP %s: perf lost events" % what)
        return True
    truth, recorded = truth_of(events), recorded_of(profile)
    if not truth.calls:
        print("FAIL %s: no call of take_gil() was seen" % what)
        return False
    wrong = judge(truth, recorded)
    true, got = sum(truth.waits.values()), sum(recorded.values())
    print("%s %s: %.2f ms in %d calls, recorded %.2f ms (%+.2f %%); probes %.2f us a call, preempted %.1f ms" % (
        "FAIL" if wrong else "PASS", what, true / 1e6, truth.calls, got / 1e6, 100 * (got - true) / max(1, true),
        truth.cost / 1e3, sum(truth.lacked.values()) / 1e6), flush=True)
    for text in wrong:
        print("  " + text)
    return not wrong and finds_faults(what, truth)


def finds_faults(what, truth):
    """Puts faults into a right recording."""
    first = max(truth.waits, key=truth.waits.get)
    exact = truth._replace(lacked=collections.Counter())
    changes = {
        "waits without the time until the thread runs": {tid: 0.82 * ns for tid, ns in truth.waits.items()},
        "one thread's waits are another's": {tid: ns * (0.9 if tid == first else 1.05) for tid, ns in truth.waits.items()},
        "one wait of fifty is missing": {tid: 0.98 * ns for tid, ns in truth.waits.items()},
    }
    good = not judge(exact, collections.Counter(truth.waits))
    for name, change in changes.items():
        found = judge(exact, collections.Counter(change))
        good &= bool(found)
        if not found:
            print("FAIL %s finds: %s" % (what, name))
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only")
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    krait = os.environ.get("KRAIT", os.path.join(oracle.ROOT, "build", "release", "krait"))
    missing = "needs root" if os.geteuid() else Perf.missing()
    if missing:
        print("SKIP gil-uprobes: %s" % missing)
        return 0
    rows = oracle.interpreters(True, options.only)
    return 0 if all([test(krait, row, options.seconds) for row in rows]) else 1


if __name__ == "__main__":
    sys.exit(main())
