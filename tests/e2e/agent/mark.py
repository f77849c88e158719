#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait agent pins a window of time, so that the window's samples stay in the store: around a mark
that somebody sets, around a signal, or around a time of high CPU use. As long as one of these
triggers holds, the agent samples more often, and the recorded CPU time stays right: the truth is
the kernel's CPU clock of the process."""
import collections
import json
import math
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder, krait, refused
from judge import pprof

HZ, MORE_HZ = 99, 396
RATE = ("-F", str(HZ), "--max-cpu", "100")


def status(store):
    done = krait("agent", "status", "--json", "--store", store)
    check(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)


def wait_for(true, what, seconds=20):
    """Waits until true() returns something true, because the agent's status is up to a second old.
    If that takes too long, the test fails with the text that what() returns."""
    until = time.monotonic() + seconds
    while not true():
        check(time.monotonic() < until, what())
        time.sleep(0.1)


def wait_for_pins(store, n, seconds=20):
    wait_for(lambda: len(status(store)["pins"]) >= n, lambda: "no %d pins within %d s: %s" % (n, seconds, status(store)), seconds)


def burn(pid, seconds):
    """Waits until a process has used @seconds more of CPU time."""
    until = kit.cpu_clock(pid) + seconds
    while kit.cpu_clock(pid) < until:
        time.sleep(0.05)


def samples(store, pid, path, *window):
    """Returns the samples of a process in a window of time: {weight: number of samples with that
    weight}."""
    done = krait("last", *window, "--store", store, "-p", pid, "-o", path)
    check(done.returncode == 0, done.stderr)
    profile = pprof.read(path)
    at = [name for name, _ in profile.sample_types].index("cpu")
    return collections.Counter(s.values[at] for s in profile.samples if s.values[at]), done.stderr


@kit.case
def mark():
    """A mark and a signal each make the agent keep (pin) the minute before and the minute after,
    with the words of the mark. Each writes a line into the log and adds to a counter. A pinned
    window of time has more samples, and their weights add up to the same CPU time."""
    with folder() as d, kit.python() as target:
        store = d + "/store"
        agent = kit.start_agent(store, *RATE)
        began = kit.cpu_clock(target.pid)
        burn(target.pid, 0.6)
        before = time.time()
        done = krait("agent", "mark", "deploy \x1b[31m1.2.3", "--store", store)
        took = time.time() - before
        check(done.returncode == 0 and "krait last --pin 1 " in done.stderr, done.stderr)
        burn(target.pid, 0.6)
        agent.send_signal(signal.SIGUSR1)
        wait_for_pins(store, 2)
        wait_for(lambda: status(store)["rate"]["hz"] == MORE_HZ, lambda: status(store))
        truth = kit.cpu_clock(target.pid) - began
        said = kit.end_agent(agent)
        facts = status(store)
        first, second = facts["pins"]
        print("pinned after %.1f s: %s" % (took, first))
        check(first["words"] == "deploy ?[31m1.2.3" and second["words"] == "SIGUSR1 from process %d" % os.getpid(), facts["pins"])
        check(before - 1 < first["made"] < before + took + 1, (before, first))
        for pin in facts["pins"]:
            check(abs(pin["made"] - pin["since"] - 60) < 0.01 and abs(pin["until"] - pin["made"] - 60) < 0.01, pin)
        check(facts["triggers"] == {"mark": 1, "signal": 1}, facts)
        for words in "trigger mark: deploy ?[31m1.2.3;", "trigger signal: SIGUSR1 from process", "samples %d times a second" % MORE_HZ:
            check(words in said, said)
        text = krait("agent", "status", "--store", store).stdout
        check("pins      1: " in text and ", mark: deploy ?[31m1.2.3\n" in text and "triggers  mark: 1 pin\n" in text, text)
        text = krait("agent", "status", "--prometheus", "--store", store).stdout
        check('krait_agent_triggers_total{cause="mark"} 1\n' in text and "krait_store_pins 2\n" in text, text)
        weights, words = samples(store, target.pid, d + "/x.pb.gz", "--mark", "deploy")
        check("pin 1, mark: deploy" in words, words)
        check(weights == samples(store, target.pid, d + "/x.pb.gz", "--pin", "2")[0], "another window")
        total = sum(weight * n for weight, n in weights.items()) / 1e9
        error = math.sqrt(sum(weight * weight * n for weight, n in weights.items())) / 1e9
        print("%.3f s by krait, %.3f s by the kernel, standard error %.3f; %s" % (total, truth, error, dict(weights)))
        check(abs(total - truth) <= max(4 * error, 0.01 * truth), "%.3f s instead of %.3f" % (total, truth))
        check(weights[10**9 // HZ] > 20 and weights[10**9 // MORE_HZ] > 80, weights)
        refused(1, "no pinned window has the number 3", "last", "--pin", "3", "--store", store)
        refused(1, "no mark has 'SIGUSR1' in its words", "last", "--mark", "SIGUSR1", "--store", store)
        refused(1, "no agent records into", "agent", "mark", "late", "--store", store)


FAILS = """import os, signal, sys, time
end = time.thread_time() + 0.3
while time.thread_time() < end:
    pass
if sys.argv[1] == "15":
    os.kill(os.getpid(), signal.SIGTERM)
sys.exit(int(sys.argv[1]))
"""


HOOK = r"""#!/bin/sh
printf '%%s\n' "$@" "$(id -u)" "$(awk '/CapPrm/ {print $2}' /proc/self/status)" > %s
"""


@kit.case
def failure():
    """If a program ends with an error, the agent keeps (pins) the minute before and the minute
    after, and runs, without privileges, the program that the user has named for this case. If a
    program ends with exit code 0 or by SIGTERM, the agent does neither."""
    with folder() as d:
        store, program, hook, out = d + "/store", d + "/shop.py", d + "/hook", d + "/out"
        with open(program, "w") as f:
            f.write(FAILS)
        with open(hook, "w") as f:
            f.write(HOOK % out)
        os.chmod(hook, 0o755)
        os.chmod(d, 0o711)
        os.close(os.open(out, os.O_CREAT))
        os.chmod(out, 0o666)
        agent = kit.start_agent(store, *RATE, "--wall", "--pin-failures", "--comm", "shop.py", "--on-trigger", hook)
        for status_wanted in 0, 15, 3:
            ended = subprocess.Popen([kit.PYTHON, program, str(status_wanted)])
            ended.wait()
        wait_for_pins(store, 1)
        said = kit.end_agent(agent)
        pin, = status(store)["pins"]
        print(pin)
        check(pin["cause"] == "failure" and pin["words"] == "shop.py (process %d) ended with status 3" % ended.pid, pin)
        check("trigger failure: shop.py" in said and status(store)["triggers"] == {"failure": 1}, said)
        check(samples(store, ended.pid, d + "/x.pb.gz", "--pin", "1")[0], "no samples")
        wait_for(lambda: os.path.getsize(out), lambda: "the program wasn't run: " + said)
        with open(out) as f:
            cause, words, window, user, rights = f.read().splitlines()
        check((cause, words) == ("failure", pin["words"]), (cause, words))
        check(int(user) and not int(rights, 16), "user %s, capabilities %s" % (user, rights))
        check(samples(store, ended.pid, d + "/x.pb.gz", window)[0], "no samples in " + window)


@kit.case
def refusals():
    """krait refuses wrong arguments before it asks an agent."""
    with folder() as d:
        refused(2, "say what happened", "agent", "mark")
        refused(2, "a mark needs words", "agent", "mark", " ", "--store", d)
        refused(2, "199 bytes at most", "agent", "mark", "x" * 200, "--store", d)
        refused(1, "no agent has recorded into", "agent", "mark", "x", "--store", d)
        refused(2, "exclude each other", "last", "5m", "--pin", "1", "--store", d)
        refused(2, "exclude each other", "last", "--pin", "1", "--mark", "x", "--store", d)
        refused(2, "are for --store", "report", d + "/x.pb.gz", "--pin", "1")
        refused(2, "about waits; add --wall", "agent", "run", "--pin-wait", "80", "--store", d)
        refused(2, "isn't the path of a program from / on", "agent", "run", "--on-trigger", "x.sh", "--store", d)
        refused(2, "can't be run: Permission denied", "agent", "run", "--on-trigger", "/etc/passwd", "--store", d)
        refused(2, "--pin-failures needs --wall", "agent", "run", "--pin-failures", "--store", d)
        refused(2, "not a percentage", "agent", "run", "--pin-cpu", "0", "--store", d)


@kit.full_case
def much_cpu():
    """If a program takes more CPU time than --pin-cpu allows, the agent keeps (pins) a window of
    time, and the words of this pin say why."""
    with folder() as d, kit.python() as target:
        agent = kit.start_agent(d + "/store", *RATE, "--pin-cpu", "30")
        wait_for_pins(d + "/store", 1, 40)
        kit.end_agent(agent)
        pin, = status(d + "/store")["pins"]
        print(pin)
        check(pin["cause"] == "cpu" and " % of one CPU in 10 s" in pin["words"], pin)
        check(samples(d + "/store", target.pid, d + "/x.pb.gz", "--pin", "1")[0], "no samples")


if __name__ == "__main__":
    sys.exit(kit.main())
