#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests the container image. umoci unpacks the image. runc runs it with the capabilities of
packaging/krait-pod.yaml and with the host's processes in view. The krait in the container
records one of these processes."""
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
import sandbox
from kit import ROOT, check, folder

BINARY = os.path.join(ROOT, "build", "static", "stripped", "krait")
ARCH = os.uname().machine
NAME = {"x86_64": "amd64", "aarch64": "arm64"}[ARCH]


def run(*command, **kw):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", **kw)
    check(done.returncode == 0, "%s: %s" % (" ".join(command[:3]), (done.stderr or done.stdout)[-500:]))
    return done.stdout


def make_image(path):
    env = dict(os.environ, SOURCE_DATE_EPOCH="1700000000")
    run("make", "-s", "STATIC=1", "stripped", cwd=ROOT)
    run(sys.executable, "-B", os.path.join(ROOT, "packaging", "oci.py"), path, "0", ARCH + "=" + BINARY, env=env)


@functools.lru_cache(maxsize=None)
def image():
    made = tempfile.TemporaryDirectory(prefix="krait-oci.")
    make_image(os.path.join(made.name, "image.tar"))
    return made


def unpack(d):
    """Returns the directory of the bundle that umoci makes of the image."""
    kit.need("umoci")
    layout, bundle = os.path.join(d, "layout"), os.path.join(d, "bundle")
    os.mkdir(layout)
    run("tar", "-C", layout, "-xf", os.path.join(image().name, "image.tar"))
    run("umoci", "unpack", "--image", layout + ":" + NAME, bundle)
    return bundle


def pod_capabilities():
    with open(os.path.join(ROOT, "packaging", "krait-pod.yaml")) as f:
        return ["CAP_" + name for name in re.findall(r'"([A-Z_]+)"', re.search(r"add: (\[.*\])", f.read()).group(1))]


def let_in(bundle, arguments, capabilities):
    """Gives the container the host's PID namespace and these capabilities. Takes away the cgroup
    file system: umoci asks for version 1, which some machines don't have."""
    path = os.path.join(bundle, "config.json")
    with open(path) as f:
        config = json.load(f)
    config["process"]["args"][1:] = arguments
    config["process"]["terminal"] = False
    config["process"]["noNewPrivileges"] = True
    config["process"]["capabilities"] = {kind: capabilities for kind in ("bounding", "effective", "permitted")}
    config["linux"]["namespaces"] = [n for n in config["linux"]["namespaces"] if n["type"] != "pid"]
    config["mounts"] = [m for m in config["mounts"] if m["type"] != "cgroup"]
    with open(path, "w") as f:
        json.dump(config, f)


@kit.case
def same_bytes():
    """Two images that are made of the same input have the same bytes, and the name of each blob is
    its hash."""
    with folder() as d:
        for name in "ab":
            make_image(os.path.join(d, name))
        run("cmp", os.path.join(d, "a"), os.path.join(d, "b"))
        run("tar", "-C", d, "-xf", os.path.join(d, "a"))
        blobs = os.path.join(d, "blobs", "sha256")
        sums = "".join("%s  %s\n" % (n, os.path.join(blobs, n)) for n in os.listdir(blobs))
        run("sha256sum", "-c", "--quiet", input=sums)


@kit.case
def records():
    """krait in the container records a Python program of the host, by its process number. The image
    contains krait alone."""
    kit.need("runc")
    with folder() as d, kit.python() as target:
        bundle = unpack(d)
        check(sorted(os.listdir(os.path.join(bundle, "rootfs"))) == ["krait", "tmp"], "more than krait is in it")
        let_in(bundle, ["record", "-p", str(target.pid), "-d", "0.5", "-f"], pod_capabilities())
        said = run("runc", "--root", os.path.join(d, "state"), "run", "-b", bundle, "krait-%d" % os.getpid())
        check(re.search(r"busy \(<string>:\d\)|busy", said), "no busy in: " + said[-300:])


def as_kubernetes(bundle, cgroup):
    """Gives the container a cgroup namespace and a mount of its own cgroup, as Kubernetes does."""
    path = os.path.join(bundle, "config.json")
    with open(path) as f:
        config = json.load(f)
    config["linux"]["namespaces"].append({"type": "cgroup"})
    config["linux"]["cgroupsPath"] = cgroup
    config["mounts"].append({"destination": "/sys/fs/cgroup", "type": "cgroup2", "source": "cgroup2", "options": ["ro"]})
    with open(path, "w") as f:
        json.dump(config, f)


# A script that stands for a host. Its processes have a PID namespace of their own, so that the
# first of them may be examined. It runs a program in the cgroup $1, and krait in a container beside
# the program.
HOST = """
"$3" -c "$4" & echo $! >"$1/cgroup.procs"
runc --root "$2/state" run -b "$2/bundle" "krait-$$-$5"
code=$?
kill -9 $!
exit $code
"""


@kit.case
def container_beside():
    """In a pod with a cgroup namespace of its own, `krait record --container` finds another
    container of the host. A user's cgroup with a container's name doesn't count as a container."""
    kit.need("runc")
    for owner in 0, sandbox.NOBODY:
        cgroups = ("krait-oci.slice", 0), ("user.slice", owner), ("docker-%s.scope" % sandbox.ID, owner)
        with folder() as d, sandbox.cgroup(*cgroups) as at:
            bundle = unpack(d)
            let_in(bundle, ["record", "--container", sandbox.ID[:12], "-d", "0.5", "-f"], pod_capabilities())
            as_kubernetes(bundle, "/krait-pod-%d" % os.getpid())
            done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", HOST, "sh", at, d, kit.PYTHON, kit.BUSY, str(owner)],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False)
            check(done.returncode == 0 and ("busy" in done.stdout) == (owner == 0), "%d %s %s" % (owner, done.stdout[-300:], done.stderr))
            check(owner == 0 or "user %d" % owner in done.stderr, done.stderr)


@kit.case
def says_what_lacks():
    """If the container lacks the pod's capabilities, krait says which of them it needs."""
    kit.need("runc")
    with folder() as d:
        bundle = unpack(d)
        let_in(bundle, ["record", "-d", "1", "-f"], ["CAP_SYS_PTRACE"])
        done = subprocess.run(["runc", "--root", os.path.join(d, "state"), "run", "-b", bundle, "krait-%d" % os.getpid()],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        check(done.returncode == 3 and "CAP_BPF, CAP_PERFMON missing" in done.stderr, "%d %s" % (done.returncode, done.stderr))


sys.exit(kit.main())
