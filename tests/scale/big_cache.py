#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A job that holds 10 GiB of page cache: read once from the disk, once more from the cache. Every
total exact, every page known, memory and database bounded.

The file is sparse: a hole fills the page cache as data does, and needs no disk."""

import os
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
                for name in (".", "../fault")]

from faultlib.part import Failed, Part, Skipped, expect  # noqa: E402
from scalelib import judge  # noqa: E402
from scalelib.measured import Measured, build_job  # noqa: E402

part = Part("big_cache", __doc__, count=("MiB of cache", 10240, 512))
BLOCK = 256 << 10
REPEATS = 3
EVICTED = ("reclaim_kswapd", "reclaim_direct", "reclaim_memcg", "dontneed", "drop_caches",
           "truncate", "direct_io", "other")
RUN = {}


def available_mib():
    with open("/proc/meminfo", encoding="ascii") as f:
        return next(int(line.split()[1]) // 1024 for line in f if line.startswith("MemAvailable:"))


def the_run():
    if "measured" not in RUN:
        raise Failed("there was no run to judge")
    return RUN["measured"]


@part.case("the job runs")
def the_job(case):
    size = part.options.count << 20
    if available_mib() < part.options.count * 5 // 4 + 1024:
        raise Skipped(f"{available_mib()} MiB of memory to be had, for {part.options.count} MiB of "
                      "cache")
    case.dir = part.work  # the run is judged after this case
    job = build_job(case)
    base = judge.start_up(case, job)
    for repeat in range(REPEATS):
        path = case.path(f"big{repeat}")
        with open(path, "wb") as f:
            f.truncate(size)
        case.defer(os.unlink, path)
        measured = Measured(case, job, f"run{repeat}", ["big", path, BLOCK, 1])
        if not measured.truth["disturbed"]:
            RUN.update(measured=measured, base=base, path=path)
            return (f"{part.options.count} MiB twice in {measured.seconds:.1f} s, CPU time of job "
                    f"and collector {measured.end['cpu_s']} s")
        os.truncate(path, 0)
    raise Skipped(f"{REPEATS} times others on this machine dropped pages of the file")


@part.case("totals are the job's own")
def totals(_):
    return judge.totals(the_run(), RUN["base"])


@part.case("the law holds, every page has its state")
def losses(_):
    text = judge.losses(the_run())
    row = the_run().db.run()
    for name in ("loss_map_full", "loss_chunk_full", "loss_ring_drops", "loss_ghosts_dropped"):
        expect(row[name] == 0, f"{name} {row[name]}")
    expect(the_run().db.job()["untracked"] == 0, text)
    return text


@part.case("what came and did not leave is in the cache")
def resident(_):
    row, truth = the_run().db.file(RUN["path"]), the_run().truth
    evicted = sum(row["evicted_" + cause] for cause in EVICTED)
    pages = part.options.count << 20 >> 12
    expect(row["read_bytes"] == 2 * pages * judge.PAGE and row["lookups"] == 2 * pages, f"{row}")
    expect(truth["added"] - evicted == truth["resident"],
           f"{truth['added']} pages came, {evicted} left, but {truth['resident']} are there")
    return f"{truth['added']} came, {evicted} left, {truth['resident']} are there"


@part.case("files and directories add up to the job")
def sums(case):
    return judge.sums(case, the_run())


@part.case("memory of the collector beside the maps")
def collector_memory(_):
    return judge.collector_memory(the_run())


@part.case("memory of the maps is what doctor says")
def map_memory(case):
    return judge.map_memory(case, the_run())


@part.case("size of the database")
def database(_):
    return judge.database(the_run())


if __name__ == "__main__":
    part.main()
