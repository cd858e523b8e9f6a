#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""References of sampled pages: those in the database are the lookups of the programs, page by
page."""

import contextlib
import json
import math
import mmap
import os
import random
import signal
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, cached_pages, identity  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
ALL = 1 << 32
WORD = (1 << 64) - 1
SMALL_PAGES, LARGE_PAGES = 300, 12288
PAGES_MAX = 8192
# More than fit in the ring at the rates that a falling threshold leaves; see bpf/references.h.
FLOOD_READS = 40000
HOT_READS = 3000000
# The largest rate per second, and before the threshold falls; see bpf/references.h.
A_SECOND, AT_ONCE = 5000, 20000
LONG_READS, LONG_S = 10000000, 3
# For an estimate with its standard error, and the variation of the interpreter's reads.
SIGMAS, REST_SPREAD = 4, 20
# Of the error that a sample of all pages would have, if only the interpreter's pages are sampled.
ERROR_COUNTED = 0.5

part = Part(__doc__)


# ---- the hash, written down a second time ----

def mix(x):
    for _ in range(2):
        x = (x ^ x >> 32) * 0xd6e8feb86659fd93 & WORD
    return x ^ x >> 32


def page_hash(major, minor, ino, gen, page):
    seed = mix(ino + mix((major << 20 | minor) << 32 | gen) & WORD)
    root = seed ^ -page * 1640531535 & WORD
    return (root * root & WORD) >> 32


# ---- workers ----

class Log:
    """Reads, and reports the pages it looked up, in order: "FILE PAGE", or "FILE -PAGE" for one
    that it removed from the cache. FILE is "MAJ:MIN INO GEN"."""

    def __init__(self, path):
        self.out = open(path, "w")
        self.seen = {}
        self.names = {}

    def open(self, path, flags=os.O_RDONLY):
        fd = os.open(path, flags)
        self.names[fd] = identity(fd)
        self.seen.setdefault(self.names[fd], set())
        return fd

    def _tell(self, fd, pos, got):
        name, seen = self.names[fd], self.seen[self.names[fd]]
        for page in range(pos // PAGE, (pos + got - 1) // PAGE + 1 if got else 0):
            self.out.write(f"{name} {page}\n")
            seen.add(page)

    def pread(self, fd, size, pos):
        self._tell(fd, pos, len(os.pread(fd, size, pos)))

    def read(self, fd, size):
        pos = os.lseek(fd, 0, os.SEEK_CUR)
        got = len(os.read(fd, size))
        self._tell(fd, pos, got)
        return got

    def gone(self, fd, first, last):
        name, seen = self.names[fd], self.seen[self.names[fd]]
        for page in sorted(p for p in seen if first <= p <= last):
            self.out.write(f"{name} -{page}\n")

    def close(self):
        self.out.close()


def work_small(path, log):
    """Each kind of call: parts of pages, whole pages, some at once, all at once, out of order."""
    log, rng = Log(log), random.Random(11)
    fd = log.open(path)
    size = os.fstat(fd).st_size
    while log.read(fd, 10000):
        pass
    for page in range(SMALL_PAGES):
        log.pread(fd, PAGE, page * PAGE)
    for _ in range(3000):
        log.pread(fd, rng.choice((1, 100, PAGE)), rng.randrange(SMALL_PAGES) * PAGE)
    for _ in range(500):
        log.pread(fd, rng.randrange(1, 5 * PAGE), rng.randrange(size))
    for _ in range(8):
        log.pread(fd, 1 << 20, 0)
    log.pread(fd, 1 << 20, size - 5)
    log.close()


def work_large(path, log):
    """More pages than are sampled, more often than can be recorded in a second."""
    log, rng = Log(log), random.Random(12)
    fd = log.open(path)
    for _ in range(3):
        for page in rng.sample(range(LARGE_PAGES), LARGE_PAGES):
            log.pread(fd, PAGE, page * PAGE)
        for pos in range(0, LARGE_PAGES * PAGE, 1 << 20):
            log.pread(fd, 1 << 20, pos)
    log.close()


def direct_write(path, page, pages):
    """Direct reads, which drop the cached part of the range."""
    fd = os.open(path, os.O_WRONLY | os.O_DIRECT)
    with mmap.mmap(-1, pages * PAGE) as memory:
        os.pwrite(fd, memory, page * PAGE)
    os.close(fd)


def work_removed(path, log, drop):
    log = Log(log)
    fd = log.open(path, os.O_RDWR)

    def all_of_it():
        for page in range(0, os.fstat(fd).st_size // PAGE, 2):
            log.pread(fd, PAGE, page * PAGE)

    all_of_it()
    os.posix_fadvise(fd, 64 * PAGE, 32 * PAGE, os.POSIX_FADV_DONTNEED)
    log.gone(fd, 64, 95)
    all_of_it()
    direct_write(path, 10, 5)
    log.gone(fd, 10, 14)
    all_of_it()
    os.ftruncate(fd, 128 * PAGE)
    log.gone(fd, 128, SMALL_PAGES)
    all_of_it()
    if drop == "drop":
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w") as f:
            f.write("1")
        print(json.dumps({"left": cached_pages(fd)}))
        log.gone(fd, 0, 127)
        all_of_it()
    log.close()


def work_pair(path_a, path_b, log_a, log_b):
    pair = [subprocess.Popen(worker("small", p, log)) for p, log in ((path_a, log_a),
                                                                     (path_b, log_b))]
    return any([p.wait() for p in pair])


def work_flood(path, reads):
    """Much at once, on command: a MiB with each call."""
    fd, buffer = os.open(path, os.O_RDONLY), bytearray(1 << 20)
    size = os.fstat(fd).st_size
    print("ready", flush=True)
    sys.stdin.readline()
    for i in range(int(reads)):
        os.preadv(fd, [buffer], i * len(buffer) % size)
    print("done", flush=True)


def work_hot(program, path, reads):
    """A process at the speed of C, started by one that says when it begins."""
    hot = subprocess.Popen([program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           text=True)
    hot.stdout.readline()
    print("ready", flush=True)
    sys.stdin.readline()
    hot.stdin.write(f"hot {reads}\n")
    hot.stdin.close()
    hot.stdout.readline()
    print("done", flush=True)
    return hot.wait()


def worker(verb, *args):
    return [sys.executable, ME, "--work", verb, *map(str, args)]


WORKERS = {"small": work_small, "large": work_large, "removed": work_removed, "pair": work_pair,
           "hot": work_hot, "flood": work_flood}


# ---- what was recorded ----

def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


class Stored:
    def __init__(self, db):
        with contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as link:
            link.row_factory = sqlite3.Row
            self.job = link.execute("SELECT * FROM job WHERE slot = 1").fetchone()
            rows = link.execute("SELECT * FROM reference_sample").fetchall()
            self.absent = dict(link.execute("SELECT slot, reason FROM reference_absent "
                                            "JOIN job ON job.id = job_id").fetchall())
            pages = link.execute("SELECT * FROM reference_page").fetchall()
            self.chunks = link.execute("SELECT * FROM reference_chunk ORDER BY seq").fetchall()
        self.sample = rows[0] if rows else None
        self.pages = {p["number"]: p for p in pages}

    def entries(self, dev=None):
        """(dev, ino, gen, page, removed) of the sample, in order; of one device."""
        for chunk in self.chunks:
            for entry in varints(chunk["data"]):
                p = self.pages[entry >> 1]
                name = f"{p['dev_major']}:{p['dev_minor']}"
                if p["hash"] < self.sample["threshold"] and dev in (None, name):
                    yield f"{name} {p['ino']} {p['gen']}", p["page_index"], entry & 1

    def check_sums(self):
        """Holds in each sample, whatever was read."""
        sample, threshold = self.sample, self.sample["threshold"]
        for p in self.pages.values():
            equal(f"the hash of page {p['page_index']} of inode {p['ino']}", p["hash"], page_hash(
                *(p[k] for k in ("dev_major", "dev_minor", "ino", "gen", "page_index"))))
        live = {(p["dev_major"], p["dev_minor"], p["ino"], p["gen"], p["page_index"])
                for p in self.pages.values() if p["hash"] < threshold}
        refs = [e for e in self.entries() if not e[2]]
        equal("pages", sample["pages"], len(live))
        equal("references", sample["refs"], len(refs))
        check(len(live) <= PAGES_MAX, f"{len(live)} pages are in it")
        for chunk in self.chunks:
            equal("entries of a chunk", sum(1 for _ in varints(chunk["data"])), chunk["refs"])
        if sample["state"] == "whole":
            equal("lookups while it was sampled", sample["lookups"], self.job["lookups"])
        if threshold == ALL and sample["state"] == "whole":
            equal("references of all pages", sample["refs"], self.job["lookups"])


def logged(path):
    with open(path) as f:
        for line in f:
            name, page = line.rsplit(" ", 1)
            yield name, abs(int(page)), int(page.startswith("-"))


def sampled(entries, threshold):
    for name, page, removed in entries:
        dev, ino, gen = name.split()
        if page_hash(*map(int, dev.split(":")), int(ino), int(gen), page) < threshold:
            yield name, page, removed


def same(what, got, want):
    got, want = list(got), list(want)
    for i, (g, w) in enumerate(zip(got, want)):
        equal(f"{what}, reference {i} of {len(want)}", g, w)
    equal(f"{what}, references", len(got), len(want))


def record(world, stack, argv, options=("--level", "full", "--interval", "100ms"), **popen):
    watch = world.tool.watch(stack, list(options), argv, **popen)
    watch.end()
    return Stored(watch.db)


def lookups(entries):
    return (e for e in entries if not e[2])


# ---- cases ----

@part.case
def a_small_job_is_recorded_whole(world, stack):
    path, log = world.cold(SMALL_PAGES), world.tool.fresh(".log")
    stored = record(world, stack, worker("small", path, log))
    stored.check_sums()
    equal("state", stored.sample["state"], "whole")
    equal("threshold", stored.sample["threshold"], ALL)
    same("the file", lookups(stored.entries(world.dev)), logged(log))
    equal("pages looked up", stored.sample["distinct_pages"], stored.sample["pages"])
    equal("their error", stored.sample["distinct_error"], 0)
    equal("why of the others none are", stored.absent, {0: "of the watched job only"})


@part.case
def a_large_one_is_thinned_to_what_its_threshold_takes(world, stack):
    path, log = world.cold(LARGE_PAGES), world.tool.fresh(".log")
    stored = record(world, stack, worker("large", path, log))
    stored.check_sums()
    equal("state", stored.sample["state"], "whole")
    threshold = stored.sample["threshold"]
    check(0 < threshold < ALL, f"the threshold is {threshold}")
    same("the file", lookups(stored.entries(world.dev)), sampled(logged(log), threshold))
    part.note(f"threshold 2^32 x {threshold / ALL:.4f}, {stored.sample['pages']} pages")


def without_file(world, stack):
    """Pages that a worker looks up besides its file: those of the interpreter."""
    path, log = world.cold(SMALL_PAGES), world.tool.fresh(".log")
    stored = record(world, stack, worker("small", path, log))
    equal("threshold", stored.sample["threshold"], ALL)
    return stored.sample["distinct_pages"] - SMALL_PAGES


@part.case
def pages_looked_up_are_counted_or_estimated(world, stack):
    """Pages added during the run are counted; the others are known from the sample."""
    rest = without_file(world, stack)
    for cached in (False, True):
        path, log = world.cold(LARGE_PAGES), world.tool.fresh(".log")
        if cached:
            with open(path, "rb") as f:
                while f.read(1 << 20):
                    pass
        sample = record(world, stack, worker("large", path, log)).sample
        check(sample["threshold"] < ALL, "all pages are in the sample")
        distinct, error = sample["distinct_pages"], sample["distinct_error"]
        part.note(f"{distinct} pages looked up of {LARGE_PAGES + rest}, standard error {error:.4f}, "
                  f"{'cached' if cached else 'not cached'} before")
        off = distinct - LARGE_PAGES - rest
        check(abs(off) <= SIGMAS * error * distinct + REST_SPREAD, f"off by {off}")
        rate = sample["threshold"] / ALL
        estimated = math.sqrt((1 - rate) / rate / LARGE_PAGES)
        check(cached or error < ERROR_COUNTED * estimated,
              f"what was counted is no better known: {error}, by the sample alone {estimated}")


def removals(world, stack, drop):
    path, log = world.cold(SMALL_PAGES), world.tool.fresh(".log")
    watch = world.tool.watch(stack, ["--level", "full"], worker("removed", path, log, drop))
    out = watch.end()[2]
    stored = Stored(watch.db)
    stored.check_sums()
    equal("threshold", stored.sample["threshold"], ALL)
    if drop == "drop" and json.loads(out)["left"]:
        raise Skipped("drop_caches left some of the file")
    # Pages that leave in one call leave in its order.
    same("the file", in_order_of_call(stored.entries(world.dev)), in_order_of_call(logged(log)))


def in_order_of_call(entries):
    """Removals between two lookups, by page."""
    run = []
    for entry in entries:
        if entry[2]:
            run.append(entry)
            continue
        yield from sorted(run)
        run = []
        yield entry
    yield from sorted(run)


@part.case
def pages_that_leave_by_advice_truncation_or_direct_io_are_told(world, stack):
    removals(world, stack, "no")


@part.case
def pages_that_leave_by_drop_caches_are_told(world, stack):
    if not part.full:
        raise Skipped("it drops the cache of the whole machine: with CACHEMON_FULL=1")
    removals(world, stack, "drop")


@part.case
def of_two_processes_each_is_in_order(world, stack):
    paths = [world.cold(SMALL_PAGES) for _ in range(2)]
    logs = [world.tool.fresh(".log") for _ in paths]
    stored = record(world, stack, worker("pair", *paths, *logs))
    stored.check_sums()
    got = list(lookups(stored.entries(world.dev)))
    threshold = stored.sample["threshold"]
    for path, log in zip(paths, logs):
        name = identity(path)
        same(path, (e for e in got if e[0] == name), sampled(logged(log), threshold))


@part.case
def a_cold_run_says_why_it_has_none(world, stack):
    path, log = world.cold(SMALL_PAGES), world.tool.fresh(".log")
    stored = record(world, stack, worker("small", path, log), ["--level", "cold"])
    equal("samples", stored.sample, None)
    equal("why", stored.absent[1], "level cold has no per-read hook")


def told_job(world, stack, options, argv):
    """A job that begins when go() is called."""
    watch = world.tool.watch(stack, options, argv, stdin=subprocess.PIPE)
    equal("the job", watch.process.stdout.readline(), "ready\n")
    return watch


def go(watch):
    watch.process.stdin.write("go\n")
    watch.process.stdin.flush()


@part.case
def a_long_run_has_few_references_a_second(world, stack):
    watch = told_job(world, stack, ["--level", "full", "--interval", "200ms"],
                     worker("hot", world.reader, world.hot, LONG_READS))
    go(watch)
    watch.end()
    stored = Stored(watch.db)
    stored.check_sums()
    equal("state", stored.sample["state"], "whole")
    *chunks, last = stored.chunks
    later = chunks[len(chunks) // 2:]
    seconds = (last["start_ns"] - later[0]["start_ns"]) / 1e9
    came = sum(c["refs"] for c in later)
    part.note(f"{came} references in the last {seconds:.1f} s, "
              f"{stored.job['lookups']} lookups in the run")
    if seconds < LONG_S:
        raise Skipped(f"the job ran for {2 * seconds:.1f} s, which is too short")
    check(0 < came <= A_SECOND * seconds + AT_ONCE / 2, f"{came} in {seconds} s")


@part.case
def a_sliced_run_ends_the_sample(world, stack):
    watch = told_job(world, stack, ["--level", "auto", "--max-overhead", "0.1%", "--interval",
                                    "200ms"], worker("hot", world.reader, world.hot, HOT_READS))
    go(watch)
    report, _, _ = watch.end()
    equal("sliced", report["run"]["sliced"], True)
    stored = Stored(watch.db)
    stored.check_sums()
    equal("state", stored.sample["state"], "broken")
    # The start of slices, or an earlier time if even the minimum costs too much.
    check(any(why in stored.sample["reason"] for why in ("slices", "overhead budget")),
          f"the reason is {stored.sample['reason']!r}")
    check(stored.sample["lookups"] < HOT_READS, "it goes on to the end")


@part.case
def a_ring_that_nobody_empties_is_told(world, stack):
    watch = told_job(world, stack, ["--level", "full"], worker("flood", world.hot, FLOOD_READS))
    watch.wait_intervals(1)
    watch.process.send_signal(signal.SIGSTOP)
    stack.callback(watch.process.send_signal, signal.SIGCONT)
    go(watch)
    equal("the job", watch.process.stdout.readline(), "done\n")
    watch.process.send_signal(signal.SIGCONT)
    watch.end()
    stored = Stored(watch.db)
    stored.check_sums()
    if stored.sample["state"] == "whole":
        raise Skipped(f"the threshold fell to {stored.sample['threshold']} before the ring was full")
    check("references were lost" in stored.sample["reason"], f"the reason is {stored.sample['reason']!r}")


@part.case
def a_killed_run_leaves_a_sample(world, stack):
    """Complete up to an interval: nothing depends on the end."""
    watch = told_job(world, stack, ["--level", "full", "--interval", "100ms"],
                     worker("flood", world.hot, FLOOD_READS))
    go(watch)
    machine.until(lambda: watch.query("SELECT max(seq) FROM reference_chunk") or 0 >= 3, "chunks")
    watch.process.kill()
    watch.process.wait()
    stored = Stored(watch.db)
    stored.check_sums()
    equal("state", stored.sample["state"], "whole")


def main():
    if sys.argv[1:2] == ["--work"]:
        return WORKERS[sys.argv[2]](*sys.argv[3:])
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
