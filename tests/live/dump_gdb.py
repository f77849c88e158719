# SPDX-License-Identifier: BSD-2-Clause
"""Compares `krait dump` with gdb: the native frames and the system call of each blocked thread. gdb
stops the program for a moment; krait's dumps after that must still be right."""
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "unwind"))
from gdb_truth import Files  # noqa: E402

SCRIPT = os.path.join(HERE, "gdb_threads.py")
LOOP = re.compile("_?PyEval_EvalFrame|_TAIL_CALL_|^_PyEval_Vector")


def missing():
    """Returns why gdb can't be used on this machine, or None if it can."""
    if os.uname().machine != "x86_64":
        return "gdb_threads.py knows the registers of x86-64 only"
    return None if shutil.which("gdb") and shutil.which("readelf") else "there is no gdb"


def threads(pid):
    """Returns {thread id: what gdb says of the thread}. Tries a second time, because gdb sometimes
    fails on a busy machine."""
    for last in (False, True):
        done = subprocess.run(["gdb", "-nx", "-nh", "-batch", "-p", str(pid), "-x", SCRIPT],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60,
                              stderr=subprocess.STDOUT, check=False)
        said = re.search(rb"^threads: (.*)$", done.stdout, re.M)
        if said or last:
            break
    if not said:
        raise AssertionError("gdb: " + done.stdout.decode(errors="replace")[-300:])
    return {thread["tid"]: thread for thread in json.loads(said.group(1))}


def call_names():
    """Returns {number: name} of this machine's system calls, from the C library's headers."""
    done = subprocess.run([os.environ.get("CC", "gcc"), "-E", "-dM", "-include", "sys/syscall.h", "-x", "c",
                           "/dev/null"], stdout=subprocess.PIPE, check=True)
    return {int(number): name for name, number in re.findall(
        r"^#define __NR_(\w+) (\d+)$", done.stdout.decode(), re.M)}


def wrong_frame(ours, pc, caller, files):
    """Returns why krait's frame @ours isn't in the function at @pc, or None if it is. @caller: 1 if
    @pc is a return address, else 0."""
    found = files.find(pc - caller)
    if not found:
        return "gdb's 0x%x is in no file" % pc
    path, vaddr, described = found
    address = int(ours["address"], 16)
    if os.path.basename(ours["file"]) != os.path.basename(path):
        return "%s, not %s" % (ours["file"], path)
    # For a function without a symbol, krait shows the address of its first instruction.
    if address in (vaddr, vaddr + caller) or described and address == described[0]:
        return None
    if described and files.is_piece(path, described[0], address):
        return None
    return "0x%x (%s), not 0x%x of %s" % (address, ours["function"], vaddr, path)


def spoilt(thread):
    """Returns a copy of @thread with a fault that compare() must notice: the innermost function is
    also at the place of its caller."""
    frames = list(thread["frames"])
    at = [i for i, frame in enumerate(frames) if frame["kind"] == "native"][-2:]
    frames[at[0]] = frames[at[1]]
    return dict(thread, frames=frames)


def wrong_place(ours, true, old, files):
    """Returns which Python function isn't next to the evaluation loop that runs it, or None."""
    natives, loops = 0, set()
    for at, frame in enumerate(ours):
        if frame["kind"] != "python":
            natives += 1
        if frame["kind"] != "native" or not at or ours[at - 1]["kind"] != "python":
            continue
        pc, name = true["frames"][natives - 1]
        loops.add(str(files.find(pc - 1)[2]))
        if name and not LOOP.search(name):
            return "%s runs Python" % name
        if old and at > 1 and ours[at - 2]["kind"] == "python":
            return "%s runs two Python functions" % name
    return "evaluation loops: %s" % loops if len(loops) > 2 else None


def compare(thread, true, old, files, calls):
    """Yields texts that say what is wrong with a thread's native frames and system call. @thread
    comes from krait dump --native=full --interpreter-frames."""
    ours = [frame for frame in thread["frames"][::-1] if frame["kind"] in ("python", "native")]
    natives = [frame for frame in ours if frame["kind"] == "native"]
    if len(natives) != len(true["frames"]):
        yield "%d native frames, not %d" % (len(natives), len(true["frames"]))
        return
    for at, (frame, (pc, _)) in enumerate(zip(natives, true["frames"])):
        words = wrong_frame(frame, pc, at > 0, files)
        if words:
            yield "native frame %d: %s" % (at, words)
    words = wrong_place(ours, true, old, files)
    if words:
        yield words
    number, first = true["call"][:2]
    if thread["system_call"] != calls.get(number):
        yield "in %s, not in %s" % (thread["system_call"], calls.get(number))
    if thread["descriptor"] not in (None, first):
        yield "of descriptor %s, not %d" % (thread["descriptor"], first)
