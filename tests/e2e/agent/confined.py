#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The rights of krait agent's running processes: the kernel says which capabilities they have; gdb
makes each process try system calls that it must not be able to make. The test also checks what
the agent tells a service manager, and how long a restart takes."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import Skip, check, folder, krait

RATE = ("-F", "199")
EPERM = 1
NEEDED = 38, 39  # CAP_PERFMON, CAP_BPF
MAY_HAVE = (2, 5, 6, 7, 19, 21, 38, 39, 40)
GAP = 2.0  # at most so many seconds between two agents may lack samples
# if an agent waits this many seconds for a CPU while it starts, the machine is too busy to judge
BUSY_WAIT = 0.5
BUSY = """
import time
while True:
    sum(range(1000))
"""


def status(pid):
    with open("/proc/%d/status" % pid) as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def processes(agent):
    """Returns the process ids of the agent's three processes: the one that samples, the one that
    starts writers, and the writer of the store."""
    for starter in kit.children_of(agent.pid):
        for writer in kit.children_of(starter):
            return agent.pid, starter, writer
    raise AssertionError("the agent has no writer")


def capabilities(fields, name):
    bits = int(fields[name], 16)
    return {bit for bit in range(64) if bits >> bit & 1}


@kit.case
def capabilities_of_each():
    """The agent's process that samples keeps the capabilities that it needs; the process that
    starts writers and the writer of the store have none. No process gains a right by executing a
    program, and all have a seccomp filter."""
    with folder() as d:
        agent = kit.start_agent(d + "/store", *RATE)
        try:
            sampler, starter, writer = (status(pid) for pid in processes(agent))
            for fields in (starter, writer):
                for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
                    check(not capabilities(fields, name), "%s: %s" % (name, fields[name]))
            check(set(NEEDED) <= capabilities(sampler, "CapEff") <= set(MAY_HAVE), sampler["CapEff"])
            for fields in (sampler, starter, writer):
                check(fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2", str(fields))
        finally:
            kit.end_agent(agent)


def call_in(pid, calls):
    """Makes process @pid execute system calls, by gdb. Returns (result, errno) of each call."""
    words = ["gdb", "-p", str(pid), "-batch", "-nx", "-iex", "set debuginfod enabled off", "-ex", "set confirm off"]
    for call in calls:
        words += ["-ex", "printf \"RESULT %%ld\\n\", ((long(*)(long,...))syscall)(%s)" % call,
                  "-ex", "printf \"ERRNO %d\\n\", *((int*(*)(void))__errno_location)()"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
                          timeout=60)
    results = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    errors = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("ERRNO ")]
    if len(results) != len(calls) or len(errors) != len(calls):
        raise Skip("gdb can't call functions here: " + done.stdout[-300:])
    return list(zip(results, errors))


# System calls of x86-64, by what they do: number and arguments. If the kernel doesn't refuse a
# call, its bad address gives EFAULT.
CALLS = {
    "open a socket": "41, 2, 1, 0",
    "execute a program": "59, 1, 0, 0",
    "load BPF": "321, 5, 0, 0",
    "trace a process": "101, 0x4206, 1, 0, 0",
    "send a signal": "62, 1, 10",
    "mount": "165, 1, 1, 1, 0, 0",
    "use io_uring": "425, 1, 0",
}
OF_WRITER = {
    "make a child": "56, 17, 0, 0, 0, 0",
    "open a perf event": "298, 1, 0, -1, -1, 0",
    "read memory": "310, 1, 0, 0, 0, 0, 0",
    "set capabilities": "126, 0, 0",
    "become another user": "105, 1",
}


@kit.case
def calls_of_each():
    """gdb makes each of the agent's processes execute system calls, and each call is refused."""
    if not shutil.which("gdb") or os.uname().machine != "x86_64":
        raise Skip("no gdb, or not x86-64")
    if os.geteuid():
        raise Skip("not root")
    with folder() as d:
        agent = kit.start_agent(d + "/store", *RATE)
        try:
            sampler, starter, writer = processes(agent)
            for name, pid, calls in (("sampler", sampler, CALLS), ("starter", starter, CALLS),
                                     ("writer", writer, {**CALLS, **OF_WRITER})):
                for what, (result, error) in zip(calls, call_in(pid, calls.values())):
                    check(result == -1 and error == EPERM, "the %s can %s: %d, errno %d" % (name, what, result, error))
            # In an ordinary process the kernel doesn't refuse these calls. They fail only because
            # of their arguments.
            with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as free:
                time.sleep(0.2)
                for what, (_, error) in zip(CALLS, call_in(free.pid, list(CALLS.values())[:3])):
                    check(error != EPERM, "even a free process can't %s" % what)
        finally:
            kit.end_agent(agent)


def messages(manager, seconds):
    """Returns the messages that arrive on the service manager's socket in @seconds."""
    got, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        manager.settimeout(max(0.01, until - time.monotonic()))
        try:
            got += manager.recv(4096).decode().splitlines()
        except socket.timeout:
            break
    return got


@kit.case
def service_manager():
    """The agent tells the service manager that it records, that it is alive, and that it ends."""
    with folder() as d:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(d + "/notify")
            env = {**os.environ, "NOTIFY_SOCKET": d + "/notify", "WATCHDOG_USEC": "600000"}
            agent = kit.start_agent(d + "/store", *RATE, env=env)
            said = messages(manager, 3)
            check(said[0] == "READY=1", str(said))
            alive = said.count("WATCHDOG=1")
            check(3 <= alive <= 11, "%d signs of life in 3 s, one each 0.3 s is due" % alive)
            agent.send_signal(signal.SIGSTOP)
            check("WATCHDOG=1" not in messages(manager, 1)[2:], "an agent that is stopped is alive")
            agent.send_signal(signal.SIGCONT)
            agent.send_signal(signal.SIGTERM)
            check("STOPPING=1" in messages(manager, 3), "the end isn't told")
            check(agent.wait(timeout=30) == 0, "the agent failed")


@kit.case
def no_service_manager():
    """If the service manager's socket doesn't exist, or the environment names none, the agent runs
    all the same."""
    with folder() as d:
        for name in ("/missing", "", "x" * 200, "@krait-nobody"):
            kit.end_agent(kit.start_agent(d + "/store", *RATE, env={**os.environ, "NOTIFY_SOCKET": name}))


@kit.case
def restart():
    """A second agent goes on in the store of the first one. The time between the two agents, of
    which nothing is recorded, is short."""
    with folder() as d:
        with open(d + "/busy.py", "w") as f:
            f.write(BUSY)
        program = subprocess.Popen([kit.PYTHON, d + "/busy.py"])
        try:
            agent = kit.start_agent(d + "/store", *RATE)
            time.sleep(3)
            kit.end_agent(agent)
            agent = kit.start_agent(d + "/store", *RATE)
            cpu, waited = cpu_of_start(agent.pid)
            time.sleep(3)
            kit.end_agent(agent)
        finally:
            program.kill()
            program.wait()
        done = krait("last", "1m", "--store", d + "/store", "-p", program.pid, "-o", d + "/out.jsonl")
        check(done.returncode == 0, done.stderr)
        times = sorted(times_of(d + "/out.jsonl"))
        gap = max(after - before for before, after in zip(times, times[1:])) / 1e9
        print("%.2f s unrecorded by a restart; the new agent took %.2f s of a CPU and waited %.2f s for one" %
              (gap, cpu, waited))
        check(cpu <= GAP / 2, "the start takes %.2f s of a CPU" % cpu)
        check(gap <= GAP or waited > BUSY_WAIT, "%.2f s, without a busy machine" % gap)


def cpu_of_start(pid):
    """Returns (how long a process's main thread ran, how long it was ready to run but had no CPU).
    """
    with open("/proc/%d/schedstat" % pid) as f:
        ran, waited = f.read().split()[:2]
    return int(ran) / 1e9, int(waited) / 1e9


def times_of(path):
    with open(path) as f:
        for line in f:
            record = json.loads(line)
            if record["type"] == "sample":
                yield record["time"]


if __name__ == "__main__":
    sys.exit(kit.main())
