#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The first sentence of `krait record --wall` on programs that do real work. The test knows what
matters in each program, and compares the shares with those that the program's threads measure
themselves."""
import concurrent.futures
import json
import os
import re
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder, krait

# Each program prints which percentage of its main thread's life was waiting, in two ways: as a
# percentage of its whole life, and as one of its life without the time in which the thread was
# ready to run and had no CPU. The program also prints how long its workers waited.
HEAD = """
import json, os, threading, time
told = {"others": 0}
def ready_ns():
    with open("/proc/self/task/%d/schedstat" % threading.get_native_id()) as f:
        return int(f.read().split()[1])
def waited(f, *args):
    began = time.monotonic_ns() - time.thread_time_ns() - ready_ns()
    f(*args)
    told["others"] += time.monotonic_ns() - time.thread_time_ns() - ready_ns() - began
def burn(ms):
    end = time.thread_time_ns() + ms * 1000000
    while time.thread_time_ns() < end:
        pass
# The process exists for some time before krait lets it run. So of the time before this line, only
# the time counts in which the thread ran or was ready to run.
began = time.monotonic_ns() - time.thread_time_ns() - ready_ns()
def tell():
    life, ready, cpu = time.monotonic_ns() - began, ready_ns(), time.thread_time_ns()
    told["main"] = [100 * (life - ready - cpu) / life, 100 * (life - ready - cpu) / (life - ready)]
    print(json.dumps(told), flush=True)
"""
CLIENT = HEAD + """
import socket
client = socket.create_connection(("127.0.0.1", int(__import__("sys").argv[1])))
def fetch():
    client.sendall(b"question")
    return client.recv(64)
def main():
    for _ in range(15):
        fetch()
        burn(8)
main()
client.close()
tell()
"""
POOL = HEAD + """
import concurrent.futures
lock = threading.Lock()
def work(n):
    for _ in range(5):
        with lock:
            time.sleep(0.05)
def counted(n):
    waited(work, n)
def main():
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(counted, range(6)))
main()
tell()
"""
RUNNER = HEAD + """
import subprocess
def main():
    for _ in range(6):
        subprocess.run(["sleep", "0.2"])
        burn(5)
main()
tell()
"""
CRON = HEAD + """
def main():
    for _ in range(12):
        time.sleep(0.1)
        burn(3)
main()
tell()
"""
BUSY = HEAD + """
def beat():
    while True:
        time.sleep(0.1)
threading.Thread(target=beat, daemon=True).start()
def main():
    for _ in range(10):
        burn(100)
        time.sleep(0.005)
main()
tell()
"""


def serve(server):
    """The server's side: waits a while before each answer."""
    conn, _ = server.accept()
    while conn.recv(64):
        time.sleep(0.09)
        conn.sendall(b"answer")


PROGRAMS = {"client": CLIENT, "pool": POOL, "runner": RUNNER, "cron": CRON, "busy": BUSY}


def record(d, name):
    """Records a program. Returns (what the program said of itself, krait's first sentence, all of
    krait's messages)."""
    script, out = os.path.join(d, name + ".py"), os.path.join(d, name + ".pb.gz")
    with open(script, "w") as f:
        f.write(PROGRAMS[name])
    with socket.create_server(("127.0.0.1", 0)) as server:
        if name == "client":
            threading.Thread(target=serve, args=(server,), daemon=True).start()
        done = krait("record", "--wall", "-o", out, "--", kit.PYTHON, script, server.getsockname()[1], timeout=120)
    check(done.returncode == 0, done.stderr)
    report = json.loads(krait("report", "--json", out).stdout)
    check(report["summary"].split("%. ")[-1] in done.stderr, "at the end of record another sentence is said than %r: %s" % (
        report["summary"], done.stderr))
    return json.loads(done.stdout), report["summary"], done.stderr


# The sentence may name other states first: on a busy machine a thread also waits for a CPU.
REST = r"(?:; \d+ % [^;]+)*; [\d.]+ % running"


def share_of(said, pattern, between):
    """Checks that the sentence matches @pattern, and that its first number is at most 8 percentage
    points outside of the range @between."""
    found = re.match(pattern, said)
    check(found, "%r isn't %r" % (said, pattern))
    check(between[0] - 8 <= float(found[1]) <= between[1] + 8, "%r, but it is %s %%" % (said, between))


@kit.case
def sentences():
    """For each program, krait's first sentence says what matters in it, with the share that the
    program itself measures."""
    with folder() as d, concurrent.futures.ThreadPoolExecutor(2) as at_once:
        got = dict(zip(PROGRAMS, at_once.map(lambda name: record(d, name), PROGRAMS)))
    for name, (told, said, _) in got.items():
        print("# %s: %s" % (name, said))
    told, said, _ = got["client"]
    share_of(said, r"The main thread waited (\d+) % of its time for the network .*at \S*client\.py:\d+ \(fetch\)" + REST, told["main"])
    told, said, _ = got["pool"]
    # the workers of a pool also wait for work
    found = re.match(r"6 threads \(ThreadPoolExecutor-N_N\) waited ([\d.]+) s for a lock(?: \(.*\))?, \d+ % of their time"
                     r"(?:;|,) (?:([\d.]+) s of it )?at \S*pool\.py:\d+ \(work\)", said)
    check(found, said)
    # Thirty sections of 50 ms run one after the other, under a lock: all threads but the holder
    # wait for the lock.
    waited = float(found[2] or found[1]) * 1e9
    check(abs(waited - (told["others"] - 1.5e9)) <= 0.1 * waited + 0.3e9, "%s: %s" % (said, told))
    check("the main thread waited for a lock" in said, said)
    told, said, _ = got["runner"]
    share_of(said, r"The main thread waited (\d+) % of its time for a child process.* in subprocess\.run, called from "
             r"\S*runner\.py:\d+" + REST, told["main"])
    told, said, _ = got["cron"]
    share_of(said, r"The main thread was asleep (\d+) % of its time at \S*cron\.py:\d+ \(main\)" + REST,
             told["main"])
    told, said, _ = got["busy"]
    ready = 100 * (1 - told["main"][0] / told["main"][1])
    if ready > 50 and "for a CPU" in said:
        share_of(said, r"The main thread waited (\d+) % of its time for a CPU(?:, \d+ of these \1 %)? at \S*busy\.py:\d+ \(burn\)" + REST, [ready, ready])
    else:
        check(re.search(r"(^|\. )\d+ % of the CPU time is", said), "%r, but it was ready %.0f %%" % (said, ready))


@kit.case
def names_wall():
    """After a recording of CPU time alone, krait says how to record waits."""
    with folder() as d:
        script = os.path.join(d, "cron.py")
        with open(script, "w") as f:
            f.write(CRON)
        done = krait("record", "-o", d + "/o.pb.gz", "--", kit.PYTHON, script)
        check(done.returncode == 0, done.stderr)
        report = krait("report", d + "/o.pb.gz").stdout
    check("a recording with --wall shows the waits" in " ".join(report.split()), report)


if __name__ == "__main__":
    sys.exit(kit.main())
