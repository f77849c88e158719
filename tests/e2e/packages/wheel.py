#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The Python package: what the wheel contains, on which machines pip takes it, and that installing
and removing it leaves nothing behind."""
import base64
import csv
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import PYTHON, ROOT, Skip, check, folder

MAKER = os.path.join(ROOT, "packaging", "wheel.py")
BINARY = os.path.join(ROOT, "build", "static", "stripped", "krait")
MOST_BYTES = 5 * 1000 * 1000
# Code that prints whether the interpreter argv[1] uses musl, and which of the wheels named in
# argv[2:] its pip would take.
MUSL_CODE = """
import inspect, os, sys
from pip._internal.models.wheel import Wheel
from pip._vendor.packaging import _musllinux, tags
sys.executable = sys.argv[1]
arch = os.uname().machine
many = "archs" in inspect.signature(_musllinux.platform_tags).parameters
platforms = list(_musllinux.platform_tags([arch] if many else arch))
own = [tags.Tag("py3", "none", p) for p in platforms]
print(len(own) > 0, *[Wheel(name).supported(own) for name in sys.argv[2:]])
"""
# Code that prints which module pytest would load as a plugin, and which krait the modules would
# call.
PLUGIN_CODE = """
from importlib.metadata import entry_points
import krait.recording
print(*[e.value for e in entry_points(group="pytest11")], krait.recording.program())
"""
WORK = tempfile.TemporaryDirectory(prefix="krait-wheel.")
MOMENT = (2023, 11, 14, 22, 13, 20)
os.environ["SOURCE_DATE_EPOCH"] = "1700000000"
# Code that prints whether pip would take a wheel on this machine, by the tags in its name.
TAG_CODE = """
import sys
from pip._internal.models.wheel import Wheel
from pip._vendor.packaging import tags
wheel = Wheel(sys.argv[1])
print(wheel.supported(list(tags.sys_tags())))
"""


def run(*command, **kw):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", **kw)
    check(done.returncode == 0, "%s: %s" % (" ".join(command[:4]), done.stdout.strip()[-600:]))
    return done.stdout


def make_wheel(directory, arch=os.uname().machine):
    os.makedirs(directory, exist_ok=True)
    run("make", "-s", "STATIC=1", "stripped", cwd=ROOT)
    return os.path.join(directory, run(sys.executable, "-B", MAKER, BINARY, arch, directory).strip())


@functools.lru_cache(maxsize=None)
def wheel():
    return make_wheel(WORK.name)


def pip(*args):
    if subprocess.run([PYTHON, "-m", "pip", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        raise Skip("no pip")
    return run(PYTHON, "-B", "-m", "pip", *args)


def file_list(directory):
    return sorted(os.path.join(where, name) for where, _, names in os.walk(directory) for name in names)


@kit.case
def contents():
    """The wheel contains one executable program, the modules that call the program, and metadata.
    The program has the same bytes as the one that was built, and needs no library. The wheel is
    smaller than 5 MB."""
    with zipfile.ZipFile(wheel()) as z:
        names = z.namelist()
        stem = os.path.basename(wheel()).split("-py3-")[0]
        check(set(names) == {stem + ".data/scripts/krait"} | {
            stem + ".dist-info/" + name for name in (
                "METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE", "licenses/LICENSES/BSD-2-Clause.txt",
                "licenses/LICENSES/GPL-2.0-only.txt")} | {
            "krait/" + name for name in os.listdir(os.path.join(ROOT, "packaging", "python", "krait")) if name.endswith(".py")}, "members: %s" % names)
        with open(BINARY, "rb") as f:
            check(z.read(stem + ".data/scripts/krait") == f.read(), "the wheel has another krait than the built one")
        check(z.getinfo(stem + ".data/scripts/krait").external_attr >> 16 == 0o100755, "krait isn't executable")
    check(os.path.getsize(wheel()) < MOST_BYTES, "%d bytes" % os.path.getsize(wheel()))
    needs = re.findall("INTERP|NEEDED", run("readelf", "-dlW", BINARY))
    check(not needs, "the program in the wheel needs an interpreter or a library")


@kit.case
def record():
    """The wheel's file RECORD has the size and hash of every member."""
    with zipfile.ZipFile(wheel()) as z:
        name = next(n for n in z.namelist() if n.endswith("/RECORD"))
        rows = list(csv.reader(z.read(name).decode().splitlines()))
        check(sorted(r[0] for r in rows) == sorted(z.namelist()), "RECORD names other files")
        for member, digest, size in rows:
            if member == name:
                continue
            data = z.read(member)
            wanted = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            check(digest == "sha256=" + wanted and int(size) == len(data), "RECORD is wrong for " + member)


@kit.case
def tags():
    """pip on this machine takes the wheel, and doesn't take a wheel for the other architecture. The
    file WHEEL names the same tags as the wheel's file name."""
    pip("--version")
    with zipfile.ZipFile(wheel()) as z:
        text = z.read(next(n for n in z.namelist() if n.endswith("/WHEEL"))).decode()
    named = os.path.basename(wheel())[:-len(".whl")].split("-")[-1].split(".")
    check(re.findall("^Tag: (.*)$", text, re.M) == ["py3-none-" + tag for tag in named], "WHEEL and name differ")
    check(any(t.startswith("manylinux") for t in named) and any(t.startswith("musllinux") for t in named), "tags %s" % named)
    check(run(PYTHON, "-B", "-c", TAG_CODE, os.path.basename(wheel())).strip() == "True", "pip refuses it here")
    other = make_wheel(os.path.join(WORK.name, "other"), {"x86_64": "aarch64", "aarch64": "x86_64"}[os.uname().machine])
    check(run(PYTHON, "-B", "-c", TAG_CODE, os.path.basename(other)).strip() == "False", "pip takes the wheel of another machine")


@kit.case
def musl():
    """pip takes the wheel if the interpreter is linked with musl, and refuses the same wheel
    without the tag for musl."""
    kit.need("musl-gcc")
    pip("--version")
    with folder() as d:
        program = os.path.join(d, "python")
        run("musl-gcc", "-x", "c", "-o", program, "-", input="int main(void) { return 0; }")
        name = os.path.basename(wheel())
        without = re.sub(r"\.musllinux_\w+", "", name)
        check(without != name, "no tag for musl")
        said = run(PYTHON, "-B", "-c", MUSL_CODE, program, name, without).split()
        check(said == ["True", "True", "False"], "musl's tags, with, without: %s" % said)


@kit.case
def same_bytes():
    """Two wheels that are made of the same input at different times have the same bytes, because
    their files have the time that SOURCE_DATE_EPOCH gives."""
    again = make_wheel(os.path.join(WORK.name, "again"))
    with zipfile.ZipFile(again) as z:
        check({i.date_time for i in z.infolist()} == {MOMENT}, "a member of the wheel has another time")
    with open(wheel(), "rb") as a, open(again, "rb") as b:
        check(a.read() == b.read(), "two wheels differ")


@kit.case
def installed():
    """pip installs the wheel into a fresh environment by its name alone. The installed krait runs,
    and when it is removed no file stays."""
    with folder() as d:
        run(PYTHON, "-B", "-m", "venv", "--without-pip", d)
        before = file_list(d)
        into = ("--python", os.path.join(d, "bin", "python"))
        pip(*into, "install", "-q", "--no-index", "--find-links", os.path.dirname(wheel()), "--no-compile", "krait-profiler")
        krait = os.path.join(d, "bin", "krait")
        check(run(krait, "version") == run(BINARY, "version"), "another version")
        check(run(krait, "report", "--help"), "krait report prints no help")
        check(run(os.path.join(d, "bin", "python"), "-B", "-c", PLUGIN_CODE).split() == ["krait.pytest_plugin", krait], "pytest finds another plugin, or the modules another krait")
        pip(*into, "uninstall", "-q", "-y", "krait-profiler")
        check(file_list(d) == before, "left: %s" % (set(file_list(d)) ^ set(before)))


def pythons_prefix(environment, **variables):
    """Calls krait as uv does. Returns sys.prefix of the `python3` that krait runs."""
    bin_ = os.path.join(environment, "bin")
    env = dict({"PATH": bin_ + ":/usr/bin:/bin", "HOME": environment, "UV": "/usr/bin/uv"}, **variables)
    said = run(os.path.join(bin_, "krait"), "record", "-q", "-o", os.path.join(environment, "x.folded"), "--", "python3", "-c",
               "import sys; print(sys.prefix)", env=env)
    return said.splitlines()[-1]


@kit.case
def uvx():
    """`uvx --from krait-profiler krait record -- python3` runs the user's Python, not the Python of
    the environment that uvx makes for krait."""
    with folder() as d:
        run(PYTHON, "-B", "-m", "venv", "--without-pip", d)
        into = ("--python", os.path.join(d, "bin", "python"))
        pip(*into, "install", "-q", "--no-index", "--find-links", os.path.dirname(wheel()), "--no-compile", "krait-profiler")
        check(pythons_prefix(d) == "/usr", "not the user's Python: " + pythons_prefix(d))
        check(pythons_prefix(d, VIRTUAL_ENV=d) == d, "the user activated it")
        site = run(os.path.join(d, "bin", "python"), "-c", "import site; print(site.getsitepackages()[0])").strip()
        os.mkdir(os.path.join(site, "numpy-2.0.dist-info"))
        check(pythons_prefix(d) == d, "`uvx --with numpy` has what the program needs")


# {library that a linked krait needs: (its name in the SBOM, the Debian package that has it)}
SONAMES = {"libz": ("zlib", "zlib1g-dev"), "libzstd": ("zstd", "libzstd-dev"), "libcap": ("libcap", "libcap-dev"),
           "libbpf": ("libbpf", "libbpf-dev"), "libdw": ("elfutils", "libdw-dev"), "libelf": ("elfutils", "libelf-dev"),
           "liblzma": ("xz", "liblzma-dev"), "libsqlite3": ("SQLite", "libsqlite3-dev"), "libc": ("glibc", "libc6-dev"), "libm": ("glibc", "libc6-dev")}


@kit.case
def parts():
    """The SBOM of the static krait has every library that the linked krait needs, with the version
    that is installed here."""
    kit.need("dpkg-query")
    with folder() as d:
        run(sys.executable, "-B", os.path.join(ROOT, "packaging", "sbom.py"), BINARY, os.path.join(d, "x.json"))
        with open(os.path.join(d, "x.json")) as f:
            listed = {p["name"]: p["versionInfo"] for p in json.load(f)["packages"]}
    needed = re.findall(r"NEEDED.*\[(\w+)", run("readelf", "-dW", kit.KRAIT))
    check(len(needed) >= 7, "needs only %s" % needed)
    for library in needed:
        name, package = SONAMES[library]
        installed = run("dpkg-query", "-W", "-f", "${Version}", package).split(":")[-1]
        check(name in listed and installed.startswith(listed[name]), "%s: %s, here %s" % (name, listed.get(name), installed))


@kit.case
def source_archive():
    """The source archive contains the sources and knows its version without git. If a program that
    a build needs is missing, the build says what it needs."""
    with folder() as d:
        name = run(sys.executable, "-B", MAKER, "--sdist", d).strip()
        with tarfile.open(os.path.join(d, name)) as tar:
            members = tar.getmembers()
            check({(m.uid, m.gid, m.uname) for m in members} == {(0, 0, "")}, "somebody's files")
            tar.extractall(d)
        tree = os.path.join(d, name[:-len(".tar.gz")])
        version = name[len("krait_profiler-"):-len(".tar.gz")]
        check(run("make", "-s", "version", cwd=tree).strip() == version, "another version")
        again = subprocess.run([sys.executable, "-B", "-c", "import wheel; wheel.build_wheel('.')"], cwd=tree, encoding="utf-8",
                               env=dict(os.environ, PYTHONPATH="packaging", CLANG="false"), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        check(again.returncode == 1 and "clang" in again.stderr.splitlines()[-1], again.stderr[-300:])


@kit.case
def oldest_python():
    """With the oldest Python that the source archive allows, the source archive and a wheel can be
    made."""
    with folder() as d:
        name = run(sys.executable, "-B", MAKER, "--sdist", d).strip()
        with tarfile.open(os.path.join(d, name)) as tar:
            said = tar.extractfile(name[:-len(".tar.gz")] + "/PKG-INFO").read().decode()
        oldest = re.search("^Requires-Python: >=(.*)$", said, re.M)[1]
        python = next((path for _, version, _, path in kit.interpreters() if "%d.%d" % version == oldest), None)
        if not python:
            raise Skip("no Python " + oldest)
        for args in ("--sdist", d), (BINARY, os.uname().machine, d):
            check(os.path.exists(os.path.join(d, run(python, "-B", MAKER, *args).strip())), args)


sys.exit(kit.main())
