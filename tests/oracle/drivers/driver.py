# SPDX-License-Identifier: BSD-2-Clause
"""The base class of all drivers. A driver runs a profiler on one process, and reads the file that
the profiler writes.

A driver doesn't judge. It returns the stacks as the profiler wrote them, root first, as
locations of judge/pprof.py. Numbers that the profiler doesn't give (first lines, columns) are 0."""
import re
import shlex
import shutil
import subprocess

from judge import pprof

PYTHON = "[python]"


class Driver:
    """One profiler. A subclass sets the attributes below, and defines command(), stacks() and
    loses()."""
    name = ""
    package = ""  # the profiler's package on PyPI
    install = ""  # a command that installs the profiler
    tools = ()  # names of the profiler's program; the first one found is used
    version_option = "--version"
    exits = (0,)  # exit codes of the profiler that mean success
    first_lines = False  # whether the profiler gives the first line of each code object

    def __init__(self, tool=None, options=()):
        self.options = list(options)
        found = [t for t in self.tools if shutil.which(t)]
        self.tool = shlex.split(tool) if tool else found[:1]

    def missing(self, _interpreter):
        """Returns why the profiler can't be run, or None if it can."""
        if not self.tool or not shutil.which(self.tool[0]):
            return "%s isn't installed; to install it: %s (or name the program with --tool)" % (
                self.name, self.install)
        done = run(self.tool + [self.version_option])
        if done.returncode:
            return "%s can't run here: %s" % (" ".join(self.tool), last_line(done.stdout))
        return None

    def version(self, _interpreter):
        return number(run(self.tool + [self.version_option]).stdout)

    def command(self, interpreter, pid, seconds, hz, out):
        """Returns the command that samples process @pid for @seconds and writes the file @out."""
        raise NotImplementedError

    def stacks(self, out):
        """Yields (number of samples, locations) for each stack in the file @out."""
        raise NotImplementedError

    def loses(self, said):
        """Returns {what: number of samples} for the samples that the profiler says it lost. @said:
        what the profiler printed."""
        raise NotImplementedError


def run(command):
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60, check=False)
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, str(error).encode())


def last_line(output):
    return (output.decode(errors="replace").strip().split("\n") or [""])[-1]


def number(output):
    """Returns the first number with a dot in @output, the text that a program prints about its
    version."""
    found = re.search(r"\d+\.\d[\w.]*", output.decode(errors="replace"))
    return found.group() if found else "of unknown version"


def plain(said):
    """Returns @said, a program's output, without colours."""
    return re.sub(r"\x1b\[[\d;]*m", "", said)


def counts(said, **patterns):
    """Returns {what: sum of the numbers that its pattern finds in @said}, for each keyword
    argument. In its name, "_" stands for a space."""
    return {what.replace("_", " "): sum(int(n) for n in re.findall(pattern, said))
            for what, pattern in patterns.items()}


def frame(name, file, line, column=0, end=(0, 0)):
    return pprof.Location(PYTHON, name, file, 0, line, column, end=end)


def mark(text):
    """Returns a location for a frame of which the profiler says that it doesn't know it."""
    return pprof.Location("", "[%s]" % text, "", 0, 0, 0)
