#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""wheel.py BINARY ARCH DIRECTORY: makes the wheel `krait-profiler` of one static krait and
packaging/python; prints its name. wheel.py --sdist DIRECTORY: the source archive. ARCH as `uname
-m` says it.

It is the build backend of pyproject.toml too (PEP 517), so that pip can build krait from its
sources. The same input gives the same bytes: members are sorted, and their time is
SOURCE_DATE_EPOCH. Standard library only."""

import base64
import functools
import gzip
import hashlib
import io
import os
import platform
import re
import subprocess
import sys
import tarfile
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# A static binary needs no C library, so its wheel may have the oldest tag of each kind that pip
# knows.
TAGS = {
    "x86_64": ("manylinux_2_5_x86_64", "manylinux1_x86_64", "musllinux_1_1_x86_64"),
    "aarch64": ("manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"),
}
METADATA = """Metadata-Version: 2.1
Name: krait-profiler
Version: %s
Summary: An eBPF profiler for Python on Linux: Python, native and kernel frames in one stack, right to the line
License: BSD-2-Clause AND (GPL-2.0-only OR BSD-2-Clause)
Platform: Linux
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python
Classifier: Topic :: Software Development :: Debuggers
Requires-Python: >=%s
Description-Content-Type: text/markdown

"""
ENTRY_POINTS = b"[pytest11]\nkrait = krait.pytest_plugin\n"
LICENSES = ("LICENSE", "LICENSES/BSD-2-Clause.txt", "LICENSES/GPL-2.0-only.txt")


def read(name):
    with open(os.path.join(ROOT, name), "rb") as f:
        return f.read()


@functools.lru_cache(maxsize=None)
def version():
    """Returns the version that make prints, in the form of PEP 440: 0.1+ad9c933.dirty."""
    said = subprocess.run(["make", "-s", "version"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return said.stdout.decode().strip().replace("-", ".")


def epoch():
    return int(os.environ.get("SOURCE_DATE_EPOCH") or os.stat(os.path.join(ROOT, "VERSION")).st_mtime)


def metadata(python):
    return (METADATA % (version(), python)).encode() + read("README.md")


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return "%s,sha256=%s,%d\n" % (name, digest, len(data))


def wheel_file(tags):
    lines = ["Wheel-Version: 1.0", "Generator: krait", "Root-Is-Purelib: false"]
    return "\n".join(lines + ["Tag: py3-none-" + tag for tag in tags] + [""]).encode()


def zip_bytes(members):
    """Returns a zip file with these members: [(name, mode, data)], in this order. A zip file has no
    times before 1980."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, mode, data in members:
            info = zipfile.ZipInfo(name, time.gmtime(max(epoch(), 315532800))[:6])
            info.create_system = 3  # 3 means Unix: the file's mode counts
            info.external_attr = (0o100000 | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(info, data, compresslevel=9)
    return out.getvalue()


def modules():
    """Returns the members of the Python package that calls the program krait."""
    where = os.path.join(ROOT, "packaging", "python")
    return [("krait/" + name, 0o644, read(os.path.join(where, "krait", name))) for name in os.listdir(os.path.join(where, "krait")) if name.endswith(".py")]


def make_wheel(binary, arch, directory):
    stem = "krait_profiler-" + version()
    info = stem + ".dist-info/"
    with open(binary, "rb") as f:
        members = [(stem + ".data/scripts/krait", 0o755, f.read())]
    members += [(info + "licenses/" + name, 0o644, read(name)) for name in LICENSES]
    members += modules() + [(info + "entry_points.txt", 0o644, ENTRY_POINTS)]
    members += [(info + "METADATA", 0o644, metadata("3.6")), (info + "WHEEL", 0o644, wheel_file(TAGS[arch]))]
    members.sort()
    record = "".join(record_line(name, data) for name, _, data in members) + info + "RECORD,,\n"
    members.append((info + "RECORD", 0o644, record.encode()))
    name = "%s-py3-none-%s.whl" % (stem, ".".join(TAGS[arch]))
    with open(os.path.join(directory, name), "wb") as f:
        f.write(zip_bytes(members))
    return name


def sources():
    """Returns the files that git has. In a source archive, which has no git, returns all files
    except those that make has made."""
    if os.path.exists(os.path.join(ROOT, ".git")):
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
        return sorted(listed.stdout.decode().rstrip("\0").split("\0"))
    found = []
    for where, below, files in os.walk(ROOT):
        below[:] = [d for d in below if d not in ("build", "__pycache__")]
        found += [os.path.relpath(os.path.join(where, f), ROOT) for f in files]
    return sorted(set(found) - {"PKG-INFO", "compile_commands.json"})


def tar_add(tar, name, data, mode=0o644):
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(data), mode, epoch()
    tar.addfile(info, io.BytesIO(data))


def make_sdist(directory):
    stem = "krait_profiler-" + version()
    # A source archive has no git, so only its file VERSION says which version it is.
    instead = {"VERSION": version().encode() + b"\n"}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        # a source archive must have this file
        tar_add(tar, stem + "/PKG-INFO", metadata("3.7"))
        for name in sources():
            mode = 0o755 if os.access(os.path.join(ROOT, name), os.X_OK) else 0o644
            tar_add(tar, stem + "/" + name, instead.get(name) or read(name), mode)
    with open(os.path.join(directory, stem + ".tar.gz"), "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=epoch()) as z:
        z.write(out.getvalue())
    return stem + ".tar.gz"


def needed():
    lines = re.findall(r"^build\t(\S+)", read("packaging/apt-packages").decode(), re.M)
    return " ".join(lines)


def build():
    """Builds the static krait and strips it. Returns its path."""
    if not sys.platform.startswith("linux") or platform.machine() not in TAGS:
        sys.exit("krait runs on Linux on %s alone" % " and ".join(TAGS))
    if subprocess.run(["make", "-s", "STATIC=1", "stripped"], cwd=ROOT).returncode:
        sys.exit("krait is written in C, and building it failed. It needs (Debian's names): %s" % needed())
    return os.path.join(ROOT, "build/static/stripped/krait")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return make_wheel(build(), platform.machine(), wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    return make_sdist(sdist_directory)


def main(args):
    if args[:1] == ["--sdist"] and len(args) == 2:
        print(make_sdist(args[1]))
    elif len(args) == 3 and args[1] in TAGS:
        print(make_wheel(*args))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
