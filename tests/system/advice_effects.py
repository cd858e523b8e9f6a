#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The ledger of advice without the hook on every system call: calls that moved pages are told apart,
also the same call once an epoch."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Part, check, equal  # noqa: E402
from syslib.reads import PAGE, cached_pages  # noqa: E402
from syslib.world import COLD_PAGES, World  # noqa: E402

ME = os.path.abspath(__file__)
EPOCHS = 3
BLOCK = 16 * PAGE

part = Part(__doc__)


def row_of(job, path, kind):
    rows = [a for a in job["advice"] if a["path"] == path and a["kind"] == kind]
    equal(f"rows of {kind}", len(rows), 1)
    return {name: rows[0][name] for name in ("calls", "pages_asked", "pages_brought",
                                             "pages_dropped")}


def run_job(world, stack, verb):
    """The row of that advice, and by how many pages each call changed the cache, says the kernel."""
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


def work(verb, path, told):
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
