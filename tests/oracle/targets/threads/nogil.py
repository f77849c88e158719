# SPDX-License-Identifier: BSD-2-Clause
# contract: threading.py waits in functions that differ from time to time
# no python: threads that begin and end
"""C code that gives the GIL away, in several threads: zlib, hashlib, sqlite3; system calls."""
import hashlib
import os
import threading
import zlib

import rig

try:
    import sqlite3
except ImportError:
    sqlite3 = None

BLOCK = os.urandom(1 << 16) * 4


def packed(data):
    return len(zlib.compress(
        data, 6))


def z_1():
    return packed(BLOCK)


def hashed(data):
    sha = hashlib.sha256()
    for _ in range(4):
        sha.update(data)
    return sha.hexdigest()


def h_1():
    return hashed(BLOCK) + hashed(BLOCK)


QUERY = ("with recursive c(x) as (select 1 union all select x+1 from c limit 30000)"
         " select sum(x) from c")


def queried(db):
    return db.execute(QUERY).fetchone()


def q_1():
    if sqlite3:
        db = sqlite3.connect(":memory:")
        queried(db)
        db.create_function("py", 1, sqlite_callback)
        db.execute("select py(1), py(2), py(3)").fetchone()


def sqlite_callback(n):
    return rig.spin(n * 100)


def reader():
    with open("/dev/zero", "rb", 0) as f:
        for _ in range(20):
            read(f)


def read(f):
    return len(f.read(1 << 18))


def repeat(function):
    for _ in range(4):
        function()


def round_():
    threads = [threading.Thread(target=repeat, args=(f,)) for f in (z_1, h_1, q_1, reader)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    z_1()


if __name__ == "__main__":
    rig.run(round_)
