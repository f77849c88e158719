# SPDX-License-Identifier: BSD-2-Clause
"""A terminal for tests: a pseudo-terminal with a program on it, and what its screen shows.

The terminal knows the few escape sequences that krait may use. Any other sequence is an error,
because some real terminal might not know it."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")
MODES = {"1049": "alternate", "25": "cursor", "7": "wrap"}


def width(char):
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


class Terminal:
    def __init__(self, argv, rows=24, cols=80, env=None):
        self.master, slave = pty.openpty()
        self.slave = slave
        self.modes = {"alternate": False, "cursor": True, "wrap": True}
        self.colors = set()
        self.raw = ""
        self.pending = b""
        self.strict = True
        self.resize(rows, cols)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            [str(a) for a in argv], stdin=slave, stdout=slave, stderr=subprocess.PIPE,
            env=dict(os.environ, TERM="xterm", LC_ALL="C.UTF-8", **(env or {})),
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        os.close(self.master)
        os.close(self.slave)

    def resize(self, rows, cols):
        self.rows, self.cols = rows, cols
        self.cells = [[" "] * cols for _ in range(rows)]
        self.x = self.y = 0
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def obey(self, private, numbers, final):
        if private:
            for number in numbers.split(";"):
                self.modes[MODES[number]] = final == "h"
        elif final == "m":
            self.colors |= {n for n in numbers.split(";") if len(n) == 2 and n[0] in "3490"}
        elif final == "H":
            self.y, self.x = (int(n) - 1 for n in numbers.split(";"))
            beyond = self.y >= self.rows or self.x >= self.cols
            assert not (beyond and self.strict), "goes to %d;%d" % (self.y, self.x)
            self.y, self.x = min(self.y, self.rows - 1), min(self.x, self.cols - 1)
        elif final == "K" and not numbers:
            for x in range(self.x, self.cols):
                self.cells[self.y][x] = " "
        elif final == "J" and numbers == "2":
            assert not any(c != " " for row in self.cells for c in row), "clears what it has drawn"
        else:
            raise AssertionError("unknown sequence %s%s%s" % (private, numbers, final))

    def put(self, char):
        if char in "\r\n":
            return
        assert char >= " " and not 0x7f <= ord(char) < 0xa0, "control character %r" % char
        n = width(char)
        if not n:
            return
        if self.x + n > self.cols:
            assert not self.strict, "beyond the right end: %r in %r" % (char, self.line(self.y))
            return
        self.cells[self.y][self.x] = char
        for i in range(1, n):
            self.cells[self.y][self.x + i] = ""
        self.x += n

    def feed(self, text):
        self.raw += text
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = SEQUENCE.match(text, at)
                if not found:
                    raise AssertionError("unknown sequence %r" % text[at:at + 10])
                self.obey(*found.groups())
                at = found.end()
            else:
                self.put(text[at])
                at += 1

    def read(self, seconds):
        """Reads output for up to @seconds. Returns whether there may be more output. If a sequence
        or character is cut off, it is kept until its remaining bytes come: the kernel hands out
        at most 4 KiB at once."""
        end = time.time() + seconds
        while True:
            left = end - time.time()
            if not select.select([self.master], [], [], max(left, 0))[0]:
                return False
            try:
                self.pending += os.read(self.master, 65536)
            except OSError:
                return False
            cut = re.search(rb"(\x1b(\[[0-9;?]*)?|[\xc0-\xff][\x80-\xbf]{0,2})$", self.pending)
            whole = len(self.pending)
            if cut and not self.complete(self.pending[cut.start():]):
                whole = cut.start()
            text, self.pending = self.pending[:whole], self.pending[whole:]
            self.feed(text.decode())
            if left <= 0:
                return True

    def resize_and_settle(self, rows, cols):
        """Changes the terminal's size. Output for the old size may still come, and may be cut off;
        then krait draws everything anew."""
        self.read(.1)
        self.strict = False
        self.resize(rows, cols)
        seen, end = len(self.raw), time.time() + 10
        while time.time() < end:
            before = len(self.raw)
            self.read(.25)
            if seen < before == len(self.raw):
                break
        self.strict = True

    @staticmethod
    def complete(tail):
        try:
            return tail[:1] != b"\x1b" and bool(tail.decode())
        except UnicodeDecodeError:
            return False

    def line(self, y):
        return "".join(self.cells[y]).rstrip()

    def text(self):
        return "\n".join(self.line(y) for y in range(self.rows))

    def wait(self, condition, seconds=10, what=""):
        """Reads until the screen shows @condition, which is a text or a function of the screen's
        text that must become true."""
        end = time.time() + seconds
        holds = condition if callable(condition) else lambda text: condition in text
        while not holds(self.text()):
            left = end - time.time()
            assert left > 0, "%s isn't shown: %s" % (what or condition, self.text())
            assert self.process.poll() is None, "the program has ended: %s" % self.process.stderr.read()
            self.read(min(left, .05))
        return self.text()

    def type(self, keys, condition=None, seconds=10):
        os.write(self.master, keys.encode())
        if condition is not None:
            return self.wait(condition, seconds, "after %r: %r" % (keys, condition))
        self.read(.05)
        return self.text()

    def end(self, keys="q", seconds=10):
        """Ends the program. Returns its exit code and its last output."""
        if keys:
            os.write(self.master, keys.encode())
        end = time.time() + seconds
        while self.process.poll() is None and time.time() < end:
            self.read(.05)
        assert self.process.poll() is not None, "the program doesn't end"
        while self.read(0):
            pass
        now = termios.tcgetattr(self.slave)
        assert now[:4] == self.before[:4], "the terminal isn't as it was"
        assert self.modes == {"alternate": False, "cursor": True, "wrap": True}, str(self.modes)
        return self.process.returncode, self.process.stderr.read().decode()

    def fill(self):
        """Fills the terminal's buffer without reading, so that there is no room for the program's
        next output."""
        os.kill(self.pid, signal.SIGSTOP)  # stops krait, so that krait writes no half sequence
        self.read(.1)
        fd = os.open(os.ttyname(self.slave), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        full = 0
        # repeats the writing, because a worker of the kernel makes some room in the buffer again
        while full < 3:
            try:
                os.write(fd, b"\r" * 4096)
                full = 0
            except BlockingIOError:
                full += 1
                time.sleep(.1)
        os.close(fd)
        os.kill(self.pid, signal.SIGCONT)

    def interrupt(self):
        os.kill(self.pid, signal.SIGINT)
