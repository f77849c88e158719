# SPDX-License-Identifier: BSD-2-Clause
"""cpu_waits_target.py SECONDS: threads that compute, and wait thousands of times a second in
between. Prints {function: nanoseconds of CPU time} as JSON, by the threads' own clocks."""
import json
import os
import sys
import threading
import time
import zlib

DATA = bytes(range(256)) * 4
END = time.monotonic() + float(sys.argv[1])
told = []


def loops():
    total = 0
    for i in range(3000):
        total += i & 7
    return total


def nothing():
    pass


def calls():
    for _ in range(1500):
        nothing()


def packs():
    for _ in range(4):
        zlib.compress(DATA, 6)


def hands(ask, answer):
    """Sends a byte to the thread's partner, and waits until the partner has sent it back. Does so
    four times."""
    for _ in range(4):
        os.write(ask, b"x")
        os.read(answer, 1)


def rests():
    time.sleep(0.0002)


def echoes(asked, reply):
    while os.read(asked, 1) == b"x":
        os.write(reply, b"x")


def works():
    (asked, ask), (answer, reply) = os.pipe(), os.pipe()
    partner = threading.Thread(target=echoes, args=(asked, reply))
    partner.start()
    spent = dict.fromkeys(("loops", "calls", "packs", "hands", "rests"), 0)
    while time.monotonic() < END:
        for function, arguments in ((loops, ()), (hands, (ask, answer)), (calls, ()), (rests, ()), (packs, ())):
            before = time.thread_time_ns()
            function(*arguments)
            spent[function.__name__] += time.thread_time_ns() - before
    os.write(ask, b"e")
    partner.join()
    told.append(spent)


threads = [threading.Thread(target=works) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({name: sum(spent[name] for spent in told) for name in told[0]}))
