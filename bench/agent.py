# SPDX-License-Identifier: BSD-2-Clause
"""What krait agent costs when it records at 99 Hz and with waits: the CPU time of all its processes
and, in a row of its own, the run time of its kernel programs. Both are measured beside 100
processes that take 30 % of the CPUs, beside 500 starts of /bin/true a second, and beside 40
starts of Python a second. Memory is the highest Pss of the agent's processes plus what the
kernel counts for the agent's BPF maps. The ring buffers count in both numbers.

--other KRAIT compares two builds: the agent of the program KRAIT and the agent of this build record
the same 100 processes at once. The ratio is the CPU time of this agent divided by that of the other
agent, in the same windows of time."""

import contextlib
import glob
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import lib
import rest

MIB = 1 << 20
MIXED = os.path.join(lib.ROOT, "bench/programs/mixed.py")
PROCESSES = 100
SETTLE = 10
STEP = 5  # seconds between two measurements of memory
WINDOW = 10  # seconds of each window in which two agents are compared


class Agent(lib.Krait):
    """Runs krait agent in the background, with a store in a directory of its own."""

    def __init__(self, store, krait=lib.KRAIT):
        super().__init__([])
        self.store = store
        # The agent has no limit of CPU time, so that the measurement shows how much it takes
        # without a limit.
        self.command = [krait, "agent", "run", "--wall", "--max-cpu", "100", "--store", store]

    def __enter__(self):
        self.process = lib.in_background(self.command)
        self.pid = self.process.pid
        said = self.process.stderr.readline()
        if "recording into" not in said:
            raise RuntimeError(said + self.process.stderr.read())
        return self

    def stored(self):
        """Returns (how many bytes of the store are in use, how many samples it has)."""
        text = subprocess.run(
            [lib.KRAIT, "agent", "status", "--store", self.store],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        ).stdout
        words = next(l for l in text.splitlines() if l.startswith("keeps")).split()
        used = float(words[words.index("MiB,") - 1]) - float(words[-4])
        return used * MIB, int(words[1])

    def memory(self):
        """Returns the Pss of all of the agent's processes, and the memory that the kernel counts
        for the agent's BPF maps."""
        texts = [lib.read("/proc/%d/smaps_rollup" % pid) for pid in rest.family(self.pid)]
        return (sum(lib.field(text, "Pss") for text in texts) << 10) + self.map_bytes()


@contextlib.contextmanager
def mixed(busy):
    process = subprocess.Popen(
        [lib.newest_interpreter(), MIXED, str(PROCESSES), str(busy)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # The load has a session of its own, because the scheduler shares the CPUs out between
        # sessions.
        start_new_session=True,
    )
    try:
        if not process.stdout.readline():
            raise RuntimeError("mixed.py ended")
        yield
    finally:
        process.stdin.close()
        process.wait()


def costs(agent):
    """Returns how many CPU seconds have been used by the agent's process that samples, by its child
    processes, and by the kernel programs."""
    pids = rest.family(agent.pid)
    own = [rest.cpu_seconds(pid) for pid in pids]
    return own[0], sum(own[1:]), rest.program_seconds(agent)


def watch(load, seconds):
    """Watches an agent beside a load. Returns (shares of a CPU in the order of costs(), the most
    memory that the agent used, what stored() returned)."""
    store, most = tempfile.mkdtemp(prefix="krait-agent-"), 0
    try:
        with load, lib.BpfStats(), Agent(store) as agent:
            time.sleep(SETTLE)
            before, began = costs(agent), time.monotonic()
            while time.monotonic() < began + seconds:
                time.sleep(min(STEP, seconds))
                most = max(most, agent.memory())
            took = time.monotonic() - began
            shares = [(b - a) / took for a, b in zip(before, costs(agent))]
            return shares, most, agent.stored()
    finally:
        shutil.rmtree(store)


def windows(seconds, other):
    """Runs this agent and the other one together. Returns for each window of time what each agent
    took, as a pair: shares of a CPU in the order of costs()."""
    stores = [tempfile.mkdtemp(prefix="krait-agent-") for _ in range(2)]
    try:
        with mixed(0.3 * os.cpu_count()), lib.BpfStats(), Agent(stores[0]) as a, Agent(
                stores[1], other) as b:
            time.sleep(SETTLE)
            got, at = [(costs(a), costs(b))], [time.monotonic()]
            while at[-1] < at[0] + seconds:
                time.sleep(WINDOW)
                got.append((costs(a), costs(b)))
                at.append(time.monotonic())
        return [
            [[(y - x) / (t - s) for x, y in zip(*pair)] for pair in zip(before, after)]
            for before, after, s, t in zip(got, got[1:], at, at[1:])
        ]
    finally:
        for store in stores:
            shutil.rmtree(store)


# what is compared: (name, function that computes the compared value from the result of costs())
COMPARED = (
    ("krait", lambda c: c[0] + c[1]),
    ("sampler", lambda c: c[0]),
    ("kernel programs", lambda c: c[2]),
)


def compare(seconds, other):
    taken = windows(seconds, other)
    for what, of in COMPARED:
        pairs = [[100 * of(c) for c in window] for window in taken]
        new, old = (statistics.median(side) for side in zip(*pairs))
        ratio = lib.median_interval([a / b for a, b in pairs])
        yield lib.Row(
            "%d processes, two agents: %s" % (PROCESSES, what),
            new,
            "% of a CPU",
            note="the other %.3f, ratio %.3f (95 %%: %.3f to %.3f), %d windows of %d s"
            % (old, *ratio, len(pairs), WINDOW),
        )


def rows(name, limit, shares, note):
    sampler, children, programs = (100 * share for share in shares)
    yield lib.Row(name + ": krait", sampler + children, "% of a CPU", limit,
                  note="sampler %.2f, writer and reader %.2f%s" % (sampler, children, note))
    yield lib.Row(name + ": kernel programs", programs, "% of a CPU")


def run(options):
    seconds = options.seconds
    if options.other:
        yield from compare(10 * seconds, options.other)
        return
    shares, most, (used, samples) = watch(mixed(0.3 * os.cpu_count()), 10 * seconds)
    name = "%d processes" % PROCESSES
    note = "; %.0f s, %.0f samples a second" % (10 * seconds, samples / (10 * seconds + SETTLE))
    yield from rows(name, 0.3, shares, note)
    yield lib.Row(name + ": memory", most / MIB, "MiB", 64)
    yield lib.Row(name + ": store", used / samples, "bytes a sample")
    for name, arguments, limit in rest.SITUATIONS[1:]:
        shares, most, _ = watch(rest.storm(arguments), seconds)
        yield from rows(name, limit, shares, "; %.1f MiB" % (most / MIB))
