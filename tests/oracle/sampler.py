# SPDX-License-Identifier: BSD-2-Clause
"""sampler.py TARGET SECONDS OUT: samples TARGET from inside, by signal, and writes pprof.

A right profile made without krait: it shows that truth.py isn't too strict, and it is what
faults.py spoils. Runs on Python 2.7 and 3.x.
"""
import os
import signal
import sys
import threading

import pprof
import truth

INTERVAL = 0.0005
PYTHON = "[python %d.%d]" % sys.version_info[:2]


class Sampler(object):
    def __init__(self):
        self.writer = pprof.Writer()
        self.main = threading.current_thread().ident
        self.counts = {}
        self.units = {}
        self.busy = False

    def position(self, frame):
        code = frame.f_code
        known = self.units.get(id(code))
        if known is None:
            known = self.units[id(code)] = (truth.positions(code), code)
        if known[0] and frame.f_lasti >= 0:
            return known[0][frame.f_lasti // 2]
        return frame.f_lineno or 0, 0

    def stack(self, frame):
        """Location ids, root first."""
        out = []
        while frame is not None:
            code = frame.f_code
            line, column = self.position(frame)
            name = getattr(code, "co_qualname", code.co_name)
            out.append(self.writer.location(PYTHON, truth.text(name),
                                            truth.text(code.co_filename),
                                            code.co_firstlineno, line, column))
            if "__krait_root__" in frame.f_globals and code.co_name == "<module>":
                break
            frame = frame.f_back
        out.reverse()
        return tuple(out)

    def tick(self, _signal, frame):
        if self.busy:
            return
        self.busy = True
        current = dict(sys._current_frames())
        current[self.main] = frame
        for ident, top in current.items():
            key = (self.stack(top), ident == self.main)
            self.counts[key] = self.counts.get(key, 0) + 1
        self.busy = False
        self.arm()

    def arm(self):
        """One signal: a deep stack takes longer than the interval."""
        signal.setitimer(signal.ITIMER_PROF, INTERVAL)

    def save(self, path):
        for (stack, _), count in self.counts.items():
            self.writer.sample(stack, {"pid": str(os.getpid()), "thread": "x"}, count)
        self.writer.save(path)


def main():
    target, seconds, out = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
    import rig
    rig.seconds = seconds
    sampler = Sampler()
    signal.signal(signal.SIGPROF, sampler.tick)
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGPROF, False)
    code, namespace, _old = truth.load(target)
    sampler.arm()
    try:
        exec(code, namespace)
    finally:
        sampler.busy = True
        signal.setitimer(signal.ITIMER_PROF, 0)
    sampler.save(out)


if __name__ == "__main__":
    main()
