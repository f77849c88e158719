# SPDX-License-Identifier: BSD-2-Clause
"""gil_uprobes_target.py SECONDS: once it has read a line, threads contend for the GIL for so long.
Then it prints "done", and waits for the end of its input. Runs on Python 2.7 and 3.x."""
import sys
import threading
import time

SECONDS = float(sys.argv[1])


def spins(end):
    while time.time() < end:
        sum(range(2000))


def naps(end):
    while time.time() < end:
        time.sleep(0.001)
        sum(range(200))


def sorts(end):
    data = [i * 7919 % 10007 for i in range(20000)]
    while time.time() < end:
        sorted(data)
        time.sleep(0.0005)


def main():
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    end = time.time() + SECONDS
    threads = [threading.Thread(target=work, args=(end,)) for work in (spins, spins, naps, naps, sorts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stdout.write("done\n")
    sys.stdout.flush()
    sys.stdin.read()


main()
