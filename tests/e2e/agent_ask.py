#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What krait agent tells of itself: status and metrics. The truth is the kernel's accounting of the agent's processes,
the files' sizes, and promtool's opinion of the format."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import kit
from kit import check, folder, krait


TEXT = r'"([^"\\\n]|\\["\\n])*"'  # between quotes: no quote, backslash or newline that isn't escaped
METRIC = re.compile(r"[a-z_]+(\{[a-z_]+=%s(,[a-z_]+=%s)*\})?" % (TEXT, TEXT))


def start_agent(store, *more):
    agent = subprocess.Popen([kit.KRAIT, "agent", "run", "--store", store, *more], stderr=subprocess.PIPE, encoding="utf-8")
    line = agent.stderr.readline()
    check("recording into" in line, line + (agent.stderr.read() if agent.poll() is not None else ""))
    return agent


def end_agent(agent):
    agent.send_signal(signal.SIGTERM)
    said = agent.communicate(timeout=30)[1]
    check(agent.returncode == 0, "exit code %d: %s" % (agent.returncode, said))


def said(*words):
    done = krait(*words)
    check(done.returncode == 0 and not done.stderr, done.stderr)
    return done.stdout


def status(store):
    return json.loads(said("agent", "status", "--json", "--store", store))


def until(true, what, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        check(time.monotonic() < end, "%s: not within %d s" % (what, seconds))
        time.sleep(0.1)


def cpu_of(pid):
    """User and system time of a process, in s, by the kernel."""
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def metrics_of(text):
    """Reads Prometheus' text format: {name with labels: value}."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            check(METRIC.fullmatch(name), "a wrong line: %r" % line)
            found[name] = float(value)
    return found


def fine_for_prometheus(text):
    promtool = shutil.which("promtool")
    if not promtool:
        print("without promtool, its opinion isn't asked")
        return
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, timeout=30, check=False)
    check(done.returncode == 0, done.stdout + done.stderr)


@kit.case
def figures():
    """status --json has what the kernel says: the agent's CPU time, the files' bytes."""
    with folder() as d, kit.python():
        store = d + "/store"
        agent = start_agent(store, "--max-size", "64M", "-F", "199")
        until(lambda: status(store)["recorded"] > 100, "100 samples")
        cpu = cpu_of(agent.pid)
        facts = status(store)
        check(facts["agent"] == {"pid": agent.pid}, facts)
        check(abs(facts["costs"]["sampler_cpu_seconds"] - cpu) < 0.25 + 0.1 * cpu, "%s, the kernel says %.2f s" % (facts, cpu))
        check(0 < facts["costs"]["writer_cpu_seconds"] < cpu, facts)
        check(facts["keeps"]["limit_bytes"] == 64 << 20, facts)
        check(abs(facts["keeps"]["to"] - time.time()) < 5, facts)
        end_agent(agent)
        facts = status(store)
        files = [os.stat(os.path.join(store, name)).st_blocks * 512 for name in os.listdir(store) if name.startswith("store.db")
                 and not name.endswith("-shm")]
        check(facts["agent"] is None and facts["keeps"]["bytes"] == sum(files), (facts, files))
        check(facts["recorded"] == facts["keeps"]["samples"] and facts["lost"]["disk"] == 0, facts)


@kit.case
def counters():
    """Counters go on over restarts, and the format is Prometheus'."""
    with folder() as d, kit.python():
        store, before = d + "/store", {}
        for wanted in (50, 150):
            agent = start_agent(store)
            until(lambda: status(store)["keeps"]["samples"] > wanted, "%d samples" % wanted)
            end_agent(agent)
            text = said("agent", "status", "--prometheus", "--store", store)
            fine_for_prometheus(text)
            now = metrics_of(text)
            print({name: (before.get(name), value) for name, value in now.items()})
            counted = [name for name in now if "_total" in name]
            check(len(counted) == 5 and all(now[name] >= before.get(name, 0) for name in counted), (before, now))
            check(now["krait_agent_samples_total"] == now["krait_store_samples"], now)
            check(now["krait_agent_up"] == 0, now)
            before = now
        check(now["krait_agent_samples_total"] > status(store)["recorded"] > 50, "the first agent's samples aren't counted")


if __name__ == "__main__":
    sys.exit(kit.main())
