# SPDX-License-Identifier: BSD-2-Clause
"""Makes containers as Docker starts them, but with runc and without Docker: capabilities, seccomp
profile, namespaces. They contain krait as one static file, and this machine's /usr, which has a
Python."""
import contextlib
import json
import os
import platform
import re
import subprocess

import kit
from kit import ROOT, check

KRAIT = os.path.join(ROOT, "build", "static", "stripped", "krait")
# The capabilities that Docker gives to a container: daemon/pkg/oci/caps/defaults.go.
DOCKER = ("CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT",
          "KILL", "AUDIT_WRITE")
NOBODY = 65534
ID = "0123456789abcdef" * 4  # a container id that is only used as a name: no such container exists
ARCHITECTURES = {"x86_64": ("amd64", ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"]), "aarch64": ("arm64", ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"])}


def static_krait():
    done = subprocess.run(["make", "-s", "STATIC=1", "stripped"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
    check(done.returncode == 0, done.stdout[-500:])
    return KRAIT


def kernel():
    return tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", platform.release()).groups())


def applies(rule, capabilities):
    """Tells whether a rule of a Docker seccomp profile holds for these capabilities, this
    architecture and this kernel."""
    arch = ARCHITECTURES[platform.machine()][0]
    want, but = rule.get("includes") or {}, rule.get("excludes") or {}
    least = want.get("minKernel")
    return (all(c in capabilities for c in want.get("caps") or []) and not any(c in capabilities for c in but.get("caps") or []) and
            (not want.get("arches") or arch in want["arches"]) and arch not in (but.get("arches") or []) and
            (not least or kernel() >= tuple(int(n) for n in least.split("."))))


def seccomp(profile, capabilities):
    """Turns one of Docker's profiles into the form that runc reads. The names of @capabilities
    begin with CAP_."""
    rules = []
    for rule in profile["syscalls"]:
        if applies(rule, capabilities):
            rules.append({k: rule[k] for k in ("names", "action", "args", "errnoRet") if rule.get(k) is not None})
    made = {"defaultAction": profile["defaultAction"], "architectures": ARCHITECTURES[platform.machine()][1], "syscalls": rules}
    if profile.get("defaultErrnoRet") is not None:
        made["defaultErrnoRet"] = profile["defaultErrnoRet"]
    return made


def mounts(rootfs):
    """Returns the mounts of a container: those that Docker makes, and this machine's programs."""
    made = [{"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]},
            {"destination": "/krait", "type": "bind", "source": KRAIT, "options": ["bind", "ro"]}]
    for name in "usr", "lib", "lib64", "bin":
        if os.path.islink("/" + name):
            os.symlink(os.readlink("/" + name), os.path.join(rootfs, name))
        elif os.path.isdir("/" + name):
            made.append({"destination": "/" + name, "type": "bind", "source": "/" + name, "options": ["rbind", "ro"]})
    return made


def write_empty(path):
    with open(path, "w"):
        pass


def bundle(d, args, capabilities=DOCKER, profile=None, host_pid=False, user=None, more_mounts=()):
    """Writes a container's files for runc below @d. The names of @capabilities have no CAP_. If
    @user is given, the container has a user namespace, whose root is that user of the host."""
    rootfs = os.path.join(d, "rootfs")
    for name in ("", "proc", "dev", "sys", "tmp", "usr", "lib", "lib64", "bin"):
        if not os.path.islink("/" + name):
            os.mkdir(os.path.join(rootfs, name))
    write_empty(os.path.join(rootfs, "krait"))
    capabilities = ["CAP_" + c for c in capabilities]
    namespaces = ["mount", "ipc", "uts", "network"] + ([] if host_pid else ["pid"]) + (["user"] if user else [])
    config = {
        "ociVersion": "1.0.2",
        "process": {"args": args, "cwd": "/tmp", "user": {"uid": 0, "gid": 0}, "env": ["PATH=/usr/bin:/bin", "HOME=/tmp"], "noNewPrivileges": True,
                    "capabilities": {kind: capabilities for kind in ("bounding", "effective", "permitted")}},
        "root": {"path": rootfs},
        "hostname": "box",
        "mounts": mounts(rootfs) + list(more_mounts),
        "linux": {"namespaces": [{"type": n} for n in namespaces], "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"],
                  "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]},
    }
    if profile:
        config["linux"]["seccomp"] = seccomp(profile, capabilities)
    if user:
        for kind in "uidMappings", "gidMappings":
            config["linux"][kind] = [{"containerID": 0, "hostID": user, "size": 65536}]
    with open(os.path.join(d, "config.json"), "w") as f:
        json.dump(config, f)


def run(*args, runtime=("runc",), **kw):
    """Runs a program in a new container. Returns its exit code, standard output and standard error.
    """
    with kit.folder() as d:
        os.chmod(d, 0o755)
        bundle(d, list(args), **kw)
        done = subprocess.run([*runtime, "--root", d + "/state", "run", "--bundle", d, "krait-%d" % os.getpid()], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace", timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr


def hierarchy():
    """Returns where cgroup v2 is mounted."""
    with open("/proc/self/mounts") as f:
        for line in f:
            _, at, kind = line.split()[:3]
            if kind == "cgroup2":
                return at
    raise kit.Skip("no cgroup2 is mounted")


@contextlib.contextmanager
def cgroup(*names):
    """Makes a control group for each (name, owner); each group is in the one before it. Yields the
    path of the innermost group."""
    made, at = [], hierarchy()
    try:
        for name, owner in names:
            at = os.path.join(at, name)
            try:
                os.mkdir(at)
            except OSError as error:
                raise kit.Skip("no cgroup can be made: %s" % error)
            made.append(at)
            os.chown(at, owner, owner)
            os.chown(at + "/cgroup.procs", owner, owner)
        yield at
    finally:
        for at in reversed(made):
            with contextlib.suppress(OSError):
                os.rmdir(at)
