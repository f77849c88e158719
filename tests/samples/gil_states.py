# SPDX-License-Identifier: BSD-2-Clause
"""gil_states.py LIBRARY SECONDS: runs functions for each of which the state of the GIL is known;
see gil.py.

alone() runs first, without other threads. Then six functions run at once, in threads that hand over
the GIL as often as the interpreter can be made to do so. Runs on Python 2.7 and 3.x.
"""
import os
import sys
import threading
import time
import zlib

try:
    import _interpreters as interpreters
    run_string = getattr(interpreters, "exec")  # a keyword in 2.7
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
        run_string = interpreters.run_string
    except ImportError:
        interpreters = None

SECONDS = float(sys.argv[2])
DATA = os.urandom(1 << 18)
stop = False

OWN = """
import time
def own_gil():
    end = time.time() + %f
    n = 0
    while time.time() < end:
        for i in range(2000):
            n += i & 3
own_gil()
"""


def alone():
    end = time.time() + SECONDS / 4
    n = 0
    while time.time() < end:
        for i in range(2000):
            n += i & 3


def contend():
    n = 0
    while not stop:
        for i in range(2000):
            n += i & 3


def unlocked():
    while not stop:
        UNLOCKED.krait_without_gil(ctypes.c_double(0.002))


def locked():
    while not stop:
        LOCKED.krait_with_gil(ctypes.c_double(0.0005))
        time.sleep(0.0005)


def packed():
    while not stop:
        zlib.compress(DATA, 6)


def reader():
    zero = os.open("/dev/zero", os.O_RDONLY)
    while not stop:
        os.read(zero, 1 << 20)


def subinterpreter():
    ident = interpreters.create()
    run_string(ident, OWN % (SECONDS / 4))


def run(functions, seconds):
    global stop
    stop = False
    threads = [threading.Thread(target=f) for f in functions]
    for thread in threads:
        thread.start()
    if seconds:
        time.sleep(seconds)
    stop = True
    for thread in threads:
        thread.join()


def main():
    global ctypes, UNLOCKED, LOCKED
    alone()
    # on Python 2.7 importing ctypes creates the GIL, which threads give away now and then from then
    # on
    import ctypes
    UNLOCKED, LOCKED = ctypes.CDLL(sys.argv[1]), ctypes.PyDLL(sys.argv[1])
    if sys.version_info[0] > 2:
        sys.setswitchinterval(1e-4)
    UNLOCKED.krait_start(ctypes.c_double(SECONDS / 2))
    run([contend, contend, unlocked, locked, packed, reader], SECONDS / 2)
    if interpreters and sys.version_info >= (3, 12):
        run([subinterpreter, subinterpreter], 0)


if __name__ == "__main__":
    main()
