#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A 32-bit program: its system calls have other numbers, and offsets in two registers."""

import contextlib
import os
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from syslib.part import Part, Skipped, equal  # noqa: E402
from syslib.reads import PAGE  # noqa: E402
from syslib.world import World  # noqa: E402

# The reads of calls32.c, by hand: (offset, bytes).
READS = ([(1000000 + i * 10000, 10000) for i in range(10)] +
         [(500 + i * 4096, 4096) for i in range(10)] +
         [(3 << 20, 11000)] * 10 + [(2 << 20, 30000)])

part = Part(__doc__)


def build(world, path):
    program = os.path.join(world.work, "calls32")
    done = subprocess.run(
        ["gcc", "-m32", "-nostdlib", "-static", "-ffreestanding", "-O1", "-no-pie", "-fno-pie",
         "-fno-stack-protector", f'-DPATH="{path}"', "-o", program,
         os.path.join(HERE, "calls32.c")], capture_output=True, text=True)
    if done.returncode:
        raise Skipped(f"no 32-bit programs are built here: {done.stderr.strip()[-200:]}")
    try:
        subprocess.run([program], check=True)
    except OSError as e:
        raise Skipped(f"no 32-bit programs run here: {e}") from e
    return program


@part.case
def reads_writes_and_advice(world, stack):
    if os.uname().machine != "x86_64":
        raise Skipped("numbers of 32-bit programs are known on x86 alone")
    path = world.cold()
    program = build(world, path)
    with open(path, "rb+") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    watch = world.tool.watch(stack, ["--level", "full"], [program])
    job = watch.end()[1]
    t = world.entry(job, path)["totals"]
    equal("calls", t["read_calls"], len(READS))
    equal("bytes", t["read_bytes"], sum(n for _, n in READS))
    equal("lookups", t["lookups"],
          sum((at + n - 1) // PAGE - at // PAGE + 1 for at, n in READS))
    equal("written pages", t["written_pages"], 4)
    equal("WILLNEED", t["prefetch"]["origin"]["willneed"], 16)
    equal("readahead(2)", t["prefetch"]["origin"]["readahead2"], 16)
    with contextlib.closing(sqlite3.connect(watch.db)) as db:
        rows = {(kind, call): (pages, brought) for kind, call, pages, brought in db.execute(
            "SELECT kind, call, pages_asked, pages_brought FROM advice")}
    equal("advice", rows, {("willneed", "fadvise"): (16, 16),
                           ("readahead", "readahead"): (16, 16)})


if __name__ == "__main__":
    sys.exit(part.main(World))
