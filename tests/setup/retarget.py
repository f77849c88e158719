#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""retarget.py FROM TO LOADER: copy the executable FROM to TO so that it runs with LOADER and with
the libraries in TO's ../l, on a host whose libc is older.

Nothing in the file moves, so a profiler meets the layout that the distribution made (patchelf
shifts segments; its 0.18 makes non-PIE interpreters that crash). The loader's path is appended and
PT_INTERP's file offset led there: the kernel reads it from the file, not from memory. The run path
takes the place of the old loader path, which stays mapped, and one of the spare entries that GNU
ld leaves at the end of .dynamic (ld.bfd: -z spare-dynamic-tags, 5 by default). 64-bit only."""
import os
import struct
import sys

PT_DYNAMIC, PT_INTERP = 2, 3
DT_NULL, DT_STRTAB, DT_RPATH, DT_RUNPATH = 0, 5, 15, 29
RUN_PATH = b"$ORIGIN/../l\0"


def program_headers(data):
    """Returns {p_type: (offset of the header, p_offset, p_vaddr, p_filesz)}."""
    assert data[:6] == b"\x7fELF\x02\x01", "not a 64-bit little-endian ELF file"
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    headers = {}
    for at in range(start, start + size * count, size):
        kind, _, offset, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", data, at)
        headers[kind] = (at, offset, vaddr, filesz)
    return headers


def retarget(data, loader):
    headers = program_headers(data)
    interp_at, interp_offset, interp_vaddr, interp_size = headers[PT_INTERP]
    assert len(RUN_PATH) <= interp_size, "no room for the run path"
    add_run_path(data, headers[PT_DYNAMIC], interp_vaddr)
    data[interp_offset:interp_offset + len(RUN_PATH)] = RUN_PATH
    struct.pack_into("<Q", data, interp_at + 8, len(data))  # the header's p_offset
    struct.pack_into("<Q", data, interp_at + 32, len(loader) + 1)  # the header's p_filesz
    data += loader + b"\0"


def add_run_path(data, dynamic, string_vaddr):
    """Writes DT_RPATH, not DT_RUNPATH, because DT_RPATH also holds for the libraries that extension
    modules need. It replaces the run path that the file has."""
    _, offset, _, size = dynamic
    entries = [struct.unpack_from("<QQ", data, at) for at in range(offset, offset + size, 16)]
    tags = [tag for tag, _ in entries]
    strtab = entries[tags.index(DT_STRTAB)][1]
    place = next((tags.index(tag) for tag in (DT_RPATH, DT_RUNPATH) if tag in tags), None)
    if place is None:
        place = tags.index(DT_NULL)
        assert place + 1 < len(tags), "no spare entry in .dynamic"
    value = (string_vaddr - strtab) % 2**64
    struct.pack_into("<QQ", data, offset + 16 * place, DT_RPATH, value)


def main():
    source, target, loader = sys.argv[1:]
    with open(source, "rb") as file:
        data = bytearray(file.read())
    retarget(data, os.fsencode(loader))
    with open(target + ".new", "wb") as file:
        file.write(data)
    os.chmod(target + ".new", 0o755)
    os.replace(target + ".new", target)


if __name__ == "__main__":
    main()
