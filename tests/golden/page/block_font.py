# SPDX-License-Identifier: BSD-2-Clause
"""A font made of blocks, so that a page looks the same whatever fonts a machine has.

Every character is a block, half an em wide. Blocks have eight heights, so that different texts look
different. The font has only the tables that FreeType and HarfBuzz ask for (OpenType 1.9). Its cmap
has format 13, which gives each character of Unicode one of the few glyphs.
"""

import pathlib
import struct

EM, ADVANCE = 1000, 500
NAME = "Krait Blocks"
HEIGHTS = range(200, 760, 70)  # heights of the glyphs 2 to 9 (glyph 0 is .notdef, glyph 1 is blank)

CONFIG = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir>{directory}</dir>
<cachedir>{directory}/cache</cachedir>
<match target="pattern"><edit name="family" mode="assign" binding="strong"><string>{name}</string></edit></match>
<match target="font">
<edit name="antialias" mode="assign"><bool>true</bool></edit>
<edit name="hinting" mode="assign"><bool>false</bool></edit>
<edit name="autohint" mode="assign"><bool>false</bool></edit>
<edit name="rgba" mode="assign"><const>none</const></edit>
</match>
</fontconfig>
"""


def _block(height):
    """Makes a simple glyph: a block of this height. Its one contour has four points, all of them on
    the curve and in clockwise order."""
    points = [(50, 0), (50, height), (450, height), (450, 0)]
    xs = [b[0] - a[0] for a, b in zip([(0, 0)] + points, points)]
    ys = [b[1] - a[1] for a, b in zip([(0, 0)] + points, points)]
    return (struct.pack(">hhhhhHH", 1, 50, 0, 450, height, 3, 0) + b"\1" * 4 +
            struct.pack(">8h", *xs, *ys) + b"\0\0")[:34]


def _cmap():
    groups = [(0, 0x20, 1)]
    groups += [(c, c, 2 + c % len(HEIGHTS)) for c in range(0x21, 0x7f)]
    groups += [(0x7f, 0xa0, 1), (0xa1, 0x10ffff, 5)]
    table = struct.pack(">HHIII", 13, 0, 16 + 12 * len(groups), 0, len(groups))
    table += b"".join(struct.pack(">III", *g) for g in groups)
    return struct.pack(">HHHHI", 0, 1, 3, 10, 12) + table


def _name():
    texts = [(i, NAME if i in (1, 4) else "Regular" if i == 2 else "KraitBlocks" if i == 6 else "1") for i in range(1, 7)]
    head, body = struct.pack(">HHH", 0, len(texts), 6 + 12 * len(texts)), b""
    for i, text in texts:
        data = text.encode("utf-16-be")
        head += struct.pack(">6H", 3, 1, 0x409, i, len(data), len(body))
        body += data
    return head + body


def _sum(data):
    return sum(struct.unpack(f">{len(data) // 4}I", data)) & 0xffffffff


def font():
    glyphs = [_block(700), b""] + [_block(h) for h in HEIGHTS]
    n, loca, glyf = len(glyphs), [0], b""
    for g in glyphs:
        glyf += g + b"\0" * (-len(g) % 4)
        loca.append(len(glyf))
    tables = {
        b"OS/2": struct.pack(">HhHHH10hh10s4I4sHHHhhhHHIIhhHHH", 4, ADVANCE, 400, 5, 0, 500, 500, 0, 0, 500, 500, 0, 0, 50, 300,
                             0, bytes([2, 11, 6, 9] + 6 * [0]), 1, 0, 0, 0, b"KRT ", 0x40, 0x20, 0xffff, 800, -200, 0, 800, 200,
                             1, 0, 500, 700, 0, 0x20, 1),
        b"cmap": _cmap(),
        b"glyf": glyf,
        b"head": struct.pack(">IIIIHHQQhhhhHHhhh", 0x10000, 0x10000, 0, 0x5f0f3cf5, 3, EM, 0, 0, 50, 0, 450, 760, 0, 8, 2, 1, 0),
        b"hhea": struct.pack(">IhhhHhhhhhhhhhhhH", 0x10000, 800, -200, 0, ADVANCE, 50, 50, 450, 1, 0, 0, 0, 0, 0, 0, 0, n),
        b"hmtx": struct.pack(">Hh", ADVANCE, 50) * n,
        b"loca": struct.pack(f">{n + 1}I", *loca),
        b"maxp": struct.pack(">IH13H", 0x10000, n, 4, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0),
        b"name": _name(),
        b"post": struct.pack(">IIhhIIIII", 0x30000, 0, -100, 50, 1, 0, 0, 0, 0),
    }
    out, body, at = b"", b"", 12 + 16 * len(tables)
    for tag in sorted(tables):
        data = tables[tag]
        padded = data + b"\0" * (-len(data) % 4)
        out += struct.pack(">4sIII", tag, _sum(padded), at + len(body), len(data))
        body += padded
    whole = struct.pack(">IHHHH", 0x10000, len(tables), 128, 3, 16 * len(tables) - 128) + out + body
    # place of the field checkSumAdjustment in the font's table `head`
    where = whole.index(struct.pack(">I", 0x5f0f3cf5)) - 4
    check = struct.pack(">I", (0xb1b0afba - _sum(whole)) & 0xffffffff)
    return whole[:where] + check + whole[where + 4:]


def install(directory):
    """Writes the font, and a fontconfig file that has only this font, into @directory. Returns the
    value for the environment variable FONTCONFIG_FILE."""
    directory = pathlib.Path(directory)
    (directory / "blocks.ttf").write_bytes(font())
    config = directory / "fonts.conf"
    config.write_text(CONFIG.format(directory=directory, name=NAME))
    return config
