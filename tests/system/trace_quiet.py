#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A traced file whose reads bring nothing: after thousands of successive hits the trace ends and
says so, and the counters of the file continue. Any page that comes or leaves restarts the count
of hits."""

import json
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import traces  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.reads import PAGE  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
QUIET = 8192  # TRACE_QUIET_MAX of bpf/trace.h
HOT, FAR = 16, 512  # pages that are read again and again, and the file's others
MORE = 4000
WHY = "it is read only from the cache: thousands of reads fetched no page"

part = Part(__doc__)


def work(path, told, rows):
    """rows: successive hits, each series started by one read of an uncached page."""
    fd, rng, reads = os.open(path, os.O_RDONLY), random.Random(5), 0
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    os.pread(fd, HOT * PAGE, 0)
    for i, row in enumerate(json.loads(rows)):
        os.pread(fd, 1, (HOT + i) * PAGE)
        for _ in range(row):
            os.pread(fd, 100, rng.randrange(HOT) * PAGE + 5)
        reads += 1 + row
    with open(told, "w", encoding="ascii") as f:
        json.dump(reads + 1, f)


def run(world, stack, rows):
    """The trace, and the reads of the job."""
    path, told = world.cold(FAR), world.tool.fresh(".told")
    watch = world.tool.watch(stack, ["--level", "full"],
                             [sys.executable, ME, "--work", path, told, json.dumps(rows)])
    watch.end()
    with open(told, encoding="ascii") as f:
        made = json.load(f)
    trace = traces.file_of(watch.db, path)
    return trace, made


@part.case
def hits_alone_end_it(world, stack):
    trace, made = run(world, stack, [100, QUIET + MORE])
    equal("state", (trace.state, trace.reason), ("broken", WHY))
    kept = sum(e.kind == "READ" for e in trace.events)
    # The event of the read that brought something may come before or after that of its window.
    first = made - (QUIET + MORE)
    check(first + QUIET - 1 <= kept <= first + QUIET,
          f"{kept} reads of {made} are kept: {first}, and {QUIET} hits in a row")


@part.case
def what_brings_something_goes_on(world, stack):
    trace, made = run(world, stack, [QUIET - 10] * 3)
    equal("state", (trace.state, trace.reason), ("whole", None))
    equal("reads", sum(e.kind == "READ" for e in trace.events), made)


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(*sys.argv[2:])
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
