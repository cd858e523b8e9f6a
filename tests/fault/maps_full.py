#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Maps that are far too small for the job: totals are exact compared with the workload's own
count by cachestat(2), pages that could not be followed are counted, the conservation law holds,
and files and the rest add up."""

import json
import os
import sys

sys.dont_write_bytecode = True

from faultlib.part import Part, Skipped, expect  # noqa: E402
from faultlib.watch import (PREFETCHED, Db, check_law, run)  # noqa: E402

part = Part("maps_full", __doc__)

TINY = ["--block-entries", "64", "--row-entries", "16"]
EVICTED = ["reclaim_kswapd", "reclaim_direct", "reclaim_memcg", "dontneed", "drop_caches",
           "truncate", "direct_io", "other", "invalidate", "dontcache"]
CHUNK = 64 * 1024
REPEATS = 4
START_UP = {}  # measured once


def make_files(case, count, pages):
    """Files on disk that are not in the page cache. One in eight ends inside a page."""
    names = []
    for number in range(count):
        name = case.path(f"file{number:04}")
        with open(name, "wb") as f:
            f.write(os.urandom(pages * 4096 - (100 if number % 8 == 0 else 0)))
            f.flush()
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        names.append(name)
    return names


def watch(case, name, *arguments, options=(), prepare=lambda: []):
    """Runs tally under cachemon: returns the database, and the counts of tally. Repeats if tally
    saw others evict pages; that is decided before cachemon's figures are read."""
    for repeat in range(REPEATS):
        files = prepare()
        db, out = Db(case.path(f"{name}{repeat}.db")), case.path(name + ".json")
        done = run([case.cachemon, "watch", "--level", "full", *options, "--db", db.path, "--",
                    case.helper("tally"), out, *map(str, arguments), *files])
        if done.status == 77:
            raise Skipped("this kernel has no cachestat(2)")
        expect(done.status == 0, str(done))
        with open(out, encoding="ascii") as f:
            truth = json.load(f)
        if not truth["disturbed"]:
            db.sound()
            return db, truth
    raise Skipped(f"{REPEATS} times others on this machine dropped pages of the files")


def start_up(case):
    """Reads of the program's own start: always the same, and all cached."""
    if START_UP:
        return START_UP
    jobs = [watch(case, f"empty{i}", CHUNK, "keep")[0].job() for i in range(3)]
    figures = [{name: job[name] for name in ("read_calls", "read_bytes", "lookups", "misses")}
               for job in jobs]
    expect(figures[1] == figures[2], f"a start is not like another: {figures}")
    expect(figures[2]["misses"] == 0, f"a start has misses: {figures}")
    START_UP.update(figures[2])
    return START_UP


def compare(job, truth, base):
    for name in ("read_calls", "read_bytes", "lookups", "misses"):
        expect(job[name] == truth[name] + base[name],
               f"{name} {job[name]}; the workload {truth[name]}, its start {base[name]}")
    added = job["demand_pages"] + sum(job[name] for name in PREFETCHED)
    expect(added == truth["added"], f"added {added} pages; the workload {truth['added']}")


def check_losses(db, job, case):
    """Losses are counted, in the database and in the report."""
    row = db.run()
    expect(row["law_error_pages"] == 0, f"the law is broken by {row['law_error_pages']} pages")
    check_law(job)
    done = run([case.cachemon, "report", "--db", db.path, "--format", "json", "--files", "5000"])
    expect(done.status == 0, str(done))
    report = json.loads(done.out)
    losses = report["run"]["losses"]
    expect(losses["untracked_pages"] == job["untracked_map_full"],
           f"untracked_pages {losses['untracked_pages']}, of the job {job['untracked_map_full']}")
    check_sums(report["jobs"][0])
    check_bounds(report, losses)
    return losses


def check_bounds(report, losses):
    """Figures that a loss turns into lower bounds are marked with the reason, and no others."""
    reasons = {entry["figures"]: entry["reason"] for entry in report["run"]["lower_bounds"]}
    lost = {"files": losses["map_full"], "evictions": losses["chunk_full"],
            "refaults": losses["ghosts_dropped"]}
    expect(set(reasons) == {name for name, count in lost.items() if count},
           f"lost {lost}, said {reasons}")
    job = report["jobs"][0]
    rows = [entry.get("lower_bound", False) for entry in job["files"] if "rest" not in entry]
    expect(all(rows) if lost["files"] else not any(rows), f"{lost}: rows marked {rows}")
    marked = job["totals"].get("evicted_pages_lower_bound", False)
    expect(marked == (lost["evictions"] > 0), f"{lost}: evictions marked {marked}")


def check_sums(job):
    """Files with the rest, and directories, each add up to the job."""
    for kind in ("files", "directories"):
        for name in ("read_calls", "read_bytes", "lookups", "misses", "demand_pages",
                     "prefetched_pages"):
            parts = sum(entry["totals"][name] for entry in job[kind])
            expect(parts == job["totals"][name],
                   f"{kind}: {name} add up to {parts}, the job has {job['totals'][name]}")
    rest = [entry for entry in job["files"] if entry["path"] is None and entry["ino"] is None]
    expect(len(rest) <= 1, f"{len(rest)} entries for the rest of the files")


def check_files(db, most_pages):
    """With a full map a file's row is a lower bound: never more than the true count. A file
    whose row was created after its name was sent has no name, but counts."""
    rows = db.rows("SELECT * FROM file WHERE CAST(path AS TEXT) GLOB '*/file????'")
    expect(rows, "not one file has a row")
    for row in rows:
        expect(row["lookups"] <= most_pages and row["misses"] <= row["lookups"],
               f"{row['path']}: {row['lookups']} lookups, {row['misses']} misses")
    return db.one("SELECT count(*) FROM file WHERE path IS NULL")


# untracked_pages: prefetched pages without room for their state, so that their use is not known.
# Requested pages have no fate and are not among them; the loss chunk_full counts both.


@part.case("both maps tiny, 400 files read once")
def once(case):
    base = start_up(case)
    db, truth = watch(case, "run", CHUNK, "keep", options=TINY,
                      prepare=lambda: make_files(case, 400, 80))
    job = db.job()
    compare(job, truth, base)
    losses = check_losses(db, job, case)
    expect(losses["map_full"] > 0, "no row went to the rest")
    expect(losses["untracked_pages"] > 0, "no page lost its state")
    nameless = check_files(db, 80)
    return (f"{truth['lookups']} lookups, {truth['added']} pages added; untracked_pages "
            f"{losses['untracked_pages']}, map_full {losses['map_full']}, files without a name "
            f"{nameless}")


@part.case("tiny map of files only: page state complete")
def rows_only(case):
    base = start_up(case)
    db, truth = watch(case, "run", CHUNK, "keep", options=TINY[2:],
                      prepare=lambda: make_files(case, 200, 40))
    job = db.job()
    compare(job, truth, base)
    losses = check_losses(db, job, case)
    expect(losses["map_full"] > 0 and losses["untracked_pages"] == 0, f"{losses}")
    # All prefetched pages were then read.
    expect(job["resident_unused"] == 0 and job["evicted_unused"] == 0, f"{job}")


@part.case("tiny map of page state only: every file has its row")
def blocks_only(case):
    base = start_up(case)
    db, truth = watch(case, "run", CHUNK, "keep", options=TINY[:2],
                      prepare=lambda: make_files(case, 200, 80))
    job = db.job()
    compare(job, truth, base)
    losses = check_losses(db, job, case)
    expect(losses["map_full"] == 0 and losses["untracked_pages"] > 0, f"{losses}")
    for name in (case.path(f"file{number:04}") for number in (0, 1, 199)):
        row, size = db.file(name), os.path.getsize(name)
        expect(row["read_bytes"] == size and row["lookups"] == 80, f"{name}: {row}")


@part.case("both maps tiny, pages dropped and read again, four times")
def again(case):
    base = start_up(case)
    db, truth = watch(case, "run", CHUNK, "drop", options=TINY,
                      prepare=lambda: make_files(case, 60, 80) * 4)
    job = db.job()
    compare(job, truth, base)
    losses = check_losses(db, job, case)
    evicted = sum(job["evicted_" + cause] for cause in EVICTED)
    expect(evicted <= truth["dropped"],
           f"evicted {evicted} pages, more than the {truth['dropped']} that were dropped")
    expect(job["refaults"] <= truth["added"], f"refaults {job['refaults']}")
    check_files(db, 4 * 80)
    return (f"evicted {evicted} of {truth['dropped']} dropped pages, untracked_pages "
            f"{losses['untracked_pages']}, map_full {losses['map_full']}")


@part.case("tiny maps and tiny intervals: what the rest holds adds up over many drains")
def many_intervals(case):
    base = start_up(case)
    db, truth = watch(case, "run", 4096, "drop", options=[*TINY, "--interval", "100ms"],
                      prepare=lambda: make_files(case, 120, 80) * 3)
    job = db.job()
    compare(job, truth, base)
    check_losses(db, job, case)
    check_files(db, 3 * 80)
    timeline = db.rows("SELECT sum(lookups) AS lookups, sum(misses) AS misses, sum(read_bytes) AS "
                       "read_bytes FROM job_interval WHERE job_id = ?", job["id"])[0]
    for name, value in timeline.items():
        expect(value == job[name], f"{name}: intervals add up to {value}, the job has {job[name]}")
    return f"{len(db.intervals())} intervals"


if __name__ == "__main__":
    part.main()
