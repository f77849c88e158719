#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Output files in directories where other users can also write: what another user puts there
(links, FIFOs, hard links, files) never makes root, or the user behind sudo, write to another
file than the one that was named. The truth is the victim's file itself. This script needs no
other file of the tests, because tests/vm runs it under Debian's own kernels too. Wants root;
KRAIT= names the binary."""
import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

KRAIT = os.environ.get("KRAIT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../build/release/krait"))
MALLORY, ALICE = 23011, 23012
SECRET = "the victim's own text\n"
SYSCTLS = ["/proc/sys/fs/protected_%s" % name for name in ("symlinks", "hardlinks", "fifos", "regular")]
CASES = []


def case(function):
    CASES.append(function)
    return function


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def put(path, text=SECRET, uid=0, mode=0o600):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    os.chown(path, uid, uid)
    return path


def plant(target, path, uid=MALLORY):
    os.symlink(target, path)
    os.lchown(path, uid, uid)
    return path


class Place:
    """A directory to which everybody may write, and a directory of the victim, with a secret in it.
    """

    def __init__(self, d, mode=0o1777, victim=0):
        self.open, self.private = d + "/open", d + "/private"
        for path, owner in ((self.open, 0), (self.private, victim)):
            os.mkdir(path)
            os.chown(path, owner, owner)
        os.chmod(d, 0o755)
        os.chmod(self.open, mode)
        os.chmod(self.private, 0o711)
        self.secret, self.new = put(self.private + "/secret", uid=victim), self.private + "/new"
        self.before = os.stat(self.secret)
        self.folded = put(d + "/a.folded", "main (a.py:1);work (a.py:2) 10\n", mode=0o644)

    def check_untouched(self, what):
        now = os.stat(self.secret)
        with open(self.secret) as f:
            check(f.read() == SECRET, what + ": the victim's file was written")
        check((now.st_ino, now.st_mtime_ns, now.st_mode, now.st_nlink) ==
              (self.before.st_ino, self.before.st_mtime_ns, self.before.st_mode, self.before.st_nlink),
              what + ": the victim's file was replaced")
        names = os.listdir(self.private)
        check(names == ["secret"], what + ": made in the victim's directory: %s" % names)


@contextlib.contextmanager
def place(**kw):
    with tempfile.TemporaryDirectory(prefix="krait-planted.") as d:
        yield Place(d, **kw)


def krait(*args, sudo=None, **kw):
    env = dict(os.environ, **({"SUDO_UID": str(sudo), "SUDO_GID": str(sudo)} if sudo else {}))
    return subprocess.run([KRAIT, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", timeout=30, check=False, env=env, **kw)


def writers(p, out):
    """Yields every krait command that takes the name of an output file."""
    yield "report", ["report", p.folded, "-o", out, "--format", "html"]
    yield "merge", ["merge", p.folded, p.folded, "-o", out, "--format", "pprof"]
    yield "diff", ["diff", p.folded, p.folded, "-o", out, "--format", "html"]
    yield "record", ["record", "-o", out, "--format", "folded", "--", "touch", p.open + "/ran"]
    yield "summary", ["record", "-o", "/dev/null", "--format", "folded", "--summary-json", out, "--",
                      "touch", p.open + "/ran"]


def refused(p, out, sudo=None):
    """Checks that none of the commands writes to @out, and that each command names the user who put
    the file there."""
    for name, command in writers(p, out):
        done = krait(*command, sudo=sudo)
        p.check_untouched(name)
        check(done.returncode == 1, "%s: exit code %d: %s" % (name, done.returncode, done.stderr))
        check("of another user (%d)" % MALLORY in done.stderr, "%s: %s" % (name, done.stderr))
        check(not os.path.exists(p.open + "/ran"), name + ": the command was run")


def accepted(p, out, real, owner=0, sudo=None):
    """Checks that krait writes a report to @out, and that the report is then in the file @real."""
    done = krait("report", p.folded, "-o", out, "--format", "folded", sudo=sudo)
    check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr))
    with open(real) as f:
        check("work (a.py:2) 10" in f.read(), real + " has no report")
    check(os.lstat(real).st_uid == owner, "%s belongs to %d" % (real, os.lstat(real).st_uid))


@contextlib.contextmanager
def protected(value):
    """In a with block, turns the kernel's own protections of links and FIFOs all on or all off."""
    before = []
    try:
        for path in SYSCTLS:
            with open(path) as f:
                before.append((path, f.read()))
            with open(path, "w") as f:
                f.write(value)
        yield
    finally:
        for path, old in before:
            with open(path, "w") as f:
                f.write(old)


def under_both(function):
    def run():
        for value in "01":
            with protected(value):
                try:
                    function()
                except AssertionError as error:
                    raise AssertionError("protected_*=%s: %s" % (value, error)) from None
    run.__name__ = function.__name__
    return case(run)


@under_both
def link_to_a_file():
    with place() as p:
        refused(p, plant(p.secret, p.open + "/x"))


@under_both
def link_to_nothing_yet():
    with place() as p:
        refused(p, plant(p.new, p.open + "/x"))
        refused(p, plant("../private/new", p.open + "/y"))


@under_both
def link_to_a_device():
    with place() as p:
        refused(p, plant("/dev/null", p.open + "/x"))


@under_both
def link_behind_a_link():
    """A link of root's own leads to another user's link, or another user's link leads to root's:
    krait follows neither of the two chains."""
    with place() as p:
        plant(p.secret, p.open + "/x")
        own = plant(p.open + "/x", os.path.dirname(p.open) + "/own", uid=0)
        refused(p, own)
        plant(own, p.open + "/y")
        refused(p, p.open + "/y")


@under_both
def link_as_a_directory():
    """The kernel follows any user's link in the middle of a path; krait doesn't follow the link of
    another user."""
    with place() as p:
        plant(p.private, p.open + "/d")
        refused(p, p.open + "/d/new")
        refused(p, p.open + "/d/../private/secret")


@under_both
def no_sticky_bit():
    with place(mode=0o777) as p:
        refused(p, plant(p.secret, p.open + "/x"))


@under_both
def fifo():
    """krait doesn't write to another user's FIFO, because whoever reads the FIFO would get the
    recording."""
    with place() as p:
        os.mkfifo(p.open + "/x")
        os.chown(p.open + "/x", MALLORY, MALLORY)
        reader = os.open(p.open + "/x", os.O_RDONLY | os.O_NONBLOCK)
        refused(p, p.open + "/x")
        check(os.read(reader, 1) == b"", "something came through")
        os.close(reader)


@under_both
def hard_link():
    """If the output's name is a hard link to the victim's file, krait replaces the link by a new
    file, and leaves the victim's file as it was."""
    with place() as p:
        os.link(p.secret, p.open + "/x")
        p.before = os.stat(p.secret)
        accepted(p, p.open + "/x", p.open + "/x")
        with open(p.secret) as f:
            check(f.read() == SECRET, "written through a hard link")


@under_both
def behind_sudo():
    """The files of the user who called sudo are as safe as root's. krait follows that user's own
    links."""
    with place(victim=ALICE) as p:
        refused(p, plant(p.secret, p.open + "/x"), sudo=ALICE)
        refused(p, plant(p.new, p.open + "/y"), sudo=ALICE)
        accepted(p, plant(p.secret, p.open + "/own", uid=ALICE), p.secret, owner=ALICE, sudo=ALICE)
    # The secret is root's: Alice can't write to this file, and so can't write to it through krait
    # either.
    with place() as p:
        plant(p.secret, p.open + "/own", uid=ALICE)
        done = krait("report", p.folded, "-o", p.open + "/own", "--format", "folded", sudo=ALICE)
        check(done.returncode == 1 and "Permission denied" in done.stderr, done.stderr)
        p.check_untouched("report")


@under_both
def honest_links():
    """krait follows links of root, links of the directory's owner, and any link in a directory that
    only its owner can write to."""
    with place() as p:
        accepted(p, plant(p.secret, p.open + "/own", uid=0), p.secret)
        accepted(p, plant("../private/new", p.open + "/fresh", uid=0), p.new)
        check(os.path.islink(p.open + "/own"), "the link itself was replaced")
    with place() as p:
        os.chown(p.open, MALLORY, MALLORY)
        accepted(p, plant(p.secret, p.open + "/x"), p.secret)
    with place(mode=0o755) as p:
        accepted(p, plant(p.secret, p.open + "/x"), p.secret)


@under_both
def devices():
    """krait writes to devices, and to descriptors such as /dev/fd/3, as they are. It replaces none
    of them."""
    with place() as p:
        done = krait("report", p.folded, "-o", "/dev/stdout", "--format", "folded")
        check("work (a.py:2) 10" in done.stdout, "/dev/stdout: " + done.stderr)
        with open(p.open + "/handed", "w+") as f:
            krait("report", p.folded, "-o", "/dev/fd/%d" % f.fileno(), "--format", "folded", pass_fds=[f.fileno()])
            check("work (a.py:2) 10" in f.read(), "/dev/fd")
        check(krait("report", p.folded, "-o", "/dev/null", "--format", "html").returncode == 0, "/dev/null")
        done = krait("report", p.folded, "-o", "/dev/full", "--format", "html")
        check(done.returncode == 1 and "No space left" in done.stderr, "/dev/full: " + done.stderr)
        for node in ("/dev/null", "/dev/full"):
            check(stat.S_ISCHR(os.stat(node).st_mode), node + " is no device any more")


@case
def no_symlinks_of_a_mount():
    """krait also refuses to follow a link that only the kernel forbids, here by the mount option
    nosymfollow (since 5.10)."""
    with place(mode=0o755) as p:
        mount = ["mount", "-t", "tmpfs", "-o", "nosymfollow", "none", p.open]
        if shutil.which("mount") is None or subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode:
            print("SKIP planted no_symlinks_of_a_mount: no such mounts here")
            return
        try:
            plant(p.secret, p.open + "/x", uid=0)
            done = krait("report", p.folded, "-o", p.open + "/x", "--format", "folded")
            check(done.returncode == 1 and "symbolic links" in done.stderr, done.stderr)
            p.check_untouched("report")
        finally:
            subprocess.run(["umount", p.open], check=True)


@under_both
def default_name():
    """Another user can guess the file name that krait chooses by default, and put links there.
    krait follows none of these links, and writes a new file."""
    # this program has samples; without samples krait would write no page
    busy = ("record", "--", sys.executable, "-c", "sum(range(10**7))")
    with place() as p, tempfile.TemporaryDirectory() as before:
        krait(*busy, cwd=before)
        stem = os.listdir(before)[0][:-len("20260101-000000.html")]
        now = time.time()
        for after in range(-1, 60):
            stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now + after))
            plant(p.secret, p.open + "/%s%s.html" % (stem, stamp))
        done = krait(*busy, cwd=p.open)
        check(done.returncode == 0, done.stderr)
        p.check_untouched("record")
        made = [f for f in os.listdir(p.open) if not os.path.islink(os.path.join(p.open, f))]
        check(len(made) == 1, "%s" % made)


@case
def exchanged_meanwhile():
    """Another process replaces the output file by a link, and the link by a file, as fast as it
    can: krait never writes through the link."""
    with place(mode=0o777) as p:
        out, other = p.open + "/x", p.open + "/other"
        child = os.fork()
        if not child:
            os.setresuid(MALLORY, MALLORY, MALLORY)
            while True:
                with contextlib.suppress(OSError):
                    os.symlink(p.secret, other)
                    os.rename(other, out)
                with contextlib.suppress(OSError):
                    os.close(os.open(other, os.O_CREAT | os.O_WRONLY, 0o666))
                    os.rename(other, out)
        try:
            done = [krait("report", p.folded, "-o", out, "--format", "folded").returncode for _ in range(150)]
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        p.check_untouched("report")
        check(0 in done and 1 in done, "the two never met: exit codes %s" % set(done))


def main():
    if os.getuid() != 0:
        print("SKIP planted: needs root")
        return 0
    # on SIGTERM this script exits, so that it restores the settings that it changed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("FAIL planted: terminated"))
    os.umask(0o022)
    failed = 0
    for function in CASES:
        if sys.argv[1:] and function.__name__ not in sys.argv[1:]:
            continue
        try:
            function()
            print("PASS planted " + function.__name__, flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            failed = 1
            print("FAIL planted %s: %s" % (function.__name__, str(error).replace("\n", " | ")), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
