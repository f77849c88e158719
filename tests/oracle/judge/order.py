# SPDX-License-Identifier: BSD-2-Clause
"""Judges stacks of Python and native frames by the graph of a program of native/ (stacks.py): can
these frames have called each other in this order?

If a mark says that native frames are missing, the Python frames must still be in order, and so must
all frames further in than the mark. verdict() makes a Report from a profile and a graph, and has no
other effect."""
import collections
import json
import os
import re

from judge import check

INTERPRETER = re.compile(r"python|^host-")  # matches names of an interpreter's files
OUTERMOST = re.compile(r"^(_start|__libc_start_main.*|__libc_start_call_main|Py_BytesMain|Py_Main"
                       r"|start_thread)$")
LOOP = re.compile(r"^(_PyEval_EvalFrameDefault|PyEval_EvalFrameEx|_TAIL_CALL_)")
# beginning of each mark for missing native frames; the rest says why they are missing
NATIVE_MARK = "[incomplete: native stack"
# Marks of stacks that reached a limit: krait unwinds at most 2,048 native frames, and a sample has
# time for some hundreds of different functions. Next to such a mark, an evaluation loop may lack
# its Python frames.
SLOW = NATIVE_MARK + ": took too long]"
DEEP, LATE = NATIVE_MARK + ": deeper than 2,048 frames]", "[incomplete: code objects too large to verify]"
UNMATCHED = NATIVE_MARK + ": doesn't match the Python frames]"
PART = 64  # how many frames of a stack are looked up at once
FOREIGN = "another file's Python frame"
MATCHERS = {}
ORACLE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OWN = os.path.join(ORACLE, "targets") + os.sep


def matches(pattern, text):
    if pattern not in MATCHERS:
        MATCHERS[pattern] = re.compile(pattern, re.I)
    return MATCHERS[pattern].search(text)


class Graph(object):
    def __init__(self, file):
        with open(file, encoding="utf-8") as f:
            data = json.load(f)
        edges, self.copies = data["edges"], data["copies"]
        self.out = collections.defaultdict(list)
        self.known = {"python": set(), "native": set()}
        for state, to, kind, names, between, never in edges:
            self.out[state].append((to, kind, frozenset(names), between, never))
            self.known[kind].update(names)
        self.all = frozenset(self.out) | frozenset(e[1] for e in edges)

    def past(self, nodes, missing):
        """Returns the nodes that can be reached from @nodes through frames of the kinds @missing,
        which may be missing in the stack."""
        found, todo = set(nodes), list(nodes)
        while missing and todo:
            for to, kind, _, _, _ in self.out[todo.pop()]:
                if kind in missing and to not in found:
                    found.add(to)
                    todo.append(to)
        return frozenset(found)


def between_ok(between, never, gap, symbols, machinery):
    """Tells whether @gap may lie between two frames of the program. @gap has the names and files of
    frames that aren't the program's. @between and @never come from the program's graph."""
    if between == "nothing":
        return not gap
    if never and symbols and any(matches(never, each) for each in gap):
        return False
    if between == "interpreter":
        return FOREIGN in gap or all(INTERPRETER.search(each.split(" ")[-1]) for each in gap)
    if between == "any" or not symbols:
        return between == "any" or bool(gap) or not machinery
    return any(matches(between, each) for each in gap)


class State(object):
    """A state of the walk through the graph, like a state of a finite automaton.

    nodes: the possible nodes. gap: the frames since the program's last frame, which aren't the
    program's. loose: native frames may be missing from here on. fresh: native frames may be
    missing, but only before the program's next frame. holes: Python frames may be missing.
    steps: {frame: the next state}. parts: {several frames: the result of walk()}."""
    __slots__ = ("nodes", "gap", "loose", "fresh", "holes", "steps", "parts")

    def __init__(self, nodes, gap=frozenset(), loose=False, fresh=False, holes=False):
        self.nodes, self.gap, self.loose, self.fresh = nodes, gap, loose, fresh
        self.holes = holes
        self.steps, self.parts = {}, {}


class Checker(object):
    """Judges stacks by the graph of a program.

    symbols: the interpreter has names for its own functions. full: recorded with --native=full,
    else with --native=leaf. machinery: recorded with --interpreter-frames. each: each Python frame
    has an evaluation loop of its own (up to 3.10).

    The checker caches states and the steps between them: those of single locations (of one
    profile), and those of whole parts of a stack, because deep stacks differ only at their ends."""

    def __init__(self, graph, symbols, full=True, machinery=False, each=False):
        self.graph, self.symbols, self.full = graph, symbols, full
        self.machinery, self.each = machinery, each
        self.states, self.loop_at = {}, {}

    def state(self, *key):
        if key not in self.states:
            self.states[key] = State(*key)
        return self.states[key]

    def known(self, loc):
        if loc.kind == "python":
            return loc.file.startswith(OWN)
        return loc.name in self.graph.known["native"]

    def foreign(self, state, loc):
        if loc.kind == "python":
            entry = FOREIGN
        else:
            entry = "%s %s" % (loc.name, os.path.basename(loc.mapping))
            if OUTERMOST.match(loc.name) and 0 not in state.nodes and not (
                    state.loose or state.fresh):
                return "the thread's start inside"
        return self.state(state.nodes, state.gap | {entry}, state.loose, state.fresh, state.holes)

    def step(self, state, loc):
        """Returns the state after frame @loc, or text that says what is wrong with the frame."""
        if not self.known(loc):
            return self.foreign(state, loc)
        missing = ["native"] * (state.loose or state.fresh) + ["python"] * state.holes
        nodes, lenient = self.graph.past(state.nodes, missing), bool(missing)
        named = [edge for node in nodes for edge in self.graph.out[node]
                 if edge[1] == loc.kind and loc.name in edge[2]]
        found = frozenset(to for to, _, _, between, never in named if lenient
                          or between_ok(between, never, state.gap, self.symbols,
                                        self.machinery))
        if found:
            return self.state(found, frozenset(), state.loose, False, state.holes)
        return "wrong between" if named else "wrong order"

    def walk(self, state, frames):
        """Returns three values: the state after @frames, or what is wrong; the number of right
        frames; how many of these are the program's."""
        ours = 0
        for i, loc in enumerate(frames):
            if loc.kind == "mark":
                continue
            if loc not in state.steps:
                state.steps[loc] = self.step(state, loc)
            state = state.steps[loc]
            if isinstance(state, str):
                return state, i, ours
            ours += not state.gap
        return state, len(frames), ours

    def loose_until(self, stack, kinds, unmarked):
        """Returns (index of the frame from which on, inwards, no native frame may be missing; the
        kind of the stack if all of its frames are in order)."""
        marks = [i for i, kind in enumerate(kinds) if kind == "mark"] if "mark" in kinds else []
        if any(not stack[i].name.startswith(NATIVE_MARK) for i in marks):
            return marks[-1], "python"
        if marks:
            return marks[-1], "marked"
        if unmarked:
            return kinds.index("native") if "native" in kinds else len(stack), "unmarked"
        if self.full or "python" not in kinds:
            return 0, "right"
        return len(kinds) - 1 - kinds[::-1].index("python"), "right"

    def copied(self, stack):
        """Tells whether the program, as greenlet does, is just copying another C stack into place.
        Then the outer frames are a mixture of two stacks."""
        return self.graph.copies and any(loc.kind == "native" and matches(self.graph.copies, loc.name)
                                         for loc in stack)

    def is_loop(self, loc):
        if loc not in self.loop_at:
            self.loop_at[loc] = loc.kind == "native" and bool(LOOP.match(loc.name))
        return self.loop_at[loc]

    def loops(self, stack, kinds, since):
        """Checks that just outside each group of Python frames there is an evaluation loop, and
        just inside each loop a group. Returns (index of the wrong frame, what is wrong), or
        None.

        The innermost loop may have no Python frame yet, or none any more."""
        if "python" not in kinds:
            return None
        first, last = kinds.index("python"), len(kinds) - 1 - kinds[::-1].index("python")
        for i in range(since, last):
            kind, after, loop = kinds[i], kinds[i + 1], self.is_loop(stack[i])
            if loop and after != "python" and i > first:
                return i, "loop without a Python frame"
            if after == "python" and not loop and kind != "mark" and (self.each or kind == "native"):
                return i + 1, "Python frame without a loop"
        return None

    def first(self, kind, until):
        if kind == "python":
            return self.state(self.graph.all, frozenset(), True, True, True)
        # the mark, which says that frames are missing, may be the outermost frame
        loose = until > 0 or kind == "marked"
        return self.state(frozenset([0]), frozenset(), loose, kind == "unmarked")

    def classify(self, stack, unmarked=False):
        """Judges a stack, root first. Returns (kind, index of the wrong frame, number of the
        program's frames).

        kind is "right"; "marked": right, but native frames are missing, as a mark says;
        "python": right, but Python frames are missing, as a mark says; "foreign": no frame is
        the program's; any other text says what is wrong. With @unmarked, the outermost native
        frames may be missing without a mark; the kind is then "unmarked"."""
        kinds = [loc.kind for loc in stack]
        until, kind = self.loose_until(stack, kinds, unmarked)
        state, depth = self.first(kind, until), 0
        end = kinds.index("kernel") if "kernel" in kinds else len(stack)
        if kind == "right" and kinds[:1] == ["python"] and self.machinery:
            return "no native frame outside", 0, depth
        for first, last in ((0, until), (until, end)):
            if first == until and state.loose:
                state = self.state(state.nodes, frozenset(), False, True, state.holes)
            for i in range(first, last, PART):
                part = tuple(stack[i:min(i + PART, last)])
                if part not in state.parts:
                    state.parts[part] = self.walk(state, part)
                state, at, ours = state.parts[part]
                depth += ours
                if isinstance(state, str):
                    excused = kind == "marked" and self.copied(stack)
                    return "marked" if excused else state, i + at, depth
        if kinds[end:].count("kernel") < len(stack) - end:
            return "user frame inside of the kernel", end, depth
        if self.machinery and self.symbols and kind != "python":
            wrong = self.loops(stack, kinds, until)
            if wrong:
                return wrong[1], wrong[0], depth
        return kind if depth else "foreign", 0, depth


FINE = ("right", "marked", "python", "foreign", "unmarked", "young")
# for this many ns after krait first sees a file, the file's unwind rows may be missing
YOUNG_NS = 3 * 1000 * 1000 * 1000


class Report(object):
    def __init__(self):
        self.kinds = collections.Counter()
        self.marks = collections.Counter()
        # limit (DEEP, LATE) -> number of samples that lack frames only because of it
        self.cut = collections.Counter()
        # .absent: number of samples of threads without a Python frame
        self.deepest = self.longest = self.absent = 0
        self.examples = []
        # kind -> number of wrong stacks of this kind so far
        self.shown = collections.Counter()

    @property
    def samples(self):
        return sum(self.kinds.values())

    def wrong(self):
        return sum(count for kind, count in self.kinds.items() if kind not in FINE)

    def add(self, other):
        self.kinds.update(other.kinds)
        self.absent += other.absent
        self.marks.update(other.marks)
        self.cut.update(other.cut)
        self.deepest = max(self.deepest, other.deepest)
        self.longest = max(self.longest, other.longest)
        self.examples += other.examples

    def example(self, kind, count, stack, at):
        self.shown[kind] += 1
        if self.shown[kind] <= 2:
            shown = ["%s%s [%s]" % ("> " if i == at else "  ", l.name[:90],
                                    os.path.basename(l.mapping)) for i, l in enumerate(stack)]
            first = max(0, at - 16)
            shown = shown[:4] * (first > 4) + shown[first:at + 10]
            self.examples.append("%s at frame %d of %d, %d samples:\n  %s" % (
                kind, at, len(stack), count, "\n  ".join(shown)))


def judged(stack, checker):
    """Returns (the result of classify(), the stack's frames in brackets)."""
    found = checker.classify(stack)
    if found[0] not in FINE:
        loose = checker.classify(stack, True)
        found = loose if loose[0] in FINE else found
    return found, {loc.name for loc in stack if loc.kind == "mark"}


def verdict(profile, checker, samples):
    """Judges the profile's samples @samples, all of one process, and returns a Report."""
    report, cache = Report(), {}
    young = YOUNG_NS + min([int(s.labels.get("time", 0)) for s in samples] or [0])
    for sample in samples:
        stack = profile.stack(sample)
        if sample.stack not in cache:
            cache[sample.stack] = judged(stack, checker)
        (kind, at, depth), marks = cache[sample.stack]
        if kind == "unmarked" and int(sample.labels.get("time", young)) < young:
            kind = "young"
        count = sample.values[0]
        report.kinds[kind] += count
        for name in marks:
            report.marks[name] += count
        if kind in ("marked", "unmarked", "python") and marks and marks <= ({DEEP, SLOW, LATE, UNMATCHED} if LATE in marks else {DEEP, SLOW}):
            report.cut[LATE if LATE in marks else DEEP] += count
        if kind == "python" and any(name in marks for name in check.ABSENT):
            report.absent += count
        if kind == "right":
            report.deepest = max(report.deepest, depth)
            report.longest = max(report.longest, len(stack))
        elif kind not in FINE:
            report.example(kind, count, stack, at)
    return report
