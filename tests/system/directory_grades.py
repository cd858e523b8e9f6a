#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Directory grades: a job that reads one directory well and another badly gets different grades for
them, which follow from its reads, on ext4 and xfs."""

import math
import os
import random
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.reads import PAGE, fill  # noqa: E402
from syslib.schema import valid  # noqa: E402
from syslib.tool import Tool  # noqa: E402

ME = os.path.abspath(__file__)
FILES, PAGES, EPOCHS = 2, 1024, 3
FILESYSTEMS = ("ext4", "xfs")
LIMITS = ((0.9, "A"), (0.8, "B"), (0.65, "C"), (0.5, "D"), (0.3, "E"), (0, "F"))
GRADES = ("overall", "hits", "prefetch", "eviction", "stall")

part = Part(__doc__)


def read_well(path):
    """In order, repeatedly, from a cache that is large enough."""
    for _ in range(EPOCHS):
        for name in os.listdir(path):
            fd = os.open(os.path.join(path, name), os.O_RDONLY)
            while os.read(fd, 32 * PAGE):
                pass
            os.close(fd)


def read_badly(path):
    """Page by page in random order, without readahead, and dropped before it is read again."""
    rng = random.Random(3)
    for _ in range(EPOCHS):
        for name in os.listdir(path):
            fd = os.open(os.path.join(path, name), os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
            for page in rng.sample(range(PAGES), PAGES):
                os.pread(fd, PAGE, page * PAGE)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


class World:
    def __init__(self, args, work, stack):
        self.tool = Tool(args.cachemon, work)
        self.places = []
        for kind in FILESYSTEMS:
            if shutil.which(machine.MKFS[kind][0]):
                self.places.append(os.path.join(work, kind))
                machine.filesystem(stack, kind, f"{work}/{kind}.img", self.places[-1])
        check(self.places, "neither mkfs.ext4 nor mkfs.xfs")


def letter_is_right(where, detail):
    if detail["score"] is None:
        equal(f"grade without a score, {where}", detail["grade"], None)
        check(detail["reason"] and not detail["formula"], f"{where}: no reason why there is no grade")
        return
    want = next(letter for least, letter in LIMITS if detail["score"] >= least)
    equal(f"letter of {detail['score']}, {where}", detail["grade"], want)
    check(detail["formula"] and not detail["reason"], f"{where}: no formula")


def details(rows, path):
    found = [row for row in rows if row["path"] == path]
    check(len(found) == 1, f"{len(found)} rows of {path}")
    ret = {d["name"]: d for d in found[0]["grade_details"]}
    equal(f"grades of {path}", tuple(ret), GRADES)
    equal(f"letters of {path}", found[0]["grades"], {n: d["grade"] for n, d in ret.items()})
    for name, detail in ret.items():
        letter_is_right(f"{name} of {path}", detail)
    return ret


def score_is(where, detail, want):
    check(detail["score"] is not None, f"{where}: no score: {detail['reason']}")
    check(math.isclose(detail["score"], want, abs_tol=0.002),
          f"{where}: {want:.4f} follows from what was read, not {detail['score']:.4f}: {detail['formula']}")


def of_prefetch(rows, path):
    totals = next(row["totals"] for row in rows if row["path"] == path)
    fate = totals["prefetch"]["fate"]
    used = fate["used"] + fate["used_late"]
    equal("pages prefetched for nothing", fate["evicted_unused"], 0)
    equal("pages brought", used + totals["misses"], FILES * PAGES)
    return (0.6 + 0.4 * fate["used"] / used) * (0.8 + 0.2 * used / (used + totals["misses"]))


def follows_from_the_reads(place, rows):
    """Known without cachemon: each page is fetched once, or once per epoch."""
    well, badly = (details(rows, f"{place}/{name}") for name in ("well", "badly"))
    score_is("hits, well", well["hits"], 1)
    score_is("eviction, well", well["eviction"], 1)
    # How much came in time depends on the machine; no page that was brought can be wasted.
    score_is("prefetch, well", well["prefetch"], of_prefetch(rows, f"{place}/well"))
    check(well["prefetch"]["score"] >= 0.6 * 0.8, f"readahead of a file in order: {well['prefetch']}")
    # One of three fetches of a page is the first.
    score_is("hits, badly", badly["hits"], 0)
    score_is("eviction, badly", badly["eviction"], 1 - (EPOCHS - 1) / EPOCHS)
    equal("prefetch without readahead", badly["prefetch"]["grade"], None)
    check(badly["stall"]["score"] < well["stall"]["score"], "who misses all waits no more than who hits")
    check(badly["overall"]["score"] < well["overall"]["score"], "badly is graded as well as well")
    check(badly["overall"]["grade"] != well["overall"]["grade"], "both have one letter")


def shares_of_stall_add_up(job):
    """The losses of the directories add up to the loss of the job."""
    lacking = sum(1 - d["score"] for row in job["directories"] for d in row["grade_details"]
                  if d["name"] == "stall" and d["score"] is not None)
    whole = next(1 - d["score"] for d in job["grade_details"] if d["name"] == "stall")
    check(math.isclose(lacking, whole, abs_tol=1e-6), f"stall of directories {lacking}, of the job {whole}")


def pages_show_them(world, db, place):
    """In the formats for people: the formulas with their figures."""
    for verb in ("report", "advise"):
        for kind in ("text", "md", "html"):
            page = world.tool.run(verb, "--db", db, "--format", kind)
            flat = " ".join(page.replace("\\", "").split())
            check("/badly" in flat and "1 - refaults " in flat, f"{verb} {kind}: no directory")
            check(flat.count("of lookups ") >= 3, f"{verb} {kind}: no formula of both directories")


@part.case
def well_and_badly(world, stack):
    for place in world.places:
        for name in ("well", "badly"):
            os.mkdir(f"{place}/{name}")
            for i in range(FILES):
                fill(f"{place}/{name}/{i}", PAGES)
        watch = world.tool.watch(stack, ["--level", "full"], [sys.executable, ME, "--work", place])
        _, job, _ = watch.end()
        follows_from_the_reads(place, job["directories"])
        shares_of_stall_add_up(job)
        valid(world.tool.run("report", "--db", watch.db, "--format", "json"), "report")
        pages_show_them(world, watch.db, place)


def main():
    if sys.argv[1:2] == ["--work"]:
        read_well(f"{sys.argv[2]}/well")
        read_badly(f"{sys.argv[2]}/badly")
        return 0
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
