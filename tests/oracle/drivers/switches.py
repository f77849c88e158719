# SPDX-License-Identifier: BSD-2-Clause
"""Makes recordings of waits without krait, from the program's own log or from the kernel's trace
points.

by_log() takes a program's waits from its log. by_perf() takes the times of the waits from perf's
record of sched_switch and sched_wakeup, and only the stacks from the log. write() writes the
profile that a profiler would make of these waits: stacks are captured by systematic sampling of
waiting time, while the sums of waiting time by state are exact. Faults can be made in the waits
and in what is captured of them (faults/wait_faults.py)."""
import collections
import random
import re
import subprocess

from judge import pprof
from judge import waits as judge

STATES = ("sleep", "lock", "gil", "net", "poll", "loop", "pipe", "disk", "child", "page-fault",
          "signal", "stopped", "frozen", "traced", "other: fadvise64")
PYTHON = "[python 3]"
SWITCH = re.compile(r"\s*(\d+)\.(\d+):\s+sched:sched_switch:.* prev_pid=(\d+) prev_prio=\S+ "
                    r"prev_state=(\S+) ==> next_comm=.* next_pid=(\d+) ")
WAKEUP = re.compile(r"\s*(\d+)\.(\d+):\s+sched:sched_wakeup:.* pid=(\d+) ")


class Wait(object):
    """A wait: from .start on, the thread waited for .ns, and was then ready to run for .ready.
    .frames has [name, file, first line, line] for each frame, root first."""

    def __init__(self, tid, start, ns, ready, frames, state):
        self.tid, self.start, self.ns, self.ready = tid, start, ns, ready
        self.frames, self.state, self.idle = frames, state, False

    def clipped(self, window):
        """Returns how long the thread waited within the window. The program doesn't know when
        exactly a thread waited and when it was ready to run. So if the window's edge falls in
        between, the waiting is taken to be spread evenly."""
        return int(self.ns * judge.inside(self.start, self.start + self.ns + self.ready, window))


def states_of(log, thread, stack):
    place = log.place(thread.stacks[stack])
    return log.states(place) if place else thread.library


def state_of(log, thread, stack):
    """Returns the state of a wait with this stack (the first one, if the source allows several)."""
    state = states_of(log, thread, stack)[0]
    return "other: fadvise64" if state == "other" else state


def by_log(log, window):
    """Returns all waits in the program's log, in order of time. Between two of these, a thread can
    only wait for the GIL."""
    out = []
    for tid, thread in log.threads.items():
        less, waits = 0, thread.waits
        for i, (a, b) in enumerate(zip(thread.readings, thread.readings[1:])):
            # A thread reads its three clocks one after the other. So the waiting time computed for
            # a short interval may be below 0. Then it counts as 0, and the next interval gets that
            # much less.
            ns, less = judge.waiting(a, b) + less, 0
            if ns < 0:
                ns, less = 0, ns
            stack = waits[min(i // 2, len(waits) - 1)].stack
            state = state_of(log, thread, stack) if i % 2 else "gil"
            out.append(Wait(tid, a[0], ns, b[0] - a[0] - ns, thread.frames[stack], state))
        if thread.open:
            last = waits[-1]
            out.append(Wait(tid, last.start, window[1] - last.start, 0, thread.frames[last.stack],
                            state_of(log, thread, last.stack)))
            out[-1].idle = "idle" in states_of(log, thread, last.stack)
    return sorted((w for w in out if w.ns and w.start < window[1] and
                   w.start + w.ns + w.ready > window[0]), key=lambda w: w.start)


class Sampler(object):
    """Chooses which of a thread's waits have their stacks captured, by systematic sampling of its
    waiting time."""

    def __init__(self, period, chance):
        self.period, self.chance = period, chance
        self.left = chance.uniform(0, period)

    def captures(self, ns):
        """Returns how often a wait of @ns is captured."""
        count = 0
        self.left -= ns
        while self.left <= 0:
            count += 1
            self.left += self.period * self.chance.uniform(0.5, 1.5)
        return count


def capture(waits, window, period):
    """Simulates a recording of the waits. Returns ([[wait, how often its stack was captured]],
    {(tid, state): exact sum in ns})."""
    chance, samplers = random.Random(7), {}
    captured, sums, lasts = [], collections.Counter(), {}
    for wait in waits:
        ns = wait.clipped(window)
        sums[wait.tid, wait.state] += ns
        lasts[wait.tid, wait.state] = wait
        if wait.tid not in samplers:
            samplers[wait.tid] = Sampler(period, chance)
        count = samplers[wait.tid].captures(ns)
        if count:
            captured.append([wait, count])
    seen = set((wait.tid, wait.state) for wait, _ in captured)
    captured += [[wait, 1] for key, wait in lasts.items() if key not in seen]
    return captured, sums


def write(path, log, window, captured, sums):
    """Writes a profile of the captured waits. The values are scaled so that they add up to the
    exact sum of each thread and state."""
    writer = pprof.Writer((("samples", "count"), judge.VALUE), time=window[0] + log.real,
                          duration=window[1] - window[0])
    counts, stacks = collections.Counter(), collections.Counter()
    for wait, count in captured:
        counts[wait.tid, wait.state] += count
        frames = tuple(map(tuple, wait.frames))
        stacks[wait.tid, wait.state, shown(wait), wait.idle, frames] += count
    for (tid, state, said, idle, frames), count in stacks.items():
        stack = [writer.location(PYTHON, name, file, first, line, 0)
                 for name, file, first, line in frames]
        labels = {"pid": log.pid, "tid": tid, "state": said}
        writer.sample(stack, dict(labels, idle="yes") if idle else labels,
                      values=(count, sums.get((tid, state), 0) * count // counts[tid, state]))
    writer.save(path)


def shown(wait):
    return getattr(wait, "shown", wait.state)


class Perf(object):
    """Runs perf, which records when the threads of a program leave a CPU, are woken, and get a CPU.
    """

    def __init__(self, tids, out):
        self.out, self.lost = out, False
        switch = " || ".join("prev_pid==%d || next_pid==%d" % (t, t) for t in tids)
        wakeup = " || ".join("pid==%d" % t for t in tids)
        self.process = subprocess.Popen(
            self.alone("exec perf record -q -a -m 4096 -k CLOCK_MONOTONIC -o '%s' "
                       "-e sched:sched_switch --filter '%s' -e sched:sched_wakeup --filter '%s' -- "
                       "sh -c 'echo; exec sleep 3600'" % (out, switch, wakeup)),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.process.stdout.readline()

    @staticmethod
    def alone(command):
        """Returns a command that runs @command in a mount namespace with tracefs mounted."""
        return ["unshare", "-m", "sh", "-c",
                "mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; " + command]

    @classmethod
    def missing(cls):
        """Returns why perf can't record these events, or None if it can."""
        command = cls.alone("perf record -q -a -o /dev/null -e sched:sched_switch -- true")
        try:
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  timeout=60, check=False)
        except OSError as error:
            return str(error)
        said = done.stderr.decode(errors="replace").strip()
        return said.split("\n")[-1] if done.returncode else None

    def stop(self):
        self.process.send_signal(2)
        self.process.wait()
        self.process.stdout.close()

    def events(self):
        """Yields (ns, what, tid, state), where `what` is "out", "woken" or "in". After the last
        event, .lost says whether perf lost events."""
        command = "exec perf script -i '%s' -F time,event,trace --ns --show-lost-events" % self.out
        script = subprocess.Popen(self.alone(command), stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, encoding="utf-8", errors="replace")
        with script:
            for line in script.stdout:
                self.lost = self.lost or "PERF_RECORD_LOST" in line
                found = SWITCH.match(line)
                if found:
                    at, out, state, following = self.numbers(*found.groups())
                    yield at, "out", out, state
                    yield at, "in", following, ""
                    continue
                found = WAKEUP.match(line)
                if found:
                    at, pid, _, _ = self.numbers(*found.groups(), "", "0")
                    yield at, "woken", pid, ""

    @staticmethod
    def numbers(seconds, ns, pid, state, other):
        return int(seconds) * 1000000000 + int(ns), int(pid), state, int(other)


def by_perf(log, window, events):
    """Returns the waits that the kernel recorded. Their stacks are those that the log has for these
    times."""
    out, asleep, woken = [], {}, {}
    for at, what, tid, state in events:
        if tid not in log.threads:
            continue
        if what == "out" and not state.startswith("R"):
            asleep[tid] = at
            woken.pop(tid, None)
        elif what == "woken":
            woken[tid] = at
        elif what == "in" and tid in asleep:
            start = asleep.pop(tid)
            ended = woken.pop(tid, at)
            out.append((tid, start, ended - start, at - ended))
    out += [(tid, start, woken.get(tid, window[1]) - start, 0) for tid, start in asleep.items()]
    return sorted((named(log, *wait) for wait in out), key=lambda w: w.start)


def named(log, tid, start, ns, ready):
    """Returns a wait with the stack and the state that the log has for its start."""
    thread = log.threads[tid]
    at = thread.wait_at(start)
    if at is None:
        return Wait(tid, start, ns, ready, thread.frames[0], "gil")
    return Wait(tid, start, ns, ready, thread.frames[at.stack],
                state_of(log, thread, at.stack))
