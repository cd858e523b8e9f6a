#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What `whatif readahead` predicts from a run, against what happens when the setting is really
changed: pages in the cache afterwards, by cachestat(2)."""

import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from syslib import fsreader, machine, readaheadwork, traces  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.tool import Tool  # noqa: E402

part = Part(__doc__)
TRACED_KB = 128
SETTINGS_KB = (0, 32, 512, 2048)
LARGER_KB = (512, 2048)  # what can be told of a mapping
TOLERANCE = 0.05
FIDELITY = 0.95
SCRIPT = os.path.join(HERE, "syslib", "readaheadwork.py")


class World:
    def __init__(self, args, work, stack):
        self.tool = Tool(args.cachemon, work)
        self.data = os.path.join(work, "data")
        self.db = os.path.join(work, "run.db")
        machine.filesystem(stack, "ext4", f"{work}/data.img", self.data)
        self.setting = f"/sys/class/bdi/{machine.device_of(self.data)}/read_ahead_kb"
        readaheadwork.make(self.data)

    def set_kb(self, kb):
        with open(self.setting, "w") as f:
            f.write(str(kb))

    def pages(self):
        total = 0
        for name in readaheadwork.files(self.data):
            fd = os.open(name, os.O_RDONLY)
            total += fsreader.cached(fd)
            os.close(fd)
        return total

    def make_cold(self):
        for name in readaheadwork.files(self.data):
            fd = os.open(name, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
        machine.until(lambda: self.pages() == 0, "no page of the files is cached")

    def measured(self, name, kb):
        self.set_kb(kb)
        self.make_cold()
        machine.run(sys.executable, SCRIPT, name, self.data)
        return self.pages()

    def predicted(self, name):
        """{setting: pages read, of all files}, and the fidelities."""
        self.set_kb(TRACED_KB)
        self.make_cold()
        self.tool.run("watch", "--level", "full", "--db", self.db, "--", sys.executable, SCRIPT, name,
                      self.data)
        told = json.loads(self.tool.run("whatif", "readahead", "--db", self.db, "--format", "json"))
        files = [f for f in told["jobs"][0]["files"]
                 if (f["path"] or "").startswith(self.data + "/") and f["stands_for"]]
        if not files:
            raise Skipped(f"no file was traced: {told['jobs'][0]['reason']}")
        sums = {}
        for f in files:
            check(f["answered"], f"{f['path']}: {f['note']}")
            for s in f["settings"]:
                pages = f["stands_for"] * (s["misses"] + s["prefetched_pages"])
                key = "actual" if s["actual"] else s["setting"]
                sums[key] = sums.get(key, 0) + pages
        return sums, files

    def whole_sample(self, files):
        """Those of the lowest hashes are traced; each stands for as many as the share of all hashes
        says that lies below the threshold: above the last one's, not above the next one's."""
        names = sorted(readaheadwork.files(self.data)[1:], key=traces.hash_of)
        equal("files traced", sorted(f["path"] for f in files), sorted(names[:len(files)]))
        last, following = (2 ** 32 / (traces.hash_of(n) + 1) for n in names[len(files) - 1:][:2])
        for f in files:
            check(following <= f["stands_for"] <= last,
                  f"{f['stands_for']} is not from {following} to {last}")


def agrees(world, name, settings=SETTINGS_KB, sampled=False, races=False):
    """sampled: the traced files stand for others, so what they add up to is an estimate, and what is
    predicted exactly is by how much another setting changes it. races: what the setting in force
    brings is another number in each run."""
    sums, files = world.predicted(name)
    fidelities = [f["fidelity"] for f in files]
    if sampled:
        world.whole_sample(files)
        share = world.pages() / sums["actual"]
        part.note(f"{name}: the sample stands for {1 / share:.3f} of what there is")
        sums = {setting: pages * share for setting, pages in sums.items()}
    if not races:
        equal("pages with the setting in force", round(sums["actual"]), world.pages())
    check(min(fidelities) >= FIDELITY, f"fidelity {min(fidelities)}")
    wrong = []
    for kb in settings:
        want = world.measured(name, kb)
        got = sums["actual" if kb == TRACED_KB else f"ra_kb={kb}"]
        error = (got - want) / want
        part.note(f"| {name} | {TRACED_KB} | {kb} | {got:,.0f} | {want:,} | {100 * error:+.2f} % | "
                  f"{min(fidelities):.3f} |")
        if abs(error) > TOLERANCE:
            wrong.append(kb)
    check(not wrong, f"off by more than 5 % at {wrong} KiB")


@part.case
def scan(world, _):
    agrees(world, "scan")


@part.case
def database(world, _):
    agrees(world, "database")


@part.case
def samples(world, _):
    agrees(world, "samples")


@part.case
def columns(world, _):
    agrees(world, "columns")


@part.case
def streams(world, _):
    agrees(world, "streams")


@part.case
def workers(world, _):
    """They take the readahead state in turns that no run repeats."""
    agrees(world, "workers", (TRACED_KB, 0, 32, 512), races=True)


@part.case
def small_files(world, _):
    agrees(world, "small_files", sampled=True)


@part.case
def spread(world, _):
    """Files of four windows and less."""
    agrees(world, "spread", sampled=True)


@part.case
def mapped(world, _):
    agrees(world, "mapped", LARGER_KB)


if __name__ == "__main__":
    sys.exit(part.main(World))
