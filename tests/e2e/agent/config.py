#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait agent's configuration: what `check` says of configuration files, and which settings a
running agent takes over from a new file."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder, krait


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o644)


@kit.case
def checks():
    """`check --print` says where each setting comes from, in the order of the files. What it prints
    is a file with the same settings."""
    with folder() as d:
        path = d + "/agent.conf"
        os.mkdir(path + ".d", 0o755)
        write(path, "# mine\nfrequency 49\nwall\n")
        write(path + ".d/10-rate.conf", "\nfrequency = 19  # less\ncomm \"a b\"\n")
        done = krait("agent", "check", "--print", "--config", path, "--store", d + "/store")
        check(done.returncode == 0, done.stderr)
        lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
        for line in ("frequency 19 # %s.d/10-rate.conf:2" % path, "wall # %s:3" % path, "comm a b # %s.d/10-rate.conf:3" % path,
                     "store %s/store # command line" % d):
            check(line in lines, "%r isn't in %s" % (line, done.stdout))
        write(d + "/again.conf", done.stdout)
        again = krait("agent", "check", "--print", "--config", d + "/again.conf")
        settings = [[line.split(" #")[0].rstrip() for line in text.splitlines() if line[:1] != "#"] for text in (done.stdout, again.stdout)]
        check(settings[0] == settings[1], settings)


@kit.case
def faults():
    """`check` and `run` name all faults at once, each with its file, its line and the most similar
    name. krait ends with exit code 2."""
    with folder() as d:
        path = d + "/agent.conf"
        write(path, "wall\n\nfrequncy 9\nmax-size 1\nconfig x\n")
        wanted = ["%s:3: unknown option 'frequncy'; did you mean 'frequency'?" % path, "%s:4: max-size: '1' is not a size" % path,
                  "%s:5: 'config' is for the command line only" % path]
        for words in ("check",), ("run", "--store", d + "/store"):
            done = krait("agent", *words, "--config", path)
            check(done.returncode == 2, "%s: exit code %d" % (words, done.returncode))
            lines = done.stderr.splitlines()
            check(len(lines) == 3 and all(w in l for w, l in zip(wanted, lines)), done.stderr)
        check(not os.path.exists(d + "/store"), "a store was made")
        write(path, "wait-budget 2\n")
        done = krait("agent", "check", "--config", path)
        check(done.returncode == 2 and "(wait-budget: %s:1)" % path in done.stderr, done.stderr)
        os.chmod(path, 0o666)
        done = krait("agent", "check", "--config", path)
        check(done.returncode == 2 and "can be written by others" in done.stderr, done.stderr)


def until(agent, words):
    """Reads the agent's messages up to the first one that contains @words."""
    said = []
    while not said or words not in said[-1]:
        said.append(agent.stderr.readline())
        check(said[-1], "it ended: " + "".join(said))
    return "".join(said)


@kit.case
def reloads():
    """After SIGHUP the agent takes over either all of a new configuration file or nothing of it,
    and says which settings need a restart. SIGTERM still ends the agent."""
    with folder() as d:
        path = d + "/agent.conf"
        write(path, "frequency 49\n")
        agent = subprocess.Popen([kit.KRAIT, "agent", "run", "--store", d + "/store", "--config", path], stderr=subprocess.PIPE, encoding="utf-8")
        try:
            until(agent, "recording into")
            write(path, "frequency 99\nwal\n")
            agent.send_signal(signal.SIGHUP)
            said = until(agent, "goes on with the old one")
            check("%s:2: unknown option 'wal'; did you mean 'wall'?" % path in said, said)
            write(path, "frequency 99\nall\nverbose\n")
            agent.send_signal(signal.SIGHUP)
            said = until(agent, "was read again")
            check("the new value of all takes effect when" in said and "of verbose" not in said and "of frequency" not in said, said)
            time.sleep(0.6)  # waits, because two SIGHUPs within half a second count as one
            agent.send_signal(signal.SIGTERM)
            check(agent.wait(timeout=30) == 0, "exit code %s: %s" % (agent.returncode, agent.stderr.read()))
        finally:
            agent.kill()
            agent.wait()


if __name__ == "__main__":
    sys.exit(kit.main())
