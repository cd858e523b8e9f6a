#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Advice calls are counted one by one: --advice calls, compared with what the job requested."""

import ctypes
import json
import mmap
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import reader  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, cached_pages  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
RACED_FILES = 3000
FILE_PAGES = 256
FADVISE = {"normal": 0, "random": 1, "sequential": 2, "willneed": 3, "dontneed": 4, "noreuse": 5}
MADVISE = ("normal", "random", "sequential", "willneed", "dontneed")
TIMES = {kind: 2 + number for kind, number in FADVISE.items()}

part = Part(__doc__)
libc = ctypes.CDLL(None, use_errno=True)


def work_every_call(path):
    """Each kind by each call, a different number of times each, over pages 1 to 4 and to the
    end. Reports the pages that came and went by the kernel's own count."""
    fd = os.open(path, os.O_RDONLY)
    moved = {}

    def advise(name, call, *args):
        before = cached_pages(fd)
        call(*args)
        moved[name] = moved.get(name, 0) + cached_pages(fd) - before

    def readahead(offset, length):
        if libc.readahead(fd, ctypes.c_int64(offset), ctypes.c_size_t(length)):
            raise OSError(ctypes.get_errno(), "readahead")

    for kind, number in FADVISE.items():
        for _ in range(TIMES[kind]):
            advise(f"fadvise {kind}", os.posix_fadvise, fd, PAGE, 4 * PAGE, number)
        os.pread(fd, PAGE, 4 * PAGE)  # the pages have arrived, and can be dropped
    advise("fadvise dontneed", os.posix_fadvise, fd, 8 * PAGE, 0, FADVISE["dontneed"])
    area = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
    for kind in MADVISE:
        for _ in range(TIMES[kind] + 1):
            advise(f"madvise {kind}", area.madvise, FADVISE[kind], 2 * PAGE, 3 * PAGE)
    for _ in range(3):
        advise("readahead readahead", readahead, 16 * PAGE, 16 * PAGE)
    area.close()
    print(json.dumps(moved))


def work_nothing_to_count(path):
    """Anonymous memory, a pipe, a closed descriptor, an unknown advice."""
    area = mmap.mmap(-1, 16 * PAGE)
    area.madvise(mmap.MADV_WILLNEED)
    area.madvise(mmap.MADV_HUGEPAGE)
    fd = os.open(path, os.O_RDONLY)
    for bad, advice in ((os.pipe()[0], 3), (1000, 3), (fd, 77)):
        try:
            os.posix_fadvise(bad, 0, 0, advice)
            sys.exit("the kernel took what it must refuse")
        except OSError:
            pass
    os.pread(fd, PAGE, 0)
    print(cached_pages(fd))


WORKERS = {"every_call": work_every_call, "nothing": work_nothing_to_count}


def worker(verb, *args):
    return [sys.executable, ME, "--work", verb, *args]


def rows_of(job, path):
    return {(r["call"], r["kind"]): r for r in job["advice"] if r["path"] == path}


@part.case
def every_call_counts(world, stack):
    path = world.cold(FILE_PAGES)
    watch = world.tool.watch(stack, ["--level", "full", "--advice", "calls"],
                             worker("every_call", path))
    report, job, out = watch.end()
    rows, moved = rows_of(job, path), json.loads(out)
    want = {("fadvise", kind): (TIMES[kind], 4 * TIMES[kind], PAGE, 4 * PAGE) for kind in FADVISE}
    want["fadvise", "dontneed"] = (TIMES["dontneed"] + 1,
                                   4 * TIMES["dontneed"] + FILE_PAGES - 8, PAGE, None)
    want.update({("madvise", kind): (TIMES[kind] + 1, 3 * (TIMES[kind] + 1), 2 * PAGE, 3 * PAGE)
                 for kind in MADVISE})
    want["readahead", "readahead"] = (3, 48, 16 * PAGE, 16 * PAGE)
    equal("advice in the report", sorted(rows), sorted(want))
    for key, (calls, asked, offset, length) in want.items():
        r, name = rows[key], " ".join(key)
        equal(f"{name}: calls", r["calls"], calls)
        equal(f"{name}: pages asked", r["pages_asked"], asked)
        equal(f"{name}: first byte asked", r["offset_bytes"], offset)
        if length:
            equal(f"{name}: bytes asked", r["length_bytes"], length)
        equal(f"{name}: brought less dropped", r["pages_brought"] - r["pages_dropped"],
              moved[name])
        check(not r.get("calls_lower_bound"), f"{name}: exact, and called a lower bound")
    for name in ("fadvise willneed", "readahead readahead"):
        check(moved[name] > 0, f"{name} brought nothing: the test shows nothing")
    check(moved["fadvise dontneed"] < 0, "DONTNEED dropped nothing: the test shows nothing")
    equal("advice mode", report["run"]["advice_mode"], "calls")


@part.case
def what_is_no_advice_on_a_file_is_not_counted(world, stack):
    path = world.cold(FILE_PAGES)
    watch = world.tool.watch(stack, ["--level", "full", "--advice", "calls"],
                             worker("nothing", path))
    _, job, out = watch.end()
    t = world.entry(job, path)["totals"]
    equal("pages added", t["demand_pages"] + t["prefetched_pages"], int(out))
    equal("advice on the file", rows_of(job, path), {})


@part.case
def two_cpus_that_advise_one_file_at_once_lose_nothing(world, stack):
    if len(os.sched_getaffinity(0)) < 2:
        raise Skipped("one CPU alone to run on")
    program = reader.build(world.work, "adviser", "-pthread")
    watch = world.tool.watch(stack, ["--level", "full", "--advice", "calls"],
                             [program, world.data, str(RACED_FILES)])
    report, job, _ = watch.end()
    rows = [r for r in job["advice"] if r["kind"] == "sequential"]
    equal("rows", len(rows), RACED_FILES)
    equal("calls of each", {r["calls"] for r in rows}, {2})
    equal("first byte asked", {r["offset_bytes"] for r in rows}, {PAGE})
    equal("bytes asked", {r["length_bytes"] for r in rows}, {2 * PAGE})
    equal("losses", {k: v for k, v in report["run"]["losses"].items() if v}, {})


def main():
    if sys.argv[1:2] == ["--work"]:
        return WORKERS[sys.argv[2]](*sys.argv[3:])
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
