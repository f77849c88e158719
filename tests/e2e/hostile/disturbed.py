#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the machine and its limits do to krait: the clock is set, krait is stopped, there are few
descriptors or processes, a disk is full. Each case checks the message that the user reads. The
program's CPU time, the monotonic clock and the limits tell what must be recorded."""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import Background, case, check, folder, krait, python

NOBODY = 65534

# A program in which each call is of a new function, with a line table of 16 KiB: three seconds of
# such calls are more than krait's ring buffers hold.
CHURN = r"""
import sys
names = {}
exec("def f(n):\n total = 0\n for i in range(n):\n  total += i & 3\n return total\n", names)
code, made = names["f"].__code__, 0
field = "co_linetable" if sys.version_info >= (3, 10) else "co_lnotab"
table = {field: getattr(code, field) * (16384 // len(getattr(code, field)))}
while True:
    made += 1
    new = code.replace(co_name="made_%d" % made, co_filename="<template %d>" % made, **table)
    type(lambda: 0)(new, {"range": range})(400)
"""

# A library that makes the realtime clock look as if it were set: in each 0.3 s an hour forward, two
# hours back, and right again. Only krait sees that. The machine's clock isn't touched, because
# other programs use it, and their files would get times in the future. (tests/vm sets a real
# clock.)
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
static int (*real)(clockid_t, struct timespec *);
static void __attribute__((constructor)) find(void) { real = dlsym(RTLD_NEXT, "clock_gettime"); }
static long shift(void)
{
	static const long hours[] = {0, 1, -1};
	struct timespec now;

	real(CLOCK_MONOTONIC, &now);
	return 3600 * hours[(now.tv_sec * 10 + now.tv_nsec / 100000000) % 3];
}
int clock_gettime(clockid_t id, struct timespec *t)
{
	int r = real(id, t);

	if (!r && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		t->tv_sec += shift();
	return r;
}
int gettimeofday(struct timeval *t, void *zone)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*t = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
	return 0;
}
time_t time(time_t *t)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}
"""


def summary_of(d):
    with open(d + "/s.json") as f:
        return json.load(f)


@case
def clock_is_set():
    """The clock is set an hour forward and back: the recording's durations, times and numbers of
    samples are right by the monotonic clock."""
    with folder() as d, python() as target:
        kit.runs(target.pid, 0.1)
        env, before, begin = kit.preloaded(d, CLOCK), kit.cpu_seconds(target.pid), time.monotonic()
        done = krait("record", "--times", "-F", 499, "-p", target.pid, "-d", 1.5, "-o", d + "/o.pb.gz",
                     "--summary-json", d + "/s.json", env=env)
        took, ran = time.monotonic() - begin, kit.cpu_seconds(target.pid) - before
        check(done.returncode == 0 and "1.5 s" in done.stderr, done.stderr)
        check(took < 10, "1.5 s took %.1f" % took)
        summary, profile = summary_of(d), kit.pprof.read(d + "/o.pb.gz")
        check(1.45 < summary["wall_seconds"] < 2.5, "%.3f s" % summary["wall_seconds"])
        check(summary["samples"] <= 499 * 1.1 * ran + 5, "%d samples of %.2f s" % (summary["samples"], ran))
        check(abs(summary["samples"] - summary["due"]) < 0.1 * summary["due"] + 5,
              "%d samples, %d due" % (summary["samples"], summary["due"]))
        times = [s.labels["time"] for s in profile.samples]
        # the times in this format are in milliseconds
        check(0 <= min(times) and max(times) < 1e9 * (summary["wall_seconds"] + 0.001),
              "%d to %d ns of %.3f s" % (min(times), max(times), summary["wall_seconds"]))
        kit.sees(d + "/o.pb.gz")


@case
def stopped():
    """krait is stopped for 3 s (SIGSTOP, SIGCONT): krait counts and reports the lost records, and
    the samples that it has are right."""
    with folder() as d, Background(kit.PYTHON, "-c", CHURN, 100) as target:
        with Background(kit.KRAIT, "record", "-F", 9999, "-p", target.pid, "-d", 4.5, "-o", d + "/o.pb.gz",
                        "--summary-json", d + "/s.json") as running:
            kit.wait_for(lambda: kit.attached(running.pid), 30)
            kit.runs(target.pid, 0.3)
            # stops krait and its children, as Ctrl-Z on a terminal does
            os.killpg(running.pid, signal.SIGSTOP)
            time.sleep(3)
            os.killpg(running.pid, signal.SIGCONT)
            said = running.process.communicate(timeout=60)[1].decode()
            check(running.process.returncode == 0, said)
        summary, profile = summary_of(d), kit.pprof.read(d + "/o.pb.gz")
        check(4.4 < summary["wall_seconds"] < 6, "%.1f s" % summary["wall_seconds"])
        lost, samples = summary["lost_records"], sum(s.values[0] for s in profile.samples)
        check(lost > 1000, "only %d lost in 3 s" % lost)
        check("%d records lost" % lost in said, "krait doesn't say how many records were lost: " + said)
        check("doesn't answer" not in said, "krait blames other programs: " + said)
        check(samples == summary["samples"], "%d samples in the file, %d taken" % (samples, summary["samples"]))
        # Each sample is a record; a new stack and a new function send two more records.
        check(summary["due"] <= 1.05 * (samples + lost) + 100,
              "%d samples and %d lost records of %d" % (samples, lost, summary["due"]))
        for sample in profile.samples:
            for l in profile.stack(sample):
                check(not l.name.startswith("made_") or
                      l.file == "<template %s>" % l.name.split("_")[1], "%s in %s" % (l.name, l.file))


@case
def few_descriptors():
    """With RLIMIT_NOFILE of about 64, krait either names the limit and refuses, or it works. It
    never says "the process didn't run"."""
    def limit(n):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
    with folder() as d, python() as target:
        args = ["-F", 999, "-d", 0.3, "-o", d + "/o.pb.gz"]
        kit.refused(1, "ulimit -n", "top", "-n", 1, "-p", target.pid, preexec_fn=limit(40))
        kit.refused(1, "ulimit -n", "record", *args, preexec_fn=limit(40))
        # With any limit of descriptors from 64 on, krait either names the limit and refuses, or it
        # works.
        for n in range(64, 4096, 32):
            done = krait("record", "-p", target.pid, *args, preexec_fn=limit(n))
            if done.returncode == 0:
                break
            check(done.returncode == 1 and "ulimit -n" in done.stderr, done.stderr)
        kit.sees(d + "/o.pb.gz")
        check("open files" not in done.stderr, done.stderr)


@case
def few_processes():
    """RLIMIT_NPROC keeps an ordinary user's krait from starting threads and children. krait still
    records a running process (-p) without them. It can't start a command, and says why."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    kit.need("setpriv")
    with folder() as d:
        os.chmod(d, 0o777)
        own = shutil.copy(kit.KRAIT, d + "/krait")
        done = subprocess.run([own, "doctor", "--grant"], capture_output=True, text=True)
        if done.returncode:
            raise kit.Skip("no file capabilities here: " + done.stderr)

        def run(*args):
            return subprocess.run([*user, own, *[str(a) for a in args]], capture_output=True, text=True, timeout=60,
                                  preexec_fn=limit, env=dict(os.environ, HOME=d), cwd=d)
        with python(user=NOBODY, group=NOBODY) as target:
            done = run("record", "-F", 999, "-d", 0.5, "-p", target.pid, "-o", d + "/o.pb.gz")
            check(done.returncode == 0, done.stderr)
            kit.sees(d + "/o.pb.gz")
            done = run("record", "-f", "--", "touch", d + "/ran")
            check(done.returncode == 1 and "ulimit -u" in done.stderr and not os.path.exists(d + "/ran"),
                  "exit code %d: %s" % (done.returncode, done.stderr))


@case
def full_disk():
    """If the disk is full, commands other than record say so too, and leave no half file."""
    with folder() as d, folder() as full, python() as target:
        for name in "a", "b":
            krait("record", "-F", 999, "--times", "-p", target.pid, "-d", 0.5, "-o", "%s/%s.pb.gz" % (d, name))
        a, b = d + "/a.pb.gz", d + "/b.pb.gz"
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", full], check=True)
        try:
            with open(full + "/fill", "wb") as f:
                f.write(bytes(4096))
            for ending in "html", "svg", "pb.gz", "jsonl", "folded", "speedscope.json", "pstats":
                kit.refused(1, "no space left", "report", a, "-o", "%s/x.%s" % (full, ending))
            kit.refused(1, "no space left", "merge", a, b, "-o", full + "/m.pb.gz")
            kit.refused(1, "no space left", "diff", a, b, "-o", full + "/d.html")
            done = krait("record", "-d", 0.2, "-p", target.pid, "-o", d + "/c.pb.gz", "--summary-json", full + "/s.json")
            check(done.returncode == 1 and "s.json: No space left" in done.stderr and os.path.exists(d + "/c.pb.gz"),
                  done.stderr)
            check(os.listdir(full) == ["fill"], str(os.listdir(full)))
        finally:
            subprocess.run(["umount", full], check=True)
        for command in ["report", a], ["dump", "-p", target.pid], ["diff", a, b], ["--version"], ["record", "--help"]:
            with open("/dev/full", "w") as out:
                done = subprocess.run([kit.KRAIT, *[str(c) for c in command]], stdout=out, stderr=subprocess.PIPE,
                                      text=True, timeout=60)
            check(done.returncode == 1 and "No space left" in done.stderr, "%s: %d %s" % (command, done.returncode, done.stderr))


if __name__ == "__main__":
    sys.exit(kit.main())
