#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Traces of files: the stored accesses equal the program's own list, and the pages that came and
left add up to those that the kernel has cached. An incomplete trace is marked."""

import json
import mmap
import os
import random
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine, traces  # noqa: E402
from syslib.machine import until  # noqa: E402
from syslib.orders import Worker  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.reads import PAGE, cached_pages, fill  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
PAGES = 2048
SMALL_FILES, SMALL_PAGES = 300, 5
PLACES = 8
LONG = 65536
QUIET = 8192
CAUSE_DONTNEED, CAUSE_TRUNCATE = 3, 5
WILLNEED, FADVISE = 1, 1

part = Part(__doc__)


# The jobs: each reports its reads as (description, position, count).

def work_sequential(path):
    """A page size that does not divide the kernel's."""
    fd, reads, at = os.open(path, os.O_RDONLY), [], 0
    while True:
        got = len(os.read(fd, 10000))
        if not got:
            break
        reads.append((0, at, 10000))
        at += got
    return fd, {"reads": reads}


def work_random(path):
    fd, rng = os.open(path, os.O_RDONLY), random.Random(7)
    reads = [(0, rng.randrange(PAGES * PAGE - 30000), rng.randrange(1, 30000)) for _ in range(300)]
    # A read that requests more than there is, and a vector.
    reads.append((0, PAGES * PAGE - 5000, 100000))
    for _, at, count in reads:
        os.pread(fd, count, at)
    os.preadv(fd, [bytearray(100), bytearray(5000)], 77777)
    return fd, {"reads": [*reads, (0, 77777, 5100)]}


def work_two(path):
    """In turns; then one is closed, and another one opened."""
    a, b, reads = os.open(path, os.O_RDONLY), os.open(path, os.O_RDONLY), []
    for i in range(40):
        for number, fd, base in ((0, a, 0), (1, b, 4 << 20)):
            os.pread(fd, 16384, base + i * 16384)
            reads.append((number, base + i * 16384, 16384))
    os.close(b)
    c = os.open(path, os.O_RDONLY)
    for i in range(10):
        os.pread(c, 4096, i * 4096)
        reads.append((2, i * 4096, 4096))
    return a, {"reads": reads}


def work_faults(path):
    fd = os.open(path, os.O_RDONLY)
    with mmap.mmap(fd, PAGES * PAGE, prot=mmap.PROT_READ) as m:
        plain = [3 + 64 * i for i in range(10)]
        for page in plain:
            m[page * PAGE]
        m.madvise(mmap.MADV_RANDOM)
        after = [1000 + 37 * i for i in range(20)]
        for page in after:
            m[page * PAGE]
    return fd, {"plain": plain, "random": after}


def work_advice(path):
    fd, reads = os.open(path, os.O_RDONLY), []

    def read(at):
        os.pread(fd, 4096, at)
        reads.append((0, at, 4096))

    read(0)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    read(1 << 20)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_SEQUENTIAL)
    read(2 << 20)
    os.posix_fadvise(fd, 4 << 20, 100000, os.POSIX_FADV_WILLNEED)
    before = cached_pages(fd)
    os.posix_fadvise(fd, 0, 1 << 20, os.POSIX_FADV_DONTNEED)
    dropped = before - cached_pages(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_NORMAL)
    read(3 << 20)
    return fd, {"reads": reads, "dropped": dropped}


def work_sizes(path):
    fd, reads = os.open(path, os.O_RDWR), []
    for step in range(5):
        os.pread(fd, 20000, 0)
        reads.append((0, 0, 20000))
        os.ftruncate(fd, 8192 + step)
        os.pwrite(fd, b"x" * 3 * PAGE, 8192 + step)
    # The recorded size is that of the last event.
    os.pread(fd, 1, 0)
    reads.append((0, 0, 1))
    os.fsync(fd)
    return fd, {"reads": reads}


def work_many(path):
    """Twice; small files are read whole."""
    for _ in range(2):
        for i in range(SMALL_FILES):
            with open(f"{path}/{i}", "rb", buffering=0) as f:
                f.read(SMALL_PAGES * PAGE)
    return os.open(path, os.O_RDONLY), {}


def work_long(path, count, loses_every):
    """Cached pages, in a shuffled order; occasionally one that has left the cache."""
    fd, rng = os.open(path, os.O_RDONLY), random.Random(3)
    reads = [(0, rng.randrange(64) * PAGE + 5, 100) for _ in range(int(count))]
    sys.stdin.readline()
    for i, (_, at, size) in enumerate(reads):
        if int(loses_every) and i % int(loses_every) == 0:
            os.posix_fadvise(fd, at // PAGE * PAGE, PAGE, os.POSIX_FADV_DONTNEED)
        os.pread(fd, size, at)
    print("done", flush=True)
    sys.stdin.readline()
    return fd, {"reads": reads}


def work_warm(path, stop):
    """Round and round, until it is stopped."""
    names = [os.path.join(path, name) for name in sorted(os.listdir(path))]
    files = [os.open(name, os.O_RDONLY) for name in names]
    while not os.path.exists(stop):
        for fd in files:
            for at in range(0, 1 << 21, 65536):
                os.pread(fd, 65536, at)
    return files[0], {}


def work(name, told, path, *rest):
    fd, result = globals()["work_" + name](path, *rest)
    if os.path.isfile(path):
        result["cached"] = cached_pages(fd)
    with open(told, "w", encoding="ascii") as f:
        json.dump(result, f)


# The trace in the database.

def command(name, told, *rest):
    return [sys.executable, ME, "--work", name, told, *rest]


def run_job(world, stack, name, *options):
    """The trace of the file, and the job's own report."""
    path, told = world.cold(PAGES), world.tool.fresh(".told")
    watch = world.tool.watch(stack, ["--level", "full", *options], command(name, told, path))
    watch.end()
    with open(told, encoding="ascii") as f:
        result = json.load(f)
    trace = traces.file_of(watch.db, path)
    equal("state", (trace.state, trace.reason, trace.began), ("whole", None, "cold"))
    equal("pages that came less those that left", cached_by(trace), result["cached"])
    return trace, result


def cached_by(trace):
    return sum(e.len if e.kind == "ADD" else -e.len
               for e in trace.events if e.kind in ("ADD", "REMOVE"))


def reads_of(trace):
    return [[e.description, e.pos, e.len] for e in trace.events if e.kind == "READ"]


def same_reads(trace, result):
    is_, was = reads_of(trace), [list(r) for r in result["reads"]]
    for i, (got, want) in enumerate(zip(is_, was)):
        equal(f"read {i} of {len(was)}", got, want)
    equal("reads", len(is_), len(was))


def covered(trace):
    """Each added folio lies in a window seen before it, or a write added it."""
    windows = []
    for e in trace.events:
        if e.kind == "WINDOW" and traces.HOOKS[e.detail] in ("ORDER", "UNBOUNDED"):
            windows.append((e.pos, e.pos + (e.size or e.len)))
        elif e.kind == "ADD" and not e.flags & traces.BY_WRITE:
            # A window's first folio may begin before it.
            check(any(first <= e.pos + e.len - 1 and e.pos < end for first, end in windows[-4:]),
                  f"pages {e.pos}+{e.len} are in none of {windows[-4:]}")


@part.case
def sequential(world, stack):
    trace, result = run_job(world, stack, "sequential")
    same_reads(trace, result)
    covered(trace)
    hooks = {traces.HOOKS[e.detail] for e in trace.events if e.kind == "WINDOW"}
    check({"SYNC", "ASYNC"} <= hooks, f"windows of {hooks}")
    equal("openings", sum(e.kind == "OPEN" for e in trace.events), 1)
    equal("size", [e.pos for e in trace.events if e.kind == "SIZE"], [PAGES * PAGE])
    equal("actors", {e.actor for e in trace.events if e.kind == "READ"}, {0})


@part.case
def odd_offsets_and_counts(world, stack):
    trace, result = run_job(world, stack, "random")
    same_reads(trace, result)
    covered(trace)


@part.case
def three_descriptions(world, stack):
    trace, result = run_job(world, stack, "two")
    same_reads(trace, result)
    covered(trace)
    opened = [e for e in trace.events if e.kind == "OPEN"]
    equal("openings", [(e.description, e.prev_pos) for e in opened], [(0, -1), (1, -1), (2, -1)])


@part.case
def faults(world, stack):
    trace, result = run_job(world, stack, "faults")
    touched = [e for e in trace.events if e.kind == "FAULT" and not e.flags & traces.RETRY]
    equal("pages that faulted", [e.pos for e in touched], result["plain"] + result["random"])
    equal("of a mapping", {(e.first_page, e.nr_pages) for e in touched}, {(0, PAGES)})
    equal("advised as random", [bool(e.flags & traces.VM_RANDOM) for e in touched],
          [False] * len(result["plain"]) + [True] * len(result["random"]))
    check(all(e.flags & traces.MISSING for e in touched), "all of them were missing")
    for e in trace.events:
        if e.kind == "MAP":
            check(e.pos <= e.touched < e.pos + e.len, f"{e.touched} in {e.pos}+{e.len}")
            check(e.pos // 16 == (e.pos + e.len - 1) // 16 or e.align % 16,
                  f"{e.pos}+{e.len} aligned at {e.align}")


@part.case
def advice(world, stack):
    trace, result = run_job(world, stack, "advice")
    same_reads(trace, result)
    reads = [e for e in trace.events if e.kind == "READ"]
    equal("reads at random", [bool(e.flags & traces.RANDOM) for e in reads],
          [False, True, False, False])
    settings = [e.ra_pages for e in trace.events if e.kind in ("OPEN", "SETTING")]
    base = settings[0]
    equal("read-ahead pages", settings, [base, base, 2 * base, base])
    asked = [(e.detail, e.call, e.pos, e.len) for e in trace.events
             if e.kind == "ADVICE" and e.detail == WILLNEED]
    equal("willneed", asked, [(WILLNEED, FADVISE, 4 << 20, 100000)])
    dropped = sum(e.len for e in trace.events if e.kind == "REMOVE" and e.detail == CAUSE_DONTNEED)
    equal("dropped", dropped, result["dropped"])
    check(dropped > 0, "nothing was dropped")


@part.case
def advice_by_calls(world, stack):
    trace, _ = run_job(world, stack, "advice", "--advice", "calls")
    kinds = [e.detail for e in trace.events if e.kind == "ADVICE"]
    equal("random, sequential, willneed, dontneed, normal", kinds, [4, 3, 1, 2, 5])


@part.case
def sizes(world, stack):
    trace, result = run_job(world, stack, "sizes")
    same_reads(trace, result)
    gone = [e for e in trace.events if e.kind == "REMOVE"]
    check(gone, "truncation removes pages")
    equal("why pages left", {e.detail for e in gone}, {CAUSE_TRUNCATE})
    check(any(e.kind == "ADD" and e.flags & traces.BY_WRITE for e in trace.events),
          "writes bring pages")
    want = 8192 + 4 + 3 * PAGE
    equal("last size", trace.size_bytes, want)


@part.case
def some_of_many(world, stack):
    path, told = f"{world.data}/many", world.tool.fresh(".told")
    os.mkdir(path)
    for i in range(SMALL_FILES):
        fill(f"{path}/{i}", SMALL_PAGES)
    watch = world.tool.watch(stack, ["--level", "full"], command("many", told, path))
    watch.end()
    mine = {f.path: f for f in traces.files_of(watch.db) if f.path.startswith(path)}
    sample = [f for f in mine.values() if f.stands_for is not None]
    check(0 < len(sample) <= PLACES, f"{len(sample)} files in the sample")
    lowest = sorted((f"{path}/{i}" for i in range(SMALL_FILES)), key=traces.hash_of)[:len(sample)]
    equal("those of the lowest hashes", sorted(f.path for f in sample), sorted(lowest))
    for f in sample:
        equal("state", (f.state, f.began, f.stratum), ("whole", "cold", 1))
        equal("reads", [[p, n] for _, p, n in reads_of(f)], [[0, SMALL_PAGES * PAGE]] * 2)
        equal("pages", cached_by(f), SMALL_PAGES)
    for f in mine.values():
        if f.stands_for is None:
            equal("one given up", (f.state, f.reason),
                  ("broken", "given up for another file of its stratum"))
    # Eight files: a relative standard error of about a third.
    total = sum(f.stands_for for f in sample)
    check(SMALL_FILES / 3 < total < SMALL_FILES * 3, f"they stand for {total:.0f} files")
    part.note(f"{len(mine)} of {SMALL_FILES} files were traced at some time, {len(sample)} stand "
              f"for {total:.0f}")


def prefix_of(trace, result):
    is_, was = reads_of(trace), [list(r) for r in result["reads"]]
    check(is_ == was[:len(is_)], "what is stored is no beginning of what was read")
    return len(is_), len(was)


def run_long(world, stack, count, stopped=False, loses_every=QUIET // 8):
    path, told = world.cold(256), world.tool.fresh(".told")
    watch = world.tool.watch(stack, ["--level", "full"],
                             command("long", told, path, str(count), str(loses_every)), stdin=-1)
    watch.wait_started()
    if stopped:
        watch.process.send_signal(signal.SIGSTOP)
        stack.callback(watch.process.send_signal, signal.SIGCONT)
    watch.process.stdin.write("\n")
    watch.process.stdin.flush()
    equal("the job's word", watch.process.stdout.readline(), "done\n")
    if stopped:
        watch.process.send_signal(signal.SIGCONT)
    watch.process.stdin.write("\n")
    watch.process.stdin.flush()
    watch.end()
    with open(told, encoding="ascii") as f:
        result = json.load(f)
    return traces.file_of(watch.db, path), result


@part.case
def an_event_that_is_lost(world, stack):
    """While nobody empties the ring it fills up: the trace ends there, and says so."""
    trace, result = run_long(world, stack, 50000, stopped=True)
    equal("state", (trace.state, trace.reason),
          ("broken", "an event was lost: the ring was full"))
    kept, all_ = prefix_of(trace, result)
    check(1000 < kept < all_, f"{kept} of {all_} reads are kept")


@part.case
def more_events_than_are_kept(world, stack):
    trace, result = run_long(world, stack, LONG + 5000)
    equal("state", (trace.state, trace.reason),
          ("broken", "its trace exceeds the limit of events per file"))
    kept, _ = prefix_of(trace, result)
    check(LONG - 1000 < kept <= LONG, f"{kept} reads are kept")


@part.case
def reads_that_bring_nothing(world, stack):
    """Successive reads of cached pages end a trace, but not those before the last page was
    added."""
    trace, result = run_long(world, stack, 3 * QUIET, loses_every=2 * QUIET)
    equal("state", (trace.state, trace.reason),
          ("broken", "it is read only from the cache: thousands of reads fetched no page"))
    prefix_of(trace, result)
    came = max(i for i, e in enumerate(trace.events) if e.kind == "ADD")
    equal("reads after the last page that came",
          sum(e.kind == "READ" for e in trace.events[came:]), QUIET)


@part.case
def the_one_that_is_read_most(world, stack):
    path, stop = f"{world.data}/warm", world.tool.fresh(".stop")
    os.mkdir(path)
    for i in range(3 * PLACES):
        fill(f"{path}/{i}", 512)
    watch = world.tool.watch(stack, ["--level", "full"],
                             command("warm", world.tool.fresh(".told"), path, stop))
    warm = "SELECT count(*) FROM traced_file f JOIN trace_chunk c ON c.traced_file_id = f.id " \
        "WHERE stratum IS NULL"
    until(lambda: (watch.query(warm) or 0) > 1, "a file is traced that was not chosen", 60)
    with open(stop, "w", encoding="ascii"):
        pass
    watch.end()
    found = [f for f in traces.files_of(watch.db) if f.stratum is None and f.events]
    check(found, "there is one")
    for f in found:
        check(f.path.startswith(path), f"{f.path} is read most")
        equal("began, stands for", (f.began, f.stands_for), ("warm", 1))
        at = [e.pos for e in f.events if e.kind == "READ"]
        step = {(b - a) % (1 << 21) for a, b in zip(at, at[1:])}
        equal("distances of reads", step, {65536})


@part.case
def files_of_others_are_not_traced(world, stack):
    """Another process reads a file with the same inode number on another filesystem, while pages
    of the job's file wait for their use: maps find files by that number first."""
    elsewhere = f"{world.work}/elsewhere"
    machine.filesystem(stack, "ext4", f"{elsewhere}.img", elsewhere)
    mine = world.cold(256)
    for i in range(4000):
        theirs = f"{elsewhere}/{i}"
        with open(theirs, "wb") as f:
            same = os.fstat(f.fileno()).st_ino == os.stat(mine).st_ino
        if same:
            break
    check(same, "a file of that inode number")
    fill(theirs, 256)
    job, other = Worker(stack), Worker(stack)
    watch = world.tool.watch(stack, ["--level", "full", "--pid", str(job.pid)])
    watch.wait_started()
    job.do("read", mine, 0, 1)
    other.do("read", theirs, 0, 256)
    watch.wait_intervals(1)
    watch.interrupt()
    watch.end()
    paths = [f.path for f in traces.files_of(watch.db)]
    check(mine in paths, f"the job's own file is not among {paths}")
    check(theirs not in paths, f"{theirs} is traced")
    dev = os.stat(theirs).st_dev
    for table in ("file", "filesystem"):
        equal(f"rows of {table} for the other filesystem",
              watch.query(f"SELECT count(*) FROM {table} WHERE dev_major = {os.major(dev)} AND "
                          f"dev_minor = {os.minor(dev)}"), 0)


@part.case
def level_cold_has_none(world, stack):
    path, told = world.cold(16), world.tool.fresh(".told")
    watch = world.tool.watch(stack, ["--level", "cold"], command("sequential", told, path))
    watch.end()
    equal("traces", len(traces.files_of(watch.db)), 0)
    equal("why", watch.query("SELECT reason FROM trace_absent"),
          "level cold does not observe reads")


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(*sys.argv[2:])
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
