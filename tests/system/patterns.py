#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that read in a known way get the right pattern: each on ext4 and xfs, with a small
and a large readahead window; reduced counts use one window per filesystem."""

import contextlib
import json
import mmap
import os
import random
import shutil
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.part import Failed, Part, Skipped, check  # noqa: E402
from syslib.reads import PAGE, fill  # noqa: E402
from syslib.tool import Tool  # noqa: E402

ME = os.path.abspath(__file__)
PAGES = 4096
SMALL_FILES, SMALL_PAGES, LARGE_FILES = 200, 2, 12
FILESYSTEMS = ("ext4", "xfs")
# Filesystems with read_ahead_kb.
PLACES = (("ext4", 128), ("xfs", 1024), ("ext4", 1024), ("xfs", 128))

part = Part(__doc__)
part.count_option("places", len(PLACES), 2, "filesystems and windows of each pattern")


# The programs: path of a file or a directory -> reads.

def size_of(fd):
    return os.fstat(fd).st_size


def in_order(path, size=65536, share=1.0, epochs=1):
    for _ in range(epochs):
        fd = os.open(path, os.O_RDONLY)
        for at in range(0, int(size_of(fd) * share), size):
            os.pread(fd, size, at)
        os.close(fd)


def at_random(path, size=PAGE, count=3000):
    fd = os.open(path, os.O_RDONLY)
    rng = random.Random(5)
    for _ in range(count):
        os.pread(fd, size, rng.randrange(size_of(fd) // PAGE) * PAGE)


def shuffled(path, size=8 * PAGE, epochs=3, same=False):
    fd = os.open(path, os.O_RDONLY)
    rng = random.Random(7)
    order = list(range(0, size_of(fd), size))
    rng.shuffle(order)
    for _ in range(epochs):
        if not same:
            rng.shuffle(order)
        for at in order:
            os.pread(fd, size, at)


def by_steps(path, step):
    fd = os.open(path, os.O_RDONLY)
    for at in range(0, size_of(fd), step):
        os.pread(fd, 2 * PAGE, at)


def from_the_end(path):
    fd = os.open(path, os.O_RDONLY)
    for at in range(size_of(fd) - PAGE, -1, -PAGE):
        os.pread(fd, PAGE, at)


def three_streams(path):
    fd = os.open(path, os.O_RDONLY)
    part_pages = size_of(fd) // PAGE // 3
    for i in range(part_pages):
        for stream in range(3):
            os.pread(fd, PAGE, (stream * part_pages + i) * PAGE)


def mapped(path, order):
    fd = os.open(path, os.O_RDONLY)
    pages = size_of(fd) // PAGE
    rng = random.Random(9)
    touches = range(pages) if order else [rng.randrange(pages) for _ in range(2000)]
    with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as view:
        return sum(view[page * PAGE] for page in touches)


def around_the_cache(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, 1 << 20)
    for at in range(0, size_of(fd), 1 << 20):
        os.preadv(fd, [buffer], at)


def follow(path):
    """A log that is written and read while it grows."""
    out = os.open(path, os.O_WRONLY | os.O_APPEND)
    fd = os.open(path, os.O_RDONLY)
    os.lseek(fd, 0, os.SEEK_END)
    for _ in range(400):
        os.write(out, b"line of a log " * 600)
        while os.read(fd, 65536):
            pass


def files_of(path):
    return sorted(os.path.join(path, name) for name in os.listdir(path))


def all_files(path, epochs=1, shuffle=False):
    rng = random.Random(11)
    files = files_of(path)
    for _ in range(epochs):
        if shuffle:
            rng.shuffle(files)
        for file in files:
            in_order(file)


WORK = {
    "sequential": lambda p: in_order(p, share=0.5),
    "scan_once": in_order,
    "reread": lambda p: in_order(p, epochs=3),
    "random": at_random,
    "shuffled_epoch": shuffled,
    "shuffled_epoch_large_records": lambda p: shuffled(p, 64 * PAGE),
    "reread_in_one_order": lambda p: shuffled(p, PAGE, same=True),
    "strided": lambda p: by_steps(p, 16 * PAGE),
    "backward": from_the_end,
    "interleaved": three_streams,
    "mmap_sequential": lambda p: mapped(p, True),
    "mmap_random": lambda p: mapped(p, False),
    "direct": around_the_cache,
    "append_follow": follow,
    "directory_small_files": all_files,
    "directory_shuffled_epoch": lambda p: all_files(p, 3, True),
    "directory_reread": lambda p: all_files(p, 3),
}
# Programs whose name differs from that of their pattern.
NAMES = {"shuffled_epoch_large_records": "shuffled_epoch", "reread_in_one_order": "reread",
         "directory_small_files": "small_files", "directory_shuffled_epoch": "shuffled_epoch",
         "directory_reread": "reread"}
# Patterns that only a trace of all accesses shows; counters and a sample of pages do not.
TRACED = {"append_follow"}


class World:
    def __init__(self, args, work, stack):
        self.tool = Tool(args.cachemon, work)
        self.settings = PLACES[:args.places]
        self.places = {}
        for kind in FILESYSTEMS:
            if not shutil.which(machine.MKFS[kind][0]):
                continue
            place = os.path.join(work, kind)
            device = machine.filesystem(stack, kind, f"{work}/{kind}.img", place)
            self.places[kind] = (place, os.path.basename(device))
        self.serial = 0

    def dataset(self, kind, work):
        """A new file, or a directory of files, none of which is cached."""
        self.serial += 1
        path = os.path.join(self.places[kind][0], f"data{self.serial}")
        if not work.startswith("directory_"):
            return fill(path, PAGES)
        os.mkdir(path)
        small = work == "directory_small_files"
        for i in range(SMALL_FILES if small else LARGE_FILES):
            fill(f"{path}/{i:04}", SMALL_PAGES if small else 256)
        return path


def set_window(device, kib):
    with open(f"/sys/block/{device}/queue/read_ahead_kb", "w", encoding="ascii") as f:
        f.write(str(kib))


def recorded(db, table):
    """Whether the run has such rows."""
    with contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as c:
        with contextlib.suppress(sqlite3.Error):
            return c.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 0
    return False


def pattern_of(world, stack, path, work):
    watch = world.tool.watch(stack, ["--level", "full", "--interval", "100ms"],
                             [sys.executable, ME, "--work", work, path])
    _, job, _ = watch.end()
    rows = job["directories" if os.path.isdir(path) else "files"]
    found = [row for row in rows if row["path"] == path]
    check(len(found) == 1, f"{len(found)} rows of {path}")
    check(found[0].get("pattern") is not None, f"no pattern of {path}")
    return found[0]["pattern"], watch.db


def try_one(world, stack, kind, kib, work):
    """What is wrong; None: the pattern is right."""
    set_window(world.places[kind][1], kib)
    path = world.dataset(kind, work)
    pattern, db = pattern_of(world, stack, path, work)
    traced = recorded(db, "traced_file")
    if not traced and (work in TRACED or not recorded(db, "reference_sample")):
        raise Skipped("what tells of this pattern was not recorded")
    want = NAMES.get(work, work)
    where = f"{work} on {kind}, read_ahead_kb {kib}"
    part.note(f"{where}: {pattern['name']} {pattern['confidence']:.2f}")
    if pattern["name"] == want and 0 < pattern["confidence"] <= 1 and pattern["decided_by"]:
        return None
    return f"{where}: {json.dumps(pattern)}"


def add_case(work):
    def case(world, stack):
        check(world.places, "neither mkfs.ext4 nor mkfs.xfs")
        wrong = [w for kind, kib in world.settings if kind in world.places
                 if (w := try_one(world, stack, kind, kib, work))]
        if wrong:
            raise Failed("; ".join(wrong))

    case.__name__ = work
    part.case(case)


for name in WORK:
    add_case(name)


def main():
    if sys.argv[1:2] == ["--work"]:
        WORK[sys.argv[2]](sys.argv[3])
        return 0
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
