#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The fates of pages that advice brought or dropped. They are known, because each page was read,
evicted or left alone on purpose, and cachestat(2) reports what was cached."""

import contextlib
import ctypes
import os
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.orders import Worker  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.reads import NR_CACHESTAT, PAGE, cached_pages, drop  # noqa: E402
from syslib.world import World  # noqa: E402

PAGES = 512
BLOCK = 16  # pages per call: fewer than the kernel's limit
FATES = ("used", "used_late", "evicted_unused", "resident_unused", "untracked")

part = Part(__doc__)


class Run:
    """A job that obeys orders, and its watch."""

    def __init__(self, world, stack, options=("--level", "full")):
        self.job = Worker(stack)
        self.watch = world.tool.watch(stack, [*options, "--interval", "200ms", "--pid",
                                              str(self.job.pid)])
        self.watch.wait_started()

    def advise(self, order, path, first, pages):
        """One call per block; returns when all pages have arrived."""
        for page in range(first, first + pages, BLOCK):
            self.job.do(order, path, page, BLOCK)
        self.job.do("wait", path, first, pages)

    def rows(self, path):
        """The rows by (call, kind), at the end of the run."""
        self.watch.interrupt()
        self.watch.end()
        with contextlib.closing(sqlite3.connect(f"file:{self.watch.db}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            found = db.execute("SELECT * FROM advice WHERE path = ?", (path.encode(),))
            return {(r["call"], r["kind"]): dict(r) for r in found}


def cached_in(fd, first, pages):
    span = (ctypes.c_uint64 * 2)(first * PAGE, pages * PAGE)
    stat = (ctypes.c_uint64 * 5)()
    if ctypes.CDLL(None).syscall(NR_CACHESTAT, fd, span, stat, 0):
        raise OSError("cachestat")
    return stat[0]


def evict(path):
    with open(path, "rb") as f:
        drop(f.fileno())


def fates(row, used=0, late=0, evicted=0, resident=0, untracked=0):
    equal("fates", {f: row[f] for f in FATES}, dict(zip(FATES, (used, late, evicted, resident,
                                                                untracked))))
    equal("sum of fates", used + late + evicted + resident + untracked, row["pages_brought"])


@part.case
def half_is_read_and_half_evicted(world, stack):
    path = world.cold(PAGES)
    run = Run(world, stack)
    run.advise("willneed", path, 0, PAGES)
    run.job.do("read", path, 0, PAGES // 2)
    evict(path)
    row = run.rows(path)["fadvise", "willneed"]
    equal("brought", row["pages_brought"], PAGES)
    fates(row, used=PAGES // 2, evicted=PAGES // 2)
    equal("not asked", (row["cached_pages"], row["redundant_pages"], row["dropped_refaults"]),
          (None, None, None))


@part.case
def what_is_left_alone_stays(world, stack):
    path = world.cold(PAGES)
    run = Run(world, stack)
    run.advise("madvise", path, 0, PAGES)
    run.job.do("read", path, 0, PAGES, 2)
    with open(path, "rb") as f:
        left = cached_pages(f.fileno())
    row = run.rows(path)["madvise", "willneed"]
    equal("in the cache, says the kernel", left, PAGES)
    fates(row, used=PAGES // 2, resident=PAGES // 2)


@part.case
def three_kinds_and_readahead_in_one_file(world, stack):
    path = world.cold(2048)
    run = Run(world, stack)
    run.advise("willneed", path, 0, 256)
    run.advise("readahead", path, 256, 256)
    run.advise("madvise", path, 512, 256)
    run.job.do("read", path, 1024, 512)  # the kernel's own readahead, in addition
    run.job.do("read", path, 0, 64)
    run.job.do("read", path, 256, 128)
    run.job.do("read", path, 512, 192)
    evict(path)
    rows = run.rows(path)
    for key, used in (("fadvise", "willneed"), 64), (("readahead", "readahead"), 128), \
                     (("madvise", "willneed"), 192):
        equal(f"{key}: brought", rows[key]["pages_brought"], 256)
        fates(rows[key], used=used, evicted=256 - used)


@part.case
def neighbours_of_two_kinds_are_not_told_apart(world, stack):
    path = world.cold(PAGES)
    run = Run(world, stack)
    run.advise("willneed", path, 0, 2 * BLOCK)
    run.advise("readahead", path, 2 * BLOCK, 2 * BLOCK)
    run.advise("readahead", path, 256, BLOCK)
    run.job.do("read", path, 0, 64)
    rows = run.rows(path)
    for key in ("fadvise", "willneed"), ("readahead", "readahead"):
        equal(f"{key}", {f: rows[key][f] for f in FATES}, dict.fromkeys(FATES))
    equal("brought", rows["fadvise", "willneed"]["pages_brought"], 2 * BLOCK)


@part.case
def brought_again_and_again(world, stack):
    """Four rounds: a part is used, the rest is evicted, and everything is brought again."""
    path = world.cold(PAGES)
    run = Run(world, stack)
    for _ in range(4):
        run.advise("willneed", path, 0, PAGES)
        run.job.do("read", path, 0, PAGES, 4)
        evict(path)
    row = run.rows(path)["fadvise", "willneed"]
    equal("brought", row["pages_brought"], 4 * PAGES)
    fates(row, used=PAGES, evicted=3 * PAGES)


@part.case
def a_page_that_reads_brought_is_not_of_the_advice(world, stack):
    """Evicted, then brought by a read: now they are pages of the read."""
    path = world.cold(PAGES)
    run = Run(world, stack)
    run.job.do("random", path)
    run.advise("willneed", path, 0, PAGES)
    evict(path)
    run.job.do("read", path, 0, PAGES)
    run.job.do("read", path, 0, PAGES)
    fates(run.rows(path)["fadvise", "willneed"], evicted=PAGES)


@part.case
def read_at_once(world, stack):
    """An early reader waits: each page is used, in time or late, as in the file's counters."""
    path = world.cold(PAGES)
    run = Run(world, stack)
    for page in range(0, PAGES, BLOCK):
        run.job.do("willneed", path, page, BLOCK)
        run.job.do("read", path, page, BLOCK)
    row = run.rows(path)["fadvise", "willneed"]
    _, job = world.tool.report(run.watch.db)
    fate = world.entry(job, path)["totals"]["prefetch"]["fate"]
    part.note(f"{row['used_late']} of {PAGES} were late")
    fates(row, used=fate["used"], late=fate["used_late"])


@part.case
def without_the_hook_of_reads(world, stack):
    path = world.cold(PAGES)
    run = Run(world, stack, ("--level", "cold"))
    run.advise("willneed", path, 0, PAGES)
    row = run.rows(path)["fadvise", "willneed"]
    equal("fates", [row[f] for f in FATES], [None] * 4 + [PAGES])


CALLS = ("--level", "full", "--advice", "calls")


@part.case
def asked_and_cached_already(world, stack):
    """Holes of all sizes, small and large folios, a file whose page tree has three levels."""
    path = world.cold(20000)
    run = Run(world, stack, CALLS)
    fd = os.open(path, os.O_RDONLY)
    stack.callback(os.close, fd)
    run.job.do("random", path)
    for first, pages, step in (0, 64, 1), (100, 3, 1), (200, 300, 3), (5000, 1, 1), (8192, 130, 1):
        run.job.do("read", path, first, pages, step)
    run.job.do("normal", path)
    run.job.do("read", path, 12000, 1500)
    known = asked = 0
    for first, pages in (0, 64), (0, 65), (63, 2), (90, 20), (190, 320), (4999, 3), (4096, 4096), \
                        (8190, 140), (11990, 30), (12001, 1021), (16384, 64), (0, 20000):
        pages = min(pages, 20000 - first)
        known += cached_in(fd, first, pages)
        asked += pages
        run.job.do("willneed", path, first, pages)
    row = run.rows(path)["fadvise", "willneed"]
    equal("asked", row["pages_asked"], asked)
    equal("cached at the calls", row["cached_pages"], known)
    equal("redundant", row["redundant_pages"], known)
    check(row["pages_brought"] < asked - known, "the kernel cut nothing: the test shows nothing")
    check(known > 3000, f"only {known} were cached")


@part.case
def one_page_and_nothing(world, stack):
    path = world.cold(1)
    run = Run(world, stack, CALLS)
    run.job.do("willneed", path, 0, 1)
    run.job.do("wait", path, 0, 1)
    run.job.do("willneed", path, 0, 1)
    run.job.do("willneed", path, 5, 1)  # beyond the end
    row = run.rows(path)["fadvise", "willneed"]
    equal("calls, asked, brought, redundant",
          [row[n] for n in ("calls", "pages_asked", "pages_brought", "redundant_pages")],
          [3, 2, 1, 1])


@part.case
def the_kernels_cut_is_no_redundance(world, stack):
    path = world.cold(8192)
    run = Run(world, stack, CALLS)
    run.job.do("willneed", path, 0, 8192)
    with open(path, "rb") as f:
        brought = cached_pages(f.fileno())
    row = run.rows(path)["fadvise", "willneed"]
    check(brought < 8192, "the kernel cut nothing: the test shows nothing")
    equal("brought, redundant", (row["pages_brought"], row["redundant_pages"]), (brought, 0))


@part.case
def dropped_and_read_again(world, stack):
    path = world.cold(PAGES)
    run = Run(world, stack, CALLS)
    run.job.do("random", path)
    run.job.do("read", path, 0, PAGES)
    run.job.do("dontneed", path, 0, PAGES)
    run.job.do("read", path, 0, PAGES, 2)
    # Dropped by another process: pages that return now were not dropped by the job.
    evict(path)
    run.job.do("read", path, 0, PAGES, 2)
    # Drops a part again, after some of its pages came back.
    run.job.do("dontneed", path, 0, 128)
    run.job.do("read", path, 0, PAGES)
    row = run.rows(path)["fadvise", "dontneed"]
    # At the end the even pages of 128 return a second time, and the odd ones the first time.
    again = PAGES // 2 + PAGES // 2 + 64
    equal("calls", row["calls"], 2)
    equal("dropped", row["pages_dropped"], PAGES + 64)
    equal("came again", row["dropped_refaults"], again)
    equal("cached at the calls", row["cached_pages"], PAGES + 64)
    equal("no redundance of what drops", row["redundant_pages"], None)


@part.case
def dropped_pages_of_before_the_run_are_followed(world, stack):
    path = world.cold(PAGES)
    with open(path, "rb") as f:
        f.read()
    run = Run(world, stack)
    run.job.do("dontneed", path, 0, PAGES)
    run.job.do("read", path, 0, PAGES)
    row = run.rows(path)["fadvise", "dontneed"]
    equal("dropped", row["pages_dropped"], PAGES)
    equal("came again", row["dropped_refaults"], PAGES)


if __name__ == "__main__":
    sys.exit(part.main(World))
