# SPDX-License-Identifier: BSD-2-Clause
# -*- coding: utf-8 -*-
"""Names and files in each kind of PEP 393 string (ASCII, Latin-1, UCS-2, UCS-4), and long ones."""
import sys

import rig

rig.own(u"/krait-oracle/")
# 1, 2 and 4 bytes a character; U+10400 DESERET CAPITAL LETTER LONG I is a letter.
WORDS = [u"ascii", u"caf\u00e9", u"\u00fc", u"\u0394\u03b9\u03ac", u"\u540d\u524d", u"\u0438\u043c\u044f",
         u"\U00010400\U00010401", u"mixed_\u00e9_\u540d_\U00010400"]
if sys.version_info[0] == 2:
    WORDS = [u"ascii"] * len(WORDS)
FILES = [u"/krait-oracle/%s.py" % name for name in
         (u"plain", u"\u00e9t\u00e9", u"\u00ff" * 20, u"\u6587\u4ef6", u"\u0444\u0430\u0439\u043b", u"\u20ac",
          u"\U0001f40d", u"a \u00e9 \u6587 \U0001f40d; b")]

SOURCE = u"""
def {0}_{1}(n):
    return {0}_inner_{1}(n)
def {0}_inner_{1}(n):
    total = 0
    for i in range(n):
        total += i
    return total
class {0}C(object):
    def {0}m(self, n):
        return {0}_{1}(n)
use_{1} = {0}C().{0}m
"""


def native(text):
    return text.encode("utf-8") if sys.version_info[0] == 2 else text


def make(word, file, i):
    namespace = {}
    exec(compile(native(SOURCE.format(word, i)), native(file), "exec"), namespace)
    return namespace["use_%d" % i]


USES = [make(word, file, i) for i, (word, file) in enumerate(zip(WORDS, FILES))]
LENGTHS = [200, 255, 256, 1000, 2000, 4000]
USES += [make(u"x" * (n // 2), u"/krait-oracle/" + u"y" * n, 100 + n) for n in LENGTHS]
if sys.version_info[0] > 2:
    USES += [make(u"\u540d" * (n // 3), u"/krait-oracle/" + u"\u6587" * (n // 3), 10000 + n)
             for n in LENGTHS[:-1]]
    USES += [make(u"\U00010400" * (n // 8), u"/krait-oracle/" + u"\U00010400" * (n // 5), 20000 + n)
             for n in LENGTHS[:-1]]


def round_():
    for use in USES:
        for _ in range(10):
            use(300)


if __name__ == "__main__":
    rig.run(round_)
