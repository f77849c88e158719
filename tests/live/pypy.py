#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares `krait dump` of a PyPy with what the PyPy says of its own threads, which are blocked:
the name, file, line and columns of each function. With the JIT off, krait must show each thread. With
the JIT on, it must show the threads that aren't in code of the JIT, and mark the others. While a
further thread makes objects, which the garbage collector moves, krait must show a thread rightly
or mark it."""
import json
import os
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "oracle"))
import oracle  # noqa: E402

KRAIT = os.environ.get("KRAIT", os.path.join(oracle.ROOT, "build", "release", "krait"))
TARGET = os.path.join(TESTS, "live", "pypy_target.py")
BUSY = 3  # how many dumps are made while objects move
MARK = "[unsupported: PyPy 3.11 in code of its JIT, with its GIL, or in a greenlet]"


def pypy():
    """Returns the path of the PyPy; None: there is none."""
    with open(os.path.join(oracle.CACHE, "interpreters.tsv")) as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip()]
    return next((path for _, _, kind, path in rows if kind == "pypy"), None)


def dump(pid):
    done = subprocess.run([KRAIT, "dump", "--json", "-p", str(pid)], timeout=60, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise AssertionError("exit code %d: %s" % (done.returncode, done.stderr.decode()))
    return json.loads(done.stdout)["processes"][0]


def is_same(ours, true):
    line, end_line, column, end_column = true["position"]
    place = (line, end_line, column + 1, end_column + 1)
    return [ours[key] for key in ("function", "file", "line")] == [
        true[key] for key in ("function", "file", "line")] and \
        (ours["line"], ours["end_line"], ours["column"], ours["end_column"]) == place


def wrong_in(thread, true, marked):
    """Yields texts that say what is wrong in the dump of @thread. @marked: "no": it must be shown;
    "must": it must have the mark; "may": either."""
    marks = [f["function"] for f in thread["frames"] if f["kind"] == "mark"]
    ours = [f for f in thread["frames"] if f["kind"] == "python"]
    if MARK in marks and marked != "no":
        if ours:
            yield "%s has a mark and functions" % true["name"]
        return
    if marks or marked == "must":
        yield "%s has the marks %s" % (true["name"], marks)
    if len(ours) != len(true["frames"]) or not all(map(is_same, ours, true["frames"])):
        yield "%s: %s isn't %s" % (true["name"], ours, true["frames"])


class Target:
    def __init__(self, path, *options):
        self.process = subprocess.Popen([path, "-B", *options, TARGET], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.dumps = []  # (a thread of krait's dump by tid, what krait may do: see wrong_in())

    def __enter__(self):
        if self.process.stdout.readline() != b"ready\n":
            raise AssertionError("pypy_target.py isn't ready")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def say(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def dump(self, marked):
        self.dumps.append((dump(self.process.pid), marked))

    def wrong(self):
        """Asks the program for the truth. Yields texts that say what is wrong in the dumps."""
        self.say(b"say\n")
        truth = json.loads(self.process.stdout.readline())
        for number, (process, marked) in enumerate(self.dumps):
            threads = {thread["tid"]: thread for thread in process["threads"]}
            for tid, true in truth.items():
                for words in wrong_in(threads[int(tid)], true, marked(true["name"])):
                    yield "dump %d: %s" % (number, words)


def shown(process):
    return sum(f["kind"] == "python" for t in process["threads"] for f in t["frames"])


def check_off(path):
    with Target(path, "--jit", "off") as target:
        target.dump(lambda name: "no")
        target.say(b"busy\n")
        for _ in range(BUSY):
            target.dump(lambda name: "may")
        first = target.dumps[0][0]
        said = (first["implementation"], first["python"], first["not_understood"])
        if said != ("PyPy", "3.11", None):
            yield "the process is %s" % (said,)
        if not any(shown(process) for process, _ in target.dumps[1:]):
            yield "no thread is shown while objects move"
        yield from target.wrong()


def check_on(path):
    with Target(path) as target:
        target.dump(lambda name: "must" if name.startswith("hot") else "no")
        yield from target.wrong()


def main():
    path = pypy()
    if os.getuid() or not path:
        print("SKIP pypy: " + ("no PyPy" if not path else "needs root"))
        return 0
    failed = False
    for name, check in ("jit-off", check_off), ("jit-on", check_on):
        try:
            wrong = list(check(path))
        except (AssertionError, KeyError, ValueError, subprocess.SubprocessError) as error:
            wrong = [repr(error)]
        failed |= bool(wrong)
        print("%s pypy %s%s" % ("FAIL" if wrong else "PASS", name, ": " + wrong[0] if wrong else ""),
              flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
