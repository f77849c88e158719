#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Twelve real programs run once with planted code that burns CPU time or waits, and once without
such code. If there is planted code, the report's first sentence must name it. If not, the
sentence must name no function with a small share. A seed (the day, or KRAIT_SEED) decides which
program gets which code. The programs measure how much CPU time the planted code takes."""
import ast
import contextlib
import fcntl
import http.client
import http.server
import json
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, krait

REAL = os.path.join(kit.HERE, "report", "real")
SEED = int(os.environ.get("KRAIT_SEED") or time.strftime("%Y%m%d"))
SECONDS = 5  # how many seconds krait records a program that doesn't end by itself
PARTS = re.compile(r"^# === (\w+)\n", re.MULTILINE)
DATA = ("data", "3.12", "pandas", "scikit-learn")
# the last version of torch whose wheel contains all libraries that it needs
TORCH = ("torch", "3.10", "torch==1.12.1", "numpy<2")
NOTES = ("notes", "3.11", "ipykernel")


def parts(name):
    """Returns the parts of the file @name in REAL: {part's name: text}. Each part is the text of a
    helpers.py."""
    with open("%s/%s.py" % (REAL, name)) as f:
        texts = PARTS.split(f.read())[1:]
    return dict(zip(texts[::2], texts[1::2]))


# {program: (packages, command)}; {port} stands for a free port. krait records a server by -p, while
# clients send requests. krait starts all other programs itself.
PROGRAMS = {
    "django": (kit.WEB, "-m gunicorn -b 127.0.0.1:{port} -w 2 --threads 2 shop.wsgi"),
    "fastapi": (kit.WEB, "-m uvicorn --loop uvloop --log-level error --port {port} shop.api:app"),
    "flask": (kit.WEB, "-m flask --app shop.web run --port {port}"),
    "celery": (kit.WEB, "-m celery -A jobs worker -c 2"),
    "pandas": (DATA, "sales.py"),
    "sklearn": (DATA, "search.py"),
    "torch": (TORCH, "train.py"),
    "pytest": (kit.WEB, "-m pytest -q"),
    "pip": (NOTES, "-m pip wheel -q --no-deps --no-build-isolation --no-index -w wheels ."),
    "compileall": (kit.WEB, "build.py"),
    "scrapy": (kit.WEB, "-m scrapy runspider spider.py"),
    "jupyter": (NOTES, "notebook.py"),
}
SERVERS = ("django", "fastapi", "flask", "celery", "jupyter", "sklearn")
# programs that the test may also install, as one wheel
INSTALLED = ("django", "fastapi", "flask", "celery")
IN_CELL = "from measured import measured\nimport time\nwhile True:\n    with measured:\n        step()\n    time.sleep(0.002)\n"


def draw():
    """Draws for each program a planted part (of causes.py or waits.py), a part without planted
    code, and whether the program is installed as a wheel. Returns {program: (("causes" or
    "waits", name of the part), ("clean", name of the part), whether it is installed)}."""
    chance, drawn = random.Random(SEED), {}
    names = chance.sample(sorted(PROGRAMS), len(PROGRAMS))
    causes = [("waits", one) for one in chance.sample(sorted(parts("waits")), 4)]
    causes += [("causes", one) for one in chance.sample(sorted(parts("causes")), 8)]
    for name, cause in zip(names, causes):
        drawn[name] = (cause, ("clean", chance.choice(sorted(parts("clean")))), chance.random() < 0.5)
    return drawn


class Site:
    """A server that the programs use: it has pages for the spider; for the other programs it has a
    port and a pipe that answer slowly, and a locked file to wait for."""

    def __init__(self, root):
        self.pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self.slow = socket.create_server(("127.0.0.1", 0))
        self.pipe, self.locked = root + "/pipe", open(root + "/locked", "w")
        fcntl.flock(self.locked, fcntl.LOCK_EX)
        os.mkfifo(self.pipe)
        self.writes = os.open(self.pipe, os.O_RDWR | os.O_NONBLOCK)
        self.over = threading.Event()
        for what in self.pages.serve_forever, self.answer, self.write:
            threading.Thread(target=what, daemon=True).start()

    def environment(self):
        return {"SITE_PORT": str(self.pages.server_port), "SLOW_PORT": str(self.slow.getsockname()[1]),
                "SLOW_PIPE": self.pipe, "LOCKED_FILE": self.locked.name}

    def answer(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Timer(0.3, hang_up, [self.slow.accept()[0]]).start()

    def write(self):
        while not self.over.wait(0.3):
            with contextlib.suppress(BlockingIOError):
                os.write(self.writes, b"x")

    def close(self):
        self.over.set()
        self.pages.shutdown()
        self.slow.close()


def hang_up(connection):
    """Reads the request, then closes the connection. If the request weren't read, the client would
    get a reset and might end."""
    with contextlib.suppress(OSError), connection:
        connection.recv(4096)


class Page(http.server.BaseHTTPRequestHandler):
    """Answers with a page that has links to two further pages."""

    def do_GET(self):
        n = int(self.path[1:] or 0)
        text = "".join('<p>%d <a href="/%d">more</a></p>' % (i, 2 * n + i) for i in (1, 2)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Run:
    """One run of a program with its helpers.py: how the program ended, what it cost, and what the
    report says."""

    def __init__(self, root, name, cause, installed):
        self.waits = cause[0] == "waits"
        packages, self.command = PROGRAMS[name]
        self.python = kit.with_packages(*packages)
        self.root, self.name, self.out = root, name, root + "/o.pb.gz"
        self.helpers = parts(cause[0])[cause[1]]
        self.app, self.site = root + "/app", root + "/lib/python3/site-packages"
        self.lay(installed and name in INSTALLED)
        self.spent, self.cpu = 0, {}

    def lay(self, installed):
        """Copies the program's files. measured.py, which measures the truth, is put apart from
        them, as an installed module."""
        shutil.copytree(REAL + "/" + self.name, self.site if installed else self.app)
        for folder in self.app, self.site, self.root + "/truth", self.root + "/queue", self.app + "/code":
            os.makedirs(folder, exist_ok=True)
        shutil.copy(REAL + "/measured.py", self.site)
        beside = [at for at in (self.site, self.app) for at in (at + "/shop", at + "/backend", at) if os.path.isdir(at)]
        place = next(at for at in beside if any(f not in ("measured.py", "code") for f in os.listdir(at)))
        with open(place + "/helpers.py", "w") as f:
            f.write(self.helpers)
        if installed:
            self.record_files()
        for i in range(40):
            with open(self.app + "/code/m%d.py" % i, "w") as f:
                f.write("def f(a, b=1):\n    return [a + i * b for i in range(9)]\n\n" * 20)

    def record_files(self):
        """Writes the file RECORD with the installed files of a wheel, as pip does."""
        files = [os.path.relpath(at + "/" + name, self.site) for at, _, names in os.walk(self.site) for name in names]
        os.makedirs(self.site + "/program-1.dist-info")
        with open(self.site + "/program-1.dist-info/RECORD", "w") as f:
            f.write("".join("%s,,\n" % name for name in files if name != "measured.py"))

    def environment(self, site):
        return dict(os.environ, PYTHONPATH=self.site, TRUTH=self.root + "/truth", QUEUE=self.root + "/queue",
                    SECONDS=str(100 if self.waits or self.name in SERVERS else SECONDS), PYTHONDONTWRITEBYTECODE="1", **site.environment())

    def arguments(self, port):
        arguments = self.command.format(port=port).split()
        return arguments + ([self.helpers, IN_CELL] if self.name == "jupyter" else [])

    def record(self, site):
        kw = {"env": self.environment(site), "cwd": self.app, "stdout": subprocess.PIPE}
        if self.name not in SERVERS and not self.waits:
            self.watch(["-d", 60, "--", self.python, *self.arguments(0)], kw)
            return
        port = free_port()
        with kit.Background(self.python, *self.arguments(port), **kw) as server, self.asks(port, kw):
            pid = server.pid if self.name != "jupyter" else int(server.process.stdout.readline())
            kit.wait_for(lambda: os.listdir(self.root + "/truth"), 60)
            kit.wait_for(lambda: not self.waits or is_idle(pid), 60)
            before = self.truth()
            self.watch(["-d", SECONDS, "-p", pid], kw, pid)
            self.spent -= before

    @contextlib.contextmanager
    def asks(self, port, kw):
        """Starts the programs that send requests to a server."""
        if self.name == "celery":
            with kit.Background(self.python, self.find("jobs.py"), **kw):
                yield
            return
        over = threading.Event()
        for _ in range(4 if "{port}" in self.command else 0):
            threading.Thread(target=ask, args=(port, over), daemon=True).start()
        yield
        over.set()

    def find(self, name):
        return next(at + "/" + name for at in (self.app, self.site) if os.path.exists(at + "/" + name))

    def watch(self, arguments, kw, target=None):
        """Records a program. Meanwhile adds up the CPU time that the kernel says each process used.
        """
        with kit.Background(kit.KRAIT, "record", "-o", self.out, *arguments, **kw) as recorder:
            began, first = time.monotonic(), {}
            while recorder.process.poll() is None and time.monotonic() < began + 100:
                for pid in tree(target or recorder.pid) - {recorder.pid}:
                    with contextlib.suppress(OSError):
                        self.cpu[pid] = kit.cpu_seconds(pid)
                        first.setdefault(pid, self.cpu[pid] if target else 0)
                time.sleep(0.02)
            self.seconds = time.monotonic() - began
            self.said = recorder.process.communicate(timeout=10)[1].decode()
            check(recorder.process.returncode == 0, "%s: %s" % (self.name, self.said))
        self.cpu = {pid: cpu - first[pid] for pid, cpu in self.cpu.items()}
        self.spent = self.truth()

    def truth(self):
        """Returns the CPU seconds that the planted cause has taken so far."""
        total = 0
        for name in os.listdir(self.root + "/truth"):
            with open(self.root + "/truth/" + name, "rb") as f:
                total += struct.unpack("d", f.read(8).ljust(8, b"\0"))[0]
        return total

    def share(self):
        return 100 * self.spent / max(sum(self.cpu.values()), 0.01)

    def summary(self):
        """Returns the report's first sentence. Checks that the report, the page and the closing
        lines have the same sentence."""
        said = json.loads(krait("report", self.out, "--json", timeout=120).stdout)["summary"]
        text = krait("report", self.out, timeout=120).stdout
        check(text.replace(".\n", ". ").startswith(said), "the report begins otherwise: " + said)
        header = kit.page_header(self.out, self.root + "/o.html")
        page = [header[key] for key in ("cpuUse", "headline") if header[key]]
        check(". ".join(page) == said, "the page begins otherwise: %s" % page)
        if not self.waits:
            check(said.split(". ")[-1] in self.said, "the recording ends otherwise: " + said)
        return said


def tree(root):
    """Returns the process ids of process @root and all its descendants."""
    found = {root}
    with contextlib.suppress(OSError):
        for thread in os.listdir("/proc/%d/task" % root):
            with open("/proc/%d/task/%s/children" % (root, thread)) as f:
                for child in f.read().split():
                    found |= tree(int(child))
    return found


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def ask(port, over):
    while not over.is_set():
        try:
            urllib.request.urlopen("http://127.0.0.1:%d/" % port, timeout=20).read()
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)


def on_cpu(root):
    """Returns the seconds that all threads of the program have run on a CPU, and the seconds that
    they have been ready to run without a CPU."""
    ran = waited = 0
    for pid in tree(root):
        for thread in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/schedstat" % (pid, thread)) as f:
                ran, waited = [a + int(b) / 1e9 for a, b in zip((ran, waited), f.read().split())]
    return ran, waited


def is_idle(root):
    """Tells whether the program has finished its start: for a second it neither uses a CPU nor
    waits for one. (On a busy machine it may wait for a CPU during its start.)"""
    try:
        before = on_cpu(root)
        time.sleep(1)
        return all(b - a < most for a, b, most in zip(before, on_cpu(root), (0.05, 0.3)))
    except OSError:
        return False


def planted(run):
    """Returns the lines of the functions with planted code, and the names of these functions."""
    lines, names = set(), set()
    marked = [i for i, line in enumerate(run.helpers.split("\n"), 1) if line.endswith("# the cause")]
    for node in ast.walk(ast.parse(run.helpers)):
        if isinstance(node, ast.FunctionDef) and node.lineno in marked:
            lines |= set(range(node.lineno, node.end_lineno + 1))
            names.add(node.name)
    return lines, names


def names_cause(run, said):
    """Checks that the report's first sentence names a planted line or function, with the share that
    the program measured."""
    lines, names = planted(run)
    found = re.search(r"(\d+) % of the CPU time is ([^;]*)", said)
    check(found, said)
    places = {int(n) for n in re.findall(r"(?:helpers\.py|In \[\d+\]):(\d+)", found[2])}
    functions = {part for name in re.findall(r"helpers\.([\w.<>]+)", found[2]) for part in name.split(".")}
    check(places & lines or functions & names, "not the cause (%.0f %%): %s" % (run.share(), said))
    check(0.6 * run.share() < int(found[1]) < run.share() + 15, "the cause takes %.0f %%: %s" % (run.share(), said))


def says_that_it_waits(run, said):
    used = 100 * sum(run.cpu.values()) / run.seconds
    check(used < 10, "the program used %.0f %% of one CPU" % used)
    check(re.search(r"for anything else (\S+ to )?([5-9]\d|100) %", said), said)
    check("of the CPU time is" not in said, "the sentence names code that burns CPU: " + said)


def names_nothing_small(run, said):
    """Checks that each function of the program that the sentence names, itself or by one of its
    lines, has at least about a tenth of the samples."""
    profile, of, names = kit.pprof.read(run.out), {}, {}
    total = sum(sample.values[0] for sample in profile.samples)
    for sample in profile.samples:
        mine = [f for f in profile.stack(sample) if is_mine(run, f)]
        for function in {(f.file, f.name) for f in mine}:
            of[function] = of.get(function, 0) + sample.values[0]
        for f in mine:
            base = os.path.basename(f.file)
            names["%s:%d" % (base, f.line)] = names["%s.%s" % (base[:-3], f.name)] = f.file, f.name
    for name, function in names.items():
        named = re.search(r"(?<!\w)" + re.escape(name) + r"(?![\w.])", said)
        check(not named or of[function] > 0.095 * total, "%s has %.1f %%: %s" % (name, 100 * of[function] / total, said))


def is_mine(run, frame):
    return frame.kind == "python" and frame.file.startswith((run.root, "/tmp/ipykernel", "In [")) and "measured" not in frame.file


def run_program(name, cause, installed):
    with kit.folder() as root:
        site = Site(root)
        try:
            run = Run(root, name, cause, installed)
            run.record(site)
            said = run.summary()
        finally:
            site.close()
        print("# %s, %s%s: %.0f %% of %.1f s of CPU time in %.1f s: %s" % (
            name, " ".join(cause), ", installed" if installed and name in INSTALLED else "", run.share(),
            sum(run.cpu.values()), run.seconds, said), flush=True)
        if cause[0] == "causes":
            check(run.share() >= 30, "the cause took %.0f %% of the CPU time" % run.share())
        judge = {"causes": names_cause, "waits": says_that_it_waits, "clean": names_nothing_small}
        judge[cause[0]](run, said)


def register(name, cause, installed, ending):
    def run():
        run_program(name, cause, installed)

    run.__name__ = name + ending
    kit.case(run)


if __name__ == "__main__":
    print("# KRAIT_SEED=%d" % SEED, flush=True)
    for name_, (planted_, clean, installed_) in sorted(draw().items()):
        register(name_, planted_, installed_, "")
        register(name_, clean, installed_, "_clean")
    sys.exit(kit.main())
