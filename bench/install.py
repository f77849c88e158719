# SPDX-License-Identifier: BSD-2-Clause
"""Measures the way from nothing to an open page, as an ordinary user with sudo. The wheel of krait
is run by uvx, or installed by pip into a fresh environment. krait refuses to record and names a
command, which is then typed; a browser opens the page. The package index is a directory; the
caches are empty."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import lib

LIMIT_S = 15
APP = """import time
def busy_in_app():
    end = time.process_time() + 1
    while time.process_time() < end:
        sum(range(1000))
busy_in_app()
"""
REFUSAL = re.compile(r"run it as `(sudo .+?) \.\.\.`, or once `(sudo .+?)`")
INDEX = "--no-index --find-links %s"


def find_uv():
    """Returns the path of uv: the uv on PATH, else the path in $UV. Distributions don't package uv,
    so it may be in a directory that isn't on PATH."""
    return shutil.which("uv") or os.environ.get("UV")


def make_wheel(directory):
    subprocess.run(["make", "-s", "STATIC=1", "stripped"], cwd=lib.ROOT, check=True)
    subprocess.run(
        [sys.executable, "-B", "packaging/wheel.py", "build/static/stripped/krait", os.uname().machine, directory],
        cwd=lib.ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def run(options):
    lacks = [p for p in ("sudo", "setpriv", "unshare", "chromium") if not shutil.which(p)]
    if os.getuid() != 0 or lacks:
        raise lib.Skip("no " + lacks[0] if lacks else "not root")
    with tempfile.TemporaryDirectory(prefix="krait-install.") as directory:
        os.chmod(directory, 0o755)
        make_wheel(directory)
        # The script runs itself in a new mount namespace. There it adds the user and the user's
        # sudo rule to that namespace's own /etc.
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", sys.executable, "-B", os.path.abspath(__file__), directory],
            stdout=subprocess.PIPE,
        )
    if done.returncode:
        raise RuntimeError("failed, see above")
    return [lib.Row(what, seconds, "s", limit=LIMIT_S, note=note) for what, seconds, note in json.loads(done.stdout)]


class User:
    """The user alice (4711), who may use sudo and has an empty home."""

    def __init__(self, directory):
        self.index, self.home = directory, os.path.join(directory, "home")
        subprocess.run(["cp", "-a", "/etc", os.path.join(directory, "etc")], check=True)
        subprocess.run(["mount", "--bind", os.path.join(directory, "etc"), "/etc"], check=True)
        self.add("/etc/passwd", "alice:x:4711:4711::%s:/bin/sh" % self.home)
        self.add("/etc/group", "alice:x:4711:")
        self.add("/etc/shadow", "alice:*:19000::::::")
        self.add("/etc/sudoers.d/krait-install", "alice ALL=(ALL) NOPASSWD: ALL")
        os.chmod("/etc/sudoers.d/krait-install", 0o440)

    @staticmethod
    def add(path, line):
        with open(path, "a") as f:
            f.write(line + "\n")

    def begin(self):
        """Removes what the last round has left, and makes the user's program and a virtual
        environment."""
        shutil.rmtree(self.home, ignore_errors=True)
        os.mkdir(self.home)
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", os.path.join(self.home, "app")], check=True)
        with open(os.path.join(self.home, "app.py"), "w") as f:
            f.write(APP)
        subprocess.run(["chown", "-R", "4711:4711", self.home], check=True)

    def types(self, line):
        """Runs the shell command @line as the user. Returns (exit code, output)."""
        app = os.path.join(self.home, "app")
        path = "%s/new/bin:%s/bin:%s/bin:/usr/local/bin:/usr/bin:/bin" % (self.home, app, self.index)
        done = subprocess.run(
            ["setpriv", "--reuid", "4711", "--regid", "4711", "--init-groups", "--inh-caps=-all", "env", "-i", "PATH=" + path,
             "HOME=" + self.home, "USER=alice", "VIRTUAL_ENV=" + app, "UV_PYTHON_DOWNLOADS=never", "sh", "-c", line],
            cwd=self.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
        print("$ %s\n%s" % (line, done.stdout), file=sys.stderr)
        return done.returncode, done.stdout

    def must(self, line):
        code, said = self.types(line)
        if code:
            raise RuntimeError("%s: exit code %d" % (line, code))
        return said


def page_opens(home):
    """Opens the only page in @home in a browser, and checks that the page has the program's
    function."""
    pages = [name for name in os.listdir(home) if name.endswith(".html")]
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", "--dump-dom",
         "file://" + os.path.join(home, pages[0])],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8")
    body = done.stdout.split("<body", 1)[-1]
    if len(pages) != 1 or "busy_in_app" not in re.sub(r"<script.*?</script>", "", body, flags=re.S):
        raise RuntimeError("%s: the page doesn't show busy_in_app" % pages)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def journey(user, install, krait, after):
    """Returns (seconds from the first command to the page, seconds of CPU time). Both times include
    the second for which the program runs. @after: "sudo" or "grant", the one of the two commands
    in krait's refusal that the user types."""
    user.begin()
    begin, used = time.monotonic(), cpu_seconds()
    if install:
        user.must(install)
    code, said = user.types(krait + " record -- python app.py")
    advice = REFUSAL.search(said)
    if code != 3 or not advice:
        raise RuntimeError("not refused: exit code %d" % code)
    if after == "grant":
        user.must(advice.group(2))
        user.must(krait + " record -- python app.py")
    else:
        user.must(advice.group(1) + " record -- python app.py")
    page_opens(user.home)
    return time.monotonic() - begin, cpu_seconds() - used


def main(directory):
    user, rows = User(directory), []
    index = INDEX % directory
    ways = [("pip", "/usr/bin/python3 -m venv new && pip install -q %s krait-profiler" % index, "krait")]
    uv = find_uv()
    if uv:
        os.mkdir(os.path.join(directory, "bin"))
        for name in ("uv", "uvx"):
            shutil.copy(os.path.join(os.path.dirname(os.path.realpath(uv)), name), os.path.join(directory, "bin"))
        ways.append(("uvx", "", "uvx %s --from krait-profiler krait" % index))
    for name, install, krait in ways:
        for after in ("sudo", "grant"):
            seconds, used = journey(user, install, krait, after)
            rows.append(("%s, then %s" % (name, after), seconds, "%.1f s of CPU time, 1 s of it the program's" % used))
    if not uv:
        print("SKIP install uvx: no uv; UV=FILE names it", file=sys.stderr)
    print(json.dumps(rows))


if __name__ == "__main__":
    main(sys.argv[1])
