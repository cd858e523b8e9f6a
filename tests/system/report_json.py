#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""report --format json, compared with docs/schema/report.json, and its timeline, compared with a
job that acted at known times."""

import json
import os
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import schema  # noqa: E402
from syslib.orders import Worker  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.reads import cached_pages, fill  # noqa: E402
from syslib.world import World  # noqa: E402

PAGES = 1024
DROPPED = 256
SMALL_READS = 4000000  # cached: takes some seconds

part = Part(__doc__)


def valid(world, db):
    text = world.tool.run("report", "--db", db, "--format", "json")
    schema.valid(text, "report")
    return json.loads(text)["jobs"][0]


def watch(world, stack, worker, *options):
    run = world.tool.watch(stack, ["--interval", "100ms", *options, "--pid", str(worker.pid)])
    run.wait_started()
    return run


def moment(run):
    """A time after everything done so far and before everything to come. One interval may have
    ended and the next begun before the last act."""
    run.wait_intervals(3)
    return run.query("SELECT max(start_ns) FROM interval")


def parts(timeline, key, moments):
    """Sums of a line: before the first moment, between moments, and after the last."""
    line = timeline[key[0]]
    for name in key[1:]:
        line = line[name]
    sums = [0] * (len(moments) + 1)
    for start, value in zip(timeline["start_ns"], line, strict=True):
        sums[sum(start >= m for m in moments)] += value
    return sums


@part.case
def when_it_happened(world, stack):
    """Cold reads, nothing, cached reads, dropped pages: each in its own time. Pages that the
    machine reclaims in between are known from the kernel before they are read again."""
    path = fill(f"{world.data}/phases", PAGES)
    file = stack.enter_context(open(path, "rb")).fileno()
    worker = Worker(stack)
    run = watch(world, stack, worker, "--level", "full")
    worker.do("random", path)
    worker.do("read", path, 0, PAGES)
    moments = [moment(run)]
    moments.append(moment(run))
    again = PAGES // 2 - cached_pages(file, 0, PAGES // 2)
    worker.do("read", path, 0, PAGES // 2)
    moments.append(moment(run))
    worker.do("dontneed", path, 0, DROPPED)
    left = cached_pages(file)
    run.wait_intervals(1)
    run.interrupt()
    run.end()
    job = valid(world, run.db)
    timeline = job["timeline"]
    check(timeline["buckets"] > 5, f"{timeline['buckets']} buckets")
    equal("lookups", parts(timeline, ["lookups"], moments), [PAGES, 0, PAGES // 2, 0])
    equal("misses", parts(timeline, ["misses"], moments), [PAGES, 0, again, 0])
    equal("hits", parts(timeline, ["hits"], moments), [0, 0, PAGES // 2 - again, 0])
    *before, dropped = parts(timeline, ["evicted_pages", "dontneed"], moments)
    equal("dropped before", before, [0, 0, 0])
    check(dropped > DROPPED // 2, f"{dropped} of {DROPPED} dropped")
    gone = sum(map(sum, timeline["evicted_pages"].values()))
    equal("pages that left, by the kernel", gone, PAGES + again - left)
    part.note(f"{timeline['buckets']} buckets; {PAGES + again - left} pages dropped")


@part.case
def what_cold_does_not_know(world, stack):
    path = fill(f"{world.data}/cold", PAGES)
    worker = Worker(stack)
    run = watch(world, stack, worker, "--level", "cold")
    worker.do("read", path, 0, PAGES)
    run.wait_intervals(1)
    run.interrupt()
    run.end()
    timeline = valid(world, run.db)["timeline"]
    for name in ("lookups", "hits", "read_calls"):
        equal(name, timeline[name], None)
    equal("pages that came", sum(timeline["demand_pages"]) + sum(timeline["prefetched_pages"]),
          PAGES)


@part.case
def what_a_slice_does_not_know(world, stack):
    """Values of the per-read hook exist only for buckets in which it was never off."""
    # One process and small reads: reads are what costs, so they are sliced.
    small = ("import os, sys\nfd = os.open(sys.argv[1], os.O_RDONLY)\n"
             f"for _ in range({SMALL_READS}): os.pread(fd, 512, 0)")
    run = world.tool.watch(stack, ["--interval", "100ms", "--level", "auto", "--max-overhead",
                                   "0.01%"], [sys.executable, "-c", small, world.hot])
    run.end()
    equal("sliced", run.query("SELECT sliced FROM run"), 1)
    timeline = valid(world, run.db)["timeline"]
    for lookups, on, length in zip(timeline["lookups"] or [], timeline["read_on_ns"],
                                   timeline["duration_ns"], strict=False):
        check(lookups is None or on >= length, f"{lookups} lookups in {on} of {length} ns")
    check(None in (timeline["lookups"] or [None]), "each bucket is known")
    check(timeline["misses"] is not None, "misses are known at all times")


@part.case
def names_of_evictors(world, stack):
    """Rows as written by a recorder, with names that nobody should use."""
    worker = Worker(stack)
    run = watch(world, stack, worker, "--level", "full")
    run.interrupt()
    run.end()
    bad = b"/\xff\"\n\x1b[31m"
    with sqlite3.connect(run.db) as db:
        db.execute("UPDATE job SET evicted_reclaim_memcg = 7 WHERE slot = 1")
        job, = db.execute("SELECT id FROM job WHERE slot = 1").fetchone()
        for i in range(300):
            db.execute("INSERT INTO interference (job_id, cause, evictor_kind, evictor, "
                       "evictor_cgroup, evictor_path, evictor_writes, owner_path, pages, "
                       "exact) VALUES (?, 'reclaim_memcg', 'others', ?, ?, ?, 1, ?, ?, 1)",
                       (job, "=cmd\x07\u202e", bad, bad, bad, i))
    db.close()
    evictions = valid(world, run.db)["interference"]["evictions"]
    equal("entries", len(evictions), 101)
    equal("pages", sum(e["pages"] for e in evictions), sum(range(300)))
    equal("command", evictions[0]["evictor"]["command"], "=cmd\x07\u202e")
    equal("directory", evictions[0]["evictor"]["directory"], "/\\xff\"\n\x1b[31m")
    check(evictions[0]["evictor"]["directory_escaped"], "not marked as escaped")
    text = world.tool.run("report", "--db", run.db, "--format", "json")
    check(not any(c in text for c in "\x07\x1b\u202e"), "a control character as it is")


if __name__ == "__main__":
    sys.exit(part.main(World))
