#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""preempt_judge.py CONSOLE: judges the samples of guest/preempt. The threads say which stacks they
can have and how often they called the kernel; the kernel says how often it skipped a program, and
how often a thread was preempted.

There are three recordings. APART: the fexit programs use a slot (the state of a walk in progress)
of their own. SHARED: they use the same slot as the timer's samples. UNCHECKED: they use a slot of
their own and don't check whether it is in use; this is a fault that the judge must see."""
import ast
import json
import re
import sys

FRAME = re.compile(r"(\S+) \(([^()]*):(\d+)\)$")
LEAST = 20  # each case must occur at least this often; it can occur some thousands of times
INCOMPLETE_MOST = 0.01
BUSY = re.compile(r"(\d+) samples lost because another was being taken on the same CPU")
SKIPPED = re.compile(r"the kernel skipped (\d+) runs of krait's programs")


class Recording:
    def __init__(self, word, lines):
        self.lines = lines
        self.word = word
        truth = self.said("TRUTH")
        self.code = (self.said("RC") or ["none"])[0]
        self.messages = self.said("SAID")
        self.threads = ast.literal_eval(truth[0]) if len(truth) == 2 else {}
        self.counted = json.loads(truth[1]) if len(truth) == 2 else {}
        self.stacks = {value: [parse(line) for line in self.said(value)] for value in ("samples", "page-faults")}

    def said(self, word):
        word = self.word + word + " "
        return [line[len(word):] for line in self.lines if line.startswith(word)]

    def closing(self, pattern):
        """Returns the number in one of krait's closing lines; 0 if krait didn't print this line."""
        found = [m for m in map(pattern.search, self.messages) if m]
        return int(found[0][1]) if found else 0

    def all(self, which):
        return sum(p[which] for p in self.counted.values())


def parse(line):
    """Parses a line of folded stacks. Returns (thread id, frames, number of samples). The root
    frame comes first. A Python frame is (name, line), any other frame is a text."""
    stack, n = line.rsplit(" ", 1)
    texts = stack.split(";")
    # The first frame says the thread; or the second frame does, if the first one says the process.
    at = 0 if re.search(r"\btid \d+", texts[0]) else 1
    frames = [(m[1], int(m[3])) if m else text for text, m in ((t, FRAME.match(t)) for t in texts[at + 1:])]
    thread = re.search(r"\btid (\d+)", ";".join(texts[:at + 1]))
    return int(thread[1]) if thread else 0, frames, int(n)


def kind_of(thread, frames, threads, whole):
    """Classifies a stack: "right", "incomplete", "wrong", or "other" (a stack of the main thread,
    or of the program's start). @whole: the stack must reach the end of the thread's chain."""
    if any(isinstance(f, str) for f in frames):
        return "incomplete"
    if thread not in threads:
        owned = any(f[0] == name for f in frames for _, _, chain in threads.values() for name, _ in chain)
        return "wrong" if owned else "other"
    chain = threads[thread][2]
    fits = len(frames) <= len(chain) and all(
        f[0] == name and (f[1] in lines or depth == len(frames) - 1)
        for depth, (f, (name, lines)) in enumerate(zip(frames, chain)))
    return "right" if fits and (not whole or len(frames) == len(chain)) else "wrong"


def count(recording, value):
    counts, wrong = {"right": 0, "incomplete": 0, "other": 0, "wrong": 0}, []
    for thread, frames, n in recording.stacks[value]:
        kind = kind_of(thread, frames, recording.threads, value == "page-faults")
        counts[kind] += n
        if kind == "wrong":
            wrong.append("%d: %s" % (thread, [f if isinstance(f, str) else "%s:%d" % f for f in frames][-6:]))
    return counts, wrong


def check_counts(r, taken):
    """Checks that the programs ran at each call that the threads made, and that each run gave a
    sample or a loss that krait's closing lines count. Returns (problems, summary)."""
    problems, calls = [], {"read": 0, "sleep": 0}
    for kind, n, _ in r.threads.values():
        calls[kind] += n
    for kind, n in calls.items():
        p = r.counted["on_" + kind]
        if p["runs"] + p["missed"] != n:
            problems.append("%d calls of %s, %d runs and %d skipped" % (n, kind, p["runs"], p["missed"]))
    lost, skipped = r.closing(BUSY), r.closing(SKIPPED)
    if skipped != r.all("missed"):
        problems.append("krait says that %d runs were skipped, the kernel %d" % (skipped, r.all("missed")))
    if skipped < LEAST:
        problems.append("only %d runs were skipped" % skipped)
    refused = r.all("runs") - taken
    if r.word == "APART" and lost != refused or lost < refused:
        problems.append("%d runs, %d samples, but krait says that %d were lost" % (r.all("runs"), taken, lost))
    if r.word == "SHARED" and lost < refused + LEAST:
        problems.append("only %d samples of the timer were lost" % (lost - refused))
    if refused < LEAST:
        problems.append("only %d programs found their slot in use" % refused)
    return problems, "%d runs of programs, %d skipped, %d found the slot in use, %d of the timer's too" % (
        r.all("runs"), skipped, refused, lost - refused)


def judge(r):
    """Judges one recording. Returns (problems, summary)."""
    if r.code != "0" or not r.counted or len(r.threads) < 4:
        return ["krait ended with %s: %s" % (r.code, " / ".join(r.messages[-8:]))], ""
    fexit, wrong = count(r, "page-faults")
    timer, wrong_timer = count(r, "samples")
    taken = sum(fexit.values())
    problems, summary = check_counts(r, taken) if r.word != "UNCHECKED" else ([], "%d runs" % r.all("runs"))
    if r.all("preempted") < LEAST or r.word == "APART" and r.all("interrupted") < LEAST:
        problems.append("only %d preempted, %d interrupted" % (r.all("preempted"), r.all("interrupted")))
    bad = fexit["wrong"] + timer["wrong"]
    if r.word == "UNCHECKED":
        if not fexit["wrong"]:
            problems.append("the fault isn't seen: no wrong stack of %d" % taken)
    else:
        problems += ["wrong stack of thread " + text for text in (wrong + wrong_timer)[:10]]
        if fexit["incomplete"] > INCOMPLETE_MOST * taken:
            problems.append("%d of %d incomplete" % (fexit["incomplete"], taken))
    return problems, "%s, %d preempted, %d interrupted by the timer; %d wrong stacks of %d, %d incomplete" % (
        summary, r.all("preempted"), r.all("interrupted"), bad, taken + sum(timer.values()), fexit["incomplete"])


def main():
    with open(sys.argv[1], errors="replace") as file:
        lines = [line.rstrip("\r\n") for line in file]
    kernel = " ".join(line[7:] for line in lines if line.startswith("KERNEL "))
    mode = " ".join(line[8:] for line in lines if line.startswith("PREEMPT "))
    if "END" not in lines or "(full)" not in mode:
        print("FAIL vm-preempt: kernel %s, preemption %s; all it said: %s" % (kernel or "unknown", mode or "unknown", sys.argv[1]))
        return 1
    bad = 0
    for word in ("APART", "SHARED", "UNCHECKED"):
        problems, summary = judge(Recording(word, lines))
        name = "vm-preempt-" + word.lower()
        for problem in problems:
            print("FAIL %s: %s: %s" % (name, kernel, problem))
        print(("     " if problems else "PASS %s: %s: " % (name, kernel)) + summary)
        bad |= bool(problems)
    return bad


if __name__ == "__main__":
    sys.exit(main())
