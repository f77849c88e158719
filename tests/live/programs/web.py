# SPDX-License-Identifier: BSD-2-Clause
"""A web site for WSGI and ASGI servers. The page /quick is sent at once. A thread that makes any
other page waits for something forever."""
import asyncio
import queue
import subprocess
import threading
import time
import urllib.request

import mark


def asks():
    urllib.request.urlopen(mark.SLOW_URL).read()


def sleeps():
    time.sleep(mark.FOREVER)


def consumes():
    queue.Queue().get()


def locks():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def runs():
    subprocess.run(["sleep", str(mark.FOREVER)], check=True)


PAGES = {"/asks": asks, "/sleeps": sleeps, "/consumes": consumes, "/locks": locks, "/runs": runs}


def wsgi(environ, start_response):
    path = environ["PATH_INFO"]
    if path in PAGES:
        mark.waits()
        PAGES[path]()
    elif path == "/green":  # only a greenlet waits, so the thread's event loop has nothing to run
        mark.tell("loop")
        asks()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "2")])
    return [b"ok"]


def makes(page):
    mark.waits()
    page()


async def asgi(scope, receive, send):
    while scope["type"] == "lifespan":
        said = (await receive())["type"]  # "lifespan.startup" or "lifespan.shutdown"
        await send({"type": said + ".complete"})
    if scope["path"] in PAGES:
        await asyncio.get_running_loop().run_in_executor(None, makes, PAGES[scope["path"]])
    elif scope["path"] == "/blocks":  # this coroutine blocks its event loop's thread
        makes(sleeps)
    elif scope["path"] == "/awaits":
        mark.tell("loop")
        reader, _ = await asyncio.open_connection(*mark.SLOW)
        await reader.read(1)
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-type", b"text/plain"), (b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})
