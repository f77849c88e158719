#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares `krait dump` with what interpreters of every version know of their own threads, which
are blocked in all kinds of ways. All threads must be in the dump, with the right name, file,
line and columns of each frame, and with what the thread is doing. The stacks must also equal
those of faulthandler, and native frames and system calls must equal gdb's.

    dump.py [--full] [--only GLOB]

Without --full, one interpreter of each minor version is tested, and only some of them with gdb."""
import argparse
import fnmatch
import json
import os
import subprocess
import sys
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "oracle"))
import dump_gdb  # noqa: E402
import oracle  # noqa: E402

KRAIT = os.environ.get("KRAIT", os.path.join(oracle.ROOT, "build", "release", "krait"))
TARGET = os.path.join(TESTS, "live", "dump_target.py")
# versions that have, between them, each kind of evaluation loop
GDB_FAST = ((2, 7), (3, 8), (3, 11), (3, 14))


def dump(pid, *options):
    done = subprocess.run([KRAIT, "dump", "--json", "-p", str(pid), *options], timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise AssertionError("exit code %d: %s" % (done.returncode, done.stderr.decode()))
    return json.loads(done.stdout)


def interpreter_pid(pid):
    """Returns the pid of the interpreter: @pid itself, or its child if @pid is a wrapper."""
    with open("/proc/%d/comm" % pid) as f:
        name = f.read()
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        children = f.read().split()
    return interpreter_pid(int(children[0])) if "python" not in name and children else pid


def same_frame(ours, true, old):
    """Returns whether krait's frame is the true one. Up to 3.10, krait may or may not put the class
    before a method's name, because it can't prove every class."""
    names = (true["function"],) if not old else (true["name"],)
    if ours["function"] not in names and not (
            old and ours["function"].endswith("." + true["name"])):
        return False
    if (ours["file"], ours["line"]) != (true["file"], true["line"]):
        return False
    if not true["position"]:
        return True
    line, end_line, column, end_column = true["position"]
    if column is None:
        return ours["column"] is None
    return (ours["line"], ours["end_line"], ours["column"], ours["end_column"]) == (
        line, end_line, column + 1, end_column + 1)


def compare(thread, true, old):
    """Yields texts that say what is wrong with krait's dump of a thread."""
    ours = [frame for frame in thread["frames"] if frame["kind"] == "python"]
    marks = [frame["function"] for frame in thread["frames"] if frame["kind"] == "mark"]
    if thread["name"] != true["name"]:
        yield "its name is %r" % thread["name"]
    if thread["state"] != true["state"]:
        yield "its state is %s (%s), not %s" % (thread["state"], thread["words"], true["state"])
    if not thread["steady"]:
        yield "it isn't steady"
    for mark in marks:
        yield mark
    if len(ours) != len(true["frames"]):
        yield "%d frames, not %d" % (len(ours), len(true["frames"]))
    for a, b in zip(ours, true["frames"]):
        if not same_frame(a, b, old):
            yield "%s isn't %s" % (a, b)
    # faulthandler prints at most 100 frames, innermost first, so only these frames are compared.
    for a, b in zip(ours[::-1], true["faulthandler"]):
        if [a["file"], a["line"], a["function"].rsplit(".", 1)[-1]] != b:
            yield "faulthandler says %s, not %s" % (b, a)


class Target:
    """Runs dump_target.py. The body of the with statement begins when all threads of the program
    are blocked."""

    def __init__(self, row):
        self.process = subprocess.Popen([row.path, "-B", TARGET], env=row.environment(),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def __enter__(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("dump_target.py said nothing: " + self.process.stderr.read().decode()[-300:])
        self.truth = json.loads(line)
        self.pid = interpreter_pid(self.process.pid)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.stdout.close()
        self.process.stderr.close()

    def threads(self, *options):
        """Returns {thread id: the thread in `krait dump`'s JSON}."""
        found = [p for p in dump(self.pid, "--no-children", *options)["processes"]
                 if p["pid"] == self.pid][0]
        return {thread["tid"]: thread for thread in found["threads"]}


def compare_all(threads, truth, version):
    """Yields texts that say what is wrong with the dump of all threads."""
    for true in truth:
        if true["tid"] not in threads:
            yield "%s isn't there" % true["name"]
            continue
        for words in compare(threads[true["tid"]], true, version < (3, 11)):
            yield "%s: %s" % (true["name"], words)
    if len(threads) != len(truth):
        yield "%d threads, not %d" % (len(threads), len(truth))


def compare_gdb(target, version):
    """Compares krait's native frames with gdb's. Dumps the program again after gdb has detached.
    Returns (number of native frames that gdb saw, texts that say what is wrong)."""
    ours = target.threads("--native=full", "--interpreter-frames")
    true = dump_gdb.threads(target.pid)
    files, calls = dump_gdb.Files("/proc/%d/maps" % target.pid), dump_gdb.call_names()
    wrong = ["gdb knows other threads"] if set(true) != set(ours) else []
    for tid in set(true) & set(ours):
        facts = true[tid], version < (3, 11), files, calls
        wrong += ["%s: %s" % (ours[tid]["name"], words)
                  for words in dump_gdb.compare(ours[tid], *facts)]
        if not any(dump_gdb.compare(dump_gdb.spoilt(ours[tid]), *facts)):
            wrong.append("%s: a wrong frame isn't noticed" % ours[tid]["name"])
    if version >= (3, 5):  # up to 3.4, Python raises an error when gdb interrupts a system call
        wrong += ["after gdb: " + words for words in compare_all(
            target.threads(), target.truth, version)]
    return sum(len(thread["frames"]) for thread in true.values()), wrong


def check(row, gdb):
    """Tests one interpreter. Returns (number of threads, number of frames, number of native frames
    that gdb saw, texts that say what is wrong)."""
    with Target(row) as target:
        wrong = list(compare_all(target.threads(), target.truth, row.version))
        natives = 0
        if gdb:
            natives, more = compare_gdb(target, row.version)
            wrong += more
    return len(target.truth), sum(len(t["frames"]) for t in target.truth), natives, wrong


HOLDS = """
import ctypes, os, sys, threading, time
def holds():
    os.write(1, b"ready")
    ctypes.PyDLL(None).sleep(1000)
waiting = threading.Event()
def waits():
    waiting.set()
    while True:
        time.sleep(0.001)
for function in (waits, holds):
    thread = threading.Thread(target=function, name=function.__name__)
    thread.daemon = True
    thread.start()
    waiting.wait()
time.sleep(1000)
"""


def await_gil_wait(pid):
    """Returns when the thread in waits(), which was started first, is waiting on a futex."""
    path = "/proc/%d/task/%d/syscall" % (pid, sorted(map(int, os.listdir("/proc/%d/task" % pid)))[1])
    for _ in range(1000):
        time.sleep(0.01)
        with open(path) as file:
            if file.read().startswith("202 "):
                return


def check_gil(row):
    """Yields texts that say what is wrong with the dump of two threads: one sleeps in C code with
    the GIL, the other waits for the GIL."""
    process = subprocess.Popen([row.path, "-B", "-c", HOLDS], env=row.environment(),
                               stdout=subprocess.PIPE)
    try:
        process.stdout.read(5)
        pid = interpreter_pid(process.pid)
        await_gil_wait(pid)
        found = [p for p in dump(pid, "--no-children")["processes"] if p["pid"] == pid][0]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()

    threads = {}
    for thread in found["threads"]:
        names = [f["function"] for f in thread["frames"] if f["kind"] == "python"]
        for name in ("holds", "waits"):
            if name in names:
                threads[name] = thread
    for name, gil, state in (("holds", "held", "sleep"), ("waits", "waiting", "gil")):
        thread = threads.get(name)
        if not thread:
            yield "%s isn't there" % name
        elif (thread["gil"], thread["state"], thread["steady"]) != (gil, state, True) or \
                (thread["seconds"] is None) != (gil == "waiting"):
            yield "%s: gil %s, state %s, %s" % (name, thread["gil"], thread["state"], thread["words"])
    if len(threads) == 2 and (
            threads["waits"]["gil_holder"] != threads["holds"]["tid"] or
            threads["waits"]["gil_held_seconds"] != threads["holds"]["seconds"]):
        yield "the holder is %s for %s s, not %s for %s s" % (
            threads["waits"]["gil_holder"], threads["waits"]["gil_held_seconds"],
            threads["holds"]["tid"], threads["holds"]["seconds"])


def test(row, gdb):
    try:
        threads, frames, natives, wrong = check(row, gdb)
        wrong += check_gil(row)
    except (AssertionError, ValueError, subprocess.SubprocessError) as error:
        threads, frames, natives, wrong = 0, 0, 0, [str(error)]
    print("%s dump %s: %d threads, %d frames, %d native ones%s" % (
        "FAIL" if wrong else "PASS", row.name, threads, frames, natives,
        ", %d wrong: %s" % (len(wrong), wrong[0]) if wrong else ""), flush=True)
    for words in wrong[:8]:
        print("  " + words)
    return not wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="every interpreter")
    parser.add_argument("--only", default="*", help="a glob of interpreters")
    options = parser.parse_args()
    if os.getuid() != 0:
        print("SKIP dump: needs root")
        return 0
    all_rows = options.full or options.only != "*"
    no_gdb = dump_gdb.missing()
    if no_gdb:
        print("SKIP dump gdb: " + no_gdb)
    good, began = True, time.time()
    for row in oracle.interpreters(all_rows, None):
        if fnmatch.fnmatch(row.name, options.only):
            # not in a chroot, where gdb doesn't find the files
            good &= test(row, not no_gdb and row.kind != "chroot" and (
                all_rows or row.version[:2] in GDB_FAST))
    print("dump: %d s" % (time.time() - began))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
