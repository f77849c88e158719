#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait has no capabilities in effect where it parses other users' files: in its worker threads,
and in report, merge and diff. The truth is what the kernel says in /proc/PID/task/TID/status."""
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import case, check, folder, krait

NOBODY = 65534
BPF, READ, SETGID, SETUID = 1 << 39, 1 << 2, 1 << 6, 1 << 7
# Bits of CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, KILL, SETGID, SETUID.
FILES = 1 << 0 | 1 << 1 | READ | 1 << 3 | 1 << 5 | SETGID | SETUID


def capabilities(pid):
    """Returns {tid: (effective capabilities, permitted capabilities)} of a process's threads."""
    found = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, tid)) as f:
            lines = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        found[int(tid)] = int(lines["CapEff"], 16), int(lines["CapPrm"], 16)
    return found


def seen(running, seconds):
    """Watches krait for @seconds. Returns (the capabilities of krait's other threads, the
    capabilities of its main thread).

    Threads that end soon don't count: a thread that makes only one request to the kernel
    (proc/locked.c) parses nothing. The first moment of the other threads doesn't count either."""
    found, end = {}, time.time() + seconds
    while time.time() < end:
        for tid, caps in capabilities(running.pid).items():
            found.setdefault(tid, []).append(caps)
        time.sleep(0.02)
    main = found.pop(running.pid)
    return {caps for looks in found.values() if len(looks) >= 8 for caps in looks[2:]}, main


def workers_of(command, user=None, env=None):
    with kit.python() as target, folder() as d:
        os.chmod(d, 0o777)
        with kit.Background(*command, "record", "-q", "-o", d + "/x.pb.gz", "-p", target.pid,
                            env=dict(os.environ, XDG_CACHE_HOME=d, **(env or {}))) as running:
            kit.wait_for(lambda: kit.attached(running.pid) and len(capabilities(running.pid)) > 1, 20)
            others, main = seen(running, 0.7)
            code, said = running.finish()
        check(code == 0, said)
        kit.sees(d + "/x.pb.gz")
    return others, main


@case
def threads_have_none():
    """When root runs krait, its worker threads have no capability in effect. Only the capabilities
    for BPF maps, user ids and debug files are permitted."""
    others, main = workers_of([kit.KRAIT])
    check(any(effective for effective, _ in main), "the main thread has none either: nothing is shown")
    check(others, "no thread was seen")
    # A worker thread that writes to the kernel's maps raises one capability while it writes, and
    # parses nothing meanwhile.
    check(all(not effective & ~BPF for effective, _ in others), "in effect: %s" % sorted(map(hex, {
        e for e, _ in others})))
    check(any(not effective for effective, _ in others), "never without")
    check(all(not permitted & ~(BPF | READ | SETGID | SETUID) for _, permitted in others),
          "permitted: %s" % [hex(p) for _, p in others])


@case
def under_sudo():
    """Under sudo krait's cache belongs to the user who called sudo. The thread that writes the
    cache takes that user's id."""
    with folder() as d:
        os.chmod(d, 0o755)
        others, _ = workers_of([kit.KRAIT], env={"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)})
    check(any(not effective for effective, _ in others), "never without: %s" % others)
    check(all(not permitted & ~(BPF | READ | SETGID | SETUID) for _, permitted in others),
          "permitted: %s" % [hex(p) for _, p in others])


def while_reading(command, d):
    """Returns krait's capabilities at a moment when it waits for the rest of a profile."""
    pipe = d + "/pipe"
    if not os.path.exists(pipe):
        os.mkfifo(pipe, 0o666)
        os.chmod(pipe, 0o666)
    with kit.Background(*command, "report", pipe) as running:
        # that the pipe could be opened shows that krait reads it now
        fd = os.open(pipe, os.O_WRONLY)
        os.write(fd, b"main;work 1\n")
        time.sleep(0.1)
        found = capabilities(running.pid)
        os.close(fd)
        code = running.process.wait(10)
    check(code == 0, "exit code %d" % code)
    return found[running.pid]


@case
def reading_profiles():
    """`krait report`, run by an ordinary user, gives up the capabilities that krait's file has.
    When root runs it, it keeps only the capabilities that reading files takes."""
    with folder() as d:
        os.chmod(d, 0o777)
        effective, permitted = while_reading([kit.KRAIT], d)
        check(not permitted & ~FILES, "root's: %x" % permitted)
        own = shutil.copy(kit.KRAIT, d + "/krait")
        if subprocess.run([own, "doctor", "--grant"], capture_output=True).returncode:
            raise kit.Skip("no file capabilities here")
        subprocess.run(["setcap", "cap_bpf,cap_perfmon,cap_syslog=ep", own], check=True)
        os.chmod(own, 0o755)
        effective, permitted = while_reading(
            ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", own], d)
        check(not effective and not permitted, "a user's: %x, %x" % (effective, permitted))


@case
def others_files_still():
    """When root runs krait, it still reads a user's private profile, and writes into a user's
    private directory."""
    with folder() as d:
        with open(d + "/x.folded", "w") as f:
            f.write("main;work 3\n")
        os.chown(d + "/x.folded", NOBODY, NOBODY)
        os.chmod(d + "/x.folded", 0o600)
        os.mkdir(d + "/private", 0o700)
        os.chown(d + "/private", NOBODY, NOBODY)
        done = krait("report", d + "/x.folded", "-o", d + "/private/y.html")
        check(done.returncode == 0, done.stderr)


if __name__ == "__main__":
    sys.exit(kit.main())
