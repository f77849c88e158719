# SPDX-License-Identifier: BSD-2-Clause
"""Works in a rhythm: half of each beat in a(), three tenths in b(), a fifth in c().

in_step_target.py HZ SECONDS: makes HZ beats a second of time.perf_counter() until it has used
SECONDS of CPU time, and prints the thread's CPU time in each of the three functions as JSON. It is
measured from one reading of the clock to the next, so it includes the end of one call of cpu() and
the beginning of another. No time is left out: what main() does between two beats counts for a().
Before each reading, cpu() is called once without using the result: so each reading takes as long
as the others. in_step.py counts samples on the lines of main() accordingly.
"""
import json
import sys
import time

now = time.perf_counter
cpu = time.thread_time_ns


def a(until):
    while now() < until:
        pass


def b(until):
    while now() < until:
        pass


def c(until):
    while now() < until:
        pass


def main():
    beat, seconds = 1 / float(sys.argv[1]), float(sys.argv[2])
    begin, spent, n = now(), [0, 0, 0], 0
    t0 = cpu()
    while sum(spent) < seconds * 1e9:
        at = begin + n * beat
        a(at + 0.5 * beat)
        cpu()
        t1 = cpu()
        b(at + 0.8 * beat)
        cpu()
        t2 = cpu()
        c(at + beat)
        cpu()
        t3 = cpu()
        spent[0] += t1 - t0
        spent[1] += t2 - t1
        spent[2] += t3 - t2
        t0 = t3
        n = max(n + 1, int((now() - begin) / beat))  # leaves out beats that were missed
    print(json.dumps(dict(zip("abc", spent))))


main()
