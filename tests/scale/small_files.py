#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A job that reads a million small files once: every total is exact, memory and database are
bounded.

The files are sparse: a hole fills the page cache like data, and needs no disk."""

import os
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
                for name in (".", "../fault")]

from faultlib.image import run as tool  # noqa: E402
from faultlib.part import Part, expect  # noqa: E402
from scalelib import judge  # noqa: E402
from scalelib.big_run import BigRun  # noqa: E402

part = Part("small_files", __doc__, count=("small files", 1000000, 20000))
big = BigRun(part)
PER_DIR = 1000


class Files:
    """ext4 on a loop device, cold at each mount."""

    def __init__(self, case, job, count):
        self.image = os.path.join(case.part.work, "small.img")
        self.mount = os.path.join(case.part.work, "small")
        os.mkdir(self.mount)
        inodes = count + count // PER_DIR + 1000
        with open(self.image, "wb") as f:
            f.truncate(inodes * 512 + (256 << 20))
        tool("mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", "-I", "256", "-N",
             str(inodes), self.image)
        self.mounted = False
        case.defer(os.unlink, self.image)
        case.defer(self.leave)
        self.enter()
        tool(job, "make", self.mount, str(count))

    def enter(self):
        tool("mount", "-o", "loop,noatime", self.image, self.mount)
        self.mounted = True

    def leave(self):
        if self.mounted:
            tool("umount", self.mount)
        self.mounted = False

    def cold(self):
        self.leave()
        self.enter()


@big.run("the job runs")
def the_job(case):
    count = part.options.count
    expect(count % PER_DIR == 0, f"--count: not a multiple of {PER_DIR}")
    job = big.start(case)
    files = Files(case, job, count)

    def cold(_):
        files.cold()
        return ["small", files.mount, count]

    return f"{count} files {big.until_undisturbed(case, job, cold)}"


big.judge_counts()
big.case("the law holds, what is lost is counted", lambda _, run: judge.losses(run))


@part.case("each directory is exact")
def directories(_):
    """Counts that went to the rest of the files, because the map of rows was full, are missing
    there."""
    measured, row = big.get(), big.get().db.run()
    rows = measured.db.rows("SELECT CAST(path AS TEXT) AS path, files, read_calls, read_bytes, "
                            "lookups FROM directory WHERE CAST(path AS TEXT) LIKE ?",
                            os.path.join(part.work, "small") + "/d%")
    count = part.options.count
    rest = bool(row["loss_map_full"] or row["loss_ring_drops"])
    expect(len(rows) == count // PER_DIR, f"{len(rows)} directories of {count // PER_DIR}")
    short = 0
    for entry in rows:
        first = PER_DIR * int(entry["path"].rsplit("/d", 1)[1])
        sizes = [(i % 3 + 1, i % 7, i % 4) for i in range(first, first + PER_DIR)]
        want = {"files": PER_DIR, "read_calls": sum(1 if block else pages
                                                    for pages, _, block in sizes),
                "read_bytes": sum(judge.PAGE * pages - less for pages, less, _ in sizes),
                "lookups": sum(pages for pages, _, _ in sizes)}
        for name, value in want.items():
            expect(entry[name] == value or (rest and entry[name] < value),
                   f"{entry['path']}: {name} {entry[name]}, not {value}")
        short += any(entry[name] != value for name, value in want.items())
    return f"{len(rows) - short} of {len(rows)} exact, the others lower bounds" if short else ""


big.judge_sizes()

if __name__ == "__main__":
    part.main()
