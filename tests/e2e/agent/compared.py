#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait agent: in any window, each process has the CPU time and the waits that the kernel counted,
and a recording beside the agent has the same functions. The truth of CPU time is each process's
clock in the kernel. For a process that has ended, it is what the process's parent is told. The
truth of waits is each thread's schedstat."""
import collections
import json
import math
import os
import random
import sqlite3
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import by_thread, check, folder, krait, waited
from judge import pprof

HZ = 999
SECONDS = 60 if kit.FULL else 5
WINDOWS = 40 if kit.FULL else 8
SIGMAS, MOST, SHARE = 3, 4.5, 0.01
# krait keeps a sample's time in ms, so the edges of a window are rounded to ms
EDGE = 0.002
# What a thread does in turns: it runs two functions with known shares of its CPU time, then sleeps.
# At its end the program prints [the thread's number, how long in turns() the thread neither ran nor
# was ready to run].
MIXED = kit.ACCOUNT + """
import json, sys
def rest():
    now, cpu, delay = account()
    return now - cpu - delay
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))
def large():
    burn(0.021)
def small():
    burn(0.007)
def nap():
    time.sleep(float(sys.argv[2]))
def turns():
    while time.monotonic() < end:
        large()
        small()
        nap()
def final():  # the thread may wait for the GIL before it reads the accounts
    return rest()
time.sleep(0.3)  # gives krait time to examine the process; krait sees it first when it waits
end = time.monotonic() + float(sys.argv[1])
before = rest()
turns()
print(json.dumps([threading.get_native_id(), final() - before]), flush=True)
if sys.argv[3] == "stays":
    sys.stdin.read()
sys.exit(int(sys.argv[3] == "fails"))
"""
# for each program: the part of the time that it runs, how long it sleeps in each turn, what it does
# at its end
PROGRAMS = (1, 0.005, "stays"), (1, 0.03, "stays"), (1, 0.1, "ends"), (1, 0.03, "fails"), (0.3, 0.01, "ends")
# The recorded waiting may differ by this much from what a thread measures itself; see
# tests/e2e/waits/off_cpu.py.
SLACK_NS, WAIT_SHARE = 1000000, 0.002


class Program:
    """One of the programs that are recorded. .end() returns the program's CPU time, as its parent
    process is told."""

    def __init__(self, source, seconds, nap, last):
        self.last, self.cpu = last, None
        self.process = subprocess.Popen([kit.PYTHON, "-c", source, str(seconds), str(nap), last], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, encoding="utf-8")
        self.pid = self.process.pid

    def told(self):
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        _, status, usage = os.wait4(self.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        check(self.process.returncode == int(self.last == "fails"), "exit code %d" % self.process.returncode)
        self.cpu = usage.ru_utime + usage.ru_stime


class Clocks(threading.Thread):
    """Reads the processes' CPU clocks in the kernel, until stop() is called. A process that has
    ended keeps the last time that was read."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.readings, self.going = {pid: [] for pid in pids}, True
        self.start()

    def run(self):
        while self.going:
            for pid, readings in self.readings.items():
                before = time.time()
                try:
                    cpu = time.clock_gettime_ns(~pid << 3 | 2) / 1e9
                except OSError:
                    continue
                readings.append((before, time.time(), cpu))
            time.sleep(0.005)

    def stop(self):
        self.going = False
        self.join()

    def bounds(self, pid, at):
        """Returns the least and the most CPU time that process @pid may have had at time @at."""
        before = [cpu for _, after, cpu in self.readings[pid] if after <= at]
        after = [cpu for before, _, cpu in self.readings[pid] if before >= at]
        last = self.readings[pid][-1][2]
        return before[-1] if before else 0.0, after[0] if after else last


def value_at(profile, name):
    return [type_name for type_name, _ in profile.sample_types].index(name)


def cpu_of(profile):
    """Returns for each process in the profile: {pid: (CPU time, its standard error)}."""
    at, sums, squares = value_at(profile, "cpu"), collections.Counter(), collections.Counter()
    for sample in profile.samples:
        pid = int(sample.labels["pid"])
        sums[pid] += sample.values[at] / 1e9
        squares[pid] += (sample.values[at] / 1e9) ** 2
    return {pid: (sums[pid], math.sqrt(squares[pid])) for pid in sums}


def shares(profile, pid):
    """Returns {function: CPU time of the stacks that contain it}."""
    at, sums = value_at(profile, "cpu"), collections.Counter()
    for sample in profile.samples:
        if int(sample.labels["pid"]) == pid:
            for name in {l.name for l in profile.stack(sample)} & {"large", "small", "nap", "turns"}:
                sums[name] += sample.values[at] / 1e9
    return sums


def distance(found, least, most, error):
    """Returns how many standard errors @found lies outside of the range from @least to @most, in
    which the truth is. 0: it lies in the range, or hardly outside."""
    gap = max(least - found, found - most)
    return 0 if gap <= SHARE * most else gap / error


def judge(distances):
    """Returns whether too many comparisons differ too much. Of hundreds of comparisons, a few are
    off by three standard errors by chance."""
    return max(distances) > MOST or sum(d > SIGMAS for d in distances) > 1 + len(distances) // 100


def window(store, since, until, out):
    """Returns the profile of the window from @since to @until, two times of the wall clock. If
    @since is None, the window begins an hour ago; if @until is None, it ends now. The profile
    itself says exactly when the window begins and ends, because krait counts both times back
    from its own start."""
    now = time.time()
    end = ["--until", "%.3fs" % (now - until)] if until else []
    done = krait("report", "--store", store, "--since", "%.3fs" % (now - since) if since else "1h", *end, "-o", out)
    check(done.returncode == 0, done.stderr)
    return pprof.read(out)


def whole(programs, profile):
    """Returns how far the profile's CPU time of each process is from the truth, for all of the
    recorded time, in standard errors."""
    cpu, distances = cpu_of(profile), []
    for p in programs:
        found, error = cpu.get(p.pid, (0.0, 1 / HZ))
        distances.append(distance(found, p.cpu, p.cpu, error))
        print("%d: %.3f s by krait, %.3f s by the kernel, %.1f standard errors" % (p.pid, found, p.cpu, (found - p.cpu) / error))
    return distances


def in_window(clocks, profile, late=0.0):
    """Returns how far the profile's CPU time of each process in a window is from the truth, in
    standard errors."""
    cpu, distances = cpu_of(profile), []
    since, until = profile.time_nanos / 1e9 + late, (profile.time_nanos + profile.duration_nanos) / 1e9 + late
    for pid in clocks.readings:
        (b0, b1), (e0, e1) = clocks.bounds(pid, since), clocks.bounds(pid, until)
        found, error = cpu.get(pid, (0.0, 0.0))
        distances.append(distance(found, e0 - b1 - EDGE, e1 - b0 + EDGE, max(error, 1 / HZ)))
    return distances


def run_programs(d):
    """Runs the programs under the agent, while `krait record` records them too. Returns (programs,
    what they said of themselves, their clocks)."""
    agent = kit.start_agent(d + "/store", "--wall", "-F", str(HZ))
    beside = kit.recorder(d + "/beside.pb.gz", "--wall", "-F", HZ)
    programs = [Program(MIXED, seconds * SECONDS, nap, last) for seconds, nap, last in PROGRAMS]
    clocks = Clocks([p.pid for p in programs])
    told = {p.pid: p.told() for p in programs}
    code, said = beside.finish()
    check(code == 0, said)
    clocks.stop()
    for p in programs:
        p.end()
    kit.end_agent(agent)
    return programs, told, clocks


def windows(d, clocks, profile):
    """Yields the profiles of windows that are chosen at random."""
    first, last = profile.time_nanos / 1e9, (profile.time_nanos + profile.duration_nanos) / 1e9
    seed = random.randrange(1 << 32)
    print("seed of the windows: %d" % seed)
    chance = random.Random(seed)
    for _ in range(WINDOWS):
        a, b = sorted(chance.uniform(first, last) for _ in range(2))
        yield window(d + "/store", a, b + 0.01, d + "/window.pb.gz")


def check_waits(programs, told, profile):
    for p in programs:
        tid, rest = told[p.pid]
        states = by_thread(profile, "turns", "final")[tid]
        print("%d: waited %.4f s by krait, %.4f s by schedstat" % (p.pid, waited(states) / 1e9, rest / 1e9))
        check(abs(waited(states) - rest) <= WAIT_SHARE * rest + SLACK_NS, "process %d waited %d ns, and %d were recorded: %s" %
              (p.pid, rest, waited(states), states))


def check_beside(d, programs):
    """The agent's profile and that of a `krait record` of the same minutes agree: each process's
    functions have the same CPU time in both."""
    beside = pprof.read(d + "/beside.pb.gz")
    since, until = beside.time_nanos / 1e9, (beside.time_nanos + beside.duration_nanos) / 1e9
    own = window(d + "/store", since, until, d + "/same.pb.gz")
    distances = []
    for p in programs:
        by_agent, by_record = shares(own, p.pid), shares(beside, p.pid)
        check(set(by_agent) == set(by_record) >= {"large", "small", "turns"}, "%s, %s" % (by_agent, by_record))
        for name in by_agent:
            error = math.sqrt((by_agent[name] + by_record[name]) / HZ)
            distances.append(distance(by_agent[name], by_record[name], by_record[name], error))
        share = by_agent["large"] / (by_agent["large"] + by_agent["small"])
        error = math.sqrt(0.75 * 0.25 / (HZ * by_agent["turns"]))
        check(abs(share - 0.75) <= MOST * error + SHARE, "large() has %.3f of the CPU time" % share)
    check(not judge(distances), "krait record beside the agent has other times: %s" % distances)


def without_a_frame(d):
    """Makes a copy of the store in which the samples of one second in the middle are missing."""
    shutil.copytree(d + "/store", d + "/faulty")
    db = sqlite3.connect(d + "/faulty/store.db")
    (frames,) = db.execute("SELECT count(*) FROM frame").fetchone()
    check(frames >= SECONDS, "%d frames" % frames)
    db.execute("DELETE FROM frame WHERE id = (SELECT id FROM frame ORDER BY id LIMIT 1 OFFSET ?)", (frames // 2,))
    db.commit()
    db.close()
    return window(d + "/faulty", None, None, d + "/faulty.pb.gz")


def check_faults(d, programs, clocks, profile, some):
    """Checks that this test notices faults in a profile: samples that are missing, counted twice,
    or of another time."""
    check(judge(whole(programs, without_a_frame(d))), "a missing frame isn't noticed")
    profile.samples = profile.samples * 2
    check(judge(whole(programs, profile)), "that samples count twice isn't noticed")
    check(judge(sum((in_window(clocks, p, SECONDS / 2) for p in some), [])), "that times are wrong isn't noticed")


@kit.case
def truth():
    """The recorded CPU time and waits of processes are right, for processes that are alive and for
    processes that have ended. This holds for all of the time, for windows of it, and compared
    with a `krait record` beside the agent."""
    with folder() as d:
        programs, told, clocks = run_programs(d)
        profile = window(d + "/store", None, None, d + "/all.pb.gz")
        check(not judge(whole(programs, profile)), "CPU time isn't the kernel's")
        some = list(windows(d, clocks, profile))
        distances = sum((in_window(clocks, p) for p in some), [])
        check(not judge(distances), "CPU time in windows isn't the kernel's: %s" % distances)
        check_beside(d, programs)
        check_waits(programs, told, profile)
        check_faults(d, programs, clocks, profile, some)


# A program that waits until its input ends, and then prints [its thread's number, how long the
# thread neither ran nor was ready to run].
WAITS = kit.ACCOUNT + """
import json, sys
def rest():
    now, cpu, delay = account()
    return now - cpu - delay
def final():
    return rest()
def waits():
    sys.stdin.read()
time.sleep(0.3)
before = rest()
print("waits", flush=True)
waits()
print(json.dumps([threading.get_native_id(), final() - before]), flush=True)
"""
# when a wait has lasted this many seconds and isn't over, the agent stores the part of it that has
# passed
ROUND = 10


@kit.case
def open_waits():
    """A window shows a thread that waits during all of the window. When the wait ends later, no
    part of it is counted twice."""
    with folder() as d:
        agent = kit.start_agent(d + "/store", "--wall", "-F", str(HZ))
        process = subprocess.Popen([kit.PYTHON, "-c", WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        process.stdout.readline()
        began = time.time()
        time.sleep(ROUND + 5)
        profile = window(d + "/store", began + 1, began + 4, d + "/window.pb.gz")
        at, seconds = value_at(profile, "off_cpu"), profile.duration_nanos / 1e9
        found = sum(s.values[at] for s in profile.samples if s.labels["tid"] == str(process.pid)) / 1e9
        print("waited %.3f of %.3f s of a window" % (found, seconds))
        check(2.5 < seconds and abs(found - seconds) < 2 * EDGE, "waited %.3f of %.3f s" % (found, seconds))
        process.stdin.close()
        tid, rest = json.loads(process.stdout.readline())
        process.wait()
        kit.end_agent(agent)
        states = by_thread(window(d + "/store", None, None, d + "/all.pb.gz"), "waits", "final")[tid]
        print("waited %.4f s by krait, %.4f s by schedstat" % (waited(states) / 1e9, rest / 1e9))
        check(abs(waited(states) - rest) <= WAIT_SHARE * rest + SLACK_NS, "%s, %d" % (states, rest))



if __name__ == "__main__":
    sys.exit(kit.main())
