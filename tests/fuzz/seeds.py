#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""seeds.py: makes the seeds that don't depend on the machine: a valid input of each kind, following
abi/records.h and the descriptions of the formats. It puts them into tests/fuzz/corpus, so that
fuzzing begins with the same seeds everywhere."""
import base64
import gzip
import struct

import pack
import store_frames

PROCESS = struct.pack("<QII", 1000, 0x7ffffff0, 1)  # the bytes of a struct proc_key
CONTAINER = b"0123456789abcdef" * 4  # a container's id, as in fuzz_service.c
SAMPLE, STACK, CODE, PROC, NATIVE, SAMPLE_END, ABSENT, WAIT, ACCOUNT = range(1, 10)
# Line tables of `def f(n):` on line 7, followed by two lines: 3.11 (locations), 3.10 (line
# numbers), 2.7 to 3.9 (pairs).
TABLES = {0x30b: bytes.fromhex("80000000d8040884018804d80b0c8048"), 0x30a: bytes.fromhex("0401080104ff"),
          0x309: bytes.fromhex("000106010801"), 0x207: bytes.fromhex("0001060108ff0001")}


def texts(*all_of_them):
    """Makes a struct wire_text for each text, followed by the bytes of the texts, each padded to a
    multiple of 8."""
    out = b"".join(struct.pack("<QIIBB6x", 1, len(data) // max(kind, 1), len(data), kind, kind == 1) for kind, data in all_of_them)
    return out + b"".join(data.ljust((len(data) + 7) & ~7, b"\0") for _, data in all_of_them)


def code(version, addr=0x10, layout=0, name=b"f", qualname="K.f\u00e9\u03b1", table=None, module=None):
    """Makes the record (struct rec_code) of a function or, with @module, of a module's top-level
    code."""
    kind = 0 if version == 0x207 else 1
    if table is None:
        table = TABLES[version]
    return (struct.pack("<BBHiQQ", CODE, module is not None, layout, 7, addr, addr + 1) + PROCESS +
            struct.pack("<iIQQQ", 0, 1, 0, 0, 4096 if module else 0) +
            texts((kind, b"/app/prog.py"), (kind, name), (2 if kind else 0, qualname.encode("utf-16-le")), (0, table)) +
            (texts((1, module), (1, b"/app/prog.py")) if module else b""))


def stack(number, frames, outcome=0):
    return (struct.pack("<BBHIQ", STACK, outcome, len(frames), 0, number) + PROCESS +
            b"".join(struct.pack("<QQiI", addr, addr + 1, 4, flags) for addr, flags in frames))


def native(number, kernel, pcs, version=0):
    return (struct.pack("<BBHHHQ", NATIVE, 2, len(pcs), len(kernel), 0, number) + PROCESS + struct.pack("<II", version, 0) +
            b"".join(struct.pack("<Q", pc) for pc in kernel + pcs))


def sample(number, outcome=0, kind=SAMPLE, walked=2, ready=0, stolen=0, thread=0x7ffffff0):
    return (struct.pack("<BBBBIQQ", kind, outcome, 4, walked, thread, 2500, number) + PROCESS +
            struct.pack("<QQQQQ", 1000000, 3000000, 400000, ready, stolen))


def wait(number, call=0, fd=1, state=1, flags=0, on=(0, 0, 0, b""), times=1024, others=0, site=1):
    kind, listens, port, text = on
    return (sample(number, kind=WAIT) + struct.pack("<QQQQII", 2000000, 700000, others, others // 2, times, 9000) +
            struct.pack("<QQiHBBII", 3, 0, call, state, fd, flags, site, 0) +
            struct.pack("<BBHi64s", kind, listens, port, 3, text))


def woken(number, waker, call=202, thread=0x7ffffff1):
    return wait(number, call) + sample(waker, thread=thread)


def account(ready, stolen, number=0, thread=0x7ffffff0):
    return sample(number, kind=ACCOUNT, ready=ready, stolen=stolen, thread=thread) + struct.pack("<QQ", 1000, 1000)


def process(state=2):
    return (struct.pack("<BBHI", PROC, state, 0, 1) + PROCESS + struct.pack("<QIIQqq", 1000, 0x800001, 0, 77, 5000, 1) +
            b"prog".ljust(16, b"\0") + bytes(96) + struct.pack("<Q16QQQII", 0, 1, *15 * [0], 7, 5, 0x800001, 0) + b"python3\0app.py".ljust(256, b"\0"))


def absent():
    return struct.pack("<BBHI", ABSENT, 0, 0, 0) + PROCESS + struct.pack("<Q", 0x5000) + struct.pack("<QQ", 0x7000, 64) + bytes(48)


def rings(*records):
    """Joins records into an input for fuzz_records. b"" stands for a call of collect_flush()."""
    return b"".join(struct.pack("<H", len(r)) + r for r in records)


RELEASES = 16  # number of entries of releases[] in tests/host/walk/walk_image.h
# kinds of changes: the low three bits of a number for hostile_value() in
# tests/host/walk/walk_random.h
CONSTANT, OTHER_WORD, COPY, NEAR, BIT, END_OF_PAGE = 0, 1, 3, 4, 5, 6
SAME = NEAR + 8 * 32
SEND, KEEP_ON_FAULT = 1 << 44, 1 << 47


def walk(release, changes, flags=SEND, fail_nth=0):
    """Makes an input for fuzz_walk. @changes: at most 32 pairs of the number of a word of the
    memory image, and a number from which hostile_value() of walk_random.h makes the word's new
    value."""
    head = flags | 31 << 6 | len(changes) - 1
    if fail_nth:
        head |= 1 << 56 | fail_nth - 1 << 48
    return struct.pack("<BQ", release, head) + b"".join(struct.pack("<QQ", *change) for change in changes)


def all_over(kind, step, number=0):
    """Returns 32 changes of one kind. The changed words are @step words apart."""
    return [(step * i, kind + 8 * (number or i)) for i in range(32)]


def walks():
    """Returns seeds for each release: a memory image without changes, one in which some reads fail,
    and some in which many words point to other words, or to an address near the one that they held
    before."""
    seeds = {}
    for release in range(RELEASES):
        seeds["%d-sound" % release] = walk(release, [(0, SAME)])
        seeds["%d-faults" % release] = walk(release, [(0, SAME)], SEND | KEEP_ON_FAULT, 5)
        seeds["%d-crossed" % release] = walk(release, all_over(OTHER_WORD, 7))
        seeds["%d-near" % release] = walk(release, all_over(NEAR, 5))
    return seeds


def words(line):
    return line.replace(" ", "\0").encode()


SEEDS = {
    "fuzz_code": {"3.11": b"\x0b" + code(0x30b), "3.10": b"\x0a" + code(0x30a), "3.9": b"\x09" + code(0x309), "2.7": b"\x80" + code(0x207)},
    "fuzz_linetable": {"%x" % v: struct.pack("<ii", 7, 4) + table for v, table in TABLES.items()},
    "fuzz_maps": {
        "process": b"55d0c0de8000-55d0c0de9000 r-xp 00001000 08:01 131 /usr/bin/python3.11\n"
                   b"55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0 [heap]\n"
                   b"7f0000000000-7f0000028000 r--p 00000000 08:01 132 /lib/x86_64-linux-gnu/libc.so.6\n"
                   b"7f0000028000-7f00001bd000 r-xp 00028000 08:01 132 /lib/x86_64-linux-gnu/libc.so.6\n"
                   b"7fff00000000-7fff00002000 r-xp 00000000 00:00 0 [vdso]\n"
                   b"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n",
        "odd": b"1000-2000 r-xs 0 fd:00 9 /dev/shm/a b (deleted)\n2000-3000 rwxp 0 00:01 8 /memfd:x\\012y (deleted)\n"
               b"3000-4000 r-xp 00000000 00:2a 7 /lib/ld-musl-x86_64.so.1\n",
    },
    "fuzz_embedded": {
        "page": b"<!DOCTYPE html><script type=\"application/octet-stream\" id=\"krait-recording\">" +
                base64.b64encode(gzip.compress(b"\x32\0", mtime=0)) + b"</script>",
        "picture": b"<svg><metadata id=\"krait-recording\">\n" + base64.b64encode(bytes(range(64))) + b"\n</metadata></svg>",
    },
    "fuzz_records": {
        "in-order": rings(process(), code(0x30c - 1, layout=4), stack(99, [(0x10, 1)]), native(99, [0xffffffff81000010], [0x401000]),
                          sample(99), b""),
        "backwards": rings(sample(99), b"", stack(99, [(0x10, 0), (0x20, 0x101)]), b"", code(0x309, layout=2), code(0x309, 0x20, 2), process()),
        "lost": rings(process(), sample(98), sample(0, outcome=2, walked=0), sample(0, outcome=5, walked=4), b"", sample(98, kind=SAMPLE_END)),
        "module": rings(process(), code(0x30b, layout=4, name=b"<module>", qualname="<module>", module=b"prog"), stack(99, [(0x10, 1)]),
                        sample(99)),
        "absent": rings(process(3), absent(), process(4), code(0x207, layout=0), b"", absent()),
        "wakers": rings(process(), code(0x30b, layout=4), stack(99, [(0x10, 1)]), woken(99, 99), woken(99, 98), woken(99, 99, 0), b"",
                        woken(97, 99), stack(97, [(0x10, 1)]), woken(99, 99, thread=0), woken(99, 99)[:-1], woken(99, 99) + b"x", b""),
        "waits": rings(process(), code(0x30b, layout=4), stack(99, [(0x10, 1)]), *[wait(99, call) for call in (-1, 0, 1, 35, 202, 999, 1 << 30)],
                       wait(99, -1, state=2), wait(99, 1, 3, 2, 7), wait(98),
                       *[wait(98 + i % 2, times=5000, others=4000000, site=i) for i in range(10)], account(0, 0),
                       *[wait(99, on=(kind, kind & 1, 80, b"/run/x" * 11)) for kind in range(6)], wait(99, 61, flags=32), b""),
        "accounts": rings(process(), code(0x30b, layout=4), stack(99, [(0x10, 1)]), sample(99, ready=700, stolen=9), sample(99, ready=600), b"",
                          account(1900, 10), account(1 << 63, 1 << 63, 98, 7), b"", sample(99, ready=1 << 63)),
    },
    "fuzz_intervals": {
        "two": b'{"pid":1,"begin":3,"end":9,"labels":{"test":"a"}}\n'
               b'{"pid":1,"tid":2,"begin":5,"end":60,"labels":{"test":"b","phase":"\\u00e9"}}\n',
    },
    "fuzz_walk": walks(),
    "fuzz_query": {
        "profile": b"krait 1 profile\nsince 1795979851967\nuntil 1795979951967\nlabel pid=4711\nlabel pid=4712\nlabel a=b = c\n\n",
        "outline": b"krait 1 profile\nsince 1\nuntil 2\noutline\nlabel service=a\n\n",
        "metrics": b"krait 1 metrics\n\n",
        "status": b"krait 1 status\n",
        "wrong": b"krait 1 profile\nsince -1\nuntil 99999999999999999999\nlabel =\nuid 0\n",
        "http": b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9873\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n",
        "http-ipv6": b"GET /metrics HTTP/1.0\nhost:\t[::1]:9873 \n\n",
        "rebound": b"GET /metrics HTTP/1.1\r\nHost: evil.example:9873\r\nHost: localhost:9873\r\n\r\n",
        "post": b"POST /metrics HTTP/1.1\r\n\r\n",
        "ok": b"krait 1 ok 12",
        "refused": b"krait 1 refused because\x1b[31m",
    },
    "fuzz_config": {
        "right": b'# all of it\nfrequency 99\nwall\r\ncomm = "a \\"b" # c\nadd-label k=v\npid 12\npid=13\nfocus ^x$\n',
        "wrong": b"frequncy 9\n--wall\nwall yes\nhelp\ncomm \"a\ncount\nF 9\nduration x\ncomm \xff\ncomm \x1b\n",
        "mark": b"\xef\xbb\xbfnative full\n",
    },
    "fuzz_service": {
        "environment": b"eA=1\0OTEL_SERVICE_NAME=a\0OTEL_RESOURCE_ATTRIBUTES=service.name=b%2Cc, service.version = 3\0DD_SERVICE=d\0DD_VERSION=1\0",
        "docker": b'j{"Config":{"Image":"a/b:1","Env":["A"]},"Image":"sha256:0","Name":"/web"}',
        "storage": b'j[{"id":"%s","names":["n"],"metadata":"{\\"image-name\\":\\"a:1\\",\\"pod-name\\":\\"p\\",\\"metadata-name\\":\\"m\\"}"}]' % CONTAINER,
        "bundle": b'j{"annotations":{"io.kubernetes.cri.container-name":"a","io.kubernetes.cri.image-name":"b","io.kubernetes.cri.sandbox-name":"c"}}',
        "log": b"tpod_namespace_container-%s.log" % CONTAINER,
        "unit": b"t/user.slice/user-1.slice/user@1.service/app.slice/web\\x2d1.service",
        "packed": b"t# pack-refs\n%s refs/heads/main\n^%s\n" % (CONTAINER, CONTAINER),
        "image": b"tregistry.example:5000/a/b:1.2@sha256:" + CONTAINER,
    },
    "fuzz_options": {
        "command": words("-F 999 -o a.html --add-label k=v --native=full --interpreter-frames -- python app.py"),
        "process": words("-p 12 -p13 -d 500ms --times --since 1s --until 2s --summary-json - -qf"),
        "machine": words("--comm a* --cgroup /x --container y -e cycles -c 1000 --memory 64M --by k --add-label k=v -vv -f --annotate"),
        "view": words("--focus a.b --ignore ^c$ --thread t --module m --value samples --format pprof -o - --no-kernel"),
        "wrong": words("--frequncy 9 -x --folded=1 word"),
    },
    "fuzz_store": store_frames.seeds(),
}


def main():
    for fuzzer, seeds in SEEDS.items():
        pack.add(fuzzer, seeds)


if __name__ == "__main__":
    main()
