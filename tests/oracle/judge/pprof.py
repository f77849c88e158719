# SPDX-License-Identifier: BSD-2-Clause
"""Reads and writes pprof's profile.proto. The oracle must not share a parser with krait, so it has
this one.

Runs on Python 2.7 and 3.x, because drivers/inside.py, which writes profiles like krait's, runs
within each tested interpreter. The field numbers are those of google/pprof's profile.proto."""
import gzip
import struct

PART = 128  # bytes of a stack's ids that are looked up at once


class Location(object):
    """One frame. kind is 'python', 'kernel', 'native', 'jit', 'gc' or 'mark'. A line or column of 0
    means that the file doesn't give it. (The end of the expression is in fields that only krait
    writes.) The name "" means that no symbol covers the address."""

    __slots__ = ("kind", "mapping", "name", "file", "first", "line", "column", "address", "system",
                 "end_line", "end_column", "key")

    def __init__(self, mapping, name, file, first, line, column, address=0, system="",
                 end=(0, 0)):
        self.mapping, self.name, self.file = mapping, name, file
        self.first, self.line, self.column = first, line, column
        self.address, self.system = address, system
        self.end_line, self.end_column = (end[0] or line, end[1]) if end[1] else (0, 0)
        if mapping.startswith("[python"):
            self.kind = "python"
        elif mapping == "[krait]" or (not mapping and name.startswith("[")):
            self.kind = "mark"
        else:
            self.kind = {"[gc]": "gc", "[jit]": "jit"}.get(mapping, "native")
            if mapping.startswith("[kernel"):  # this covers "[kernel MODULE]" too
                self.kind = "kernel"
        self.key = (file, name, first)


class Sample(object):
    """A sample. stack: the raw bytes of the location ids (leaf first), the key for Profile.stack().
    """

    __slots__ = ("stack", "values", "labels")

    def __init__(self, stack, values, labels):
        self.stack, self.values, self.labels = stack, values, labels


def varints(data):
    """Returns all varints of a packed field."""
    out, value, shift = [], 0, 0
    for byte in bytearray(data):
        value |= (byte & 0x7f) << shift
        if byte & 0x80:
            shift += 7
        else:
            out.append(value)
            value = shift = 0
    return out


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def _varint_at(octets, pos):
    """Reads the varint at @pos. Returns (value, position after it)."""
    value = octets[pos]
    pos += 1
    if value < 0x80:
        return value, pos
    value &= 0x7f
    shift = 7
    while True:
        byte = octets[pos]
        pos += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value, pos
        shift += 7


def fields(data):
    """Yields (number, wire type, value) for every field of a message. A value is an int or bytes.
    """
    pos, end = 0, len(data)
    octets = bytearray(data)
    while pos < end:
        tag, pos = _varint_at(octets, pos)
        wire = tag & 7
        if wire == 0:
            value, pos = _varint_at(octets, pos)
            yield tag >> 3, 0, value
        elif wire == 2:
            size, pos = _varint_at(octets, pos)
            if pos + size > end:
                raise ValueError("truncated field %d" % (tag >> 3))
            yield tag >> 3, 2, data[pos:pos + size]
            pos += size
        elif wire == 1:
            yield tag >> 3, 1, struct.unpack("<Q", data[pos:pos + 8])[0]
            pos += 8
        else:
            raise ValueError("wire type %d" % wire)


def message(data):
    """Returns a message without repeated fields as {field number: value}."""
    return dict((number, value) for number, _, value in fields(data))


class Profile(object):
    """A profile in memory, with its samples in the order of the file."""

    def __init__(self, data):
        strings, raw = [], {}
        for number, _, value in fields(data):
            if number == 6:
                strings.append(value.decode("utf-8"))
            else:
                raw.setdefault(number, []).append(value)
        self.strings = strings
        self.sample_types = [self._value_type(v) for v in raw.get(1, [])]
        self.period_type = self._value_type(raw[11][0]) if 11 in raw else None
        self.period = signed(raw.get(12, [0])[0])
        self.time_nanos = raw.get(9, [0])[0]
        self.duration_nanos = raw.get(10, [0])[0]
        self.comments = [strings[i] for v in raw.get(13, [])
                         for i in (varints(v) if isinstance(v, bytes) else [v])]
        self.default_type = strings[raw.get(14, [0])[0]]
        mappings = {}
        for data in raw.get(3, []):
            m = message(data)
            mappings[m[1]] = strings[m.get(5, 0)]
        functions = {}
        for data in raw.get(5, []):
            f = message(data)
            functions[f[1]] = (strings[f.get(2, 0)], strings[f.get(4, 0)], signed(f.get(5, 0)),
                               strings[f.get(3, 0)])
        self.locations = {}
        for data in raw.get(4, []):
            ident, mapping, lines, address = 0, 0, [], 0
            for number, _, value in fields(data):
                if number == 1:
                    ident = value
                elif number == 2:
                    mapping = value
                elif number == 3:
                    address = value
                elif number == 4:
                    lines.append(message(value))
            self.locations[ident] = [
                Location(mappings.get(mapping, ""), name, file, first, signed(line.get(2, 0)),
                         signed(line.get(3, 0)), address, system,
                         (line.get(101, 0), line.get(100, 0)))
                for line in reversed(lines or [{}])
                for name, file, first, system in [functions.get(line.get(1, 0), ("", "", 0, ""))]]
        self._labels = {}  # a label's bytes -> (key, value), because few labels differ
        self.samples = [self._sample(data) for data in raw.get(2, [])]
        self._stacks, self._parts = {}, {}

    def _value_type(self, data):
        m = message(data)
        return self.strings[m.get(1, 0)], self.strings[m.get(2, 0)]

    def _sample(self, data):
        stack, values, labels = [], [], {}
        for number, wire, value in fields(data):
            if number == 1:
                stack.append(value if wire == 2 else _varint(value))
            elif number == 2:
                values.extend(varints(value) if wire == 2 else [value])
            elif number == 3:
                if value not in self._labels:
                    self._labels[value] = self._label(message(value))
                key, text = self._labels[value]
                labels[key] = text
        return Sample(b"".join(stack), [signed(v) for v in values], labels)

    def _label(self, label):
        return (self.strings[label[1]],
                self.strings[label[2]] if 2 in label else signed(label.get(3, 0)))

    def stack(self, sample):
        """Returns the locations of a sample, root first."""
        known = self._stacks.get(sample.stack)
        if known is None:
            known, octets, end = [], bytearray(sample.stack), len(sample.stack)
            while end:
                first = max(0, end - PART)
                while first and octets[first - 1] & 0x80:
                    first -= 1
                known += self._part(sample.stack[first:end])
                end = first
            self._stacks[sample.stack] = known
        return known

    def _part(self, data):
        """Returns the locations of a part of a stack. Parts are kept, because deep stacks differ
        only at their ends."""
        if data not in self._parts:
            self._parts[data] = [frame for i in reversed(varints(data))
                                 for frame in self.locations[i]]
        return self._parts[data]


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        with gzip.open(path, "rb") as f:
            data = f.read()
    return Profile(data)


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number, value):
    if isinstance(value, bytes):
        return _varint(number << 3 | 2) + _varint(len(value)) + value
    return _varint(number << 3) + _varint(value)


class Writer(object):
    """Builds a profile of Python frames and marks (frames in brackets). types: (type, unit) of its
    values. The second one is the default, and `period` is the period of it."""

    def __init__(self, types=(("samples", "count"), ("cpu", "nanoseconds")), period=0, duration=0,
                 time=0):
        self.types, self.strings = types, {b"": 0}
        self.out = [_field(number, value) for number, value in ((12, period), (10, duration), (9, time))
                    if value]
        self.mappings, self.functions, self.locations = {}, {}, {}

    def string(self, text):
        if not isinstance(text, bytes):
            text = text.encode("utf-8", "replace")
        return self.strings.setdefault(text, len(self.strings))

    def _id(self, table, number, key, parts):
        if key not in table:
            table[key] = len(table) + 1
            self.out.append(_field(number, _field(1, table[key]) + b"".join(parts)))
        return table[key]

    def location(self, mapping, name, file, first, line, column, end=None):
        """Adds a location and returns its id. end: (line, column) where the expression ends."""
        m = self._id(self.mappings, 3, mapping, [_field(5, self.string(mapping))])
        f = self._id(self.functions, 5, (name, file, first), [
            _field(2, self.string(name)), _field(4, self.string(file)), _field(5, first)])
        line_part = _field(1, f) + _field(2, line) + _field(3, column)
        if end:
            line_part += _field(100, end[1]) + (_field(101, end[0]) if end[0] != line else b"")
        return self._id(self.locations, 4, (m, f, line, column, end),
                        [_field(2, m), _field(4, line_part)])

    def sample(self, stack, labels, count=1, values=()):
        """Adds a sample. stack: location ids, root first."""
        parts = [_field(1, b"".join(_varint(i) for i in reversed(stack))),
                 _field(2, b"".join(_varint(v) for v in values or (count, count * 1000000)))]
        for key, value in sorted(labels.items()):
            if isinstance(value, int):
                unit = _field(4, self.string("nanoseconds")) if key == "time" else b""
                parts.append(_field(3, _field(1, self.string(key)) + _field(3, value) + unit))
            else:
                parts.append(_field(3, _field(1, self.string(key)) + _field(2, self.string(value))))
        self.out.append(_field(2, b"".join(parts)))

    def save(self, path):
        for kind, unit in self.types:
            self.out.append(_field(1, _field(1, self.string(kind)) + _field(2, self.string(unit))))
        kind, unit = self.types[1]
        self.out.append(_field(11, _field(1, self.string(kind)) + _field(2, self.string(unit))))
        self.out.append(_field(14, self.string(kind)))
        table = sorted(self.strings, key=self.strings.get)
        with gzip.open(path, "wb", 1) as f:
            f.write(b"".join(self.out + [_field(6, text) for text in table]))
