#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the commands of docs/guide.md, all but those for a container, with the programs of
docs/example/guide. Each must print the headings and the names of functions that the guide shows.
Numbers aren't compared."""
import contextlib
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder

PROGRAMS = os.path.join(kit.ROOT, "docs", "example", "guide")
HEADING = re.compile(r"^ *(own +total|share|total|before +after) ")
NAME = re.compile(r"(?:[A-Za-z_]+\.)+[a-z_<][a-z_.<>]*|\([a-z_]+\.py:\d+\)")
SERVER = "127.0.0.1:8077"
ASKS = "import urllib.request\nwhile True: urllib.request.urlopen('http://%s/').read()"
# lines with these places in the code are of other programs than those of docs/example/guide
NOT_SHOWN = re.compile(r"\bapp\.py:(?:31|88)\b")
NOT_RUN = "--container"  # the test skips the task with this option, because it has no container
# the command with this option ends with exit code 4, because batch.py is slower than before
EXITS = {"--fail-if": 4}
SLOW, QUICK = "min(r[2] for r in top)", "top[0][2]"


def tasks():
    """Yields for each task of the guide: (number, commands, other indented lines)."""
    with open(os.path.join(kit.ROOT, "docs", "guide.md"), encoding="utf-8") as f:
        parts = re.split(r"(?m)^## (\d+)\..*$", f.read())[1:]
    for number, text in zip(parts[::2], parts[1::2]):
        lines = [line[4:] for line in text.split("\n") if line.startswith("    ")]
        commands = [line for line in lines if line.startswith("krait ")]
        yield int(number), commands, [line for line in lines if line not in commands and not NOT_SHOWN.search(line)]


class Place:
    """A directory in which the guide's commands run. It has the guide's programs, a PATH with
    krait, and a Python that has the packages."""

    def __init__(self, d, python):
        self.programs, self.running = os.path.join(d, "programs"), []
        shutil.copytree(PROGRAMS, self.programs)
        os.mkdir(d + "/bin")
        os.symlink(kit.KRAIT, d + "/bin/krait")
        path = [d + "/bin", os.path.dirname(python), os.environ["PATH"]]
        self.env = dict(os.environ, PATH=":".join(path), PYTHONDONTWRITEBYTECODE="1")

    def start(self, *command):
        self.running.append(subprocess.Popen(command, cwd=self.programs, env=self.env, stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL, start_new_session=True))
        return self.running[-1].pid

    def run(self, command):
        return subprocess.run(["sh", "-c", command], cwd=self.programs, env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", timeout=120, check=False)

    def change(self, old, new):
        path = os.path.join(self.programs, "batch.py")
        with open(path) as f:
            text = f.read()
        check(old in text, "batch.py has no " + old)
        with open(path, "w") as f:
            f.write(text.replace(old, new))

    def stop(self):
        for process in self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def serve(place):
    """Starts gunicorn, and a program that keeps asking it for pages."""
    place.start("gunicorn", "-w", "2", "-b", SERVER, "shop.app:app")
    for left in range(100, -1, -1):
        try:
            http.client.HTTPConnection(SERVER, timeout=5).request("GET", "/health")
            break
        except OSError:
            check(left, "gunicorn doesn't answer")
            time.sleep(0.1)
    place.start("python", "-c", ASKS % SERVER)


def before(number, place):
    """Starts the programs that a task needs. Returns {text in the task's commands: what replaces
    it}."""
    if number == 1:
        serve(place)
    if number == 3:
        pid = place.start("python", "hang.py")
        kit.wait_for(lambda: len(os.listdir("/proc/%d/task" % pid)) == 3, 20)
        time.sleep(0.5)
        return {"123": str(pid)}
    if number == 6:
        for name, old, new in (("baseline", SLOW, QUICK), ("new", QUICK, SLOW)):
            place.change(old, new)
            check(place.run("krait record -q -o %s.pb.gz -- python batch.py" % name).returncode == 0, name)
    if number == 7:
        for program in ("batch.py", "threads.py"):
            place.start("sh", "-c", "while :; do python %s; done" % program)
        return {"krait top": "krait top -n 1"}
    if number == 11:
        store = os.path.join(place.programs, "store")
        place.start("krait", "agent", "run", "--wall", "--store", store)
        kit.wait_for(lambda: os.path.exists(store), 20)
        time.sleep(1)
        check(place.run("sh -c 'while :; do :; done' & python batch.py; kill $!; sleep 2").returncode == 0, "batch.py")
        return {"batch.py": "batch.py --store " + store, "status": "status --store " + store}
    return {}


def test(number, commands, shown, place):
    said, changes = "", before(number, place)
    for i, command in enumerate(commands):
        if NOT_RUN in command or "$(pgrep -f" in command:
            continue
        for old, new in changes.items():
            command = command.replace(old, new)
        if number == 5 and i == 1:
            place.change(SLOW, QUICK)
        done = place.run(command)
        wanted = sum(code for option, code in EXITS.items() if option in command)
        check(done.returncode == wanted, "%s: exit code %d: %s" % (command, done.returncode, done.stdout[-400:]))
        said += done.stdout
    if number == 5:
        place.change(QUICK, SLOW)
    place.stop()
    headings = [" ".join(line.split()) for line in shown if HEADING.match(line)]
    printed = {" ".join(line.split()) for line in said.split("\n")}
    lacks = [h for h in headings if h not in printed]
    lacks += [name for line in shown if not line.startswith("krait") for name in NAME.findall(line) if name not in said]
    check(not lacks, "the guide shows %s, which isn't in the output: %s" % (lacks, said[-3000:]))


def main():
    try:
        python = kit.with_packages(*kit.WEB)
    except kit.Skip as why:
        print("SKIP guide: %s" % why)
        return 0
    failed = False
    wanted = set(map(int, sys.argv[1:]))
    for number, commands, shown in tasks():
        if wanted and number not in wanted:
            continue
        with folder() as d:
            place = Place(d, python)
            try:
                test(number, commands, shown, place)
                print("PASS guide task %d" % number, flush=True)
            except (AssertionError, subprocess.SubprocessError, OSError) as error:
                failed = True
                print("FAIL guide task %d: %s" % (number, str(error).replace("\n", "\n  ")), flush=True)
            finally:
                place.stop()
    return failed


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
