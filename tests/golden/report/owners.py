#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""owners.py: the report's rows of threads and processes. If there are more rows than fit, names
that differ only in numbers share a row. The truth is the sum over the samples that the test
wrote."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
from judge import pprof  # noqa: E402

KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
failed = False


def check(name, true, words=""):
    global failed
    print("PASS owners %s" % name if true else "FAIL owners %s: %s" % (name, words))
    failed |= not true


def write(path, owners):
    """Writes a profile. @owners has (process, thread, samples) for each of its rows."""
    w = pprof.Writer()
    frame = w.location("[python 3.12]", "work", "/srv/app.py", 1, 2, 0)
    for i, (process, thread, n) in enumerate(owners):
        w.sample([frame], {"process": process, "pid": str(100 + i if thread is None else 100),
                           "thread": thread or "MainThread", "tid": str(1000 + i)}, n)
    w.save(path)


def rows(path, *args):
    """Returns {name: percent} of the last table of `krait report`, in the table's order."""
    done = subprocess.run([KRAIT, "report", path, *args], capture_output=True, timeout=60,
                          env=dict(os.environ, COLUMNS="100"))
    text = done.stdout.decode()
    table = text[text.index("  share    "):].splitlines()[1:]
    return {m.group(2): float(m.group(1)) for m in (re.match(r" *([\d.]+) %   (.*)", line) for line in table) if m}


def main():
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "x.pb.gz")
        requests = [("server", "Thread-%d (process_request_thread)" % i, 2) for i in range(1, 332)]
        write(path, requests + [("server", "MainThread", 60), ("server", "pool-0_3 v2", 20), ("server", "pool-1_4 v2", 20)])
        total = 331 * 2 + 100
        want = {"Thread-N (process_request_thread), 331 threads": 66200 / total, "MainThread (tid 1331)": 6000 / total,
                "pool-N_N v2, 2 threads": 4000 / total}
        for what, args in (("threads", ("--per-thread",)), ("by thread", ("--by", "thread"))):
            got = rows(path, *args)
            check(what, list(got) == list(want) and all(abs(got[k] - want[k]) < .06 for k in want), str(got))
        got = rows(path, "--per-thread", "-n", "400")
        check("room for all", len(got) == 334 and "Thread-7 (process_request_thread) (tid 1006)" in got, str(len(got)))
        got = subprocess.run([KRAIT, "report", path, "--per-thread", "--format", "md"], capture_output=True).stdout.decode()
        check("markdown", "<code>Thread-N (process&#95;request&#95;thread)</code>, 331 threads |" in got, got)
        # Names without numbers don't share rows. The last row counts the threads that don't fit.
        write(path, [("p", "abcdefgh"[i % 8] + "x", 10 + i % 8) for i in range(80)])
        got = rows(path, "--per-thread", "-n", "5")
        check("the rest", list(got) == [c + "x, 10 threads" for c in "hgfed"] + ["30 more"] and abs(got["30 more"] - 100 * 33 / 108) < .06, str(got))
        write(path, [("python", None, 3)] * 40 + [("job-%d.py" % i, None, 1) for i in range(12)] + [("job.py", None, 5)])
        want = {"python, 40 processes": 12000 / 137, "job-N.py, 12 processes": 1200 / 137, "job.py (pid 152)": 500 / 137}
        got = rows(path, "--per-process")
        check("processes", list(got) == list(want) and all(abs(got[k] - want[k]) < .06 for k in want), str(got))
        # A total that is a count is written as "25 samples". In a measured total, "of" stands
        # before the unit's name.
        write(path, [("p", "t", 25)])
        events = os.path.join(work, "x.jsonl")
        subprocess.run([KRAIT, "report", path, "-o", events], check=True, timeout=60)
        with open(events) as f:
            text = f.read()
        changed = text.replace('"cpu"', '"context-switches"').replace('"nanoseconds"', '"count"').replace("25000000", "25")
        for what, contents, want in (("counted", changed, "25 context-switches, 25 samples"), ("measured", text, "25.0 ms of CPU time, 25 samples")):
            with open(events, "w") as f:
                f.write(contents)
            got = subprocess.run([KRAIT, "report", events], capture_output=True, timeout=60).stdout.decode()
            check(what, want in got.splitlines(), got)
    sys.exit(failed)


main()
