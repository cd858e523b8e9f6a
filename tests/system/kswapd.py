#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The causes of kswapd's evictions: other processes and the job fill memory with known numbers of
pages, and mincore(2) reports what the job loses. All of the machine's memory is filled, so it needs
a small machine: tests/vm/evictors boots one."""

import contextlib
import os
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.orders import Worker  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, fill, resident_pages  # noqa: E402
from syslib.world import World  # noqa: E402

MEMORY_MAX = 3 << 30
PAGES = (24 << 20) // PAGE   # of the job's dataset,
PIECES = 24                  # read in as many pieces, so that the pages differ in age
BETWEEN = (12 << 20) // PAGE # pages of others that are read between two of the pieces
SPARSE = 1 << 40             # bytes: a hole fills the page cache like data
TURN = 64                    # pages: the smallest turn of a filler
# Pages added in a turn may fall into the next interval, and the machine adds a few itself.
SHARE_ERROR = 0.02
PHASE_ERROR = 0.02           # of the pages lost in a phase

part = Part(__doc__)


def memory_bytes():
    return os.sysconf("SC_PHYS_PAGES") * PAGE


def reclaimed_by_tasks():
    """Pages of the whole machine that left memory, but not by kswapd."""
    with open("/proc/vmstat", encoding="ascii") as f:
        seen = dict(line.split() for line in f)
    return sum(int(v) for k, v in seen.items()
               if k in ("pgsteal_direct", "pgsteal_khugepaged", "pgsteal_proactive"))


class Filler:
    """Reads a sparse file, each page once; it brings only what it requests."""

    def __init__(self, worker, path):
        self.worker, self.path, self.read = worker, path, 0
        with open(path, "wb") as f:
            f.truncate(SPARSE)
        worker.do("random", path)

    def more(self, pages):
        self.worker.do("block", self.path, self.read, pages)
        self.read += pages


class Case:
    def __init__(self, world, stack):
        if memory_bytes() > MEMORY_MAX:
            raise Skipped(f"{memory_bytes() >> 20} MiB of memory are too much to be filled: "
                          "tests/vm/evictors runs it in a guest")
        for name in ("a", "own", "first", "second"):
            os.makedirs(f"{world.data}/{name}", exist_ok=True)
        self.place = f"{world.data}/a".encode()
        self.own_place = f"{world.data}/own".encode()
        self.file = open(fill(f"{world.data}/a/{id(self)}", PAGES), "rb")
        stack.enter_context(self.file)
        self.job = Worker(stack)
        fillers = {"own": self.job, **{name: Worker(stack, f"{world.work}/{name}{id(self)}")
                                       for name in ("first", "second")}}
        self.fillers = {}
        for name, worker in fillers.items():
            path = f"{world.data}/{name}/{id(self)}"
            self.fillers[name] = Filler(worker, path)
            stack.callback(os.unlink, path)
        self.comm = {name: f"{name}{id(self)}"[:15] for name in fillers}
        self.watch = world.tool.watch(stack, ["--level", "full", "--interval", "2s", "--pid",
                                              str(self.job.pid)])
        self.watch.wait_started()
        self.by_tasks = reclaimed_by_tasks()
        self.job.do("random", self.file.name)

    def read_dataset(self, **turn):
        """The fillers take turns between its pieces."""
        rounds = BETWEEN // sum(turn.values())
        for first in range(0, PAGES, PAGES // PIECES):
            self.job.do("block", self.file.name, first, PAGES // PIECES)
            self.take_turns(rounds, turn)

    def take_turns(self, rounds, turn):
        for _ in range(rounds):
            for name, n in turn.items():
                self.fillers[name].more(n)

    def lost(self):
        return PAGES - resident_pages(self.file.fileno())

    def until_lost(self, pages, **turn):
        """Each filler reads so many pages per turn until the dataset has lost that many pages.
        It then continues to the end of an interval, because the evictions of an interval are
        attributed as a whole."""
        bound = 8 * memory_bytes() // PAGE
        while self.lost() < pages:
            self.take_turns(4, turn)
            check(sum(f.read for f in self.fillers.values()) < bound,
                  f"{self.lost()} of {PAGES} are lost after {bound} pages")
        ends = self.watch.intervals() + 1
        while self.watch.intervals() < ends:
            self.take_turns(4, turn)

    def end(self):
        """Rows of the dataset. All of its losses are in them, and kswapd took what no task did."""
        lost, by_tasks = self.lost(), reclaimed_by_tasks() - self.by_tasks
        self.watch.interrupt()
        _, job, _ = self.watch.end()
        with contextlib.closing(sqlite3.connect(f"file:{self.watch.db}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            rows = [dict(r) for r in db.execute("SELECT * FROM interference")]
        equal("pages that kswapd took of the job", pages(rows, cause="reclaim_kswapd"),
              job["totals"]["evicted_pages"]["reclaim_kswapd"])
        mine = [r for r in rows if r["owner_path"] == self.place]
        by = {}
        for r in mine:
            who = f"{r['cause']} {r['evictor_kind']} {r['evictor']} {r['evictor_path']}"
            by[who] = by.get(who, 0) + r["pages"]
        part.note(f"{by}")
        equal("pages of the dataset that left", pages(mine), lost)
        taken = pages(mine, cause="reclaim_kswapd")
        check(lost - by_tasks <= taken <= lost and taken,
              f"kswapd took {taken} of {lost}; tasks reclaimed {by_tasks} on the whole machine")
        part.note(f"{lost} of {PAGES} lost, {taken} to kswapd; tasks reclaimed {by_tasks} of all "
                  "the machine's")
        return mine, taken

    def by(self, rows, name):
        """Pages evicted by kswapd that are attributed to this filler: in proportion, and marked as
        such."""
        if name == "own":
            return pages(rows, cause="reclaim_kswapd", evictor_kind="own", exact=0, evictor_writes=0,
                         evictor_path=self.own_place)
        return pages(rows, cause="reclaim_kswapd", evictor_kind="others", exact=0, evictor_writes=0,
                     evictor=self.comm[name])


def pages(rows, **want):
    return sum(r["pages"] for r in rows if all(r[k] == v for k, v in want.items()))


@part.case
def in_proportion(world, stack):
    """Three fillers in parallel, in a known proportion."""
    c, turn = Case(world, stack), {"first": 3 * TURN, "second": TURN, "own": 2 * TURN}
    c.take_turns(1, turn)
    c.watch.wait_intervals(1)
    c.read_dataset(**turn)
    c.until_lost(PAGES // 2, **turn)
    rows, taken = c.end()
    whole = sum(f.read for f in c.fillers.values())
    for name, filler in c.fillers.items():
        want, got = filler.read / whole, c.by(rows, name) / taken
        part.note(f"{name}: {100 * got:.2f} % of what kswapd took, for {100 * want:.2f} % of what "
                  "was added")
        check(abs(got - want) <= SHARE_ERROR, f"share of {name}: {got:.4f}, not {want:.4f}")
    equal("pages of kswapd that are said to be exact", pages(rows, cause="reclaim_kswapd", exact=1), 0)


@part.case
def one_after_the_other(world, stack):
    """Pages evicted while one fills memory are not attributed to a later filler."""
    c = Case(world, stack)
    c.read_dataset(first=16 * TURN)
    c.until_lost(PAGES // 6, first=16 * TURN)
    c.watch.wait_intervals(2)  # the second phase has no rows of the first filler
    lost = {"first": c.lost()}
    c.until_lost(min(PAGES * 5 // 6, c.lost() + PAGES // 6), second=16 * TURN)
    lost["second"] = c.lost() - lost["first"]
    rows, taken = c.end()
    check(lost["second"] > PAGES // 12, f"only {lost['second']} are left for the second")
    for name, n in lost.items():
        part.note(f"{name}: {c.by(rows, name)}, of {n} that were lost then")
        # Pages taken by tasks are exact, and belong to one phase.
        check(abs(c.by(rows, name) - n) <= PHASE_ERROR * n + c.lost() - taken,
              f"{name}: {c.by(rows, name)} pages, not {n}")


if __name__ == "__main__":
    sys.exit(part.main(World))
