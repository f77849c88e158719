#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait agent stores samples of everything that ran. The truth is the kernel's accounting of each
process: the process's schedstat while it runs, and what wait4() tells the process's parent when
it has ended."""
import glob
import math
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder, krait, refused
from judge import pprof

HZ = 999
# A program that runs for argv[1] seconds of CPU time, says so, and waits until its input ends.
PROGRAM = """
import sys, time
with open("/proc/self/comm", "w") as f:
    f.write("for-the-agent")
def burn(seconds):
    while time.process_time() < seconds:
        sum(range(1000))
burn(float(sys.argv[1]))
print("done", flush=True)
sys.stdin.read()
"""
# the agent stores its samples in steps of so many seconds; a writer that is killed loses at most
# the samples of one step
FRAME = 1.0
# how many seconds later things may happen on a busy machine, where the agent may not get a CPU at
# once
LATE = 1.0


def start_program(d, seconds):
    return subprocess.Popen([kit.PYTHON, d + "/program.py", str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            encoding="utf-8")


def end(program):
    """Lets a program end. Returns the CPU time that wait4() reports for the program."""
    program.stdin.close()
    _, status, usage = os.wait4(program.pid, 0)
    program.returncode = status
    check(status == 0, "the program failed")
    return usage.ru_utime + usage.ru_stime


def cpu_of(pid):
    """Returns the CPU time of a running process, as the kernel's scheduler counts it."""
    total = 0
    for path in glob.glob("/proc/%d/task/*/schedstat" % pid):
        with open(path) as f:
            total += int(f.read().split()[0])
    return total / 1e9


def last(store, pid, d):
    """Returns what krait says of a process in the last ten minutes, because a case may take minutes
    on a busy machine: (CPU time, the standard error of this time, the time at which the ten minutes
    end)."""
    path = os.path.join(d, "%d.pb.gz" % pid)
    done = krait("last", "10m", "--store", store, "-p", pid, "-o", path)
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


def writer_of(agent, not_this=0):
    """Returns the process id of the process that writes the agent's store. It is a child of the
    agent's process that starts writers. If the writer still has the process id @not_this, waits for
    another writer."""
    end = time.time() + 20
    while time.time() < end:
        for starter in kit.children_of(agent.pid):
            for writer in kit.children_of(starter):
                if writer != not_this:
                    return writer
        time.sleep(0.02)
    raise AssertionError("the agent has no writer")


def program_file(d):
    with open(d + "/program.py", "w") as f:
        f.write(PROGRAM)


@kit.case
def truth():
    """The CPU time that krait shows equals the kernel's, for a process that has ended and for one
    that runs. A second agent is refused. After SIGTERM nothing is missing in the store."""
    with folder() as d:
        store = d + "/store"
        program_file(d)
        agent = kit.start_agent(store, "-F", str(HZ))
        ended, lives = start_program(d, 0.7), start_program(d, 1.0)
        ended.stdout.readline()
        ended_cpu = end(ended)
        refused(1, "another krait agent, process %d," % agent.pid, "agent", "run", "--store", store)
        lives.stdout.readline()
        lives_cpu = cpu_of(lives.pid)
        said = kit.end_agent(agent)
        expect(store, ended.pid, ended_cpu, d, "the process that ended")
        expect(store, lives.pid, lives_cpu, d, "the process that lives")
        end(lives)
        status = krait("agent", "status", "--store", store)
        check("none records now" in status.stdout and "lost      0 samples" in status.stdout, status.stdout + status.stderr)


@kit.full_case
def started_anew():
    """The agent is ended and started again, as when a new version is installed. The second agent
    goes on in the same store. Less than two seconds of a busy program are missing, as the
    kernel's count of its CPU time shows."""
    with folder() as d:
        store = d + "/store"
        program_file(d)
        program = start_program(d, 1e9)
        time.sleep(0.5)
        agent = kit.start_agent(store, "-F", str(HZ), "--wall")
        began, gaps = cpu_of(program.pid), []
        for _ in range(3):
            time.sleep(1.5)
            until = cpu_of(program.pid)
            kit.end_agent(agent)
            agent = kit.start_agent(store, "-F", str(HZ), "--wall")
            gaps.append(cpu_of(program.pid) - until)
        time.sleep(1.5)
        program.send_signal(signal.SIGSTOP)
        ran = cpu_of(program.pid) - began
        kit.end_agent(agent)
        program.kill()
        program.wait()
        found, error, _ = last(store, program.pid, d)
        print("%.3f s kept of %.3f, standard error %.3f; from the signal until it records again: %s s" % (found, ran, error, ", ".join("%.2f" % g for g in gaps)))
        check(max(gaps) < 2, "%.2f s without a recording" % max(gaps))
        check(ran - sum(gaps) - 3 * error <= found <= ran + 3 * error, "%.3f s kept of %.3f" % (found, ran))


def lost_with_writers(store):
    """Returns (how many samples are lost because writers died, how often a writer was started
    again), as `krait agent status` says."""
    said = krait("agent", "status", "--store", store).stdout
    found = re.search(r"(\d+) when a writer died", said)
    again = re.search(r"writer +was started again (\d+) times", said)
    check(found and again, said)
    return int(found.group(1)), int(again.group(1))


def cpu_in(path):
    """Returns {process: (CPU seconds in the profile, their standard error)}."""
    profile, found = pprof.read(path), {}
    at = [name for name, _ in profile.sample_types].index("cpu")
    for sample in profile.samples:
        found.setdefault(int(sample.labels.get("pid", "0")), []).append(sample.values[at] / 1e9)
    return {pid: (sum(values), math.sqrt(sum(value * value for value in values))) for pid, values in found.items()}


def moment(seconds):
    return time.strftime("%Y-%m-%d %H:%M:%S%z", time.gmtime(seconds)).replace("+0000", "+00:00")


@kit.case
def windows():
    """A window between two times has the samples of what ran in it, whether the test reads it
    alone, merges it with another window, compares it with another window, or copies it while the
    agent runs."""
    with folder() as d:
        store, out = d + "/store", d + "/x.pb.gz"
        program_file(d)
        agent = kit.start_agent(store, "-F", str(HZ))
        start = math.floor(time.time())
        first = start_program(d, 0.5)
        first.stdout.readline()
        first_cpu = end(first)
        middle = math.ceil(time.time() + 0.1)
        time.sleep(middle - time.time() + 0.1)
        second = start_program(d, 0.7)
        second.stdout.readline()
        second_cpu = end(second)
        done = krait("agent", "export", "--store", store, "--since", moment(start), "--until", moment(middle), "-o", d + "/copy")
        check(done.returncode == 0 and "to read them: krait report --store %s/copy --since" % d in done.stderr, done.stderr)
        refused(1, "has a store already", "agent", "export", "--store", store, "-o", d + "/copy")
        kit.end_agent(agent)
        a, b = moment(start) + ".." + moment(middle), time.strftime("%H:%M:%S", time.localtime(middle)) + "..now"
        for words, ran in ((["report", "--store", store, "--since", moment(start), "--until", moment(middle)], {first.pid: first_cpu}),
                           (["last", a, "--store", store], {first.pid: first_cpu}), (["last", a, "--store", d + "/copy"], {first.pid: first_cpu}), (["last", b, "--store", store], {second.pid: second_cpu}),
                           (["merge", "--store", store, a, b], {first.pid: first_cpu, second.pid: second_cpu})):
            done = krait(*words, "-o", out)
            check(done.returncode == 0, done.stderr)
            found = cpu_in(out)
            print(" ".join(words[:1]), {pid: "%.3f" % found[pid][0] for pid in found if pid in (first.pid, second.pid)}, ran)
            check({pid for pid in found if pid in (first.pid, second.pid)} == set(ran), "%s: other processes" % words)
            for pid, cpu in ran.items():
                check(abs(found[pid][0] - cpu) <= max(3 * found[pid][1], 0.01 * cpu), "%s: %.3f s instead of %.3f" % (words, found[pid][0], cpu))
        # Only these programs are compared, because the agent also recorded what ran beside this
        # test. With -n 1000 the table has all rows: a shorter one may lack burn(), whose share
        # hardly changes.
        done = krait("diff", "--store", store, a, b, "--process", "program.py", "-n", "1000")
        check(done.returncode == 0 and "burn" in done.stdout, done.stdout + done.stderr)
        done = krait("last", a, "--store", store, "-p", str(second.pid), "--service", "web")
        check("no sample of that window is of process %d, and of service web; samples have services only" % second.pid in done.stderr, done.stderr)
        done = krait("report", "--store", store, "--since", "2h", "--until", "1h")
        check("nothing was recorded in that window" in done.stderr, done.stderr)


@kit.case
def killed():
    """When the writer is killed, only the writer is started again, and the agent goes on recording.
    The samples that the writer hadn't stored are missing, and are counted as lost."""
    kills = 2
    with folder() as d:
        store = d + "/store"
        program_file(d)
        program = start_program(d, 1e9)
        time.sleep(0.5)
        agent = kit.start_agent(store, "-F", str(HZ), "--comm", "for-the-agent")
        began = cpu_of(program.pid)
        while cpu_of(program.pid) < began + 1.2 * FRAME:
            time.sleep(0.05)
        writer = 0
        for _ in range(kills):
            writer = writer_of(agent)
            before = cpu_of(program.pid)
            os.kill(writer, signal.SIGKILL)
            writer = writer_of(agent, writer)
            while cpu_of(program.pid) < before + 2 * FRAME:
                time.sleep(0.05)
        program.send_signal(signal.SIGSTOP)
        cpu = cpu_of(program.pid) - began
        said = kit.end_agent(agent)
        check(said.count("the writer of the agent ended") == kills, said)
        check("again in 0.1 s" in said and "again in 0.2 s" in said, said)
        program.kill()
        program.wait()
        found, error, _ = last(store, program.pid, d)
        lost, again = lost_with_writers(store)
        print("%.3f s kept of %.3f, %.3f s counted as lost" % (found, cpu, lost / HZ))
        check(again == kills, "%d writers were started again" % again)
        # The samples kept and lost, added up, may differ a little from the CPU time: the samples of
        # a second that were written but not acknowledged are stored and also counted as lost, and
        # the agent needs a moment to start.
        check(abs(found + lost / HZ - cpu) <= 3 * error + 0.1, "%.3f s kept and %.3f s lost of %.3f" % (found, lost / HZ, cpu))
        check(lost / HZ <= kills * (2 * FRAME + LATE), "%d samples are lost" % lost)
        agent = kit.start_agent(store, "-F", str(HZ))
        agent.send_signal(signal.SIGTERM)
        check(agent.wait(timeout=30) == 0, "the next agent failed")
        check(last(store, program.pid, d)[0] == found, "the next agent changed what was there")


@kit.case
def refusals():
    """A directory that contains other files than a store's: krait agent refuses it and changes
    nothing in it."""
    with folder() as d:
        refused(1, "no agent has recorded into", "last", "5m", "--store", d + "/none")
        refused(2, "say which window", "last", "--store", d)
        refused(2, "name the directory to write to", "agent", "export")
        refused(1, "no agent has recorded into", "agent", "export", "--store", d + "/none", "-o", d + "/copy")
        refused(2, "--since 10m", "report", "--store", d)
        refused(2, "'25:00' is not a time", "last", "25:00", "--store", d)
        refused(2, "ends before it begins", "last", "1h..2h", "--store", d)
        refused(2, "--service and --cgroup are for --store", "report", d + "/x.pb.gz", "--service", "a")
        with open(d + "/store.db", "wb") as f:
            f.write(b"a file of somebody else's" * 400)
        for words in (["last", "5m"], ["agent", "status"], ["agent", "run"]):
            refused(1, "isn't a store of krait's", *words, "--store", d)
        with open(d + "/store.db", "rb") as f:
            check(f.read() == b"a file of somebody else's" * 400, "the file was changed")


if __name__ == "__main__":
    sys.exit(kit.main())
