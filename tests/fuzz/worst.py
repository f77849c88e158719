#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""worst.py [NAME]: no input of 1 MiB may take a parser more than a second of CPU time. The inputs
are those that cost most for their size: deep nesting, 10^5 equal names, long common prefixes, a
single long line, unsorted entries, many tiny sections. Each fuzzer has a list of them, and is built
without sanitizers (tests/fuzz/timed.c). With NAME, only fuzz_NAME is tested."""
import functools
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import seeds
import store_frames

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIB = 1 << 20
SECONDS = 1.0
N = 100000
REC_CODE_TEXTS = 72  # bytes of struct rec_code before the texts
chance = random.Random(1)


def fill(part, *args):
    """Returns part(0), part(1), ... joined, as many as fit into 1 MiB."""
    out, size = [], 0
    for i in range(10 * N):
        piece = part(i, *args)
        size += len(piece)
        if size > MIB - 4096:
            break
        out.append(piece)
    return b"".join(out)


@functools.cache
def inputs(make):
    """Returns the list of inputs that @make yields. It is kept, because several fuzzers may use it.
    """
    return list(make())


def shuffled(pieces):
    pieces = list(pieces)
    chance.shuffle(pieces)
    return pieces


def dump(value):
    data = json.dumps(value, separators=(",", ":")).encode()
    assert len(data) <= MIB, len(data)
    return data


def nested(head, opening, tail=b""):
    return (head + opening * MIB)[:MIB - len(tail)] + tail


# from here on: generators of profiles in all formats
def folded():
    yield "lines", fill(lambda i: b"a;b;f%d 1\n" % i)
    yield "one-line", b"f;" * ((MIB - 8) // 2) + b"g 1\n"
    yield "one-name", b"f" * (MIB - 8) + b" 1\n"
    yield "inlined", b"a;" + b"b_[i];" * 170000 + b"c 1\n"
    yield "inlined-as-allowed", fill(lambda i: b"a%d;" % i + b"b_[i];" * 254 + b"c 1\n")
    yield "prefix", fill(lambda i: b"p" * 200 + b"%d 1\n" % i)
    yield "deeper-each", fill(lambda i: b"f;" * (i % 1400) + b"g 1\n")
    yield "blanks", b" " * (MIB - 4) + b"a 1\n"
    yield "counts", fill(lambda i: b"a 0.%d\n" % i)
    yield "empty-frames", fill(lambda i: b";;;;;;;;;;;;a 1\n")
    yield "carriage-returns", b"a 1\n" + b"\r" * (MIB - 8) + b"\n"


def frame(i):
    return {"name": "f%d" % i}


def speedscope(frames, profile):
    return dump({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames}, "profiles": [profile]})


def events(n, frames):
    return {"type": "evented", "name": "x", "unit": "none", "startValue": 0, "endValue": 2 * n,
            "events": [{"type": "O", "at": i, "frame": i % frames} for i in range(n)] +
            [{"type": "C", "at": n + i, "frame": (n - 1 - i) % frames} for i in range(n)]}


def speedscopes():
    head = b'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":'
    sampled = {"type": "sampled", "name": "x", "unit": "none", "startValue": 0, "endValue": 1}
    yield "equal-names", speedscope([frame(0)] * 60000, dict(sampled, samples=[[0]], weights=[1]))
    yield "nested-events", speedscope([frame(0)], events(9000, 1))
    yield "nested-events-as-allowed", speedscope([frame(0)], events(8500, 1))
    yield "deep-samples", speedscope([frame(0)], dict(sampled, samples=[[0] * 1000] * 400, weights=[1] * 400))
    yield "many-samples", speedscope([frame(i) for i in range(100)], dict(sampled, samples=[[i % 100] for i in range(80000)], weights=[1] * 80000))
    yield "many-profiles", dump({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [frame(0)]},
                                 "profiles": [dict(sampled, samples=[[0]], weights=[1]) for _ in range(9000)]})
    yield "many-values", dump({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [frame(0)]},
                               "profiles": [dict(sampled, samples=[[0]], weights=[1], valueType="v%d" % i, valueUnit="u%d" % i) for i in range(7000)]})
    yield "deep-json", nested(head, b"[")
    yield "deep-objects", nested(head, b'{"a":')
    yield "escapes", head + b'{"frames":[{"name":"' + b"\\u0041" * 170000 + b'"}]},"profiles":[]}'
    yield "keys", head + b"{" + fill(lambda i: b'"k%d":1,' % i)[:-1] + b"}}"


def firefox(stacks, samples, threads=1):
    return dump({"meta": {"preprocessedProfileVersion": 60, "startTime": 0}, "libs": [],
                 "shared": {"stackTable": {"frame": [0] * len(stacks), "prefix": stacks}, "frameTable": {"func": [0]},
                            "funcTable": {"name": [0]}, "stringArray": ["f"]},
                 "threads": [{"pid": "1", "tid": t, "name": "t", "samples": {"stack": samples}} for t in range(threads)]})


def firefoxes():
    yield "chain", firefox([None] + list(range(65000)), [65000])
    yield "each-of-chain", firefox([None] + list(range(2999)), list(range(3000)) * 40)
    yield "threads", firefox([None] + list(range(999)), list(range(1000)), 100)
    yield "backwards", firefox(list(range(1, 60000)) + [None], [0])


def trace(list_of_events):
    return dump({"traceEvents": list_of_events})


def sampled(frames, samples):
    return dump({"traceEvents": [], "samples": samples, "stackFrames": {str(i): frame for i, frame in enumerate(frames)}})


def traces():
    def slices(n, pid=1, tid=1, ts=0, dur=1):
        return {"ph": "X", "name": "f%d" % n, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    yield "nested", trace([slices(0, ts=i, dur=2 * (15000 - i)) for i in range(15000)])
    yield "same-time", trace([slices(i) for i in range(15000)])
    yield "not-sorted", trace(shuffled(slices(0, ts=i) for i in range(15000)))
    yield "crossing", trace([slices(0, ts=i, dur=15000) for i in range(15000)])
    yield "never-ended", trace([{"ph": "B", "name": "f", "pid": 1, "tid": 1, "ts": i} for i in range(19000)])
    yield "threads", trace([slices(0, tid=i) for i in range(15000)])
    yield "processes", trace([slices(0, pid=i) for i in range(15000)])
    yield "async", trace([{"ph": "b" if i % 2 else "e", "id": i // 2, "cat": "c", "name": "f", "pid": 1, "tid": 1, "ts": i} for i in range(13000)])
    yield "names-of-threads", trace([{"ph": "M", "name": "thread_name", "pid": 1, "tid": i, "args": {"name": "t"}} for i in range(12000)])
    yield "chain", sampled([{"name": "f", "parent": i - 1} for i in range(12000)], [{"sf": 11999, "ts": 1, "pid": 1, "tid": 1}])
    yield "each-of-chain", sampled([{"name": "f", "parent": i - 1} for i in range(4000)], [{"sf": i, "ts": i} for i in range(4000)] * 5)
    yield "circle", sampled([{"name": "f", "parent": 1 - i} for i in range(2)], [{"sf": 0}] * 1000)
    yield "samples-of-threads", sampled([{"name": "f"}], [{"sf": 0, "tid": i} for i in range(19000)])
    yield "chain-of-threads", sampled([{"name": "f", "parent": i - 1} for i in range(9000)], [{"sf": 8999, "tid": i} for i in range(25000)])
    yield "chain-of-threads-as-allowed", sampled([{"name": "f", "parent": i - 1} for i in range(9000)], [{"sf": 8999, "tid": i} for i in range(8000)])
    yield "deep", nested(b'{"traceEvents":[{"ph":', b'{"a":')


def cpuprofile(n, children, samples):
    call = {"functionName": "f", "scriptId": "1", "url": "x", "lineNumber": 1, "columnNumber": 1}
    return dump({"nodes": [{"id": i + 1, "callFrame": call, "children": children(i)} for i in range(n)], "startTime": 0, "endTime": 1,
                 "samples": samples, "timeDeltas": [1] * len(samples)})


def cpuprofiles():
    yield "chain", cpuprofile(7000, lambda i: [i + 2] if i < 6999 else [], [7000])
    yield "each-of-chain", cpuprofile(2000, lambda i: [i + 2] if i < 1999 else [], list(range(1, 2001)) * 10)
    yield "children-of-all", cpuprofile(600, lambda i: list(range(1, 300)), [1])
    yield "star", cpuprofile(6000, lambda i: list(range(2, 6001)) if not i else [], list(range(1, 6001)))


def field(number, data):
    n, head = len(data), b""
    while n > 127:
        head, n = head + bytes([n & 127 | 128]), n >> 7
    return bytes([number << 3 | 2]) + head + bytes([n]) + data


def number(at, value):
    out = bytes([at << 3])
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def pprofs():
    head = field(1, b"\x08\x01\x10\x02") + field(6, b"") + field(6, b"cpu") + field(6, b"nanoseconds") + field(6, b"f")
    place = field(5, number(1, 1) + number(2, 3)) + field(4, number(1, 1) + field(4, number(1, 1)))
    yield "one-stack", head + place + fill(lambda i: field(2, field(1, b"\x01") + field(2, b"\x01")))
    yield "deep-stack", head + place + field(2, field(1, b"\x01" * (MIB - 4096)) + field(2, b"\x01"))
    yield "deep-stacks", head + place + fill(lambda i: field(2, field(1, b"\x01" * (i % 1000)) + field(2, b"\x01")))
    yield "equal-strings", head + fill(lambda i: field(6, b"f"))
    yield "strings", head + fill(lambda i: field(6, b"p" * 40 + b"%d" % i))
    yield "locations", head + fill(lambda i: field(4, number(1, i + 1) + field(4, number(1, 1))))
    yield "same-location", head + fill(lambda i: field(4, number(1, 1) + field(4, number(1, 1))))
    yield "lines-of-a-location", head + place + field(4, number(1, 2) + fill(lambda i: field(4, number(1, 1)))) + field(2, field(1, b"\x02") + field(2, b"\x01"))
    yield "labels", head + place + field(2, field(1, b"\x01") + field(2, b"\x01") + fill(lambda i: field(3, number(1, 3) + number(2, 3))))
    yield "label-keys", head + fill(lambda i: field(6, b"%d" % i))[:MIB // 3] + place + field(
        2, field(1, b"\x01") + field(2, b"\x01") + b"".join(field(3, number(1, 3 + 40000 - i) + number(2, 3)) for i in range(40000)))
    yield "mappings", head + fill(lambda i: field(3, number(1, i + 1) + number(2, 4096) + number(3, 8192)))
    yield "comments", head + fill(lambda i: number(13, 3))
    empty = gzip.compress(b"", 1)
    yield "gzip-members", fill(lambda i: empty)


def jsonls():
    head = b'{"type":"krait","version":1,"sample_types":[{"type":"cpu","unit":"x"}]}\n{"type":"mapping","id":1,"name":"x"}\n'
    one = head + b'{"type":"frame","id":1,"mapping":1,"name":"f"}\n'
    yield "frames", head + fill(lambda i: b'{"type":"frame","id":%d,"mapping":1,"name":"f"}\n' % (i + 1))
    yield "inlined", one + fill(lambda i: b'{"type":"frame","id":%d,"mapping":1,"name":"f","inlined_into":%d}\n' % (i + 2, i + 1))
    yield "inlined-as-allowed", one + fill(lambda i: b'{"type":"frame","id":%d,"mapping":1,"name":"f","line":%d,"inlined_into":%d}\n' % (
        i + 2, i, i + 1 if i % 255 else 1))
    yield "deep-stack", one + b'{"type":"stack","id":1,"frames":[' + b"1," * 500000 + b"1]}\n"
    yield "stacks", one + fill(lambda i: b'{"type":"stack","id":%d,"frames":[%s1]}\n' % (i + 1, b"1," * (i % 800)))
    yield "samples", one + b'{"type":"stack","id":1,"frames":[1]}\n' + fill(lambda i: b'{"type":"sample","stack":1,"values":[1]}\n')
    yield "labels", one + b'{"type":"stack","id":1,"frames":[1]}\n{"type":"sample","stack":1,"values":[1],"labels":{' + fill(
        lambda i: b'"k%d":"v",' % i)[:-1] + b"}}\n"
    yield "comments", head[:-1] + b"\n" + fill(lambda i: b'{"type":"comment","text":"c"}\n')
    yield "one-line", head + b'{"type":"x","a":"' + b"a" * (MIB - 4096) + b'"}\n'


def pictures():
    mark = b'krait-recording">'
    yield "markers", fill(lambda i: mark)
    yield "svg-markers", b"<svg>" + fill(lambda i: b'<metadata id="' + mark)
    yield "html-markers", b"<!DOCTYPE html>" + fill(lambda i: b'<script type="x" id="' + mark)
    yield "half-markers", b"<!DOCTYPE html>" + fill(lambda i: b'krait-recording"')
    yield "angles", b"<" * MIB
    yield "base64", b"<!DOCTYPE html><script id=\"" + mark + b"A" * (MIB - 4096) + b"</script>"
    yield "blanks", b"<!DOCTYPE html><script id=\"" + mark + b"A \n" * 300000 + b"</script>"


def profiles():
    for kind, made in (("folded", folded), ("speedscope", speedscopes), ("firefox", firefoxes), ("trace", traces),
                       ("cpuprofile", cpuprofiles), ("pprof", pprofs), ("jsonl", jsonls), ("picture", pictures)):
        for name, data in inputs(made):
            yield kind + "-" + name, data


# from here on: generators of files with code
def elf(symbols, names, sections=0):
    """Makes an ELF file with @symbols, which are (offset of the name, address, size), the string
    table @names, and @sections empty sections."""
    count = 5 + sections
    table = b"\0" * 24 + b"".join(struct.pack("<IBBHQQ", at, 0x12, 0, 1, address, size) for at, address, size in symbols)
    text, strings = b"\x90" * 4096, b"\0" + names + b"\0"
    head = 64 + 56
    at_text, at_table = 4096, 8192
    at_names = at_table + len(table)
    kinds = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    at_kinds = at_names + len(strings)
    at_sections = (at_kinds + len(kinds) + 7) & ~7

    def section(name, kind, flags, address, at, size, link=0, info=0, entry=0):
        return struct.pack("<IIQQQQIIQQ", name, kind, flags, address, at, size, link, info, 8, entry)
    rows = section(0, 0, 0, 0, 0, 0) + section(1, 1, 6, 0x1000, at_text, len(text)) + section(7, 2, 0, 0, at_table, len(table), 3, 1, 24)
    rows += section(15, 3, 0, 0, at_names, len(strings)) + section(23, 3, 0, 0, at_kinds, len(kinds))
    rows += section(1, 1, 0, 0, at_text, 0) * sections
    header = b"\x7fELF\2\1\1" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, at_sections, 0, 64, 56, 1, 64, count, 4)
    load = struct.pack("<IIQQQQQQ", 1, 5, at_text, 0x1000, 0x1000, len(text), len(text), 4096)
    data = (header + load).ljust(at_text, b"\0") + text + table + strings + kinds
    # a first byte of 0 tells fuzz_elf that a whole file follows
    data = b"\0" + data.ljust(at_sections, b"\0") + rows
    assert len(data) <= MIB + 1 and head <= 4096
    return data


def elfs():
    yield "one-address", elf([(1, 0x1000, 16)] * 40000, b"f")
    yield "suffixes", elf([(1 + i, 0x1000, 16) for i in range(20000)], b"_" * 400000)
    yield "suffixes-apart", elf([(1 + i, 0x1000 + i % 4096, 1) for i in range(20000)], b"_" * 400000)
    yield "prefixes", elf([(1 + 200 * i, 0x1000, 16) for i in range(2400)], b"".join(b"p" * 190 + b"%08d\0\0" % i for i in range(2400)))
    yield "nested", elf([(1, 0x1000 + i % 2048, 4096 - 2 * (i % 2048)) for i in range(40000)], b"f")
    yield "covering", elf([(1, 0x1000, 1 + i % 4096) for i in range(40000)], b"f")
    yield "python-names", elf([(1, 0x1000, 16)] * 30000, b"_PyEval_EvalFrameDefault")
    yield "sections", elf([(1, 0x1000, 16)], b"f", 15000)
    yield "mangled", elf([(1, 0x1000 + i % 4096, 16) for i in range(10000)], b"_ZN" + b"1a" * 100000 + b"E")


def frames():
    """Yields inputs for fuzz_unwind: the first byte, then .debug_frame for code from 0x1000 to
    0x2000."""
    def entry(body):
        body += bytes(-len(body) % 4)
        return struct.pack("<I", len(body)) + body

    def cie(program=b""):
        return entry(b"\xff\xff\xff\xff\1\0\1\x78\x10\x0c\7\x08\x90\1" + program)

    def fdes(program, place, head):
        """Returns @head followed by as many FDEs as fit. Each has the instructions @program and
        begins at place(i)."""
        out, at = [head], len(head)
        while at < MIB - 64 - len(program):
            start, size = place(len(out))
            out.append(entry(struct.pack("<IQQ", 0, start, size) + program))
            at += len(out[-1])
        return b"\0" + b"".join(out)

    def apart(i):
        return 0x1000 + 16 * (i % 256), 16
    yield "equal", fdes(b"", lambda i: (0x1000, 4096), cie())
    yield "descending", fdes(b"", lambda i: (0x1fff - i % 4096, 1), cie())
    yield "nested", fdes(b"\x41\x0e\x10", lambda i: (0x1000 + i % 2048, 4096 - 2 * (i % 2048)), cie())
    yield "long-cie", fdes(b"", apart, cie(b"\x0a\x0b" * 490))
    yield "long-cie-rules", fdes(b"\x41\x0e\x10", apart, cie(b"\x86\1\xc6" * 320))
    yield "program", fdes(b"\x41\x0e\x10" * ((MIB - 4096) // 3), apart, cie())
    yield "remember", fdes(b"\x0a\x0b" * ((MIB - 4096) // 2), apart, cie())
    yield "rows", fdes(b"".join(b"\x41\x0e" + bytes([8 + 8 * (i % 15)]) for i in range(4096)), lambda i: (0x1000, 4096), cie())
    yield "expressions", fdes(b"\x0f\x3c" + b"\x77\x08" + b"\x96" * 58, apart, cie())
    yield "many-cies", b"\0" + fill(lambda i: cie())
    pair = len(cie()) + 24
    yield "a-cie-each", b"\0" + fill(lambda i: cie() + entry(struct.pack("<IQQ", pair * i, *apart(i))))
    yield "zeros", bytes(MIB)


def code():
    """Yields inputs for fuzz_x86: two bytes that say where a function begins, then code."""
    yield "nops", b"\0\0" + b"\x90" * (MIB - 8)
    yield "zeros", bytes(MIB)
    yield "prefixes", b"\0\0" + b"\x66" * (MIB - 8)
    yield "branches", b"\0\0" + b"\x74\0" * (MIB // 2 - 8)
    yield "far-branches", b"\0\0" + fill(lambda i: b"\x0f\x84" + struct.pack("<i", MIB - 6 * i - 4096))
    yield "branches-back", b"\0\0" + fill(lambda i: b"\x0f\x84" + struct.pack("<i", -6 * i - 6))
    yield "pushes", b"\0\0" + b"\x55" * (MIB - 8)
    yield "tables", b"\0\0" + b"\xff\x24\xc5\0\x10\0\0" * (MIB // 7 - 8)
    yield "moves", b"\0\0" + b"\x48\xb8" * (MIB // 2 - 8)


def maps():
    yield "ascending", fill(lambda i: b"%x000-%x000 r-xp 0 08:01 %d /lib/a.so\n" % (i + 1, i + 2, i))
    yield "descending", fill(lambda i: b"%x000-%x000 r-xp 0 08:01 %d /lib/a.so\n" % (N - i, N - i + 1, i))
    yield "equal", fill(lambda i: b"1000-2000 r-xp 0 08:01 1 /lib/a.so\n")
    yield "covering", fill(lambda i: b"1000-%x000 r-xp 0 08:01 1 /lib/libc.so.6\n" % (i + 2))
    yield "one-line", b"1000-2000 r-xp 0 08:01 1 /" + b"a" * (MIB - 64) + b"\n"
    yield "escapes", b"1000-2000 r-xp 0 08:01 1 /" + b"\\012" * (MIB // 4 - 64) + b"\n"
    yield "libraries", fill(lambda i: b"%x000-%x000 r-xp 0 08:01 %d /lib/libpthread.so.0\n" % (i + 1, i + 2, i))


def perf_maps():
    yield "equal", fill(lambda i: b"1000 10 f%d\n" % i)
    yield "ascending", fill(lambda i: b"%x 10 f\n" % (i * 16))
    yield "descending", fill(lambda i: b"%x 10 f\n" % ((N - i) * 16))
    yield "nested", fill(lambda i: b"%x %x f\n" % (i, 2 * (N - i)))
    yield "covering", fill(lambda i: b"0 %x f\n" % (i + 1))
    yield "around", fill(lambda i: b"%x %x f\n" % (N - i, 2 * i + 1))
    yield "shuffled", b"".join(shuffled(b"%x 40 f\n" % i for i in range(N)))[:MIB]
    yield "one-line", b"1000 10 " + b"n" * (MIB - 16) + b"\n"
    yield "no-line", b"\n" * MIB
    yield "same-name", fill(lambda i: b"%x 10 %s\n" % (i * 16, b"p" * 100))


def jitdumps():
    def load(i, address, size, name=b"f"):
        body = struct.pack("<IIQQQQ", 1, 1, address, address, size, i) + name + b"\0"
        return struct.pack("<IIQ", 0, 16 + len(body), i) + body
    yield "equal", fill(lambda i: load(i, 4096, 0))
    yield "descending", fill(lambda i: load(i, 16 * (N - i), 0))
    yield "empty", fill(lambda i: struct.pack("<IIQ", 3, 16, i))
    yield "one-name", load(0, 4096, 0, b"n" * (MIB - 256))
    yield "moves", fill(lambda i: struct.pack("<IIQIIQQQQQ", 1, 64, i, 1, 1, 4096, 4096, 8192 + i, 16, 1))


def kernel_names():
    yield "equal", fill(lambda i: b"ffffffff81000000 T f%d\n" % i)
    yield "descending", fill(lambda i: b"%x T f\n" % (0xffffffff90000000 - 16 * i))
    yield "modules", fill(lambda i: b"%x t f\t[m%d]\n" % (0xffffffff81000000 + 16 * i, i))
    yield "one-line", b"ffffffff81000000 T " + b"n" * (MIB - 64) + b"\n"
    yield "same-names", fill(lambda i: b"%x T %s\n" % (0xffffffff81000000 + i, b"p" * 100))


def procs():
    yield "cgroup", b"0::/" + b"a/" * (MIB // 2 - 8) + b"\n"
    yield "cgroups", fill(lambda i: b"%d:c%d:/docker/%064x\n" % (i, i, i))
    yield "mounts", fill(lambda i: b"%d 1 0:1 /docker/containers/%064x/hosts /etc/hosts rw - ext4 /dev/sda rw\n" % (i, i))
    yield "cpus", fill(lambda i: b"0-4095,")
    yield "cpu-singles", fill(lambda i: b"%d," % (i % 4096))
    yield "words", fill(lambda i: b"-c\0")
    yield "one-word", b"python3\0" + b"a" * (MIB - 16)
    yield "options", b"python3\0" + b"-X\0a\0" * (MIB // 5 - 8)
    yield "status", fill(lambda i: b"NSpid:\t1\n")
    yield "numbers", b"NSpid:" + b"\t1" * (MIB // 2 - 8) + b"\n"
    yield "folders", fill(lambda i: b"p%d/q/r/m.py,,\n" % i)
    yield "one-package", fill(lambda i: b"p/m%d.py,,\n" % i)
    yield "deep", fill(lambda i: b"a/" * 2000 + b"m.py,,\n")
    yield "short-lines", b"".join(b"p%d/b/c/d/e/f/g/h/m.py,,\n" % i for i in range(32)) + b"\n" * (MIB - 4096)
    yield "packages", fill(lambda i: b"p%d/__init__.py,,\n" % i)
    yield "top-levels", fill(lambda i: b"%c\n" % (65 + i % 26))
    yield "brackets", b"1 (" + b")" * (MIB - 8)


def gdb_lists():
    """Yields inputs for fuzz_gdb_jit. The first byte, 0xfe, says that the memory never changes. At
    0x1000 are the version, the flag, the relevant entry and the first entry. An entry has next,
    previous, and the address and the size of the file."""
    def chain(n, file, size):
        first = 0x1000 + 48
        out = b"\xfe" + struct.pack("<IIQQ", 1, 0, 0, first) * 2
        for i in range(n):
            out += struct.pack("<QQQQ", first + 32 * (i + 1) if i < n - 1 else 0, first + 32 * (i - 1) if i else 0, file, size)
        return out
    yield "chain", chain(32000, 0x1000, 64)
    yield "same-file", chain(8000, 0x1000, 700000)
    yield "circle", b"\xfe" + struct.pack("<IIQQ", 1, 0, 0, 0x1030) * 2 + struct.pack("<QQQQ", 0x1030, 0x1030, 0x1000, 64) * 20000
    inner = elf([(1 + i, 0x1000, 16) for i in range(9000)], b"_" * 200000)[1:]
    at = 0x1000 + 48 + 32 * 100
    yield "underscores", chain(100, at, len(inner)) + inner


def demangles():
    """Yields long names twice: whole, and cut to 4,095 bytes, which the demanglers still accept."""
    for name, data in names():
        yield name, data
        yield name + "-short", data[:4095]


def names():
    yield "nested", b"_ZN" + b"1a" * (MIB // 2 - 8) + b"E"
    yield "templates", b"_Z1f" + b"1aI" * (MIB // 3 - 8)
    yield "pointers", b"_Z1f" + b"P" * (MIB - 8) + b"i"
    doubling = b"_Z1f1aI1bE"
    for i in range(60):
        doubling += b"1cIS%s_S%s_E" % (b"%X" % i if i else b"", b"%X" % i if i else b"")
    yield "doubling", doubling
    yield "doubling-pairs", b"_Z1fSt4pairIiiE" + b"".join(b"St4pairIS%X_S%X_E" % (i, i) for i in range(35))
    yield "rust", b"_RNv" + b"N" * (MIB - 8)
    yield "rust-references", b"_RINvC1a1f" + b"T" * 30 + b"".join(b"B%x_" % i for i in range(10)) + b"E" * 40 + b"E"
    yield "rust-doubling", b"_RINvC1a1f" + b"TB7_B7_" * 100 + b"EE"
    yield "dots", b"a" + b".b" * (MIB // 2 - 8)
    yield "clones", b"_Z1fv" + b".cold" * (MIB // 5 - 8)
    yield "underscores", b"_" * MIB
    yield "go", b"a/" * (MIB // 2 - 16) + b"b.(*T).Run"
    yield "numba", b"_ZN8__main__4workB2v1B" + b"_40" * (MIB // 3 - 16) + b"E"


def debug_files():
    import lzma
    yield "bomb", b"\0" + lzma.compress(bytes(1 << 28), preset=1)
    empty = lzma.compress(b"", preset=0)
    yield "blocks", b"\0" + fill(lambda i: empty)
    yield "link", b"\1" + b"a" * (MIB - 8) + b"\0\0\0\0"
    yield "slashes", b"\1" + b"/" * (MIB - 8)


def tables():
    # the first line, and an instruction that comes after all entries of the table
    head = struct.pack("<ii", 1, 0x7fffffff)
    yield "continued", head + b"\xff" * (MIB - 16)
    yield "short", head + b"\x80\x00" * (MIB // 2 - 16)
    yield "long", head + (b"\xf0" + b"\xff" * 4000) * 260
    yield "zeros", head + bytes(MIB - 16)
    yield "lines", head + b"\x00\x01" * (MIB // 2 - 16)


def records():
    """Yields inputs for fuzz_code: a byte for the version, struct rec_code (abi/records.h), and the
    texts."""
    def record(version, texts):
        out = bytes(REC_CODE_TEXTS)
        for kind, data in texts:
            out += struct.pack("<QIIBB6x", 1, len(data) // max(kind, 1), len(data), kind, 0)
        return bytes([version]) + out + b"".join(data.ljust((len(data) + 7) & ~7, b"\0") for _, data in texts)
    small, room = [(1, b"f")] * 3, MIB - 4096
    for version in (0x80, 6, 9, 10, 11, 12, 15):
        yield "table-zeros-%d" % version, record(version, small + [(0, bytes(room))])
        yield "table-lines-%d" % version, record(version, small + [(0, b"\0\1" * (room // 2))])
        yield "table-long-%d" % version, record(version, small + [(0, b"\xf0" + b"\xff" * room)])
    for kind, letter in ((1, b"\xe9"), (2, b"\xff\xdf"), (4, b"\xff\xff\xff\x7f")):
        yield "name-%d" % kind, record(12, [(1, b"f"), (1, b"f"), (kind, letter * (room // kind)), (0, b"")])


def rings():
    """Yields records of the kernel programs, encoded as in tests/fuzz/seeds.py."""
    def each(make):
        return fill(lambda i: seeds.rings(make(i)))
    yield "samples-without-stacks", each(lambda i: seeds.sample(i + 1))
    yield "samples-of-one", seeds.rings(seeds.process(), seeds.code(0x30b), seeds.stack(9, [(0x10, 1)])) + each(lambda i: seeds.sample(9))
    yield "stacks", each(lambda i: seeds.stack(i + 1, [(i, 1)]))
    yield "deep-stacks", each(lambda i: seeds.stack(i + 1, [(i * 1024 + k, 1) for k in range(1024)]))
    yield "shown-stacks", fill(lambda i: seeds.rings(seeds.stack(i + 1, [(16 * k, 1) for k in range(9)]), seeds.sample(i + 1)))
    yield "natives", fill(lambda i: seeds.rings(seeds.stack(i + 1, []), seeds.native(i + 1, [-i % (1 << 64)] * 127, [i + 1] * 2048), seeds.sample(i + 1)))
    yield "codes", each(lambda i: seeds.code(0x30b, 16 * i, 4))
    yield "codes-at-one-place", each(lambda i: seeds.code(0x309, 16, 2))
    yield "flushes", fill(lambda i: seeds.rings(seeds.sample(i + 1), *[b""] * (i % 100 == 0)))
    yield "processes", each(lambda i: seeds.process(i % 8))
    yield "images", each(lambda i: seeds.process()[:8] + struct.pack("<Q", i + 1) + seeds.process()[16:])
    yield "absent", each(lambda i: seeds.absent())
    yield "waits", each(lambda i: seeds.wait(9, i % 8192))
    yield "waits-for-peers", each(lambda i: seeds.wait(9, on=(1, 0, i % 65536, struct.pack("<I", i))))
    yield "waits-for-files", each(lambda i: seeds.wait(9, on=(4, 0, 0, b"%d" % i)))
    yield "accounts", each(lambda i: seeds.account(i, i, thread=i + 1))


def command_lines():
    yield "processes", fill(lambda i: b"-p%d\0" % (i + 1))
    yield "labels", fill(lambda i: b"--add-label=k%d=v\0" % i)
    yield "globs", fill(lambda i: b"--comm=*a*%d\0" % i)
    yield "patterns", fill(lambda i: b"--focus=a%d\0" % i)
    yield "one-pattern", b"--focus=" + b"a" * (MIB - 64)
    yield "letters", b"-" + b"v" * (MIB - 8)
    yield "words", fill(lambda i: b"-v\0")
    yield "one-word", b"--" + b"a" * (MIB - 8)
    yield "number", b"-p" + b"1" * (MIB - 8)
    yield "event", b"-e" + b"a" * (MIB - 8)


def messages():
    """Yields messages to `krait mcp`: with many members or arguments, long names, deep values."""
    call = b'{"id":1,"method":"tools/call","params":{"name":"report","arguments":{%s}}}'
    yield "members", b"{" + fill(lambda i: b'"%d":0,' % i) + b'"id":1,"method":"ping"}'
    yield "arguments", call % (fill(lambda i: b'"file":"%d",' % i) + b'"file":"x"')
    yield "long-name", call % (b'"' + b"x" * (MIB - 200) + b'":1')
    yield "long-file", call % (b'"file":"' + b"\\u00e9" * ((MIB - 200) // 6) + b'"')
    yield "deep", b'{"id":1,"method":"ping","params":' + b"[" * (MIB // 2 - 40) + b"]" * (MIB // 2 - 40) + b"}"


def intervals():
    """Yields files for --label-intervals: intervals that overlap or begin at the same time; many
    owners, keys, values and bad lines."""
    def line(pid, begin, end, labels='"a":"b"'):
        return ('{"pid":%d,"begin":%d,"end":%d,"labels":{%s}}\n' % (pid, begin, end, labels)).encode()
    yield "nested", fill(lambda i: line(1, i, 10**9 - i))
    yield "backwards", fill(lambda i: line(1, 10**9 - i, 10**9 + i))
    yield "equal-begins", fill(lambda i: line(1, 0, i))
    yield "overlapping", fill(lambda i: line(1, i, i + 5000))
    yield "processes", fill(lambda i: line(i + 1, 0, 9))
    yield "values", fill(lambda i: line(1, i, i + 1, '"a":"%d"' % i))
    yield "keys", fill(lambda i: line(1, i, i + 1, '"k%d":""' % i))
    yield "labels", fill(lambda i: line(1, i, i + 1, ",".join('"%d":"v"' % k for k in range(8))))
    yield "empty", b"\n" * (MIB - 8)
    yield "bad", fill(lambda i: b"x\n")
    yield "one-line", b'{"a":"' + b"x" * (MIB - 16) + b'"}\n'
    yield "long-value", line(1, 0, 9, '"a":"%s"' % ("\\u0041" * 170000))
    yield "deep", fill(lambda i: b'{"x":' + b"[" * 4000 + b"\n")


def dwarfs():
    """Yields files with DWARF: the compiler makes many functions, or inlines many into one."""
    with tempfile.TemporaryDirectory() as d:
        for name, text in (("functions", "".join("int f%d(int a){return a+%d;}\n" % (i, i) for i in range(1200))),
                           ("inlined", "volatile int v;\n" + "".join("static inline __attribute__((always_inline)) void g%d(void){v=%d;%s}\n" % (
                               i, i, "g%d();" % (i - 1) if i else "") for i in range(300)) + "void f(void){g299();}\n")):
            source, out = os.path.join(d, "a.c"), os.path.join(d, "a.so")
            with open(source, "w", encoding="ascii") as f:
                f.write(text)
            if subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-o", out, source], capture_output=True, check=False).returncode:
                return
            with open(out, "rb") as f:
                data = f.read()
            if len(data) <= MIB:
                yield name, data


def walks():
    """Yields memory images of interpreters with 32 changed words, the most that an input can
    change: circles, huge sizes, pointers to the end of a page."""
    kinds = {"constant": seeds.CONSTANT, "circle": seeds.OTHER_WORD, "copy": seeds.COPY,
             "near": seeds.NEAR, "bits": seeds.BIT, "end": seeds.END_OF_PAGE}
    for release in range(seeds.RELEASES):
        for step in 1, 3, 7, 11:
            yield "%d-huge-%d" % (release, step), seeds.walk(
                release, seeds.all_over(seeds.CONSTANT, step, 9))
            for name, kind in kinds.items():
                yield "%d-%s-%d" % (release, name, step), seeds.walk(
                    release, seeds.all_over(kind, step))


def configurations():
    """Yields configuration files, of at most 64 KiB (CONFIG_BYTES)."""
    full = 64 << 10
    yield "unknown", b"frequncy\n" * (full // 9)
    yield "settings", b"wall\n" * (full // 5)
    yield "names", fill(lambda i: b"comm a%d\n" % i)[:full]
    yield "one-line", b"comm " + b"#" * (full - 5)
    yield "quotes", b'comm "' + b"\\\\" * (full // 2 - 8) + b'"'
    yield "too-big", b"wall\n" * (MIB // 5)


def services():
    """Yields environments of up to 256 KiB, files of container engines of up to 4 MiB, and
    packed-refs of up to 1 MiB. The first byte says which of them follows."""
    some = 256 << 10
    entry = b'{"id":"%s","names":["a"],"metadata":"{}"},' % (b"f" * 64)
    yield "attributes", b"eOTEL_RESOURCE_ATTRIBUTES=" + fill(lambda i: b"service.name=%d," % i)[:some]
    yield "escapes", b"eOTEL_RESOURCE_ATTRIBUTES=service.name=" + b"%41" * (some // 3)
    yield "variables", (b"e" + b"DD_SERVICE=a\0" * some)[:some]
    yield "empty-variables", b"e" + b"\0" * some
    yield "containers", b"j[" + fill(lambda i: entry)[:-1] + b"]"
    yield "names", b'j[{"names":[' + fill(lambda i: b'"%d",' % i)[:-1] + b"]}]"
    yield "deep", nested(b'j{"Config":', b'{"a":')
    yield "metadata", b'j[{"id":"%s","metadata":"' % seeds.CONTAINER + b"\\u007b" * (MIB // 6 - 40) + b'"}]'
    yield "refs", b"t" + fill(lambda i: b"%040x refs/heads/mai%d\n" % (i, i))
    yield "short-refs", b"t" + b"\n" * (MIB - 8)
    yield "unit", b"t" + b"a.slice/" * (MIB // 8 - 4) + b"x.service"


def requests():
    """Yields requests to the agent's server, of at most 8 KiB (QUERY_MAX_BYTES)."""
    full = 8 << 10
    head = b"krait 1 profile\nsince 1\nuntil 2\n"
    yield "labels", head + fill(lambda i: b"label a=%d\n" % i)[:full - 64]
    yield "one-label", head + b"label a=" + b"b" * (full - 64)
    yield "lines", head + b"\n" * (full - 64)
    yield "digits", b"krait 1 profile\nsince " + b"0" * (full - 64)
    yield "too-big", head + b"label a=b\n" * (MIB // 10 - 8)
    yield "headers", b"GET /metrics HTTP/1.1\r\n" + b"Host: 127.0.0.1:9873\r\n" * (MIB // 22 - 8)
    yield "one-header", b"GET /metrics HTTP/1.1\r\nHost:" + b" " * (MIB - 64)
    yield "answer", b"krait 1 refused " + b"\xff" * (MIB - 64)


WORST = {
    "read": profiles, "jsonl": jsonls, "embedded": pictures, "pprof": pprofs, "elf": elfs, "unwind": frames, "x86": code, "maps": maps, "perf_map": perf_maps, "jitdump": jitdumps,
    "kernel_names": kernel_names, "proc": procs, "gdb_jit": gdb_lists, "demangle": demangles, "debug_file": debug_files, "linetable": tables,
    "code": records, "dwarf": dwarfs, "records": rings, "options": command_lines, "mcp": messages, "config": configurations, "query": requests, "service": services,
    "store": lambda: store_frames.worst(MIB - 4096),
    "intervals": intervals, "walk": walks,
}


def main():
    wanted = sys.argv[1:] or list(WORST)
    failed = False
    fuzzers = {name[5:-2] for name in os.listdir(os.path.join(ROOT, "tests/fuzz")) if name.startswith("fuzz_") and name.endswith(".c")}
    if fuzzers != WORST.keys():
        differ = " ".join(sorted(fuzzers ^ WORST.keys()))
        print("FAIL worst: there are no inputs for every fuzzer: " + differ)
        return 1
    made = subprocess.run(["flock", "Makefile", "make", "-j%d" % os.cpu_count()] + ["build/release/tests/fuzz/timed_" + name for name in wanted],
                          cwd=ROOT, capture_output=True, text=True, check=False)
    if made.returncode:
        print(made.stdout + made.stderr + "FAIL worst: can't build")
        return 1
    for parser in wanted:
        with tempfile.TemporaryDirectory() as d:
            paths = []
            for name, data in inputs(WORST[parser]):
                assert 0 < len(data) <= MIB + 1, (parser, name, len(data))
                paths.append(os.path.join(d, name))
                with open(paths[-1], "wb") as f:
                    f.write(data)
            done = subprocess.run([os.path.join(ROOT, "build/release/tests/fuzz/timed_" + parser)] + paths, capture_output=True, text=True, check=False)
            slow, most, lines = [], (0.0, ""), done.stdout.splitlines()
            for line in lines:
                path, took = line.split()[:2]
                name = os.path.basename(path)
                if took == "failed":
                    slow.append("%s: ended by status %s" % (name, line.split()[2]))
                    continue
                most = max(most, (float(took), name))
                if float(took) > SECONDS:
                    slow.append("%s: %s s" % (name, took))
                if os.environ.get("VERBOSE"):
                    print("%s %s: %s" % (parser, name, " ".join(line.split()[1:])))
            if len(lines) != len(paths) or not paths:
                slow.append("%d of %d inputs" % (len(lines), len(paths)))
            print("FAIL worst %s: %s" % (parser, "; ".join(slow)) if slow else
                  "PASS worst %s (%d inputs, at most %.2f s: %s)" % (parser, len(paths), *most))
            failed |= bool(slow)
    return failed


if __name__ == "__main__":
    sys.exit(main())
