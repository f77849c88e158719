# SPDX-License-Identifier: BSD-2-Clause
"""Measures the target's speed under other samplers of Python, under krait and under perf, in turn:
the median of many short windows, compared with windows without a profiler. This script installs
the other samplers in a virtual environment in the test cache."""

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

import lib

HERE = os.path.join(lib.CACHE, "profilers")
WINDOW = 0.5
# each setting: sampling rate in Hz, depth of the stack, number of idle threads
SETTINGS = ((100, 10, 0), (100, 10, 100), (1000, 10, 0), (1000, 100, 0))


def install():
    if os.path.exists(os.path.join(HERE, "bin/py-spy")):
        return
    subprocess.run([sys.executable, "-m", "venv", HERE], check=True)
    subprocess.run(
        [os.path.join(HERE, "bin/pip"), "install", "-q", "py-spy", "austin-dist"], check=False
    )


def works(command):
    try:
        return (
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
            == 0
        )
    except OSError:
        return False


class Attached:
    """A profiler that is attached to a process and runs until it is interrupted."""

    def __init__(self, command, wait=1.0):
        self.command, self.wait = command, wait

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(self.wait)
        if self.process.poll() is not None:
            raise lib.Skip("%s ended with %d" % (self.command[0], self.process.returncode))

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def profilers(version, python):
    """Returns the profilers that can profile this Python version on this machine: {name: function
    that makes a command from a pid and a rate}."""
    spy, austin = (os.path.join(HERE, "bin", n) for n in ("py-spy", "austin"))
    got = {
        "krait": lambda pid, hz: [
            lib.KRAIT,
            "record",
            "-q",
            "-o",
            "/dev/null",
            "--format",
            "pprof",
            "-F",
            str(hz - 1),
            "-p",
            str(pid),
        ]
    }
    if shutil.which("perf"):
        got["perf, no stacks"] = lambda pid, hz: lib.perf_command([pid], hz - 1)
    if works([spy, "--version"]) and lib.version_key(version) <= (3, 13):
        got["py-spy"] = lambda pid, hz: [
            spy,
            "record",
            "-r",
            str(hz),
            "-d",
            "600",
            "-f",
            "raw",
            "-o",
            "/dev/null",
            "-p",
            str(pid),
        ]
    if works([austin, "--version"]) and lib.version_key(version) <= (3, 14):
        got["austin"] = lambda pid, hz: [
            austin,
            "-i",
            str(1000000 // hz),
            "-o",
            "/dev/null",
            "-p",
            str(pid),
        ]
    if lib.version_key(version) >= (3, 15):
        got["profiling.sampling"] = lambda pid, hz: [
            python,
            "-m",
            "profiling.sampling",
            "attach",
            "-a",
            "-r",
            str(hz),
            "-d",
            "600",
            "--collapsed",
            "-o",
            "/dev/null",
            str(pid),
        ]
    return got


def compare(python, version, setting, rounds):
    """Returns {name of the tool: median speed of the target, in % of its speed alone}."""
    hz, depth, threads = setting
    speeds = {}
    with lib.Target(python, threads) as target:
        for _ in range(rounds):
            alone = target.run(depth, WINDOW)
            for name, command in profilers(version, python).items():
                try:
                    with Attached(command(target.pid, hz)):
                        speeds.setdefault(name, []).append(100 * target.run(depth, WINDOW) / alone)
                except lib.Skip as e:
                    print("  %s" % e, file=sys.stderr)
    return {name: statistics.median(v) for name, v in speeds.items()}


def run(options):
    install()
    got = lib.interpreters()
    versions = [v for v in ("3.12", "3.15") if v in got]
    if not versions:
        raise lib.Skip("no test interpreters (tests/setup/interpreters.sh)")
    rounds = max(2, int(options.seconds / len(versions) / len(SETTINGS) / 7))
    for version in versions:
        for setting in SETTINGS:
            name = "%s, %d Hz, depth %d%s: " % (
                version,
                setting[0],
                setting[1],
                ", %d idle threads" % setting[2] if setting[2] else "",
            )
            for who, speed in compare(got[version], version, setting, rounds).items():
                yield lib.Row(name + who, speed, "% of alone", note="%d windows" % rounds)
