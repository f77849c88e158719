#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait agent takes no more CPU time than its limit allows. If very many new processes start, the
agent samples less often, says so, and later returns to the old rate. A new configuration changes
the rate while the agent records. In all cases the recorded CPU time of a process is right: the
truth is the process's CPU clock in the kernel."""
import collections
import math
import os
import re
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder, krait
from judge import pprof

STORM = "while :; do /bin/true; done"
HZ, LOWER_HZ = 999, 249
# how many seconds a change of the rate takes at most: the first window takes 10 s, and the return
# to the old rate takes three windows
SECONDS = 90


class Agent:
    """Runs an agent with a configuration file that the test writes."""

    def __init__(self, d, **settings):
        self.store, self.path, self.said = d + "/store", d + "/agent.conf", ""
        self.configure(**settings)
        self.process = subprocess.Popen([kit.KRAIT, "agent", "run", "--config", self.path, "--store", self.store],
                                        stderr=subprocess.PIPE)
        self.wait_for("recording into")

    def configure(self, **settings):
        with open(self.path, "w") as f:
            f.write("wall\n" + "".join("%s %s\n" % (name.replace("_", "-"), value) for name, value in settings.items()))

    def change(self, **settings):
        self.configure(**settings)
        self.process.send_signal(signal.SIGHUP)
        self.wait_for("configuration was read again")

    def wait_for(self, pattern):
        """Waits until the agent prints a line with @pattern. Returns what it printed before that.
        """
        until = time.monotonic() + SECONDS
        while not re.search(pattern, self.said):
            check(select.select([self.process.stderr], [], [], max(0, until - time.monotonic()))[0], "not said: %s; but %s" % (pattern, self.said))
            more = os.read(self.process.stderr.fileno(), 4096).decode()
            check(more, "the agent ended: " + self.said)
            self.said += more
        said, self.said = self.said, ""
        return said

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=30)[1].decode()
        check(self.process.returncode == 0, said)


def samples(profile, pid):
    """Returns the samples of a process as {weight: number of samples with that weight}."""
    at = [name for name, _ in profile.sample_types].index("cpu")
    return collections.Counter(s.values[at] for s in profile.samples if s.labels["pid"] == str(pid) and s.values[at])


@kit.case
def limit():
    """While very many new processes start, the agent's rate is lower; afterwards it is as before.
    The CPU time of the target over the whole recording equals the kernel's count."""
    with folder() as d, kit.python() as target:
        agent = Agent(d, frequency=HZ, max_cpu=100)
        began = kit.cpu_clock(target.pid)
        time.sleep(3)
        agent.change(frequency=LOWER_HZ, max_cpu=0.1)
        with kit.Background("/bin/sh", "-c", STORM):
            said = agent.wait_for("samples %d times a second" % (LOWER_HZ // 2))
            check(re.search(r"took [\d.]+ % of a CPU, but may take only 0.1", said), said)
            time.sleep(2.5)
            status = krait("agent", "status", "--store", agent.store).stdout
        found = re.search(r"limit +(\d+) samples a second instead of %d" % LOWER_HZ, status)
        check(found and int(found[1]) <= LOWER_HZ // 2, status)
        agent.change(frequency=LOWER_HZ, max_cpu=100)
        agent.wait_for("samples %d times a second" % LOWER_HZ)
        time.sleep(1)
        truth = kit.cpu_clock(target.pid) - began
        agent.end()
        done = krait("last", "1h", "--store", agent.store, "-p", target.pid, "-o", d + "/o.pb.gz")
        check(done.returncode == 0, done.stderr)
        profile = pprof.read(d + "/o.pb.gz")
        weights = samples(profile, target.pid)
        total = sum(weight * n for weight, n in weights.items()) / 1e9
        error = math.sqrt(sum(weight * weight * n for weight, n in weights.items())) / 1e9
        print("%.3f s by krait, %.3f s by the kernel, standard error %.3f; %s" % (total, truth, error, dict(weights)))
        check(abs(total - truth) <= max(4 * error, 0.01 * truth), "%.3f s instead of %.3f" % (total, truth))
        for hz in HZ, LOWER_HZ, LOWER_HZ // 2:
            check(weights[10**9 // hz] > 0, "no sample at %d Hz: %s" % (hz, weights))
        check(any(c.startswith("less often: from ") for c in profile.comments), profile.comments)


if __name__ == "__main__":
    sys.exit(kit.main())
