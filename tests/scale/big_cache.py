#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A job with 10 GiB of page cache: read once from the disk, once more from the cache. Every
total is exact, every page is tracked, memory and database are bounded.

The file is sparse: a hole fills the page cache like data, and needs no disk."""

import os
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
                for name in (".", "../fault")]

from faultlib.part import Part, Skipped, expect  # noqa: E402
from scalelib import judge  # noqa: E402
from scalelib.big_run import BigRun  # noqa: E402

part = Part("big_cache", __doc__, count=("MiB of cache", 10240, 512))
big = BigRun(part)
BLOCK = 256 << 10
EVICTED = ("reclaim_kswapd", "reclaim_direct", "reclaim_memcg", "dontneed", "drop_caches",
           "truncate", "direct_io", "other", "invalidate", "dontcache")


def available_mib():
    with open("/proc/meminfo", encoding="ascii") as f:
        return next(int(line.split()[1]) // 1024 for line in f if line.startswith("MemAvailable:"))


@big.run("the job runs")
def the_job(case):
    size = part.options.count << 20
    if available_mib() < part.options.count * 5 // 4 + 1024:
        raise Skipped(f"{available_mib()} MiB of memory to be had, for {part.options.count} MiB of "
                      "cache")
    job = big.start(case)
    path = case.path("big")

    def fresh(_):
        with open(path, "wb") as f:  # drops the pages of an earlier run
            f.truncate(size)
        return ["big", path, BLOCK, 1]

    case.defer(os.unlink, path)
    return f"{part.options.count} MiB twice {big.until_undisturbed(case, job, fresh)}"


big.judge_counts()


@part.case("the law holds, every page has its state")
def losses(_):
    text = judge.losses(big.get())
    row = big.get().db.run()
    for name in ("loss_map_full", "loss_chunk_full", "loss_ring_drops", "loss_ghosts_dropped"):
        expect(row[name] == 0, f"{name} {row[name]}")
    expect(big.get().db.job()["untracked"] == 0, text)
    return text


@part.case("what came and did not leave is in the cache")
def resident(_):
    truth = big.get().truth
    row = big.get().db.file(os.path.join(part.work, "big"))
    evicted = sum(row["evicted_" + cause] for cause in EVICTED)
    pages = part.options.count << 20 >> 12
    expect(row["read_bytes"] == 2 * pages * judge.PAGE and row["lookups"] == 2 * pages, f"{row}")
    expect(truth["added"] - evicted == truth["resident"],
           f"{truth['added']} pages came, {evicted} left, but {truth['resident']} are there")
    return f"{truth['added']} came, {evicted} left, {truth['resident']} are there"


big.judge_sizes()

if __name__ == "__main__":
    part.main()
