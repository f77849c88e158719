#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares the kernel program's unwinder, compiled for the host, with gdb. Each program is stopped
200 times at random moments, and both unwind the same registers and memory.

    gdb_truth.py [--only GLOB] [--program GLOB] [--stops N] [--keep DIR]

All frames must be the same, except for inlined functions. If gdb gives up, its frames must be the
unwinder's innermost ones. If the unwinder gives up because code has no call frame information,
readelf must find none either; gdb guesses in such code."""
import argparse
import bisect
import collections
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "oracle"))
import modules  # noqa: E402
import oracle  # noqa: E402

STOPS = 200
TOOL = os.path.join(oracle.ROOT, "build", "release", "tests", "tools", "unwind_replay")
BUSY = os.path.join(oracle.ROOT, "bench", "busy")
# (program, interpreter): one interpreter for each way of building them. Programs that need packages
# use an interpreter for which there are such packages.
PROGRAMS = (("regex", "python3-dist"), ("sqlite", "python3.15-sid"), ("regex", "python3.9-pyenv"),
            ("sqlite", "python3.14-sid-shared"), ("numpy_", "python3.12-pyenv"),
            ("pandas_", "python3.12-pyenv"), ("regex", "python3.14-pbs"),
            ("cryptography_", "python3.12-pyenv"))
SPOILT = "5"  # makes every fifth rule wrong, which the test must notice
NO_RULE = "code without unwind information"


class Skip(Exception):
    pass


def build_tool():
    subprocess.run(["make", "-s", "build/release/libkrait.a"], cwd=oracle.ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    os.makedirs(os.path.dirname(TOOL), exist_ok=True)
    subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror",
                    "-D_GNU_SOURCE", "-Isrc", "-Iabi", "-Ibpf", "-Itests/tools", "-o", TOOL,
                    "tests/tools/unwind_replay.c", "build/release/libkrait.a", "-lelf", "-lz"],
                   cwd=oracle.ROOT, check=True)


def packages_of(file):
    with open(file, encoding="utf-8") as f:
        found = re.search(r"^# packages: (.*)$", f.read(), re.M)
    return found.group(1).split() if found else []


def started(interpreter, name):
    """Starts the program, and returns when it is at work."""
    file = os.path.join(BUSY, name + ".py")
    environment = interpreter.environment()
    for package in packages_of(file):
        folder = modules.package(oracle.CACHE, interpreter.version, package)
        if not folder:
            raise Skip("package %s can't be had for it" % package)
        environment["PYTHONPATH"] = folder
    process = subprocess.Popen([interpreter.path, "-B", file], env=environment, cwd=oracle.ROOT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if process.stdout.readline() != b"ready\n":
        process.kill()
        raise Skip("the program doesn't run: " + process.communicate()[1].decode()[-200:])
    return process


def capture(pid, folder, stops):
    environment = dict(os.environ, KRAIT_GDB_OUT=folder, KRAIT_GDB_STOPS=str(stops))
    done = subprocess.run(["gdb", "-nx", "-nh", "-batch", "-p", str(pid), "-x",
                           os.path.join(TESTS, "unwind", "gdb_stops.py")], env=environment, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60 + stops)
    said = re.search(rb"^gdb: .*$", done.stdout, re.M)
    if not said:
        raise RuntimeError("gdb: exit code %d: %s" % (
            done.returncode, done.stdout.decode(errors="replace")[-400:]))


def captured(interpreter, name, folder, stops):
    """Stops a program under gdb again and again. If gdb fails or hangs, as it sometimes does on a
    busy machine, starts the program and gdb a second time."""
    for last in (False, True):
        process = started(interpreter, name)
        try:
            return capture(process.pid, folder, stops)
        except (RuntimeError, subprocess.SubprocessError):
            if last:
                raise
        finally:
            process.kill()
            process.communicate()


def stacks(folder, *spoilt):
    """Yields four values for each stack: gdb's addresses, gdb's reason for ending, the unwinder's
    addresses, how the unwinder ended."""
    ours = subprocess.run([TOOL, folder, *spoilt], stdout=subprocess.PIPE, check=True, timeout=300)
    lines = iter(ours.stdout.decode().splitlines())
    with open(os.path.join(folder, "stops"), encoding="utf-8", errors="replace") as f:
        for line in f:
            if not line.startswith("gdb "):
                continue
            *frames, reason = line.split()[1:]
            words = next(lines).split()[1:]
            n = sum(re.fullmatch("[0-9a-f]+", word) is not None and len(word) > 4 for word in words)
            yield ([int(word, 16) for word in frames], reason,
                   [int(word, 16) for word in words[:n]], " ".join(words[n:]))


def same(gdb, ours):
    """Returns how many innermost frames are the same in gdb's stack and in the unwinder's."""
    n = 0
    for at, (a, b) in enumerate(zip(gdb, ours)):
        if a != b and (at == 0 or a != b + 1):
            break
        n += 1
    return n


class Files:
    """Finds out, with readelf, which code has call frame information."""

    def __init__(self, stops):
        """@stops: a file that gdb wrote, with the lines of /proc/PID/maps among others."""
        self.maps, self.ranges = [], {}
        with open(stops, encoding="utf-8", errors="replace") as f:
            for line in f:
                found = re.match(r"([0-9a-f]+)-([0-9a-f]+) ..x\S* ([0-9a-f]+) \S+ \d+ +(/.*)$", line)
                if found:
                    self.maps.append([int(word, 16) for word in found.groups()[:3]]
                                     + [found.group(4)])

    def read(self, path):
        """Returns (executable segments, [(start, end) of the code that call frame information
        describes])."""
        said = subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE, check=True).stdout
        loads = [[int(word, 16) for word in words.split()[:4]] for words in re.findall(
            r"LOAD +(0x\w+ 0x\w+ 0x\w+ 0x\w+) 0x\w+ R.E", said.decode())]
        said = subprocess.run(["readelf", "--debug-dump=frames", path], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False).stdout.decode()
        described = re.findall(r" FDE .*pc=(\w+)\.\.(\w+)$", said, re.M)
        return loads, sorted((int(a, 16), int(b, 16)) for a, b in described)

    def find(self, pc):
        """Returns (file, virtual address in it, (start, end) of the described code that contains it
        or None) for @pc, or None if @pc is in no file."""
        for start, end, offset, path in self.maps:
            if start <= pc < end and os.path.exists(path):
                if path not in self.ranges:
                    self.ranges[path] = self.read(path)
                loads, described = self.ranges[path]
                at = pc - start + offset
                vaddr = next(v + at - o for o, v, _, size in loads if o <= at < o + size)
                i = bisect.bisect_right(described, (vaddr, sys.maxsize)) - 1
                return path, vaddr, described[i] if i >= 0 and vaddr < described[i][1] else None
        return None

    def is_piece(self, path, start, whole):
        """Returns whether the code at @start is a piece of the function at @whole: its first row
        isn't that of a function's start, and the function or another piece of it jumps to it."""
        said = subprocess.run(["readelf", "--debug-dump=frames-interp", path], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False).stdout.decode()
        row = re.search(r" FDE .*pc=0*%x\.\..*\n.*\n0*%x (\S+)" % (start, start), said)
        if not row or row[1] == "rsp+8":
            return False
        ends, todo, seen = dict(self.ranges[path][1]), [whole], set()
        while todo and len(seen) < 32:
            at = todo.pop()
            seen.add(at)
            said = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--start-address=0x%x" % at,
                                   "--stop-address=0x%x" % ends.get(at, at), path], stdout=subprocess.PIPE, check=False).stdout.decode()
            jumps = {int(to, 16) for to in re.findall(r"\tj\w+ +([0-9a-f]+)\b", said)}
            if start in jumps:
                return True
            todo += [to for to in jumps if to in ends and to not in seen]
        return False

    def lacks(self, pc):
        found = self.find(pc)
        return found is not None and found[2] is None


class Result:
    def __init__(self, stops):
        self.files = Files(stops)
        self.stacks = self.frames = self.whole = self.shorter = self.without = 0
        self.different = collections.Counter()
        self.examples = []

    def add(self, gdb, reason, ours, outcome):
        self.stacks += 1
        self.frames += len(gdb)
        n = same(gdb, ours)
        if 0 < n < len(gdb) and self.files.lacks(gdb[n - 1]) and not self.files.find(gdb[n]):
            # drops a caller that gdb guessed wrongly, in code without call frame information
            # (OpenBLAS)
            gdb = gdb[:n]
        if n == len(gdb) == len(ours) and outcome == "complete":
            self.whole += 1
        elif n == len(gdb) < len(ours) and outcome == "complete":
            self.shorter += 1  # gdb gave up
        elif n and n == len(ours) and outcome == NO_RULE and self.files.lacks(ours[-1]):
            self.without += 1
        else:
            what = "%s after %d frames; gdb: %d, %s" % (outcome, n, len(gdb), reason)
            self.different[what] += 1
            self.examples.append((what, gdb[max(0, n - 1):n + 2], ours[max(0, n - 1):n + 2]))


def compared(folder, *spoilt):
    result = Result(os.path.join(folder, "stops"))
    for each in stacks(folder, *spoilt):
        result.add(*each)
    return result


def test(interpreter, name, options):
    what = "gdb %s %s" % (interpreter.name, name)
    folder = os.path.join(options.keep or tempfile.mkdtemp(prefix="krait-gdb."),
                          "%s-%s" % (interpreter.name, name))
    os.makedirs(folder, exist_ok=True)
    try:
        captured(interpreter, name, folder, options.stops)
        result, spoilt = compared(folder), compared(folder, SPOILT)
    except Skip as reason:
        print("SKIP %s: %s" % (what, reason), flush=True)
        return True
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        print("FAIL %s: %s" % (what, error), flush=True)
        return False
    finally:
        if not options.keep:
            shutil.rmtree(os.path.dirname(folder))
    good = result.stacks >= options.stops and not result.different and bool(spoilt.different)
    print("%s %s: %d stacks, %d frames; %d equal, %d where gdb gave up first, %d in code "
          "that nothing describes, %d different; with wrong rules %d" % (
              "PASS" if good else "FAIL", what, result.stacks, result.frames, result.whole,
              result.shorter, result.without, sum(result.different.values()),
              sum(spoilt.different.values())), flush=True)
    for words, count in result.different.most_common(8):
        example = next(e for e in result.examples if e[0] == words)
        print("  %d times: %s; gdb %s, here %s" % (count, words, *(
            " ".join("%x" % pc for pc in part) for part in example[1:])), flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="*", help="a glob of interpreters")
    parser.add_argument("--program", default="*", help="a glob of programs")
    parser.add_argument("--stops", type=int, default=STOPS)
    parser.add_argument("--keep", metavar="DIR", help="leave what gdb has seen there")
    options = parser.parse_args()
    if not shutil.which("gdb"):
        print("SKIP gdb: there is none")
        return 0
    build_tool()
    known = {row.name: row for row in oracle.interpreters(True, None)}
    good, began = True, time.time()
    for name, python in PROGRAMS:
        if not (fnmatch.fnmatch(name, options.program) and fnmatch.fnmatch(python, options.only)):
            continue
        if python not in known:
            print("SKIP gdb %s %s: no such interpreter here" % (python, name))
            continue
        good &= test(known[python], name, options)
    print("gdb: %d s" % (time.time() - began))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
