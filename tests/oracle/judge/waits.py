# SPDX-License-Identifier: BSD-2-Clause
"""Compares what a profile says of waits with what the program itself knows (targets/waits).

judge() has no input but its arguments, and no effect but its result. A thread reads its clocks
before and after each wait. Between two readings it waited for the elapsed time, less its CPU
time, less the time that it was ready without a CPU. This waiting time is the truth. So is the
stack of each wait, which the program logs, and the state of each wait, which a comment in the
program's source gives. The profile has a value off_cpu/nanoseconds and labels "tid" and "state"."""
import bisect
import collections
import json
import re

VALUE = ("off_cpu", "nanoseconds")
# states of off_cpu that a program can't know of itself, so that only sums are compared
NO_WAITS = ("runnable", "stolen")
SUM = 0.001  # the error that a thread's sum may have, as a share of it
# the error that a short sum may have, in ns, because a thread can't read two clocks at one moment
SUM_NS = 50000
ALL = 0.0003  # the error that the sum of all threads may have, as a share of it
RIGHT = 0.999  # which share of the captured time must be at the right place
# States of a thread that comes back from a wait: it may wait for the GIL, and in free-threaded
# builds until all threads, which one thread has stopped, may go on. At most this share of a
# thread's waiting may be of this kind: GIL + GIL_TIMES * gil_share().
ON_RETURN = ("gil", "stop-the-world")
GIL, GIL_TIMES = 0.02, 4
TICK_NS = 10000000  # unit of the times in /proc/stat, in ns
# CPU time that the hypervisor steals from a running thread looks like waiting. The kernel tells
# only how much was stolen from all threads together. A thread is allowed STOLEN times its share (by
# CPU time) of that, and one stop of STOP_NS, which may hit any thread. A thread that uses a disk is
# allowed all stolen time, because the hypervisor does a disk's work on the same CPU.
STOLEN, STOP_NS = 3, 6000000
# the error that a stack's share may have: in standard errors, and as a share of all
ERRORS, POINTS = 3, 0.02
FEW = 30  # a stack's share is judged only if it is of at least this many captures
# with at least this many captures, a stack's share may not be off by more than POINTS
MANY = 5000
MARK = re.compile(r"# waits( in)?: (.+)")


class Wait(object):
    """One wait. stack: number of its stack. start, end: its times; end is None if it isn't over.
    ns: how long the thread waited. asked: for how long it asked to wait, if that is known; the
    rest of ns it waited for the GIL."""

    __slots__ = ("stack", "start", "end", "ns", "asked")

    def __init__(self, fields):
        self.stack, self.start = fields[0], fields[1]
        self.end = fields[4] if len(fields) > 4 else None
        self.ns = None if self.end is None else waiting(fields[1:4], fields[4:7])
        self.asked = fields[7] if len(fields) > 7 else 0


def waiting(first, last):
    """Returns how long a thread waited between two readings of (time, CPU time, time that it was
    ready without a CPU)."""
    return (last[0] - first[0]) - (last[1] - first[1]) - (last[2] - first[2])


def inside(start, end, window):
    """Returns which share of the time from @start to @end is in the window."""
    if end <= start:
        return float(window[0] <= start <= window[1])
    return max(0, min(end, window[1]) - max(start, window[0])) / float(end - start)


class Thread(object):
    """What a thread of the test program logged of its own waits."""

    def __init__(self, told, log):
        self.tid, self.log, self.library = told["tid"], log, told["library"].split("|")
        self.stacks = [tuple((f[1], f[2], f[3]) for f in stack) for stack in told["stacks"]]
        self.frames = told["stacks"]
        self.waits = [Wait(fields) for fields in told["waits"]]
        self.readings = [told["begin"]]
        for fields in told["waits"]:
            self.readings += [fields[i:i + 3] for i in range(1, len(fields) - 2, 3)]
        self.readings += [told["end"]] if told["end"] else []
        self.open = bool(self.waits) and self.waits[-1].end is None
        self.places = set(log.place(stack) for stack in self.stacks)
        states = set(state for place in self.places for state in log.states(place))
        self.uses_disk = bool(states & {"disk", "page-fault"})
        self.starts = [wait.start for wait in self.waits]

    def waited(self, window):
        """Returns how long the thread waited in the window: (about, at least, at most). The thread
        reads its clocks only now and then. If the window's edge is between two readings, nobody
        knows how much of the waiting between them was in the window."""
        about = least = most = 0
        for a, b in zip(self.readings, self.readings[1:]):
            share, ns = inside(a[0], b[0], window), waiting(a, b)
            about += ns * share
            if 0 < share < 1:
                part, busy = share * (b[0] - a[0]), b[0] - a[0] - ns
                least, most = least + max(0, part - busy), most + min(ns, part)
            else:
                least, most = least + ns * share, most + ns * share
        if self.open:
            ns = max(0, window[1] - max(window[0], self.waits[-1].start))
            about, least, most = about + ns, least + ns, most + ns
        return about, least, most

    def stolen(self, window):
        """Returns how much of the thread's waiting in the window may in fact be CPU time that the
        hypervisor stole."""
        if self.uses_disk:
            return self.log.stolen + TICK_NS
        ran = sum((b[1] - a[1]) * inside(a[0], b[0], window)
                  for a, b in zip(self.readings, self.readings[1:]))
        return min(STOP_NS, self.log.stolen) + STOLEN * ran * self.log.stolen / max(
            TICK_NS, self.log.busy)

    def wait_at(self, at):
        """Returns the wait that the thread was in at time @at, or None."""
        before = bisect.bisect_right(self.starts, at) - 1
        if before < 0 or (self.waits[before].end or at) < at:
            return None
        return self.waits[before]

    def by_place(self, window):
        """Returns {place in the program: for how long the thread waited there in the window}."""
        out = collections.Counter()
        for wait in self.waits:
            place = self.log.place(self.stacks[wait.stack])
            if wait.end is None:
                out[place] += max(0, window[1] - max(window[0], wait.start))
            else:
                out[place] += wait.ns * inside(wait.start, wait.end, window)
        return out


class Log(object):
    """The log that a program wrote of its waits, and the states of waits that its source gives."""

    def __init__(self, path):
        with open(path) as f:
            told = json.load(f)
        self.pid, self.folder = told["pid"], told["folder"]
        self.real = told["real"] - told["monotonic"]
        self.busy, self.stolen = told["machine"]
        self.marks, self.read, self.known = {}, set(), {}
        self.threads = {t["tid"]: Thread(t, self) for t in told["threads"]}

    def mark(self, file, line, within):
        """Returns the states that the comment on line @line of the file gives, or None if there is
        no such comment."""
        if file not in self.read:
            self.read.add(file)
            with open(file, encoding="utf-8") as f:
                for number, text in enumerate(f, 1):
                    found = MARK.search(text)
                    if found:
                        self.marks[file, number, bool(found.group(1))] = found.group(2).split("|")
        return self.marks.get((file, line, within))

    def own(self, frames):
        """Returns the frames (file, first line, line) that are in the program's own files."""
        return tuple(f for f in frames if f[0].startswith(self.folder)
                     and not f[0].endswith("/clocks.py"))

    def place(self, frames):
        """Returns the part of a stack that a profile must have right. If a function has the comment
        "waits in", the part ends with that function, and without its line, because it may wait
        anywhere."""
        if frames not in self.known:
            self.known[frames] = self.found(self.own(frames))
        return self.known[frames]

    def found(self, frames):
        for at, (file, first, _) in enumerate(frames):
            if self.mark(file, first, True):
                return frames[:at] + ((file, first, 0),)
        return frames

    def states(self, place):
        """Returns the states that a wait at @place may have; () if the source gives none."""
        if not place:
            return ()
        file, first, line = place[-1]
        return self.mark(file, line or first, not line) or ()

    def gil_share(self):
        """Returns which share of the sleeps with a known length was waiting for the GIL."""
        known = [w for t in self.threads.values() for w in t.waits if w.asked and w.ns]
        late = sum(max(0, w.ns - w.asked) for w in known)
        return late / max(1, sum(w.ns for w in known))

    def window(self, profile):
        """Returns (start, end) of the recording, by the monotonic clock."""
        start = profile.time_nanos - self.real
        return start, start + profile.duration_nanos


class Report(object):
    """The judge's result. faults: (kind, text) for everything wrong."""

    def __init__(self):
        self.faults, self.wrong = [], collections.Counter()
        self.captured = self.right = self.captures = 0
        self.examples = []

    def fault(self, kind, text):
        self.faults.append((kind, text))

    def kinds(self):
        return sorted(set(kind for kind, _ in self.faults))

    def example(self, kind, ns, state, frames):
        self.wrong[kind] += ns
        if len(self.examples) < 12:
            lines = ["%s:%d (function of line %d)" % (f[0].split("/")[-1], f[2], f[1])
                     for f in frames]
            self.examples.append("%s, %.3f ms, state %s:\n  %s" % (
                kind, ns / 1e6, state, "\n  ".join(lines)))


def is_state(state, states):
    """Tells whether @state is among @states, where "other" stands for all states that begin with
    "other:"."""
    return state in states or ("other" in states and state.startswith("other:"))


class Judge(object):
    def __init__(self, profile, log, window, idle, exact):
        if VALUE not in profile.sample_types:
            raise ValueError("the profile has no value %s/%s" % VALUE)
        self.profile, self.log, self.idle, self.exact = profile, log, idle, exact
        self.value = profile.sample_types.index(VALUE)
        self.window = window or log.window(profile)
        self.report = Report()
        self.sums = collections.Counter()      # tid -> ns
        self.places = collections.defaultdict(collections.Counter)  # tid -> place -> ns
        self.squares = collections.Counter()  # tid -> sum of the squares of each capture's ns
        # tid -> ns at places where the program isn't known to wait
        self.between = collections.Counter()
        # tid -> ns of waiting for the GIL at places where the program waits for something else
        self.gil = collections.Counter()

    def all(self):
        for sample in self.profile.samples:
            pid = int(sample.labels.get("pid", self.log.pid))
            state = sample.labels.get("state")
            if sample.values[self.value] and pid == self.log.pid and state not in NO_WAITS:
                self.sample(sample)
        self.judge_sums()
        self.judge_places()
        self.judge_shares()
        return self.report

    def sample(self, sample):
        ns, tid = sample.values[self.value], int(sample.labels.get("tid", 0))
        self.report.captured += ns
        # with --wall, a sample's first value is CPU time
        self.report.captures += sample.values[0] or 1
        thread = self.log.threads.get(tid)
        if not thread:
            self.report.example("thread", ns, sample.labels.get("state"), ())
            return
        self.sums[tid] += ns
        self.squares[tid] += ns * ns / max(1, sample.values[0])
        frames = tuple((f.file, f.first, f.line) for f in self.profile.stack(sample)
                       if f.kind == "python")
        place = self.log.place(frames)
        kind = self.kind(thread, place, sample, ns)
        if kind:
            self.report.example(kind, ns, sample.labels.get("state"), self.log.own(frames))
        else:
            self.report.right += ns

    def kind(self, thread, place, sample, ns):
        """Returns what is wrong with a sample, or None."""
        state = sample.labels.get("state", "")
        states = self.log.states(place) if place else thread.library
        if place and not states:
            self.between[thread.tid] += ns
            return None
        if place not in thread.places:
            return "stack"
        if state in ON_RETURN and state not in states:
            self.gil[thread.tid] += ns
            return None
        if not is_state(state, states):
            return "state"
        if self.idle and (sample.labels.get("idle") == "yes") != ("idle" in states):
            return "idle"
        self.places[thread.tid][place] += ns
        return None

    def stolen(self, thread):
        return 0 if self.exact else thread.stolen(self.window)

    def judge_sums(self):
        """Compares with the truth how long each thread waited, and how long all threads that use no
        disk waited together."""
        all_got = all_true = variance = all_stolen = 0
        for tid, thread in sorted(self.log.threads.items()):
            (true, least, most), got = thread.waited(self.window), self.sums[tid]
            if self.exact:
                least = most = true
            if not thread.uses_disk:
                all_got, all_true = all_got + got, all_true + true
                variance += (most - least) ** 2 / 12.0
                all_stolen += self.stolen(thread) - min(STOP_NS, self.stolen(thread))
            slack, stolen = SUM * true + SUM_NS, self.stolen(thread)
            if not least - stolen - slack <= got <= most + slack:
                self.report.fault("sum", "thread %d waited %.3f ms, not %.3f (%+.3f %%)" % (
                    tid, true / 1e6, got / 1e6, 100 * (got - true) / max(1, true)))
        self.report.off = (all_got - all_true) / max(1, all_true)
        self.report.unsure = ERRORS * variance ** 0.5 / max(1, all_true)
        slack = (ALL + self.report.unsure) * all_true + SUM_NS
        all_stolen += 0 if self.exact else min(STOP_NS, self.log.stolen)
        if not all_true - slack - all_stolen <= all_got <= all_true + slack:
            self.report.fault("sum of all", "all waited %.3f ms, not %.3f (%+.3f %%)" % (
                all_true / 1e6, all_got / 1e6, 100 * self.report.off))

    def judge_places(self):
        wrong = self.report.captured - self.report.right
        if wrong > (1 - RIGHT) * self.report.captured or not self.report.captured:
            kinds = self.report.wrong.most_common()
            text = ", ".join("%s %.3f ms" % (kind, ns / 1e6) for kind, ns in kinds)
            self.report.fault(kinds[0][0] if kinds else "nothing", "%.3f of %.3f ms: %s" % (
                wrong / 1e6, self.report.captured / 1e6, text))
        self.judge_gil()

    def judge_gil(self):
        """Judges the waits for the GIL that come after other waits, and samples that were captured
        where the program isn't known to wait."""
        share = GIL + GIL_TIMES * self.log.gil_share()
        for tid, thread in sorted(self.log.threads.items()):
            between = thread.waited(self.window)[0] - sum(thread.by_place(self.window).values())
            gil, seen, total = self.gil[tid], self.between[tid], max(1, self.sums[tid])
            captures = total ** 2 / max(1, self.squares[tid])
            due = max(0, between) / total
            if gil > share * total + max(0, between) + SUM_NS:
                self.report.fault("gil", "thread %d waited %.3f of %.3f ms for the GIL" % (
                    tid, gil / 1e6, total / 1e6))
            error = 0 if self.exact else ERRORS * (max(due, 1 / captures) / captures) ** 0.5
            if seen > (due + 1 - RIGHT + error) * total + SUM_NS:
                self.report.fault("line", "thread %d waited %.3f of %.3f ms on lines where it "
                                  "waits %.3f" % (tid, seen / 1e6, total / 1e6, between / 1e6))

    def judge_shares(self):
        """For each thread that waited with several stacks, compares the stacks' shares with the
        truth."""
        for tid, thread in sorted(self.log.threads.items()):
            true, got = thread.by_place(self.window), self.places[tid]
            total, sum_got = sum(true.values()), sum(got.values())
            if len(true) < 2 or not total or not sum_got:
                continue
            captures = sum_got * self.sums[tid] / max(1, self.squares[tid])
            if captures < FEW:
                continue
            for place, ns in true.items():
                share, seen = ns / total, got[place] / sum_got
                error = (max(share * (1 - share), 1 / captures) / captures) ** 0.5
                if abs(seen - share) > min(ERRORS * error, POINTS if captures > MANY else 1):
                    self.report.fault("share", "thread %d waited %.2f %% at %s:%d, not %.2f %%" % (
                        tid, 100 * share, place[-1][0].split("/")[-1],
                        place[-1][2] or place[-1][1], 100 * seen))


def judge(profile, log, window=None, idle=False, exact=False):
    """Judges what the profile says of the program's waits, and returns a Report. window: the
    recording's start and end by the monotonic clock, if the profile doesn't have them. idle: the
    profile tells idle threads from waiting ones. exact: the profile was made from the log, so it
    gets no allowance for what the log can't know."""
    return Judge(profile, log, window, idle, exact).all()
