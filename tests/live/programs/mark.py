# SPDX-License-Identifier: BSD-2-Clause
"""With this module, programs of idle_programs.py say what their threads do: each thread writes a
file, named by its thread id, into the folder $TRUTH."""
import os
import threading

# address of a server that accepts connections but never answers
SLOW = ("127.0.0.1", int(os.environ.get("SLOW_PORT", 0)))
REDIS = "redis://127.0.0.1:%s/0" % os.environ.get("REDIS_PORT", 0)
PORT = int(os.environ.get("PORT", 0))
FOREVER = 1000
SLOW_URL = "http://%s:%d/" % SLOW


def write(name, text):
    path = os.path.join(os.environ["TRUTH"], str(name))
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)


def tell(counts):
    """Writes how the waits of the calling thread must be counted from now on: "waits", "idle" or
    "loop"."""
    write(threading.get_native_id(), counts)


def waits():
    tell("waits")


def ready():
    """Tells idle_programs.py that the program has started all of its threads and processes."""
    write("ready-%d" % os.getpid(), "")
