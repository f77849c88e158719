# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium, driven through its DevTools pipe (fds 3 and 4, JSON that ends with NUL).
This module needs only Python's standard library, so that pages can be tested wherever there is a
Chromium."""

import atexit
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def folder():
    """Returns the folder for a test's pages: $KEEP, or a new folder that is removed when the test
    ends."""
    if os.environ.get("KEEP"):
        return os.environ["KEEP"]
    made = tempfile.mkdtemp(prefix="krait-page-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def find():
    """Returns the path of a Chromium, or None if there is none. The environment variable CHROMIUM
    names another one."""
    names = (os.environ.get("CHROMIUM", "chromium"), "chromium-browser", "google-chrome")
    return next((p for p in map(shutil.which, names) if p), None)


class Browser:
    """One page in a browser. .errors collects messages of the page's console and uncaught
    exceptions. @fonts: a fontconfig file that replaces the machine's."""

    def __init__(self, width=1200, height=800, dark=False, scrollbars=False, fonts=None):
        self.errors = []
        self.events = []
        self.on_event = None  # a function that is called with (method, params)
        self.next_id = 0
        self.buffer = b""
        self.profile = tempfile.mkdtemp(prefix="krait-browser-")
        self._start(width, height, scrollbars, fonts)
        target = self.call("Target.createTarget", {"url": "about:blank"}, session=None)
        attached = self.call("Target.attachToTarget",
                             {"targetId": target["targetId"], "flatten": True}, session=None)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.resize(width, height)
        self.scheme(dark)

    def _start(self, width, height, scrollbars, fonts):
        to_read, self.to = os.pipe()
        self.come, from_write = os.pipe()

        def wire():
            # Both descriptors are first moved to numbers above 4, because a descriptor may itself
            # be 3 or 4.
            a, b = os.dup(to_read), os.dup(from_write)
            while a < 5:
                a = os.dup(a)
            while b < 5:
                b = os.dup(b)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.session = None
        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run",
             *([] if scrollbars else ["--hide-scrollbars"]),
             *(["--font-render-hinting=none"] if fonts else []),
             "--disable-background-networking", "--disable-component-update",
             f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"],
            env={**os.environ, **({"FONTCONFIG_FILE": str(fonts)} if fonts else {})},
            preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close", session=None)
        except (OSError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.come)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _receive(self, timeout):
        while b"\0" not in self.buffer:
            if not select.select([self.come], [], [], timeout)[0]:
                raise RuntimeError("the browser doesn't answer")
            data = os.read(self.come, 1 << 20)
            if not data:
                raise RuntimeError("the browser ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def _event(self, message):
        method, params = message.get("method"), message.get("params", {})
        self.events.append(method)
        if self.on_event:
            self.on_event(method, params)
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(json.dumps(params["args"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])

    def call(self, method, params=None, session="page", timeout=60):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self._receive(timeout)
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._event(answer)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        # This sends the event itself, because the browser's own resize event may come later.
        self.js("window.dispatchEvent(new Event('resize'))")

    def scheme(self, dark, media=""):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})

    def scripts(self, enabled):
        self.call("Emulation.setScriptExecutionDisabled", {"value": not enabled})

    def open(self, path, fragment=""):
        self.events.clear()
        self.call("Page.navigate", {"url": "file://" + os.path.abspath(path) + fragment})
        end = time.monotonic() + 60
        while "Page.loadEventFired" not in self.events and time.monotonic() < end:
            self._event(self._receive(60))

    def js(self, expression, wait=False):
        """Evaluates a JavaScript expression and returns its value. With @wait the expression is a
        promise, and its result is returned."""
        result = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": wait})
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:800])
        return result["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def click(self, x, y, button="left"):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button=button, clickCount=1)
        self.mouse("mouseReleased", x, y, button=button, clickCount=1)

    def key(self, key, text=None, modifiers=0):
        """Presses a key. @modifiers: 2 = Ctrl."""
        base = {"key": key, "modifiers": modifiers,
                "windowsVirtualKeyCode": {"Enter": 13, "Escape": 27}.get(key, 0)}
        self.call("Input.dispatchKeyEvent",
                  {"type": "keyDown", **base, **({"text": text} if text else {})})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **base})

    def type(self, text):
        self.call("Input.insertText", {"text": text})

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))
