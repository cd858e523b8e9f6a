#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads that sleep for something other than a page are not late: here for the blocks that map a
file.

A file of 2,048 extents, alternately written and unwritten, has its map in about 25 blocks of
ext4. Readahead maps the pages it brings, and sleeps for each of these blocks while the page that
the read requests is already cached. The test knows that from outside: each call begins after
mincore(2), which reports only pages that are read, has all of its pages. So no hit is delayed
and no prefetched page is late, however long the call slept."""

import ctypes
import fcntl
import json
import os
import resource
import sqlite3
import sys
from contextlib import closing

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.reads import PAGE, cached_pages, fill  # noqa: E402
from syslib.tool import Tool, file_of  # noqa: E402

ME = os.path.abspath(__file__)
PAGES = 2048
# Drops the filesystem's cached map of a file, and its blocks on the device.
EXT4_IOC_CLEAR_ES_CACHE, BLKFLSBUF = 0x6628, 0x1261
# One page at a time until readahead has its full window, then parts of a window.
SMALL, CALL = 64, 16
TRIES = 3
LEVELS = ([], ["--level", "full"])

part = Part(__doc__)


class World:
    def __init__(self, args, work, stack):
        self.tool = Tool(args.cachemon, work)
        self.mount = os.path.join(work, "data")
        # A journal would keep the blocks in memory.
        self.device = machine.loop(stack, f"{work}/data.img", 256 << 20,
                                   ["mkfs.ext4", "-q", "-b", "1024", "-O", "^has_journal"])
        machine.mount(stack, self.device, self.mount)

    def of_many_extents(self, name):
        path = os.path.join(self.mount, name)
        with open(path, "wb") as f:
            os.posix_fallocate(f.fileno(), 0, PAGES * PAGE)
            for page in range(0, PAGES, 2):
                os.pwrite(f.fileno(), os.urandom(PAGE), page * PAGE)
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            fcntl.ioctl(f, EXT4_IOC_CLEAR_ES_CACHE)
        with open(self.device, "rb") as f:
            fcntl.ioctl(f, BLKFLSBUF)
        return path


# ---- worker ----

class Cached:
    """Which pages of a file are cached, by mincore(2)."""

    def __init__(self, fd):
        self.fd = fd
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mmap.restype = ctypes.c_void_p
        self.at = self.libc.mmap(None, ctypes.c_size_t(PAGES * PAGE), 1, 1, fd, ctypes.c_long(0))

    def absent_pages(self, page, nr):
        """Waits for pages in flight; pages that readahead left out are not in flight."""
        machine.until(lambda: cached_pages(self.fd, page, nr) <= nr - self.absent_now(page, nr),
                      "pages that are on their way", 60)
        return self.absent_now(page, nr)

    def absent_now(self, page, nr):
        vector = (ctypes.c_ubyte * nr)()
        if self.libc.mincore(ctypes.c_void_p(self.at + page * PAGE), ctypes.c_size_t(nr * PAGE), vector):
            raise OSError(ctypes.get_errno(), "mincore")
        return sum(not v & 1 for v in vector)


def pread(fd, nr, at):
    return len(os.pread(fd, nr * PAGE, at))


def preadv(fd, nr, at):
    return os.preadv(fd, [bytearray(PAGE) for _ in range(nr)], at)


def read(fd, nr, at):
    os.lseek(fd, at, os.SEEK_SET)
    return len(os.read(fd, nr * PAGE))


def work(how, path):
    fd = os.open(path, os.O_RDONLY)
    cached, told, page = Cached(fd), {"absent": 0, "sleeps": 0}, 0
    while page < PAGES:
        nr = 1 if page < SMALL else CALL
        told["absent"] += cached.absent_pages(page, nr)
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        equal("bytes read", globals()[how](fd, nr, page * PAGE), nr * PAGE)
        told["sleeps"] += resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before
        page += nr
    print(json.dumps(told))


def work_late(path):
    """The opposite: each page was requested a moment before."""
    fd = os.open(path, os.O_RDONLY)
    for first in range(0, PAGES, 8):
        os.posix_fadvise(fd, first * PAGE, 8 * PAGE, os.POSIX_FADV_WILLNEED)
        os.pread(fd, 8 * PAGE, first * PAGE)
    print("{}")


def work_ahead(path):
    """Readahead only: the first page of a window triggers the next window, and is in flight
    itself."""
    fd = os.open(path, os.O_RDONLY)
    for page in range(PAGES):
        os.pread(fd, PAGE, page * PAGE)
    print("{}")


# ---- cases ----

def watched(world, stack, level, make, *how):
    """For a file that make() creates. A busy kernel may skip runs of a program. That is counted and
    makes the figures lower bounds, so the case is then repeated."""
    for number in range(TRIES):
        path = make(number)
        watch = world.tool.watch(stack, level, [sys.executable, ME, "--work", *how, path])
        report, job, out = watch.end()
        if not report["run"]["losses"]["recursion_misses"]:
            break
    st = os.stat(path)
    found = file_of(job, machine.device_of(path), st.st_ino)
    check(found, f"{path} has no row")
    with closing(sqlite3.connect(f"file:{watch.db}?mode=ro", uri=True)) as db:
        row = db.execute("SELECT misses, windows_async, stalls, delayed_hits, used_late FROM file WHERE ino = ? "
                         "AND dev_major = ? AND dev_minor = ?",
                         (st.st_ino, os.major(st.st_dev), os.minor(st.st_dev))).fetchone()
    return json.loads(out.splitlines()[0]), found["totals"], row


def none_is_late(world, stack, how):
    for number, level in enumerate(LEVELS):
        told, totals, (misses, windows, stalls, delayed, late) = watched(
            world, stack, level, lambda n, of=number: world.of_many_extents(f"{how}{of}.{n}"), how)
        equal("pages that were not there when they were asked for", told["absent"], misses)
        check(windows > 20 and told["sleeps"] > 10, f"{windows} windows, {told['sleeps']} sleeps: nothing to see")
        # Some sleeps may be for a lock, which is not a wait for the cache.
        check(10 < stalls <= told["sleeps"], f"{stalls} of {told['sleeps']} sleeps")
        equal("delayed hits and late pages", (delayed, late), (0, 0))
        equal("the same in the report", totals["delayed_hits"], 0)


for name in ("pread", "preadv", "read"):
    def each(world, stack, how=name):
        none_is_late(world, stack, how)

    each.__name__ = f"{name}_that_waits_for_extents_is_not_late"
    part.case(each)


def some_are_late(world, stack, how):
    for number, level in enumerate(LEVELS):
        _, totals, (_, windows, stalls, delayed, late) = watched(
            world, stack, level, lambda n, of=number: fill(os.path.join(world.mount, f"{how}{of}.{n}"), PAGES), how)
        check(0 < delayed <= PAGES and 0 < late <= delayed and stalls > 0,
              f"{windows} windows, {delayed} delayed hits, {late} late pages, {stalls} sleeps")
        equal("delayed hits in the report", totals["delayed_hits"], delayed)


@part.case
def what_advice_asked_for_is_late(world, stack):
    some_are_late(world, stack, "late")


@part.case
def the_page_that_asks_for_a_window_is_late(world, stack):
    some_are_late(world, stack, "ahead")


def main():
    if sys.argv[1:2] == ["--work"]:
        own = {"late": work_late, "ahead": work_ahead}.get(sys.argv[2])
        return own(sys.argv[3]) if own else work(*sys.argv[2:])
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
