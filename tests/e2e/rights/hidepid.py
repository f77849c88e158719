#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""An ordinary user runs a krait with file capabilities where /proc is mounted with the option
hidepid=. krait sees the user's own processes, and says that other users' processes are hidden.
The test mounts /proc in a mount namespace of its own, so the machine's /proc stays as it is."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import case, check, folder

NOBODY = "65534"
USER = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
BRIEF = kit.BUSY.replace("while True:", "import time\n    end = time.time() + 0.4\n    while time.time() < end:")


class Place:
    """A mount namespace where /proc is mounted with hidepid=, and a krait with file capabilities in
    it."""

    def __init__(self, d, how):
        os.chmod(d, 0o777)
        self.d, self.how = d, how
        self.krait = shutil.copy(kit.KRAIT, d + "/krait")
        done = subprocess.run([self.krait, "doctor", "--grant"], capture_output=True, text=True)
        if done.returncode:
            raise kit.Skip("no file capabilities here: " + done.stderr)
        os.chmod(self.krait, 0o755)
        done = self.run("true")
        if done.returncode:
            raise kit.Skip("no /proc with hidepid=%s: %s" % (how, done.stderr))

    def run(self, *command):
        return subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount -t proc -o hidepid=%s proc /proc && exec "$@"' % self.how, "sh", *USER,
             *[str(c) for c in command]],
            capture_output=True, text=True, cwd=self.d, env=dict(os.environ, HOME=self.d), timeout=60)

    def record(self, *args):
        return self.run(self.krait, "record", "-f", *args)


def seen(done):
    check(done.returncode == 0, done.stderr)
    check(done.stdout.count("busy (") > 0, "busy isn't there: %s %s" % (done.stdout[:200], done.stderr))


def both(how):
    with folder() as d:
        place = Place(d, how)
        seen(place.record("--", kit.PYTHON, "-c", BRIEF))
        with kit.python(user=int(NOBODY), group=int(NOBODY)) as own:
            seen(place.record("-d", "0.4", "-p", own.pid))
            seen(place.record("-d", "0.5", "-F", "499"))
            check("busy" in place.run(place.krait, "dump", "-p", own.pid).stdout, "dump")
        with kit.python() as other:
            for command in ("record", "dump"):
                done = place.run(place.krait, command, "-p", other.pid)
                check(done.returncode == 3 and "process %d is hidden from you" % other.pid in done.stderr
                      and "hidepid=" in done.stderr and "run it as `sudo %s ...`" % place.krait in done.stderr,
                      "%s: %d %s" % (command, done.returncode, done.stderr))
            done = place.record("-d", "0.4", "-F", "499")
            check("hidepid=" in done.stderr, "a recording of the machine doesn't mention hidepid: " + done.stderr)
        done = place.record("-p", other.pid)
        check("there is no process %d" % other.pid in done.stderr, "one that ended: " + done.stderr)


@case
def invisible():
    """hidepid=2: /proc doesn't list the processes of other users."""
    both("2")


@case
def without_access():
    """hidepid=1: /proc lists the processes of other users, but nothing in their directories can be
    read."""
    both("1")


if __name__ == "__main__":
    sys.exit(kit.main())
