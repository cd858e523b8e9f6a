# SPDX-License-Identifier: BSD-2-Clause
"""The size of the watch in endurance_core.py, by its own count and by the kernel's.

Resident memory alone is not enough: SQLite's page cache fills until the timeline has its 900
intervals, and if transparent huge pages are always on, sparse touches of a heap eventually make
its whole 2 MB ranges resident. So each part is judged separately: the program's allocations
besides that cache, to the byte and at each interval; the cache; the memory that malloc has from
the kernel; and anonymous memory outside of the heap. Nothing else can be resident."""

import os
import time
from collections import namedtuple

from faultlib.heap import EXACT_HEAP, PAGE_CACHE_MAX
from faultlib.part import expect

# After a quarter of the run. A page takes 24 bytes besides those that SQLite counts, 12 kB in all.
# A file that is new to the job takes a row of 1.1 kB, and a filesystem may return on another loop
# device. A traced file has room for its events until they are written, as many as in its busiest
# interval.
IN_USE_SLACK = 128 << 10
# malloc grows by 132 kB, and free memory may be fragmented.
HELD_SLACK = 256 << 10
# The stack, and private memory of libraries.
OUTSIDE_SLACK_KB = 64
LOOKS, LOOK_S = 20, 0.01

# Bytes at the end of an interval, from memory_told.c.
Told = namedtuple("Told", "in_use held page_cache")
# From the kernel. outside: memory that is not the heap.
Look = namedtuple("Look", "descriptors anonymous_kb outside_kb huge_kb")


def besides(told):
    return told.in_use - told.page_cache


def look_once(pid):
    heap, outside, huge, is_heap = 0, 0, 0, False
    with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="replace") as f:
        for line in f:
            words = line.split()
            if words[0] == "Anonymous:" and is_heap:
                heap += int(words[1])
            elif words[0] == "Anonymous:":
                outside += int(words[1])
            elif words[0] == "AnonHugePages:":
                huge += int(words[1])
            elif not words[0].endswith(":"):
                is_heap = words[-1] == "[heap]"
    return Look(len(os.listdir(f"/proc/{pid}/fd")), heap + outside, outside, huge)


def steps(told):
    """The intervals, of those judged, in which it changed by a page or more."""
    sizes = [besides(t) for t in told]
    changes = [(i, after - before) for i, (before, after) in enumerate(zip(sizes, sizes[1:]), 1)]
    return [c for c in changes if abs(c[1]) >= 4096]


def judge(told, looks):
    """told, looks: values after the first quarter."""
    first, most = besides(told[0]), max(map(besides, told))
    expect(most <= first + IN_USE_SLACK,
           f"allocated beside SQLite's page cache: {first} bytes, then {most}; interval and bytes more: "
           f"{', '.join(f'{i} {step:+d}' for i, step in steps(told))}")
    cache = max(t.page_cache for t in told)
    expect(cache <= PAGE_CACHE_MAX,
           f"SQLite's page cache is {cache} bytes, {PAGE_CACHE_MAX} allowed")
    held = [t.held - t.page_cache for t in told]
    expect(max(held) <= held[0] + HELD_SLACK,
           f"malloc has {held[0]} bytes beside that cache, then {max(held)}")
    begin, end = looks[0], looks[-1]
    expect(end.descriptors <= begin.descriptors,
           f"descriptors: {begin.descriptors}, then {end.descriptors}")
    expect(end.outside_kb <= begin.outside_kb + OUTSIDE_SLACK_KB,
           f"anonymous beside the heap: {begin.outside_kb} kB, then {end.outside_kb}")
    return (f"in {len(told)} intervals {first} bytes allocated beside SQLite's page cache, then "
            f"{besides(told[-1])}, {most} at most; that cache {told[0].page_cache}, then "
            f"{told[-1].page_cache}; in {len(looks)} looks {begin.descriptors} descriptors, then "
            f"{end.descriptors}; {begin.anonymous_kb} kB anonymous, then {end.anonymous_kb}, in "
            f"huge pages {begin.huge_kb}, then {end.huge_kb}")


class Memory:
    def __init__(self, library, path):
        """library: memory_told.c. path: a file for its output."""
        self.library, self.path, self.looks = library, path, []
        self.size = 0  # lines read until the latest look

    def environment(self):
        return {**EXACT_HEAP, "LD_PRELOAD": self.library, "MEMORY_TOLD": self.path}

    def look(self, pid):
        """At the end of an interval there is more for a moment."""
        looks = []
        for _ in range(LOOKS):
            time.sleep(LOOK_S)
            looks.append(look_once(pid))
        self.looks.append(min(looks))
        self.size = os.path.getsize(self.path)

    def steady(self):
        """After the run's end, when the watch has freed most of it."""
        with open(self.path, encoding="ascii") as f:
            told = [Told(*map(int, line.split())) for line in f.read(self.size).splitlines()]
        expect(told and self.looks, "nothing was told")
        return judge(told[len(told) // 4:], self.looks[len(self.looks) // 4:])
