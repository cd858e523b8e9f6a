#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The miss-ratio curve of a job, compared with the kernel's cache at several memory limits.

A run without a limit gives the curve; runs of the same job in cgroups with limits give the hit
ratios that it should predict. The kernel's difference from LRU is allowed for: its error is
reported at each limit."""

import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, fill  # noqa: E402
from syslib.tool import Tool, on_device  # noqa: E402

part = Part(__doc__)
part.count_option("sizes", 4, 2, "memory limits of the miss-ratio curve")
part.count_option("kinds", 5, 3, "orders of reading of the miss-ratio curve")

PAGES = 16384
ROUNDS = 5
SHARES = (0.65, 0.35, 0.85, 0.5)  # of the file; the first ones if there are fewer
KINDS = ("shuffled", "zipf", "cyclic", "uniform", "moving")
BESIDE_BYTES = 3 << 20  # charged to the cgroup besides the file
# Of the model, and of a band whose ends are at 1.75 sigma: one more sigma.
SLACK = 0.01
STRANGE_MAX = 0.002  # of lookups: pages that left for causes other than the limit
TRIES = 4


class World:
    def __init__(self, args, work, stack):
        self.args = args
        self.tool = Tool(args.cachemon, work)
        self.load = os.path.join(os.environ["CACHEMON_BUILD"], "tests/scale/curve_load")
        self.data = os.path.join(work, "data")
        machine.filesystem(stack, "ext4", f"{work}/data.img", self.data)
        self.dev = machine.device_of(self.data)
        self.file = f"{self.data}/file"
        fill(self.file, PAGES)
        self.groups = 0
        self.root = machine.v1_root() or machine.v2_root()

    def drop(self):
        """Nothing of the file is cached, so that all of it is charged to its next reader."""
        with open(self.file, "rb+") as f:
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def run(self, stack, kind, procs=None):
        """(database, job)"""
        self.drop()
        argv = [self.load, self.file, str(PAGES), str(PAGES * ROUNDS), kind, *([procs] if procs else [])]
        watch = self.tool.watch(stack, ("--level", "full", "--interval", "200ms"), argv)
        _, job, _ = watch.end()
        return watch.db, job

    def limited(self, stack, kind, share):
        group = machine.cgroup(stack, self.root, f"cachemon-curve-{os.getpid()}-{self.groups}")
        self.groups += 1
        limit = int(PAGES * PAGE * share) + BESIDE_BYTES
        for name in ("memory.limit_in_bytes", "memory.max"):
            if os.path.exists(f"{group}/{name}"):
                with open(f"{group}/{name}", "w") as f:
                    f.write(str(limit))
        return self.run(stack, kind, f"{group}/cgroup.procs")

    def curve(self, db):
        told = json.loads(self.tool.run("whatif", "cache", "--db", db, "--format", "json"))
        equal("jobs of the what-if", len(told["jobs"]), 1)
        equal("why there is no curve", told["jobs"][0]["absent"], None)
        return told["jobs"][0]["curve"]


def undisturbed(world, stack, what, run):
    """Reclaim for other reasons than the limit (DAMON, kswapd) makes it a different cache: tried
    again."""
    for _ in range(TRIES):
        db, job = run()
        evicted = {k: v for k, v in job["totals"]["evicted_pages"].items() if k != "reclaim_memcg"}
        strange = sum(v for v in evicted.values() if v)
        if strange <= STRANGE_MAX * PAGES * ROUNDS:
            return db, job
        part.note(f"{what}: {strange} pages went without the limit {evicted}; again")
    raise Skipped(f"{what}: others took pages in each of {TRIES} runs")


def at(points, pages, key):
    """From the curve, between its sizes."""
    before = {"cache_pages": 0, key: 0}
    for point in points:
        if point["cache_pages"] >= pages:
            span = point["cache_pages"] - before["cache_pages"]
            share = (pages - before["cache_pages"]) / span
            return before[key] + share * (point[key] - before[key])
        before = point
    return before[key]


def hit_ratio(job, dev):
    t = on_device(job, dev)
    fate = job["totals"]["prefetch"]["fate"]
    brought = t["misses"] + fate["used"] + fate["used_late"]
    return 1 - brought / t["lookups"]


def judge(world, stack, kind):
    db, job = undisturbed(world, stack, kind, lambda: world.run(stack, kind))
    curve = world.curve(db)
    model = curve["model"]
    errors = []
    for share in SHARES[:world.args.sizes]:
        what = f"{kind}, {share:.0%}"
        db, job = undisturbed(world, stack, what, lambda s=share: world.limited(stack, kind, s))
        own = world.curve(db)
        present = own["marks"]["present"]["cache_pages"]
        told = at(curve["points"], present, "hit_ratio")
        low = at(curve["points"], present, "hit_ratio_low")
        high = at(curve["points"], present, "hit_ratio_high")
        best = at(curve["points"], present, "opt_hit_ratio")
        got = hit_ratio(job, world.dev)
        errors.append(got - told)
        part.note(f"{what}: {present} pages, hit ratio {got:.3f}, curve {told:.3f} "
                  f"[{low:.3f}, {high:.3f}], best {best:.3f}, error {got - told:+.3f}; refaults "
                  f"{own['check']['refaults']['opinion']}, uncertain {own['check']['uncertain']}")
        error = model["error"] + SLACK
        check(low - error - model["kernel_worse_up_to"] <= got,
              f"{what}: the kernel hit {got:.3f}, less than the curve's {told:.3f} allows")
        check(got <= high + error + model["kernel_better_up_to"],
              f"{what}: the kernel hit {got:.3f}, more than the curve's {told:.3f} allows")
        check(got <= best + SLACK, f"{what}: {got:.3f} is more than the best possible {best:.3f}")
    part.note(f"{kind}: order {model['order']}, hot pages move: {model['hot_pages_move']}, "
              f"mean error {sum(map(abs, errors)) / len(errors):.3f}")
    equal("hot pages move", model["hot_pages_move"], kind == "moving")
    wanted = {"shuffled": "shuffled", "cyclic": "same"}.get(kind, "none")
    equal("order", model["order"], wanted)


def case(number, kind):
    def run(world, stack):
        if number >= world.args.kinds:
            raise Skipped("with the full counts only")
        if not world.root:
            raise Skipped("no memory controller")
        judge(world, stack, kind)
    run.__name__ = kind
    part.case(run)


for index, name in enumerate(KINDS):
    case(index, name)

if __name__ == "__main__":
    sys.exit(part.main(World))
