# SPDX-License-Identifier: BSD-2-Clause
"""Tools for the measurements of waits: they compare the run time of krait's kernel programs with
that of an empty program, switch recordings on and off, save what was measured in each window of
time for the next run, and decide whether a ratio is precise enough to be judged."""

import contextlib
import hashlib
import json
import mmap
import os
import signal
import statistics
import struct
import subprocess
import sys
import time

import lib

BENCH = os.path.join(lib.BUILD, "bench")
HERE = os.path.dirname(os.path.abspath(__file__))


def programs(pid):
    """Returns {name: (runs, nanoseconds)} of the kernel programs of a process."""
    found = {}
    for number in os.listdir("/proc/%d/fdinfo" % pid):
        text = lib.read("/proc/%d/fdinfo/%s" % (pid, number))
        if "prog_type:" in text:
            at = lib.field(text, "prog_id")
            found[name_of(at)] = lib.field(text, "run_cnt"), lib.field(text, "run_time_ns")
    return found


names = {}  # {number of a BPF program: its name}; the kernel gives a number to one program only


def name_of(number):
    if number not in names:
        fd = lib.bpf(13, struct.pack("II", number, 0) + bytes(120))  # BPF_PROG_GET_FD_BY_ID
        # these bytes are bpf_prog_info.name
        names[number] = info(fd)[64:80].split(b"\0")[0].decode()
        os.close(fd)
    return names[number]


def info(fd):
    """Returns what the kernel says of a program or map: struct bpf_prog_info, bpf_map_info."""
    room = mmap.mmap(-1, mmap.PAGESIZE)
    view = (lib.ctypes.c_char * 256).from_buffer(room)
    lib.bpf(15, struct.pack("IIQ", fd, 256, lib.ctypes.addressof(view)) + bytes(112))
    return view.raw


def ready(k, timeout=60):
    """Waits until the program at task switches is attached. That program is the last one to be
    loaded."""
    end = time.monotonic() + timeout
    while time.monotonic() < end and k.process.poll() is None:
        for _, text in k.fdinfo("link_type:\traw_tracepoint"):
            if kind_of(name_of(lib.field(text, "prog_id"))) == "switch":
                return
        time.sleep(0.05)
    raise RuntimeError("%s: no program at task switches" % " ".join(k.command))


class Empty:
    """Empty programs at task switches and wake-ups. While these programs run, the kernel's
    statistics are on."""

    def __enter__(self):
        self.process = subprocess.Popen(
            [os.path.join(BENCH, "empty")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.first = self.answer()
        return self

    def answer(self):
        words = [int(word) for word in self.process.stdout.readline().split()]
        if len(words) != 4:
            raise lib.Skip("the empty programs don't run here")
        return {"switch": tuple(words[:2]), "wake": tuple(words[2:])}

    def now(self):
        self.process.stdin.write("\n")
        return self.answer()

    def __exit__(self, *_):
        self.process.communicate()


def kind_of(name):
    """Returns where a program runs: "switch", "wake", or "" for any other place."""
    return "switch" if "switch" in name else "wake" if "wak" in name else ""


class Spent:
    """How much more time krait's programs took than an empty program, from the creation of this
    object until end()."""

    def __init__(self, k, empty):
        self.k, self.empty = k, empty
        self.then = programs(k.pid), empty.now(), time.monotonic()

    def end(self):
        """Sets .seconds, and for each BPF program, by its name, how often (.runs) and how long
        (.ns) it ran."""
        before, bare, at = self.then
        after, bare_2 = programs(self.k.pid), self.empty.now()
        self.seconds = time.monotonic() - at
        self.switches = bare_2["switch"][0] - bare["switch"][0]
        self.least = {
            kind: (bare_2[kind][1] - bare[kind][1]) / max(1, bare_2[kind][0] - bare[kind][0])
            for kind in bare
        }
        self.runs = {n: after[n][0] - before.get(n, (0, 0))[0] for n in after}
        self.ns = {
            n: after[n][1]
            - before.get(n, (0, 0))[1]
            - self.least[kind_of(n) or "switch"] * self.runs[n]
            for n in after
        }
        return self

    def of(self, kind):
        """Returns (runs, ns) of all krait programs of this kind."""
        found = [n for n in self.ns if kind_of(n) == kind]
        return max((self.runs[n] for n in found), default=0), sum(self.ns[n] for n in found)

    def all_ns(self):
        return sum(self.ns.values())


class Recording:
    """krait record, which runs all the time and is switched on and off: by its perf events, and by
    the variable `armed`: while that is 0, krait's programs return at once. A program that returns
    at once still costs as much as an empty program."""

    def __init__(self, *arguments, settle=0.5):
        self.krait, self.settle = lib.Krait(list(arguments)), settle

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        self.k = self.stack.enter_context(self.krait)
        ready(self.k) if "--wall" in self.krait.command else self.k.program()
        time.sleep(self.settle)
        self.events = self.stack.enter_context(lib.PerfEvents(self.k.pid))
        self.armed_at = int(subprocess.check_output([os.path.join(BENCH, "offsets")]))
        self.page = self.map_variables()
        return self

    def map_variables(self):
        for _, text in self.k.fdinfo("map_type:\t2\n"):  # BPF_MAP_TYPE_ARRAY
            m = lib.BpfMap(lib.field(text, "map_id"))
            if m.name.endswith(".bss"):
                return mmap.mmap(m.fd, (self.armed_at | mmap.PAGESIZE - 1) + 1)
            os.close(m.fd)
        raise RuntimeError("krait has no map of variables")

    def switch(self, on):
        self.events.switch(on)
        self.page[self.armed_at] = on

    @contextlib.contextmanager
    def on(self):
        self.switch(1)
        yield
        self.switch(0)

    def __exit__(self, *what):
        self.switch(1)
        self.page.close()
        self.stack.__exit__(*what)


class Store:
    """Keeps rounds of windows in a file, each as a line of JSON, so that a measurement that was cut
    short can go on. Rounds that were measured with another krait don't count."""

    def __init__(self, path):
        self.path = path
        with open(lib.KRAIT, "rb") as f:
            self.build = hashlib.sha256(f.read()).hexdigest()[:16]

    def rounds(self, what):
        lines = lib.read(self.path).splitlines() if self.path else []
        kept = [json.loads(line) for line in lines]
        return [k["round"] for k in kept if (k["build"], k["what"]) == (self.build, what)]

    def add(self, what, one):
        if self.path:
            with open(self.path, "a") as f:
                f.write(json.dumps({"build": self.build, "what": what, "round": one}) + "\n")
        return one


def more(store, what, seconds, least, make):
    """Measures more rounds: calls @make until the time is over and there are at least @least
    rounds. Returns all rounds, also those that were kept from an earlier run."""
    got, end = store.rounds(what), time.monotonic() + seconds
    while time.monotonic() < end or len(got) < least:
        got.append(store.add(what, make(len(got))))
        if len(got) % 10 == 0:
            print("  %s: %d rounds" % (what, len(got)), file=sys.stderr)
    return got


def order(i, names):
    """Returns the names in an order that differs from round to round."""
    names = list(names)
    at = i // 2 % len(names)
    turned = names[at:] + names[:at]
    return turned[::-1] if i % 2 else turned


def ratio(rounds, value, a, b):
    """Returns the median of value(a) / value(b) over the rounds, and its 95 % interval."""
    return lib.median_interval([value(r[a]) / value(r[b]) for r in rounds], 1000)


def judged(what, rounds, value, arms, limit, instead):
    """Returns a row with the ratio of two arms (kinds of window), the first two of @arms: (with the
    recording, without it, again without it). A @limit below 1 means that the ratio must be at least
    that. The ratio counts only if the machine was quiet: for the two arms without the recording,
    the interval of their ratio must be narrower than half of what the limit allows. Otherwise
    @instead counts, a ratio computed from the run time of the kernel programs."""
    on, off, again = arms
    middle, low, high = ratio(rounds, value, on, off)
    same, same_low, same_high = ratio(rounds, value, again, off)
    counts = same_high - same_low < abs(1 - limit) / 2
    note = "%.3f..%.3f, A/A %.3f (%.3f..%.3f), %d rounds" % (
        low, high, same, same_low, same_high, len(rounds))
    if not counts:
        note = "BPF time: the ratio was %.3f in %s" % (middle, note)
    return lib.Row(what, middle if counts else instead, "x without", limit, limit < 1, note)


def start(command, **options):
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)


@contextlib.contextmanager
def running(command, **options):
    """Runs a program whose first line on stdout says that it is ready. Yields (process, line)."""
    process = start(command, **options)
    try:
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def switches(pid):
    """Returns how often the threads of a process have left a CPU."""
    n = 0
    for tid in os.listdir("/proc/%d/task" % pid):
        text = lib.read("/proc/%d/task/%s/status" % (pid, tid))
        n += lib.field(text, "voluntary_ctxt_switches")
        n += lib.field(text, "nonvoluntary_ctxt_switches")
    return n


def load():
    return float(lib.read("/proc/loadavg").split()[0])


def median(values):
    return statistics.median(values)


def interrupt(process):
    """Ends a profiler by SIGINT, as a user would do with Ctrl-C."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
