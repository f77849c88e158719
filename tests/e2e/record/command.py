#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait record -- COMMAND, and signals: with which exit code krait ends, what it writes, and what
it leaves behind."""
import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import KRAIT, Background, check, folder, krait, python

SHORT = "sum(i & 3 for i in range(3000000))"


@kit.case
def exit_codes():
    """krait ends with the command's exit code: 128+n if signal n ended the command, 126 if the
    command can't be executed, 127 if it isn't found."""
    with folder() as d:
        plain = d + "/plain"
        with open(plain, "w") as f:
            f.write("x")
        for code, command in ((0, [kit.PYTHON, "-c", SHORT]),
                              (7, [kit.PYTHON, "-c", SHORT + "; exit(7)"]),
                              (1, [kit.PYTHON, "-c", "nonsense +"]),
                              (128 + 9, [kit.PYTHON, "-c", "import os; os.kill(os.getpid(), 9)"]),
                              (128 + 15, ["sh", "-c", "kill -15 $$"]),
                              (126, [plain]), (126, [d]), (127, [d + "/none"]),
                              (127, ["krait-no-such-command"])):
            done = krait("record", "-o", d + "/o.folded", "--", *command)
            check(done.returncode == code, "%s: exit code %d, not %d: %s" % (
                command, done.returncode, code, done.stderr))


@kit.case
def script_without_its_interpreter():
    """If the interpreter of a script is missing, krait's error doesn't say that the script can't be
    found."""
    with folder() as d:
        with open(d + "/script", "w") as f:
            f.write("#!%s/none\n" % d)
        os.chmod(d + "/script", 0o755)
        kit.refused(127, "interpreter", "record", "-o", d + "/o.folded", "--", d + "/script")


@kit.case
def from_the_first_instruction():
    """The profile has samples of the imports with which the command's interpreter starts. The
    command's standard streams are those of krait."""
    with folder() as d:
        done = krait("record", "-F", 4999, "-o", d + "/o.pb.gz", "--", kit.PYTHON, "-c",
                     "import sys; print(sys.stdin.read() * 2); import decimal, asyncio, json\n"
                     + SHORT, text="hello")
        check(done.returncode == 0 and done.stdout == "hellohello\n", repr(done))
        profile = kit.pprof.read(d + "/o.pb.gz")
        files = [l.file for s in profile.samples for l in profile.stack(s)]
        found = sum(file.endswith("asyncio/__init__.py") for file in files)
        check(found > 10, "%d samples in asyncio's import" % found)


@kit.case
def known_before_it_runs():
    """krait knows the command's interpreter before the first sample, whether the command is given
    as a path, a name, a script, or a script that starts the interpreter through env."""
    kit.need("python3")
    with open(kit.PYTHON, "rb") as f:
        try:
            fcntl.ioctl(f, 0x80087601, b"\0" * 8)  # FS_IOC_GETVERSION
        except OSError:
            raise kit.Skip("the file system doesn't tell an inode's generation") from None
    with folder() as d:
        for name, line in (("plain-script", "#!" + kit.PYTHON), ("env", "#!/usr/bin/env python3")):
            with open(d + "/" + name, "w") as f:
                f.write("%s\nprint(%s)\n" % (line, SHORT))
            os.chmod(d + "/" + name, 0o755)
        path = dict(os.environ, PATH=os.path.dirname(kit.PYTHON) + ":" + d)
        for command in ([kit.PYTHON, d + "/plain-script"], ["python3", d + "/plain-script"], ["plain-script"],
                        [d + "/env"]):
            done = krait("record", "-F", 4999, "-o", d + "/o.folded", "--summary-json",
                         d + "/o.json", "--", *command, env=path)
            check(done.returncode == 0, done.stderr)
            with open(d + "/o.json") as f:
                outcomes = json.load(f)["outcomes"]
            # Only if the command is `env` may it have exec'ed another program before krait could
            # look at it.
            check("gone before" not in done.stderr or command == [d + "/env"], done.stderr)
            check(outcomes["PENDING"] == 0, "%s: %d samples weren't walked" % (
                command, outcomes["PENDING"]))


@kit.case
def duration_ends_the_recording():
    with folder() as d:
        started = time.time()
        done = krait("record", "-d", 0.5, "-o", d + "/o.folded", "--", kit.PYTHON, "-c",
                     "import time\nend = time.time() + 2\nwhile time.time() < end: pass\nexit(5)")
        check(done.returncode == 5, "exit code %d: %s" % (done.returncode, done.stderr))
        check(time.time() - started > 1.9, "the command was ended")
        check(done.stderr.endswith("krait: the command goes on; Ctrl-C ends it\n"), done.stderr)


@kit.case
def how_it_ended():
    """A comment in the recording says how the command ended. The comment in a merged recording says
    how many of the runs were recorded whole."""
    with folder() as d:
        def ended(name):
            return [c[len("ended: "):] for c in kit.pprof.read("%s/%s.pb.gz" % (d, name)).comments if c.startswith("ended: ")]

        def record(name, want, *command, options=()):
            krait("record", "-q", *options, "-o", "%s/%s.pb.gz" % (d, name), "--", *command)
            check(ended(name) == want, "%s: %s" % (name, ended(name)))

        def merge(name, want, *of):
            krait("merge", "-q", *("%s/%s.pb.gz" % (d, n) for n in of), "-o", "%s/%s.pb.gz" % (d, name))
            check(ended(name) == want, "%s: %s" % (name, ended(name)))

        record("whole", ["0"], "sh", "-c", "true")
        record("failed", ["3"], "sh", "-c", "exit 3")
        record("killed", ["137"], "sh", "-c", "kill -9 $$")
        record("early", ["by -d"], "sleep", "0.6", options=("-d", "0.1"))
        record("daemon", ["0", "what it started goes on"], "sh", "-c", "sleep 1.5 &")
        with Background(KRAIT, "record", "-q", "-o", d + "/told.pb.gz", "--", "sleep", "60") as running:
            time.sleep(1)
            running.finish()
        check(ended("told") == ["by Ctrl-C"], str(ended("told")))
        merge("two", ["0, 2 runs"], "whole", "whole")
        merge("five", ["0, 5 runs"], "two", "whole", "two")
        merge("one", ["0"], "whole")
        merge("mixed", ["not every merged recording ended with 0", "0", "3"], "whole", "failed")
        krait("report", d + "/whole.pb.gz", "--until", "1s", "-o", d + "/cut.pb.gz")
        check(ended("cut")[1:] == ["only a part of its time was kept"], str(ended("cut")))


AGAIN = """
import os, sys
total = sum(i * i for i in range(2000000))
left = int(sys.argv[1])
if left:
    os.execv(sys.executable, [sys.executable, sys.argv[0], str(left - 1)])
"""


@kit.case
def a_process_that_execs():
    """A process that execs itself is counted as one process in the closing line, in --summary-json
    and in the report."""
    with folder() as d:
        with open(d + "/again.py", "w") as f:
            f.write(AGAIN)
        done = krait("record", "-F", 999, "-o", d + "/o.pb.gz", "--summary-json", d + "/s.json", "--",
                     kit.PYTHON, d + "/again.py", "3")
        check(done.returncode == 0 and "samples of 1 process in" in done.stderr, done.stderr)
        with open(d + "/s.json") as f:
            check(json.load(f)["processes"] == 1, "the summary counts more")
        shown = json.loads(krait("report", d + "/o.pb.gz", "--json").stdout)["processes"]
        check(len(shown) == 1, str(shown))
        with kit.python() as target:
            done = krait("record", "-p", target.pid, "-d", "300ms", "-o", d + "/o.pb.gz")
            check("samples of 1 process in" in done.stderr, done.stderr)


@kit.case
def unwritable_output_runs_nothing():
    """If the output can't be written, krait says so and doesn't run the command."""
    with folder() as d:
        done = krait("record", "-o", d + "/none/o.folded", "--", "touch", d + "/ran")
        check(done.returncode == 1, "exit code %d" % done.returncode)
        check(not os.path.exists(d + "/ran"), "the command was run")


@kit.case
def lost_output_leaves_the_command():
    """If the output can't be written any more during the recording, krait says so at once, and
    still waits for the command's end."""
    with folder() as d:
        done = krait("record", "-d", 0.3, "-o", "/dev/full", "--format", "folded", "--", "sh", "-c",
                     "%s -c '%s'; sleep 1; echo done" % (kit.PYTHON, SHORT), env=dict(os.environ, TMPDIR=d))
        check(done.returncode == 1 and "space" in done.stderr, repr(done))
        check(done.stdout == "done\n", "krait was gone before the command: %r" % done)


@kit.case
def rate_of_short_threads():
    """If threads live for 3 ms only, krait doesn't report a rate above the requested one, and
    doesn't report losses that didn't happen."""
    source = """
import threading, time
def work():
    end = time.perf_counter() + 0.003
    while time.perf_counter() < end: pass
end = time.time() + 2
while time.time() < end:
    thread = threading.Thread(target=work); thread.start(); thread.join()
"""
    with folder() as d:
        done = krait("record", "-o", d + "/o.svg", "--summary-json", d + "/o.json", "--",
                     kit.PYTHON, "-c", source)
        check(done.returncode == 0, done.stderr)
        with open(d + "/o.json") as f:
            said = json.load(f)
        check(said["reached_hz"] < 1.1 * 999, "%s Hz" % said["reached_hz"])
        check("never came" not in done.stderr, done.stderr)


@kit.case
def parts_of_the_cpu_time():
    """With the event modifier :u (samples only in user mode) krait doesn't report the kernel's time
    as missing. If no event came at all, krait doesn't say that the process slept."""
    reads = ("import os, time\nfd, b = os.open('/dev/zero', os.O_RDONLY), bytearray(1 << 20)\n"
             "while time.process_time() < 0.8: os.readv(fd, [b])\n"
             "t = os.times(); print(t.user / (t.user + t.system))")
    with folder() as d:
        done = krait("record", "-e", "cpu-clock:u", "-o", d + "/o.pb.gz", "--summary-json", d + "/o.json",
                     "--", kit.PYTHON, "-c", reads)
        with open(d + "/o.json") as f:
            summary = json.load(f)
        check(float(done.stdout) < 0.6, "the program hardly runs in the kernel: " + done.stdout)
        check(summary["missing"] == 0 and summary["samples"] > 0, str(summary))
        for words in "never came", "hardly", "rate not known":
            check(words not in done.stderr, done.stderr)
        with kit.python() as busy:
            done = krait("record", "-e", "alignment-faults", "-p", busy.pid, "-d", 0.5, "-o", d + "/n.folded")
            check("alignment-faults" in done.stderr and "where they wait" not in done.stderr, done.stderr)


# A program with two threads and a child. Each of the three runs its own function for 0.4 s of CPU
# time.
PARTS = {"left": "while time.thread_time() < .4: json.loads(text)", "right": "while time.thread_time() < .4: zlib.compress(data)"}
PARENT = """
import json, subprocess, sys, threading, time, zlib
text, data = json.dumps(list(range(3000))), bytes(range(256)) * 400
%s
child = subprocess.Popen([sys.executable, sys.argv[1]])
threads = [threading.Thread(target=f, name=f.__name__) for f in (left, right)]
for t in threads: t.start()
for t in threads: t.join()
child.wait()
""" % "\n".join("def %s():\n    %s" % part for part in PARTS.items())
CHILD = "import time\ndef child():\n    while time.thread_time() < .4: pass\nchild()\n"
# options of record; which of the three functions the recording then has; a condition that each
# sample meets
SHOWN = (
    (["--process", "child.py"], "child", lambda s, names: s.labels["process"] == "child.py"),
    (["--thread", "left"], "left", lambda s, names: s.labels["thread"] == "left"),
    (["--label", "thread=r*"], "right", lambda s, names: s.labels["thread"] == "right"),
    (["--module", "json"], "left", lambda s, names: any("/json/" in f.file for f in s.stack)),
    (["--kind", "native"], "left right", lambda s, names: s.stack[-1].kind == "native"),
    (["--focus", "left"], "left", lambda s, names: "left" in names),
    (["--ignore", "left"], "right child", lambda s, names: "left" not in names),
    (["--hide", "left"], "right child", lambda s, names: "left" not in names),
    (["--show", "left"], "left", lambda s, names: set(names) <= {"left"}),
    (["--lines"], "left right child", lambda s, names: all(f.line and not f.column for f in s.stack if f.name in PARTS)),
    (["--functions"], "left right child", lambda s, names: not any(f.line for f in s.stack if f.kind == "python")),
    (["--modules"], "", lambda s, names: not set(names) & set(PARTS)),
    (["--invert"], "left right child", lambda s, names: "left" not in names or names.index("left") < names.index("Thread.run")),
    (["--since", "1h"], "", lambda s, names: False),
    (["--until", "1h", "--thread", "left", "--thread", "right"], "left right", lambda s, names: s.labels["process"] == "parent.py"))


@kit.case
def words_for_a_part():
    """krait record is given filters: the file has exactly the samples that pass them."""
    with folder() as d:
        for name, text in (("parent.py", PARENT), ("child.py", CHILD)):
            with open("%s/%s" % (d, name), "w") as f:
                f.write(text)
        for words, present, fits in SHOWN if kit.FULL else SHOWN[::2]:
            done = krait("record", "-q", "-o", d + "/o.pb.gz", *words, "--", kit.PYTHON, d + "/parent.py", d + "/child.py")
            check(done.returncode == 0, done.stderr)
            profile, seen = kit.pprof.read(d + "/o.pb.gz"), dict.fromkeys(["left", "right", "child"], 0)
            for s in profile.samples:
                s.stack = profile.stack(s)
                names = [f.name for f in s.stack]
                check(fits(s, names), "%s: a sample of %s, %s" % (words, names, s.labels))
                for name in seen.keys() & set(names):
                    seen[name] += s.values[0]
            # Each function gets about 400 samples, so that its thread lives long enough to be
            # named, even on a busy machine. At least 100 must pass the filters: a child's first
            # samples may come before its name is known, and samples in the kernel aren't of kind
            # native.
            check({name for name, n in seen.items() if n > 100} >= set(present.split()), "%s: %s" % (words, seen))


@kit.case
def output_apart():
    """If krait writes the recording to standard output, it sends the command's output to standard
    error. If the recording goes to a file, the command's standard output is the same as without
    krait."""
    with folder() as d:
        for output, out in ("-", False), (d + "/o.folded", True):
            done = krait("record", "-q", "--format", "folded", "-o", output, "--", kit.PYTHON, "-c", "print('said by it');" + SHORT)
            check(done.returncode == 0 and ("said by it" in done.stdout) == out and ("said by it" in done.stderr) != out, str(done))
            check(out or "<module> (<string>:1)" in done.stdout, done.stdout)


@kit.case
def directories():
    """Paths are shown relative to the working directory of the process that ran the file, also if
    several processes are recorded."""
    with folder() as d:
        programs = []
        for name in "one", "two":
            os.mkdir(d + "/" + name)
            with open("%s/%s/%s.py" % (d, name, name), "w") as f:
                f.write("while True: pass\n")
            programs.append(Background(kit.PYTHON, name + ".py", cwd=d + "/" + name))
        with programs[0] as one, programs[1] as two:
            kit.runs([one.pid, two.pid], 0.2)
            for target in ("-p", one.pid, "-p", two.pid), ("--comm", "one.py", "--comm", "two.py"):
                done = krait("record", *target, "-d", 0.5, "--native", "none", "--no-kernel", "-o", d + "/o.folded")
                check(done.returncode == 0, done.stderr)
                with open(d + "/o.folded") as f:
                    text = f.read()
                check("<module> (one.py:1)" in text and "<module> (two.py:1)" in text, text)


@kit.case
def named_late():
    """The profile shows the main thread's Python name even if the program imports `threading` long
    after the thread's first sample."""
    source = "import time\n" \
             "while time.process_time() < .6: pass\n" \
             "import threading\nend = time.time() + 2.5\n" \
             "while time.time() < end: pass"
    with folder() as d:
        done = krait("record", "-o", d + "/o.pb.gz", "--", kit.PYTHON, "-c", source)
        check(done.returncode == 0, done.stderr)
        names = {s.labels["thread"] for s in kit.pprof.read(d + "/o.pb.gz").samples}
        check(names == {"MainThread"}, str(names))


def on_a_terminal(*args):
    """Runs krait on a pseudo-terminal. Returns its messages."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(KRAIT, [KRAIT] + list(args))
    said = b""
    try:
        while chunk := os.read(terminal, 4096):
            said += chunk
    except OSError:  # EIO: the last process that used the terminal has closed it
        pass
    os.waitpid(pid, 0)
    os.close(terminal)
    return said.decode()


@kit.case
def progress_line():
    """While it records, krait says at which rate it samples, but only on a terminal."""
    with folder() as d, python() as target:
        args = ("record", "-p", str(target.pid), "-d", "0.8", "-o", d + "/o.svg")
        for rate, words in ((("-F", "499"), "Sampling at 499 Hz"),
                            (("-c", "1M"), "Sampling every 1000000 ns"),
                            (("-e", "page-faults", "-c", "7"), "Sampling one in 7 page-faults")):
            said = on_a_terminal(*args, *rate)
            check(words in said, "%s: %r" % (rate, said))
        check("Sampling" not in krait(*args).stderr, "a progress line without a terminal")


def interrupted(*numbers):
    """Sends the signals @numbers to a krait that records a busy program. Returns krait's exit code,
    its messages, the names of the files that are left, and the text of the recording."""
    with folder() as d, python() as target:
        with kit.recorder(d + "/o.folded", "-p", target.pid) as running:
            kit.runs(target.pid, 0.2)
            for number in numbers[:-1]:
                running.process.send_signal(number)
            code, said = running.finish(numbers[-1])
        check(target.process.poll() is None, "the target died")
        files = sorted(os.listdir(d))
        return code, said, files, open(d + "/o.folded").read() if files == ["o.folded"] else ""


@kit.case
def first_interrupt_writes():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        code, said, files, text = interrupted(number)
        check(files == ["o.folded"] and "busy" in text, "%s: %s %s" % (number, files, said))
        check(code == 0, "signal %d: exit code %d: %s" % (number, code, said))


@kit.case
def kill_leaves_no_half_file():
    with folder() as d, python() as target:
        with open(d + "/o.folded", "w") as f:
            f.write("old")
        with kit.recorder(d + "/o.folded", "-p", target.pid, "-F", 4999) as running:
            time.sleep(0.5)
            running.finish(signal.SIGKILL)
        check(open(d + "/o.folded").read() == "old", "the older file was changed")
        check(target.process.poll() is None, "the target died")


@kit.case
def interrupt_of_a_command():
    """Ctrl-C sends SIGINT to both the command and krait; the recording is written."""
    with folder() as d:
        running = Background(KRAIT, "record", "-o", d + "/o.folded", "--", kit.PYTHON, "-c",
                             kit.BUSY)
        with running:
            kit.child_of(running.pid)
            os.killpg(running.pid, signal.SIGINT)
            _, said = running.process.communicate(timeout=30)
        check(running.process.returncode == 130, "exit code %d: %s" % (
            running.process.returncode, said.decode()))
        check("busy" in open(d + "/o.folded").read(), "nothing was written")


@kit.case
def interrupt_of_a_background_job():
    """If krait is a background job of a shell script, krait and its command ignore the SIGINT that
    Ctrl-C sends, but kill -INT ends the recording."""
    leader, terminal = os.openpty()

    def begin():
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    with folder() as d, python() as target, \
            kit.recorder(d + "/o.folded", "-p", target.pid, preexec_fn=begin) as running:
        os.write(leader, b"\x03")
        kit.runs(target.pid, 0.2)
        check(running.process.poll() is None, "Ctrl-C ended it")
        code, said = running.finish()
        check(code == 0 and "busy" in open(d + "/o.folded").read(), "%d: %s" % (code, said))
        done = krait("record", "-o", d + "/x.folded", "--", kit.PYTHON, "-c", "import signal, sys\n"
                     "sys.exit(signal.getsignal(2) != signal.SIG_IGN)",
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        check(done.returncode == 0, "the command doesn't ignore it: " + done.stderr)
    os.close(leader)
    os.close(terminal)


@contextlib.contextmanager
def held_up(d):
    """Starts a krait, which blocks while it writes its output. Yields the descriptor from which the
    output can be read."""
    fifo = d + "/o.html"  # the page has more bytes than a pipe holds
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with python() as target, kit.recorder(fifo, "-F", "999", "-p", target.pid) as running:
        kit.runs(target.pid, 0.2)
        running.process.send_signal(signal.SIGINT)
        kit.wait_for(lambda: select.select([reader], [], [], 0)[0], 30)
        # two signals within 0.5 s count as one, because timeout(1) signals twice
        time.sleep(0.6)
        check(running.process.poll() is None, "the writing isn't held up")
        yield running.process, reader
    os.close(reader)


@kit.case
def second_interrupt_loses_nothing():
    """A second Ctrl-C while krait writes its output changes nothing: the page is whole."""
    with folder() as d, held_up(d) as (process, reader):
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        os.set_blocking(reader, True)
        page = b""
        while more := os.read(reader, 1 << 20):
            page += more
        _, said = process.communicate(timeout=10)
        check(process.returncode == 0, "exit code %d: %s" % (process.returncode, said))
        check(page.rstrip().endswith(b"</html>"), "the page ends with %r" % page[-80:])


@kit.case
def third_interrupt_aborts():
    """The third Ctrl-C ends krait at once, by SIGINT."""
    with folder() as d, held_up(d) as (process, _):
        process.send_signal(signal.SIGINT)
        time.sleep(0.6)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            raise AssertionError("still there after three signals") from None
        check(process.returncode == -signal.SIGTERM, "exit code %d" % process.returncode)


DAEMON = """
import os, sys, time
twice = len(sys.argv) > 2
if os.fork() == 0:
    os.setsid()
    if twice and os.fork(): os._exit(0)
    with open(sys.argv[1], "w") as f:
        f.write(str(os.getpid()))
    end = time.time() + 20
    while time.time() < end: sum(range(1000))
"""


def check_daemon(d, *options):
    # The output goes to a file and not to a pipe, because the daemon would keep the pipe open.
    with open(d + "/said", "w") as said:
        code = subprocess.call([KRAIT, "record", "-o", d + "/o.folded", "--", kit.PYTHON, "-c",
                                DAEMON, d + "/pid", *options], stdout=said, stderr=said, timeout=30)
    kit.wait_for(lambda: os.path.exists(d + "/pid") and os.path.getsize(d + "/pid"), 10)
    with open(d + "/said") as f, open(d + "/pid") as number:
        said, pid = f.read(), int(number.read())
    try:
        check(code == 0, said)
        check("%d (python3" % pid in said and "krait record -p %d`" % pid in said, said)
        more = krait("record", "-p", pid, "-d", .5, "-o", d + "/more.folded")
        check(more.returncode == 0 and "<module>" in open(d + "/more.folded").read(), more.stderr)
    finally:
        os.kill(pid, signal.SIGKILL)


@kit.case
def daemon():
    """If a command leaves a daemon behind, krait prints the daemon's number and name, and how to
    record it."""
    with folder() as d:
        check_daemon(d)
        os.unlink(d + "/pid")
        check_daemon(d, "twice")
        own = "import multiprocessing as m\nm.set_start_method('spawn')\n" \
              "if __name__ == '__main__':\n p = m.Process(target=print); p.start(); p.join()\n"
        done = krait("record", "-o", d + "/o.folded", "--", kit.PYTHON, "-c", own + SHORT)
        check("goes on" not in done.stderr, done.stderr)


@kit.case
def target_ends_recording_ends():
    with folder() as d, python() as target:
        with kit.recorder(d + "/o.folded", "-p", target.pid) as running:
            target.stop()
            said = running.process.communicate(timeout=20)[1].decode()
            check(running.process.returncode == 0, said)


# A library that, two seconds after krait's start, writes nonsense into the first ring buffer of
# samples, as if the kernel had done so.
RINGS_FAIL = """
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *ring;
static size_t bytes;
static void *spoil(void *arg)
{
	void *p = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 0x3f, bytes);
	sleep(2);
	mremap(p, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, ring);
	return NULL;
}
void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	void *p = (void *)syscall(SYS_mmap, at, n, prot, flags, fd, off);
	pthread_t t;
	if (p != MAP_FAILED && prot == PROT_READ && flags == MAP_SHARED && off == getpagesize() && !ring) {
		ring = p;
		bytes = n;
		pthread_create(&t, NULL, spoil, NULL);
	}
	return p;
}
"""


@kit.case
def breaks_off():
    """If the recording fails in the middle, or fails at its end, what was recorded so far is
    written."""
    with folder() as d, python() as target:
        done = krait("record", "-p", target.pid, "-d", 10, "-F", 999, "-o", d + "/o.pb.gz",
                     env=kit.preloaded(d, RINGS_FAIL))
        check(done.returncode == 1, "exit code %d: %s" % (done.returncode, done.stderr))
        check(done.stderr.count("can't read the ring of CPU") == 1, done.stderr)
        kit.sees(d + "/o.pb.gz")


@kit.case
def python_names_its_threads():
    """A thread is shown under its Python name, even while the program changes the thread's name in
    the kernel."""
    source = """
import ctypes, itertools, threading, time
def worker():
    for i in itertools.count():
        end = time.time() + 0.05
        while time.time() < end: pass
        ctypes.CDLL(None).prctl(15, b"kernel-%d" % i, 0, 0, 0)
threading.Thread(target=worker, name="in-python").start()
"""
    with folder() as d, python(source) as target:
        done = krait("record", "-p", target.pid, "-d", 2, "-F", 499, "-o", d + "/o.pb.gz")
        check(done.returncode == 0, done.stderr)
        names = [s.labels.get("thread") for s in kit.pprof.read(d + "/o.pb.gz").samples
                 if s.labels.get("tid") != str(target.pid)]
        wrong = [name for name in names if name != "in-python"]
        check(len(names) > 100 and len(wrong) < 0.2 * len(names),
              "%d of %d are called %s" % (len(wrong), len(names), sorted(set(wrong))[:3]))


# A library that makes updates of the BPF map named MAP fail with the error number ERROR; the first
# FROM updates succeed.
REFUSED = """
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	int (*real)(int, const void *, const void *, __u64) = dlsym(RTLD_NEXT, __func__);
	static int times;
	struct bpf_map_info info = {};
	__u32 n = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &n) || strcmp(info.name, MAP) || times++ < FROM)
		return real(fd, key, value, flags);
	errno = ERROR;
	return -errno;
}
/* Puts the entries into the map one by one, so that FROM counts each. */
int bpf_map_update_batch(int fd, const void *keys, const void *values, __u32 *n,
			 const struct bpf_map_batch_opts *opts)
{
	const __u32 *key = keys, *value = values;
	int r = 0;

	for (__u32 i = 0; !r && i < *n; i++)
		r = bpf_map_update_elem(fd, &key[i], &value[i], 0);
	return r;
}
"""


@kit.case
def no_room_for_an_interpreter():
    """If krait can't add a process's interpreter to its BPF maps, krait names the process and the
    reason."""
    with folder() as d:
        env = kit.preloaded(d, REFUSED, 'MAP="layouts"', "FROM=0", "ERROR=ENOSPC")
        done = krait("record", "-d", 5, "-F", 999, "-o", d + "/o.pb.gz", "--", kit.PYTHON, "-c",
                     SHORT, env=env)
        check("not understood: can't add an interpreter's layout" in done.stderr, done.stderr)
        with python() as target:
            kit.refused(1, "can't add an interpreter's layout", "record", "-p", target.pid, "-d",
                        "1", "-o", d + "/o.pb.gz", env=env)


@kit.case
def no_room_for_children():
    with folder() as d:
        env = kit.preloaded(d, REFUSED, 'MAP="roots"', "FROM=2", "ERROR=E2BIG")
        source = "import os\nfor i in range(4):\n    if os.fork() == 0: os._exit(0)\n    os.wait()\n"
        done = krait("record", "-F", 99, "-o", d + "/o.pb.gz", "--", kit.PYTHON, "-c", source,
                     env=env)
        check("no room to follow 3 child processes" in done.stderr, done.stderr)


@kit.case
def no_ring():
    """One CPU has no ring buffer, as if it had come online after krait began. krait says that
    records of this CPU are lost, and doesn't say that a ring buffer was full."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise kit.Skip("one CPU")
    with folder() as d, python("import os; os.sched_setaffinity(0, {%d})\n" % cpus[1] + kit.BUSY
                               ) as target:
        env = kit.preloaded(d, REFUSED, 'MAP="rings"', "FROM=1", "ERROR=0")
        done = krait("record", "-p", target.pid, "-d", 1, "-F", 99, "-o", d + "/o.pb.gz", env=env)
        check("records lost on a CPU that came online later" in done.stderr, done.stderr)
        check("ring buffer was full" not in done.stderr, done.stderr)


@kit.case
def children_too():
    """-p also records the children of its processes, those that exist already and those that start
    later; --no-children leaves children out."""
    source = """
import os, time
def early(): 
    while True: pass
def late():
    while True: pass
if os.fork() == 0: early()
time.sleep(1.2)
if os.fork() == 0: late()
time.sleep(60)
"""
    for option, present in (([], True), (["--no-children"], False)):
        with folder() as d, python(source) as target:
            done = krait("record", "-p", target.pid, "-d", 2, "-F", 999, "-o", d + "/o.pb.gz",
                         *option)
            check(done.returncode == 0, done.stderr)
            for name in ("early", "late"):
                found = kit.share(d + "/o.pb.gz", name)[1]
                check((found > 10) == present, "%s %s: %d samples" % (option, name, found))


if __name__ == "__main__":
    sys.exit(kit.main())
