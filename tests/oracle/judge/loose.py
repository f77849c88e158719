# SPDX-License-Identifier: BSD-2-Clause
"""Judges the stacks of any profiler, by what the profiler says and nothing else.

check.py needs the first line of each code object, its qualified name and its whole path. A
profiler that gives less isn't wrong. So a frame may be any code object of its file whose
qualified name, or the last part of it, is the frame's name. A file's path may be shortened at
its front. Frames without columns are compared by their lines."""
import collections

from judge import check

KINDS = ("right", "stack", "line", "column", "name", "order", "incomplete", "not judged")
WRONG = ("stack", "line", "column", "name", "order")
CALLED = {"impossible": "stack", "wrong line": "line", "wrong name": "name"}
# swapped() tries pairs up to this many frames away from the wrong frame
NEAR = 2


def names(code):
    """Returns all names that a profiler may use for this code object."""
    return set(code["names"]) | {name.rpartition(".")[2] for name in code["names"]}


class Files:
    """Finds the target's file that a shortened path stands for."""

    def __init__(self, codes):
        self.whole, self.codes = {code["file"] for code in codes}, {}
        for code in codes:
            parts = code["file"].split("/")
            for first in range(len(parts)):
                self.codes.setdefault("/".join(parts[first:]), []).append(code)

    def whole_path(self, location):
        """Returns the whole path of a location's file. If several files fit, takes one with a
        function of that name and with that line."""
        file = location.file
        if file in self.whole or file not in self.codes:
            return file
        fit = [code for code in self.codes[file] if location.name in names(code)]
        return (([code for code in fit if location.line in code["lines"]] or fit
                 or self.codes[file])[0]["file"])


class Judge:
    """Judges the stacks of one program. @first_lines: the profiler gives first lines of code
    objects, so these are compared as well."""

    def __init__(self, paths, contract, first_lines):
        self.checker = check.load(paths, contract, None if first_lines else names)
        self.files = Files(self.checker.truth.codes)
        self.known = {}
        self.counts = collections.Counter()
        self.examples = []

    def frame(self, location, column=True):
        """Returns the location with its file's path as the truth has it, and without its column
        unless @column."""
        if location.kind != "python":
            return location
        end = (location.end_line, location.end_column) if column else (0, 0)
        return type(location)(location.mapping, location.name,
                              self.files.whole_path(location), location.first, location.line,
                              location.column if column else 0, end=end)

    def wrong(self, stack):
        """Returns (kind of error or None, index of the frame, frames in brackets, Python frames),
        as check.Checker does."""
        kind, at, marks, frames = self.checker.classify(stack)
        if kind == "foreign" and not all(check.is_source(f.file) for f in frames):
            kind = "wrong name"
        return kind, at, marks, frames

    def sort(self, stack):
        """Returns (one of KINDS, index of the frame, frames)."""
        kind, at, marks, frames = self.wrong([self.frame(each) for each in stack])
        lacks = any(m != "[truncated]" and m not in check.ABSENT for m in marks)
        if kind in ("ok", "empty", "foreign"):
            return "incomplete" if lacks else "right" if kind == "ok" else "not judged", 0, frames
        lines = [self.frame(each, column=False) for each in stack]
        if kind == "wrong line" and self.wrong(lines)[0] == "ok":
            return "column", at, frames
        if kind != "wrong name" and self.swapped(frames, at):
            return "order", at, frames
        return CALLED[kind], at, frames

    def swapped(self, frames, at):
        """Tells whether the stack would be right if two neighbouring frames near index @at changed
        places."""
        for first in range(max(0, at - NEAR), min(len(frames) - 1, at + NEAR)):
            other = list(frames)
            other[first], other[first + 1] = other[first + 1], other[first]
            if other != frames and self.wrong(other)[0] == "ok":
                return True
        return False

    def add(self, count, stack):
        key = tuple((f.kind, f.key, f.line, f.column, f.end_line, f.end_column) for f in stack)
        if key not in self.known:
            self.known[key] = self.sort(stack)
            kind, at, frames = self.known[key]
            if kind in WRONG:
                self.examples.append("%s\n  %s" % (kind, check.shown(frames, at)))
        self.counts[self.known[key][0]] += count

    def judged(self):
        """Returns how many samples could be compared with the truth."""
        return sum(self.counts.values()) - self.counts["not judged"] - self.counts["incomplete"]
