# SPDX-License-Identifier: BSD-2-Clause
"""Gets extension modules that targets use, as wheels for each version of Python.

This machine's pip unpacks the wheels into the test cache. So the interpreters themselves stay
unchanged, and interpreters without pip can use the modules as well.

modules.py CACHE VERSION [PLATFORM...]"""
import os
import subprocess
import sys
import tempfile
import zipfile

WHEELS = ("greenlet",)


def folder(cache, version):
    return os.path.join(cache, "oracle", "modules", "%d.%d" % version[:2])


def fetch(cache, version, platforms=()):
    """Makes the directory folder() with all modules that pip can get. Does nothing if it exists.
    @platforms: pip's names for another machine than this one."""
    target = folder(cache, version)
    if os.path.isdir(target):
        return
    os.makedirs(target)
    for name in WHEELS:
        with tempfile.TemporaryDirectory() as fresh:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                       "--disable-pip-version-check", "--only-binary=:all:", "--python-version",
                       "%d.%d" % version[:2], "-d", fresh, name]
            for platform in platforms:
                command += ["--platform", platform]
            if version[0] == 2:
                command += ["--abi", "cp27mu", "--abi", "cp27m"]
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  stdin=subprocess.DEVNULL, timeout=120, check=False)
            for wheel in os.listdir(fresh) if done.returncode == 0 else ():
                with zipfile.ZipFile(os.path.join(fresh, wheel)) as z:
                    z.extractall(target)


def package(cache, version, name):
    """Returns a directory with the package (or several: "a+b<2") and its dependencies for this
    version of Python, or None if pip can't get it. Each cache asks pip only once."""
    target = os.path.join(cache, "oracle", "packages", "%d.%d" % version[:2], name)
    if not os.path.isdir(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as fresh:
            where = os.path.join(fresh, "packages")
            os.makedirs(where)
            subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-compile",
                            "--disable-pip-version-check", "--only-binary=:all:",
                            "--python-version", "%d.%d" % version[:2], "--target", where, *name.split("+")],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           stdin=subprocess.DEVNULL, timeout=600, check=False)
            os.rename(where, target)
    return target if os.listdir(target) else None


if __name__ == "__main__":
    fetch(sys.argv[1], tuple(int(part) for part in sys.argv[2].split(".")), sys.argv[3:])
