# SPDX-License-Identifier: BSD-2-Clause
"""Damage below SQL: bytes, pages, page trees, journals and logs."""

import os
import struct

EXTREMES = (0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff)
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
WAL_MAGIC = 0x377f0682


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def flip(rng, seed, path):
    """Bits, a few or many."""
    data = bytearray(seed.bytes)
    for _ in range(rng.choice((1, 3, 20, 300))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    write(path, data)


def blank(rng, seed, path):
    """A range of zeros, of ones or of noise."""
    data = bytearray(seed.bytes)
    for _ in range(rng.randrange(1, 4)):
        at, size = rng.randrange(len(data)), rng.choice((1, 16, 200, 4096, 20000))
        fill = rng.choice((bytes(size), b"\xff" * size, rng.randbytes(size)))
        data[at:at + size] = fill[:len(data) - at]
    write(path, data)


def cut(rng, seed, path):
    """The end is missing, or there is extra data."""
    size = rng.randrange(len(seed.bytes))
    if rng.random() < 0.5:
        size -= size % seed.page_size
    write(path, seed.bytes[:size] + rng.choice((b"", b"", bytes(50000), rng.randbytes(9999))))


def header(rng, seed, path):
    """A field of the file's header."""
    data = bytearray(seed.bytes)
    for _ in range(rng.randrange(1, 4)):
        at, size = rng.choice(((16, 2), (18, 1), (19, 1), (20, 1), (21, 1), (24, 4), (28, 4), (32, 4),
                               (36, 4), (40, 4), (44, 4), (48, 4), (52, 4), (56, 4), (60, 4), (64, 4),
                               (68, 4), (92, 4), (96, 4)))
        data[at:at + size] = (rng.choice(EXTREMES) & (256 ** size - 1)).to_bytes(size, "big")
    write(path, data)


def page_at(seed, number):
    return (number - 1) * seed.page_size


def body(number):
    """The offset of the header of a tree page."""
    return 100 if number == 1 else 0


def trees(rng, seed, path):
    """Tree pages: a header, the array of cells, a cell."""
    data = bytearray(seed.bytes)
    pages = len(data) // seed.page_size
    for _ in range(rng.choice((1, 1, 4))):
        number = rng.randrange(1, pages + 1)
        at = page_at(seed, number) + body(number)
        cells = int.from_bytes(data[at + 3:at + 5], "big")
        what = rng.randrange(5)
        if what == 0:
            data[at] = rng.choice((2, 5, 10, 13, 0, 255))
        elif what == 1:
            data[at + 3:at + 5] = rng.choice((0, 1, cells + 1, 0xffff)).to_bytes(2, "big")
        elif what == 2:
            data[at + 1:at + 3] = rng.randrange(65536).to_bytes(2, "big")
        elif what == 3 and cells < 2000:
            entry = at + 8 + 2 * rng.randrange(cells + 1)
            data[entry:entry + 2] = rng.randrange(seed.page_size).to_bytes(2, "big")
        else:
            entry = page_at(seed, number) + rng.randrange(seed.page_size - 9)
            data[entry:entry + 9] = rng.choice((b"\xff" * 9, bytes(9), rng.randbytes(9)))
    write(path, data)


def swap(rng, seed, path):
    """A page in the place of another, or duplicated."""
    data = bytearray(seed.bytes)
    pages = len(data) // seed.page_size
    for _ in range(rng.randrange(1, 3)):
        a, b = (page_at(seed, rng.randrange(2, pages + 1)) for _ in range(2))
        one, other = data[a:a + seed.page_size], data[b:b + seed.page_size]
        data[b:b + seed.page_size] = one
        if rng.random() < 0.5:
            data[a:a + seed.page_size] = other
    write(path, data)


def interior(size, kind, children, keys):
    """A page of a table (kind 5) that points to children."""
    page = bytearray(size)
    at = size
    room = (size - 12) // 16
    cells = children[:-1][:room]
    page[0] = kind
    struct.pack_into(">HHHB", page, 1, 0, len(cells), 0, 0)
    struct.pack_into(">I", page, 8, children[-1])
    for i, child in enumerate(cells):
        key = struct.pack(">I", child) + varint(keys[i])
        at -= len(key)
        page[at:at + len(key)] = key
        struct.pack_into(">H", page, 12 + 2 * i, at)
    struct.pack_into(">H", page, 5, at)
    return bytes(page)


def varint(value):
    out = [value & 0x7f]
    value >>= 7
    while value:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(reversed(out))


def graph(rng, seed, path):
    """Pages above a table's root that lead to it repeatedly, over several levels; or in a
    circle."""
    data = bytearray(seed.bytes)
    root = rng.choice(seed.roots)
    levels = rng.randrange(1, 8)
    first = len(data) // seed.page_size + 1
    top = page_at(seed, root)
    old = bytes(data[top:top + seed.page_size])
    data += old
    below = first
    for level in range(levels):
        fan = rng.choice((2, 30, 250))
        if rng.random() < 0.2:
            below = rng.choice((root, first + level + 1))
        page = interior(seed.page_size, 5, [below] * fan, list(range(1, fan + 1)))
        data += page
        below = first + level + 1
    data[top:top + seed.page_size] = data[-seed.page_size:]
    data[28:32] = (len(data) // seed.page_size).to_bytes(4, "big")
    write(path, data)


def chains(rng, seed, path):
    """Overflow pages and free pages that form a circle."""
    data = bytearray(seed.bytes)
    pages = len(data) // seed.page_size
    target = rng.randrange(2, pages + 1)
    if rng.random() < 0.5:
        data[32:36] = target.to_bytes(4, "big")
        data[36:40] = rng.choice((1, 1000, 0x7fffffff)).to_bytes(4, "big")
    for _ in range(rng.randrange(1, 30)):
        at = page_at(seed, rng.randrange(2, pages + 1))
        data[at:at + 4] = target.to_bytes(4, "big")
    write(path, data)


def journal(rng, seed, path):
    """A hot journal: of noise, of this database's pages, or with the name of a file to delete."""
    write(path, seed.bytes)
    size, pages = seed.page_size, len(seed.bytes) // seed.page_size
    nonce = rng.randrange(1 << 32)
    out = JOURNAL_MAGIC + struct.pack(">IIIII", rng.choice((0, 1, 3, 0xffffffff)), nonce,
                                      rng.choice((pages, 0, 1, 0x7fffffff)), 512, size)
    out += bytes(512 - len(out))
    for _ in range(rng.randrange(4)):
        page = rng.choice((bytes(size), seed.bytes[:size], rng.randbytes(size)))
        check = nonce + sum(page[i] for i in range(size - 200, 0, -200))
        out += struct.pack(">I", rng.randrange(1, pages + 1)) + page + struct.pack(">I", check & 0xffffffff)
    victim = path + ".victim"
    write(victim, b"precious")
    if rng.random() < 0.7:
        name = victim.encode()
        out += struct.pack(">I", 0x40000000 // size + 1) + name
        out += struct.pack(">II", len(name), sum(name)) + JOURNAL_MAGIC
    write(path + "-journal", out if rng.random() < 0.8 else out[:rng.randrange(len(out))])


def wal_sum(data, a, b):
    for i in range(0, len(data), 8):
        x, y = struct.unpack_from("<II", data, i)
        a = (a + x + b) & 0xffffffff
        b = (b + y + a) & 0xffffffff
    return a, b


def log(rng, seed, path):
    """A -wal with correct checksums: pages of noise, of the database, or of another one with one
    change; or a -wal of noise."""
    base = bytearray(seed.bytes)
    base[18] = base[19] = 2
    write(path, base)
    size, pages = seed.page_size, len(base) // seed.page_size
    if rng.random() < 0.1:
        write(path + "-wal", rng.randbytes(rng.choice((10, 32, 5000, 50000))))
        return
    salt = rng.randbytes(8)
    out = struct.pack(">IIII", WAL_MAGIC, 3007000, size, 0) + salt
    a, b = wal_sum(out, 0, 0)
    out += struct.pack(">II", a, b)
    for i in range(rng.randrange(1, 6)):
        number = rng.choice((1, rng.randrange(1, pages + 1), rng.choice(seed.roots), 0x7fffffff))
        page = bytearray(base[:size] if number == 1 else
                         base[page_at(seed, number):page_at(seed, number) + size] or bytes(size))
        for _ in range(rng.choice((1, 5, 100))):
            page[rng.randrange(size)] = rng.randrange(256)
        head = struct.pack(">II", number, rng.choice((0, pages, 1, 0x7fffffff)) if i else pages)
        a, b = wal_sum(head, a, b)
        a, b = wal_sum(bytes(page), a, b)
        out += head + salt + struct.pack(">II", a, b) + page
    write(path + "-wal", out)
    if rng.random() < 0.2:
        write(path + "-shm", rng.randbytes(rng.choice((100, 32768))))


def remove(path):
    for end in ("", "-wal", "-shm", "-journal", ".victim"):
        if os.path.exists(path + end):
            os.unlink(path + end)


KINDS = (flip, blank, cut, header, trees, swap, graph, chains, journal, log)
