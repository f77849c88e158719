#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Profiles with several values. The value "samples" counts the samples of the event that
period_type names, so krait doesn't show it beside another event's value. The truth is what the
tests write into the profiles."""
import base64
import gzip
import json
import marshal
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
CPU, SAMPLES, SWITCHES = ("cpu", "nanoseconds"), ("samples", "count"), ("context-switches", "count")
PERIOD, MS = 1001001, 10 ** 6
failed = False


def check(name, true, words=""):
    global failed
    print("PASS " + name if true else "FAIL %s: %s" % (name, words.replace("\n", " | ")[:600]))
    failed |= not true


def krait(*args):
    done = subprocess.run([KRAIT, *args], capture_output=True, timeout=60)
    return done.stdout.decode() if not done.returncode else "exit code %d: %s" % (done.returncode, done.stderr.decode())


def save(path, types, samples, comments=(), default=1, period=(CPU, PERIOD)):
    """Writes samples as JSON lines. @samples has (function, values) for each of them, with one
    sample each 20 ms."""
    def kind(t):
        return {"type": t[0], "unit": t[1]}
    lines = [{"type": "krait", "version": 1, "sample_types": [kind(t) for t in types], "default_sample_type": default,
              "period_type": kind(period[0]), "period": period[1], "time_nanos": 10 ** 18, "duration_nanos": 20 * len(samples) * MS,
              "comments": list(comments)}, {"type": "mapping", "id": 1, "name": "[python 3.12]"}]
    ids = {}
    for i, (name, values) in enumerate(samples):
        if name not in ids:
            ids[name] = at = len(ids) + 1
            lines += [{"type": "frame", "id": at, "mapping": 1, "name": name, "file": "/srv/app.py", "start_line": at, "line": at},
                      {"type": "stack", "id": at, "frames": [at]}]
        lines.append({"type": "sample", "stack": ids[name], "time": 20 * i * MS, "values": values})
    with open(path, "w") as f:
        f.writelines(json.dumps(line) + "\n" for line in lines)


def two_events(path, clock, switches, *comments, first="cpu"):
    """Makes a recording of two events: a clock, with samples in burn(), and context switches, with
    samples in sleep() that stand for 3 switches each."""
    if first == "cpu":
        samples = [("burn", [1, PERIOD, 0])] * clock + [("sleep", [0, 0, 3])] * switches
        save(path, (SAMPLES, CPU, SWITCHES), samples, comments)
    else:
        samples = [("burn", [0, 0, PERIOD])] * clock + [("sleep", [1, 3, 0])] * switches
        save(path, (SAMPLES, SWITCHES, CPU), samples, comments, period=(SWITCHES, 3))


def sentence(path, *args):
    return krait("report", path, *args).split("\n")[0]


def too_few(path):
    """If the value that is shown has enough samples, the report's first sentence names its hot
    spot, even if another value has too few samples."""
    told = "too few: 17 samples at 500 Hz only estimate context-switches; -e context-switches/period=1/ counts them"
    switches = "Too few samples to say where most of the context-switches are."
    for name, clock, n, comment, cpu, other in (
            ("few-of-the-other", 200, 17, told, "100 % of the CPU time is at /srv/app.py:1 (burn).", switches),
            ("few-of-both", 50, 17, told, "100 % of the CPU time is at /srv/app.py:1 (burn).", switches),
            ("enough-of-the-other", 50, 120, told, "100 % of the CPU time is at /srv/app.py:1 (burn).",
             "100 % of the context-switches are at /srv/app.py:2 (sleep)."),
            ("many-clock-samples", 5000, 17, told, "100 % of the CPU time is at /srv/app.py:1 (burn).", switches),
            ("named-by-event", 50, 17, told.replace("context-switches;", "cs:u;"), "Too few samples to say where most of the CPU time is.",
             switches),
            ("enough-of-the-clock", 200, 17, told.replace("context-switches;", "cs:u;"),
             "100 % of the CPU time is at /srv/app.py:1 (burn).", switches)):
        two_events(path, clock, n, comment)
        got = sentence(path), sentence(path, "--value", "context-switches")
        check("too-few-" + name, got == (cpu, other), "%s" % (got,))
    two_events(path, 200, 17)
    got = sentence(path, "--value", "context-switches")
    check("too-few-untold", got == "100 % of the context-switches are at /srv/app.py:2 (sleep).", got)


def heads(path):
    """The report's head and the picture show the number of samples only with a value of the event
    whose samples "samples" counts."""
    two_events(path, 200, 17)
    cpu, other, samples = (krait("report", path, *args) for args in (
        (), ("--value", "context-switches"), ("--value", "samples")))
    check("head-of-the-first", "200 ms of CPU time in 4.34 s, 200 samples\nOther values, for --value: context-switches\n" in cpu, cpu)
    check("head-of-the-other", "51 context-switches in 4.34 s\nOther values, for --value: samples, cpu\n" in other, other)
    check("head-of-samples", "200 samples in 4.34 s\n" in samples, samples)
    picture = path + ".svg"
    for name, args, numbers, title in (
            ("first", (), "200 samples · 200 ms CPU time in 4.34 s · 999 Hz", "100.0 % of all, 200 ms, 200 samples"),
            ("other", ("--value", "context-switches"), "51 context-switches in 4.34 s", "100.0 % of all, 51 context-switches"),
            ("samples", ("--value", "samples"), "200 samples in 4.34 s · 999 Hz", "100.0 % of all, 200 samples")):
        krait("report", path, "-o", picture, *args)
        with open(picture, encoding="utf-8") as f:
            text = f.read()
        got = re.search(r'id="numbers"[^>]*>([^<]*)<', text)[1]
        check("picture-numbers-" + name, re.sub(" · 20[-0-9]+ [0-9:]+ UTC$", "", got) == numbers, got)
        titles = [t.split("\n") for t in re.findall(r"<title>((?:burn|sleep)\n[^<]*)</title>", text)]
        check("picture-titles-" + name, len(titles) == 1 and titles[0][2].split(";")[0] == title, str(titles))
        data = json.loads(re.search(r'<metadata id="krait-boxes">(.*?)</metadata>', text, re.S)[1])
        check("picture-data-" + name, data["counted"] == ("samples" if name == "first" else ""), data["counted"])


def calls(path):
    """In a pstats file, ncalls is the number of samples. If "samples" counts those of another
    event, ncalls is the number of samples that have the value."""
    two_events(path, 200, 17)
    for args, name, want in ((), "burn", 200), (("--value", "context-switches"), "sleep", 17), (("--value", "samples"), "burn", 200):
        krait("report", path, "-o", path + ".pstats", *args)
        with open(path + ".pstats", "rb") as f:
            stats = {key[2]: value[0] for key, value in marshal.load(f).items()}
        check("pstats-calls-of-%s" % (args[-1] if args else "cpu"), stats == {name: want}, str(stats))


def merged(path):
    """Merges two recordings whose first events differ: the report of the merged one doesn't show
    "samples" with the value of either event."""
    other, out = path + ".other", path + ".pb.gz"
    two_events(path, 200, 17)
    two_events(other, 30, 40, first="switches")
    krait("merge", path, other, "-o", out)
    text = krait("report", out)
    check("merged-of-two-events", "230 ms of CPU time in " in text and " samples\n" not in text, text)
    text = krait("report", out, "--value", "samples")
    check("merged-samples", "240 samples in " in text, text)
    krait("merge", path, path, "-o", out)
    check("merged-of-one-event", ", 400 samples\n" in krait("report", out), krait("report", out))


def twice(path):
    """If two values have the same name, diff compares the default value, which is also the one that
    report shows. --value TYPE/UNIT chooses either value."""
    other = path + ".other"
    for at, cost in (path, 10), (other, 20):
        save(at, (CPU, ("cpu", "count")), [("f", [cost * MS, 7])] * 50, period=(("", ""), 0))
    for args, unit in ((), "count"), (("--value", "cpu/nanoseconds"), "nanoseconds"), (("--value", "cpu/count"), "count"):
        name = args[-1].replace("/", "-") if args else "default"
        got = krait("report", path, "--json", *args)
        check("twice-report-" + name, got.startswith("{") and json.loads(got)["unit"] == unit, got)
        # In the second profile the time is twice as long; the counts are the same.
        got = krait("diff", path, other, "--json", *args)
        all_ = json.loads(got)["all"] if got.startswith("{") else {"before": 1, "after": 0}
        check("twice-diff-" + name, abs(all_["after"] / all_["before"] - (2 if unit == "nanoseconds" else 1)) < 1e-6, got)
    said = krait("report", path, "--value", "cpu/bytes")
    check("twice-unknown", said.startswith("exit code") and "cpu, cpu" in said, said)


def refused(name, words, *args):
    got = krait("diff", *args)
    check("diff-" + name, got == "exit code 1: krait: error: %s\n" % words, got)


def compared(path):
    """diff refuses to compare values of different events, also if their units are equal: CPU time
    with time off the CPU, page faults with context switches, and the samples of such events. CPU
    time may have another name on each side."""
    other, page = path + ".other", path + ".html"
    waits, faults, time = ("off_cpu", "nanoseconds"), ("page-faults", "count"), ("time", "nanoseconds")
    for name, a, b in ("waits", CPU, waits), ("waits-first", waits, CPU), ("counts", faults, SWITCHES):
        for at, kind in (path, a), (other, b):
            save(at, (SAMPLES, kind), [("f", [1, 10])] * 50, period=(kind, 10))
        none = "they have no value in common: %s has %s; %s has %s" % (path, a[0], other, b[0])
        refused(name, none, path, other)
        refused(name + "-page", none, path, other, "-o", page)
        refused(name + "-samples", "samples are of %s in %s, but of %s in %s: they can't be compared; --value chooses a value that both have"
                % (a[0], path, b[0], other), path, other, "--value", "samples")
    two_events(path, 200, 17)
    save(other, (SAMPLES, SWITCHES), [("sleep", [1, 3])] * 34, period=(SWITCHES, 3))
    refused("other-event", "%s has no cpu; --value context-switches compares what both have" % other, path, other)
    got = json.loads(krait("diff", path, other, "--value", "context-switches", "--per", "run=1,1", "--json"))
    check("diff-of-the-other-event", got["all"] == {"before": 51, "after": 102}, str(got))
    save(path, (SAMPLES, CPU), [("f", [1, 10 * MS])] * 50)
    save(other, (SAMPLES, time), [("f", [1, 20 * MS])] * 50, period=(time, PERIOD))
    krait("diff", path, other, "-o", page)
    for args, want in ((), {"before": 500 * MS, "after": 1000 * MS}), (("--value", "samples"), {"before": 50, "after": 50}):
        got = json.loads(krait("diff", path, other, "--per", "run=1,1", "--json", *args))
        check("diff-other-name-" + got["value"], got["all"] == want, str(got))
    with open(page, encoding="utf-8") as f:
        data = base64.b64decode(re.search(r'id="krait-view">\s*([^<]*)<', f.read())[1])
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    got = json.loads(data.split(b"\n", 1)[0])
    check("diff-other-name-page", (got["values"][got["value"]][0], got["totals"]) == ("cpu", [100, 1500 * MS]), str(got)[:300])


def main():
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "made.jsonl")
        for case in too_few, heads, calls, merged, twice, compared:
            case(path)
    sys.exit(failed)


main()
