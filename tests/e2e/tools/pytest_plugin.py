#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`pytest --krait`: a project with known tests is recorded. The truth is the CPU time that its
tests took by time.process_time(), and what pytest does without the option."""
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder

PACKAGE = os.path.join(kit.ROOT, "packaging", "python")
OWN = "work.py"
# A module in which each function spends its time in one line. LINES has the numbers of these lines.
WORK = """import time
def first(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(300))
def second(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(300))
"""
LINES = {"first": 4, "second": 7}
TESTS = """
import pytest, threading, work

@pytest.fixture
def costly():
    work.second(0.15)
    yield
    work.second(0.1)

def test_first():
    work.first(0.5)

def test_with_fixture(costly):
    work.second(0.1)

class TestClass:
    @pytest.mark.parametrize("s", [0.2, 0.3], ids=["a*[b]", "a[b"])
    def test_param(self, s):
        work.first(s)

def test_thread():
    t = threading.Thread(target=work.second, args=(0.25,))
    t.start()
    t.join()

def test_fails():
    work.first(0.2)
    assert 1 == 2

def test_skipped():
    pytest.skip("as it is")
"""
# A conftest.py that writes down the CPU time of each test and its fixtures, in the process that
# runs the test. It doesn't use krait's plugin.
TRUTH = """
import json, os, pytest, time

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    before = time.process_time()
    yield
    line = json.dumps({"test": item.nodeid, "seconds": time.process_time() - before}) + "\\n"
    fd = os.open(os.environ["TRUTH"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, line.encode())
    os.close(fd)
"""
# A conftest.py that reaps every child that ends, has its own signal handlers, and takes blocked
# signals by sigwait(), as servers do.
SIGNALS = """
import os, signal
def reap(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
signal.signal(signal.SIGCHLD, reap)
def refuse(number, _):
    raise SystemExit("signal %d" % number)
for number in (signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM):
    signal.signal(number, refuse)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
"""


def project(d, conftest=TRUTH):
    for name, text in ((OWN, WORK), ("test_it.py", TESTS), ("conftest.py", conftest)):
        with open(os.path.join(d, name), "w", encoding="utf-8") as f:
            f.write(text)


def session(d, python, *args, program=kit.KRAIT, **more):
    """Runs pytest in the project, with the plugin from the repository. Returns its exit code and
    output."""
    env = dict(os.environ, **more, PYTHONPATH=PACKAGE, KRAIT=program, TRUTH=d + "/truth", PYTHONDONTWRITEBYTECODE="1", COLUMNS="200")
    done = subprocess.run([python, "-m", "pytest", "-p", "krait.pytest_plugin", "-p", "no:cacheprovider", *args], cwd=d, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=170, check=False)
    return done.returncode, done.stdout


def truth(d):
    with open(d + "/truth") as f:
        return {line["test"]: line["seconds"] for line in map(json.loads, f)}


def shares_are_right(d, text):
    """Checks each test's share of the samples: the share equals the test's share of the CPU time
    within three standard errors, and the summary shows it."""
    pages = glob.glob(d + "/krait-pytest-*.html")
    check(len(pages) == 1, "pages: %s; %s" % (pages, text))
    kit.krait("report", pages[0], "-o", d + "/o.pb.gz")
    counts = {}
    for s in kit.pprof.read(d + "/o.pb.gz").samples:
        counts[s.labels.get("test")] = counts.get(s.labels.get("test"), 0) + s.values[0]
    spent = {test: s for test, s in truth(d).items() if s > 0.05}
    check(len(spent) == 6, "%s" % spent)
    n, total = sum(counts.get(test, 0) for test in spent), sum(spent.values())
    check(n > 900 and counts[None] > 0, "%s" % counts)
    for test, seconds in spent.items():
        share, seen = seconds / total, counts.get(test, 0) / n
        error = 3 * (share * (1 - share) / n) ** 0.5
        check(abs(seen - share) <= error, "%s: %.4f of the samples, %.4f of the time, allowed %.4f" % (test, seen, share, error))
    for test, function in (("test_it.py::test_first", "first"), ("test_it.py::test_thread", "second"), ("test_it.py::TestClass::test_param[a*[b]]", "first"),
                           ("test_it.py::TestClass::test_param[a[b]", "first"), ("test_it.py::test_with_fixture", "second")):
        row = re.search(r"([0-9.]+) s +[0-9.]+ %%  %s\n +([0-9]+) %% of it at %s:%d \(work.%s\)" % (
            re.escape(test), OWN, LINES[function], function), text)
        check(row and int(row[2]) >= 80 and abs(float(row[1]) - spent[test]) < 0.1 + 0.2 * spent[test], "%s in %s" % (test, text))
    check("The page: %s" % pages[0] in text, text)


def whole(python, *args):
    with folder() as d:
        project(d)
        code, text = session(d, python, "--krait", *args)
        check(code == 1 and "1 failed, 5 passed, 1 skipped" in text, text)
        shares_are_right(d, text)


def register(name, version, *packages):
    def one_process():
        whole(kit.with_packages(name, version, *packages))

    def workers():
        whole(kit.with_packages(name, version, *packages), "-n", "2")

    for function in (one_process, workers):
        function.__name__ += "_" + version.replace(".", "_")
        kit.case(function)


def newest():
    return kit.with_packages("pytest", "3.13", "pytest", "pytest-xdist")


@kit.case
def child_of_a_test():
    """The samples of processes that a test starts count for the test."""
    with folder() as d:
        with open(d + "/test_child.py", "w", encoding="utf-8") as f:
            f.write("import subprocess, sys\ndef test_child():\n"
                    "    subprocess.run([sys.executable, '-c', 'import work; work.first(0.4)'])\n")
        with open(os.path.join(d, OWN), "w", encoding="utf-8") as f:
            f.write(WORK)
        code, text = session(d, newest(), "--krait-output", d + "/o.html", "test_child.py")
        check(code == 0, text)
        row = re.search(r"([0-9.]+) s +[0-9.]+ %  test_child.py::test_child\n"
                        r" +([0-9]+) % of it at work.py:4 \(work.first\)", text)
        check(row and 0.35 < float(row[1]) < 0.9 and int(row[2]) > 40, text)


@kit.case
def signals_of_others():
    """A conftest.py reaps every child process and blocks the signals that end krait: the page is
    still written, and the tests get no signal from the plugin."""
    with folder() as d:
        project(d, TRUTH + SIGNALS)
        code, text = session(d, newest(), "--krait", "--krait-output", "o.html", "-k", "first or thread")
        check(code == 0 and "2 passed" in text, text)
        check("work.py:4 (work.first)" in text and os.path.getsize(d + "/o.html") > 10000, text)


@kit.case
def behind_sudo():
    """pytest as root, called by sudo: samples have the labels of their tests, although the plugin's
    file belongs to root and not to the user who called sudo."""
    with folder() as d:
        project(d)
        code, text = session(d, newest(), "--krait", "-k", "first", SUDO_UID="65534", SUDO_GID="65534", SUDO_USER="nobody")
        check(code == 0 and "work.py:4 (work.first)" in text and "warning" not in text, text)


@kit.case
def without_rights():
    """Without the rights to record, the tests run, and pytest's exit code is that of the tests. The
    summary names the command that grants the rights."""
    kit.need("setpriv")
    with folder() as d:
        project(d)
        os.chmod(d, 0o755)
        with open(d + "/krait", "w") as f:
            f.write("#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups %s/bin/krait \"$@\"\n" % d)
        os.chmod(d + "/krait", 0o755)
        os.mkdir(d + "/bin")
        subprocess.run(["cp", kit.KRAIT, d + "/bin/krait"], check=True)
        for args, code in ((("-k", "first or fails"), 1), (("-k", "first", "-n", "1"), 0)):
            got, text = session(d, newest(), "--krait", *args, program=d + "/krait")
            check(got == code and "The session wasn't recorded:" in text and "bin/krait doctor --grant" in text, "exit code %d: %s" % (got, text))
        got, text = session(d, newest(), "--krait", "-k", "first", program=d + "/nothing")
        check(got == 0 and "The session wasn't recorded:" in text, text)
        check(not glob.glob(d + "/*.html"), "a page")


def stand_in(d, text):
    """Puts a script in the place of krait. In @text, %s stands for the real krait."""
    with open(d + "/krait", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + text.replace("%s", kit.KRAIT))
    os.chmod(d + "/krait", 0o755)
    return d + "/krait"


@kit.case
def not_this_page():
    """The plugin doesn't show the page of an earlier session as this session's page. If the page
    can't be written to its path, it is kept elsewhere."""
    with folder() as d:
        project(d)
        with open(d + "/o.html", "w") as f:
            f.write("earlier")
        silent = stand_in(d, "case $1 in record) echo 'krait: sampling began' >&2; sleep 1;; *) exec %s \"$@\";; esac\n")
        code, text = session(d, newest(), "--krait", "--krait-output", "o.html", "-k", "first", program=silent)
        check(code == 0 and "The session wasn't recorded:" in text and "The page:" not in text, text)
        code, text = session(d, newest(), "--krait", "--krait-output", "none/o.html", "-k", "first")
        page = re.search("The page: (.*)", text)
        check(code == 0 and "can't be moved" in text and os.path.getsize(page[1]) > 10000, text)
        os.unlink(page[1])
        code, text = session(d, newest(), "--krait", "--krait-output", "o.html", "-k", "first")
        check(code == 0 and os.path.getsize(d + "/o.html") > 10000, text)


@kit.case
def much_said():
    """krait prints hundreds of lines before it samples, or before an error. The plugin still
    notices when sampling has begun, and shows the error."""
    with folder() as d:
        project(d)
        words = "for i in $(seq 300); do echo 'krait: information without end' >&2; done\n"
        code, text = session(d, newest(), "--krait", "-k", "first", program=stand_in(d, words + "exec %s \"$@\"\n"))
        check(code == 0 and "work.py:4 (work.first)" in text and float(re.search(r"passed.* in ([0-9.]+)s", text)[1]) < 40, text)
        code, text = session(d, newest(), "--krait", "-k", "first", program=stand_in(d, words + "echo 'krait: the last word' >&2; exit 1\n"))
        check(code == 0 and "krait: the last word" in text, text)


@kit.case
def own_failures():
    """Whatever fails in the plugin, the tests and the exit code are the same as without the plugin.
    """
    with folder() as d:
        project(d)
        with open(d + "/broken.py", "w") as f:
            f.write("import tempfile\ndef full(*_, **__):\n    raise OSError(28, 'No space left on device')\ntempfile.mkdtemp = full\n")
        code, text = session(d, newest(), "--krait", "-k", "first", "-p", "broken")
        check(code == 0 and "1 passed" in text and "No space left" in text, text)
        odd = stand_in(d, "case $1 in report) echo '{\"unit\": \"nanoseconds\", \"shares\": [{}]}';; *) exec %s \"$@\";; esac\n")
        code, text = session(d, newest(), "--krait", "-k", "first", program=odd)
        check(code == 0 and "1 passed" in text and "No summary: KeyError" in text and "The page:" in text, text)


CLOSES = """
import os, time, work
def test_closes():
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            if os.readlink("/proc/self/fd/%d" % fd).endswith("/intervals"):
                os.close(fd)
        except OSError:
            pass
    work.first(0.1)
def test_writes():
    with open("mine", "w") as f:
        work.first(0.2)
        f.write("all")
def test_other_clock(monkeypatch):
    monkeypatch.setattr(time, "monotonic_ns", lambda: 5)
    work.first(0.2)
"""


@kit.case
def what_tests_do():
    """One test closes the plugin's descriptor, and another test replaces the clock: later tests
    still have their labels, and the plugin writes nothing into a test's own file."""
    with folder() as d:
        project(d)
        with open(d + "/test_closes.py", "w") as f:
            f.write(CLOSES)
        code, text = session(d, newest(), "--krait-output", "o.html", "test_closes.py")
        check(code == 0 and all(name in text.split("CPU time (krait)")[-1] for name in ("test_writes", "test_other_clock")), text)
        with open(d + "/mine") as f:
            check(f.read() == "all", "the test's own file has other text")
        code, text = session(d, newest(), "--krait-output", "o.folded", "-k", "first")
        check(code == 0 and "1 passed" in text and "is to end with .html" in text, text)


@kit.case
def not_asked_for():
    """Without --krait, and in a session that runs no test, the plugin does nothing."""
    with folder() as d:
        project(d)
        for args in ((), ("--krait", "--collect-only")):
            _, text = session(d, newest(), "-k", "first", *args, program=d + "/nothing")
            check("krait" not in text.replace("krait-e2e", "") and not glob.glob(d + "/*.html"), text)


register("pytest", "3.13", "pytest", "pytest-xdist")
if kit.FULL:
    register("pytest-3.8", "3.8", "pytest", "pytest-xdist")
if __name__ == "__main__":
    sys.exit(kit.main())
