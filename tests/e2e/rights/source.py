#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Source text in pages. A recorded program can name any file in co_filename; krait must not show a
file that the user may not read. Each target program names such files, and runs code of each of
them in turn."""
import concurrent.futures
import itertools
import os
import shutil
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import Background, case, check

ALICE, BOB = 23001, 23002
NUMBERS = itertools.count()
NAMER = """
import sys
runs = []
for path in sys.argv[1:]:
    names = {}
    exec(compile("def seen(n):\\n    return sum(i * i for i in range(n))\\n", path, "exec"), names)
    runs.append(names["seen"])
while True:
    for run in runs:
        run(3000)
"""
TEXT = "def seen(n):\n    return sum(i * i for i in range(n))  # %s\n"


def write(path, word, uid=0, mode=0o644):
    with open(path, "w") as f:
        f.write(TEXT % word)
    os.chmod(path, mode)
    os.chown(path, uid, uid)
    return path


def as_user(uid, *command):
    return ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups", *map(str, command)]


def record(d, target, *args, sudo=None, command=()):
    """Records the target. Returns the source text in the page. @sudo: the user who calls krait by
    sudo, so that krait runs as root."""
    page = os.path.join(d, "page%d.html" % next(NUMBERS))
    env = dict(os.environ, SUDO_UID=str(sudo), SUDO_GID=str(sudo)) if sudo else None
    done = subprocess.run([*command, kit.KRAIT, "record", "-p", str(target), "-d", "0.4", "--native=none", "-o", page,
                           *args], capture_output=True, timeout=60, env=env)
    check(done.returncode == 0, done.stderr.decode()[:300])
    out = kit.page_text(page)
    os.unlink(page)
    for path, text in out.items():
        check("root:" not in (text or "") and "SECRET" not in (text or ""), "%s is shown" % path)
    return out


def shows(want, *args, **kw):
    """Returns the files whose text a page shows. Records up to four times until no file of @want is
    missing, because on a busy machine not every function is sampled."""
    for _ in range(4):
        got = set(record(*args, **kw))
        if not got < want:
            break
    return got


class Places:
    """Makes files of root, alice and bob, and names that don't lead to regular files."""

    def __init__(self, d):
        self.d = d
        os.chmod(d, 0o777)
        at = lambda name: os.path.join(d, name)
        os.mkdir(at("hidden"), 0o700)
        write(at("hidden/x.py"), "SECRET of root")
        os.mkdir(at("bobs"))
        self.in_bobs = write(at("bobs/x.py"), "in bob's own folder", ALICE)
        os.chmod(at("bobs"), 0o700)
        os.chown(at("bobs"), BOB, BOB)
        os.symlink("/etc/shadow", at("link.py"))
        os.symlink(at("hidden"), at("linked"))
        write(at("root.py"), "SECRET of root", 0, 0o600)
        os.link(at("root.py"), at("hard.py"))
        os.mkfifo(at("fifo.py"), 0o666)
        os.mknod(at("zero.py"), 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        os.mkdir(at("dir.py"))
        with open(at("huge.py"), "w") as f:
            f.truncate(1 << 40)
        os.chmod(at("huge.py"), 0o644)
        self.bad = ["/etc/shadow", "/proc/self/environ", "/proc/self/root/etc/shadow",
                    "/proc/self/cwd/../etc/shadow", "/etc/../etc/shadow", "shadow.py"]
        self.bad += [at(n) for n in ("link.py", "linked/x.py", "hard.py", "fifo.py", "zero.py",
                                     "dir.py", "huge.py", "none.py", "hidden/x.py", "root.py")]
        self.alice, self.alice_private = (write(at("alice.py"), "alice", ALICE),
                                          write(at("alice2.py"), "alice's own", ALICE, 0o600))
        self.bob, self.bob_private = (write(at("bob.py"), "bob", BOB),
                                      write(at("bob2.py"), "bob's own", BOB, 0o600))
        self.good = [self.alice, self.alice_private, self.bob, self.bob_private, self.in_bobs]

    def target(self, uid):
        running = Background(*as_user(uid, kit.PYTHON, "-c", NAMER, *self.bad, *self.good), cwd="/")
        time.sleep(0.3)
        return running


@case
def who_may_read():
    """A page shows a file only if both the user who runs krait and the owner of the target can read
    it. By default the page shows only files that belong to the user who runs krait."""
    kit.need("setpriv")
    with kit.folder() as d:
        p = Places(d)
        with p.target(ALICE) as alice, p.target(BOB) as bob:
            asked = (
                    (None, alice, [], set()),
                    (None, alice, ["--source"], {p.alice, p.alice_private, p.bob}),
                    (None, bob, ["--source"], {p.alice, p.bob, p.bob_private, p.in_bobs}),
                    (ALICE, alice, [], {p.alice, p.alice_private}),
                    (ALICE, bob, [], {p.alice}),
                    (ALICE, bob, ["--source"], {p.alice, p.bob}),
                    (BOB, alice, ["--source"], {p.alice, p.bob}))
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                pages = list(pool.map(lambda a: shows(a[3], d, a[1].pid, *a[2], sudo=a[0]), asked))
            for (asker, target, args, want), got in zip(asked, pages):
                check(got == want, "%s asks for %s's with %s: %s" % (
                    asker or "root", "alice" if target is alice else "bob", args, sorted(got)))


# A program with code that has no file. linecache has the code's texts. Some of these texts aren't
# lists of lines, or belong to other code.
MAKER = """
import linecache, sys
good = ["def seen(n):\\n", "    return sum(i * i for i in range(n))  # \u6f22\\t%s\\n" % sys.argv[1]]
entries = {"<made>": good, "<long line>": good + ["#" * 70000], "<long>": good + ["# 60 bytes" * 6 + "\\n"] * 5000,
           "<joined>": ["".join(good)], "<numbers>": good + [7], "<nul>": good + ["\\0\\n"], "<tuple>": tuple(good), "<endless>": good * 20000,
           "<lazy>": good, "<other>": ["def another(n):\\n", good[1]], "<string>": good}
runs = []
for file, lines in entries.items():
    linecache.cache[file] = 1, None, lines, file
    names = {}
    exec(compile("".join(good), file, "exec"), names)
    runs.append(names["seen"])
linecache.cache["<lazy>"] = ("".join(good),)
while True:
    for run in runs:
        run(3000)
"""


@case
def memory():
    """Text that exists only in the process's memory is shown to the process's user, and to root
    only with --source. Text that isn't a list of lines isn't shown."""
    kit.need("setpriv")
    made = "def seen(n):\n    return sum(i * i for i in range(n))  # \u6f22\t%s\n"
    with kit.folder() as d:
        os.chmod(d, 0o777)
        maker = lambda uid, word: Background(*as_user(uid, kit.PYTHON, "-c", MAKER, word), cwd="/")
        with maker(ALICE, "alice") as alice, maker(BOB, "bob") as bob:
            time.sleep(0.5)
            for asker, args, want in ((None, [], {}), (None, ["--source"], {"<made>": made % "alice", "<other>": None}),
                                      (ALICE, [], {"<made>": made % "alice", "<other>": None}), (ALICE, ["--no-source"], {}),
                                      (BOB, ["--source"], {})):
                for _ in range(4):
                    got = record(d, alice.pid, *args, sudo=asker)
                    if len(got) >= max(len(want), 1):
                        break
                check(got == want, "%s asks with %s: %s" % (asker or "root", args, got))
            for _ in range(4):
                got = record(d, alice.pid, "--source", "-p", str(bob.pid))
                if got:
                    break
            check(got == {"<made>": None, "<other>": None}, "two processes, two texts: %s" % got)


# A program that runs code whose file name is "<made>". If argv[1] is "", linecache has no text of
# this code.
ONE = """
import linecache, sys
good = ["def seen(n):\\n", "    return sum(i * i for i in range(n))\\n"]
if sys.argv[1]:
    linecache.cache["<made>"] = 1, None, good, "<made>"
names = {}
exec(compile("".join(good), "<made>", "exec"), names)
while True:
    names["seen"](3000)
"""


@kit.full_case
def memory_of_several():
    """Two processes have code with the same file name: the page shows a text for the name only if
    krait can get this text from both."""
    kit.need("setpriv")
    with kit.folder() as d:
        os.chmod(d, 0o777)
        one = lambda uid, word: Background(*as_user(uid, kit.PYTHON, "-c", ONE, word), cwd="/")
        with one(ALICE, "x") as alice, one(BOB, "x") as bob, one(ALICE, "") as none, one(ALICE, "x") as twin:
            mixed = Background("setpriv", "--ruid=%d" % BOB, "--euid=%d" % ALICE, "--clear-groups", kit.PYTHON, "-c", ONE, "x", cwd="/")
            with mixed:
                for running in (alice, bob, none, twin, mixed):
                    kit.runs(running.pid, 0.2)
                for what, other, shown in (("twin", twin, True), ("another user's", bob, False), ("without text", none, False), ("of two users", mixed, False)):
                    got = record(d, alice.pid, "-p", str(other.pid), "-d", "1", sudo=ALICE)
                    check(bool(got.get("<made>")) == shown, "%s: %s" % (what, got))


@case
def unprivileged():
    """An ordinary user's krait uses none of its capabilities for reading source files."""
    kit.need("setpriv")
    caps = "+bpf,+perfmon,+dac_read_search,+sys_ptrace"
    with kit.folder() as d:
        p = Places(d)
        krait = os.path.join(d, "krait")
        shutil.copy(kit.KRAIT, krait)
        command = ["setpriv", "--reuid=%d" % ALICE, "--regid=%d" % ALICE, "--clear-groups",
                   "--inh-caps=-all," + caps, "--ambient-caps=-all," + caps, "--"]
        kit.KRAIT, ours = krait, kit.KRAIT
        try:
            with p.target(ALICE) as alice, p.target(BOB) as bob:
                want = {p.alice, p.alice_private, p.bob}
                got = shows(want, d, alice.pid, "--source", command=command)
                check(got == want, str(sorted(got)))
                got = record(d, bob.pid, "--source", command=command)
                check(not got, "bob's: %s" % sorted(got))
        finally:
            kit.KRAIT = ours


@case
def container():
    """krait opens a container's file in the container's own root directory, out of which no link
    leads. It does so while the container runs."""
    kit.need("unshare")
    with kit.folder() as d:
        os.chmod(d, 0o777)
        app = os.path.join(d, "app")
        os.mkdir(app)
        write(os.path.join(d, "secret.py"), "SECRET of the host")
        write(os.path.join(app, "ok.py"), "HOST")
        tree = os.path.join(d, "tree")
        os.mkdir(tree)
        setup = ("mount --make-rprivate / && mount --rbind / {t} && mount -t tmpfs none {t}{a} && "
                 "cp {d}/inside.py {t}{a}/ok.py && ln -s ../../../../../..{d}/secret.py {t}{a}/up.py && "
                 "ln -s /proc/1/root{d} {t}{a}/magic && mount -t tmpfs -o mode=755 none {t}{d}/hid && "
                 'chroot {t} {python} -c "$0" "$@"; exit').format(t=tree, a=app, d=d, python=kit.PYTHON)
        os.mkdir(os.path.join(d, "hid"))
        write(os.path.join(d, "hid", "y.py"), "SECRET that only the host has")
        write(os.path.join(d, "inside.py"), "CONTAINER")
        named = [app + "/ok.py", app + "/up.py", app + "/magic/secret.py", d + "/hid/y.py",
                 "/etc/shadow", "/proc/1/root%s/hid/y.py" % d]
        arguments = ["unshare", "-m", "sh", "-c", setup, NAMER, *named]
        with Background(*arguments) as target:
            time.sleep(0.4)
            got = record(d, target.pid, "--source")
            check(list(got) == [named[0]] and "CONTAINER" in got[named[0]], str(got))
            check(not record(d, target.pid, "--source", sudo=ALICE), "alice can't enter it")
        page = os.path.join(d, "page.html")
        with Background(*arguments) as target:
            time.sleep(0.4)
            with kit.recorder(page, "-p", target.pid, "-d", "20", "--source", "--native=none") as recorder:
                time.sleep(0.5)
                target.stop(9)  # the target's mount namespace ends with the target
                recorder.process.wait(20)
        got = kit.page_text(page)
        check(list(got) == [named[0]] and "CONTAINER" in got[named[0]], "after its end: %s" % got)


@case
def changed():
    """If a file was replaced when the process had already begun, the page says that the file
    changed, even if the new file's time of modification is old."""
    with kit.folder() as d:
        os.chmod(d, 0o755)
        old, new = write(os.path.join(d, "old.py"), "OLD"), os.path.join(d, "new.py")
        same = write(os.path.join(d, "same.py"), "SAME")
        with Background(kit.PYTHON, "-c", NAMER, old, same) as target:
            time.sleep(0.4)
            write(new, "NEW")
            os.utime(new, (1, 1))
            os.rename(new, old)
            recording = os.path.join(d, "x.pb.gz")
            done = kit.krait("record", "-p", target.pid, "-d", "0.4", "-o", recording)
            text = kit.krait("report", recording, "--format", "md", "--source").stdout
            check("SAME" in text and "the file changed since" in text and "NEW" not in text,
                  done.stderr + text)
            got = record(d, target.pid)
            check(got.get(old, "") is None and "SAME" in got.get(same, ""), str(got))


if __name__ == "__main__":
    sys.exit(kit.main())
