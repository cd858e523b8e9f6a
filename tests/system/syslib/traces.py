# SPDX-License-Identifier: BSD-2-Clause
"""Decodes the traces of a database from the description of the encoding in
cachemon/figures/trace_code.h, without its code."""

import sqlite3
from types import SimpleNamespace as Event

from .reads import identity

KINDS = {1: "OPEN", 2: "READ", 3: "FAULT", 4: "MAP", 5: "ADVICE", 6: "WINDOW", 7: "ADD", 8: "REMOVE",
         9: "SIZE", 10: "SETTING"}
HOOKS = {1: "SYNC", 2: "ASYNC", 3: "ORDER", 4: "UNBOUNDED"}
FIELDS = {"OPEN": "order pos setting ra", "READ": "pos len", "FAULT": "pos map",
          "MAP": "pos len map", "ADVICE": "detail call pos len",
          "WINDOW": "detail order pos len setting ra", "ADD": "order pos len",
          "REMOVE": "detail order pos len", "SIZE": "pos", "SETTING": "setting"}
IN_BYTES = ("OPEN", "READ", "ADVICE", "SIZE")
NONE = 0xffffffff
MASK = (1 << 64) - 1
RANDOM, NOREUSE, VM_RANDOM, VM_SEQUENTIAL, VM_EXEC, MISSING, RETRY, PART, RANGE, AFTER, WARM, BY_WRITE = \
    (1 << i for i in range(12))


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def distance(self, before):
        z = self.number()
        return (before + ((z >> 1) ^ -(z & 1))) & MASK


def decode(data):
    """The events of one chunk."""
    r, before = Reader(data), Event(time_ns=0, pos=0, ra_start=0, description=0, actor=0)
    while r.at < len(data):
        head = r.data[r.at]
        r.at += 1
        kind = KINDS[head & 0x0f]
        e = Event(kind=kind, time_ns=r.distance(before.time_ns), flags=0)
        e.description = (r.number() - 1) & NONE if head & 0x10 else before.description
        e.actor = r.number() if head & 0x20 else before.actor
        if head & 0x40:
            e.flags = r.number()
        in_bytes = kind in IN_BYTES
        for field in FIELDS[kind].split():
            if field == "pos":
                e.pos = r.distance(before.pos if in_bytes else before.pos >> 12)
            elif field == "setting":
                e.ra_pages, e.io_pages = r.number(), r.number()
            elif field == "ra":
                e.start = r.distance(before.ra_start)
                e.size, e.async_size, e.mmap_miss = r.number(), r.number(), r.number()
                prev = r.distance(e.start << 12 & MASK)
                e.prev_pos = prev - (1 << 64) if prev >> 63 else prev
                before.ra_start = e.start
            elif field == "map":
                e.map = (r.number() - 1) & NONE
                if e.map != NONE:
                    e.align, e.first_page, e.nr_pages = r.number(), r.number(), r.number()
                    e.touched = r.distance(e.pos) if r.number() else None
            else:
                setattr(e, field, r.number())
        if kind not in ("OPEN", "SIZE", "SETTING"):
            end = e.pos + (0 if kind in ("WINDOW", "FAULT") else e.len)
            before.pos = (end if in_bytes else end << 12) & MASK
        before.time_ns, before.description, before.actor = e.time_ns, e.description, e.actor
        yield e


def files_of(db):
    """All traced files of a database: rows with their events."""
    link = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    link.row_factory = sqlite3.Row
    found = []
    for row in link.execute("SELECT * FROM traced_file ORDER BY id"):
        f = Event(**dict(row))
        f.path = f.path.decode("utf-8", "replace") if f.path else None
        f.events = []
        for seq, (number, events, data) in enumerate(link.execute(
                "SELECT seq, events, data FROM trace_chunk WHERE traced_file_id = ? ORDER BY seq",
                (f.id,))):
            part = list(decode(data))
            if number != seq or len(part) != events:
                raise ValueError(f"chunk {number} of {f.path}: {len(part)} events of {events}")
            f.events += part
        found.append(f)
    return found


def file_of(db, path):
    found = [f for f in files_of(db) if f.path == path]
    if len(found) != 1:
        raise ValueError(f"{path}: traced {len(found)} times")
    return found[0]


def show(f):
    print(f"{f.path} {f.state} {f.reason} {f.began} stratum {f.stratum} for {f.stands_for}")
    for e in f.events:
        told = {k: v for k, v in vars(e).items() if k != "time_ns" and v not in (None,)}
        print(" ", e.time_ns // 1000, told)


def hash_of(path):
    """As in bpf/state/trace.bpf.h."""
    dev, ino, gen = identity(path).split()
    major, minor = (int(n) for n in dev.split(":"))
    mask = (1 << 64) - 1
    h = (int(ino) ^ (major << 20 | minor) << 32 ^ int(gen) << 17) & mask
    for _ in range(2):
        h = ((h ^ h >> 32) * 0xd6e8feb86659fd93) & mask
    return h >> 32
