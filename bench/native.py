# SPDX-License-Identifier: BSD-2-Clause
"""Measures how many native stacks reach the thread's start, in the programs of bench/busy, whose
native code comes from published wheels. A stack that breaks off begins with a mark, a name in
brackets that says why. A whole stack must begin with a function that starts threads. The stacks of
the first seconds are counted separately, because krait didn't have all unwind rows then."""

import collections
import glob
import os
import re
import socket
import subprocess
import sys
import threading
import time

import http_client
import lib

sys.path.insert(0, os.path.join(lib.ROOT, "tests/oracle"))
import modules
from judge import pprof

BUSY = os.path.join(lib.ROOT, "bench/busy")
HZ = 999
WARM_NS = 2 * 1000 * 1000 * 1000
LEAST = 99.5  # percentage of the stacks that must be whole
PYTHON = "3.12"  # the version of Python for which all packages have wheels
LISTENS = re.compile(r"(?:running on|Listening at:) http://127\.0\.0\.1:(\d+)")
MARK = "[incomplete: native stack: "
START = re.compile(r"_start|clone3?|__clone3?|start_thread|0x[0-9a-f]+|\[.*\+0x[0-9a-f]+\]|")


class Program:
    """A program of bench/busy, which works while it is recorded."""

    def __init__(self, file):
        self.name = os.path.basename(file)[:-3].strip("_")
        head = dict(re.findall(r"^# (\w+): (.*)$", lib.read(file), re.M))
        self.command = head["command"].split() if "command" in head else ["-B", file]
        self.is_server = "command" in head
        self.minor = head.get("python", PYTHON)
        self.packages = head.get("packages")
        self.stop = threading.Event()

    def python(self):
        for line in lib.read(os.path.join(lib.CACHE, "interpreters.tsv")).splitlines():
            name, version, kind, path = line.split("\t")
            if version.startswith(self.minor + ".") and kind == "shared":
                return path
        raise lib.Skip("%s: no Python %s" % (self.name, self.minor))

    def environment(self):
        path = [BUSY]
        if self.packages:
            version = tuple(int(word) for word in self.minor.split("."))
            path.append(modules.package(lib.CACHE, version, self.packages))
            if not path[-1]:
                raise lib.Skip("%s: %s can't be had" % (self.name, self.packages))
        return dict(os.environ, PYTHONPATH=os.pathsep.join(path), PYTHONUNBUFFERED="1")

    def __enter__(self):
        self.process = subprocess.Popen([self.python()] + self.command, cwd=BUSY,
                                        env=self.environment(), stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        said = []
        for line in self.process.stdout:
            said.append(line)
            if line == "ready\n" or LISTENS.search(line):
                break
        else:
            self.process.wait()
            raise lib.Skip("%s: it doesn't run: %s" % (self.name, "".join(said)[-200:]))
        if self.is_server:
            self.load(int(LISTENS.search(line).group(1)))
        return self

    def load(self, port):
        """Until the `with` block ends, sends requests over several connections. Each connection
        sends its next request when it has the answer to the last one."""

        def drive():
            while not self.stop.is_set():
                try:
                    with socket.create_connection(("127.0.0.1", port), 5) as s, s.makefile("rb") as f:
                        s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                        http_client.read_answer(f)
                except OSError:
                    time.sleep(0.05)

        self.threads = [threading.Thread(target=drive) for _ in range(http_client.CONNECTIONS)]
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_):
        self.stop.set()
        self.process.terminate()
        for thread in getattr(self, "threads", ()):
            thread.join()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def cause_of(stack):
    """Says why a native stack (root first) isn't whole; "" if it is. A thread that is ending has
    kernel frames only: its stack is whole without native frames."""
    if any(l.kind == "kernel" and l.name == "do_exit" for l in stack):
        return ""
    marks = [l.name[len(MARK):-1] for l in stack if l.kind == "mark" and l.name.startswith(MARK)]
    outermost = next((l for l in stack if l.kind not in ("mark", "kernel")), None)
    if marks:
        inside = stack[max(i for i, l in enumerate(stack) if l.kind == "mark") + 1:]
        broken = next((l.mapping for l in inside if l.kind == "native"), "")
        return "%s (%s)" % (marks[0], os.path.basename(broken))
    if outermost is None or outermost.kind != "native":
        return "no native frame outside"
    return "" if START.fullmatch(outermost.name) else "begins in " + outermost.name


def judged(profile):
    """Returns ({what cause_of() says of a stack: number of samples}, number of samples of the first
    seconds, how many of these have a whole stack). The samples of the first seconds aren't in
    the dict."""
    causes, young, whole, known = collections.Counter(), 0, 0, {}
    for sample in profile.samples:
        if sample.stack not in known:
            known[sample.stack] = cause_of(profile.stack(sample))
        cause, n = known[sample.stack], sample.values[0]
        if sample.labels.get("time", 0) < WARM_NS:
            young, whole = young + n, whole + n * (not cause)
        else:
            causes[cause] += n
    return causes, young, whole


def row(program, seconds):
    out = "/tmp/krait-native-%d.pb.gz" % os.getpid()
    with program:
        with lib.Krait(["-q", "--native=full", "--interpreter-frames", "-F", str(HZ), "-d",
                        str(seconds), "-p", str(program.process.pid)], out, fmt="pprof"):
            time.sleep(seconds)
    causes, young, whole = judged(pprof.read(out))
    os.unlink(out)
    total = sum(causes.values())
    if not total:
        raise lib.Skip("%s: no samples" % program.name)
    named = ["%s %.3g %%" % (cause, 100 * n / total) for cause, n in causes.most_common() if cause]
    note = "%d samples; %d of the first %d" % (total, whole, young)
    return lib.Row("native stacks that reach the thread's start: " + program.name,
                   100 * causes[""] / total, "%", LEAST, True, "; ".join([note] + named[:5]))


def run(options):
    files = [f for f in sorted(glob.glob(os.path.join(BUSY, "*.py"))) if not f.endswith("busy.py")]
    for file in files:
        try:
            yield row(Program(file), max(4, options.seconds / len(files)))
        except lib.Skip as reason:
            print("SKIP native: %s" % reason)
