# SPDX-License-Identifier: BSD-2-Clause
"""The first moments of a recording: the mappings of a command are known before it runs, so hardly
any stack of its start is incomplete. The test records the quickstart's program several times,
and adds up the counts of --summary-json."""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import case, check

# Outcomes of samples that came too early: krait hadn't looked at the process yet, or hadn't made
# its unwind rows.
LATE = {"outcomes": ["PENDING"], "native_outcomes": ["NO_SPACE", "UNMAPPED", "NO_ROWS"]}
RUNS = 4
# the largest share of samples that may come too early, with and without a cache
WARM, COLD = 0.01, 0.02
# number of tries, because krait may not get a CPU on a machine that is busy with something else
TRIES = 3


def program():
    """Returns the quickstart's command or, if its package isn't installed, a command of the
    standard library that takes as long."""
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
    """Records the program RUNS times. Returns the share of the samples that came before krait was
    ready, and the counts as text."""
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
    """krait has recorded the command before: at most 1 % of the samples come before krait is ready
    for the process."""
    at_most(WARM, True)


@case
def cold_cache():
    """krait has never recorded the command: at most 2 % of the samples come before krait is ready
    for the process."""
    at_most(COLD, False)


ENDS = """
import time
kept = [[i] for i in range(1500000)]
print(time.process_time(), flush=True)
"""


def cpu_at_end(command):
    """Returns (the CPU seconds up to the program's last line, as the program measures them; the CPU
    seconds of the whole process, as the kernel counts them)."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said = float(process.stdout.read())
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return said, used.ru_utime + used.ru_stime


@case
def start_and_end():
    """Samples before a program's first line and after its last one have outcomes of their own,
    STARTING and ENDING. The share of ENDING differs by less than a factor of two from what the
    kernel's CPU times say."""
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


# Megabytes of code in the test's libraries. A library has 60,000 functions, of which one runs.
# (OpenBLAS itself has 24 MB.) If a file has more than 64 MB, its unwind rows are ready before the
# first sample only if krait's cache has them.
OPENBLAS, TORCH = 24, 72
LARGE = r"""
.section .note.GNU-stack,"",@progbits
.text
.rept 60000
.p2align 4
.cfi_startproc
push %rbp
.cfi_def_cfa_offset 16
.cfi_offset %rbp, -16
sub $32, %rsp
.cfi_def_cfa_offset 48
.skip BYTES, 0x90
add $32, %rsp
.cfi_def_cfa_offset 16
pop %rbp
.cfi_def_cfa_offset 8
ret
.cfi_endproc
.endr
.globl burn
.type burn, @function
burn:
.cfi_startproc
push %rbp
.cfi_def_cfa_offset 16
.cfi_offset %rbp, -16
1: dec %rdi
jnz 1b
pop %rbp
.cfi_def_cfa_offset 8
ret
.cfi_endproc
.size burn, . - burn
"""
BURNS = """
import ctypes, sys
burn = ctypes.CDLL(sys.argv[1]).burn
burn.argtypes = [ctypes.c_long]
while True:
    burn(20000000)
"""


def without_rows(cache, pid):
    """Records a process for a second. Returns (number of samples whose stacks break off because
    there were no unwind rows, number of all samples)."""
    out = os.path.join(cache, "summary.json")
    done = kit.krait("record", "-p", pid, "-d", 1, "-o", os.path.join(cache, "x.pb.gz"),
                     "--summary-json", out, env=dict(os.environ, XDG_CACHE_HOME=cache))
    check(done.returncode == 0, done.stderr)
    with open(out) as f:
        got = json.load(f)
    check(got["native_outcomes"]["LEAF"] > 50, "%s" % got["native_outcomes"])
    return got["native_outcomes"]["NO_ROWS"], got["samples"]


def rows_are_there(mbytes, cold):
    """A process that -p names runs in a library with @mbytes of code. If krait's cache has the
    library's unwind rows, the rows are ready before the first sample. Without a cache, the rows are
    ready for at least the share @cold of the samples."""
    if os.uname().machine != "x86_64":
        raise kit.Skip("the library is written for x86-64")
    kit.need("gcc")
    with kit.folder() as d:
        source, library = os.path.join(d, "large.s"), os.path.join(d, "liblarge.so")
        with open(source, "w") as f:
            f.write(LARGE.replace("BYTES", str(mbytes * 1000000 // 60000 - 20)))
        subprocess.run(["gcc", "-shared", "-o", library, source], check=True)
        with kit.Background(kit.PYTHON, "-c", BURNS, library) as target:
            kit.runs(target.pid, 0.2)
            late, samples = without_rows(d, target.pid)
            check(samples - late >= cold * samples, "cold: %d of %d" % (late, samples))
            late, samples = without_rows(d, target.pid)
            check(late <= 0.0005 * samples, "warm: %d of %d" % (late, samples))


@case
def large_library():
    """Without a cache, the unwind rows of a library as large as OpenBLAS are ready for nearly all
    samples."""
    rows_are_there(OPENBLAS, 0.995)


@case
def larger_library():
    """A library is so large that krait makes its unwind rows while it samples. Without a cache, the
    rows are ready for at least a fifth of the samples."""
    rows_are_there(TORCH, 0.2)


if __name__ == "__main__":
    sys.exit(kit.main())
