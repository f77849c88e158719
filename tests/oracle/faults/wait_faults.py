#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""wait_faults.py [--only GLOB] [--seconds N]: is the judge of waits right, and does it find faults?

drivers/switches.py makes the recordings, without krait. Recordings without a fault must pass,
and so must recordings made from the kernel's trace points. Then the judge must find each fault
that a recorder of waits can have."""
import argparse
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import oracle  # noqa: E402
import waits  # noqa: E402
from drivers import switches  # noqa: E402
from judge import pprof  # noqa: E402
from judge import waits as judge  # noqa: E402

PERIOD = 200000  # one stack is captured for this many ns of waiting
TRIES = 3
# programs in which some waits are still going on at the end; trace points don't show those
STILL = ("throughout", "pools")
FAULTS = []


def fault(program, *kinds):
    """Declares a fault: the program that shows it, and the kinds of error that the judge may report
    for it."""
    def add(function):
        FAULTS.append((function, program, kinds))
        return function
    return add


def every(waits_, n):
    """Returns every @n-th of the waits."""
    return waits_[2 * n // 3::n]


# Faults in the waits themselves, before stacks are captured. Each function returns the waits that
# are left.

@fault("beside", "sum of all", "sum")
def one_switch_in_1000_dropped(all_, _window):
    """Fault: one wait in 1,000 is missing, short and long ones alike."""
    known = [w for w in all_ if w.state != "gil"]
    gone = set(map(id, every(sorted(known, key=lambda w: w.ns), 1000)))
    return [w for w in all_ if id(w) not in gone]


@fault("beside", "sum")
def a_lost_wake(all_, window):
    """Fault: one wake-up is missed, so that the thread seems to wait until the end."""
    lost = all_[len(all_) // 2]
    lost.ns = window[1] - lost.start
    return [w for w in all_ if w.tid != lost.tid or w.start <= lost.start]


@fault("beside", "sum")
def wakes_lost_now_and_then(all_, _window):
    """Fault: now and then a wake-up is missed, so that the wait seems to last until the end of the
    thread's next wait."""
    last = {}
    for i, wait in enumerate(all_):
        before = last.get(wait.tid)
        if before and i % 20 == 0:
            before.ns = wait.start - before.start
        last[wait.tid] = wait
    return all_


@fault("beside", "sum")
def ready_counts_as_waiting(all_, _window):
    for wait in all_:
        wait.ns += wait.ready
    return all_


@fault("beside", "sum")
def a_duration_of_the_wrong_thread(all_, _window):
    """Fault: the longest wait and one wait of another thread exchange their durations."""
    longest = max(all_, key=lambda w: w.ns)
    other = next(w for w in all_ if w.tid != longest.tid)
    longest.ns, other.ns = other.ns, longest.ns
    return all_


@fault("beside", "sum", "sum of all")
def some_waits_count_twice(all_, _window):
    return all_ + every(all_, 20)


@fault("beside", "stack")
def threads_mixed_up(all_, _window):
    """Fault: two threads that are switched at the same time get each other's stack."""
    for a, b in zip(every(all_, 50), every(all_[1:], 50)):
        a.frames, b.frames = b.frames, a.frames
    return all_


@fault("turns", "state")
def a_stale_stack(all_, _window):
    """Fault: now and then a wait gets the stack of the thread's previous wait."""
    last = {}
    for i, wait in enumerate([w for w in all_ if w.state != "gil"]):
        frames = wait.frames
        if i % 20 == 10:
            wait.frames = last.get(wait.tid, frames)
        last[wait.tid] = frames
    return all_


@fault("turns", "stack")
def a_stale_caller(all_, _window):
    """Fault: now and then a stack gets the callers of another wait's stack."""
    for i, wait in enumerate(all_):
        others = [w for w in all_[max(0, i - 40):i] if w.frames[-2:-1] != wait.frames[-2:-1]]
        if i % 20 == 0 and others:
            wait.frames = others[-1].frames[:-1] + wait.frames[-1:]
    return all_


@fault("turns", "state")
def a_reason_off_by_one(all_, _window):
    for wait in every([w for w in all_ if w.state != "gil"], 20):
        states = switches.STATES
        wait.shown = states[(states.index(wait.state) + 1) % len(states)]
    return all_


@fault("turns", "state")
def the_reason_of_the_wait_before(all_, _window):
    before = all_[0]
    for i, wait in enumerate([w for w in all_ if w.state != "gil"]):
        if i % 20 == 10:
            wait.shown = before.state
        before = wait
    return all_


@fault("contend", "state")
def the_gil_taken_for_a_lock(all_, _window):
    for wait in all_:
        wait.shown = "lock" if wait.state == "gil" else wait.state
    return all_


@fault("turns", "line")
def the_line_of_the_next_instruction(all_, _window):
    for wait in every(all_, 20):
        name, file, first, line = wait.frames[-1]
        wait.frames = wait.frames[:-1] + [[name, file, first, line + 1]]
    return all_


@fault("throughout", "sum")
def waits_begun_before_are_not_seen(all_, window):
    return [w for w in all_ if w.start >= window[0]]


@fault("throughout", "sum")
def waits_not_over_are_not_seen(all_, window):
    return [w for w in all_ if w.start + w.ns < window[1]]


@fault("throughout", "sum")
def one_thread_is_not_seen(all_, _window):
    return [w for w in all_ if w.tid != all_[0].tid]


@fault("pools", "idle")
def idle_taken_for_waiting(all_, _window):
    for wait in all_:
        wait.idle = False
    return all_


@fault("pools", "idle")
def waiting_taken_for_idle(all_, _window):
    for wait in every([w for w in all_ if w.state == "lock"], 20):
        wait.idle = True
    return all_


# Faults in the choice of the stacks that are captured, and in how often they are.

def of_captures(function):
    function.of_captures = True
    return function


@fault("turns", "share")
@of_captures
def short_waits_have_no_stack(captured):
    return [each for each in captured if each[0].ns > 4000000]


@fault("turns", "share")
@of_captures
def each_wait_weighs_the_same(captured):
    return [[wait, 1] for wait, _ in captured]


class Recorded(object):
    """One run of a program: its log, and what perf recorded of it."""

    def __init__(self, interpreter, name, seconds, folder, perf):
        self.name, self.folder = name, folder
        running = waits.Running(interpreter, waits.program(name),
                                os.path.join(folder, name + ".json"))
        try:
            running.wait_ready()
            recorder = perf and switches.Perf(running.tids(), os.path.join(folder, "perf.data"))
            time.sleep(0.5 if perf else 0)
            start = waits.now()
            time.sleep(seconds)
            self.window = start, waits.now()
            if recorder:
                recorder.stop()
            self.log = running.log()
            self.events = list(recorder.events()) if recorder else None
            self.lost = bool(recorder) and recorder.lost
        finally:
            running.stop()

    def judge(self, all_, change=None, exact=True):
        """Makes a recording of the waits, with the fault @change (None: without one), and judges
        it."""
        path = os.path.join(self.folder, self.name + ".pb.gz")
        late = getattr(change, "of_captures", False)
        if change and not late:
            all_ = change(all_, self.window)
        captured, sums = switches.capture(all_, self.window, PERIOD)
        switches.write(path, self.log, self.window, change(captured) if late else captured, sums)
        return judge.judge(pprof.read(path), self.log, idle=self.name == "pools", exact=exact)


def say(good, what, report):
    print("%s waits %s: %d captures, %.3f ms, off by %+.4f %% (+-%.4f); %s" % (
        "PASS" if good else "FAIL", what, report.captures, report.captured / 1e6, 100 * report.off,
        100 * report.unsure,
        ", ".join(report.kinds()) or "no fault"), flush=True)
    if not good:
        print("".join("  %s: %s\n" % each for each in report.faults[:6]), end="")
        print("".join("  %s\n" % each for each in report.examples[:2]), end="")
    return good


def by_perf(run, again):
    """Judges a recording made from the kernel's trace points. Makes a few attempts, because the
    hypervisor stops a CPU now and then, and perf loses events: one attempt must have no fault.
    Returns None if perf lost events in all of them."""
    report = None
    for _ in range(TRIES):
        if not run.lost:
            all_ = switches.by_perf(run.log, run.window, run.events)
            report = run.judge(all_, exact=False)
            if not report.faults:
                break
        run = again()
    return report


def test(interpreter, options, folder, perf):
    good = True
    for name in ("turns", "beside", "throughout", "contend", "pools"):
        if waits.program(name).lacks(interpreter):
            continue
        def record(name=name):
            return Recorded(interpreter, name, options.seconds, folder, perf)
        run = record()
        report = run.judge(switches.by_log(run.log, run.window))
        good &= say(not report.faults, "%s %s clean" % (interpreter.name, name), report)
        for function, program, kinds in FAULTS:
            if program == name:
                report = run.judge(switches.by_log(run.log, run.window), function)
                good &= say(bool(set(kinds) & set(report.kinds())), "%s %s %s" % (
                    interpreter.name, name, function.__name__.replace("_", " ")), report)
        if perf and name not in STILL:
            report, what = by_perf(run, record), "%s %s by the kernel's trace points" % (
                interpreter.name, name)
            if report:
                good &= say(not report.faults, what, report)
            else:
                print("SKIP waits %s: perf lost events in all of %d runs" % (what, TRIES))
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    parser.add_argument("--seconds", type=float, default=1.5)
    options = parser.parse_args()
    rows = oracle.interpreters(False, options.only)
    if not options.only and not os.environ.get("KRAIT_TEST_FULL"):
        rows = [rows[0], rows[-1]]
    # Recordings with perf take more than half of the time, so they are made only in the full tier.
    by_trace_points = options.only or os.environ.get("KRAIT_TEST_FULL")
    missing, good = switches.Perf.missing() if by_trace_points else "not asked for", True
    if missing and by_trace_points:
        print("SKIP waits by the kernel's trace points: %s" % missing)
    with tempfile.TemporaryDirectory() as folder:
        for interpreter in rows:
            good &= test(interpreter, options, folder, not missing)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
