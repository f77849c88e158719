#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The labels "service" and "version" come from a program's environment variables and from git. git
itself says which version is right."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import case, check, folder, krait


def git(directory, *words):
    return subprocess.run(["git", "-C", directory, "-c", "user.name=a", "-c", "user.email=a@b", *words],
                          check=True, capture_output=True, text=True).stdout.strip()


def labels_of(profile, pid):
    """Returns (the services, the versions) that the labels of a process's samples have, as sets."""
    found = [s.labels for s in profile.samples if s.labels.get("pid") == str(pid)]
    check(found, "no sample of %d" % pid)
    return {l.get("service") for l in found}, {l.get("version") for l in found}


@case
def variables_and_git():
    """Each process has the service and the version that its own variables name. Without such
    variables, the service is the unit or the script, and the version is the commit that is
    checked out in the process's directory. The file doesn't contain a secret that is in the
    variables."""
    kit.need("git")
    with folder() as d:
        git(d, "init", "-q")
        git(d, "commit", "-q", "--allow-empty", "-m", "x")
        commit = git(d, "rev-parse", "HEAD")
        inner, out = d + "/src", d + "/x.pb.gz"
        os.mkdir(inner)
        env = dict(os.environ, OTEL_RESOURCE_ATTRIBUTES="service.version=2.1,service.name=front%20end", SECRET="xyzzy-secret")
        with kit.python(cwd=inner) as plain, kit.python(cwd=inner, env=dict(env, DD_SERVICE="dd")) as named:
            done = krait("record", "-p", plain.pid, "-p", named.pid, "-d", "0.5", "-F", "499", "-o", out, "--service-from", "otel,dd,script")
            check(done.returncode == 0, done.stderr)
            profile = kit.pprof.read(out)
            check(labels_of(profile, named.pid) == ({"front end"}, {"2.1"}), labels_of(profile, named.pid))
            check(labels_of(profile, plain.pid) == ({"%s -c" % os.path.basename(kit.PYTHON)}, {commit[:12]}), labels_of(profile, plain.pid))
            check(not any("xyzzy" in str(s) for s in profile.strings), "the file has a secret")
            shown = krait("report", out, "--by", "service", "-o", "-", "--format", "folded").stdout
            check({line.split(";")[1] for line in shown.splitlines()} == {"front end", "%s -c" % os.path.basename(kit.PYTHON)}, shown[:300])


@case
def by_service_asks_for_it():
    """--by service needs no --service-from; without either option, no sample has the label
    "service"."""
    with kit.python(env=dict(os.environ, DD_SERVICE="shop")) as target:
        by = krait("record", "-p", target.pid, "-d", "0.3", "-f", "--by", "service")
        check(by.stdout and all(line.startswith("shop;") for line in by.stdout.splitlines()), by.stdout[:300] + by.stderr)
        with folder() as d:
            done = krait("record", "-p", target.pid, "-d", "0.3", "-o", d + "/x.pb.gz")
            check(done.returncode == 0, done.stderr)
            check(labels_of(kit.pprof.read(d + "/x.pb.gz"), target.pid) == ({None}, {None}), "labels that nobody asked for")


# A script that makes an image and runs a container of it, which krait then records. Podman's
# storage is a mount that only the script's mount namespace sees. $1: a directory, $2: the
# container's name, $3: krait, $4: Python.
PODMAN = """
set -e
mount --make-rprivate /
mkdir -p /var/lib/containers "$1/root/tmp"
mount -t tmpfs none /var/lib/containers
pod() { timeout 60 podman --runroot "$1/run" --storage-driver vfs --cgroup-manager cgroupfs --events-backend file "${@:2}"; }
trap 'pod "$1" rm -f -t 0 "$2" >/dev/null 2>&1' EXIT
tar -C "$1/root" -cf "$1/root.tar" .
pod "$1" import "$1/root.tar" registry.example/team/shop:1.2 >/dev/null
pod "$1" run -d --name "$2" --network none --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 -v /usr:/usr -v /lib:/lib -v /lib64:/lib64 \
	registry.example/team/shop:1.2 "$4" -c 'while True: pass' >/dev/null
"$3" record -p "$(pod "$1" inspect -f '{{.State.Pid}}' "$2")" -d 0.5 -F 499 -o "$1/x.pb.gz" --service-from container
"""


@case
def podman():
    """A process runs in a container of Podman: its label "service" is the container's name,
    "version" the tag of the image, and "image" the image's name with the tag, as Podman's own
    files say."""
    kit.need("podman")
    name = "krait-web-%d" % os.getpid()
    with folder() as d:
        done = subprocess.run(["unshare", "-m", "bash", "-c", PODMAN, "bash", d, name, kit.KRAIT, kit.PYTHON], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False)
        check(done.returncode == 0, done.stderr)
        found = {tuple(s.labels.get(key) for key in ("service", "version", "image")) for s in kit.pprof.read(d + "/x.pb.gz").samples}
        check(found == {(name, "1.2", "registry.example/team/shop:1.2")}, found)


if __name__ == "__main__":
    sys.exit(kit.main())
