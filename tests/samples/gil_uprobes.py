#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Is `gil_wait` how long CPython itself waits for the GIL? perf has uprobes on the beginning and
the return of take_gil() and drop_gil(), in the same seconds and threads that krait records. A
thread that was asked to give the GIL away waits in drop_gil() until another thread has the GIL.

gil_uprobes.py [--only GLOB] [--seconds N]

Needs interpreters with symbols. The test judges how long threads slept in these functions, until
they had a CPU again. Before the first sleep and between two sleeps a thread looks at the GIL, and
it may be preempted. Such times are no waits (docs/decisions/0024), and are printed beside the
result. A thread that is preempted in a futex call may be woken up there, and counts as waiting, so
krait may record more than the time slept, but the excess may not be longer than the preemption."""
import argparse
import collections
import os
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "oracle"))
import oracle  # noqa: E402
from drivers.switches import Perf  # noqa: E402
from judge import pprof  # noqa: E402

WITHIN = 0.005
GROUP = "krait_gil_%d" % os.getpid()
NAME = re.compile(r"^([0-9a-f]+) [tT] ((?:take|drop)_gil(?:\.\w+)*)$", re.M)
# " +", not "\s+": "\s" would also match the end of a line. Numbers below 10,000 have blanks before
# them.
LINE = re.compile(r"^ *(\d+) +(\d+)\.(\d+): +(?:%s:(in|out)|PERF_RECORD_SWITCH(?:_CPU_WIDE)? (IN|OUT) *(preempt)?)" % GROUP, re.M)


def object_of(path):
    """Returns the file that has the interpreter's code: the executable, or its libpython."""
    path = os.path.realpath(path)
    said = subprocess.run([path, "-c", "import sys; print(open('/proc/self/maps').read())"],
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    return next((line.split()[-1] for line in said.splitlines() if "/libpython" in line), None) or next(
        line.split()[-1] for line in said.splitlines() if "r-xp" in line)


def copies(file):
    """Returns the offsets in the file of all copies of take_gil() and drop_gil(); [] if the file
    lacks one of the two."""
    said = subprocess.run(["nm", file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
    found = [(name, offset(file, int(addr, 16))) for addr, name in NAME.findall(said) if not name.endswith(".cold")]
    return [place for _, place in found] if len({name[:4] for name, _ in found}) == 2 else []


def offset(file, addr):
    """Returns the offset in the file of the code that symbols place at address @addr."""
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
    """Sets uprobes at these offsets of a file while the with block runs."""

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


# .what: "in" or "out": the thread enters or leaves one of the two functions; "IN" or "OUT": the
# thread gets or leaves a CPU
Event = collections.namedtuple("Event", "ns what preempted")


def events_of(data):
    """Returns {thread id: [Event]} of perf's file; None if perf has lost events."""
    said = subprocess.run(Perf.alone("exec perf script -i '%s' -F tid,time,event --ns --show-switch-events "
                                     "--show-lost-events" % data),
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode(errors="replace")
    if "PERF_RECORD_LOST" in said:
        return None
    out = collections.defaultdict(list)
    for tid, s, ns, call, switch, preempted in LINE.findall(said):
        out[int(tid)].append(Event(int(s) * 1000000000 + int(ns), call or switch, bool(preempted)))
    return {tid: sorted(events) for tid, events in out.items()}


# .waits: {thread id: ns that the thread slept in the two functions}. .lacked: {thread id: ns that
# it was preempted in them}. .whole: ns of all calls of the two functions. .calls: the number of
# these calls.
Truth = collections.namedtuple("Truth", "waits lacked whole calls")


def take(event, state, out):
    """Adds the time that ends with @event to one thread's sums, @out."""
    if event.what == "in":
        state["begin"], state["off"] = event.ns, None
    elif event.what == "out" and state["begin"]:
        out["whole"] += event.ns - state["begin"]
        out["calls"] += 1
        state["begin"] = None
    elif event.what == "OUT" and state["begin"]:
        state["off"] = event
    elif event.what == "IN" and state["off"]:
        out["preempted" if state["off"].preempted else "sleep"] += event.ns - state["off"].ns
        state["off"] = None


def truth_of(events):
    times = {}
    for tid, each in events.items():
        times[tid], state = collections.Counter(), {"begin": None, "off": None}
        for event in each:
            take(event, state, times[tid])
    return Truth({tid: t["sleep"] for tid, t in times.items()}, {tid: t["preempted"] for tid, t in times.items()},
                 sum(t["whole"] for t in times.values()), sum(t["calls"] for t in times.values()))


def recorded_of(profile):
    at, out = [name for name, _ in profile.sample_types].index("gil_wait"), collections.Counter()
    for sample in profile.samples:
        out[int(sample.labels["tid"])] += sample.values[at]
    return out


def is_off(true, got, lacked):
    return not (1 - WITHIN) * true <= got <= (1 + WITHIN) * true + lacked


def judge(truth, recorded):
    """Compares the recording with the truth. Returns what is wrong, as text."""
    out, most = [], max(truth.waits.values())
    for tid, ns in sorted(truth.waits.items()):
        if ns > most / 20 and is_off(ns, recorded[tid], truth.lacked[tid]):
            out.append("thread %d waited %.2f ms for the GIL, recorded %.2f" % (tid, ns / 1e6, recorded[tid] / 1e6))
    true, got = sum(truth.waits.values()), sum(recorded.values())
    if is_off(true, got, sum(truth.lacked.values())):
        out.append("all waited %.2f ms, recorded %.2f" % (true / 1e6, got / 1e6))
    return out


def line_of(stream, words):
    for line in iter(stream.readline, b""):
        if words in line:
            return
    raise RuntimeError("it ended before it said %s" % words.decode())


class Control(object):
    """Starts perf's recording through a FIFO, and waits until perf says that it records."""

    def __init__(self, folder):
        self.paths = [os.path.join(folder, name) for name in ("ask", "answer")]
        for path in self.paths:
            os.mkfifo(path)
        # O_RDWR, because opening a FIFO in one direction only would wait for the other end
        self.files = [os.open(path, os.O_RDWR | os.O_NONBLOCK) for path in self.paths]

    def option(self):
        return "-D -1 --control 'fifo:%s,%s'" % tuple(self.paths)

    def begin(self):
        os.write(self.files[0], b"enable\n")
        if not select.select(self.files[1:], [], [], 60)[0]:
            raise RuntimeError("perf doesn't begin")

    def close(self):
        for fd in self.files:
            os.close(fd)


def run(krait, interpreter, seconds, folder):
    """Runs the program under perf and krait. Returns (perf's events, krait's profile)."""
    out, data = os.path.join(folder, "o.pb.gz"), os.path.join(folder, "perf.data")
    program = subprocess.Popen([interpreter.path, os.path.join(TESTS, "samples", "gil_uprobes_target.py"), str(seconds)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=interpreter.environment())
    perf = recorder = None
    control = Control(folder)
    try:
        line_of(program.stdout, b"ready")
        perf = subprocess.Popen(
            Perf.alone("exec perf record -q -m 4096 -k CLOCK_MONOTONIC --switch-events -p %d -e '%s:*' %s -o '%s'" % (
                program.pid, GROUP, control.option(), data)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        recorder = subprocess.Popen([krait, "record", "-v", "--wall", "-p", str(program.pid), "-o", out],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        line_of(recorder.stderr, b"sampling began")
        control.begin()
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
        control.close()
        for process in (program, perf, recorder):
            if process and process.poll() is None:
                process.kill()
                process.wait()


def test(krait, interpreter, seconds):
    what = "gil-uprobes " + interpreter.name
    file = object_of(interpreter.path)
    places = copies(file)
    if not places:
        print("SKIP %s: %s has no symbols take_gil and drop_gil" % (what, os.path.basename(file)))
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
        print("FAIL %s: no call was seen" % what)
        return False
    wrong = judge(truth, recorded)
    true, got = sum(truth.waits.values()), sum(recorded.values())
    print("%s %s: slept %.2f ms in %d calls, recorded %.2f ms (%+.2f %%); the calls took %.2f ms, %.1f of them preempted" % (
        "FAIL" if wrong else "PASS", what, true / 1e6, truth.calls, got / 1e6, 100 * (got - true) / max(1, true),
        truth.whole / 1e6, sum(truth.lacked.values()) / 1e6), flush=True)
    for text in wrong:
        print("  " + text)
    return not wrong and finds_faults(what, truth)


def finds_faults(what, truth):
    """Puts faults into a recording that is right. Checks that each fault is found."""
    first = max(truth.waits, key=truth.waits.get)
    exact = truth._replace(lacked=collections.Counter())
    changes = {
        "waits without the time until the thread runs": {tid: 0.82 * ns for tid, ns in truth.waits.items()},
        "one thread's waits are another's": {tid: ns * (0.9 if tid == first else 1.05) for tid, ns in truth.waits.items()},
        "one wait of a hundred is missing": {tid: 0.99 * ns for tid, ns in truth.waits.items()},
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
