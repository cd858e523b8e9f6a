#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A run without options: unmarked figures are exact, the others have an interval that contains
the true value."""

import contextlib
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reader import build  # noqa: E402
from syslib.reads import PAGE, Reads, cached_pages  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
SMALL_FILES, SMALL_PAGES, EPOCHS = 300, 44, 2
HOT_READS = 4000000  # about ten seconds, so that no interval is too wide
PHASE_READS, PHASES = 250000, 16  # also about ten seconds
DROPPED_PAGES, DROPS = 20000, 5
ASYNC_PAGES, ASYNC_READS = 4096, 1000000
TURNS_MISSED = 0.3  # of 90 % intervals, in few runs
ESTIMATES = ("read_calls", "read_bytes", "lookups", "hits", "hit_ratio")

part = Part(__doc__)
part.count_option("repeats", 10, 2, "runs of each sliced job")


# ---- workers ----

def small_files(folder):
    return [os.path.join(folder, str(i)) for i in range(SMALL_FILES)]


def work_loader(folder):
    """Cold small files, then the same from the cache, with CPU time between reads."""
    reads, added = Reads(), 0
    for epoch in range(EPOCHS):
        for path in small_files(folder):
            fd = os.open(path, os.O_RDONLY)
            reads.all(fd)
            if not epoch:
                added += cached_pages(fd)
            os.close(fd)
            sum(range(20000))
    print(json.dumps({**reads.total(), "cached": added}))


def hot_reads(fd, count, seed):
    pages, r = os.fstat(fd).st_size // PAGE, random.Random(seed)
    for _ in range(count):
        os.pread(fd, PAGE, int(r.random() * pages) * PAGE)


def work_hot(path):
    fd = os.open(path, os.O_RDONLY)
    hot_reads(fd, HOT_READS, 1)
    print(json.dumps({"lookups": HOT_READS, "read_calls": HOT_READS, "read_bytes": HOT_READS * PAGE,
                      "misses": 0}))


def work_phases(hot, cold):
    """Hot single pages, a cold file in large reads, and a pipe, alternately."""
    fd, into, truth = os.open(hot, os.O_RDONLY), os.pipe(), {"lookups": 0, "misses": 0}
    for turn in range(PHASES):
        hot_reads(fd, PHASE_READS, turn)
        truth["lookups"] += PHASE_READS
        big = os.open(cold, os.O_RDONLY)
        os.posix_fadvise(big, 0, 0, os.POSIX_FADV_DONTNEED)
        while data := os.read(big, 1 << 18):
            truth["lookups"] += -(-len(data) // PAGE)
        os.close(big)
        for _ in range(2000):
            os.write(into[1], bytes(PAGE))
            os.read(into[0], PAGE)
    print(json.dumps(truth))


def work_dropped(path):
    """Reads single pages and drops them all, repeatedly; counts the cached ones each time."""
    fd, dropped = os.open(path, os.O_RDONLY), 0
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    for _ in range(DROPS):
        for page in range(os.fstat(fd).st_size // PAGE):
            os.pread(fd, PAGE, page * PAGE)
        dropped += cached_pages(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        dropped -= cached_pages(fd)
    print(json.dumps({"dropped": dropped}))


def work_mapped(path):
    """The use of a file that is populated by its mapping cannot be seen."""
    import mmap
    fd = os.open(path, os.O_RDONLY)
    with mmap.mmap(fd, 0, prot=mmap.PROT_READ, flags=mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0x8000)) as m:
        total = sum(m[::PAGE])
    print(json.dumps({"total": total}))


WORKERS = {"loader": work_loader, "dropped": work_dropped, "hot": work_hot, "phases": work_phases, "mapped": work_mapped}


def worker(verb, *args):
    # Unchanged: otherwise only the first of several runs would write bytecode caches.
    return [sys.executable, "-B", ME, "--work", verb, *args]


def drop(path):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


class LevelWorld(World):
    def small(self):
        folder = os.path.join(self.data, "small")
        if not os.path.isdir(folder):
            os.mkdir(folder)
            for path in small_files(folder):
                with open(path, "wb") as f:
                    f.write(os.urandom(SMALL_PAGES * PAGE))
            os.sync()
        for path in small_files(folder):
            drop(path)
        return folder


def on_device(job, dev, *names):
    """Sums of the files of a device; None if one of them is None."""
    sums = {name: 0 for name in names}
    for f in job["files"]:
        # Blocks of metadata are pages of the device and of no file.
        if f.get("dev") != dev or "/small/" not in (f["path"] or ""):
            continue
        for name in names:
            value = f["totals"][name]
            sums[name] = None if value is None or sums[name] is None else sums[name] + value
    return sums


def fates_of(job, dev):
    """Sums of the fates of the small files' pages."""
    sums = {}
    for f in job["files"]:
        if f.get("dev") == dev and "/small/" in (f["path"] or ""):
            for name, value in f["totals"]["prefetch"]["fate"].items():
                sums[name] = sums.get(name, 0) + value
    return sums


# ---- cases ----

@part.case
def a_loader_is_exact_without_options(world, stack):
    """The main use: pages and windows are expensive, reads are not, so they are never sliced."""
    folder = world.small()
    report, job, out = world.tool.watch(stack, (), worker("loader", folder)).end()
    truth = json.loads(out)
    equal("level", report["run"]["level"], "auto")
    equal("sliced", report["run"]["sliced"], False)
    check(not any(k.endswith(("_estimated", "_low", "_high")) for k in job["totals"]),
          "an exact figure is marked")
    got = on_device(job, world.dev, "lookups", "read_calls", "read_bytes", "misses", "demand_pages",
                    "prefetched_pages")
    for name in ("lookups", "read_calls", "read_bytes"):
        equal(name, got[name], truth[name])
    equal("pages added", got["demand_pages"] + got["prefetched_pages"], truth["cached"])
    fates = fates_of(job, world.dev)
    equal("pages used, of files that were read to their ends", fates["used"] + fates["used_late"],
          got["prefetched_pages"])
    equal("the same called unused or of unknown fate", [fates[f] for f in ("evicted_unused", "resident_unused",
                                                                            "untracked")], [0, 0, 0])
    check(not any("bound" in k or "_low" in k for k in job["totals"]["prefetch"]), "exact fates are marked")


def cost_adds_up(report, job):
    cost = report["run"]["cost"]
    equal("budget", cost["budget"], 0.01)
    parts = sum(cost["job_probe_ns"].values())
    share = (parts + cost["collector_cpu_ns"]) / job["cpu_ns"]
    check(abs(share / cost["share"] - 1) < 0.01, f"parts come to {share:.4f}, not {cost['share']:.4f}")
    equal("kept", cost["budget_kept"], cost["share"] <= cost["budget"])
    if cost["budget_kept"]:
        equal("over by", cost["over_budget_by"], None)
    else:
        check(abs(cost["over_budget_by"] - (cost["share"] - cost["budget"])) < 1e-9, "over_budget_by")


@part.case
def a_budget_that_was_not_kept_is_said(world, stack):
    """A job of 50 ms is too short for any collector's cost: the excess is reported, with what to
    do."""
    watch = world.tool.watch(stack, (), worker("loader", world.small()))
    report, job, _ = watch.end()
    cost_adds_up(report, job)
    cost = report["run"]["cost"]
    if cost["budget_kept"]:
        raise Skipped("the budget was kept")
    check(re.search(r"Measuring cost [\d.]+ % of the job's CPU time, over the budget of 1\.0 %\. The largest part is for .+\. "
                    r".+\.", " ".join(watch.errors.split())), f"no line about the budget: {watch.errors!r}")
    for how in ("text", "md", "html"):
        text = world.tool.run("report", "--db", watch.db, "--format", how)
        check("over the budget" in " ".join(text.split()), f"{how} does not say it")


@part.case
def detail_goes_first_with_reason_and_time(world, stack):
    watch = world.tool.watch(stack, (), worker("loader", world.small()))
    report, _, _ = watch.end()
    shed = report["run"]["cost"]["shed"]
    names = [s["detail"] for s in shed]
    check("per_read_hook" not in names, "reads were sliced")
    check(names, "nothing was given up")
    for s in shed:
        check(s["reason"] and s["from_s"] >= 0, f"no reason or time: {s}")
        check(s["to_s"] is None or s["to_s"] >= s["from_s"], f"ends before it begins: {s}")
    text = world.tool.run("report", "--db", watch.db, "--format", "md")
    check("GIVEN UP" in text, "the report does not say what was given up")


def shed_of(report, detail):
    found = [s for s in report["run"]["cost"]["shed"] if s["detail"] == detail]
    check(found, f"{detail} were not given up: {report['run']['cost']['shed']}")
    return found[0]


@part.case
def who_evicts_is_given_up_and_evictions_are_not(world, stack):
    """Every dropped page counts with its cause; pages dropped after the end are not attributed."""
    path = world.cold(DROPPED_PAGES)
    watch = world.tool.watch(stack, (), worker("dropped", path))
    report, job, out = watch.end()
    truth = json.loads(out)
    shed_of(report, "evictors")
    equal("pages dropped", world.entry(job, path)["totals"]["evicted_pages"]["dontneed"], truth["dropped"])
    with contextlib.closing(sqlite3.connect(f"file:{watch.db}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT evictor_kind, sum(pages) FROM interference GROUP BY 1").fetchall()
    check(dict(rows).get(None, 0) > 0, f"no eviction is nobody's: {rows}")
    equal("pages that left, by anybody", sum(dict(rows).values()), sum(job["totals"]["evicted_pages"].values()))


@part.case
def rows_of_files_are_given_up_and_sums_are_not(world, stack):
    """Many files in short intervals: per-interval details of files are given up, and the sums
    stay exact."""
    folder = world.small()
    watch = world.tool.watch(stack, ("--interval", "100ms"), worker("loader", folder))
    report, job, out = watch.end()
    given_up = shed_of(report, "file_rows")
    got = on_device(job, world.dev, "lookups", "read_calls", "read_bytes")
    truth = json.loads(out)
    for name in got:
        equal(name, got[name], truth[name])
    with contextlib.closing(sqlite3.connect(f"file:{watch.db}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT start_ns / 1e9, count(file_id) FROM interval LEFT JOIN file_interval ON "
                          "interval_id = interval.id GROUP BY interval.id ORDER BY 1").fetchall()
    end = given_up["to_s"] or 1e9
    without = [n for start, n in rows if given_up["from_s"] <= start < end - 0.2]
    check(without, f"no interval without rows: {rows}, {given_up}")
    equal("rows of files meanwhile", set(without), {0})
    check(any(n for start, n in rows if start < given_up["from_s"]), f"no rows before: {rows}")
    if given_up["to_s"] is None:
        shown = world.tool.run("top", "--db", watch.db, "--batch", "--rows", "files", "--frames", "1")
        check("[rows not recorded]" in shown, f"top does not say why it has no rows: {shown}")


def within(totals, name, truth):
    return totals[f"{name}_low"] <= truth <= totals[f"{name}_high"]


def check_sliced(report, job):
    t = job["totals"]
    equal("sliced", report["run"]["sliced"], True)
    check("per_read_hook" in [s["detail"] for s in report["run"]["cost"]["shed"]], "no reason for slices")
    for name in ESTIMATES:
        if t[name] is None:
            continue
        equal(f"{name}_estimated", t.get(f"{name}_estimated"), True)
        check(t[f"{name}_low"] <= t[name] <= t[f"{name}_high"], f"{name} is outside of its interval")
        check(t[f"{name}_high"] - t[f"{name}_low"] <= 0.2501 * t[name] + 1, f"{name}: too wide to be shown")
    for part_of in ("files", "directories"):
        for e in job[part_of]:
            for name in ESTIMATES:
                equal(f"{name} of {part_of}", e["totals"][name], None)
    for name in ("misses", "demand_pages", "prefetched_pages", "refaults"):
        check(f"{name}_estimated" not in t and t[name] is not None, f"{name} is not exact")


def sliced_runs(world, stack, command, names, outside=lambda job: {}, env=None):
    """For each name, the number of intervals that contained the true value, and their total."""
    held, shown = {n: 0 for n in names}, {n: 0 for n in names}
    for _ in range(world.args.repeats):
        watch = world.tool.watch(stack, (), command, env=env)
        report, job, out = watch.end()
        truth = json.loads(out)
        check_sliced(report, job)
        check("~" in watch.errors, "no mark in the summary")
        for n in names:
            if job["totals"][n] is None:
                continue
            shown[n] += 1
            t = truth[n] + outside(job).get(n, 0)
            held[n] += within(job["totals"], n, t)
            part.note(f"{n}: {job['totals'][n] / t - 1:+.3%} of {t}, interval "
                      f"{job['totals'][n + '_low'] / t - 1:+.3%} to {job['totals'][n + '_high'] / t - 1:+.3%}")
    for n in names:
        check(shown[n], f"{n} was never shown")
        check(held[n] >= (1 - TURNS_MISSED) * shown[n] - 1, f"{n}: {held[n]} of {shown[n]} intervals hold the truth")


def start_up(world, stack):
    """The reads of Python itself before the worker starts: seen exactly at level full."""
    _, job, _ = world.tool.watch(stack, ("--level", "full"), worker("loader", world.small())).end()
    mine = on_device(job, world.dev, "lookups", "read_calls", "read_bytes")
    return {n: job["totals"][n] - mine[n] for n in mine}


@part.case
def asynchronous_reads_are_not_scaled(world, stack):
    """The kernel counts bytes of AIO and io_uring for no task: nothing shows their number
    between slices."""
    if not shutil.which("fio"):
        raise Skipped("no fio")
    path = world.cold(ASYNC_PAGES)
    with open(path, "rb") as f:
        while f.read(1 << 20):
            pass
    for engine in ("libaio", "io_uring"):
        report, job, out = world.tool.watch(stack, ["--max-overhead", "0.1%"], [
            "fio", "--name=r", f"--filename={path}", "--readonly", "--rw=randread", "--bs=4k", "--invalidate=0",
            "--norandommap", f"--size={ASYNC_PAGES * PAGE}", f"--io_size={ASYNC_READS * PAGE}", f"--ioengine={engine}",
            "--iodepth=1", "--thread", "--output-format=json"]).end()
        equal("sliced", report["run"]["sliced"], True)
        truth = json.loads(out)["jobs"][0]["read"]["total_ios"]
        equal("reads of fio", truth, ASYNC_READS)
        t = job["totals"]
        for name in ESTIMATES:
            check(t[name] is None, f"{name} of {engine}: {t[name]}, {t.get(f'{name}_low')} to {t.get(f'{name}_high')}")
        why = {u["counter"]: u["reason"] for u in report["run"]["unmeasured"]}
        check("AIO" in why["hits"], f"hits: {why['hits']}")


@part.case
def hot_reads_are_sliced_and_the_intervals_hold(world, stack):
    more = start_up(world, stack)
    sliced_runs(world, stack, worker("hot", world.hot), ("lookups", "read_calls", "read_bytes"),
                lambda job: more)


@part.case
def phases_are_estimated_by_their_slices(world, stack):
    more = start_up(world, stack)
    sliced_runs(world, stack, worker("phases", world.hot, world.cold(4096)), ("lookups",), lambda job: more)


@part.case
def a_slow_attach_does_not_widen_a_slice(world, stack):
    """As on a busy machine: the per-read hook is attached long before cachemon reads the tasks'
    counters. Reads in between must not look like AIO's, which the kernel does not count."""
    library = build(world.tool.work, "slow_attach", "-shared", "-fPIC")
    more = start_up(world, stack)
    sliced_runs(world, stack, worker("phases", world.hot, world.cold(4096)), ("lookups",), lambda job: more,
                {**os.environ, "LD_PRELOAD": library})


@part.case
def nothing_estimated_stands_without_a_mark(world, stack):
    watch = world.tool.watch(stack, (), worker("hot", world.hot))
    report, job, _ = watch.end()
    check_sliced(report, job)
    text = world.tool.run("report", "--db", watch.db, "--format", "md")
    for value in (job["totals"]["lookups"], job["totals"]["hits"], job["totals"]["read_calls"]):
        if value is None:
            continue
        for found in re.finditer(re.escape(f"{value:,}"), text):
            equal("mark before an estimate", text[found.start() - 1], "~")
    for name in ("overall", "hits"):
        equal(f"grade {name}, whose inputs are estimates", job["grades"][name], None)
    for f in job["findings"]:
        check("(measured)" not in json.dumps(f) or f["id"] in ("nothing-wrong",), f"{f['id']} says measured")


@part.case
def accuracy_of_a_mapping_is_absent(world, stack):
    watch = world.tool.watch(stack, ("--level", "full"), worker("mapped", world.cold(8192)))
    _, job, _ = watch.end()
    t = job["totals"]
    fate = t["prefetch"]["fate"]
    # The job touched every page, whatever size of folio the kernel mapped at once.
    equal("touched pages called unused", fate["evicted_unused"] + fate["resident_unused"], 0)
    if fate["untracked"] * 4 <= t["prefetched_pages"]:
        raise Skipped(f"only {fate['untracked']} of {t['prefetched_pages']} pages are untracked here")
    for name in ("accuracy", "coverage", "timeliness"):
        equal(name, t["prefetch"][name], None)
    equal("grade of prefetch", job["grades"]["prefetch"], None)


@part.case
def mappings_come_before_the_hit_ratio(world, stack):
    """The reads of Python's start are not a figure of a job that maps its files."""
    watch = world.tool.watch(stack, ("--level", "full"), worker("mapped", world.cold(8192)))
    _, job, _ = watch.end()
    equal("reads_through_mappings", job.get("reads_through_mappings"), True)
    summary = watch.errors
    flat = " ".join(summary.split())
    check(flat.index("read through mappings") < flat.index("The hit ratio"), f"order: {summary}")
    check("covers only its read calls" in flat, f"nothing says whose hit ratio it is: {summary}")
    text = world.tool.run("report", "--db", watch.db, "--format", "text")
    check(text.index("had to read") < text.index("hit ratio"), "the report leads with the hit ratio")
    watch = world.tool.watch(stack, ("--level", "full"), worker("loader", world.small()))
    _, job, _ = watch.end()
    check("reads_through_mappings" not in job and "mappings" not in watch.errors, "a job of read calls reads mappings")


@part.case
def full_warns_that_a_budget_is_not_kept_to(world, stack):
    watch = world.tool.watch(stack, ("--level", "full", "--max-overhead", "2%"), ["true"])
    report, _, _ = watch.end()
    lines = [line for line in watch.errors.splitlines() if "--max-overhead" in line]
    equal("lines about it", len(lines), 1)
    equal("budget at level full", report["run"]["cost"]["budget"], None)
    equal("kept", report["run"]["cost"]["budget_kept"], None)
    watch = world.tool.watch(stack, ("--level", "full"), ["true"])
    watch.end()
    check("--max-overhead" not in watch.errors, "a warning without the option")


def main():
    if sys.argv[1:2] == ["--work"]:
        return WORKERS[sys.argv[2]](*sys.argv[3:])
    return part.main(LevelWorld)


if __name__ == "__main__":
    sys.exit(main())
