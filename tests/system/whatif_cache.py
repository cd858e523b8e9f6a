#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""whatif cache over databases that are made here: figures, plot, JSON, and reasons without a
curve."""

import collections
import contextlib
import glob
import json
import os
import random
import re
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Part, check, equal  # noqa: E402
from syslib.schema import valid  # noqa: E402
from syslib.tool import Tool  # noqa: E402

part = Part(__doc__)

SOURCES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = 4096
EPOCHS = 10


class World:
    def __init__(self, args, work, stack):
        self.tool = Tool(args.cachemon, work)

    def whatif(self, db, *options, status=0):
        return self.tool.run("whatif", "cache", "--db", db, *options, status=status)

    def curve(self, db, *options):
        return json.loads(self.whatif(db, "--format", "json", *options))


def varint(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def insert(db, table, row):
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
               list(row.values()))


def totals(lookups, misses, present):
    """Counters of a job that reads single pages, of which that many stay cached."""
    zero = ("used", "used_late", "evicted_unused", "resident_unused", "untracked", "written_pages",
            "other_added_pages", "prefetched_sync", "prefetched_async", "prefetched_willneed",
            "prefetched_readahead2", "prefetched_mmap_around", "evicted_reclaim_kswapd",
            "evicted_reclaim_direct", "evicted_dontneed", "evicted_drop_caches",
            "evicted_truncate", "evicted_direct_io", "evicted_other", "windows_sync",
            "windows_async", "windows_forced", "delayed_hits")
    return {**dict.fromkeys(zero, 0), "lookups": lookups, "misses": misses, "demand_pages": misses,
            "evicted_reclaim_memcg": misses - present, "read_calls": lookups, "refaults": 0,
            "refault_distance_pages": 0}


def make(world, level="full", sliced=0, job="train"):
    """A run of one job without references."""
    path = world.tool.fresh(".db")
    db = sqlite3.connect(path)
    versions = sorted(glob.glob(f"{SOURCES}/sql/[0-9]*.sql"))
    for name in versions:
        with open(name, encoding="utf-8") as f:
            db.executescript(f.read())
    db.execute(f"PRAGMA user_version = {max(int(os.path.basename(n)[:3]) for n in versions)}")
    insert(db, "run", dict(id=1, uuid="u", cachemon="0", host="h", kernel="k", arch="x86_64",
                           started_ns=0, duration_ns=10**9, state="complete", writer_boot="b",
                           writer_pidns=0, writer_pid=1, writer_start_ticks=0, level=level,
                           sliced=sliced, advice_mode="effects", interval_ns=10**9,
                           page_size_bytes=4096, memory_bytes=8 << 30, map_bytes=0))
    insert(db, "interval", dict(id=1, run_id=1, start_ns=0, duration_ns=10**9, read_on_ns=10**9))
    insert(db, "job", dict(id=1, run_id=1, slot=1, name=job, selector=f"command: {job}"))
    db.commit()
    return path, db


def count(db, **figures):
    rows = totals(**figures)
    db.execute(f"UPDATE job SET {', '.join(f'{k} = ?' for k in rows)} WHERE id = 1",
               list(rows.values()))
    rows = {k: v for k, v in rows.items()}
    insert(db, "job_interval", dict(interval_id=1, job_id=1, **rows))


def refer(db, entries, lookups, state="whole", reason=None, pages=PAGES, threshold=1 << 32):
    insert(db, "reference_sample", dict(job_id=1, state=state, reason=reason, threshold=threshold,
                                        pages=pages, refs=len(entries), lookups=lookups,
                                        distinct_pages=PAGES, distinct_error=0))
    for p in range(pages):
        insert(db, "reference_page", dict(job_id=1, number=p, dev_major=8, dev_minor=1, ino=7,
                                          gen=0, page_index=p, hash=p * 2654435761 % threshold))
    insert(db, "reference_chunk", dict(job_id=1, seq=0, start_ns=0, lookups=lookups,
                                       refs=len(entries),
                                       data=b"".join(varint(e) for e in entries)))
    db.commit()


def cyclic():
    return [p << 1 for _ in range(EPOCHS) for p in range(PAGES)]


def shuffled():
    rng = random.Random(1)
    return [p << 1 for _ in range(EPOCHS) for p in rng.sample(range(PAGES), PAGES)]


def full(world, entries, misses, present, **more):
    path, db = make(world)
    with contextlib.closing(db):
        count(db, lookups=len(entries), misses=misses, present=present)
        refer(db, entries, len(entries), **more)
    return path


def first_paragraph(text):
    """After the headings of the page and of the job."""
    return " ".join(text.split("\n\n")[2].split())


@part.case
def cliff(world, stack):
    """Cyclic passes: nothing hits until everything fits."""
    db = full(world, cyclic(), misses=PAGES * EPOCHS, present=PAGES // 2)
    text = world.whatif(db, "--format", "json")
    valid(text, "whatif-cache")
    job, = json.loads(text)["jobs"]
    curve = job["curve"]
    equal("order", curve["model"]["order"], "same")
    need = {n["hit_ratio"]: n["cache_pages"] for n in curve["needs"]}
    equal("pages for 90 %", need[0.9], PAGES)
    equal("pages for 95 %", need[0.95], None)
    equal("present", curve["marks"]["present"]["cache_pages"], PAGES // 2)
    equal("memory", curve["marks"]["memory"]["cache_bytes"], 8 << 30)
    equal("uncertain", curve["check"]["uncertain"], False)
    for point in curve["points"][:-1]:
        equal(f"hit ratio of {point['cache_pages']} pages", point["hit_ratio"], 0)
    answer = "For a hit ratio of 90 %, the job needs 16.0 MiB of cache; it has 8.00 MiB."
    equal("the answer", first_paragraph(world.whatif(db)), answer)
    equal("the answer in JSON", job["answer"], answer)
    equal("the size that it has", job["present_bytes"], 8 << 20)


def lru_hits(accesses, pages):
    """The hits of an LRU cache of that many pages."""
    cache, hits = collections.OrderedDict(), 0
    for page in accesses:
        if page in cache:
            hits += 1
            cache.move_to_end(page)
        else:
            cache[page] = True
            if len(cache) > pages:
                cache.popitem(last=False)
    return hits


def pages_for(accesses, ratio):
    """The smallest LRU cache with that hit ratio, by simulation."""
    low, high = 1, PAGES
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if lru_hits(accesses, middle) >= ratio * len(accesses) else (middle + 1, high)
    return low


def mib(text):
    value, unit = text.split()
    return float(value) * {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024}[unit]


@part.case
def the_answer_holds_the_simulated_size(world, stack):
    """Half of the pages are sampled: the band contains the size of an LRU cache that sees them all."""
    rng = random.Random(7)
    ranks = [1 / (i + 1) ** 0.7 for i in range(PAGES)]
    accesses = rng.choices(rng.sample(range(PAGES), PAGES), ranks, k=PAGES * EPOCHS * 2)
    accesses = list(range(PAGES)) + accesses
    truth, present = pages_for(accesses, 0.9), PAGES // 2
    number = {page: i for i, page in enumerate(sorted(rng.sample(range(PAGES), PAGES // 2)))}
    path, db = make(world)
    with contextlib.closing(db):
        count(db, lookups=len(accesses), misses=len(accesses) - lru_hits(accesses, present), present=present)
        refer(db, [number[p] << 1 for p in accesses if p in number], len(accesses), pages=len(number),
              threshold=1 << 31)
    job, = world.curve(path)["jobs"]
    need, = (n for n in job["curve"]["needs"] if n["hit_ratio"] == 0.9)
    check(need["cache_pages_low"] <= truth <= need["cache_pages_high"], f"{truth} pages by simulation, {need}")
    check(need["cache_pages_low"] < need["cache_pages_high"], "the band has no width: nothing is tested")
    said = re.fullmatch(r"For a hit ratio of 90 %, the job needs (\S+ \S+) of cache \((\S+ \S+) to (\S+ \S+)\); "
                        r"it has 8.00 MiB\.", first_paragraph(world.whatif(path)))
    check(said and said[0] == job["answer"], f"says {first_paragraph(world.whatif(path))}")
    for text, key in zip(said.groups(), ("cache_bytes", "cache_bytes_low", "cache_bytes_high")):
        check(abs(mib(text) * (1 << 20) / need[key] - 1) < 0.01, f"{text} is not {need[key]} bytes")


@part.case
def measured_elsewhere(world, stack):
    """The measured ratio is off the curve: this is reported, and nothing is predicted."""
    db = full(world, cyclic(), misses=PAGES * EPOCHS // 2, present=PAGES // 2)
    text = world.whatif(db, "--format", "json")
    valid(text, "whatif-cache")
    curve = json.loads(text)["jobs"][0]["curve"]
    equal("outside", curve["check"]["outside"], True)
    equal("needs", {n["cache_pages"] for n in curve["needs"]}, {None})
    said = first_paragraph(world.whatif(db))
    check("is not known: the curve is uncertain" in said and said.endswith("The job has 8.00 MiB."), f"says {said}")


@part.case
def too_few_samples(world, stack):
    """A few sampled pages give no answer: the band is too wide."""
    few, rng = 64, random.Random(1)
    entries = [p << 1 for _ in range(EPOCHS) for p in rng.sample(range(few), few)]
    path, db = make(world)
    with contextlib.closing(db):
        count(db, lookups=PAGES * EPOCHS, misses=int(PAGES * EPOCHS * 0.85), present=PAGES // 2)
        refer(db, entries, PAGES * EPOCHS, pages=few, threshold=(1 << 32) * few // PAGES)
    job, = world.curve(path)["jobs"]
    equal("the curve", job["curve"], None)
    said = re.fullmatch(r"Too few samples: with 64 sampled pages, the estimated hit ratio at the present cache size "
                        r"ranges from (\d+\.\d) % to (\d+\.\d) %\.", job["absent"])
    check(said and float(said[2]) - float(said[1]) > 15, f"the reason: {job['absent']}")
    for text in (world.whatif(path), world.tool.run("report", "--db", path)):
        check(job["absent"] in " ".join(text.split()), f"the text says so: {text}")


@part.case
def no_size_can(world, stack):
    entries = [p << 1 for p in range(PAGES)]
    db = full(world, entries, misses=PAGES, present=PAGES)
    said = first_paragraph(world.whatif(db))
    check(said.startswith("No cache size gives a hit ratio of 90 %") and "The job has 16.0 MiB." in said,
          f"first reads alone: {said}")
    valid(world.whatif(db, "--format", "json"), "whatif-cache")


@part.case
def broken_sample(world, stack):
    db = full(world, shuffled(), misses=PAGES * EPOCHS, present=100, state="broken",
              reason="the ring was full")
    text = world.whatif(db, "--format", "json")
    valid(text, "whatif-cache")
    sample = json.loads(text)["jobs"][0]["curve"]["sample"]
    equal("whole", sample["whole"], False)
    equal("reason", sample["broken_reason"], "the ring was full")
    check("the ring was full" in world.whatif(db), "the text says why")
    check("in a different order" in world.whatif(db), "shuffled epochs are told")


@part.case
def plot(world, stack):
    db = full(world, shuffled(), misses=int(PAGES * EPOCHS * 0.85), present=PAGES // 2)
    for locale, plain in (("C", True), ("C.UTF-8", False)):
        out = subprocess.run([world.tool.cachemon, "whatif", "cache", "--db", db], check=True,
                             capture_output=True, env={**os.environ, "LC_ALL": locale}).stdout
        text = out.decode()
        equal(f"ASCII in locale {locale}", text.isascii(), plain)
        wide = [line for line in text.splitlines() if len(line) > 80]
        equal("lines of more than 80 columns", wide, [])


@part.case
def why_there_is_none(world, stack):
    for options, word in ((dict(level="cold"), "Level cold"), (dict(sliced=1), "off for part of")):
        path, db = make(world, **options)
        db.close()
        told = world.whatif(path, "--format", "json")
        valid(told, "whatif-cache")
        job, = json.loads(told)["jobs"]
        equal("curve", job["curve"], None)
        check(word in job["absent"], f"{word!r} in {job['absent']!r}")
        check(first_paragraph(world.whatif(path)).startswith(
            f"The cache size for a hit ratio of 90 % is not known: there is no curve. {job['absent']} "),
            "the text says the same")
        equal("the answer", job["answer"], first_paragraph(world.whatif(path)))
    path, db = make(world)
    with contextlib.closing(db):
        insert(db, "reference_absent", dict(job_id=1, reason="this kernel has no ring"))
        db.commit()
    check("this kernel has no ring" in world.whatif(path), "the recorded reason")


@part.case
def totals_beyond_any_job(world, stack):
    """More pages than a number of bytes can hold: damaged, and no figures of them."""
    path = full(world, cyclic(), misses=PAGES * EPOCHS, present=PAGES // 2)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE reference_sample SET lookups = 1 << 62, distinct_pages = 1 << 60")
        db.commit()
    told = world.whatif(path, "--format", "json")
    valid(told, "whatif-cache")
    job, = json.loads(told)["jobs"]
    equal("curve", job["curve"], None)
    check("number of lookups is impossible" in job["absent"], job["absent"])


@part.case
def hostile_names(world, stack):
    path, db = make(world, level="cold", job="a\x1b[31m\u202eb" + "x" * 300)
    db.close()
    text = world.whatif(path)
    check("\x1b" not in text and "\u202e" not in text, "a job's name acts on the terminal")
    valid(world.whatif(path, "--format", "json"), "whatif-cache")


@part.case
def command_line(world, stack):
    path = full(world, cyclic(), misses=PAGES * EPOCHS, present=PAGES // 2)
    tool = world.tool
    tool.run("whatif", status=2)
    tool.run("whatif", "weather", status=2)
    tool.run("whatif", "cache", "--format", "html", status=2)
    tool.run("whatif", "cache", "--run", "x", status=2)
    world.whatif(path, "--job", "nobody", status=1)
    world.whatif(path, "--run", "9", status=1)
    world.whatif(path, "--format", "text", "-o", path, status=1)
    world.whatif(path, "-o", tool.fresh(".html"), status=2)
    with open(path, "rb") as f:
        check(f.read(15) == b"SQLite format 3", "the database is what it was")
    out = tool.fresh(".json")
    world.whatif(path, "--job", "train", "-o", out)
    with open(out, encoding="utf-8") as f:
        equal("whatif", json.load(f)["whatif"], "cache")


if __name__ == "__main__":
    sys.exit(part.main(World))
