# SPDX-License-Identifier: BSD-2-Clause
"""An echo server, under a load that makes it switch tasks a wanted number of times a second."""

import os
import subprocess
import sys
import time

import lib
from rest import cpu_seconds
from waits import tools

ECHO = os.path.join(tools.HERE, "echo.py")
LOAD = os.path.join(tools.BENCH, "load")
CONNECTIONS = {"threads": 8, "asyncio": 16}
MOST = 0.85  # the largest load, as a share of the answers that the server could give at most
SETTLE = 0.1  # seconds at the beginning of a window that don't count


class Server:
    """Runs echo.py; drive() sets its load."""

    def __init__(self, python, kind, *numbers):
        self.command = [python, ECHO, kind, *map(str, numbers)]
        self.connections, self.load = CONNECTIONS[kind], None

    def __enter__(self):
        self.process = tools.start(self.command)
        self.pid = self.process.pid
        self.port = self.process.stdout.readline().strip()
        os.setpriority(os.PRIO_PROCESS, self.pid, -5)
        return self

    def __exit__(self, *_):
        self.stop()
        self.process.kill()
        self.process.communicate()

    def stop(self):
        if self.load:
            self.load.kill()
            self.load.communicate()
            self.load = None

    def drive(self, rate):
        """Sends @rate lines a second from now on; 0: each connection sends its next line when it
        has the answer to the last one."""
        self.stop()
        self.load = subprocess.Popen(
            [LOAD, self.port, str(self.connections), str(rate)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        os.setpriority(os.PRIO_PROCESS, self.load.pid, -10)

    def report(self):
        self.load.stdin.write("\n")
        answers, middle, p99 = self.load.stdout.readline().split()
        return int(answers), int(middle), int(p99)

    def window(self, seconds):
        """Returns what the server did in a window of @seconds."""
        time.sleep(SETTLE)
        self.report()
        cpu, switches, at = cpu_seconds(self.pid), tools.switches(self.pid), time.monotonic()
        time.sleep(seconds)
        answers, middle, p99 = self.report()
        took = time.monotonic() - at
        cpu, switches = cpu_seconds(self.pid) - cpu, tools.switches(self.pid) - switches
        return {"seconds": took, "answers": answers, "median": middle, "p99": p99, "cpu": cpu,
                "switches": switches}


def a_second(window, what):
    return window[what] / window["seconds"]


def find_rate(server, wanted, rounds=7):
    """Finds the lines a second at which the server's threads switch @wanted times a second. Returns
    (rate, switches a second); there are fewer switches if the server can't make so many."""
    server.drive(0)
    most = server.window(1)
    high, low = MOST * a_second(most, "answers"), 0.0
    server.drive(high)
    got, rate = a_second(server.window(0.5), "switches"), high
    for _ in range(rounds):
        if abs(got / wanted - 1) < 0.02 or (rate == high and got < wanted):
            break
        if got > wanted:
            high = rate
        else:
            low = rate
        rate = (low + high) / 2
        server.drive(rate)
        got = a_second(server.window(0.5), "switches")
    return rate, got


def find_load(python, wanted, store):
    """Returns {"hops", "rate", "switches"} of a threaded server that makes @wanted switches a
    second. Of the servers that can do this, takes the one with the fewest hops."""
    name = "load %d" % wanted
    for kept in store.rounds(name):
        return kept
    best = None
    for hops in (0, 1, 2, 4, 8):
        with Server(python, "threads", hops) as server:
            rate, got = find_rate(server, wanted)
        found = {"hops": hops, "rate": rate, "switches": got}
        print("  %d hops: %.0f lines, %.0f switches a second" % (hops, rate, got), file=sys.stderr)
        if not best or got > best["switches"]:
            best = found
        if got > 0.95 * wanted:
            break
    return store.add(name, best)
