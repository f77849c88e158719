# SPDX-License-Identifier: BSD-2-Clause
"""Reads the words on each page of a PDF that a browser wrote, also words that are partly hidden."""
import re
import zlib


class Pdf:
    def __init__(self, data):
        self.objects = {int(n): text for n, text in re.findall(rb"(\d+) 0 obj\s(.*?)endobj", data, re.S)}

    def _stream(self, key, text):
        """Returns the stream to which @key refers in @text."""
        number = int(re.search(key + rb" (\d+) 0 R", text)[1])
        return zlib.decompress(re.search(rb"stream\r?\n(.*)endstream", self.objects[number], re.S)[1])

    def _letters(self, font):
        """Returns {glyph: letters} of a font, from the font's /ToUnicode table (ISO 32000-1,
        9.10.3)."""
        table, out = self._stream(rb"/ToUnicode", self.objects[int(font)]), {}
        for block in re.findall(rb"beginbfchar(.*?)endbfchar", table, re.S):
            for glyph, letters in re.findall(rb"<(\w+)>\s*<(\w+)>", block):
                out[int(glyph, 16)] = bytes.fromhex(letters.decode()).decode("utf-16-be")
        for block in re.findall(rb"beginbfrange(.*?)endbfrange", table, re.S):
            for first, last, letter in re.findall(rb"<(\w+)>\s*<(\w+)>\s*<(\w+)>", block):
                for glyph in range(int(first, 16), int(last, 16) + 1):
                    out[glyph] = chr(int(letter, 16) + glyph - int(first, 16))
        return out

    def pages(self):
        """Returns for each page of the PDF a list of its words."""
        out = []
        for text in self.objects.values():
            if not re.search(rb"/Type\s*/Page\b", text):
                continue
            fonts = {name: self._letters(font) for name, font in re.findall(rb"/(F\d+) (\d+) 0 R", text)}
            words, letters = [], {}
            for font, shown in re.findall(rb"/(F\d+) \S+ Tf|<(\w+)> Tj", self._stream(rb"/Contents", text)):
                if font:
                    letters = fonts[font]
                else:
                    words.append("".join(letters.get(int(shown[k:k + 4], 16), "?") for k in range(0, len(shown), 4)))
            out.append(words)
        return out
