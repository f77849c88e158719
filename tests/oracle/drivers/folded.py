# SPDX-License-Identifier: BSD-2-Clause
"""Drives any profiler that writes folded stacks with line numbers.

A line has the frames, root first, with ";" between them, then a space and a number of samples. A
frame is NAME (FILE:LINE) as py-spy writes it, or FILE:NAME:LINE as Austin and Python's sampler
do. An entry without a line number (a process, a thread) isn't a frame. A frame in brackets,
[LIKE THIS], or Austin's :INVALID: stands for a frame that the profiler doesn't know."""
import re
import shlex

from drivers import driver

SPACED = re.compile(r"^(.*) \((.*):(\d+)\)$")
INVALID = ":INVALID:"
COLONS = re.compile(r"^(.*):([^:]*):(\d+)$")


def location(text):
    """Returns the frame in @text as a location, also if @text stands for an unknown frame; None if
    @text is neither."""
    found = SPACED.match(text)
    if found:
        return driver.frame(found.group(1), found.group(2), int(found.group(3)))
    found = COLONS.match(text)
    if found:
        return driver.frame(found.group(2), found.group(1), int(found.group(3)))
    return driver.mark(text.strip("[]:")) if text.startswith("[") or text == INVALID else None


def stacks(path, weight=int):
    """Yields (number of samples, locations) for each line of the file. @weight computes the number
    from the last word of the line."""
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            if stack and not line.startswith("#"):
                frames = [location(text) for text in stack.split(";")]
                yield weight(count), [each for each in frames if each]


class Folded(driver.Driver):
    """A driver for any profiler. --tool gives its whole command, in which {pid}, {seconds}, {hz}
    and {out} are replaced."""
    name = "folded"
    install = "give its command with --tool 'TOOL -p {pid} -d {seconds} -r {hz} -o {out}'"

    def missing(self, interpreter):
        if self.tool and not any("{out}" in word for word in self.tool):
            return "--tool has no {out}, so where the tool writes isn't known"
        return None if self.tool else self.install

    def version(self, _interpreter):
        return shlex.join(self.tool)

    def command(self, _interpreter, pid, seconds, hz, out):
        return [word.format(pid=pid, seconds=seconds, hz=hz, out=out) for word in self.tool]

    def stacks(self, out):
        return stacks(out)

    def loses(self, said):
        return {}
