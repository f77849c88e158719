#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The container image: umoci unpacks it, runc runs it with the capabilities of
packaging/krait-pod.yaml and the host's processes, and it records one of them."""
import json
import os
import re
import subprocess
import sys

import kit
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


def unpack(d):
    """Returns the bundle that umoci makes of the image."""
    kit.need("umoci")
    make_image(os.path.join(d, "image.tar"))
    layout, bundle = os.path.join(d, "layout"), os.path.join(d, "bundle")
    os.mkdir(layout)
    run("tar", "-C", layout, "-xf", os.path.join(d, "image.tar"))
    run("umoci", "unpack", "--image", layout + ":" + NAME, bundle)
    return bundle


def pod_capabilities():
    with open(os.path.join(ROOT, "packaging", "krait-pod.yaml")) as f:
        return ["CAP_" + name for name in re.findall(r'"([A-Z_]+)"', re.search(r"add: (\[.*\])", f.read()).group(1))]


def let_in(bundle, arguments, capabilities):
    """Gives the container the host's process namespace and these capabilities. Takes away the
    cgroup file system, which umoci asks for in version 1 and some machines don't have."""
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
    """Two images made of the same input are the same bytes, and each blob has the hash in its
    name."""
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
    """Records a Python program of the host, by its number. The image holds krait alone."""
    kit.need("runc")
    with folder() as d, kit.python() as target:
        bundle = unpack(d)
        check(sorted(os.listdir(os.path.join(bundle, "rootfs"))) == ["krait", "tmp"], "more than krait is in it")
        let_in(bundle, ["record", "-p", str(target.pid), "-d", "1", "-f"], pod_capabilities())
        said = run("runc", "--root", os.path.join(d, "state"), "run", "-b", bundle, "krait-%d" % os.getpid())
        check(re.search(r"busy \(<string>:\d\)|busy", said), "no busy in: " + said[-300:])


@kit.case
def says_what_lacks():
    """Without the pod's capabilities krait says which ones it needs."""
    kit.need("runc")
    with folder() as d:
        bundle = unpack(d)
        let_in(bundle, ["record", "-d", "1", "-f"], ["CAP_SYS_PTRACE"])
        done = subprocess.run(["runc", "--root", os.path.join(d, "state"), "run", "-b", bundle, "krait-%d" % os.getpid()],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        check(done.returncode == 3 and "CAP_BPF, CAP_PERFMON missing" in done.stderr, "%d %s" % (done.returncode, done.stderr))


sys.exit(kit.main())
