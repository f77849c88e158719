#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A process counts as part of the container that its cgroup names only if nobody but root could
have given the cgroup that name.

The cgroups are real ones: root's own, and a subtree that a user was given, as systemd does."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import case, check, folder, krait
from sandbox import ID, NOBODY, cgroup

OTHER = "fedcba9876543210" * 4


@contextlib.contextmanager
def running_in(at):
    with kit.python() as running:
        with open(at + "/cgroup.procs", "w") as f:
            f.write(str(running.pid))
        yield running.pid
        running.stop(9)


def record(*args):
    """Returns (the samples of busy(), krait's messages, the containers that the samples' labels
    name)."""
    with folder() as d:
        out = d + "/x.pb.gz"
        done = krait("record", "-o", out, "-d", "0.5", "-F", "499", *args)
        check(done.returncode == 0, done.stderr)
        profile = kit.pprof.read(out)
        return (kit.share(profile, "busy")[1], done.stderr,
                {s.labels.get("container") for s in profile.samples} - {None, ""})


@case
def roots():
    """If root runs the container engine, krait finds the container by its id, and the samples have
    the id as a label."""
    with cgroup(("krait-test.slice", 0), ("docker-%s.scope" % ID, 0)) as at, running_in(at) as pid:
        samples, said, labels = record("--container", ID[:12])
        check(samples > 20, "%d samples: %s" % (samples, said))
        check(labels == {ID}, "labels: %s" % labels)
        check(krait("dump", "--container", ID[:12]).stdout.count("busy"), "dump doesn't find it")


@case
def delegated_to_the_container():
    """In a container, root can make more cgroups below the container's own. Processes in these
    cgroups count as part of the container, whatever names the cgroups have."""
    with cgroup(("krait-test.slice", 0), ("docker-%s.scope" % ID, NOBODY),
                ("docker-%s.scope" % OTHER, NOBODY)) as at, running_in(at) as pid:
        samples, said, labels = record("--container", ID[:12])
        check(samples > 20 and labels == {ID}, "%d samples, labels %s: %s" % (samples, labels, said))
        samples, said, _ = record("--container", OTHER[:12])
        check(not samples, "%d samples as what it says it is" % samples)
        check("user %d" % NOBODY in said, said)


@case
def users():
    """A cgroup to which a user gave a container's name doesn't count as that container. krait says
    why the cgroup doesn't count, and what the user can do."""
    with cgroup(("krait-test.slice", 0), ("user@%d.service" % NOBODY, NOBODY),
                ("docker-%s.scope" % ID, NOBODY)) as at, running_in(at) as pid:
        samples, said, _ = record("--container", ID[:12])
        check(not samples, "%d samples" % samples)
        check("user %d" % NOBODY in said and "process %d" % pid in said and "or that cgroup" in said, said)
        check(said.count("isn't counted as part of") == 1, "said more than once: %s" % said)
        samples, _, labels = record("-p", pid)
        check(samples > 20 and not labels, "%d samples, labelled %s" % (samples, labels))
        samples, _, _ = record("--cgroup", "*/docker-%s.scope" % ID)
        check(samples > 20, "--cgroup takes it in, as the message says: %d samples" % samples)
        done = krait("dump", "--container", ID[:12])
        check("busy" not in done.stdout and "user %d" % NOBODY in done.stderr, done.stderr)
        done = krait("dump", "--json", "-p", pid)
        check(not json.loads(done.stdout)["processes"][0]["container"], "dump names it")


def leave_cgroups(pid):
    """Moves the process to the root cgroup of each hierarchy."""
    with open("/proc/self/mounts") as f:
        for line in f:
            _, at, kind = line.split()[:3]
            if kind.startswith("cgroup"):
                with contextlib.suppress(OSError), open(at + "/cgroup.procs", "w") as procs:
                    procs.write(str(pid))
    with open("/proc/%d/cgroup" % pid) as f:
        if any(len(line.strip().split(":", 2)[2]) > 1 for line in f):
            raise kit.Skip("it can't leave its cgroups: mounts aren't asked")


# A script for a program in the root cgroup. In a user namespace of its own, it mounts a file over
# one that container engines mount.
MOUNTS = """
mkdir -p "$1/containers/%s" && touch "$1/containers/%s/hostname"
mount --bind "$1/containers/%s/hostname" /etc/hostname && exec "$2" -c "$3"
""" % (ID, ID, ID)


@case
def users_mounts():
    """Files that a user has mounted in a user namespace don't put a process into a container."""
    kit.need("unshare")
    if not os.path.exists("/etc/hostname"):
        raise kit.Skip("no /etc/hostname")
    with folder() as d:
        os.chmod(d, 0o777)
        with kit.Background("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNTS, "sh", d,
                            kit.PYTHON, kit.BUSY, user=NOBODY, group=NOBODY) as running:
            leave_cgroups(running.pid)
            time.sleep(0.5)
            if running.process.poll() is not None:
                raise kit.Skip("no user namespace for users")
            with open("/proc/%d/mountinfo" % running.pid) as f:
                check("containers/" + ID in f.read(), "its mount isn't there")
            samples, said, _ = record("--container", ID[:12])
            check(not samples, "%d samples" % samples)
            check("isn't counted as part of" in said, said)


# Programs that are written to files, because krait's kernel program reads only the beginning of a
# command line.
MOVES = """
import os, sys, time
def until(end):
    while time.process_time() < end: pass
def moves(to, group):
    until(0.1)
    with open(group + "/cgroup.procs", "w") as f: f.write(str(os.getpid()))
    os.chdir(to)
    print("moved", flush=True)
    until(0.5)
moves(*sys.argv[1:])
"""
STAYS = """
import time
def stays():
    while time.process_time() < 0.1: pass
stays()
"""


def start(group, directory, *args):
    """Starts a program that is in the cgroup @group and in @directory from its first moment."""
    enter = 'echo $$ > "$1/cgroup.procs" && cd "$2" && shift 2 && exec "$@"'
    return subprocess.Popen(["sh", "-c", enter, "sh", group, directory, kit.PYTHON, *args], stdout=subprocess.PIPE)


def move_late(recording, programs, group, directory, to, to_group):
    """While krait is stopped, a program starts and moves to another directory or cgroup, and then a
    second program starts where the first one was. krait must show each program in the directory
    and cgroup in which it is."""
    os.kill(recording.pid, signal.SIGSTOP)
    mover = start(group, directory, programs + "/moves.py", to, to_group)
    check(mover.stdout.readline() == b"moved\n", "it hasn't moved")
    os.kill(recording.pid, signal.SIGCONT)
    time.sleep(0.1)
    start(group, directory, programs + "/stays.py").wait()
    mover.wait()


@case
def moved():
    """While krait is stopped, a process has its first samples and then moves to another directory
    or cgroup. Only after that can krait read the process's directory and cgroup. krait must not
    use what it read for another process that starts where the first one did."""
    with cgroup(("krait-test.slice", 0), ("docker-%s.scope" % ID, 0)) as at, \
            cgroup(("krait-other.slice", 0), ("docker-%s.scope" % OTHER, 0)) as other, folder() as d:
        out, *dirs = (os.path.join(d, name) for name in ("x.pb.gz", "here", "there", "home"))
        for one in dirs:
            os.mkdir(one)
        here, there, home = dirs
        for name, text in ("moves", MOVES), ("stays", STAYS):
            with open("%s/%s.py" % (d, name), "w") as f:
                f.write(text)
        with kit.recorder(out, "-F", "999") as recording:
            kit.python().stop()  # now krait knows this interpreter
            move_late(recording, d, at, here, there, at)
            move_late(recording, d, at, home, home, other)
            recording.finish()
        profile = kit.pprof.read(out)
        labels = {s.labels.get("container") for s in profile.samples
                  if any(l.name == "stays" for l in profile.stack(s))}
        check(labels == {ID}, "labels: %s" % labels)
        check({"cwd: " + one for one in dirs} <= set(profile.comments), profile.comments)


if __name__ == "__main__":
    sys.exit(kit.main())
