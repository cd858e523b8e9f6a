#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The predictions of `whatif readahead` for the examples, compared with real changes of the
setting. The same workload is run again, cold, with another read_ahead_kb or with the advice in
its program, and the pages it brings are those that its device delivered, by the count of the
block layer."""

import importlib
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "examples", "pairs")]

import place  # noqa: E402
from syslib import fsreader, machine  # noqa: E402
from syslib.part import Part, Skipped, check  # noqa: E402
from syslib.tool import Tool, on_device  # noqa: E402

part = Part(__doc__)
# (example, version): the first ones if there are fewer. Workloads under a memory limit, and those
# without an answer, are measured and printed, but not judged.
WORKLOADS = (("database", "bad"), ("tar_shards", "bad"), ("image_files", "bad"), ("columns", "bad"),
             ("no_readahead", "bad"), ("small_window", "bad"), ("validation", "bad"),
             ("ask_ahead", "bad"), ("log_tail", "fixed"), ("image_files", "fixed"),
             ("database", "fixed"), ("tar_shards", "fixed"), ("tokens", "bad"), ("log_tail", "bad"),
             ("safetensors", "bad"), ("backup", "bad"), ("checkpoint", "bad"), ("epochs", "bad"),
             ("memory_limit", "bad"), ("warm_up", "bad"))
SETTINGS = ("ra_kb=32", "random", "ra_kb=2048", "sequential", "ra_kb=512", "ra_kb=0")
part.count_option("workloads", len(WORKLOADS), 4, "workloads of examples whose readahead is changed")
part.count_option("settings", len(SETTINGS), 3, "settings of readahead that examples are run with")
TOLERANCE = 0.05
SECTOR = 512
PAIRS = os.path.join(ROOT, "examples", "pairs")
ADVISED = os.path.join(HERE, "syslib", "advised.py")
NOT_THROTTLED = ("memory", "read_ahead_kb")  # a slow device changes when pages come, not which
OTHERS = ("reclaim_kswapd", "reclaim_direct", "drop_caches")
STRANGE_MAX = 0.002  # of the pages brought: evicted by others and read again
TRIES = 4
KEYS = ("read_pages", "misses", "requests")


class World:
    def __init__(self, args, work, stack):
        self.args = args
        self.tool = Tool(args.cachemon, work)
        self.lacking = None
        try:
            self.place = stack.enter_context(place.Place("ext4", work))
            self.dev = machine.device_of(self.place.dir)
        except place.Lacking as e:
            self.lacking = str(e)

    def files(self):
        for at, _, names in os.walk(self.place.dir):
            yield from (os.path.join(at, n) for n in names)

    def make_cold(self):
        """Evicts pages, but keeps inodes and block maps: the device then delivers only pages of
        files."""
        machine.run("sync", "-f", self.place.dir)

        def cached():
            total = 0
            for name in self.files():
                fd = os.open(name, os.O_RDONLY)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                total += fsreader.cached(fd)
                os.close(fd)
            return total

        machine.until(lambda: cached() == 0, "no page of the files is cached")

    def device(self):
        """(read requests, pages) that the device delivered so far."""
        with open(f"/sys/block/{os.path.basename(self.place.loop)}/stat") as f:
            fields = f.read().split()
        return int(fields[0]), int(fields[2]) * SECTOR // fsreader.PAGE


class Workload:
    def __init__(self, world, name, version):
        self.world, self.name, self.version = world, name, version
        needs = importlib.import_module(name).NEEDS
        needs = needs.get(version, needs)
        self.needs = {k: v for k, v in needs.items() if k in NOT_THROTTLED}
        self.limited = "memory" in self.needs
        self.traced_kb = self.needs.get("read_ahead_kb", 128)

    def argv(self, what, setting=None):
        program = [os.path.join(PAIRS, self.name + ".py"), what, self.world.place.dir, "1"]
        advised = [ADVISED, setting, self.world.place.dir] if setting in ("random", "sequential") else []
        return [sys.executable, "-B", *advised, *program]

    def make(self):
        self.world.place.clear()
        subprocess.run(self.argv("make"), check=True)

    def run_once(self, stack, setting):
        needs = dict(self.needs)
        if setting and setting.startswith("ra_kb="):
            needs["read_ahead_kb"] = int(setting.partition("=")[2])
        with self.world.place.conditions(**needs) as join:
            self.world.make_cold()
            requests, pages = self.world.device()
            watch = self.world.tool.watch(stack, ("--level", "full", "--advice", "calls"),
                                          self.argv(self.version, setting),
                                          env={**os.environ, "CACHEMON_JOIN": join})
            job = watch.end()[1]
            now = self.world.device()
        return Measured(watch.db, job, self.world.dev, now[0] - requests, now[1] - pages)

    def run(self, stack, setting=None):
        """Repeated if others evicted pages of it, or of the filesystem's metadata, which the
        device delivers too: the last run counts if that never ends."""
        for _ in range(TRIES):
            got = self.run_once(stack, setting)
            if got.strange <= STRANGE_MAX * got.pages and abs(got.beside) <= STRANGE_MAX * got.pages:
                break
            part.note(f"{self.name}, {setting or 'as it was'}: {got.strange} pages taken by others, "
                      f"{got.beside} more from the device than are counted; again")
        return got


class Measured:
    def __init__(self, db, job, dev, requests, pages):
        """requests and pages are those of the device; the other figures are cachemon's counters."""
        self.db, self.requests, self.pages = db, requests, pages
        counted = on_device(job, dev)
        self.counted = counted["demand_pages"] + counted["prefetched_pages"]
        self.beside = pages - self.counted
        self.misses = counted["misses"]
        evicted = job["totals"]["evicted_pages"]
        self.evicted = evicted["reclaim_memcg"]
        # Pages from elsewhere are in the sums too, but not in the device's.
        self.strange = sum(evicted[k] or 0 for k in OTHERS) + sum(
            e["totals"]["demand_pages"] + e["totals"]["prefetched_pages"]
            for e in job["files"] if not e.get("rest") and e["dev"] != dev)


class Predicted:
    """The sums over the job's files, and whether they cover all of its reads."""

    def __init__(self, world, db):
        told = json.loads(world.tool.run("whatif", "readahead", "--db", db, "--format", "json"))
        job = told["jobs"][0]
        own = [f for f in job["files"] if (f["path"] or "").startswith(world.place.dir + "/")]
        self.sampled = any(f["stands_for"] > 1 for f in own)
        self.fidelity = min((f["fidelity"] for f in own if f["answered"]), default=None)
        self.why = next((f["note"] for f in own if not f["answered"] and f["stands_for"]
                         and "in the cache" not in f["note"]), None)
        if not own:
            self.why = job["reason"] or "no file of it was traced"
        mapped = {f["mapped"] for f in own if f["answered"]}
        kinds = [{("actual" if s["actual"] else s["setting"]): s
                  for s in job["mapped_settings" if kind else "settings"]} for kind in mapped]
        # A setting has sums for all reads, or none.
        self.sums = {setting: {key: sum(k[setting][key] for k in kinds) for key in KEYS}
                     for setting in (kinds or [{}])[0] if all(setting in k for k in kinds)}


def judge(work, setting, told, got, wrong):
    told_pages = told["read_pages"]
    error = (told_pages - got.pages) / max(got.pages, 1)
    part.note(f"| {work.name}, {work.version} | {work.traced_kb} | {setting} | {told_pages:,} | {got.pages:,} | "
              f"{100 * error:+.2f} % | {told['misses']:,} | {got.misses:,} | {told['requests']:,} | "
              f"{got.requests:,} |{f' {got.evicted:,} evicted' if got.evicted else ''}")
    if got.beside:
        part.note(f"cachemon counts {got.counted:,} pages, the device {got.pages:,}")
    if abs(got.beside) > STRANGE_MAX * got.pages:
        wrong.append(f"{setting}: {got.counted} pages counted, {got.pages} read")
    if abs(error) > TOLERANCE:
        wrong.append(f"{setting}: {100 * error:+.1f} % of pages")


def compare(world, stack, name, version):
    work = Workload(world, name, version)
    work.make()
    traced = work.run(stack)
    told = Predicted(world, traced.db)
    what = f"{name}, {version}"
    if told.why:
        raise Skipped(f"no answer: {told.why}")
    part.note(f"{what}: fidelity {told.fidelity:.3f}{', by a sample of its files' if told.sampled else ''}")
    wrong = []
    judge(work, "as it was", told.sums["actual"], traced, wrong)
    for setting in SETTINGS[:world.args.settings]:
        if setting == f"ra_kb={work.traced_kb}":
            continue
        if setting not in told.sums:
            part.note(f"{what}: {setting} gets no answer")
            continue
        judge(work, setting, told.sums[setting], work.run(stack, setting), wrong)
    if work.limited:
        part.note(f"{what}: predicted with the evictions of the run; off: {'; '.join(wrong) or 'nothing'}")
    else:
        check(not wrong, "; ".join(wrong))


def case(number, name, version):
    def run(world, stack):
        if number >= world.args.workloads:
            raise Skipped("with the full counts only")
        if world.lacking:
            raise Skipped(world.lacking)
        compare(world, stack, name, version)
    run.__name__ = f"{name}_{version}"
    part.case(run)


for index, workload in enumerate(WORKLOADS):
    case(index, *workload)

if __name__ == "__main__":
    sys.exit(part.main(World))
