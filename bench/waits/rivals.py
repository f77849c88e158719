# SPDX-License-Identifier: BSD-2-Clause
"""Measures a threaded server under krait and under other profilers that show waiting: py-spy
--idle, offcputime of libbpf-tools, and 3.15's own sampler in wall mode. Each profiler is started
for a window and ended after it. Between these windows lie windows without a profiler. A profiler
that isn't installed is left out."""

import contextlib
import os
import shutil
import subprocess
import threading
import time

import lib
import others
from rest import cpu_seconds, family
from waits import server as servers
from waits import tools

WINDOW = 1.5
WAIT = 1.0  # for so many seconds after a profiler's start nothing is measured
SWITCHES = 30000
HZ = 100


def krait(pid):
    return [lib.KRAIT, "record", "-q", "--wall", "-o", "/dev/null", "--format", "pprof", "-p",
            str(pid)]


def py_spy():
    """Returns py-spy's path; None: py-spy is neither in the tests' cache nor installed."""
    places = (os.path.join(lib.CACHE, "py-spy/bin"), os.path.join(others.HERE, "bin"))
    return next(filter(None, (shutil.which("py-spy", path=p) for p in places)),
                shutil.which("py-spy"))


def offcputime():
    return next(filter(None, map(shutil.which, ("offcputime", "/usr/sbin/offcputime"))), None)


def profilers(version, python):
    """Returns the profilers: {name: function that makes a command from a pid}."""
    got = {"krait --wall": krait}
    spy, off = py_spy(), offcputime()
    if spy and version <= (3, 13):
        got["py-spy --idle"] = lambda pid: [
            spy, "record", "--idle", "-r", str(HZ), "-d", "600", "-f", "raw", "-o", "/dev/null",
            "-p", str(pid)]
    if off:
        got["offcputime"] = lambda pid: [off, "-p", str(pid), "600"]
    if version >= (3, 15):
        got["profiling.sampling, wall"] = lambda pid: [
            python, "-m", "profiling.sampling", "attach", "-a", "-r", str(HZ), "-d", "600",
            "--mode", "wall", "--collapsed", "-o", "/dev/null", str(pid)]
    return got


@contextlib.contextmanager
def profiled(command):
    """Runs a profiler. Yields its process, or None if there is no command."""
    if not command:
        yield None
        return
    with tools.start(command, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT) as process:
        # A thread reads the profiler's output while it runs, so that the profiler never waits for
        # room in the pipe.
        reader = threading.Thread(target=process.stdout.read)
        reader.start()
        time.sleep(WAIT)
        if process.poll() is not None:
            raise lib.Skip("%s ended with %d" % (command[0], process.returncode))
        yield process
        tools.interrupt(process)
        reader.join()


def window(server, command):
    with profiled(command) as process:
        own = sum(map(cpu_seconds, family(process.pid))) if process else 0
        got = server.window(WINDOW)
        if process:
            own = sum(map(cpu_seconds, family(process.pid))) - own
    got["own"] = own / got["seconds"]
    time.sleep(0.2)
    return got


def measure(server, commands, name, store, seconds):
    arms = ["off", "again", *commands]

    def one_round(i):
        return {arm: window(server, commands[arm](server.pid) if arm in commands else None)
                for arm in tools.order(i, arms)}

    return tools.more(store, name, seconds, 2, one_round)


VALUES = (
    ("work per CPU-second", lambda w: w["answers"] / w["cpu"]),
    ("answers a second", lambda w: w["answers"] / w["seconds"]),
    ("median latency", lambda w: w["median"]),
    ("p99 latency", lambda w: w["p99"]),
)


def rows(title, rounds, arms):
    for arm in ("again", *arms):
        for what, value in VALUES:
            middle, low, high = tools.ratio(rounds, value, arm, "off")
            name = "nothing (A/A)" if arm == "again" else arm
            yield lib.Row("%s: %s: %s" % (title, name, what), middle, "x without",
                          note="%.3f..%.3f, %d rounds" % (low, high, len(rounds)))
        own = tools.median([r[arm]["own"] for r in rounds])
        if arm != "again":
            yield lib.Row("%s: %s: its own CPU time" % (title, arm), 100 * own, "% of one")


def run(options):
    store, have = tools.Store(options.store), lib.interpreters()
    versions = [v for v in ("3.12", "3.15") if v in have]
    if not versions:
        raise lib.Skip("no test interpreters (tests/setup/interpreters.sh)")
    for version in versions:
        python = have[version]
        commands = profilers(lib.version_key(version), python)
        title = "%s, threads, %dk switches" % (version, SWITCHES / 1000)
        with servers.Server(python, "threads") as server:
            rate, _ = servers.find_rate(server, SWITCHES)
            server.drive(rate)
            rounds = measure(server, commands, "rivals " + version, store,
                             options.seconds / len(versions))
        yield from rows(title, rounds, commands)
