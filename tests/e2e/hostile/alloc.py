#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""alloc.py: allocations fail one by one (alloc_preload.c), as in SQLite's tests. In the first run
only the first allocation fails, in the next run only the second, and so on. After that, all
allocations fail from the first on, in the next run from the second on, and so on. Whichever
allocation fails, krait ends in time and without a crash. Either krait writes the same as without
a failure, or it says that memory is missing. The fast tier lets some of the allocations fail,
chosen by chance (KRAIT_ALLOC_SEED repeats the choice); the full tier lets all fail."""
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit

FAILURES = 25       # how many allocations of a command fail in the fast tier
RECORDINGS = 8      # how many allocations of a recording fail in the fast tier
EVERY = 20  # a recording makes 8,000 allocations; in the full tier, every 20th of them fails
# A run that takes more seconds than this counts as hanging: a recording takes half a second, other
# commands less.
LIMIT = 60
SEED = int(os.environ.get("KRAIT_ALLOC_SEED") or random.SystemRandom().randrange(10 ** 6))
FORMATS = {"html": "html", "svg": "svg", "folded": "folded", "pprof": "pb.gz", "jsonl": "jsonl", "speedscope": "speedscope.json",
           "firefox": "firefox.json", "trace": "trace.json", "pstats": "pstats"}
PROGRAM = "import json\nfor i in range(3000): json.dumps({'a': [1, 2, 3]})"


class Result:
    """One run of krait: its exit code (None if it didn't end), its output, its messages, and how
    many allocations it made."""

    def __init__(self, code, made, said, n):
        self.code, self.made, self.said, self.n = code, made, said, n

    def says_memory(self):
        return "out of memory" in self.said or "Cannot allocate memory" in self.said


class Run:
    """A krait command that is run many times; @out is the file that it writes."""

    def __init__(self, library, directory, name, *args, out=None):
        self.library, self.count, self.name = library, os.path.join(directory, "count"), name
        self.out = out and os.path.join(directory, out)
        self.args = list(args[:1]) + (["-o", self.out] if out else []) + list(args[1:])

    def run(self, fail=0, rest=False):
        """Runs the command. Allocation number @fail fails (0: none); with @rest, all allocations
        after it fail too."""
        for path in (self.count, self.out):
            if path and os.path.exists(path):
                os.unlink(path)
        environment = dict(os.environ, LD_PRELOAD=self.library, KRAIT_ALLOC_COUNT=self.count)
        if fail:
            environment["KRAIT_ALLOC_FAIL"] = str(fail)
        if rest:
            environment["KRAIT_ALLOC_ALL"] = "1"
        try:
            done = subprocess.run([kit.KRAIT] + self.args, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT,
                                  check=False)
        except subprocess.TimeoutExpired:
            return Result(None, b"", "", 0)
        return Result(done.returncode, done.stdout + self.read(self.out), done.stderr.decode(errors="replace"), int(self.read(self.count) or 0))

    @staticmethod
    def read(path):
        if not path or not os.path.exists(path):
            return b""
        with open(path, "rb") as f:
            return f.read()

    def wrong(self, good, it):
        """Returns what is wrong with run @it, in which an allocation failed; None: nothing. @good
        is a run without a failure."""
        if it.code is None:
            return "no end after %d s" % LIMIT
        if it.code < 0:
            return "ended by signal %d" % -it.code
        if it.code and not it.says_memory():
            return "exit code %d without a word of memory: %s" % (it.code, it.said.strip())
        return self.wrong_output(good, it)

    def wrong_output(self, good, it):
        if it.code == 0 and it.made != good.made:
            return "exit code 0 and other bytes: %s" % it.said.strip()
        if it.code and self.out and it.made:
            return "exit code %d and a file of %d bytes" % (it.code, len(it.made))
        return None

    def chosen(self, n):
        chance = random.Random("%d %s" % (SEED, self.name))
        if kit.FULL:
            return [(i, rest) for i in range(1, n + 1) for rest in (False, True)]
        return [(chance.randrange(1, n + 1), i % 4 == 3) for i in range(FAILURES)]

    def check(self):
        good = self.run()
        kit.check(good.code == 0 and good.n > 50, "%s: exit code %s, %d allocations: %s" % (self.name, good.code, good.n, good.said))
        for fail, rest in self.chosen(good.n):
            wrong = self.wrong(good, self.run(fail, rest))
            kit.check(not wrong, "seed %d, %s, allocation %d%s: %s" % (SEED, self.name, fail, " and all later ones" if rest else "", wrong))


class Recording(Run):
    """A run of krait record. Two recordings are never equal, so a run is right if its file is a
    whole profile, or if krait says "error". The error needn't name memory, because libbpf
    reports some failed allocations as other errors."""

    def wrong(self, good, it):
        if it.code and it.code > 0 and "krait: error: " in it.said:
            return self.wrong_output(good, it)
        return super().wrong(good, it)

    def wrong_output(self, good, it):
        if it.code == 0 and kit.krait("report", self.out).returncode:
            return "exit code 0 and no profile: %s" % it.said.strip()
        return None

    def chosen(self, n):
        chance = random.Random("%d %s" % (SEED, self.name))
        if kit.FULL:
            return [(i, False) for i in range(1 + chance.randrange(EVERY), n + 1, EVERY)]
        return [(chance.randrange(1, n + 1), False) for _ in range(RECORDINGS)]


class Setup:
    """The library that makes allocations fail, and a small profile file in every format."""

    def __init__(self, directory):
        kit.need("gcc")
        self.directory, self.library = directory, os.path.join(directory, "alloc.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-o", self.library, os.path.join(kit.HERE, "hostile", "alloc_preload.c")],
                       check=True)
        self.profile = self.path("pb.gz")
        done = kit.krait("record", "-o", self.profile, "--", kit.PYTHON, "-c", PROGRAM)
        kit.check(done.returncode == 0, done.stderr)
        for extension in FORMATS.values():
            if extension != "pb.gz":
                done = kit.krait("report", self.profile, "-o", self.path(extension))
                kit.check(done.returncode == 0, done.stderr)

    def path(self, extension):
        return os.path.join(self.directory, "small." + extension)

    def run(self, name, *args, **kw):
        Run(self.library, self.directory, name, *args, **kw).check()


@kit.case
def reports():
    """`krait report` of a profile in each format, as text, as Markdown and as JSON, while
    allocations fail."""
    with kit.folder() as directory:
        s = Setup(directory)
        for extension in FORMATS.values():
            s.run("report of " + extension, "report", s.path(extension))
        s.run("report as json", "report", s.profile, "--json")
        s.run("report as md", "report", s.profile, "--format", "md")


@kit.case
def formats():
    """krait writes a profile in every format while allocations fail."""
    with kit.folder() as directory:
        s = Setup(directory)
        for name, extension in FORMATS.items():
            s.run("to " + name, "report", s.profile, out="out." + extension)


@kit.case
def comparisons():
    """krait compares and merges two profiles while allocations fail."""
    with kit.folder() as directory:
        s = Setup(directory)
        s.run("diff", "diff", s.profile, s.path("svg"))
        s.run("diff as json", "diff", "--json", s.profile, s.path("svg"))
        s.run("diff as a page", "diff", s.profile, s.path("svg"), out="out.html")
        s.run("merge", "merge", s.profile, s.path("jsonl"), out="out.pb.gz")


@kit.case
def recordings():
    """krait records a command while allocations fail: the file is a whole profile, or krait says
    that memory is missing."""
    with kit.folder() as directory:
        s = Setup(directory)
        Recording(s.library, directory, "record", "record", "-d", "0.3", "--", kit.PYTHON, "-c", PROGRAM, out="out.pb.gz").check()


if __name__ == "__main__":
    sys.exit(kit.main())
