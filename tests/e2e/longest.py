#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How long may a sample last? Interrupts are off meanwhile: half a millisecond, whatever a program lays out.

The kernel programs measure how long they run where kernel.bpf_stats_enabled is set. A virtual machine may be stopped by its
host in the middle of a run: where that takes a tenth of the CPU time, 1 to 8 % of these samples are long. What a program does to
krait, it does in each recording and in most samples: 50 to 90 % are long without limits. So a share of the best of several counts.
"""
import contextlib
import json
import sys

import kit
from kit import check, folder

FEW = 0.05  # share of samples of more than 0.5 ms
TRIES = 6
STATISTICS = "/proc/sys/kernel/bpf_stats_enabled"

# 900 functions with line tables of tens of KiB, all of them new each time, call each other.
NEW = """
import marshal, time
body = "\\n".join("  x = %d" % (i & 7) for i in range(20000))
code = marshal.dumps(compile("def f(g, n):\\n  if n:\\n    return g[n-1](g, n-1)\\n"
                             "  t = clock() + 0.02\\n  while clock() < t: pass\\n  return 0\\n" + body, "new.py", "exec"))
"""
NEW_AGAIN = """
    g = []
    for i in range(900):
        d = {"clock": time.time}
        exec(marshal.loads(code), d)
        g.append(d["f"])
    g[-1](g, 899)
"""
# A thousand different functions.
DEEP = """
import time
g = []
for i in range(1000):
    d = {"clock": time.time}
    exec("def f%d(g, n):\\n  if n:\\n    return g[n-1](g, n-1)\\n  t = clock() + 0.3\\n"
         "  while clock() < t: pass\\n  return 0\\nf = f%d\\n" % (i, i), d)
    g.append(d["f"])
"""
DEEP_AGAIN = """
    g[-1](g, 999)
"""
RUN = """
import sys, threading
sys.setrecursionlimit(100000)
threading.stack_size(256 << 20)
def run():
    end = time.time() + 0.6
    while True:
%s
        if time.time() > end: break
t = threading.Thread(target=run)
t.start()
t.join()
"""


@contextlib.contextmanager
def statistics():
    with open(STATISTICS) as f:
        before = f.read()
    with open(STATISTICS, "w") as f:
        f.write("1")
    try:
        yield
    finally:
        with open(STATISTICS, "w") as f:
            f.write(before)


def longest(program, again, what):
    text = program + RUN % again.replace("\n", "\n    ")
    found = []
    with folder() as d:
        while len(found) < TRIES and not (found and min(found)[0] <= FEW):
            with statistics():
                done = kit.krait("record", "-F", "999", "--summary-json", d + "/s.json", "-o", d + "/o.folded", "--",
                                 kit.PYTHON, "-c", text)
            check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr[-300:]))
            with open(d + "/s.json") as f:
                said = json.load(f)
            check(said["samples"] > 50, "only %d samples" % said["samples"])
            found.append((round(said["kernel_long_samples"] / said["samples"], 4), said["kernel_ns_longest_sample"] // 1000))
            check(found[-1][1] > 1, "nothing was measured")
            check(found[-1][0] > 0 or found[-1][1] <= 500, "%s: counted are others than measured" % (found[-1],))
            with open(d + "/o.folded") as f:
                deep = sum(line.count(";") > 100 for line in f)
            check(deep, "no deep stack")
    print("# %s: %d recordings: share of samples of more than 0.5 ms, and the longest in us: %s" % (what, len(found), found))
    check(min(found)[0] <= FEW, "%.3f of the samples took more than 0.5 ms, one %d us" % min(found))


@kit.case
def new_functions():
    """Names and line tables of everything that is met for the first time."""
    longest(NEW, NEW_AGAIN, "new functions")


@kit.case
def deep_functions():
    """As deep as krait looks, and no two frames of one function."""
    longest(DEEP, DEEP_AGAIN, "deep functions")


if __name__ == "__main__":
    sys.exit(kit.main())
