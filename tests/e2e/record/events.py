#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Several events in one recording: each event is a value of the profile, and has the same counts as
in a recording of this event alone. The truth is the kernel's own count of the events in the
process, which the program reads."""
import json
import math
import os
import re
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder

PAGES, SLEEPS, SECONDS, DEPTH = 20000, 400, 1.5, 60
# A program with several functions. Each function prints what the kernel counted while it ran.
WORKS = """
import ctypes, json, mmap, os, resource, struct, time
# getrusage() counts a page fault only once if the kernel tries it twice; perf counts both tries. So
# the thread counts by a perf event of its own, made of type, size and config.
call = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
attr = struct.pack("<IIQ", 1, 112, 2) + bytes(96)
faulted = ctypes.CDLL(None).syscall(call, attr, 0, -1, -1, 0)
def counts():
    r = resource.getrusage(resource.RUSAGE_THREAD)
    return struct.unpack("<Q", os.read(faulted, 8))[0], r.ru_nvcsw + r.ru_nivcsw, time.thread_time()
said = {}
def tell(name, before):
    said[name] = [b - a for a, b in zip(before, counts())]
def faults(m):
    before = counts()
    for i in range(%(PAGES)d):
        m[i * 4096] = 1
    tell("faults", before)
def switches():
    before = counts()
    for _ in range(%(SLEEPS)d):
        time.sleep(0.0005)
    tell("switches", before)
def works():
    before = counts()
    end = time.thread_time() + %(SECONDS)g
    while time.thread_time() < end:
        pass
    tell("works", before)
def deep(n, m):
    if n:
        return deep(n - 1, m)
    return faults(m)
m = mmap.mmap(-1, %(PAGES)d * 4096)
m.madvise(mmap.MADV_NOHUGEPAGE)
deep(%(DEPTH)d, m)
switches()
works()
print(json.dumps(said))
""" % globals()
FUNCTIONS = ("faults", "switches", "works")
CLOCK, FAULTS, SWITCHES = "cpu-clock", "page-faults/period=1/", "context-switches/period=1/"
# the names of the values, in the order in which counts() returns these
VALUES = ("page-faults", "context-switches", "cpu")


class Recorded:
    """A recording of the program WORKS. .sums is {(function, value): sum}; .truth is what the
    kernel counted in these functions."""

    def __init__(self, d, *options):
        script, out = os.path.join(d, "works.py"), os.path.join(d, "o.pb.gz")
        with open(script, "w") as f:
            f.write(WORKS)
        done = kit.krait("record", *options, "--times", "-o", out, "--summary-json", d + "/summary",
                         "--", kit.PYTHON, script, timeout=120)
        check(done.returncode == 0, done.stderr)
        with open(d + "/summary") as f:
            self.summary = json.load(f)
        self.said = done.stderr
        self.truth = json.loads(done.stdout)
        self.profile = kit.pprof.read(out)
        self.types = [name for name, _ in self.profile.sample_types]
        self.sums = {}
        for sample in self.profile.samples:
            frames = [l.name for l in self.profile.stack(sample) if l.kind == "python"]
            for function in set(FUNCTIONS).intersection(frames):
                for name, value in zip(self.types, sample.values):
                    self.sums[function, name] = self.sums.get((function, name), 0) + value

    def agrees(self, value):
        """Checks for each function that the recorded value is what the kernel counted."""
        for function in FUNCTIONS:
            truth = self.truth[function][VALUES.index(value)]
            got = self.sums.get((function, value), 0)
            if value == "cpu":
                # converts both what the kernel counted and what the recording has to numbers of
                # samples
                truth, got = truth * 999, got * 999 / 1e9
                within = 4 * math.sqrt(truth) + 0.03 * truth + 3
            else:  # some events come before the program's first reading or after its last one
                within = 0.002 * truth + 4
            check(abs(got - truth) <= within, "%s of %s: %.1f, the kernel counted %.1f\n%s" %
                  (value, function, got, truth, self.said))


class Shown(Recorded):
    """The values that krait top shows of the program WORKS, with .sums and .truth as in Recorded.
    top shows only the value @value."""

    def __init__(self, d, value, *options):
        script = os.path.join(d, "works.py")
        with open(script, "w") as f:
            f.write(WORKS)
        done = kit.krait("top", "--json", "-i", "300ms", *options, "--value", value, "--", kit.PYTHON, script,
                         timeout=120)
        check(done.returncode == 0, done.stderr)
        self.said = done.stderr
        self.truth = json.loads(re.search(r"^\{.*\}$", done.stderr, re.M)[0])
        self.lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.sums = {}
        for row in self.lines[-1]["rows"]:
            if row.get("function") in FUNCTIONS:
                self.sums[row["function"], value] = row["since_start"]["total"]["value"]


@kit.case
def top_shows_each():
    """krait top with three events shows the event that --value names, with its unit. Its numbers
    are the kernel's own counts."""
    events = "-e", CLOCK, "-e", FAULTS, "-e", SWITCHES
    with folder() as d:
        for value in VALUES:
            shown = Shown(d, value, *events)
            shown.agrees(value)
            for line in shown.lines:
                unit = "nanoseconds" if value == "cpu" else "count"
                check((line["value"], line["unit"]) == (value, unit), line["value"])
                check(all(r["since_start"]["total"]["value"] for r in line["rows"]), "a row without a value")
                # "samples" counts the samples of the first event alone
                check((line["since_start"]["samples"] is None) == (value != "cpu"), line["since_start"])
            last = sum(line["last"]["value"] for line in shown.lines)
            check(last == shown.lines[-1]["since_start"]["value"], "the intervals' sum is %d" % last)
        done = kit.krait("top", "-n", 1, *events, "--value", "page-faults", "--", kit.PYTHON, "-c", "pass")
        check(re.search(r"^[0-9.]+ s: \d+ of page-faults \(count\) in ", done.stdout, re.M), done.stdout)
        done = kit.krait("top", "-n", 1, *events, "--value", "samples", "--", kit.PYTHON, "-c", "pass")
        check(re.search(r"^[0-9.]+ s: \d+ samples of cpu \(nanoseconds\) in ", done.stdout, re.M), done.stdout)


@kit.case
def together_as_alone():
    """Three events in one recording have the values that each of them has when recorded alone: what
    the kernel counted. "samples" counts the samples of the first event."""
    with folder() as d:
        all_three = Recorded(d, "-e", CLOCK, "-e", FAULTS, "-e", SWITCHES)
        check(all_three.types == ["samples", "cpu", "page-faults", "context-switches"], all_three.types)
        check(all_three.profile.period_type == ("cpu", "nanoseconds"), all_three.profile.period_type)
        for value in VALUES:
            all_three.agrees(value)
        for sample in all_three.profile.samples:
            samples, cpu = sample.values[:2]
            check(cpu == samples * all_three.profile.period, "%d samples are %d ns" % (samples, cpu))
        for event, value in ((CLOCK, "cpu"), (FAULTS, "page-faults"), (SWITCHES, "context-switches")):
            alone = Recorded(d, "-e", event)
            check(alone.types == ["samples", value], alone.types)
            alone.agrees(value)


@kit.case
def closing_lines_name_each():
    """The closing lines and --summary-json show the number of samples of each event. These numbers
    add up to the number of all samples."""
    with folder() as d:
        got = Recorded(d, "-e", FAULTS, "-e", "cpu-clock/freq=499/", "-e", "cpu-migrations/period=1/")
        check(got.types == ["samples", "page-faults", "cpu", "cpu-migrations"], got.types)
        check(got.profile.default_type == "page-faults", got.profile.default_type)
        said = re.search(r"(\d+) samples of 1 process in [0-9.]+ s: (\d+) of page-faults, (\d+) of cpu-clock, "
                         r"(\d+) of cpu-migrations$", got.said, re.M)
        check(said, got.said)
        each = [int(n) for n in said.groups()[1:]]
        check(sum(each) == int(said[1]) == got.summary["samples"], said[0])
        sums = [sum(column) for column in zip(*(s.values for s in got.profile.samples))]
        check(sums[0] == each[0], "%d samples, %d of the first event" % (sums[0], each[0]))
        check(sums[1:] == [e["sum"] for e in got.summary["events"]] == [each[0], each[1] * 2004008, each[2]],
              "%r, %r" % (sums, got.summary["events"]))


def of_one_event(path, out):
    """Returns the recording without the second event, as -e cpu-clock alone would have recorded the
    same samples."""
    lines = kit.krait("report", path, "--format", "jsonl", "-o", "-", timeout=120).stdout.splitlines()
    with open(out, "w") as f:
        for line in map(json.loads, lines):
            if "sample_types" in line:
                line["sample_types"] = line["sample_types"][:2]
            if "values" in line:
                line["values"] = line["values"][:2]
                if not any(line["values"]):
                    continue
            f.write(json.dumps(line) + "\n")


@kit.case
def compared_as_alone():
    """`krait diff` judges the first event as if the second hadn't been recorded."""
    with folder() as d:
        pairs = []
        for name in "ab":
            os.mkdir(d + "/" + name)
            Recorded(d + "/" + name, "-e", CLOCK, "-e", FAULTS)
            pairs.append((d + "/" + name + "/o.pb.gz", d + "/" + name + ".jsonl"))
            of_one_event(*pairs[-1])
        both, alone = (json.loads(kit.krait("diff", "--json", a, b, timeout=120).stdout) for a, b in zip(*pairs))
        check(len(both["functions"]) > 2 and both["functions"] == alone["functions"], "%r\n%r" % (both, alone))
        check(both["compared"] == alone["compared"] > 0, "%r, %r" % (both["compared"], alone["compared"]))


@kit.case
def stacks_stay_whole():
    """A fast timer takes samples while krait walks the stack of a page fault. No stack of one event
    contains frames from the walk of the other event, and all stacks are whole."""
    with folder() as d:
        got = Recorded(d, "-e", "cpu-clock/freq=20000/", "-e", FAULTS)
        expected = ["<module>"] + ["deep"] * (DEPTH + 1) + ["faults"]
        met = [0, 0]
        for sample in got.profile.samples:
            frames = [l.name for l in got.profile.stack(sample) if l.kind == "python"]
            if "deep" not in frames or "tell" in frames or "counts" in frames:
                continue
            if frames != expected:  # A sample may be taken while the recursion begins or ends.
                check(frames == expected[:len(frames)] and not sample.values[2], frames)
                continue
            met[0] += sample.values[0]
            met[1] += sample.values[2]
        check(met[0] >= 50 and abs(met[1] - PAGES) <= 0.002 * PAGES + 4, met)
        check(got.summary["lost_records"] == 0, got.summary)


@kit.case
def outcomes_of_each():
    """krait counts separately for each event how many samples were taken while the interpreter
    started or ended, and says so."""
    with folder() as d:
        got = Recorded(d, "-e", CLOCK, "-e", FAULTS)
        for i, (event, value) in enumerate((("cpu-clock", "cpu"), ("page-faults", "page-faults"))):
            weight = got.profile.period if value == "cpu" else 1
            for mark, words in (("[interpreter starting]", "the interpreter starts: no Python yet"),
                                ("[interpreter ending]", "the interpreter or its process ends: no Python any more")):
                marked, all_ = (sum(s.values[1 + i] for s in got.profile.samples if not of or any(
                    l.name == of for l in got.profile.stack(s))) // weight for of in (mark, None))
                said = [c for c in got.profile.comments if " of %s (" % event in c and c.endswith(words)]
                want = ["note: %d sample%s of %s (%.2f %%): %s" % (
                    marked, "" if marked == 1 else "s", event, 100 * marked / all_, words)] * (marked > 0)
                check(said == want, "%s, not %s" % (said, want))
        check(any(" of page-faults (" in c for c in got.profile.comments), got.profile.comments)


WAITS = "import time\nend = time.time() + 1.5\nwhile time.time() < end: time.sleep(0.004); sum(range(200000))"


@kit.case
def too_few_of_one():
    """If one event has too few samples, the recording and the report on its value say so. The
    report on the other event's value has its usual first sentence."""
    with folder() as d:
        done = kit.krait("record", "-F", 99, "-e", "cpu-clock", "-e", "cs/freq=500/k", "-o", d + "/o.pb.gz", "--",
                         kit.PYTHON, "-c", WAITS, timeout=60)
        check(done.returncode == 0, done.stderr)
        profile = kit.pprof.read(d + "/o.pb.gz")
        n = int(re.search(r" (\d+) of cs:k$", done.stderr, re.M)[1])
        told = [c for c in profile.comments if c.startswith("too few: ")]
        want = "too few: %d sample%s at 500 Hz only estimate%s context-switches; -e context-switches/period=1/k counts them" % (
            n, "" if n == 1 else "s", "s" if n == 1 else "")
        check(told == [want] * (0 < n < 1000), "%s, not %s" % (told, want))
        text = kit.krait("report", d + "/o.pb.gz").stdout
        check("Too few" not in text, text)
        entries = sum(s.values[2] > 0 for s in profile.samples)
        text = kit.krait("report", d + "/o.pb.gz", "--value", "context-switches").stdout
        check(("\nToo few samples to say where most of the context-switches are.\n" in "\n" + text) == (0 < entries < 100),
              "%d entries: %s" % (entries, text))


@kit.case
def none_came():
    """If no event happened at all, krait names all events that the user asked for."""
    with folder() as d:
        done = kit.krait("record", "-e", "alignment-faults", "-e", "emulation-faults", "-o", d + "/o.pb.gz", "--",
                         kit.PYTHON, "-c", "", timeout=60)
        check("no samples: no alignment-faults or emulation-faults, or too few" in done.stderr, done.stderr)


@kit.case
def time_of_a_later_event():
    """A trace (a format with a time axis) shows the event whose value is a time, even if another
    event was asked for first."""
    with folder() as d:
        out = d + "/o.trace.json"
        done = kit.krait("record", "-e", "page-faults", "-e", "cpu-clock", "-o", out, "--", kit.PYTHON, "-c",
                         "import time\ndef burn():\n while time.thread_time() < 0.5: pass\nburn()", timeout=60)
        check(done.returncode == 0, done.stderr)
        with open(out) as f:
            events = json.load(f)["traceEvents"]
        time = sum({"B": -1, "E": 1}.get(e["ph"], 0) * e.get("ts", 0) for e in events if e["name"] == "burn") / 1e6
        check(0.3 < time < 0.7, "burn() ran for 0.5 s, and the trace says %g" % time)


def limited(soft):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


@kit.case
def few_files():
    """Recording many events takes many descriptors. krait raises its own limit of descriptors, but
    not that of its command."""
    events = "cpu-clock page-faults minor-faults major-faults context-switches cpu-migrations alignment-faults emulation-faults"
    soft, program = 40, "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    with folder() as d:
        done = kit.krait("record", *[w for e in events.split() for w in ("-e", e)], "-o", d + "/o.pb.gz", "--",
                         kit.PYTHON, "-c", program, timeout=60, preexec_fn=limited(soft))
        check(done.returncode == 0 and done.stdout.strip() == str(soft), "%s%s" % (done.stdout, done.stderr))


@kit.case
def refuses():
    """krait refuses events and rates that make no sense, with a sentence that says why."""
    kit.refused(2, "events cpu-clock and task-clock would both be the value cpu", "record", "-e", "cpu-clock",
                "-e", "task-clock", "-d", "1")
    kit.refused(2, "ask for less; or give a count for a single event: NAME/period=N/", "record",
                "-e", "cpu-clock", "-e", "page-faults", "-c", "1")
    kit.refused(2, "so none uses --frequency", "record", "-e", "page-faults/period=1/", "-F", "99", "-d", "1")
    kit.refused(2, "a recording has at most 12 events", "record", *[w for name in (
        "cpu-clock page-faults minor-faults major-faults context-switches cpu-migrations alignment-faults "
        "emulation-faults cycles ref-cycles bus-cycles instructions branches branch-misses cache-references "
        "cache-misses").split() for w in ("-e", name)])
    for rate, most in ("period=0", 2 ** 63 - 1), ("period=" + 20 * "9", 2 ** 63 - 1), ("freq=0", 2 ** 32 - 1):
        kit.refused(2, "event page-faults: %s is a whole number from 1 to %d, and '%s' isn't" %
                    (rate.split("=")[0], most, rate.split("=")[1]), "record", "-e", "page-faults/%s/" % rate, "-d", "1")
    kit.refused(2, "shows how long things take, and page-faults isn't a time", "record", "-e", "page-faults",
                "-e", "cs", "-o", "x.trace.json", "-d", "1")
    kit.refused(2, "shows how long things take, and page-faults isn't a time; leave --value out", "record", "-e", "page-faults", "-e", "cpu-clock",
                "--value", "page-faults", "-o", "x.trace.json", "-d", "1")
    kit.refused(2, "unknown event", "record", "-e", "page-faults/period=1", "-d", "1")
    kit.refused(2, "cpu-clock can't be faster", "record", "-e", "cpu-clock/period=1/", "-d", "1")
    kit.refused(2, "--frequency and --count exclude", "record", "-e", "cpu-clock", "-e", "cs", "-c", "9", "-F", "9")
    kit.refused(2, "--value cycles isn't recorded; there are samples, cpu and page-faults", "record",
                "-e", "cpu-clock", "-e", "page-faults", "--value", "cycles", "-d", "1")
    kit.refused(2, "--value cycles isn't recorded; there are samples, cpu and page-faults", "top",
                "-e", "cpu-clock", "-e", "page-faults", "--value", "cycles", "-n", 1)


sys.exit(kit.main())
