#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait agent: what it keeps is what ran. The truth is the kernel's accounting of each process: its
schedstat while it lives, what its parent is told when it has ended."""
import glob
import math
import os
import signal
import subprocess
import sys
import time

import kit
from kit import check, folder, krait, refused
from judge import pprof

HZ = 999
# Runs for argv[1] seconds of CPU time, says so, and waits until its input ends.
PROGRAM = """
import sys, time
def burn(seconds):
    while time.process_time() < seconds:
        sum(range(1000))
burn(float(sys.argv[1]))
print("done", flush=True)
sys.stdin.read()
"""
FRAME = 1.0  # a frame's seconds, which a writer that is killed loses at most
LATE = 1.0   # how long an agent that gets no CPU at once takes longer


def start_agent(store):
    agent = subprocess.Popen([kit.KRAIT, "agent", "run", "--store", store, "-F", str(HZ)], stderr=subprocess.PIPE,
                             encoding="utf-8")
    line = agent.stderr.readline()
    check("recording into" in line, line + (agent.stderr.read() if agent.poll() is not None else ""))
    return agent


def start_program(d, seconds):
    return subprocess.Popen([kit.PYTHON, d + "/program.py", str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            encoding="utf-8")


def end(program):
    """Ends a program; returns its CPU time by what its parent is told."""
    program.stdin.close()
    _, status, usage = os.wait4(program.pid, 0)
    program.returncode = status
    check(status == 0, "the program failed")
    return usage.ru_utime + usage.ru_stime


def cpu_of(pid):
    """The CPU time of a process that lives, by the kernel's scheduler."""
    total = 0
    for path in glob.glob("/proc/%d/task/*/schedstat" % pid):
        with open(path) as f:
            total += int(f.read().split()[0])
    return total / 1e9


def last(store, pid, d):
    """Returns (CPU time, its standard error, until when) of a process in the last minute, by krait."""
    path = os.path.join(d, "%d.pb.gz" % pid)
    done = krait("last", "1m", "--store", store, "-p", pid, "-o", path)
    check(done.returncode == 0, done.stderr)
    profile = pprof.read(path)
    at = [name for name, _ in profile.sample_types].index("cpu")
    values = [sample.values[at] for sample in profile.samples]
    check({sample.labels["pid"] for sample in profile.samples} == {str(pid)}, "another process")
    return sum(values) / 1e9, math.sqrt(sum(value * value for value in values)) / 1e9, \
        (profile.time_nanos + profile.duration_nanos) / 1e9


def expect(store, pid, truth, d, what):
    found, error, _ = last(store, pid, d)
    print("%s: %.3f s by krait, %.3f s by the kernel, standard error %.3f" % (what, found, truth, error))
    check(abs(found - truth) <= max(3 * error, 0.01 * truth), "%s: %.3f s instead of %.3f" % (what, found, truth))


def writer_of(agent):
    with open("/proc/%d/task/%d/children" % (agent.pid, agent.pid)) as f:
        for pid in f.read().split():
            with open("/proc/%s/status" % pid) as status:
                fields = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
            if int(fields["CapEff"], 16) == 0 and fields["NoNewPrivs"] == "1":
                check(int(fields["CapPrm"], 16) == 0, "the writer may have a capability")
                return int(pid)
    raise AssertionError("no child without capabilities")


def program_file(d):
    with open(d + "/program.py", "w") as f:
        f.write(PROGRAM)


@kit.case
def truth():
    """CPU time of a process that ended and of one that lives is the kernel's. A second agent is refused. All is there
    after SIGTERM."""
    with folder() as d:
        store = d + "/store"
        program_file(d)
        agent = start_agent(store)
        ended, lives = start_program(d, 0.7), start_program(d, 1.0)
        ended.stdout.readline()
        ended_cpu = end(ended)
        refused(1, "another krait agent, process %d," % agent.pid, "agent", "run", "--store", store)
        lives.stdout.readline()
        lives_cpu = cpu_of(lives.pid)
        agent.send_signal(signal.SIGTERM)
        said = agent.communicate(timeout=30)[1]
        check(agent.returncode == 0, "exit code %d: %s" % (agent.returncode, said))
        expect(store, ended.pid, ended_cpu, d, "the process that ended")
        expect(store, lives.pid, lives_cpu, d, "the process that lives")
        end(lives)
        status = krait("agent", "status", "--store", store)
        check("none records now" in status.stdout and "lost      0 samples" in status.stdout, status.stdout + status.stderr)


@kit.case
def killed():
    """A writer that is killed loses a second at most. The store opens, and the next agent goes on in it."""
    with folder() as d:
        store = d + "/store"
        program_file(d)
        agent = start_agent(store)
        program = start_program(d, 1e9)
        while cpu_of(program.pid) < 2.5 * FRAME:
            time.sleep(0.05)
        os.kill(writer_of(agent), signal.SIGKILL)
        killed_at, cpu = time.time(), cpu_of(program.pid)
        said = agent.communicate(timeout=30)[1]
        check(agent.returncode == 1 and "writer" in said, "exit code %d: %s" % (agent.returncode, said))
        program.kill()
        program.wait()
        found, error, until = last(store, program.pid, d)
        print("%.3f of %.3f s, up to %.3f s before the writer was killed" % (found, cpu, killed_at - until))
        check(killed_at - until <= FRAME + LATE, "%.3f s are lost" % (killed_at - until))
        check(cpu - FRAME - LATE - 3 * error <= found <= cpu + 3 * error, "%.3f of %.3f s" % (found, cpu))
        agent = start_agent(store)
        agent.send_signal(signal.SIGTERM)
        check(agent.wait(timeout=30) == 0, "the next agent failed")
        check(last(store, program.pid, d)[0] == found, "the next agent changed what was there")


@kit.case
def refusals():
    """What isn't a store is named and left as it is."""
    with folder() as d:
        refused(1, "no agent has recorded into", "last", "5m", "--store", d + "/none")
        refused(2, "say how long", "last", "--store", d)
        refused(2, "--since 10m", "report", "--store", d)
        with open(d + "/store.db", "wb") as f:
            f.write(b"a file of somebody else's" * 400)
        for words in (["last", "5m"], ["agent", "status"], ["agent", "run"]):
            refused(1, "isn't a store of krait's", *words, "--store", d)
        with open(d + "/store.db", "rb") as f:
            check(f.read() == b"a file of somebody else's" * 400, "the file was changed")


if __name__ == "__main__":
    sys.exit(kit.main())
