# SPDX-License-Identifier: BSD-2-Clause
"""What all end-to-end tests share: functions that run krait, start Python programs, and print PASS,
FAIL and SKIP lines."""
import base64
import collections
import contextlib
import fcntl
import gzip
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
from judge import pprof  # noqa: E402
from oracle import is_plain  # noqa: E402,F401

KRAIT = os.environ.get("KRAIT", os.path.join(ROOT, "build", "release", "krait"))
CACHE = os.environ.get("KRAIT_TEST_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "krait-tests")
FULL = bool(os.environ.get("KRAIT_TEST_FULL"))
PYTHON = "/usr/bin/python3"
BUSY = """
def busy(n):
    total = 0
    for i in range(n):
        total += i & 3
    return total
def main():
    while True:
        busy(100000)
main()
"""
# Code for a target, by which a thread measures itself. account() returns three numbers of one
# moment: the time, the thread's CPU time, and how long the thread was ready to run without a CPU.
# account() keeps the GIL, so that the thread doesn't wait for the GIL meanwhile, except in a
# thread's first call, which opens a file. CPU time is by the thread's clock, because schedstat has
# the CPU time of a running thread as of the last tick, up to 4 ms ago at 250 Hz.
ACCOUNT = """
import ctypes, threading, time
_libc, _thread = ctypes.PyDLL(None), threading.local()
def ready():
    if not hasattr(_thread, "file"):
        _thread.file, _thread.text = open("/proc/thread-self/schedstat", "rb", 0), ctypes.create_string_buffer(96)
    size = _libc.pread(_thread.file.fileno(), _thread.text, 96, ctypes.c_long(0))
    return int(_thread.text.raw[:size].split()[1])
def account():
    while True:
        delay = ready()
        now = time.monotonic_ns(), time.thread_time_ns(), delay
        if ready() == delay:  # otherwise the thread lacked a CPU meanwhile
            return now
"""
CASES = []
AGENTS = []  # the agents that start_agent() has started
# Arguments for with_packages(): the name of a set, the Python version, the packages.
WEB = ("web", "3.13", "django", "gunicorn", "fastapi", "uvicorn", "uvloop", "flask", "celery", "scrapy", "pytest")


class Skip(Exception):
    """Raised when something that the test needs is missing on this machine."""


def case(function):
    """Registers a test case; its docstring says what must hold."""
    CASES.append(function)
    return function


def full_case(function):
    """Registers a case of the full tier only, which takes long and rarely fails."""
    return case(function) if FULL else function


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def interpreters():
    """Returns (name, version tuple, kind, path) of every test interpreter."""
    with open(os.path.join(CACHE, "interpreters.tsv")) as f:
        for line in f:
            name, version, kind, path = line.rstrip("\n").split("\t")
            yield name, tuple(int(p) for p in version.split(".")[:2]), kind, path


def interpreter(kind, minimum=(0, 0)):
    """Returns the path of the newest interpreter of a kind."""
    found = [(version, path) for _, version, k, path in interpreters()
             if k == kind and version >= minimum]
    if not found:
        raise Skip("no interpreter of kind %s" % kind)
    return max(found)[1]


def shared():
    """Returns (executable, its libpython, its prefix) of each interpreter that has a libpython."""
    config = "import sys, sysconfig as s; print(sys.executable, s.get_config_var('LIBDIR'), " \
             "s.get_config_var('INSTSONAME'), sys.prefix)"
    for _, version, kind, path in interpreters():
        if kind != "shared" or version < (3, 8):
            continue
        said = subprocess.run([path, "-c", config], stdout=subprocess.PIPE, encoding="utf-8",
                              check=True).stdout.split()
        library = os.path.join(*said[1:3]) if len(said) == 4 else ""
        if os.path.exists(library) and os.path.exists(said[0]):
            yield said[0], library, said[3]


def krait(*args, timeout=60, text=None, **kw):
    """Runs krait to its end. The result has .returncode, and .stdout and .stderr as text."""
    return subprocess.run([KRAIT] + [str(a) for a in args], input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
                          timeout=timeout, check=False, **kw)


def page_header(path, page):
    """Writes the page of a recording to the file @page. Returns the header of the page's data."""
    check(krait("report", path, "-o", page, timeout=120).returncode == 0, "no page")
    with open(page) as f:
        block = re.search(r'id="krait-view">\s*([^<]*)<', f.read())[1]
    data = base64.b64decode(block)
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return json.loads(data.split(b"\n", 1)[0])


def page_text(page):
    """Returns {path: source text, or None if the page says that the file changed}, without the
    files that only --source shows."""
    with open(page) as f:
        block = re.search(r'id="krait-source">\s*([^<]*)<', f.read())
    if not block:
        return {}
    files = json.loads(gzip.decompress(base64.b64decode(block.group(1))))
    check(not any(f["foreign"] and f["runs"] for f in files), files)
    return {f["path"]: None if f["changed"] else "\n".join(sum(f["runs"][1::2], [])) for f in files if not f["foreign"]}


def refused(code, words, *args, **kw):
    """Checks that krait exits with @code and prints one sentence on stderr that contains @words."""
    done = krait(*args, **kw)
    said = done.stderr.strip()
    check(done.returncode == code, "exit code %d, not %d: %s" % (done.returncode, code, said))
    check(words.lower() in said.lower(), "%r doesn't say %r" % (said, words))
    check(len(said.splitlines()) <= 3, "more than a sentence: %r" % said)
    return said


class Background:
    """A process that runs in the background and is killed, with its process group, at the end of a
    with block."""

    def __init__(self, *args, **kw):
        kw.setdefault("stdout", subprocess.DEVNULL)
        kw.setdefault("stderr", subprocess.PIPE)
        kw.setdefault("stdin", subprocess.DEVNULL)
        self.process = subprocess.Popen([str(a) for a in args], start_new_session=True, **kw)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGKILL)

    def stop(self, number=signal.SIGTERM):
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass
        return self.process.wait()

    def finish(self, number=signal.SIGINT, timeout=30):
        """Sends a signal to the process, not to its group. Returns the process's exit code and
        output."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=timeout)
        return self.process.returncode, said.decode(errors="replace")


def recorder(out, *args, **kw):
    """Starts `krait record` in the background, and waits until it samples."""
    running = Background(KRAIT, "record", "-o", out, *args, **kw)
    try:
        wait_for(lambda: attached(running.pid) or running.process.poll() is not None, 30)
    except AssertionError:
        running.stop(signal.SIGKILL)
        raise
    time.sleep(0.2)
    return running


def samples(process):
    """Waits until `krait record -v`, whose stderr is a pipe, says that it is sampling."""
    lines = iter(process.stderr.readline, b"")
    check(any(b"sampling began" in line for line in lines), "krait ended before it sampled")


def asleep(pid, threads):
    """Tells whether a process has @threads threads, and all of them wait."""
    states = []
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/stat" % (pid, tid)) as f:
            states.append(f.read().rsplit(")", 1)[1].split()[0])
    return states == ["S"] * threads


def attached(pid):
    """Tells whether process @pid holds perf events."""
    try:
        return any("perf_event" in name for name in open_files(pid))
    except OSError:
        return False


def open_files(pid):
    """Yields the files to which the descriptors of a process lead. Descriptors that the process
    closes meanwhile are left out."""
    for fd in os.listdir("/proc/%d/fd" % pid):
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink("/proc/%d/fd/%s" % (pid, fd))


def wait_for(condition, seconds):
    end = time.time() + seconds
    while not condition():
        if time.time() > end:
            raise AssertionError("waited %s s in vain" % seconds)
        time.sleep(0.02)


def freezers():
    """Yields for each way to freeze a new control group: (the group's directory, the file that
    freezes the group, the text that must be written to the file to freeze the group, the text to
    thaw it)."""
    with open("/proc/self/mountinfo") as f:
        mounts = [line.split() for line in f]
    for mount in mounts:
        at = os.path.join(mount[4], "krait-frozen-%d" % os.getpid())
        try:
            if mount[mount.index("-") + 1] == "cgroup2":
                os.mkdir(at)
                yield at, at + "/cgroup.freeze", "1", "0"
            elif "freezer" in mount[-1].split(","):
                os.mkdir(at)
                yield at, at + "/freezer.state", "FROZEN", "THAWED"
        except OSError:
            continue


def cpu_seconds(pid):
    """Returns the CPU time of all threads of a process, in the kernel's steps of 10 ms."""
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def runs(pid, seconds, most=60):
    """Waits until a process, or each process of a list, has used @seconds more of CPU time, however
    busy the machine is."""
    ends = [(one, cpu_seconds(one) + seconds) for one in (pid if isinstance(pid, list) else [pid])]
    wait_for(lambda: all(cpu_seconds(one) > end for one, end in ends), most)


def cpu_clock(pid):
    """Returns the CPU time of all threads of a process, by the kernel's exact clock."""
    return time.clock_gettime_ns(~pid << 3 | 2) / 1e9


def start_agent(store, *options, **kw):
    """Starts krait agent run, and waits until it records. The agent is killed when the test case
    ends."""
    agent = subprocess.Popen([KRAIT, "agent", "run", "--store", store, *options], stderr=subprocess.PIPE, encoding="utf-8", **kw)
    AGENTS.append(agent)
    line = agent.stderr.readline()
    check("recording into" in line, line + (agent.stderr.read() if agent.poll() is not None else ""))
    return agent


def end_agent(agent):
    """Ends an agent by SIGTERM, and checks its exit code. Returns what it printed since its start."""
    agent.send_signal(signal.SIGTERM)
    said = agent.communicate(timeout=30)[1]
    check(agent.returncode == 0, "exit code %d: %s" % (agent.returncode, said))
    return said


def children_of(pid):
    """Returns the children that a process's main thread has started."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(child) for child in f.read().split()]


def child_of(pid):
    """Returns the first child of a process, once that child has run for a while."""
    wait_for(lambda: children_of(pid), 30)
    child = children_of(pid)[0]
    runs(child, 0.2)
    return child


def python(source=BUSY, executable=PYTHON, **kw):
    """Starts a Python program in the background."""
    running = Background(executable, "-c", source, **kw)
    time.sleep(0.15)
    return running


def share(out, name, file=None, pids=None):
    """Returns (samples in the profile, samples with a Python function of this name and file). @out:
    a profile, or the file of a profile."""
    profile, total, found = out if isinstance(out, pprof.Profile) else pprof.read(out), 0, 0
    for sample in profile.samples:
        if pids is not None and int(sample.labels.get("pid", 0)) not in pids:
            continue
        total += sample.values[0]
        if any(l.kind == "python" and l.name == name and l.line > 0 and (not file or l.file == file)
               for l in profile.stack(sample)):
            found += sample.values[0]
    return total, found


def sees(out, name="busy", least=0.9, file=None, pids=None):
    """Checks that at least the share @least of a profile's samples has this function."""
    total, found = share(out, name, file, pids)
    check(total >= 20, "only %d samples" % total)
    check(found >= least * total, "%d of %d samples have %s" % (found, total, name))


WHOLE = 0.99  # the share of stacks that must be whole, in a program that doesn't hinder krait


def by_thread(profile, *names):
    """Returns waits by thread, {tid: {state: ns of off_cpu}}. If @names are given, counts only
    stacks with one of these functions."""
    at = [name for name, _ in profile.sample_types].index("off_cpu")
    sums = collections.defaultdict(collections.Counter)
    for sample in profile.samples:
        if not names or {l.name for l in profile.stack(sample)} & set(names):
            sums[int(sample.labels["tid"])][sample.labels.get("state")] += sample.values[at]
    return sums


def waited(states):
    """Returns how long a thread neither ran nor was ready to run. @states is the thread's entry in
    the result of by_thread(). account() gives the truth."""
    return sum(ns for state, ns in states.items() if state != "runnable")


def whole(out, pid):
    """Returns (samples of a process, those of them whose stack has main() and busy() and isn't
    marked as incomplete)."""
    profile, total, good = pprof.read(out), 0, 0
    for sample in profile.samples:
        if int(sample.labels.get("pid", 0)) != pid:
            continue
        names = [l.name for l in profile.stack(sample)]
        total += sample.values[0]
        if "busy" in names and "main" in names and not any(n.startswith("[incomplete") for n in names):
            good += sample.values[0]
    return total, good


def honest_is_whole(out, pid):
    total, good = whole(out, pid)
    check(total >= 20, "only %d samples of the honest program" % total)
    check(good >= WHOLE * total, "%d of %d stacks of the honest program are whole" % (good, total))


def folder():
    return tempfile.TemporaryDirectory(prefix="krait-e2e.")


def main():
    """Runs the test cases of the calling script, or those that the command line names. -jN runs N
    cases at once, for scripts whose cases mostly wait."""
    # On SIGTERM this process exits, so that the processes that it started end too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("FAIL: terminated"))
    at_once = max([1] + [int(arg[2:]) for arg in sys.argv[1:] if arg.startswith("-j")])
    names = [arg for arg in sys.argv[1:] if not arg.startswith("-j")]
    cases = [function for function in CASES if not names or function.__name__ in names]
    return several(cases, at_once) if at_once > 1 else max(map(run_case, cases), default=0)


def run_case(function):
    """Runs a test case, prints its result and the time that it took. Returns 1 if the case failed.
    """
    script = os.path.abspath(sys.argv[0]).rsplit(".", 1)[0].split("/")
    name = "%s/%s %s" % (script[-2], script[-1], function.__name__)
    if os.getuid() != 0:
        print("SKIP %s: needs root" % name)
        return 0
    begun = time.monotonic()
    try:
        function()
        print("PASS " + name, flush=True)
        return 0
    except Skip as reason:
        print("SKIP %s: %s" % (name, reason), flush=True)
        return 0
    except AssertionError as error:
        print("FAIL %s: %s" % (name, str(error).replace("\n", " | ")), flush=True)
    # A test that raises another exception has also failed. Prints where the exception was raised.
    except Exception:
        print("FAIL %s: %s" % (name, traceback.format_exc().strip().splitlines()[-1]))
        traceback.print_exc()
    finally:
        while AGENTS:
            AGENTS.pop().kill()
        print("%.1f s: %s" % (time.monotonic() - begun, name), flush=True)
    return 1


def several(cases, at_once):
    """Runs cases in @at_once processes. When a process has finished a case, it takes the next case.
    Returns 1 if a case failed."""
    left, numbers = os.pipe()
    os.write(numbers, bytes(range(len(cases))))
    os.close(numbers)
    workers, failed = [], 0
    try:
        for _ in range(at_once):
            workers.append(os.fork())
            if not workers[-1]:
                workers.clear()
                os._exit(take_cases(cases, left))
        while workers:
            failed |= os.waitpid(workers[0], 0)[1] != 0
            workers.pop(0)
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGTERM)
    return int(failed)


def take_cases(cases, left):
    """Runs the cases whose numbers this process reads from the pipe @left. Prints the output of
    each case in one piece."""
    failed = 0
    for number in iter(lambda: os.read(left, 1), b""):
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                failed |= run_case(cases[number[0]])
        finally:
            os.write(1, said.getvalue().encode())
    return failed


def with_packages(name, version, *packages):
    """Returns a Python of that version, such as "3.13", in which these packages are installed. This
    Python is kept for later runs."""
    place = os.path.join(CACHE, "packages", name)
    has, wanted = place + "/venv/has", version + " " + " ".join(packages)
    os.makedirs(place, exist_ok=True)
    with open(place + "/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(has) or open(has).read() != wanted:
            install_packages(version, place + "/venv", packages)
            with open(has, "w") as f:
                f.write(wanted)
    return place + "/venv/bin/python"


def install_packages(version, place, packages):
    said = "no such Python"
    for _, of, kind, path in interpreters():
        if ".".join(map(str, of)) == version and kind == "shared":
            said = ran([path, "-m", "venv", "--clear", place]) or ran(
                [place + "/bin/python", "-m", "pip", "install", "-q", *packages])
            if not said:
                return
    raise Skip("no %s for Python %s: %s" % (" ".join(packages), version, said))


def ran(command):
    """Runs a command. Returns "" if it succeeds, else the last line of its output."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=1200,
                          check=False)
    return (done.stdout.strip() or "no word").split("\n")[-1] if done.returncode else ""


def need(command):
    if not shutil.which(command):
        raise Skip("no " + command)


def preloaded(directory, source, *defines):
    """Returns an environment in which krait calls the functions of the C text @source instead of a
    library's."""
    need("gcc")
    if b"libbpf" not in subprocess.run(["ldd", KRAIT], stdout=subprocess.PIPE, check=False).stdout:
        raise Skip("libbpf is linked statically")
    library = directory + "/fail.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, *["-D" + d for d in defines],
                    "-x", "c", "-"], input=source.encode(), check=True)
    return dict(os.environ, LD_PRELOAD=library)
