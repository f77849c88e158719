# SPDX-License-Identifier: BSD-2-Clause
"""Drives Austin: 3.x writes text, 4.x the binary format MOJO, which has columns. Austin never stops
the process.

Each sample is one line of the text, or one event of MOJO. The number in it is a time and not a
count, so each line or event counts as one sample. A frame that Austin calls invalid counts as
unknown."""
from drivers import driver, folded

METADATA, STACK, FRAME, INVALID, REFERENCE, KERNEL, GC, IDLE, TIME, MEMORY, STRING, STRINGS = \
    range(1, 13)


class Mojo:
    """Reads Austin's format MOJO, as its own documentation describes it."""

    def __init__(self, data):
        self.data, self.at = data, 3
        self.version = self.number()
        self.strings, self.frames = {1: "<unknown>"}, {}

    def number(self):
        """Reads an integer: the first byte has a sign and 6 bits, each byte after it 7 bits."""
        byte = self.data[self.at]
        self.at += 1
        value, negative, shift = byte & 0x3f, byte & 0x40, 6
        while byte & 0x80:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
        return -value if negative else value

    def text(self):
        end = self.data.index(0, self.at)
        text = self.data[self.at:end].decode("utf-8", "surrogateescape")
        self.at = end + 1
        return text

    def new_frame(self):
        key, file, name = self.number(), self.number(), self.number()
        if self.version < 2:
            line, column, end = self.number(), 0, (0, 0)
        else:
            line, end_line, column, end_column = [self.number() for _ in range(4)]
            end = (end_line, end_column)
        self.frames[key] = driver.frame(self.strings.get(name, "?"), self.strings.get(file, "?"),
                                        line, column, end)
        return key

    def stacks(self):
        """Yields the locations of each sample in the file."""
        stack = None
        while self.at < len(self.data):
            event = self.data[self.at]
            self.at += 1
            if event == METADATA:
                self.text(), self.text()
            elif event == STACK:
                if stack is not None:
                    yield stack
                stack = []
                self.number()
                if self.version >= 3:
                    self.number()
                self.text()
            elif event == FRAME:
                self.new_frame()
            elif event == REFERENCE:
                key = self.number()
                stack.append(self.frames.get(key) or driver.mark("frame that was never described"))
            elif event == INVALID:
                stack.append(driver.mark("invalid frame"))
            elif event == KERNEL:
                self.text()
            elif event in (TIME, MEMORY):
                self.number()
            elif event == STRING:
                key = self.number()
                self.strings[key] = self.text()
            elif event not in (GC, IDLE):
                raise ValueError("MOJO: event %d at byte %d isn't known" % (event, self.at - 1))
        if stack is not None:
            yield stack


class Austin(driver.Driver):
    name = "austin"
    package = "austin-dist==3.7.0"
    install = "pip install austin-dist (4.x needs glibc 2.38; else austin-dist==3.7.0)"
    tools = ("austin",)
    exits = (0, 254)  # Austin 4.0.0 exits with 254 when its time is over

    def command(self, _interpreter, pid, seconds, hz, out):
        return self.tool + ["--interval", "%dus" % (1000000 // hz), "--exposure", str(seconds),
                            "--output", out, "--pid", str(pid), *self.options]

    def stacks(self, out):
        with open(out, "rb") as f:
            data = f.read()
        if data[:3] == b"MOJ":
            for stack in Mojo(data).stacks():
                yield 1, stack
            return
        for _, stack in folded.stacks(out, weight=lambda time: time):
            yield 1, stack

    def loses(self, said):
        return driver.counts(driver.plain(said), invalid=r"Error rate\W*[: .]*\s*(\d+)/",
                             late=r"Long sampling rate\W*[: .]*\s*(\d+)/")
