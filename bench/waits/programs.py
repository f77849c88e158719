# SPDX-License-Identifier: BSD-2-Clause
"""Measures the run time of krait's kernel programs at task switches and wake-ups, minus that of an
empty program in the same windows, by the kernel's statistics: at switches of unrelated tasks,
and for waits of the target with and without their stacks. A wait is two switches: away from the
CPU, and back."""

import os
import sys
import time

import lib
from waits import tools

WINDOW = 0.5
PAIR = os.path.join(tools.HERE, "pair.py")
PIPES = os.path.join(tools.BENCH, "pipes")
FRAMES = 20


def cpus(one):
    """Returns the CPUs for two processes: twice the same CPU if @one, else two different CPUs."""
    have = sorted(os.sched_getaffinity(0))
    if len(have) < 2 and not one:
        raise lib.Skip("only one CPU")
    return (have[-1], have[-1]) if one else (have[0], have[1])


# With this priority other programs take few of the switches.
PRIORITY = -15


def first(pid=0):
    os.setpriority(os.PRIO_PROCESS, pid, PRIORITY)


def windows(k, n, value):
    """Computes value(Spent) for @n windows. Returns (the median, all values)."""
    got = []
    with tools.Empty() as empty:
        time.sleep(0.2)
        for _ in range(n):
            spent, before = tools.Spent(k, empty), counts(k)
            time.sleep(WINDOW)
            spent.end()
            spent.waits, spent.without = (b - a for a, b in zip(before, counts(k)))
            got.append(value(spent))
    return tools.median(got), got


def counts(k):
    """Returns (number of waits that are over, number of waits whose stack wasn't taken)."""
    return k.counter("WAITS"), k.counter("WAITS_LEFT")


def each(spent, kind):
    runs, ns = spent.of(kind)
    return ns / max(1, runs)


def note(values, rest=""):
    return "%.0f to %.0f in %d windows%s" % (min(values), max(values), len(values), rest)


IDLE = "import time\nprint(1, flush=True)\ntime.sleep(10000)"


def unrelated(n):
    """Yields the rows with what the kernel programs take when two processes that aren't recorded
    hand over a byte."""
    with tools.running([sys.executable, "-c", IDLE]) as (target, _):
        with lib.Krait(["--wall", "-p", str(target.pid)]) as k:
            tools.ready(k)
            for name, one in (("between two processes", True), ("to and from idle", False)):
                a, b = cpus(one)
                pipes = tools.start([PIPES, str(a), str(b)], preexec_fn=first)
                try:
                    switch, got = windows(k, n, lambda s: each(s, "switch"))
                    wake, wakes = windows(k, n, lambda s: each(s, "wake"))
                finally:
                    pipes.kill()
                    pipes.communicate()
                yield lib.Row("an unrelated switch, " + name, switch, "ns", 40, note=note(got))
            has = any(tools.kind_of(p) == "wake" for p in tools.programs(k.pid))
            yield lib.Row("an unrelated wake-up", wake, "ns", 30,
                          note=note(wakes) if has else "no program runs at wake-ups")


def pinned(pid, one):
    """Binds the two processes, or the two threads, of pair.py to the same CPU or to two CPUs."""
    tasks = [int(t) for t in os.listdir("/proc/%d/task" % pid)]
    tasks += [int(c) for c in lib.read("/proc/%d/task/%d/children" % (pid, pid)).split()]
    for task, cpu in zip(tasks, cpus(one)):
        os.sched_setaffinity(task, {cpu})
        first(task)


def wait(python, n, one, arguments, *options):
    """Measures waits of pair.py. Returns (ns for each wait, the values, the share of waits with a
    stack, the average length of a wait in seconds)."""
    taken = []

    def value(spent):
        taken.append(1 - spent.without / max(1, spent.waits))
        return spent.of("switch")[1] / max(1, spent.waits)

    with tools.running([python, PAIR, *arguments]) as (target, line):
        with lib.Krait(["--wall", "-p", line.strip(), *options]) as k:
            tools.ready(k)
            pinned(int(line), one)
            time.sleep(1)
            ns, got = windows(k, n, value)
    return ns, got, tools.median(taken)


NONE, ALL = ("--wait-budget", "0.1"), ("--wait-budget", "100")
WAITS = (
    # what is measured, whether on one CPU, arguments of pair.py, options of record, limit in ns
    ("without its stack, one CPU", True, ["3"], NONE, 150),
    ("without its stack, two CPUs", False, ["3"], NONE, 150),
    ("without its stack, threads with a GIL", False, ["3", "threads"], NONE, None),
    ("%d frames, one CPU" % FRAMES, True, [str(FRAMES)], ALL, 3000),
    ("%d frames, two CPUs" % FRAMES, False, [str(FRAMES)], ALL, 3000),
    ("%d frames, --native none" % FRAMES, False, [str(FRAMES)], ALL + ("--native", "none"), None),
)


def waits(n):
    python = lib.newest_interpreter()
    for what, one, arguments, options, most in WAITS:
        ns, got, share = wait(python, n, one, arguments, *options)
        yield lib.Row("a wait of the target, " + what, ns, "ns", most,
                      note=note(got, ", stacks of %.1f %%" % (100 * share)))


def hand_overs(pipes, seconds):
    before = tools.switches(pipes.pid)
    time.sleep(seconds)
    return (tools.switches(pipes.pid) - before) / seconds


def trampoline(seconds):
    """Two unrelated processes hand a byte to and fro. Returns how often they do so per second while
    krait's programs are switched on, divided by how often while the programs return at once. The
    kernel's statistics are off, so their cost isn't included."""
    with tools.running([sys.executable, "-c", IDLE]) as (target, _):
        with tools.Recording("--wall", "-p", str(target.pid)) as recording:
            pipes = tools.start([PIPES, *map(str, cpus(True))], preexec_fn=first)
            end, got = time.monotonic() + seconds, []
            try:
                while time.monotonic() < end:
                    row = {}
                    for name in tools.order(len(got), ("on", "off", "again")):
                        recording.switch(name == "on")
                        row[name] = hand_overs(pipes, 0.25)
                    got.append(row)
            finally:
                pipes.kill()
                pipes.communicate()
    middle, low, high = tools.ratio(got, lambda v: v, "on", "off")
    same = tools.ratio(got, lambda v: v, "again", "off")
    yield lib.Row("two unrelated processes over a pipe: hand-overs", middle, "x without",
                  note="%.3f..%.3f, A/A %.3f (%.3f..%.3f), %d rounds" % (low, high, *same, len(got)))


def run(options):
    n = max(3, int(options.seconds / 12))
    yield from unrelated(n)
    yield from waits(n)
    yield from trampoline(max(5, options.seconds / 8))
