#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A job that reads a million small files once: every total exact, memory and database bounded.

The files are sparse: a hole fills the page cache as data does, and needs no disk."""

import os
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
                for name in (".", "../fault")]

from faultlib.image import run as tool  # noqa: E402
from faultlib.part import Failed, Part, Skipped, expect  # noqa: E402
from scalelib import judge  # noqa: E402
from scalelib.measured import Measured, build_job  # noqa: E402

part = Part("small_files", __doc__, count=("small files", 1000000, 20000))
PER_DIR = 1000
REPEATS = 3
RUN = {}


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


def the_run():
    if "measured" not in RUN:
        raise Failed("there was no run to judge")
    return RUN["measured"]


@part.case("the job runs")
def the_job(case):
    case.dir = part.work  # the run is judged after this case
    job, count = build_job(case), part.options.count
    expect(count % PER_DIR == 0, f"--count: not a multiple of {PER_DIR}")
    base = judge.start_up(case, job)
    files = Files(case, job, count)
    for repeat in range(REPEATS):
        files.cold()
        measured = Measured(case, job, f"run{repeat}", ["small", files.mount, count])
        if not measured.truth["disturbed"]:
            RUN.update(measured=measured, base=base, mount=files.mount)
            return (f"{count} files in {measured.seconds:.1f} s, CPU time of job and collector "
                    f"{measured.end['cpu_s']} s")
    raise Skipped(f"{REPEATS} times others on this machine dropped pages of the files")


@part.case("totals are the job's own")
def totals(_):
    return judge.totals(the_run(), RUN["base"])


@part.case("the law holds, what is lost is counted")
def losses(_):
    return judge.losses(the_run())


@part.case("files and directories add up to the job")
def sums(case):
    return judge.sums(case, the_run())


@part.case("each directory is exact")
def directories(_):
    """What had to go to the rest of the files, where the map of rows was full, is missed there."""
    measured, row = the_run(), the_run().db.run()
    rows = measured.db.rows("SELECT CAST(path AS TEXT) AS path, files, read_calls, read_bytes, "
                            "lookups FROM directory WHERE CAST(path AS TEXT) LIKE ?",
                            RUN["mount"] + "/d%")
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


@part.case("memory of the collector beside the maps")
def collector_memory(_):
    return judge.collector_memory(the_run())


@part.case("memory of the maps is what doctor says")
def map_memory(case):
    return judge.map_memory(case, the_run())


@part.case("size of the database")
def database(_):
    return judge.database(the_run())


if __name__ == "__main__":
    part.main()
