#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""judge.py NAME CONSOLE: compares the stacks in a test machine's console output with those that the
profiled program says it had (guest/prog.py prints the truth, guest/profile the lines read here).
judge.py --self-test: checks that this judge sees the faults that it is there for."""
import ast
import math
import re
import sys

FRAME = re.compile(r"(?P<name>.+) \((?P<file>[^()]*):(?P<line>\d+)\)$")
MARK = re.compile(r"\[(incomplete|truncated|unsupported)")
# The most instructions that the kernel's verifier may look at in one of krait's programs. Verifying
# takes most of krait's start. 5.10 looks at 110,800 instructions, 6.18 at fewer
# (tests/build/bpf_stack.py).
MOST_VERIFIED = 115000
# The fewest samples of a recording: 3 s of CPU time at 99 Hz give 297, but a busy host makes the
# machine miss timer ticks.
LEAST = 100
LEAST_PLANTED = 4  # how many test cases of tests/e2e/rights/planted.py guest/profile runs
LEAST_LATE = 40  # the fewest samples in late() of late_cpu.py: 2 s of CPU time at 99 Hz give 198
# Functions by which the program finds out its own call chains, and its class body: they count as
# "elsewhere".
MACHINERY = {"note", "frames", "lines_of", "Alpha"}
# On arm64 the functions of the vDSO have no call frame information, so native stacks end in these
# functions (README).
NO_ROWS = "[incomplete: native stack: code without unwind information]"
# krait examines each process in user space when the process starts; under emulation this takes
# long.
NOT_EXAMINED, NOT_EXAMINED_MOST = "[incomplete: process not examined yet]", 150


class Result:
    """The lines that the test machine printed about one of its recordings. @word: the prefix of
    these lines (see guest/profile)."""

    def __init__(self, text, word=""):
        self.lines = [line.rstrip("\r") for line in text.splitlines()]
        self.kernel = " ".join(self.said("KERNEL")) or "unknown kernel"
        self.ended = "END" in self.lines
        self.brief = "BRIEF" in self.lines  # True if the machine left out some recordings.
        self.code = (self.said(word + "RC") or ["none"])[0]
        self.messages = self.said(word + "SAID")
        truth = "".join(self.said(word + "TRUTH"))
        self.chains = ast.literal_eval(truth) if truth else {}
        self.stacks = [parse_stack(line) for line in self.said(word + "STACK")]
        if "arm64" in self.kernel:
            self.stacks = [(without_vdso_mark(frames), n) for frames, n in self.stacks]

    def said(self, word):
        return [line[len(word) + 1:] for line in self.lines if line.startswith(word + " ")]


def parse_stack(line):
    """Parses a line of folded stacks. Returns (frames, the root first; count). A Python frame is
    (name, file, line), any other frame is a string."""
    stack, count = line.rsplit(" ", 1)
    frames = []
    for text in stack.split(";"):
        match = FRAME.match(text)
        if match and re.search(r"\.py$|^<", match["file"]):
            frames.append((match["name"], match["file"], int(match["line"])))
        else:
            frames.append(text)
    return frames, int(count)


def without_vdso_mark(frames):
    return [f for f, inner in zip(frames, frames[1:] + [""])
            if f != NO_ROWS or not str(inner).endswith(" ([vdso])")]


def same_file(shown, true):
    """Tells whether two file names are the same file: the text output shortens file names at their
    left end."""
    return true == shown or true.endswith("/" + shown.lstrip("/"))


def fits(frames, chain):
    """Returns true if @frames, root first, are the chain or its beginning: each caller on the line
    of its call, the innermost frame on a line that its function has."""
    if not frames or len(frames) > len(chain):
        return False
    for depth, (frame, true) in enumerate(zip(frames, chain)):
        name, path, call, lines = true
        possible = [call] if depth < len(frames) - 1 else lines
        if frame[0] != name or not same_file(frame[1], path) or frame[2] not in possible:
            return False
    return True


def classify(frames, chains):
    """Says what a stack is: the name of a chain, "between" (a chain without its innermost frames),
    "elsewhere" (start-up, no Python), "not examined", "incomplete" or "wrong"."""
    if NOT_EXAMINED in frames:
        return "not examined"
    if any(isinstance(f, str) and MARK.match(f) for f in frames):
        return "incomplete"
    python = [f for f in frames if not isinstance(f, str)]
    own = [f for f in python if f[1].endswith("prog.py")]
    if not own or len(own) < len(python) or any(f[0] in MACHINERY for f in own):
        return "elsewhere"
    for which, truth in chains.items():
        if fits(own, truth["chain"]):
            return which if len(own) == len(truth["chain"]) else "between"
    return "wrong"


def judge_cycles(result):
    """Judges a profile whose samples come from the CPU's own counter of cycles. Checks what judge()
    checks, and the number of samples: there is one for 10 million cycles in user code. At 1 GHz
    this number tells how long the program ran, which must be what the program says."""
    problems, summary = judge(result)
    if problems is None or problems:
        return problems, summary
    known = sum(n for frames, n in result.stacks if classify(frames, result.chains) in result.chains)
    true = 100 * sum(c["cpu"] for c in result.chains.values())
    if known > 1.1 * true:
        problems.append("%d samples of 10 million cycles, %.0f would be all of its CPU time" % (known, true))
    kernel = [frames for frames, _ in result.stacks if any("[kernel]" in f for f in frames)]
    if kernel:
        problems.append("a kernel frame under cycles:u: %r" % (kernel[0],))
    return problems, summary + ", %.0f by its CPU time" % true


def judge_load(result):
    """Judges what the kernel's verifier says about krait's BPF objects. Returns (problems,
    summary), or (None, why) if the machine loaded no objects."""
    said = result.said("VERIFY")
    if not said:
        return None, "no BPF objects were given"
    objects = [line.split()[1:] for line in said if line.startswith("OBJECT ")]
    refused = [words[0] for words in objects if words[1] != "ok"]
    if refused or not objects:
        return ["not loaded: " + " ".join(refused)] + said[-30:], ""
    insns = [int(n) for line in said for n in re.findall(r"processed (\d+) insns", line)]
    most = max(insns, default=0)
    problems = [] if 0 < most <= MOST_VERIFIED else [
        "%d instructions verified in one program, %d are allowed" % (most, MOST_VERIFIED)]
    return problems, "%d objects in %s ms, largest program %d insns verified" % (
        len(objects), sum(int(words[2]) for words in objects), most)


DUMPED = (r"Thread \d+ .*: sleeping for [1-9]\d*\.\d s", r"  native: _start \(", r", in <module>$",
          r", in sleeps$", r"  native: .*sleep.* \(", r"  kernel: .*syscall", r"  kernel: .*nanosleep|  kernel: .*select")


def judge_dump(result):
    """Judges the output of krait dump for a sleeping thread: the output must have certain lines, in
    this order."""
    said = result.said("DUMP")
    if result.code == "none":
        return None, "no statically linked krait (make STATIC=1)"
    at = 0
    for line in said:
        at += at < len(DUMPED) and re.search(DUMPED[at], line) is not None
    if at < len(DUMPED) or result.said("DUMPRC") != ["0"]:
        return ["no line like %r where it belongs: %s" % (DUMPED[min(at, len(DUMPED) - 1)],
                                                          " / ".join(said))], ""
    return [], "a sleeping thread's stack from _start to the kernel"


def judge_hotplug(result):
    """Judges the recording of late_cpu.py. That program ran on a CPU that came online when krait
    had already started, and later went offline; meanwhile the clock was set."""
    if not result.said("HOTPLUGRC"):
        return None, "no krait, or a kernel that can't switch a CPU off"
    lines, took = result.said("HOTPLUG"), [float(t) for t in result.said("HOTPLUGTOOK")]
    found = [sum(int(line.rsplit(" ", 1)[1]) for line in lines if ";%s (" % name in line) for name in ("late", "stepped", "left")]
    lasted = [float(m.group(1)) for m in (re.search(r" samples of .* in ([0-9.]+) s$", line) for line in lines) if m]
    bad = []
    if result.said("HOTPLUGRC") != ["0"] or found[0] < LEAST_LATE or min(found[1:]) < LEAST_LATE // 2:
        bad.append("%d of 198 samples on the CPU that came, %d of 99 while the clock was set, %d of 99 when the CPU went: %s" % (
            *found, " / ".join(lines)))
    if len(took) != 1 or len(lasted) != 1 or not -1 < lasted[0] - took[0] < 20:
        bad.append("the recording lasted %s s, the program %s" % (lasted, took))
    return bad, "%d of 198 samples on a CPU that came online, %d of 99 while the clock was set, %d of 99 when the CPU went" % tuple(found)


def judge_events(result):
    """Judges a recording of two events: page faults, each of which is a sample, and CPU time."""
    if not result.said("EVENTSRC"):
        return None, "no statically linked krait (make STATIC=1)"
    lines, truth = result.said("EVENTS"), " ".join(result.said("EVENTSTRUTH")).split()
    each = [m for m in (re.search(r"s: (\d+) of cpu-clock, (\d+) of page-faults$", line) for line in lines) if m]
    if result.said("EVENTSRC") != ["0"] or len(truth) != 2 or len(each) != 1:
        return ["no samples of two events: %s" % " / ".join(lines[:8])], ""
    pages, seconds = (int(n) for n in truth)
    got = sum(int(line.rsplit(" ", 1)[1]) for line in lines if ";touches (" in line)
    clock, faults = int(each[0][1]), int(each[0][2])
    bad = []
    if not pages <= got <= 1.02 * pages + 50 or got > faults:
        bad.append("%d page faults where %d pages were touched, %d in all" % (got, pages, faults))
    if clock < seconds * 99 // 2:
        bad.append("%d samples of the clock, %d due" % (clock, seconds * 99))
    return bad, "%d page faults of %d pages, beside %d samples of the clock" % (got, pages, clock)


def judge_planted(result):
    """Judges the output of tests/e2e/rights/planted.py, which prints PASS or FAIL itself."""
    if result.code == "none":
        return None, "no statically linked krait (make STATIC=1)"
    said = result.said("PLANTED")
    passed = [line for line in said if line.startswith("PASS ")]
    if len(passed) < LEAST_PLANTED or len(passed) < len(said):
        return ["%d of %d: %s" % (len(passed), LEAST_PLANTED, " / ".join(said))], ""
    return [], "%d attempts by others' links and FIFOs; protected_symlinks is %s here" % (
        len(passed), " ".join(result.said("PROTECTED")))


def judge(result):
    """Judges the profile. Returns (problems, summary), or (None, why) if there was no krait to make
    a profile."""
    if not result.ended:
        return ["the test machine didn't get to its end"], ""
    if result.code == "none":
        return None, "no statically linked krait (make STATIC=1)"
    problems = []
    if result.code != "0":
        problems.append("krait ended with %s: %s" % (result.code, " / ".join(result.messages)))
    if len(result.chains) != 2:
        return problems + ["the program didn't say what is true"], ""
    counts = {}
    for frames, count in result.stacks:
        kind = classify(frames, result.chains)
        counts[kind] = counts.get(kind, 0) + count
        if kind == "wrong":
            problems.append("impossible stack: %r" % (frames,))
    return problems + judge_counts(counts, result.chains), ", ".join(
        "%d %s" % (counts[kind], kind) for kind in sorted(counts))


def judge_counts(counts, chains):
    problems = []
    total = sum(counts.values())
    known = sum(counts.get(which, 0) for which in chains)
    if known < LEAST:
        problems.append("only %d samples in known functions" % known)
        return problems
    if counts.get("incomplete", 0) > 3 + total // 100:
        problems.append("%d of %d samples incomplete" % (counts["incomplete"], total))
    if counts.get("not examined", 0) > NOT_EXAMINED_MOST:
        problems.append("%d samples before krait knew the process" % counts["not examined"])
    true = chains["alpha"]["cpu"] / sum(c["cpu"] for c in chains.values())
    share = counts.get("alpha", 0) / known
    if abs(share - true) > 5 * math.sqrt(true * (1 - true) / known):
        problems.append("alpha has %.3f of the samples, %.3f of the CPU time" % (share, true))
    return problems


def self_test():
    chain = {
        which: {"cpu": cpu, "chain": [
            ["<module>", "/t/prog.py", 90 + cpu, [1, 91, 92]],
            [which + "_outer", "/t/prog.py", 20 * cpu, [20, 40]],
            [which + "_leaf", "/t/prog.py", 10 * cpu, [10, 11, 20, 21]]]}
        for which, cpu in (("alpha", 2), ("beta", 1))}
    good = ["<module> (prog.py:92);alpha_outer (prog.py:40);alpha_leaf (prog.py:11);mul 180",
            "<module> (prog.py:91);beta_outer (prog.py:20);beta_leaf (prog.py:21) 90",
            "<module> (prog.py:92);alpha_outer (prog.py:20) 1",
            "_find_and_load (<frozen importlib._bootstrap>:1176) 9",
            "[no Python];execve 2"]

    def problems(stacks, code="0", end="END", kernel="1.2", judge=judge):
        return judge(Result("\r\n".join(
            ["KERNEL " + kernel, "RC " + code, "TRUTH " + repr(chain)] +
            ["STACK " + stack for stack in stacks] + [end])))[0]

    assert problems(good) == [], problems(good)
    assert problems(good, judge=judge_cycles) == [], problems(good, judge=judge_cycles)
    mark = NO_ROWS + ";__kernel_clock_gettime ([vdso]) 9"
    for stack in (good[0], good[1]):
        marked = stack.rsplit(" ", 1)[0] + ";" + mark
        assert problems(good + [marked]) and not problems(good + [marked], kernel="1.2-arm64")
        assert problems(good + [marked.replace("[vdso]", "libc.so.6")], kernel="1.2-arm64")
    faults = [
        "<module> (prog.py:92);alpha_outer (prog.py:40);alpha_leaf (prog.py:12) 1",
        "<module> (prog.py:92);alpha_outer (prog.py:41);alpha_leaf (prog.py:11) 1",
        "<module> (prog.py:92);alpha_outer (prog.py:20);alpha_leaf (prog.py:11) 1",
        "<module> (prog.py:92);alpha_leaf (prog.py:11) 1",
        "alpha_outer (prog.py:40);alpha_leaf (prog.py:11) 1",
        "<module> (prog.py:92);alpha_outer (prog.py:40);beta_leaf (prog.py:21) 1",
        "<module> (prog.py:91);alpha_outer (prog.py:40);alpha_leaf (prog.py:11) 1",
        "<module> (prog.py:92);outer (prog.py:40);alpha_leaf (prog.py:11) 1",
        "<module> (other/t/prog.py:92);alpha_outer (prog.py:40);alpha_leaf (prog.py:11) 1",
        "[incomplete: fault];alpha_leaf (prog.py:11) 9",
        "[incomplete: process not examined yet] 180",
        good[1].replace(" 90", " 300"),
    ]
    for fault in faults:
        assert problems(good + [fault]), fault
    assert problems(good[3:]) and problems(good, code="3") and problems(good, end="")
    assert problems(good + [good[0], good[1]], judge=judge_cycles)
    assert problems(good + [good[0].replace(" 180", ";vfs_read ([kernel]) 1")], judge=judge_cycles)
    print("PASS vm-judge: %d seeded faults seen" % (len(faults) + 7))


def report(name, result, verdict, console):
    problems, summary = verdict
    if problems is None:
        print("SKIP %s: %s" % (name, summary))
        return 0
    for problem in problems[:40]:
        print("FAIL %s: %s: %s" % (name, result.kernel, problem))
    if problems:
        print("     %s; all it said: %s" % (summary, console))
        return 1
    print("PASS %s: %s: %s" % (name, result.kernel, summary))
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    name, console = sys.argv[1:]
    with open(console, errors="replace") as file:
        text = file.read()
    result = Result(text)
    bad = report(name + "-load", result, judge_load(result), console)
    bad |= report(name, result, judge(result), console)
    bad |= report(name + "-dump", result, judge_dump(result), console)
    for what, judges in ("planted", judge_planted), ("hotplug", judge_hotplug), ("events", judge_events):
        if not result.brief:
            bad |= report(name + "-" + what, result, judges(result), console)
    if "arm64" in name:  # emulated x86-64 has no hardware counters
        result = Result(text, "CYCLES")
        bad |= report(name + "-cycles", result, judge_cycles(result), console)
    return bad


if __name__ == "__main__":
    sys.exit(main())
