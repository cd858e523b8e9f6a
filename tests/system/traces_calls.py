#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Traces of reads other than sequential read(2): the stored accesses equal the job's own list
(for fio, its log), and the model's replay brings the pages that the kernel brought."""

import ctypes
import json
import mmap
import os
import random
import shutil
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine, traces  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, cached_pages  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
PAGES = 2048
FIDELITY = 0.95
WILLNEED, READAHEAD = 1, 7

part = Part(__doc__)


# The jobs: each reports the reads of each task, in its order, as (position, count).

def reader(fd, reads):
    return threading.Thread(target=lambda: [os.pread(fd, count, at) for at, count in reads])


def in_order(first):
    return [(at, 16384) for at in range(first, first + (2 << 20), 16384)]


def together(threads):
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def work_threads(path):
    """Four tasks with one open file, each with its own part."""
    fd, lists = os.open(path, os.O_RDONLY), [in_order(i << 21) for i in range(4)]
    together([reader(fd, reads) for reads in lists])
    return {"lists": lists}


def work_workers(path):
    """Three processes with an inherited open file: each reads random pieces, in parts."""
    fd, lists = os.open(path, os.O_RDONLY), []
    for worker in range(3):
        pick = random.Random(20 + worker)
        starts = [pick.randrange(PAGES * PAGE - (128 << 10)) for _ in range(12)]
        lists.append([(at + i * 32768, 32768) for at in starts for i in range(4)])
    children = []
    for reads in lists:
        child = os.fork()
        if not child:
            for at, count in reads:
                os.pread(fd, count, at)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return {"lists": lists}


def work_descriptions(path):
    """Four threads, each with its own open file."""
    lists = [in_order(i << 21) for i in range(4)]
    together([reader(os.open(path, os.O_RDONLY), reads) for reads in lists])
    return {"lists": lists}


def work_faults(path):
    pick, fd = random.Random(6), os.open(path, os.O_RDONLY)
    touched = [pick.randrange(PAGES) for _ in range(60)]
    with mmap.mmap(fd, PAGES * PAGE, prot=mmap.PROT_READ) as m:
        for page in touched:
            m[page * PAGE]
    return {"touched": touched}


def work_beside(path):
    """Touches the first pages of ranges that are mapped around them, the last pages of which are
    cached."""
    fd, touched = os.open(path, os.O_RDONLY), []
    with mmap.mmap(fd, PAGES * PAGE, prot=mmap.PROT_READ) as m:
        for i in range(1, 11):
            # Read-around brings 128 KiB, from 64 KiB before the page.
            touched += [192 * i + 26, 192 * i]
            for page in touched[-2:]:
                m[page * PAGE]
    return {"touched": touched}


def work_processes(path):
    """Two tasks touch pages of a mapping each, of one open file."""
    pick, fd = random.Random(7), os.open(path, os.O_RDONLY)
    lists = [[pick.randrange(PAGES) for _ in range(30)] for _ in range(2)]
    turn, other = os.pipe(), os.pipe()
    child = os.fork()
    mine, his, touched = (other[0], turn[1], lists[0]) if child else (turn[0], other[1], lists[1])
    with mmap.mmap(fd, PAGES * PAGE, prot=mmap.PROT_READ) as m:
        for page in touched:
            if not child:
                os.read(mine, 1)
            m[page * PAGE]
            os.write(his, b"x")
            if child:
                os.read(mine, 1)
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    return {"touched": lists[0] + lists[1]}


def work_ahead(path):
    """WILLNEED and readahead(2), and reads of the pages they brought and of others."""
    libc, fd, asked = ctypes.CDLL(None, use_errno=True), os.open(path, os.O_RDONLY), []
    reads = []
    for i in range(10):
        at = (i << 19) + 5 * PAGE
        if i % 2:
            os.posix_fadvise(fd, at, 40960, os.POSIX_FADV_WILLNEED)
        elif libc.readahead(fd, ctypes.c_long(at), ctypes.c_size_t(40960)):
            raise OSError(ctypes.get_errno(), "readahead")
        asked.append((WILLNEED if i % 2 else READAHEAD, at, 40960))
        for reads_at in at, at + 40960:
            os.pread(fd, PAGE, reads_at)
            reads.append((reads_at, PAGE))
    return {"lists": [reads], "asked": asked}


def work_ahead_mapped(path):
    """MADV_WILLNEED, and touches of the pages it brought and of others."""
    fd, asked, touched = os.open(path, os.O_RDONLY), [], []
    with mmap.mmap(fd, PAGES * PAGE, prot=mmap.PROT_READ) as m:
        for i in range(10):
            m.madvise(mmap.MADV_WILLNEED, 200 * i * PAGE, 40 * PAGE)
            asked.append((WILLNEED, 200 * i * PAGE, 40 * PAGE))
            for page in 200 * i + 39, 200 * i + 100:
                m[page * PAGE]
                touched.append(page)
    return {"touched": touched, "asked": asked}


def work_ordered(path):
    fd, pick = os.open(path, os.O_RDONLY), random.Random(8)
    reads = [(pick.randrange(PAGES - 8) * PAGE, 12000) for _ in range(100)] + in_order(1 << 22)
    for at, count in reads:
        os.pread(fd, count, at)
    return {"lists": [reads]}


def work(name, told, path):
    result = globals()["work_" + name](path)
    with open(told, "w", encoding="ascii") as f:
        json.dump(result, f)


# The trace in the database.

def cached_by(trace):
    return sum(e.len if e.kind == "ADD" else -e.len
               for e in trace.events if e.kind in ("ADD", "REMOVE"))


def lists_of(trace):
    """By task; a part of a call is not another call."""
    found = {}
    for e in trace.events:
        if e.kind == "READ" and not e.flags & traces.PART:
            found.setdefault(e.actor, []).append([e.pos, e.len])
    return sorted(found.values())


def answer_for(world, db, path):
    told = json.loads(world.tool.run("whatif", "readahead", "--db", db, "--format", "json"))
    mine = [f for f in told["jobs"][0]["files"] if f["path"] == path]
    equal("files of that name", len(mine), 1)
    part.note(f"fidelity {mine[0]['fidelity']:.3f} {mine[0]['note']}")
    return mine[0]


def judged(world, db, path):
    """The model's replay of the setting in force brings the pages that the kernel brought."""
    f = answer_for(world, db, path)
    check(f["answered"] and f["fidelity"] >= FIDELITY, f"fidelity {f['fidelity']}: {f['note']}")


def judged_or_refused(world, db, path, why):
    """The trace of these accesses is incomplete: if the replay differs there is no answer, and
    the note gives the reason."""
    f = answer_for(world, db, path)
    equal("answered", f["answered"], f["fidelity"] >= FIDELITY)
    check(f["answered"] or ("windows exactly" in f["note"] and why in f["note"]), f["note"])


def cached_pages_of(path):
    fd = os.open(path, os.O_RDONLY)
    nr = cached_pages(fd)
    os.close(fd)
    return nr


def whole(trace, path, there=0):
    equal("state", (trace.state, trace.reason), ("whole", None))
    equal("pages that came less those that left", cached_by(trace), cached_pages_of(path) - there)


def run_job(world, stack, name, path=None, cache=None, there=0):
    """cache: the owner of the pages; there: the number cached."""
    path, told = path or world.cold(PAGES), world.tool.fresh(".told")
    watch = world.tool.watch(stack, ["--level", "full"],
                             [sys.executable, ME, "--work", name, told, path])
    watch.end()
    with open(told, encoding="ascii") as f:
        result = json.load(f)
    trace = traces.file_of(watch.db, path)
    whole(trace, cache or path, there)
    return watch, path, trace, result


def same_lists(trace, result):
    equal("reads by task", lists_of(trace), sorted([list(r) for r in one] for one in result["lists"]))


@part.case
def threads_on_one_description(world, stack):
    watch, path, trace, result = run_job(world, stack, "threads")
    same_lists(trace, result)
    equal("openings", sum(e.kind == "OPEN" for e in trace.events), 1)
    # Between its reads a thread waits for the interpreter while others read: no event shows when a
    # read ended.
    judged_or_refused(world, watch.db, path, "share an open file")


@part.case
def processes_on_one_description(world, stack):
    watch, path, trace, result = run_job(world, stack, "workers")
    same_lists(trace, result)
    equal("openings", sum(e.kind == "OPEN" for e in trace.events), 1)
    # If two CPUs read within microseconds, no event shows which one used the open file first.
    judged_or_refused(world, watch.db, path, "share an open file")


@part.case
def threads_with_descriptions(world, stack):
    watch, path, trace, result = run_job(world, stack, "descriptions")
    same_lists(trace, result)
    equal("openings", sum(e.kind == "OPEN" for e in trace.events), 4)
    judged(world, watch.db, path)


def faulted_and_mapped(trace, result):
    faulted = [e.pos for e in trace.events if e.kind == "FAULT" and not e.flags & traces.RETRY]
    mapped = {p for e in trace.events if e.kind == "MAP" for p in range(e.pos, e.pos + e.len)}
    unseen = set(result["touched"]) - set(faulted) - mapped
    check(not unseen, f"pages {unseen} were touched, and neither faulted nor mapped")
    return faulted


@part.case
def faults_of_a_mapping(world, stack):
    watch, path, trace, result = run_job(world, stack, "faults")
    faulted = faulted_and_mapped(trace, result)
    touched = iter(result["touched"])
    # Pages mapped around an earlier one do not fault: a part of the list, in its order.
    check(all(page in touched for page in faulted), f"{faulted} are not of {result['touched']}")
    judged(world, watch.db, path)


@part.case
def faults_beside_cached_pages(world, stack):
    """Fault-around maps the cached pages of a block, and then the page itself is requested."""
    watch, path, trace, result = run_job(world, stack, "beside")
    equal("pages that faulted", faulted_and_mapped(trace, result), result["touched"])
    judged(world, watch.db, path)


@part.case
def faults_of_what_was_cached(world, stack):
    """A part of the file is cached before the trace begins; only the accesses show which part."""
    path, pick = world.cold(PAGES), random.Random(11)
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    for at in pick.sample(range(PAGES // 8), PAGES // 24):
        os.pread(fd, 8 * PAGE, at * 8 * PAGE)
    os.close(fd)
    watch, path, trace, result = run_job(world, stack, "faults", path, there=cached_pages_of(path))
    equal("began", trace.began, "warm")
    faulted_and_mapped(trace, result)
    judged(world, watch.db, path)


@part.case
def faults_of_two_processes(world, stack):
    watch, path, trace, result = run_job(world, stack, "processes")
    faulted_and_mapped(trace, result)
    judged(world, watch.db, path)


@part.case
def pages_asked_for_ahead(world, stack):
    watch, path, trace, result = run_job(world, stack, "ahead")
    same_lists(trace, result)
    equal("advice", [[e.detail, e.pos, e.len] for e in trace.events if e.kind == "ADVICE"],
          result["asked"])
    judged(world, watch.db, path)


@part.case
def pages_of_a_mapping_asked_for_ahead(world, stack):
    watch, path, trace, result = run_job(world, stack, "ahead_mapped")
    faulted_and_mapped(trace, result)
    equal("advice", [[e.detail, e.pos, e.len] for e in trace.events if e.kind == "ADVICE"],
          result["asked"])
    judged(world, watch.db, path)


def overlaid(world, stack):
    """A file of an overlay, and the one of the layer below."""
    with open("/proc/filesystems", encoding="ascii") as f:
        if "overlay" not in f.read().split():
            raise Skipped("this kernel has no overlay")
    world.serial += 1
    names = [f"{world.data}/{n}{world.serial}" for n in ("upper", "work", "merged", "lower")]
    for name in names:
        os.makedirs(name)
    os.rename(world.cold(PAGES), f"{names[3]}/file")
    machine.run("mount", "-t", "overlay", "overlay", "-o",
                f"lowerdir={names[3]},upperdir={names[0]},workdir={names[1]}", names[2])
    stack.callback(machine.run, "umount", names[2])
    return f"{names[2]}/file", f"{names[3]}/file"


@part.case
def a_file_of_an_overlay(world, stack):
    """The cache is that of the layer below, and so is the open file; the name is the user's."""
    watch, path, trace, result = run_job(world, stack, "ordered", *overlaid(world, stack))
    same_lists(trace, result)
    equal("openings", sum(e.kind == "OPEN" for e in trace.events), 1)
    judged(world, watch.db, path)


@part.case
def faults_of_a_file_of_an_overlay(world, stack):
    path, below = overlaid(world, stack)
    watch, path, trace, result = run_job(world, stack, "faults", path, below)
    faulted_and_mapped(trace, result)
    judged(world, watch.db, path)


def by_fio(world, stack, engine, depth):
    """fio's log has its submissions, in order."""
    if not shutil.which("fio"):
        raise Skipped("no fio")
    path, log = world.cold(PAGES), world.tool.fresh(".log")
    watch = world.tool.watch(stack, ["--level", "full"], [
        "fio", "--name=x", f"--filename={path}", "--rw=randread", "--bs=4k-32k", "--randseed=9",
        f"--ioengine={engine}", f"--iodepth={depth}", "--invalidate=0", f"--write_iolog={log}",
        f"--size={PAGES * PAGE}", "--io_size=2m", "--thread", "--fadvise_hint=0",
        "--output=/dev/null"])
    watch.end()
    with open(log, encoding="ascii") as f:
        asked = [[int(w[3]), int(w[4])] for w in map(str.split, f) if w[2:3] == ["read"]]
    check(len(asked) > 50, f"{len(asked)} reads in the log")
    trace = traces.file_of(watch.db, path)
    whole(trace, path)
    is_ = [[e.pos, e.len] for e in trace.events if e.kind == "READ"
           and not e.flags & (traces.PART | traces.RETRY)]
    if depth == 1:
        equal("reads", is_, asked)
    else:
        # A read is recorded at its last lookup.
        equal("reads, sorted", sorted(is_), sorted(asked))
    if depth == 1 or engine == "libaio":
        judged(world, watch.db, path)
    else:
        judged_or_refused(world, watch.db, path, "concurrent reads")


@part.case
def io_uring_one_by_one(world, stack):
    by_fio(world, stack, "io_uring", 1)


@part.case
def io_uring_in_flight(world, stack):
    by_fio(world, stack, "io_uring", 8)


@part.case
def linux_aio(world, stack):
    by_fio(world, stack, "libaio", 1)


@part.case
def linux_aio_in_flight(world, stack):
    by_fio(world, stack, "libaio", 8)


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(*sys.argv[2:])
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
