# SPDX-License-Identifier: BSD-2-Clause
"""Runs two threads, each in a known nested stack. Each thread prints its own frames (name, file,
line, the innermost first), and then blocks in a read. test_walk_live.c starts this script under
2.7 to 3.15."""

import os
import sys
import threading

PY3 = sys.version_info[0] > 2


def say(label, frame):
    lines = []
    while frame:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        lines.append("%s\t%s\t%d" % (name, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    text = "%s\n%s\nend\n" % (label, "\n".join(lines))
    os.write(1, text.encode("utf-8") if PY3 else text)
    return "x"


def leaf(label):
    # in one line, so that the thread blocks on the line that say() has printed for this frame
    os.read(0, len(say(label, sys._getframe())))


def generator(label):
    for i in range(2):
        yield leaf(label) if i else 0


def nested(label):
    for value in generator(label):
        yield value


class Class(object):
    def __init__(self, label):
        self.label = label
        sorted([1], key=self.method)

    def method(self, _):
        return [
            0,
            list(nested(self.label)),
        ]

    @classmethod
    def make(cls, label):
        return cls(label)


def recurse(label, depth):
    if depth:
        return recurse(label, depth - 1)
    space = {"Class": Class, "label": label}
    name = u"f\u00fcr_\u4e16_\U0001d4d0" if PY3 else "plain"
    source = u"\n\ndef %s():\n    return (lambda: Class.make(label))()\n\n\n%s()\n" % (name, name)
    exec(compile(source if PY3 else source.encode("ascii"), u"<\u4e16>" if PY3 else "<x>", "exec"),
         space)


def start(label, depth):
    recurse(label, depth)


thread = threading.Thread(target=start, args=("thread", 40))
thread.daemon = True
thread.start()
start("main", 150)
