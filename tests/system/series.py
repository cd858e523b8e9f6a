#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Changes and outliers in the intervals of a job: changes are at the times given by the clock of
the job, or of the process that caused them; a job that always does the same has none. In every
format."""

import json
import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.reads import PAGE, drop, fill  # noqa: E402
from syslib.tool import TIMEOUT_S, Tool  # noqa: E402

part = Part(__doc__)

INTERVAL_S = 0.2
CALL_PAGES = 32
TICK_S = 0.02
PHASE_S = 8
PAGES = int(PHASE_S / TICK_S) * CALL_PAGES
# Figures that only reading decides; the machine's memory varies by itself.
READING = {"hit_ratio", "misses_per_s", "lookups_per_s", "read_bytes_per_s"}

# Reads the file at an even pace, on command, and reports each start.
JOB = f"""
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for line in sys.stdin:
    print(time.time_ns(), flush=True)
    begin = time.monotonic()
    for i in range({PAGES // CALL_PAGES}):
        os.pread(fd, {CALL_PAGES * PAGE}, i * {CALL_PAGES * PAGE})
        time.sleep(max(0, begin + (i + 1) * {TICK_S} - time.monotonic()))
    print(time.time_ns(), flush=True)
"""


class World:
    def __init__(self, args, work, stack):
        self.tool = Tool(args.cachemon, work)
        self.data = os.path.join(work, "data")
        machine.filesystem(stack, "ext4", f"{work}/data.img", self.data)
        self.file = fill(f"{self.data}/file", PAGES)

    def drop(self):
        fd = os.open(self.file, os.O_RDONLY)
        try:
            drop(fd)
        finally:
            os.close(fd)


class Job:
    """A watched job that reads on command."""

    def __init__(self, world, stack):
        self.world = world
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", JOB, world.file], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        stack.callback(self.process.wait)
        stack.callback(self.process.kill)
        self.watch = world.tool.watch(stack, ("--level", "full", "--interval", f"{round(INTERVAL_S * 1000)}ms", "--pid",
                                              str(self.process.pid)))
        self.watch.wait_started()

    def begin(self):
        """Returns the start of the next reading."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self):
        return int(self.process.stdout.readline())

    def over(self):
        """(the report, its series of the job, the start of the run)"""
        self.process.stdin.close()
        self.process.wait(TIMEOUT_S)
        report, job, _ = self.watch.end()
        return report, job["series"], self.watch.query("SELECT started_ns FROM run")


def changes_of(series, metric):
    return [c for c in series["changes"] if c["metric"] == metric]


def is_at(change, when_ns, started_ns):
    want = (when_ns - started_ns) / 1e9
    check(abs(change["at_s"] - want) <= 2 * INTERVAL_S,
          f"{change['metric']} changed at {change['at_s']} s, and not {want:.3f} s")


@part.case
def cold_warm_and_evicted(world, stack):
    world.drop()
    job = Job(world, stack)
    times = []
    for number in range(3):
        if number == 2:  # the neighbour
            world.drop()
        times.append(job.begin())
        job.end()
    _, series, started = job.over()
    equal("why nothing was looked at", series["reason"], None)
    misses = changes_of(series, "misses_per_s")
    equal(f"changes of misses, {misses}", len(misses), 2)
    for change, when in zip(misses, times[1:]):
        is_at(change, when, started)
    check(misses[0]["before"] > 1000 > 50 > misses[0]["after"], f"the first one: {misses[0]}")
    check(misses[1]["before"] < 50 < 1000 < misses[1]["after"], f"the second one: {misses[1]}")
    for change, when in zip(changes_of(series, "hit_ratio"), times[1:]):
        is_at(change, when, started)
    equal("changes of lookups, which were even", changes_of(series, "lookups_per_s"), [])


@part.case
def a_stop(world, stack):
    job = Job(world, stack)
    job.begin()
    job.end()
    begin = job.begin()
    machine.until(lambda: time.time_ns() - begin > PHASE_S / 2 * 1e9, "half of the file", TIMEOUT_S)
    stopped = time.time_ns()
    os.kill(job.process.pid, signal.SIGSTOP)
    job.watch.wait_intervals(20)
    going = time.time_ns()
    os.kill(job.process.pid, signal.SIGCONT)
    job.end()
    job.begin()
    job.end()
    _, series, started = job.over()
    lookups = changes_of(series, "lookups_per_s")
    check(len(lookups) >= 2, f"the stop is in no change of lookups: {series['changes']}")
    is_at(lookups[0], stopped, started)
    equal("lookups of a job that stands still", lookups[0]["after"], 0)
    is_at(lookups[1], going, started)


@part.case
def nothing_happens(world, stack):
    job = Job(world, stack)
    for _ in range(3):
        job.begin()
        job.end()
    report, series, _ = job.over()
    equal("why nothing was looked at", series["reason"], None)
    check(READING - set(series["metrics"]) == set(), f"not looked at: {READING - set(series['metrics'])}")
    found = [c for c in series["changes"] if c["metric"] in READING]
    equal("changes of a job that reads at one pace", found, [])
    check(report["jobs"][0]["totals"]["lookups"] >= 3 * PAGES, "the job was not seen to read")


@part.case
def every_format_tells_it(world, stack):
    world.drop()
    job = Job(world, stack)
    for _ in range(2):
        job.begin()
        job.end()
    _, series, _ = job.over()
    db = job.watch.db
    change = changes_of(series, "misses_per_s")[0]
    before = f"{round(change['before']):,} pages/s"
    for verb in "report", "advise":
        for form in "text", "md", "html":
            told = " ".join(world.tool.run(verb, "--db", db, "--format", form).split())
            check("Changes over time" in told, f"{verb} as {form} has no such part")
            check(before in told, f"{verb} as {form} does not say {before}")
        told = json.loads(world.tool.run(verb, "--db", db, "--format", "json"))
        equal(f"{verb} as JSON", told["jobs"][0]["series"], series)
    told = world.tool.run("report", "--db", db, "--format", "yaml")
    numbers = [float(n) for n in re.findall(r"before: (\S+)", told)]
    equal("medians before in YAML", numbers, [c["before"] for c in series["changes"]])


if __name__ == "__main__":
    sys.exit(part.main(World))
