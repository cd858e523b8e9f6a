#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The predictions of `whatif readahead` for a run, compared with real changes of the setting:
pages that the device delivered, by the count of the block layer, and for each file its cached
pages afterwards, by cachestat(2)."""

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
TRIES = 4
LARGER_KB = (512, 2048)  # predicted for a mapping
RACES_MAX = 5
TOLERANCE = 0.05
FIDELITY = 0.95
SCRIPT = os.path.join(HERE, "syslib", "readaheadwork.py")


class World:
    def __init__(self, args, work, stack):
        self.tool = Tool(args.cachemon, work)
        self.data = os.path.join(work, "data")
        self.db = None
        self.loop = machine.filesystem(stack, "ext4", f"{work}/data.img", self.data)
        self.setting = f"/sys/class/bdi/{machine.device_of(self.data)}/read_ahead_kb"
        readaheadwork.make(self.data)

    def set_kb(self, kb):
        with open(self.setting, "w") as f:
            f.write(str(kb))

    def pages(self):
        """{file: pages in the cache}"""
        cached = {}
        for name in readaheadwork.files(self.data):
            fd = os.open(name, os.O_RDONLY)
            cached[name] = fsreader.cached(fd)
            os.close(fd)
        return cached

    def given(self):
        """Pages that the device delivered so far."""
        with open(f"/sys/block/{os.path.basename(self.loop)}/stat") as f:
            return int(f.read().split()[2]) * 512 // fsreader.PAGE

    def make_cold(self):
        for name in readaheadwork.files(self.data):
            fd = os.open(name, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
        machine.until(lambda: not any(self.pages().values()), "no page of the files is cached")

    def run_cold(self, kb, run):
        """{file: pages that it brought}; repeated if some of them have left meanwhile."""
        for _ in range(TRIES):
            self.set_kb(kb)
            self.make_cold()
            before = self.given()
            run()
            given, cached = self.given() - before, self.pages()
            if sum(cached.values()) == given:
                return cached
            part.note(f"{given} pages were read and {sum(cached.values())} are there; again")
        raise Skipped(f"others took pages in each of {TRIES} runs")

    def measured(self, name, kb):
        return self.run_cold(kb, lambda: machine.run(sys.executable, SCRIPT, name, self.data))

    def predicted(self, name):
        """The files with their settings, and the pages they brought when they were traced."""
        def watch():
            self.db = self.tool.fresh(".db")
            self.tool.run("watch", "--level", "full", "--db", self.db, "--", sys.executable, SCRIPT, name,
                          self.data)

        brought = self.run_cold(TRACED_KB, watch)
        told = json.loads(self.tool.run("whatif", "readahead", "--db", self.db, "--format", "json"))
        files = [f for f in told["jobs"][0]["files"]
                 if (f["path"] or "").startswith(self.data + "/") and f["stands_for"]]
        if not files:
            raise Skipped(f"no file was traced: {told['jobs'][0]['reason']}")
        return told["jobs"][0], files, brought

    def answered(self, name, races):
        """predicted() of a run that has answers. races: which of two tasks used an open file first
        is not recorded. The model's guess may be wrong so often that a run has no answer, and gives
        this reason; then another run is made."""
        for _ in range(RACES_MAX if races else 1):
            told = self.predicted(name)
            refused = [f for f in told[1] if not f["answered"]]
            if not refused:
                return told
            for f in refused:
                check(races and "share an open file" in f["note"], f"{f['path']}: {f['note']}")
                part.note(f"{f['path']}: {f['note']}; again")
        raise Skipped(f"in {RACES_MAX} runs no answer, for that reason")

    def whole_sample(self, files):
        """The files with the lowest hashes are traced. Each represents 1 / (the share of hashes
        below the threshold) files; the threshold is above the hash of the last traced file, and at
        most that of the next file."""
        names = sorted(readaheadwork.files(self.data)[1:], key=traces.hash_of)
        equal("files traced", sorted(f["path"] for f in files), sorted(names[:len(files)]))
        last, following = (2 ** 32 / (traces.hash_of(n) + 1) for n in names[len(files) - 1:][:2])
        for f in files:
            check(following <= f["stands_for"] <= last,
                  f"{f['stands_for']} is not from {following} to {last}")


def pages_of(setting):
    return setting["misses"] + setting["prefetched_pages"]


def agrees(world, name, settings=SETTINGS_KB, sampled=False, alike=True, mapped=False,
           races=False):
    """sampled: the traced files represent others. Their own pages are compared with these files,
    and the sum with all of them if the files are alike: eight of 64 different ones give a random
    sum. races: with the setting in force, each run brings another number."""
    told, files, brought = world.answered(name, races)
    fidelities = [f["fidelity"] for f in files]
    check(min(fidelities) >= FIDELITY, f"fidelity {min(fidelities)}")
    if sampled:
        world.whole_sample(files)
        stands = sum(f["stands_for"] for f in files) / len(readaheadwork.files(world.data)[1:])
        part.note(f"{name}: by their number {len(files)} files stand for {stands:.3f} of what there are")
    sums = {"actual" if s["actual"] else s["setting"]: s
            for s in told["mapped_settings" if mapped else "settings"]}
    if not races:
        equal("pages with the setting in force", pages_of(sums["actual"]), sum(brought.values()))
    wrong = []
    for kb in settings:
        cached = world.measured(name, kb)
        for f in files:
            own = next(pages_of(s) for s in f["settings"] if s["setting"] == f"ra_kb={kb}")
            check(abs(own - cached[f["path"]]) <= TOLERANCE * cached[f["path"]],
                  f"{f['path']} at {kb} KiB: {own} pages, and it brought {cached[f['path']]}")
        want, whole = sum(cached.values()), sums["actual" if kb == TRACED_KB else f"ra_kb={kb}"]
        got, band = pages_of(whole), whole["misses_error"] + whole["prefetched_pages_error"]
        error = (got - want) / want
        part.note(f"| {name} | {TRACED_KB} | {kb} | {got:,} ± {band:,.0f} | {want:,} | {100 * error:+.2f} % | "
                  f"{min(fidelities):.3f} |")
        if alike and abs(error) > TOLERANCE:
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
    """The readers use the readahead state in turns that no run repeats."""
    agrees(world, "workers", (TRACED_KB, 0, 32, 512), races=True)


@part.case
def small_files(world, _):
    agrees(world, "small_files", sampled=True)


@part.case
def spread(world, _):
    """Files of at most four windows."""
    agrees(world, "spread", sampled=True, alike=False)


@part.case
def mapped(world, _):
    agrees(world, "mapped", LARGER_KB, mapped=True)


if __name__ == "__main__":
    sys.exit(part.main(World))
