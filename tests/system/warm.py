#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A server whose files were cached before it was watched, and a neighbour that drops them:
cachestat(2) reports how many pages left and came back; the test's own orders show who dropped
them."""

import contextlib
import json
import os
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.orders import Worker  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.reads import PAGE, cached_pages, fill  # noqa: E402
from syslib.world import World  # noqa: E402
from interference import group_with_limit  # noqa: E402

PAGES = (16 << 20) // PAGE   # of the server's file
LARGE = (30 << 20) // PAGE   # of the evictor: so that the server's pages come back soon, and stay
LEVELS = {"cold": ["--level", "cold"], "default": [], "full": ["--level", "full"]}

part = Part(__doc__)


def cached(path):
    with open(path, "rb") as f:
        return cached_pages(f.fileno())


class Case:
    """A server that has read its file, which another process cached, and is watched afterwards."""

    def __init__(self, world, stack, options=(), select=None, warmed_by=None):
        self.world, self.stack = world, stack
        folder = f"{world.data}/{len(os.listdir(world.data))}"
        for name in "ab":
            os.makedirs(f"{folder}/{name}")
        self.mine, self.other = fill(f"{folder}/a/file", PAGES), fill(f"{folder}/b/file", PAGES)
        self.server, self.neighbour = Worker(stack), Worker(stack, f"{world.work}/neighbour")
        for path in self.mine, self.other:
            (warmed_by(self) if warmed_by else Worker(stack)).do("block", path, 0, PAGES)
            equal("pages that are cached before the run", cached(path), PAGES)
        self.server.do("random", self.mine)
        self.read()
        self.watch = world.tool.watch(stack, [*options, "--interval", "200ms",
                                              *(select(self) if select else ["--pid", str(self.server.pid)])])
        self.watch.wait_started()
        self.read()

    def read(self):
        self.server.do("read", self.mine, 0, PAGES)

    def end(self):
        """(the job, its file, rows of evictors, findings)"""
        self.watch.interrupt()
        _, job, _ = self.watch.end()
        with contextlib.closing(sqlite3.connect(f"file:{self.watch.db}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            rows = [dict(r) for r in db.execute("SELECT * FROM interference")]
        advised = json.loads(self.world.tool.run("advise", "--db", self.watch.db, "--format", "json"))
        found = {f["id"]: f for j in advised["jobs"] for f in j["findings"]}
        return job, self.world.entry(job, self.mine), rows, found


def expect(c, cause, left):
    job, mine, rows, found = c.end()
    evicted = mine["totals"]["evicted_pages"]
    equal(f"evicted by {cause}", evicted[cause], left)
    equal("evicted by all causes", sum(v or 0 for v in evicted.values()), left)
    equal("of those, not added by the server", mine["totals"]["evicted_not_added"], left)
    equal("refaults", mine["totals"]["refaults"], left)
    place = os.path.dirname(c.mine).encode()
    equal("who evicted them", {(r["cause"], r["evictor_kind"], r["evictor"], r["exact"]): r["pages"]
                               for r in rows if r["owner_path"] == place},
          {(cause, "others", "neighbour", 1): left})
    equal("rows of the other file", [r for r in rows if r["owner_path"] == os.path.dirname(c.other).encode()],
          [])
    equal("findings of evictions", "evicted-by-neighbour" in found, True)
    said = found["evicted-by-neighbour"]["summary"]
    check(said.startswith("neighbour ") and f"{left:,}" in said, f"summary: {said}")
    return job


def dropped(world, stack, level, select=None):
    c = Case(world, stack, LEVELS[level], select)
    c.neighbour.do("dontneed", c.mine, 0, PAGES)
    equal("pages that are cached when they were dropped", cached(c.mine), 0)
    c.read()
    expect(c, "dontneed", PAGES)


@part.case
def the_dropper_is_watched(world, stack):
    """The server itself reads nothing again: others do."""
    c = Case(world, stack, select=lambda c: ["--pid", str(c.neighbour.pid)])
    c.neighbour.do("dontneed", c.mine, 0, PAGES)
    equal("pages that are cached when they were dropped", cached(c.mine), 0)
    c.read()
    c.watch.interrupt()
    report, job, _ = c.watch.end()
    equal("pages dropped", job["totals"]["evicted_pages"]["dontneed"], PAGES)
    advice = [a for a in job["advice"] if a["kind"] == "dontneed" and a["path"] == c.mine]
    equal("rows of advice", len(advice), 1)
    equal("pages it dropped", advice[0]["pages_dropped"], PAGES)
    equal("of those, brought back by others", advice[0]["dropped_refaults_others"], PAGES)
    equal("of those, brought back by itself", advice[0]["dropped_refaults"], 0)
    equal("verdict", advice[0]["verdict"], "harmful")
    advised = json.loads(world.tool.run("advise", "--db", c.watch.db, "--format", "json"))
    found = {f["id"]: f for j in advised["jobs"] for f in j["findings"]}
    check("dontneed-harmful" in found, f"findings: {sorted(found)}")
    check(f"{PAGES:,}" in found["dontneed-harmful"]["summary"], found["dontneed-harmful"]["summary"])


for _level in LEVELS:
    def case(world, stack, level=_level):
        dropped(world, stack, level)
    case.__name__ = f"a_neighbour_drops_{_level}"
    part.case(case)


@part.case
def of_a_cgroup(world, stack):
    group = machine.cgroup(stack, machine.v1_root() or machine.v2_root(), f"cachemon-warm-{os.getpid()}")

    def select(c):
        machine.enter_cgroup(group, c.server.pid)
        return ["--cgroup", group]
    dropped(world, stack, "default", select)


@part.case
def twice(world, stack):
    """The second time they are pages that the server brought back itself."""
    c = Case(world, stack)
    left = 0
    for _ in range(2):  # pages on their way into a list of the kernel's are not dropped
        c.neighbour.do("dontneed", c.mine, 0, PAGES)
        left += PAGES - cached(c.mine)
        c.read()
    check(left > PAGES * 3 // 2, f"only {left} pages were dropped")
    _, mine, _, _ = c.end()
    equal("evicted", mine["totals"]["evicted_pages"]["dontneed"], left)
    equal("of those, not added by the server", mine["totals"]["evicted_not_added"], PAGES)
    equal("refaults", mine["totals"]["refaults"], left)


@part.case
def memory_of_the_neighbours_cgroup(world, stack):
    """The server brought in the pages, so its own limit evicts them."""
    group, _ = group_with_limit(stack, 1 if machine.v1_root() else 2)

    def warmed_by(c):
        machine.enter_cgroup(group, c.neighbour.pid)
        return c.neighbour
    c = Case(world, stack, warmed_by=warmed_by)
    large = fill(f"{world.data}/large", LARGE)
    stack.callback(os.unlink, large)
    for _ in range(20):
        c.neighbour.do("read", large, 0, LARGE)
        left = PAGES - cached(c.mine)
        if left > 1024:
            break
    check(left > 1024, f"only {left} of {PAGES} were pushed out")
    c.read()
    expect(c, "reclaim_memcg", left)


@part.case
def pages_of_other_files_are_nobodys(world, stack):
    c = Case(world, stack)
    c.neighbour.do("dontneed", c.other, 0, PAGES // 2)
    c.neighbour.do("truncate", c.other, 0)
    equal("pages of the other file", cached(c.other), 0)
    job, mine, rows, found = c.end()
    equal("evictions of the server's file", sum(v or 0 for v in mine["totals"]["evicted_pages"].values()), 0)
    equal("pages cut off, of any file", job["totals"]["evicted_pages"]["truncate"], 0)
    equal("rows of who evicted", [r for r in rows if r["evictor"] == "neighbour"], [])
    check("evicted-by-neighbour" not in found, "a finding without evictions")


@part.case
def the_servers_file_is_cut(world, stack):
    """Truncated pages are evicted and cannot come back."""
    c = Case(world, stack)
    c.neighbour.do("truncate", c.mine, PAGES // 2)
    _, mine, _, _ = c.end()
    equal("cut off", mine["totals"]["evicted_pages"]["truncate"], PAGES // 2)
    equal("refaults", mine["totals"]["refaults"], 0)


if __name__ == "__main__":
    sys.exit(part.main(World))
