# SPDX-License-Identifier: BSD-2-Clause
"""Holds stacks of Python and native frames against the graph of a program of native/ (stacks.py):
is their order one that can happen?

A stack that breaks off behind a native mark has its Python frames in order all the same, and
whatever lies inside of the mark. verdict() is pure: a profile and a graph go in, a Report comes out.
"""
import collections
import json
import os
import re

INTERPRETER = re.compile(r"python|^host-")  # files that an interpreter consists of
OUTERMOST = re.compile(r"^(_start|__libc_start_main.*|__libc_start_call_main|Py_BytesMain|Py_Main"
                       r"|start_thread)$")
LOOP = re.compile(r"^(_PyEval_EvalFrameDefault|PyEval_EvalFrameEx|_TAIL_CALL_)")
NATIVE_MARK = "[incomplete: native stack"  # what follows says why
FOREIGN = "another file's Python frame"
MATCHERS = {}
HERE = os.path.dirname(os.path.abspath(__file__))
OWN = tuple(os.path.join(HERE, name) + os.sep for name in ("native", "targets"))


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
        """What can be reached from nodes when frames of this kind are missing."""
        found, todo = set(nodes), list(nodes)
        while todo:
            for to, kind, _, _, _ in self.out[todo.pop()]:
                if kind == missing and to not in found:
                    found.add(to)
                    todo.append(to)
        return frozenset(found)


def between_ok(between, never, gap, symbols, machinery):
    """May this lie between two frames of the program? gap: names and files of native frames."""
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
    """nodes: where in the graph; gap: native frames of others since the last frame of the program.

    loose: native frames may be missing; fresh: so they may before the next frame. holes: Python frames
    may be missing.
    """
    __slots__ = ("nodes", "gap", "loose", "fresh", "holes", "steps")

    def __init__(self, nodes, gap=frozenset(), loose=False, fresh=False, holes=False):
        self.nodes, self.gap, self.loose, self.fresh = nodes, gap, loose, fresh
        self.holes = holes
        self.steps = {}


class Checker(object):
    """symbols: the interpreter has names for its own functions. full: --native=full, else leaf.
    machinery: --interpreter-frames; each: up to 3.10 each Python frame has a loop of its own.

    States are kept, and the step from each by each location (of one profile): deep stacks share their
    beginnings.
    """

    def __init__(self, graph, symbols, full=True, machinery=False, each=False):
        self.graph, self.symbols, self.full = graph, symbols, full
        self.machinery, self.each = machinery, each
        self.states = {}

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
        """The state after this frame, or what is wrong."""
        if not self.known(loc):
            return self.foreign(state, loc)
        nodes, lenient = state.nodes, state.loose or state.fresh
        if lenient:
            nodes = self.graph.past(nodes, "native")
        if state.holes:
            nodes = self.graph.past(nodes, "python")
            lenient = True
        named = [edge for node in nodes for edge in self.graph.out[node]
                 if edge[1] == loc.kind and loc.name in edge[2]]
        found = frozenset(to for to, _, _, between, never in named if lenient
                          or between_ok(between, never, state.gap, self.symbols,
                                        self.machinery))
        if found:
            return self.state(found, frozenset(), state.loose, False, state.holes)
        return "wrong between" if named else "wrong order"

    def loose_until(self, stack, unmarked):
        """Index of the frame from which on native frames must be there; kind of stack."""
        marks = [i for i, loc in enumerate(stack) if loc.kind == "mark"]
        if any(not stack[i].name.startswith(NATIVE_MARK) for i in marks):
            return marks[-1], "python"
        if marks:
            return marks[-1], "marked"
        if unmarked:
            natives = [i for i, loc in enumerate(stack) if loc.kind == "native"]
            return natives[0] if natives else len(stack), "unmarked"
        frames = [i for i, loc in enumerate(stack) if loc.kind == "python"]
        return frames[-1] if frames and not self.full else 0, "right"

    def copied(self, stack):
        """Is the C stack being exchanged for another's? Then what lies outside is half of each."""
        return self.graph.copies and any(loc.kind == "native" and matches(self.graph.copies, loc.name)
                                         for loc in stack)

    def loops(self, stack, since):
        """Is each group of Python frames on an evaluation loop, and each loop below one? The index of
        the frame that isn't, with what is wrong, or None.

        The innermost loop may have no Python frame yet, or no longer.
        """
        last = max([i for i, loc in enumerate(stack) if loc.kind == "python"] or [0])
        first = [i for i, loc in enumerate(stack) if loc.kind == "python"][:1]
        for i in range(since, last):
            loc, after = stack[i], stack[i + 1]
            if loc.kind == "mark":
                continue
            loop = loc.kind == "native" and LOOP.match(loc.name)
            if loop and after.kind != "python" and i > first[0]:
                return i, "loop without a Python frame"
            if after.kind == "python" and not loop and (self.each or loc.kind == "native"):
                return i + 1, "Python frame without a loop"
        return None

    def first(self, stack, kind, until):
        if kind == "python":
            return self.state(self.graph.all, frozenset(), True, True, True)
        return self.state(frozenset([0]), frozenset(), until > 0, kind == "unmarked")

    def classify(self, stack, unmarked=False):
        """(kind, index of the frame that is wrong, frames of the program) of a stack, root first.

        kind: "right"; "marked": right, but part of the native frames is missing, which is said;
        "python": the same of Python frames; "foreign": no frame of the program; else what is wrong.
        unmarked: native frames may be missing up to the outermost one that is there: "unmarked".
        """
        until, kind = self.loose_until(stack, unmarked)
        state, depth, kernel = self.first(stack, kind, until), 0, False
        for i, loc in enumerate(stack):
            if kernel and loc.kind != "kernel":
                return "user frame inside of the kernel", i, depth
            if i == until and state.loose:
                state = self.state(state.nodes, frozenset(), False, True, state.holes)
            if loc.kind == "kernel":
                kernel = True
            if loc.kind in ("kernel", "mark"):
                continue
            if i == 0 and loc.kind == "python" and self.machinery and kind == "right":
                return "no native frame outside", i, depth
            key = id(loc)
            after = state.steps.get(key)
            if after is None:
                after = state.steps[key] = self.step(state, loc)
            if isinstance(after, str):
                return "marked" if kind == "marked" and self.copied(stack) else after, i, depth
            state = after
            depth += not state.gap
        if self.machinery and self.symbols and kind != "python":
            wrong = self.loops(stack, until)
            if wrong:
                return wrong[1], wrong[0], depth
        return kind if depth else "foreign", 0, depth


FINE = ("right", "marked", "python", "foreign", "unmarked", "young")
YOUNG_NS = 3 * 1000 * 1000 * 1000  # tables to unwind with are made when a file is first met


class Report(object):
    def __init__(self):
        self.kinds = collections.Counter()
        self.marks = collections.Counter()
        self.deepest = self.longest = self.absent = 0  # absent: nothing of Python on the thread
        self.examples = []
        self.shown = collections.Counter()  # of each kind

    @property
    def samples(self):
        return sum(self.kinds.values())

    def wrong(self):
        return sum(count for kind, count in self.kinds.items() if kind not in FINE)

    def add(self, other):
        self.kinds.update(other.kinds)
        self.absent += other.absent
        self.marks.update(other.marks)
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


def verdict(profile, checker, pids=None):
    """Counts what the profile shows of the processes in pids (None = all)."""
    report, cache = Report(), {}
    for sample in profile.samples:
        if pids is not None and str(sample.labels.get("pid", "")) not in pids:
            continue
        if sample.stack not in cache:
            cache[sample.stack] = checker.classify(profile.stack(sample))
        kind, at, depth = cache[sample.stack]
        if kind not in FINE:
            loose = checker.classify(profile.stack(sample), True)
            kind, at, depth = loose if loose[0] in FINE else (kind, at, depth)
        if kind == "unmarked" and int(sample.labels.get("time", YOUNG_NS)) < YOUNG_NS:
            kind = "young"
        count = sample.values[0]
        report.kinds[kind] += count
        stack = profile.stack(sample)
        for name in {loc.name for loc in stack if loc.kind == "mark"}:
            report.marks[name] += count
        if kind == "python" and any(loc.name == "[no Python]" for loc in stack):
            report.absent += count
        if kind == "right":
            report.deepest = max(report.deepest, depth)
            report.longest = max(report.longest, len(stack))
        elif kind not in FINE:
            report.example(kind, count, stack, at)
    return report
