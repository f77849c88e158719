#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bad input is refused with one sentence that says what is wrong, and with the right exit code."""
import errno
import json
import os
import pwd
import re
import resource
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import Background, check, folder, krait, python, refused


@kit.case
def no_such_process():
    refused(1, "no process 999999", "record", "-p", 999999, "-d", 1, "-o", "/dev/null",
            "--format", "folded")


@kit.case
def not_python():
    with Background("sleep", "60") as sleep:
        refused(1, "python", "record", "-p", sleep.pid, "-d", 1, "-f")


@kit.case
def exits_at_once():
    """A process ends right after the start of its recording: krait reports no error and doesn't
    hang."""
    with folder() as d, python("import time; time.sleep(1000)") as short:
        with kit.recorder(d + "/o.folded", "-p", short.pid, "-d", "1000") as running:
            short.stop()
            said = running.process.communicate(timeout=15)[1].decode()
            check(running.process.returncode == 0, said)


@kit.case
def exited():
    short = Background("true")
    short.process.wait()
    refused(1, "no process", "record", "-p", short.pid, "-d", 1, "-f")


@kit.case
def zombie():
    """If the process to be recorded is a zombie (its parent hasn't waited for it), krait says that
    the process has ended."""
    with Background("true") as ended:
        kit.wait_for(lambda: "Z" in open("/proc/%d/stat" % ended.pid).read().split()[2], 5)
        refused(1, "ended", "record", "-p", ended.pid, "-d", 1, "-f")


@kit.case
def other_users():
    """An ordinary user without rights is told which right is missing, with exit code 3."""
    nobody = pwd.getpwnam("nobody")

    def drop():
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)
    with folder() as d, python() as target:
        copy = os.path.join(d, "krait")
        shutil.copy(kit.KRAIT, copy)
        os.chmod(d, 0o755)
        done = subprocess.run([copy, "record", "-p", str(target.pid), "-d", "1", "-f"],
                              preexec_fn=drop, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8", timeout=30, check=False)
        check(done.returncode == 3, "exit code %d: %s" % (done.returncode, done.stderr))


BAD_LINES = [
    ("duration", ["-d", "soon"]), ("duration", ["-d", "-1"]), ("duration", ["-d", "0"]),
    ("duration", ["-d", "1e9999"]), ("duration", ["-d", ""]),
    ("frequency", ["-F", "0"]), ("frequency", ["-F", "x"]), ("frequency", ["-F", "99999999999"]),
    ("count", ["-c", "0"]), ("count", ["-c", "-3"]),
    ("event", ["-e", "no-such-event"]), ("event", ["-e", ""]),
    ("extension", ["-o", "x.doc"]), ("format", ["--format", "doc"]),
    ("pid", ["-p", "me"]), ("pid", ["-p", "0"]), ("pid", ["-p", "-5"]),
    ("pid", ["-p", "99999999999999"]),
    ("--", ["-p", "1", "--", "true"]), ("label", ["--add-label", "novalue"]),
    ("native", ["--native=some"]), ("", ["--no-such-option"]), ("", ["-o"]),
]


@kit.case
def command_line():
    """If the command line alone shows a fault, krait ends with exit code 2, even without the rights
    to record."""
    for words, args in BAD_LINES:
        if words == "native" and "--native" not in krait("record", "--help").stdout:
            continue
        try:
            refused(2, words, "record", *args)
        except AssertionError as error:
            raise AssertionError("%s: %s" % (" ".join(args), error)) from None


@kit.case
def warnings_stay():
    """A recording's file contains the warnings of that recording, before all other comments. The
    warnings stay when `krait report` writes the recording in another format."""
    with folder() as d, python("import time; time.sleep(1000)") as target:
        done = krait("record", "-p", target.pid, "-d", 0.3, "-o", d + "/a.pb.gz")
        check(done.returncode == 0, done.stderr)
        told = kit.pprof.read(d + "/a.pb.gz").comments
        check(told[0].startswith("warning: no samples"), "the comments begin with %r" % told)
        done = krait("report", d + "/a.pb.gz", "-o", d + "/a.jsonl")
        check(done.returncode == 0, done.stderr)
        with open(d + "/a.jsonl") as f:
            check(json.loads(f.readline())["comments"] == told, "JSON lines have other comments")
        check("no samples" in krait("report", d + "/a.jsonl").stdout.lower(), "the report doesn't say so")


@kit.case
def unwritable():
    with folder() as d:
        refused(1, "No such file or directory", "record", "-d", 1, "-o", d + "/none/x.folded")
        refused(1, "directory", "record", "-d", 1, "-o", d, "--format", "folded")
        refused(1, "none/x.json", "record", "-o", d + "/x.svg", "--summary-json",
                d + "/none/x.json", "--", "touch", d + "/ran")
        check(os.listdir(d) == [], "something was left, or run: %s" % os.listdir(d))
        os.mkdir(d + "/ro")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", d + "/ro"], check=True)
        try:
            refused(1, "Read-only", "record", "-d", 1, "-o", d + "/ro/x.folded")
        finally:
            subprocess.run(["umount", d + "/ro"], check=True)


@kit.case
def full_disk():
    """If the file system is full, krait says so, leaves no half file, leaves an older file
    unharmed, and saves the recording elsewhere."""
    with folder() as d, folder() as other, python() as target:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", d], check=True)
        try:
            with open(d + "/x.svg", "w") as f:
                f.write("old")
            with open(d + "/fill", "wb") as f:
                f.write(b"x" * (52 << 10))
            done = krait("record", "-p", target.pid, "-d", 1, "-F", 4999, "--times",
                         "-o", d + "/x.svg", env=dict(os.environ, TMPDIR=other))
            check(done.returncode == 1, "exit code %d: %s" % (done.returncode, done.stderr))
            check("space" in done.stderr, done.stderr)
            saved(other, "profile.svg", done)
            check(sorted(os.listdir(d)) == ["fill", "x.svg"], str(os.listdir(d)))
            check(open(d + "/x.svg").read() == "old", "the older file was changed")
        finally:
            subprocess.run(["umount", d], check=True)


@kit.case
def size_limit():
    """If a recording exceeds the limit of file sizes (RLIMIT_FSIZE), krait reports this like a full
    disk. SIGXFSZ doesn't end krait, but has its usual effect on the command."""
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 10, 8 << 10))
        # Python ignores SIGXFSZ, and krait must not inherit that.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    with folder() as d:
        with open(d + "/x.html", "w") as f:
            f.write("old")
        done = krait("record", "-o", d + "/x.html", "--", kit.PYTHON, "-c", "sum(range(10**7))", preexec_fn=limited)
        check(done.returncode == 1 and "too large" in done.stderr and " samples of " in done.stderr, done.stderr)
        check(open(d + "/x.html").read() == "old" and os.listdir(d) == ["x.html"], str(os.listdir(d)))
        done = krait("record", "-o", d + "/o.folded", "--", "sh", "-c", "head -c 50000 /dev/zero > %s/f" % d, preexec_fn=limited)
        check(done.returncode == 128 + signal.SIGXFSZ, "%d: %s" % (done.returncode, done.stderr))


@kit.case
def private_output():
    """A private output file stays private when krait replaces it. A new output file has the mode
    that the umask gives."""
    with folder() as d, python() as target:
        with open(d + "/o.html", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
            f.write("old")
        for name, mode in ("o.html", 0o600), ("new.html", 0o644):
            done = krait("record", "-p", target.pid, "-d", 0.2, "-o", d + "/" + name, umask=0o022)
            check(done.returncode == 0, done.stderr)
            check(stat.S_IMODE(os.stat(d + "/" + name).st_mode) == mode, "%s: %o" % (name, os.stat(d + "/" + name).st_mode))


def saved(d, name, done):
    """Checks that krait has written a whole recording, which couldn't be written to its path, into
    a new directory in @d, and that krait says where."""
    made = os.listdir(d)
    check(len(made) == 1 and made[0].startswith("krait-"), "%s in %s: %s" % (made, d, done.stderr))
    path = os.path.join(d, made[0], name)
    check("what was recorded is in " + path in done.stderr, done.stderr)
    report = krait("report", path, "--json")
    check(report.returncode == 0 and json.loads(report.stdout)["functions"], report.stderr)
    check(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700, "other users can look into the folder")


@kit.case
def folder_removed():
    """The directory of the output file is removed during the recording: krait saves the recording
    elsewhere."""
    with folder() as d, folder() as other, python() as target:
        os.mkdir(d + "/x")
        with kit.recorder(d + "/x/o.pb.gz", "-p", target.pid, "-d", "1000",
                          env=dict(os.environ, TMPDIR=other)) as running:
            os.rmdir(d + "/x")
            time.sleep(0.5)
            running.process.send_signal(signal.SIGINT)
            said = running.process.communicate(timeout=15)[1].decode()
            check(running.process.returncode == 1, said)
            check("can't write %s/x/o.pb.gz: No such file" % d in said, said)
            saved(other, "profile.pb.gz", subprocess.CompletedProcess((), 1, "", said))


@kit.case
def nowhere_else():
    """The output can't be written, and no other place has room for it either: krait prints only the
    error, and leaves no file."""
    with folder() as d, python() as target:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", d], check=True)
        try:
            full = "exec 3<\"$0\" && mount --bind %s /var/tmp && mount --bind %s /tmp && TMPDIR= exec /dev/fd/3 \"$@\"" % (d, d)
            done = subprocess.run(
                ["unshare", "-m", "sh", "-c", full, kit.KRAIT, "record", "-p", str(target.pid), "-d",
                 "0.5", "-o", "x.svg"], cwd=d, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            check(done.returncode == 1 and "space" in done.stderr, done.stderr)
            check("is in" not in done.stderr and not os.listdir(d), "%s: %s" % (os.listdir(d), done.stderr))
        finally:
            subprocess.run(["umount", d], check=True)


# A library that makes open() with O_TMPFILE fail, as it does on NFS, where krait can't make a file
# without a name.
NO_TMPFILE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open"), mode;
	va_list ap;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, int) : 0;
	va_end(ap);
	errno = EOPNOTSUPP;
	return (flags & O_TMPFILE) == O_TMPFILE ? -1 : real(path, flags, mode);
}
"""


@kit.case
def nothing_left():
    """A recording that fails under sudo leaves no file in the caller's directory."""
    with folder() as d:
        os.chmod(d, 0o755)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", d + "/none.so", "-x", "c", "-", "-ldl"],
                       input=NO_TMPFILE, text=True, check=True)
        os.mkdir(d + "/home")
        os.chown(d + "/home", 4711, 4711)
        env = dict(os.environ, LD_PRELOAD=d + "/none.so", SUDO_UID="4711", SUDO_GID="4711")
        refused(127, "no such file", "record", "-o", d + "/home/o.pb.gz", "--summary-json",
                d + "/home/o.json", "--", "/nonexistent", env=env)
        check(not os.listdir(d + "/home"), str(os.listdir(d + "/home")))


@kit.case
def full_pipe():
    """The program that reads krait's output from a pipe ends early, as `head` does: krait ends with
    exit code 1, not by a signal, and prints no message."""
    with python() as target:
        with subprocess.Popen([kit.KRAIT, "record", "-p", str(target.pid), "-d", "0.5", "-f"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            said = process.stderr.read().decode()
        check(process.returncode == 1, "exit code %d: %s" % (process.returncode, said))
        check("error" not in said and "pipe" not in said.lower(), said)
        check("samples" in said, "krait prints no closing lines: " + said)


def damaged(change):
    """Runs a copy of the interpreter, puts a damaged file in its place, and records the process.
    krait must either record it or refuse to, and not crash."""
    with folder() as d:
        path = d + "/python3"
        shutil.copy(kit.PYTHON, path)
        with python(executable=path) as target:
            # A running executable can't be overwritten, so a new file is put in its place.
            with open(path, "rb") as f:
                data = bytearray(f.read())
            os.rename(path, d + "/old")
            with open(path, "wb") as f:
                f.write(change(data))
            os.chmod(path, 0o755)
            out = d + "/o.pb.gz"
            done = krait("record", "-p", target.pid, "-d", 1, "-o", out)
            check(done.returncode in (0, 1), "exit code %d: %s" % (done.returncode, done.stderr))
            return done, out


@kit.case
def truncated_elf():
    """The file at the executable's path isn't the file that the process has mapped, and is damaged:
    krait doesn't crash."""
    for change in (lambda data: data[:1000], lambda data: data[:100000], lambda data: b"",
                   lambda data: data[:64] + b"\xff" * 100000):
        damaged(change)


@kit.case
def truncated_elf_mapped():
    """krait records a process that has mapped a truncated or senseless ELF file as programs map a
    library."""
    source = """
import ctypes, mmap, os, sys
for path in sys.argv[1:]:
    f = open(path, "rb")
    keep = mmap.mmap(f.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    globals()["keep%d" % len(globals())] = keep
""" + kit.BUSY
    with folder() as d, open("/usr/bin/python3", "rb") as f:
        whole = f.read()
        files = []
        header = bytearray(whole[:4096])
        struct.pack_into("<Q", header, 40, 1 << 60)  # the header's e_shoff
        struct.pack_into("<H", header, 56, 0xffff)   # the header's e_phnum
        for i, data in enumerate((whole[:5000], bytes(header), b"\x7fELF" + b"\xff" * 5000,
                                  whole[:len(whole) // 2])):
            files.append("%s/libpython3.%d.so.1.0" % (d, 8 + i))
            with open(files[-1], "wb") as out:
                out.write(data)
        with Background(kit.PYTHON, "-c", source, *files) as target:
            time.sleep(0.4)
            done = krait("record", "-p", target.pid, "-d", 1, "-o", d + "/o.pb.gz")
            check(done.returncode == 0, done.stderr)
            kit.sees(d + "/o.pb.gz")


@kit.case
def no_samples():
    """If the target never ran, krait warns. The exit code is 0, or 1 if --require-samples is given.
    """
    with folder() as d, python("import time; time.sleep(60)") as idle:
        done = krait("record", "-p", idle.pid, "-d", 0.5, "-o", d + "/x.folded")
        check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr))
        check("no samples" in done.stderr.lower() or "0 samples" in done.stderr, done.stderr)
        done = krait("record", "-p", idle.pid, "-d", 0.5, "-o", d + "/x.folded",
                     "--require-samples")
        check(done.returncode == 1, "exit code %d with --require-samples" % done.returncode)


@kit.case
def nothing_leaves_no_page():
    """Without samples, no page or picture is written, and krait mentions an earlier file of that
    name. Files in formats for other tools are written."""
    with folder() as d:
        for name in "x.html", "x.svg":
            done = krait("record", "-o", d + "/" + name, "--summary-json", d + "/s.json", "--", "true")
            check(done.returncode == 0 and "so %s/%s isn't written\n" % (d, name) in done.stderr, done.stderr)
            check(sorted(os.listdir(d)) == ["s.json"], str(os.listdir(d)))
        with open(d + "/s.json") as f:
            check(json.load(f)["output"] is None, "the summary names a file")
        with open(d + "/x.html", "w") as f:
            f.write("old")
        done = krait("record", "-o", d + "/x.html", "--", "true")
        check("isn't written; the file of that name is older than this recording" in done.stderr, done.stderr)
        with open(d + "/x.html") as f:
            check(f.read() == "old", "the earlier page was changed")
        done = krait("record", "-o", d + "/x.pb.gz", "--", "true")
        check(os.path.exists(d + "/x.pb.gz") and "isn't written" not in done.stderr, done.stderr)


@kit.case
def forgotten_dashes():
    """If -- is missing, krait prints the command line with --, quoted so that the user can copy the
    line to a shell."""
    for words in (["record", "-o", "a b.html", "-d", "3", "python3", "my app.py", "--port", "80", "it's"], ["top", "-n", "1", "./app.py", "x;y", ""],
                  ["python3", "app.py", "-v"]):
        said = krait(*words).stderr
        command = said.split(": krait ", 1)[1] if ": krait " in said else ""
        at = next(i for i, w in enumerate(words) if w in ("python3", "./app.py"))
        want = (words[:at] or ["record"]) + ["--"] + (["python3"] if words[at] == "./app.py" else []) + words[at:]
        check(shlex.split(command) == want, "%s: %s" % (words, said))
    check(krait("record", "123").stderr.rstrip().endswith("krait record -p 123"), "a process")
    check("krait record ... -- python3 ...\n" in krait("record", "python3", "-c", "a\nb").stderr, "several lines")


@kit.case
def too_few_to_count():
    """If an event is sampled at a rate and has few samples, krait doesn't estimate the number of
    events from the samples. With -c 1 the recording has the number of events, which is at least the
    kernel's count."""
    waits = "import time, resource\nfor _ in range(25): time.sleep(0.02)\nprint(resource.getrusage(resource.RUSAGE_SELF)[14])"
    with folder() as d:
        done = krait("record", "-e", "context-switches", "-o", d + "/a.pb.gz", "--", kit.PYTHON, "-c", waits)
        if "no samples" not in done.stderr:
            check(re.search(r"samples? at 999 Hz only estimates? context-switches; -c 1 counts them\n", done.stderr), done.stderr)
            text = krait("report", d + "/a.pb.gz").stdout
            check("Too few samples to say where most of the context-switches are.\n" in text and "\ntoo few: " in text, text)
        done = krait("record", "-e", "context-switches", "-c", 1, "-o", d + "/b.pb.gz", "--", kit.PYTHON, "-c", waits)
        total = sum(s.values[1] for s in kit.pprof.read(d + "/b.pb.gz").samples)
        check("only estimate" not in done.stderr, done.stderr)
        check(total >= int(done.stdout) >= 25, "%d, and the program waited %s times" % (total, done.stdout))


@kit.case
def odd_outputs():
    """If the output is /dev/null, /dev/full, a FIFO or a symbolic link, krait writes to it and
    doesn't replace it."""
    with folder() as d, python() as target:
        args = ("record", "-p", target.pid, "-d", 0.3, "--format", "folded", "-o")
        full = dict(os.environ, TMPDIR=d)
        check(krait(*args, "/dev/null").returncode == 0, "/dev/null")
        check(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null was replaced")
        done = krait(*args, "/dev/full", env=full)
        check(done.returncode == 1 and "space" in done.stderr, "/dev/full: " + done.stderr)
        os.symlink(d + "/real", d + "/link")
        check(krait(*args, d + "/link").returncode == 0, "a link")
        check(os.path.islink(d + "/link") and os.path.getsize(d + "/real"), "the link was replaced")


@kit.case
def names_that_cant_be():
    """An output name that no file can have is refused before the command runs. With the longest
    name that a file can have, krait writes the file, and replaces it in a second run."""
    with folder() as d:
        os.symlink("loop", d + "/loop")
        for name, words in (("new/", os.strerror(errno.EISDIR)), ("loop", os.strerror(errno.ELOOP)),
                            ("x" * 300, os.strerror(errno.ENAMETOOLONG))):
            refused(1, words, "record", "--format", "folded", "-o", d + "/" + name, "--", "touch",
                    d + "/ran")
            check(os.listdir(d) == ["loop"], "left, or run: %s" % os.listdir(d))
        longest = "x" * (os.pathconf(d, "PC_NAME_MAX") - 7) + ".folded"
        for _ in range(2):
            done = krait("record", "-o", d + "/" + longest, "--", kit.PYTHON, "-c", "sum(range(10**6))")
            check(done.returncode == 0, done.stderr)
            check(sorted(os.listdir(d)) == ["loop", longest], str(os.listdir(d)))


@kit.case
def summary_is_no_profile():
    """krait refuses to write the summary and the profile into one file."""
    with folder() as d:
        refused(1, "another name", "record", "-o", d + "/x.svg", "--summary-json", d + "/./x.svg",
                "--", "touch", d + "/ran")
        check(os.listdir(d) == [], "left, or run: %s" % os.listdir(d))


@kit.case
def closed_descriptors():
    """If krait is started with closed standard streams, none of its messages is written into one of
    its files. In the recorded command the same streams are closed."""
    with folder() as d:
        def record(closed, *args):
            words = " ".join(shlex.quote(a) for a in (kit.KRAIT, "record") + args)
            return subprocess.run(["sh", "-c", words + closed], stderr=subprocess.PIPE, timeout=60,
                                  encoding="utf-8", check=False, stdin=subprocess.DEVNULL)
        for closed in (" 2>&-", " >&- 2>&-", " <&- >&- 2>&-"):
            done = record(closed, "-o", d + "/x.folded", "--summary-json", d + "/x.json", "--",
                          kit.PYTHON, "-c", "import os\n"
                          "open = [n for n in (0, 1, 2) if os.path.exists('/proc/self/fd/%%d' %% n)]\n"
                          "os.mkdir('%s/open%%s' %% open); sum(range(10**7))" % d)
            check(done.returncode == 0, "%s: exit code %d" % (closed, done.returncode))
            with open(d + "/x.json") as f:
                json.load(f)
            with open(d + "/x.folded") as f:
                check(all(line.rsplit(" ", 1)[1].strip().isdigit() for line in f), "the output isn't folded stacks")
            left = [n for n, way in enumerate(("<&-", " >&-", "2>&-")) if way not in closed]
            os.rmdir("%s/open%s" % (d, left))
        words = "import os; os.mkdir('%s/python'); exit(os.path.exists('/proc/self/fd/1'))" % d
        done = subprocess.run(["sh", "-c", "exec '%s' top --json -- '%s' -c \"%s\" 2>&-" % (
            kit.KRAIT, kit.PYTHON, words)], stdout=subprocess.DEVNULL, timeout=60, check=False)
        check(done.returncode == 0 and os.path.exists(d + "/python"), "top: %r" % done)
        done = record(" >&-", "-f", "--", "touch", d + "/ran")
        check(done.returncode == 1 and "closed" in done.stderr, repr(done))
        check(not os.path.exists(d + "/ran"), "the command was run")


@kit.case
def stdout_by_name():
    """With -o /dev/stdout and a shell's >>, the older contents of the file stay, and so does the
    command's own output."""
    with folder() as d:
        with open(d + "/log", "w") as f:
            f.write("before\n")
        with open(d + "/log", "a") as f:
            done = subprocess.run([kit.KRAIT, "record", "--format", "folded", "-o", "/dev/stdout", "--",
                                   kit.PYTHON, "-c", "print('said'); sum(range(10**7))"], stdout=f,
                                  stderr=subprocess.PIPE, timeout=60, check=False)
        check(done.returncode == 0, repr(done))
        with open(d + "/log") as f:
            lines = f.read().splitlines()
        check(lines[:2] == ["before", "said"] and len(lines) > 2, str(lines[:3]))


@kit.case
def few_descriptors():
    """If RLIMIT_NOFILE allows only few descriptors, the error names that limit."""
    done = subprocess.run(["sh", "-c", "ulimit -n 24; exec '%s' record -d 1 -f" % kit.KRAIT],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    check(done.returncode == 1 and b"ulimit -n" in done.stderr, repr(done))


@kit.case
def proc_of_others():
    """Without /proc, with another PID namespace's /proc, without /sys, or without the kernel's type
    information, the error says which of these is missing, and not "no samples"."""
    kit.need("unshare")
    with folder() as d:
        for way, code, words, name in (
                (["-m"], 3, "umount -l /proc; ", "/proc"), (["-p", "-f"], 3, "", "/proc"), (["-m"], 1, "umount -l /sys; ", "/sys"),
                (["-m"], 3, "mount -t tmpfs none /sys/kernel/btf; ", "type information (BTF)")):
            line = words + "exec '%s' record -o %s/x.folded -- touch %s/ran" % (kit.KRAIT, d, d)
            done = subprocess.run(["unshare"] + way + ["sh", "-c", line], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                                  encoding="utf-8", check=False)
            check(done.returncode == code, "%s: exit code %d: %s" % (line, done.returncode, done.stderr))
            check(name in done.stderr.splitlines()[0], done.stderr)
            check(os.listdir(d) == [], "left, or run: %s" % os.listdir(d))


if __name__ == "__main__":
    sys.exit(kit.main())
