# SPDX-License-Identifier: BSD-2-Clause
"""Compares a profile with the truth of one target, and finds samples that show what can't have
happened."""
import collections
import json

# for this many ns after an interpreter's start, its stacks may be incomplete
STARTUP_NS = 20 * 1000 * 1000
UNREADABLE_NAMES = {"[name not readable]"}
UNREADABLE = {"[incomplete: name not readable]", "[incomplete: line table not readable]"}
PART = 64  # how many frames of a stack are looked up at once
MIN_DEPTH = 1024  # a stack with more Python frames than this may be truncated


# marks (frames in brackets) that say why a thread has no Python frames
ABSENT = ("[no Python]", "[interpreter starting]", "[interpreter ending]")


class Truth(object):
    """The call tree of a target, indexed for the look-ups that judging a sample needs.

    names: a function that returns the names that a code object may have, for profiles without
    first lines (see loose.py). Without it, each frame must have the first line of its code
    object."""

    def __init__(self, *paths, **options):
        self.names = options.get("names")
        self.codes, self.own, self.anywhere = [], [], set()
        self.by_key = collections.defaultdict(list)
        # (file, name, first line) -> calling node -> [(node, code, call)]
        self.children = collections.defaultdict(lambda: collections.defaultdict(list))
        self.by_code = collections.defaultdict(list)
        for path in paths:
            self._add(path)

    def _add(self, path):
        with open(path) as f:
            data = json.load(f)
        base = len(self.codes)
        for code in data["codes"]:
            code["lines"] = set(code["lines"])
            code["makes"] = set(map(tuple, code["makes"]))
            code["positions"] = set(map(tuple, code["positions"])) if code["positions"] else None
            code["ends"] = set(map(tuple, code["ends"])) if code.get("ends") else None
            self.codes.append(code)
            for key in self.keys(code):
                self.by_key[key].append(code)
        self.own += data["own"]
        self.anywhere |= set(base + i for i in data["anywhere"])
        label = path if base else ""  # makes node names of several truths distinct
        for i, (parent, line, column, code_id) in enumerate(data["nodes"]):
            if code_id is None:
                continue
            code_id += base
            node = (label, i)
            parent = (label, parent) if parent else 0
            code = self.codes[code_id]
            entry = (node, code, (line, column))
            for key in self.keys(code):
                self.children[key][parent].append(entry)
                self.by_code[key].append(entry)

    def keys(self, code):
        """Returns the values of pprof.Location.key that frames of this code may have."""
        if self.names:
            return [(code["file"], name, 0) for name in self.names(code)]
        return [(code["file"], name, code["first"]) for name in code["names"]]

    def is_own(self, location):
        return any(location.file.startswith(prefix) for prefix in self.own)


def line_ok(code, loc):
    """Tells whether a frame of this code may show the location's line and column, if it is a leaf
    or was interrupted anywhere."""
    if loc.line not in code["lines"]:
        return False
    if not loc.column or not code["positions"]:
        return True
    return (loc.line, loc.column) in code["positions"] and end_ok(code, loc)


def end_ok(code, loc):
    """Tells whether the code has an expression that ends where the location says, beginning at the
    location's position. True if the profile doesn't give the ends of expressions."""
    return (not loc.end_column or not code["ends"]
            or (loc.line, loc.column, loc.end_line, loc.end_column) in code["ends"])


def call_ok(call, loc):
    return loc.line == call[0] and (not loc.column or loc.column == call[1])


def short(text):
    return text if len(text) < 120 else "%s...%s" % (text[:50], text[-50:])


def shown(stack, at):
    """Returns the frames near number @at as text, one per line."""
    lines = ["%s%s (%s:%d:%d) first %d" % ("> " if i == at else "  ", short(l.name),
                                           short(l.file), l.line, l.column, l.first)
             for i, l in enumerate(stack)]
    if len(lines) > 14:
        lines = lines[:3] + ["  ..."] + lines[max(3, at - 4):at + 4][-10:]
    return "\n  ".join(lines)


class Report(object):
    def __init__(self):
        self.samples = self.startup = self.foreign = self.empty = self.truncated = 0
        self.impossible = self.wrong_lines = self.wrong_names = 0
        self.incomplete = collections.Counter()
        self.leaves = collections.Counter()
        self.examples = []

    def add(self, other):
        """Adds the counts of another recording of the same program to these."""
        for name in ("samples", "startup", "foreign", "empty", "truncated", "impossible",
                     "wrong_lines", "wrong_names"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.incomplete.update(other.incomplete)
        self.leaves.update(other.leaves)
        self.examples += other.examples

    def wrong(self):
        return self.impossible + self.wrong_lines + self.wrong_names

    def bad(self):
        return sum(self.incomplete.values())

    def example(self, kind, count, stack, at):
        if len(self.examples) < 12:
            self.examples.append("%s, %d samples:\n  %s" % (kind, count, shown(stack, at)))


class Checker(object):
    """Judges stacks by a Truth. contract: frames in files that aren't the target's are left out
    before stacks are compared.

    A stack is walked from its root, as a finite automaton reads a word. A state is the set of the
    tree's nodes that a frame may be. The checker caches states and the steps between
    them: those of single frames, and those of whole parts of a stack, because deep stacks differ
    only at their ends."""

    def __init__(self, truth, contract=False):
        self.truth, self.contract = truth, contract
        self.states, self.state_ids, self.steps, self.parts = [], {}, {}, {}
        for i, code in enumerate(truth.codes):
            code["index"] = i

    def state(self, entries):
        """Returns the number of the state for these entries (node, code, call). .states[number] is
        {node: code}."""
        codes = {node: code for node, code, _ in entries}
        key = frozenset(codes)
        known = self.state_ids.get(key)
        if known is None:
            known = self.state_ids[key] = len(self.states)
            self.states.append(codes)
        return known

    def starts(self, stack, cut):
        """Returns the state after the root frame. @cut: the stack was truncated, so its root may be
        any frame."""
        key = stack[0].key
        if cut:
            return self.state(self.truth.by_code.get(key, []))
        return self.state(self.roots(key))

    def roots(self, key):
        return self.truth.children.get(key, {}).get(0, [])

    def explain(self, stack, at):
        """Returns the kind of error for frame number @at, which is on no path of the tree."""
        codes = self.truth.by_key.get(stack[at].key)
        if not codes:
            return "wrong name"
        if not any(line_ok(code, stack[at]) for code in codes):
            return "wrong line"
        return "impossible"

    def step(self, state, loc, callee):
        """Returns the number of the state after a call from @loc to @callee, or the kind of error
        (text) if the tree has no such call."""
        codes, callers = self.states[state], self.truth.children.get(callee.key, {})
        moved = [node for node in min(codes, callers, key=len) if node in codes and node in callers]
        found = [child for node in moved if end_ok(codes[node], loc)
                 for child in callers[node] if call_ok(child[2], loc)]
        if not found and any(line_ok(code, loc) for code in codes.values()):
            # The interpreter itself may have called a finalizer or a signal handler at this place.
            found = [e for e in self.roots(callee.key) if e[1]["index"] in self.truth.anywhere]
        if found:
            return self.state(found)
        return "wrong line" if moved else "impossible"

    def creates(self, state, loc, callee):
        """Tells whether @callee may be a generator or coroutine that is just being created, a call
        that sys.setprofile() doesn't report."""
        return (any((callee.line, callee.column) in code["makes"]
                    for code in self.truth.by_key.get(callee.key, ()))
                and any(line_ok(code, loc) for code in self.states[state].values()))

    def along(self, state, part):
        """Follows the calls along the frames of @part. Returns (state at the end, None, 0). If the
        tree lacks a call, returns (the caller's state, the kind of error, the caller's index in
        @part)."""
        for i, loc in enumerate(part[:-1]):
            key = (state, loc, part[i + 1])
            if key not in self.steps:
                self.steps[key] = self.step(state, loc, part[i + 1])
            if isinstance(self.steps[key], str):
                return state, self.steps[key], i
            state = self.steps[key]
        return state, None, 0

    def walk(self, stack, cut):
        """Returns None if the stack is a path of the tree, else (kind of error, index of the
        frame)."""
        state = self.starts(stack, cut)
        if not self.states[state]:
            return self.explain(stack, 0), 0
        last = len(stack) - 1
        for first in range(0, last, PART):
            part = tuple(stack[first:first + PART + 1])
            if (state, part) not in self.parts:
                self.parts[state, part] = self.along(state, part)
            state, wrong, at = self.parts[state, part]
            if not wrong:
                continue
            at += first
            if at + 1 == last and self.creates(state, stack[at], stack[last]):
                return None
            if wrong == "wrong line":
                return wrong, at
            kind = self.explain(stack, at + 1)
            return (kind if kind == "wrong name" else wrong), at + 1
        if not any(line_ok(code, stack[-1]) for code in self.states[state].values()):
            return "wrong line", last
        return None

    def classify(self, locations):
        """Returns ('ok', 'foreign', 'empty' or a kind of error; frame index; marks; Python frames).
        """
        marks = [l.name for l in locations if l.kind == "mark"
                 and not l.name.startswith("[incomplete: native stack: ")]
        frames = [l for l in locations if l.kind == "python"]
        if not frames:
            return "empty", 0, marks, frames
        if not any(self.truth.is_own(l) for l in frames):
            return "foreign", 0, marks, frames
        if UNREADABLE & set(marks):
            unread = [not l.line or not l.file or l.name in UNREADABLE_NAMES for l in frames]
            frames = frames[:unread.index(True)] if True in unread else frames
            if not frames:
                return "empty", 0, marks, frames
        if self.contract:
            frames = [l for l in frames if self.truth.is_own(l)]
        error = self.walk(frames, bool(marks))
        return (error[0], error[1], marks, frames) if error else ("ok", 0, marks, frames)


def load(paths, contract=False, names=None):
    return Checker((Contracted if contract else Truth)(*paths, names=names), contract)


class Contracted(Truth):
    """A Truth without frames in other files than the target's. A call by such a frame counts as a
    call by the target's own frame that called it."""

    def _add(self, path):
        with open(path) as f:
            data = json.load(f)
        nodes, codes = data["nodes"], data["codes"]
        own = [any(c["file"].startswith(p) for p in data["own"]) for c in codes]
        merged, mapped, mapped_call, out = {}, [0], {}, [[0, 0, 0, None]]
        for parent, line, column, code_id in nodes[1:]:
            # The call counts as made where the innermost of the target's own frames makes its call.
            if parent and not own[nodes[parent][3]]:
                line, column = mapped_call[parent]
            key = (mapped[parent], line, column, code_id)
            if own[code_id]:
                if key not in merged:
                    merged[key] = len(out)
                    out.append(list(key))
                mapped.append(merged[key])
            else:
                mapped.append(mapped[parent])
            mapped_call[len(mapped) - 1] = (line, column)
        data["nodes"] = out
        short = path + ".own"
        with open(short, "w") as f:
            f.write(json.dumps(data))  # json.dump() takes ten times as long
        Truth._add(self, short)


def verdict(profile, checker, pids=None):
    """Judges the samples of the processes @pids (None: of all), and returns a Report."""
    report, cache, first_seen = Report(), {}, {}
    for sample in profile.samples:
        pid = str(sample.labels.get("pid", ""))
        if "time" in sample.labels:
            seen = first_seen.get(pid, 1 << 63)
            first_seen[pid] = min(seen, int(sample.labels["time"]))
    for sample in profile.samples:
        pid = str(sample.labels.get("pid", ""))
        if pids is not None and pid not in pids:
            continue
        count = sample.values[0]
        report.samples += count
        result = cache.get(sample.stack)
        if result is None:
            result = cache[sample.stack] = checker.classify(profile.stack(sample))
        kind, at, marks, frames = result
        young = ("time" in sample.labels
                 and int(sample.labels["time"]) - first_seen[pid] < STARTUP_NS)
        tally(report, count, kind, at, marks, frames, young)
    return report


def is_source(name):
    """Tells whether @name can be the file of a code object. If it can't, the profiler took
    something else for a code object."""
    return name.endswith(".py") or (name.startswith("<") and name.endswith(">"))


def tally(report, count, kind, at, marks, frames, young):
    if kind == "foreign" and not all(is_source(f.file) for f in frames):
        kind = "wrong name"
    if kind == "wrong name":
        report.wrong_names += count
    elif kind == "wrong line":
        report.wrong_lines += count
    elif kind == "impossible":
        report.impossible += count
    if kind not in ("ok", "foreign", "empty"):
        report.example(kind, count, frames, at)
    elif kind == "foreign":
        report.foreign += count
    if frames:
        report.leaves[frames[-1].name] += count
    if "[truncated]" in marks:
        report.truncated += count
        if len(frames) < MIN_DEPTH:
            report.impossible += count
            report.example("truncated at depth %d" % len(frames), count, frames, 0)
    others = [m for m in marks if m != "[truncated]"] or (["no mark"] if kind == "empty" else [])
    if others and young:
        report.startup += count
    elif others:
        report.incomplete[others[0]] += count
