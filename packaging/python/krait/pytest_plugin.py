# SPDX-License-Identifier: BSD-2-Clause
"""pytest --krait: records the test session with its workers (pytest-xdist), and says which tests
took the CPU time. Each test is an interval of its process, from its setup to its teardown. The
samples in it have the test's name as the label `test`. The plugin uses no signal of this
process. Whatever happens to the recording, tests and exit code are the same as without it."""
import glob
import json
import os
import shlex
import shutil
import tempfile
import time

import pytest

from . import recording

ROWS = 10
MOST_BYTES = 4000  # the most bytes of a test's name, because krait refuses longer labels
KEEP_LABELS = (".html", ".svg", ".pb.gz", ".jsonl")


def pytest_addoption(parser):
    group = parser.getgroup("krait", "where the tests spend CPU time (krait)")
    group.addoption("--krait", action="store_true", help="record the session: a page, and a summary of the tests that took most")
    group.addoption("--krait-output", metavar="FILE", help="the same, and where to write; default: krait-pytest-DATE-TIME.html")


def pytest_configure(config):
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        if "krait_intervals" in worker:
            config.pluginmanager.register(Tests(worker["krait_intervals"]), "krait_tests")
    elif (config.getoption("krait") or config.getoption("krait_output")) and not config.getoption("collectonly"):
        config.pluginmanager.register(Session(config), "krait_session")


class Tests:
    """Writes an interval for each test that this process runs."""

    # the clock is kept here, because a test may put another function in its place
    now = staticmethod(time.monotonic_ns)

    def __init__(self, path):
        self.path = path

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        pid, begin = os.getpid(), self.now()
        yield
        try:
            line = {"pid": pid, "begin": begin, "end": self.now(), "labels": {"test": name_of(item)}}
            # The file is opened each time, because a test may close descriptors that it doesn't
            # know, and then get the same number for a file of its own.
            fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            try:
                os.write(fd, (json.dumps(line) + "\n").encode())
            finally:
                os.close(fd)
        except Exception:  # pylint: disable=broad-except # a worker on another machine, a full disk
            pass


def name_of(item):
    return item.nodeid.encode("utf-8", "replace")[:MOST_BYTES].decode("utf-8", "ignore") or "[no name]"


class Session:
    """The recording of a session, and what the plugin prints about it. Only the process that the
    user started has a recording."""

    def __init__(self, config):
        self.config = config
        self.folder = self.intervals = self.recording = self.wanted = self.page = None
        self.error = ""
        self.name = config.getoption("krait_output") or time.strftime("krait-pytest-%Y%m%d-%H%M%S.html")
        try:
            self.set_up()
        except Exception as error:  # pylint: disable=broad-except # no room, no folder that can be written to
            self.recording = None
            self.error = str(error) or repr(error)

    def set_up(self):
        if not self.name.endswith(KEEP_LABELS):
            raise ValueError("--krait-output is to end with %s: other formats don't keep the names of tests" % ", ".join(KEEP_LABELS))
        self.wanted = os.path.abspath(self.name)
        self.folder = tempfile.mkdtemp(prefix="krait-pytest.")
        self.intervals = os.path.join(self.folder, "intervals")
        with open(self.intervals, "w", encoding="utf-8"):
            pass
        # The file is in a folder of its own, because a file with the wanted name may be left from
        # an earlier session.
        os.mkdir(os.path.join(self.folder, "page"))
        self.page = os.path.join(self.folder, "page", os.path.basename(self.wanted))
        self.recording = recording.Recording(self.page, "--label-intervals", self.intervals, "--by", "test")
        self.config.pluginmanager.register(Tests(self.intervals), "krait_tests")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self):
        if self.recording and not self.error:
            self.recording.begin()

    def finish(self):
        """Ends the recording, and moves the page to its place. If that fails, the page stays in the
        folder."""
        if not self.recording or self.error:
            return
        self.recording.end()
        if self.recording.error or self.page == self.wanted:
            return
        try:
            if os.path.isdir(self.wanted):
                raise OSError("%s is a folder" % self.wanted)
            shutil.move(self.page, self.wanted)
            self.page = self.wanted
        except Exception as error:  # pylint: disable=broad-except
            self.folder = None
            self.error = "The page can't be moved to %s: %s" % (self.wanted, error)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        """Called when pytest-xdist is about to start a worker."""
        if self.intervals:
            node.workerinput["krait_intervals"] = self.intervals

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self):
        self.finish()

    def pytest_unconfigure(self):
        self.finish()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section("CPU time (krait)")
        for line in self.summary():
            terminalreporter.write_line(line)

    def summary(self):
        if not self.recording or self.recording.error:
            return ["The session wasn't recorded:", *(self.recording.error if self.recording else self.error).splitlines()]
        lines = [self.error] if self.error else []
        try:
            return [*lines, *self.recording.warnings(), *rows(self.page), "The page: " + self.page]
        except Exception as error:  # pylint: disable=broad-except # an answer of another krait version
            return [*lines, "No summary: %s" % (str(error) if isinstance(error, OSError) else repr(error)), "The page: " + self.page]


def seconds(ns):
    return "%.2f s" % (ns / 1e9)


def rows(page):
    """Returns lines for the user: the tests that took most CPU time, each with its hottest line of
    code."""
    everything = recording.report(page, "--by", "test")
    if "shares" not in everything:
        raise OSError("krait report can't read it")
    unit_is_time = everything.get("unit") == "nanoseconds"
    tests = [s for s in everything.get("shares", ()) if s["name"] != "[no test]"]
    if not tests or not unit_is_time:
        return ["No test took enough CPU time for a sample."]
    total, within = everything["shown"], sum(s["total"] for s in tests)
    lines = ["%s of CPU time, %s of it in tests" % (seconds(total), seconds(within))]
    for share in sorted(tests, key=lambda s: -s["total"])[:ROWS]:
        lines.append("%9s  %5.1f %%  %s" % (seconds(share["total"]), 100 * share["total"] / total, share["name"]))
        lines += hottest(page, share)
    if len(tests) > ROWS:
        lines.append("and %d more tests: krait report --by test %s" % (len(tests) - ROWS, shlex.quote(page)))
    return lines


def hottest(page, share):
    name = share["name"]
    # krait takes a name with one of these characters for a glob, in which a backslash escapes.
    pattern = glob.escape(name.replace("\\", "\\\\")) if set(name) & set("*?[") else name
    own = [line for line in recording.report(page, "--label", "test=" + pattern).get("your_lines", ()) if not line["file"].startswith("<")]
    if not own:
        return []
    path = own[0]["file"]
    path = os.path.relpath(path) if os.path.isabs(path) else path
    part = 100 * own[0]["with_libraries"] / share["total"]
    return ["%20s %3.0f %% of it at %s:%d (%s)" % ("", part, path, own[0]["line"], own[0]["function"])]
