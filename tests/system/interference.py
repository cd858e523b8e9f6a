#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Which reads and writes evicted which pages, in a group with a memory limit. The test's own
orders show who; cachestat(2) counts how many."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.orders import Worker  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, cached_pages, drop, fill  # noqa: E402
from syslib.world import World  # noqa: E402

LIMIT = 40 << 20
PAGES = (16 << 20) // PAGE   # of the job's dataset: fits
LARGE = (80 << 20) // PAGE   # of the evictor
CAUSES = ("reclaim_kswapd", "reclaim_direct", "reclaim_memcg", "dontneed", "drop_caches", "truncate",
          "direct_io", "other", "invalidate", "dontcache")

part = Part(__doc__)


def group_with_limit(stack, version):
    root = machine.v1_root() if version == 1 else machine.v2_root()
    if not root:
        raise Skipped(f"no cgroup v{version} here")
    group = machine.cgroup(stack, root, f"cachemon-push-{os.getpid()}")
    for name in ("memory.limit_in_bytes", "memory.max"):
        if os.path.exists(f"{group}/{name}"):
            with open(f"{group}/{name}", "w", encoding="ascii") as f:
                f.write(str(LIMIT))
            return group, os.path.join("/", os.path.relpath(group, root))
    raise Skipped("no memory controller in that hierarchy")


class Case:
    """A job in the group, its dataset in a/, the evictor's files in b/, and a neighbour."""

    def __init__(self, world, stack, version=1):
        self.world = world
        self.group, self.group_name = group_with_limit(stack, version)
        for name in "ab":
            os.makedirs(f"{world.data}/{name}", exist_ok=True)
        self.a = fill(f"{world.data}/a/{len(os.listdir(world.data + '/a'))}", PAGES)
        self.b = fill(f"{world.data}/b/{len(os.listdir(world.data + '/b'))}", LARGE)
        for path in self.a, self.b:
            stack.callback(os.unlink, path)
        self.job, self.neighbour = Worker(stack), Worker(stack, f"{world.work}/neighbour")
        for process in self.job, self.neighbour:
            machine.enter_cgroup(self.group, process.pid)
        self.watch = world.tool.watch(stack, ["--level", "full", "--interval", "200ms", "--pid",
                                              str(self.job.pid)])
        self.watch.wait_started()
        self.job.do("random", self.a)  # page by page: only what is read
        self.job.do("read", self.a, 0, PAGES)

    def cached(self, path):
        with open(path, "rb") as f:
            return cached_pages(f.fileno())

    def rows(self):
        """All rows, at the end of the run. By cause they add up to the job's counters."""
        self.watch.interrupt()
        _, job, _ = self.watch.end()
        with contextlib.closing(sqlite3.connect(f"file:{self.watch.db}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            rows = [dict(r) for r in db.execute("SELECT * FROM interference")]
        for cause in CAUSES:
            equal(f"pages evicted by {cause}", pages(rows, cause=cause),
                  job["totals"]["evicted_pages"][cause])
        equal("rows of unknown evictors", pages(rows, evictor_kind=None), 0)
        return rows

    def lost(self, rows):
        """Of the dataset, by the kernel's own count; all of it is in the rows."""
        lost = PAGES - self.cached(self.a)
        mine = [r for r in rows if r["owner_path"] == self.place("a")]
        equal("pages of the dataset pushed out", pages(mine), lost)
        check(lost > PAGES // 4, f"only {lost} of {PAGES} were pushed out")
        by = {}
        for r in mine:
            what = {None: "", 0: "reading", 1: "writing"}[r["evictor_writes"]]
            who = f"{r['evictor_kind']} {r['evictor']} {what} ({r['cause']})"
            by[who] = by.get(who, 0) + r["pages"]
        part.note(f"{lost} of {PAGES}: {by}")
        return mine, lost

    def place(self, name):
        return f"{self.world.data}/{name}".encode()


def pages(rows, **want):
    return sum(r["pages"] for r in rows if all(r[k] == v for k, v in want.items()))


def except_kernel(rows):
    """The machine has its own reasons besides the group's: kswapd, kdamond."""
    return [r for r in rows if r["cause"] != "reclaim_kswapd" and r["evictor_kind"] != "kernel"]


def by_neighbour(world, stack, version):
    c = Case(world, stack, version)
    c.neighbour.do("read", c.b, 0, LARGE)
    rows = c.rows()
    mine, _ = c.lost(rows)
    for r in except_kernel(mine):
        equal("evictor", (r["evictor_kind"], r["evictor"], r["evictor_cgroup"], r["evictor_path"],
                          r["evictor_writes"], r["cause"], r["exact"]),
              ("others", "neighbour", c.group_name.encode(), None, 0, "reclaim_memcg", 1))
    equal("pages of others are nobody's here", pages(rows, owner_path=c.place("b")), 0)


@part.case
def a_neighbour_reads(world, stack):
    by_neighbour(world, stack, 1)


@part.case
def a_neighbour_reads_v2(world, stack):
    by_neighbour(world, stack, 2)


@part.case
def a_neighbour_writes(world, stack):
    c = Case(world, stack)
    c.neighbour.do("write", c.b, 0, LARGE)
    mine, lost = c.lost(c.rows())
    wrote = pages(mine, evictor="neighbour", evictor_kind="others", evictor_writes=1)
    equal("by whom", {r["evictor_kind"] for r in except_kernel(mine)}, {"others"})
    check(wrote > lost // 2, f"{wrote} of {lost} by the writer")


class Pair:
    """Two jobs in groups of their own below a limited group, each watched by its own run into
    one database."""

    def __init__(self, world, stack):
        version = 1 if machine.v1_root() else 2
        group, self.name = group_with_limit(stack, version)
        if version == 2:
            with open(f"{group}/cgroup.subtree_control", "w", encoding="ascii") as f:
                f.write("+memory")
        self.tool, self.db = world.tool, world.tool.fresh(".db")
        self.groups = {name: machine.cgroup(stack, group, name) for name in "ab"}
        self.workers = {"a": Worker(stack), "b": Worker(stack, f"{world.work}/second")}
        for name, worker in self.workers.items():
            machine.enter_cgroup(self.groups[name], worker.pid)
        self.watches = [self.watch(stack, number, name) for number, name in enumerate("ab", 1)]

    def watch(self, stack, number, name):
        watch = self.tool.watch(stack, ["--level", "full", "--interval", "200ms", "--job",
                                        f"job {name}", "--cgroup", self.groups[name]], db=self.db)
        machine.until(lambda: watch.query(f"SELECT count(*) FROM interval WHERE run_id = {number}"),
                      f"an interval of run {number}")
        return watch

    def reports(self):
        """The watched job of each run, in the order of the runs."""
        for watch in self.watches:
            watch.interrupt()
        for watch in self.watches:
            watch.finish()
            equal("exit status of watch", watch.process.returncode, 0)
        return [self.tool.report(self.db, run)[1] for run in "12"]


@part.case
def another_job_of_the_database(world, stack):
    """The other job has a name if it is a cgroup that is watched at the same time."""
    pair = Pair(world, stack)
    a, b = world.cold(PAGES), world.cold(LARGE)
    pair.workers["a"].do("random", a)
    pair.workers["a"].do("read", a, 0, PAGES)
    pair.workers["b"].do("read", b, 0, LARGE)
    with open(a, "rb") as f:
        lost = PAGES - cached_pages(f.fileno())
    first, second = pair.reports()
    check(lost > 100, f"only {lost} of {PAGES} were pushed out")  # the group's reclaim takes of both
    rows = first["interference"]["evictions"]
    equal("pages", pages(rows), lost)
    by_tasks = [r for r in rows if r["cause"] != "reclaim_kswapd"
                and r["evictor"]["kind"] != "kernel"]
    equal("evictors", [r["evictor"] for r in by_tasks],
          [{"kind": "job", "job": "job b", "command": "second", "cgroup": f"{pair.name}/b",
            "directory": None, "writes": False}])
    part.note(f"{pages(by_tasks)} of {lost} by job b")
    equal("kinds of evictors of b's pages",
          {r["evictor"]["kind"] for r in second["interference"]["evictions"]} - {"kernel"}, {"own"})


@part.case
def another_directory_of_the_job(world, stack):
    c = Case(world, stack)
    c.job.do("read", c.b, 0, LARGE)
    came = LARGE
    left = c.cached(c.b)
    rows = c.rows()
    mine, _ = c.lost(rows)
    for r in except_kernel(mine):
        equal("evictor", (r["evictor_kind"], r["evictor_path"], r["evictor_writes"]),
              ("own", c.place("b"), 0))
    equal("pages of the other directory", pages(rows, owner_path=c.place("b")), came - left)


@part.case
def a_mapping_of_the_job(world, stack):
    c = Case(world, stack)
    c.job.do("touch", c.b, 0, LARGE)
    mine, _ = c.lost(c.rows())
    equal("directory that was faulted in",
          {(r["evictor_kind"], r["evictor_path"], r["evictor_writes"])
           for r in except_kernel(mine)}, {("own", c.place("b"), 0)})


@part.case
def writing_of_the_job(world, stack):
    c = Case(world, stack)
    c.job.do("write", c.b, 0, LARGE)
    mine, lost = c.lost(c.rows())
    wrote = pages(mine, evictor_kind="own", evictor_path=c.place("b"), evictor_writes=1)
    equal("by whom", {r["evictor_kind"] for r in except_kernel(mine)}, {"own"})
    check(wrote > lost // 2, f"{wrote} of {lost} by the writer")


@part.case
def who_drops_on_purpose(world, stack):
    """Advice of the job, advice of another job, and the end of the file."""
    c = Case(world, stack)
    c.job.do("dontneed", c.a, 0, 100)
    c.neighbour.do("dontneed", c.a, 100, 200)
    c.job.do("truncate", c.a, PAGES - 50)
    rows = c.rows()
    mine = except_kernel([r for r in rows if r["owner_path"] == c.place("a")])
    equal("rows", sorted((r["cause"], r["evictor_kind"], r["evictor"] == "neighbour", r["pages"])
                         for r in mine),
          [("dontneed", "others", True, 200), ("dontneed", "own", False, 100),
           ("truncate", "own", False, 50)])


@part.case
def who_drops_all_caches(world, stack):
    """This program is one of the others."""
    c = Case(world, stack)
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
        f.write("1")
    mine, lost = c.lost(c.rows())
    with open("/proc/self/comm", encoding="ascii") as f:
        me = f.read().strip()
    dropped = pages(mine, cause="drop_caches", evictor_kind="others", evictor=me, exact=1)
    equal("pages dropped", dropped, lost - pages(mine, evictor_kind="kernel"))


@part.case
def probes_that_see_no_evictors(world, stack):
    """The run says so, and rules that need them are not judged."""
    watch = world.tool.watch(stack, ["--level", "full"], ["cat", world.cold(100)],
                             stdout=subprocess.DEVNULL,
                             env={**os.environ, "CACHEMON_PROBES": "basic"})
    watch.finish()
    if watch.process.returncode:
        raise Skipped(f"that build does not run here: {watch.errors.strip().splitlines()[-1]}")
    report, job = world.tool.report(watch.db)
    why = {u["counter"]: u["reason"] for u in report["run"]["unmeasured"]}.get("interference", "")
    check("do not tell who runs" in why, f"reason: {why}")
    equal("reason in the report", job["interference"], {"absent": why, "evictions": None})
    doctor = json.loads(world.tool.run("doctor", "--json"))
    if os.uname().release.startswith("5."):  # on kernels that use this build
        equal("what doctor says", [r["reason"] for r in doctor["records"]
                                   if r["record"] == "evictors"], [why])
    told = json.loads(world.tool.run("advise", "--db", watch.db, "--format", "json"))
    missing = {u["id"]: u["reason"] for j in told["jobs"] for u in j["not_judged"]}
    equal("why it is not judged", missing.get("evicted-by-neighbour"),
          f"interference was not measured: {why}")


@part.case
def pages_of_a_stranger_are_not_the_jobs(world, stack):
    """The job evicts pages of the neighbour: they have no owner row."""
    c = Case(world, stack)
    other = fill(f"{world.data}/b/other", 1000)
    stack.callback(os.unlink, other)
    c.neighbour.do("read", other, 0, 1000)
    with open(other, "rb") as f:
        drop(f.fileno())
    equal("pages", pages([r for r in c.rows() if r["owner_path"] == c.place("b")]), 0)


if __name__ == "__main__":
    sys.exit(part.main(World))
