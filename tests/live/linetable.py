# SPDX-License-Identifier: BSD-2-Clause
# Prints the line tables of many code objects, and the position of each instruction as the running
# interpreter (2.7-3.15) gives it by co_positions(), co_lines() or dis.findlinestarts().
# tests/tools/linetable.c reads it. One line per code object:
#   VERSION FIRSTLINENO TABLE-IN-HEX LASTI:LINE[:END:COL:ENDCOL] ...
# VERSION is hexadecimal, LASTI in the unit of that version's frames. Line 0 and column -1 mean
# none. The code is that of the standard library and, for rare cases, of nasty().
import binascii
import dis
import os
import sys

VERSION = sys.version_info[0] << 8 | sys.version_info[1]
WANTED = 60000  # instructions
CODE = type((lambda: 0).__code__)


def nasty():
    """Returns the source of functions whose line tables have rare entries: long gaps, long lines,
    steps back, and columns that differ in bytes and in characters."""
    lines = ["def far(a, b):"]
    for gap in (1, 30, 31, 126, 127, 128, 129, 254, 255, 256, 300, 1000, 70000):
        lines += [""] * gap + ["    a = b + %d" % gap]
    lines += ["    return far(", "        a,", "        b,", "    ) + max(a,", "   b)"]
    for width in (70, 79, 80, 120, 127, 128, 255, 256, 300, 5000):
        lines += ["def wide%d(a):" % width, " " * width + "return a.b.c(a, a + a)[a]"]
    lines += ["def text(a):", "    return u'\u00e9\u4e2d\U0001f40d' + a.b + str(a)".encode(
        "unicode_escape").decode("ascii")]
    if VERSION >= 0x300:
        lines[-1] = "    return '\u00e9\u4e2d\U0001f40d' + a.b + str(a)"
    lines += ["def back(f):", "    return f(", "        1,"] + ["        f("] * 20
    lines += ["        1" + ")" * 20, "    )"]
    lines += ["def handlers(a):", "    for i in a:", "        try:", "            with i as j:",
              "                yield j", "        except (ValueError, KeyError) as e:",
              "            raise TypeError from e" if VERSION >= 0x300 else "            raise",
              "        finally:", "            a = [x for x in i", "                 if x",
              "                 ]", "    class K(object):", "        x = lambda: (", "            1,",
              "        )"]
    return "\n".join(lines) + "\n"


def sources():
    yield "nasty.py", nasty()
    where = os.path.dirname(os.__file__)
    for name in sorted(os.listdir(where)):
        if name.endswith(".py"):
            path = os.path.join(where, name)
            with open(path, "rb") as f:
                yield path, f.read()


def codes(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, CODE):
            for inner in codes(const):
                yield inner


def number(value, none):
    return none if value is None else value


def positions_3_11(code):
    for unit, (line, end, col, end_col) in enumerate(code.co_positions()):
        yield "%d:%d:%d:%d:%d" % (unit * 2, number(line, 0), number(end, 0) if line else 0,
                                  number(col, -1), number(end_col, -1))


def positions_3_10(code):
    for start, end, line in code.co_lines():
        for addr in range(start, end, 2):
            yield "%d:%d" % (addr // 2, number(line, 0))


def offsets(code):
    """Yields the instructions' offsets in bytes. Since 3.6 each instruction has two bytes; before
    that it had one or three."""
    addr = 0
    while addr < len(code.co_code):
        yield addr
        wide = VERSION >= 0x300 or ord(code.co_code[addr]) >= dis.HAVE_ARGUMENT
        addr += 2 if VERSION >= 0x300 else 3 if wide else 1


def positions_old(code):
    starts = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for addr in offsets(code):
        line = starts.get(addr, line)
        yield "%d:%d" % (addr, line)


def main():
    if VERSION >= 0x30B:
        table, positions = "co_linetable", positions_3_11
    elif VERSION == 0x30A:
        table, positions = "co_linetable", positions_3_10
    else:
        table, positions = "co_lnotab", positions_old
    done = 0
    for path, text in sources():
        try:
            code = compile(text, path, "exec")
        except (SyntaxError, ValueError):
            continue  # a file of the tests that is broken on purpose
        for c in codes(code):
            expected = list(positions(c))
            done += len(expected)
            print("%x %d %s %s" % (VERSION, c.co_firstlineno,
                                   binascii.hexlify(getattr(c, table)).decode("ascii") or "-",
                                   " ".join(expected)))
        if done >= WANTED:
            break


main()
