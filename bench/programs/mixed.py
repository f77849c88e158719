# SPDX-License-Identifier: BSD-2-Clause
"""mixed.py PROCESSES BUSY: processes like those of a host. Of ten processes, five serve requests,
two only wait, two work through files and one computes. Together they take BUSY of one CPU's
time. In a random order their shares fall as 1, 1/2, 1/3, ...; those that only wait take none.
Prints a line once all run, and ends when its input ends."""

import asyncio
import collections
import json
import os
import random
import signal
import sqlite3
import sys
import time

import varied

KINDS = "web", "web", "web", "web", "web", "idle", "idle", "batch", "batch", "compute"
CLIENTS = 4  # number of clients of a process that serves requests


class Rest:
    """Sleeps after some work, for so long that the work takes the part @share of one CPU's time."""

    def __init__(self, share, seed):
        self.share, self.random, self.cpu = share, random.Random(seed), time.process_time()

    def seconds(self):
        cpu, self.cpu = self.cpu, time.process_time()
        return (self.cpu - cpu) * (1 / self.share - 1) * self.random.expovariate(1)


class Record:
    def __init__(self, row):
        self.number, self.name, self.tags = row[0], row[1], json.loads(row[2])

    def render(self):
        return "<li id=%d>%s: %s</li>" % (self.number, self.name, ", ".join(sorted(self.tags)))


def answer(db, n):
    rows = db.execute("SELECT * FROM item WHERE id %% 50 = %d" % (n % 50)).fetchall()
    page = "".join(Record(row).render() for row in rows)
    return json.dumps({"page": page, "words": collections.Counter(page.split()).most_common(5)})


def web(rest):
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, tags TEXT)")
    for i in range(1000):
        tags = json.dumps([str(i * k % 97) for k in range(9)])
        db.execute("INSERT INTO item VALUES (?, ?, ?)", (i, "item %d" % i, tags))

    async def client(number):
        while True:
            answer(db, number)
            number += 1
            await asyncio.sleep(CLIENTS * rest.seconds())

    async def serve():
        await asyncio.gather(*(client(i) for i in range(CLIENTS)))

    asyncio.run(serve())


def idle(_):
    async def tick():
        while True:
            await asyncio.sleep(1)

    asyncio.run(tick())


def batch(rest):
    paths = varied.files()
    rest.random.shuffle(paths)
    while True:
        for path in paths:
            varied.work(path)
            time.sleep(rest.seconds())


def differentiate(tree):
    if isinstance(tree, tuple):
        a, b = map(differentiate, tree[1:])
        return ("+", a, b) if tree[0] == "+" else ("+", ("*", a, tree[2]), ("*", tree[1], b))
    return 1 if tree == "x" else 0


def grow(rest, depth):
    if not depth:
        return rest.random.choice(("x", 2, 3))
    return rest.random.choice("+*"), grow(rest, depth - 1), grow(rest, depth - 1)


def compute(rest):
    while True:
        differentiate(grow(rest, rest.random.randrange(6, 11)))
        time.sleep(rest.seconds())


def main():
    n, busy = int(sys.argv[1]), float(sys.argv[2])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    kinds = [KINDS[i % len(KINDS)] for i in range(n)]
    random.Random(1).shuffle(kinds)
    weights = [0 if kind == "idle" else 1 / (i + 1) for i, kind in enumerate(kinds)]
    children = []
    for i, kind in enumerate(kinds):
        child = os.fork()
        if not child:
            share = min(busy * weights[i] / sum(weights), 0.9)
            globals()[kind](Rest(share, i) if share else None)
        children.append(child)
    print("all run", flush=True)
    sys.stdin.read()
    for child in children:
        os.kill(child, signal.SIGKILL)


main()
