#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait in containers that lack a right. krait's refusal names exactly that right, and the command
that it suggests works. Docker's current seccomp profile is from the Go module moby/profiles, the
older profile from Debian's package containers-common."""
import json
import os
import re
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
import sandbox
from kit import ROOT, case, check
from sandbox import DOCKER

RIGHTS = DOCKER + ("BPF", "PERFMON", "SYS_PTRACE")
BUSY = "def busy():\n  for i in range(4000000): i & 3\nbusy()"
COMMAND = ("/krait", "record", "-f", "--", "/usr/bin/python3", "-c", BUSY)


def from_go():
    """Returns Docker's seccomp profile default.json, from the Go module."""
    done = subprocess.run([ROOT + "/tests/setup/go.sh", "seccomp", "github.com/moby/profiles/seccomp@v0.2.3"], stdout=subprocess.PIPE,
                          encoding="utf-8", check=False)
    if done.returncode:
        raise kit.Skip(done.stdout.strip() or "moby/profiles can't be had")
    return json_of(done.stdout.strip() + "/default.json")


def from_debian():
    """Returns the older profile seccomp.json from the Debian package, which is unpacked and not
    installed."""
    at = os.path.join(kit.CACHE, "containers-common")
    os.makedirs(at, exist_ok=True)
    path = at + "/usr/share/containers/seccomp.json"
    if not os.path.exists(path):
        done = subprocess.run("cd '%s' && apt-get download -q golang-github-containers-common && dpkg -x golang-github-containers-common_*.deb ." % at,
                              shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        if done.returncode:
            raise kit.Skip("no golang-github-containers-common: " + done.stdout.strip()[-200:])
    return json_of(path)


def json_of(path):
    with open(path) as f:
        return json.load(f)


def ready():
    kit.need("runc")
    sandbox.static_krait()


def works(**kw):
    code, out, err = sandbox.run(*COMMAND, **kw)
    check(code == 0, "exit code %d: %s" % (code, err[-400:]))
    check("busy" in out, "no busy in what it recorded: " + out[-200:])
    code, out, _ = sandbox.run("/krait", "doctor", **kw)
    check(code == 0 and "krait can record here" in out, out)


def refused(*words, **kw):
    """Returns the sentence with which krait refuses. Checks that `record` and `top` both print this
    sentence, and that it is the only failed check in `krait doctor`."""
    said = None
    for command in COMMAND, ("/krait", "top", "-d", "1"):
        code, _, err = sandbox.run(*command, **kw)
        said = re.search(r"krait: error: (.*)", err)
        check(code == 3 and said and all(word in said[1] for word in words), "%d %s" % (code, err))
    code, out, _ = sandbox.run("/krait", "doctor", **kw)
    fails = re.findall(r"^  FAIL .*\n +-> (.*)", out, re.M)
    check(code == 3 and len(fails) == 1 and len(re.findall("^  FAIL", out, re.M)) == 1, out)
    check(fails[0] in said[1], "doctor says %r, not %r" % (fails[0], said[1]))
    return said[1]


def as_docker(said, profile, capabilities):
    """Returns the rights that a container gets from `docker run` with the options that krait's
    sentence names."""
    options = shlex.split(re.search(r"docker run (.*?) \.\.\.", said)[1])
    for option, value in zip(options[::2], options[1::2]):
        if option == "--cap-add":
            capabilities += (value,)
        elif (option, value) == ("--security-opt", "seccomp=unconfined"):
            profile = None
        elif (option, value) != ("--runtime", "runc"):
            raise AssertionError("docker run %s %s?" % (option, value))
    return {"profile": profile, "capabilities": capabilities}


def in_a_pod(said):
    """Returns the capabilities that krait's sentence suggests for a pod."""
    found = re.search(r"capabilities: \{add: \[(.*?)\]", said)
    return tuple(found[1].split(", ")) if found else ()


@case
def dockers_profile():
    """With Docker's current profile krait needs CAP_BPF and CAP_PERFMON. If one or both are
    missing, krait names the missing ones, and works with the options of docker run that it
    suggests."""
    ready()
    profile = from_go()
    works(profile=profile, capabilities=RIGHTS)
    said = refused("CAP_BPF, CAP_PERFMON missing", profile=profile)
    check(in_a_pod(said) == ("BPF", "PERFMON"), said)
    works(**as_docker(said, profile, DOCKER))
    said = refused("CAP_PERFMON missing", profile=profile, capabilities=DOCKER + ("BPF",))
    check("CAP_BPF" not in said, said)
    works(**as_docker(said, profile, DOCKER + ("BPF",)))


# A script that runs a program as another user. Its arguments are a krait command, to which it adds
# -p and the program's number.
OTHER = "setpriv --reuid 1000 --clear-groups /usr/bin/python3 -c '%s' & pid=$!; sleep 1; \"$@\" -p $pid; code=$?; kill -9 $pid; exit $code" % kit.BUSY


@case
def other_users():
    """To record another user's process, krait needs CAP_SYS_PTRACE. krait names it, and works with
    the options of docker run that it suggests."""
    ready()
    profile, least = from_go(), DOCKER + ("BPF", "PERFMON")
    for command in ("record", "-f", "-d", "1"), ("dump",):
        run = ("/bin/sh", "-c", OTHER, "sh", "/krait", *command)
        code, _, err = sandbox.run(*run, profile=profile, capabilities=least)
        check(code == 3 and "another user's" in err and "CAP_SYS_PTRACE is missing" in err, "%d %s" % (code, err))
        check(in_a_pod(err) == ("SYS_PTRACE",), err)
        code, out, err = sandbox.run(*run, **as_docker(err, profile, least))
        check(code == 0 and "busy" in out, "%d %s" % (code, err))


@case
def readme_recipe():
    """The capabilities that the README gives for Docker and for a pod are enough."""
    ready()
    with open(ROOT + "/README.md") as f:
        text = f.read()
    added = tuple(re.findall(r"--cap-add (\S+)", re.search(r"\n    docker run (.*)", text)[1]))
    check(added == in_a_pod(text) and "PERFMON" in added, "Docker: %s, pod: %s" % (added, in_a_pod(text)))
    works(profile=from_go(), capabilities=DOCKER + added)


@case
def older_profile():
    """An older profile allows bpf() with CAP_SYS_ADMIN only: krait's refusal names the missing
    capabilities. Once krait has them, the refusal names the profile."""
    ready()
    profile = from_debian()
    said = refused("CAP_BPF, CAP_PERFMON missing", profile=profile)
    one = as_docker(said, profile, DOCKER)
    said = refused("seccomp profile forbids bpf()", "Unconfined", **one)
    works(**as_docker(said, profile, one["capabilities"]))
    works(profile=profile, capabilities=RIGHTS + ("SYS_ADMIN",))


@case
def perf_forbidden():
    """One seccomp profile forbids only perf_event_open, another forbids bpf: krait's refusal says
    which of the two calls is forbidden."""
    ready()
    profile = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["perf_event_open"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]}
    said = refused("seccomp profile forbids perf_event_open()", profile=profile, capabilities=RIGHTS)
    works(**as_docker(said, profile, RIGHTS))


@case
def rootless():
    """In a user namespace of its own (a rootless container) krait can't work with any capability. A
    krait on the host can record the programs there."""
    ready()
    said = refused("user namespace", capabilities=RIGHTS, user=100000)
    check("on the host: sudo krait record" in said, said)
    with kit.folder() as d, in_background(d, "/usr/bin/python3", "-c", kit.BUSY, capabilities=RIGHTS, user=100000) as pid:
        done = kit.krait("record", "-p", pid, "-d", "1", "-f")
        check(done.returncode == 0 and "busy" in done.stdout, done.stderr)


class in_background:
    """A container that runs in the background; .pid is the process number of its program on the
    host."""

    def __init__(self, d, *args, **kw):
        os.chmod(d, 0o755)
        sandbox.bundle(d, list(args), **kw)
        self.base = ["runc", "--root", d + "/state"]
        self.name = "krait-b-%d" % os.getpid()
        self.d = d

    def __enter__(self):
        with open(self.d + "/log", "w") as log:
            done = subprocess.run([*self.base, "run", "-d", "--bundle", self.d, "--pid-file", self.d + "/pid", self.name], stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log, check=False)
        with open(self.d + "/log") as log:
            check(done.returncode == 0, log.read())
        with open(self.d + "/pid") as f:
            pid = int(f.read())
        kit.runs(pid, 0.2)
        return pid

    def __exit__(self, *_):
        subprocess.run([*self.base, "delete", "-f", self.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


@case
def nested_pid_namespace():
    """krait runs in a PID namespace inside the container's. -p takes process numbers of krait's own
    namespace."""
    ready()
    kit.need("unshare")
    inner = "/usr/bin/python3 -c '%s' & pid=$!; sleep 1; /krait record -f -p $pid -d 1; code=$?; kill -9 $pid; exit $code" % kit.BUSY
    code, out, err = sandbox.run("/usr/bin/unshare", "--pid", "--fork", "--mount", "--mount-proc", "/bin/sh", "-c", inner, profile=None,
                                 capabilities=RIGHTS + ("SYS_ADMIN",))
    check(code == 0 and "busy" in out, "%d %s %s" % (code, err[-300:], out[-100:]))


@case
def gvisor():
    """gVisor's kernel has no BPF: krait says so and suggests the runtime runc, with which it works.
    """
    ready()
    kit.need("runsc")
    runtime = ["runsc", "--network=none", "--ignore-cgroups", "--platform=ptrace"]
    code, out, err = sandbox.run("/bin/uname", "-r", runtime=runtime)
    if code or out.strip() != "4.4.0":
        raise kit.Skip("runsc doesn't run here: %s" % (err or out).strip()[-200:])
    # This version of runsc doesn't know CAP_BPF: it doesn't start a container with that capability.
    said = refused("krait runs in gVisor", runtime=runtime)
    works(**as_docker(said, from_go(), RIGHTS))


if __name__ == "__main__":
    sys.exit(kit.main())
