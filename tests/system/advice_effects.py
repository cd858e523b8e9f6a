#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The ledger of advice without a hook on every system call: calls that moved pages are counted
one by one, even the same call once per epoch."""

import ctypes
import mmap
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, cached_pages  # noqa: E402
from syslib.world import COLD_PAGES, World  # noqa: E402

ME = os.path.abspath(__file__)
EPOCHS = 3
BLOCK = 16 * PAGE
MAPPED = ("process_willneed", "pageout", "process_pageout")
MADV_PAGEOUT = 21
NR_PROCESS_MADVISE = 440
SKIP = 77
libc = ctypes.CDLL(None, use_errno=True)

part = Part(__doc__)


def row_of(job, path, kind):
    rows = [a for a in job["advice"] if a["path"] == path and a["kind"] == kind]
    equal(f"rows of {kind}", len(rows), 1)
    return {name: rows[0][name] for name in ("calls", "pages_asked", "pages_brought",
                                             "pages_dropped")}


def run_job(world, stack, verb):
    """The row of that advice, and the pages that each call added or removed, by the kernel's
    count."""
    path, told = world.cold(), world.tool.fresh(".told")
    watch = world.tool.watch(stack, ["--level", "full"],
                             [sys.executable, ME, "--work", verb, path, told])
    _, job, _ = watch.end()
    with open(told, encoding="ascii") as f:
        return row_of(job, path, verb), [int(line) for line in f]


@part.case
def dropped_after_each_epoch(world, stack):
    row, dropped = run_job(world, stack, "dontneed")
    equal("pages dropped, says the kernel", dropped, [COLD_PAGES] * EPOCHS)
    equal("dontneed", row, {"calls": EPOCHS, "pages_asked": EPOCHS * COLD_PAGES,
                            "pages_brought": 0, "pages_dropped": sum(dropped)})


@part.case
def brought_ahead(world, stack):
    row, brought = run_job(world, stack, "willneed")
    moving = [n for n in brought if n]
    check(len(moving) > 1, f"the kernel brought {brought}")
    equal("willneed", row, {"calls": len(moving), "pages_asked": len(moving) * BLOCK // PAGE,
                            "pages_brought": sum(brought), "pages_dropped": 0})


def mapped_job(world, stack, verb, mode):
    path, told = world.cold(), world.tool.fresh(".told")
    watch = world.tool.watch(stack, ["--level", "full", "--advice", mode],
                             [sys.executable, ME, "--work", verb, path, told])
    watch.finish()
    if watch.process.returncode == SKIP:
        raise Skipped("this kernel refuses process_madvise with that advice")
    job = world.tool.report(watch.db)[1]
    with open(told, encoding="ascii") as f:
        return job, path, [int(line) for line in f]


@part.case
def process_madvise_brings_pages_as_madvise_does(world, stack):
    for mode in "effects", "calls":
        job, path, told = mapped_job(world, stack, "process_willneed", mode)
        t = world.entry(job, path)["totals"]
        check(told[0] >= 32, f"the kernel brought {told[0]}: the test shows nothing")
        equal("prefetched", t["prefetched_pages"], told[0])
        equal("other pages added", t["other_added_pages"], 0)
        row, = [a for a in job["advice"] if a["path"] == path]
        equal(f"row by {mode}", (row["call"], row["kind"], row["calls"], row["pages_brought"]),
              ("madvise", "willneed", 2, told[0]))


@part.case
def pages_that_were_paged_out_refault(world, stack):
    for verb in "pageout", "process_pageout":
        job, path, (dropped, back) = mapped_job(world, stack, verb, "effects")
        t = world.entry(job, path)["totals"]
        check(dropped > 0, "the kernel paged nothing out: the test shows nothing")
        check(back >= dropped, f"{back} of {dropped} came again")
        equal(f"{verb}: refaults", t["refaults"], dropped)
        equal(f"{verb}: evicted", t["evicted_pages"]["other"], dropped)
        equal(f"{verb}: rows of advice", [a for a in job["advice"] if a["path"] == path], [])


def process_madvise(area_at, pages, advice):
    vector = (ctypes.c_size_t * 2)(area_at, pages * PAGE)
    pidfd = os.pidfd_open(os.getpid())
    if libc.syscall(NR_PROCESS_MADVISE, pidfd, vector, ctypes.c_size_t(1), advice, 0) < 0:
        print(f"errno {ctypes.get_errno()}", flush=True)
        sys.exit(SKIP)
    os.close(pidfd)


def work_mapped(verb, path, told):
    """Brought by process_madvise, or read through the mapping, then paged out and read again."""
    fd = os.open(path, os.O_RDONLY)
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, ctypes.c_size_t(COLD_PAGES * PAGE), mmap.PROT_READ, mmap.MAP_PRIVATE, fd,
                   ctypes.c_long(0))
    pages = COLD_PAGES // 2
    if verb == "process_willneed":
        process_madvise(at, 16, mmap.MADV_WILLNEED)
        os.pread(fd, PAGE, 0)  # the same call without a read between counts as one
        process_madvise(at + 64 * PAGE, 16, mmap.MADV_WILLNEED)
        moved = [cached_pages(fd)]
    else:
        for page in range(pages):  # only mapped pages are paged out
            ctypes.c_char.from_address(at + page * PAGE).value
        before = cached_pages(fd)
        if verb == "pageout":
            libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(pages * PAGE), MADV_PAGEOUT)
        else:
            process_madvise(at, pages, MADV_PAGEOUT)
        after = cached_pages(fd)
        os.pread(fd, pages * PAGE, 0)
        moved = [before - after, cached_pages(fd) - after]
    with open(told, "w", encoding="ascii") as f:
        f.write("".join(f"{n}\n" for n in moved))


def work(verb, path, told):
    if verb in MAPPED:
        return work_mapped(verb, path, told)
    fd = os.open(path, os.O_RDONLY)
    with open(told, "w", encoding="ascii") as f:
        if verb == "willneed":
            for at in range(0, COLD_PAGES * PAGE, BLOCK):
                before = cached_pages(fd)
                os.posix_fadvise(fd, at, BLOCK, os.POSIX_FADV_WILLNEED)
                f.write(f"{cached_pages(fd) - before}\n")
            return
        for _ in range(EPOCHS):
            for at in range(0, COLD_PAGES * PAGE, BLOCK):
                os.pread(fd, BLOCK, at)
            before = cached_pages(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            f.write(f"{before - cached_pages(fd)}\n")


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(*sys.argv[2:])
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
