# SPDX-License-Identifier: BSD-2-Clause
"""The first moments of a recording: what a command maps is known before it runs, so that hardly a sample of its start
breaks off; the quickstart's program, summed over several runs. Counts come from --summary-json."""
import collections
import json
import os
import subprocess
import sys

import kit
from kit import case, check

# Until krait has looked, or has compiled unwind tables.
LATE = {"outcomes": ["PENDING"], "native_outcomes": ["NO_SPACE", "UNMAPPED", "NO_ROWS"]}
RUNS = 4
WARM, COLD = 0.01, 0.02  # promised is twice as much of a cold one
TRIES = 3  # a machine that is busy with something else keeps krait from a CPU


def program():
    """The quickstart's, or what takes as long with the standard library alone."""
    source = subprocess.check_output(
        [kit.PYTHON, "-c", "import _pydecimal; print(_pydecimal.__file__)"], text=True).strip()
    if subprocess.run([kit.PYTHON, "-c", "import pygments"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        return [kit.PYTHON, "-m", "tokenize", source]
    return [kit.PYTHON, "-m", "pygments", "-l", "python", "-f", "html", "-O", "full", "-o",
            "/dev/null", source]


def record(cache, command):
    out = os.path.join(cache, "summary.json")
    done = kit.krait("record", "-o", os.path.join(cache, "x.pb.gz"), "--summary-json", out, "--",
                     *command, env=dict(os.environ, XDG_CACHE_HOME=cache))
    check(done.returncode == 0, done.stderr)
    with open(out) as f:
        return json.load(f)


def late_share(warm):
    """Share of the samples of RUNS runs that came too early for krait, and the counts."""
    command, counts, samples = program(), collections.Counter(), 0
    with kit.folder() as kept:
        if warm:
            record(kept, command)
        for _ in range(RUNS):
            with kit.folder() as fresh:
                got = record(kept if warm else fresh, command)
            samples += got["samples"]
            for group, names in LATE.items():
                counts.update({name: got[group][name] for name in names})
    check(samples > 50 * RUNS, "only %d samples" % samples)
    return sum(counts.values()) / samples, "%s of %d" % (dict(counts), samples)


def at_most(limit, warm):
    for _ in range(TRIES):
        share, said = late_share(warm)
        if share <= limit:
            return
    check(False, "%.2f %% of the samples came too early: %s" % (100 * share, said))


@case
def warm_cache():
    """A command that was recorded before: at most 1 % of the samples come before krait is ready for them."""
    at_most(WARM, True)


@case
def cold_cache():
    """A command that was never recorded: at most 4 %."""
    at_most(COLD, False)


ENDS = """
import time
kept = [[i] for i in range(1500000)]
print(time.process_time(), flush=True)
"""


def cpu_at_end(command):
    """(CPU seconds that a program says it used up to its last line, in all), by the kernel's account."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said = float(process.stdout.read())
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return said, used.ru_utime + used.ru_stime


@case
def start_and_end():
    """What comes before a program's first line and after its last one is named, as much of it as the kernel counts."""
    command = [kit.PYTHON, "-I", "-c", ENDS]
    said, used = cpu_at_end(command)
    with kit.folder() as cache:
        record(cache, command)
        got = record(cache, command)
    outcomes, samples = got["outcomes"], got["samples"]
    ending, truth = outcomes["ENDING"] / samples, (used - said) / used
    check(truth > 0.05, "the program ends in %.3f of %.3f s" % (used - said, used))
    check(truth / 2 < ending < truth * 2, "%.1f %% of the samples end, of its time %.1f %%" %
          (100 * ending, 100 * truth))
    check(outcomes["STARTING"] > 0, "no sample of the start: %s" % outcomes)
    check(outcomes["NO_PYTHON"] <= 0.01 * samples, "%s" % outcomes)


if __name__ == "__main__":
    sys.exit(kit.main())
