#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The examples: the bad version gives its finding, the fixed one does not, compare calls it
improved, and the measured gain matches the predicted one. All pairs with CACHEMON_FULL=1, else a
few."""

import importlib
import importlib.machinery
import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

from syslib.part import Failed, Part, Skipped, check
from syslib.tool import Tool

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load(path):
    """A program without a filename extension, loaded as a module."""
    loader = importlib.machinery.SourceFileLoader("examples_run", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("examples_run", loader))
    loader.exec_module(module)
    return module


runner = load(os.path.join(ROOT, "examples", "run"))
part = Part(__doc__)
part.count_option("pairs", len(runner.names()), 4, "pairs of examples")
# Cheap pairs: counters alone decide them.
FIRST = ("validation", "memory_limit", "log_tail", "epochs")
FACTOR = 1.5  # between the predicted gain and the measured one
GAINS = []    # (pair, finding, predicted s, measured s, ratio of wall times)
TWOFOLD = 3   # pairs whose fix must double the speed
README = "validation"  # shown in the README, without options
SHORTER = "use --interval 100ms"


class World:
    def __init__(self, args, work, stack):
        self.tool = Tool(args.cachemon, work)
        self.pairs = args.pairs
        self.place = None
        try:
            self.place = stack.enter_context(runner.Place("ext4", work))
        except runner.Lacking as e:
            self.lacking = str(e)

    def record(self, name, *options):
        """A database with the bad version as run 1 and the fixed one as run 2."""
        if not self.place:
            raise Skipped(self.lacking)
        db = self.tool.fresh(".db")
        for version in ("bad", "fixed"):
            status = runner.record(self.tool.cachemon, self.place, name, version, db,
                                   options=options, quiet=True)
            check(status == 0, f"watch of the {version} version exits {status}")
        return db


def findings(world, db, run):
    """({id: finding}, {id: reason}) of a run, including merged findings."""
    advice = json.loads(world.tool.run("advise", "--db", db, "--run", str(run), "--format", "json"))
    job = next(j for j in advice["jobs"] if not j.get("other"))
    found = {}
    for finding in job["findings"]:
        for each in [finding, *finding.get("merged", [])]:
            found.setdefault(each["id"], each)
    return found, {u["id"]: u["reason"] for u in job.get("not_judged", [])}


def wall_s(db):
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as c:
        return [w / 1e9 for w, in c.execute("SELECT wall_ns FROM job WHERE slot = 1 ORDER BY run_id")]


def measured_gain(name, finding, walls):
    gain = finding["gain"]
    if not gain or gain["unit"] != "s":
        return f"{name}: {finding['id']} foretells no seconds; {walls[0]:.2f} s became {walls[1]:.2f} s"
    GAINS.append((name, finding["id"], gain["value"], walls[0] - walls[1], walls[0] / walls[1]))
    return (f"{name}: {finding['id']} foretold {gain['value']:.2f} s ({gain['method']}), "
            f"{walls[0]:.2f} s became {walls[1]:.2f} s: {walls[0] - walls[1]:.2f} s")


def both_versions(world, name, module):
    """What the measured times contradict; None: nothing. Findings must be right each time."""
    db = world.record(name)
    bad, unjudged = findings(world, db, 1)
    fixed, _ = findings(world, db, 2)
    walls = wall_s(db)
    for wanted in module.FINDS:
        if wanted in unjudged:
            raise Skipped(f"{wanted} could not be judged: {unjudged[wanted]}")
        check(wanted in bad, f"bad does not give {wanted}; it gives {sorted(bad)}")
        check(wanted not in fixed, f"fixed gives {wanted} still: {fixed.get(wanted)}")
        text = measured_gain(name, bad[wanted], walls)
        part.note(text)
        try:
            compared(world, db, name)
            if GAINS and GAINS[-1][0] == name:
                judge_gain(module, *GAINS[-1][2:4])
        except Failed as e:
            return str(e)
    return None


def pair(name):
    module = importlib.import_module(name)

    def case(world, stack):
        del stack
        if name not in chosen(world.pairs):
            raise Skipped("with CACHEMON_FULL=1")
        wrong = both_versions(world, name, module)
        if wrong:
            # Other guests slow the disk in both runs: two more pairs decide.
            part.note(f"once more, twice: {wrong}")
            for _ in range(2):
                wrong = both_versions(world, name, module)
                check(not wrong, wrong)

    case.__name__ = name
    return case


def judge_gain(module, foretold, measured):
    """A module whose prediction cannot be accurate says why in GAIN."""
    if hasattr(module, "GAIN"):
        part.note(f"not judged: {module.GAIN}")
        return
    check(measured > 0 and 1 / FACTOR <= foretold / measured <= FACTOR,
          f"{foretold:.2f} s were foretold and {measured:.2f} s gained")


def compared(world, db, name):
    """Both versions do the same job, the fixed one perhaps with fewer reads. If compare says
    that it has too little data, its advice is followed."""
    said = json.loads(world.tool.run("compare", "--db", db, "1", "2", "--per", "job", "--format", "json"))
    verdict = said["jobs"][0]["verdict"]
    part.note(f"compare: {verdict['sentence']}")
    if verdict["result"] == "untested" and name != README and SHORTER in verdict["sentence"]:
        db = world.record(name, "--interval", "100ms")
        said = json.loads(world.tool.run("compare", "--db", db, "1", "2", "--per", "job", "--format", "json"))
        verdict = said["jobs"][0]["verdict"]
        part.note(f"compare: {verdict['sentence']}")
    check(verdict["result"] == "improved", f"compare says {verdict['result']}: {verdict['sentence']}")


def chosen(count):
    order = [n for n in FIRST if n in runner.names()]
    return (order + [n for n in runner.names() if n not in order])[:count]


def three_pairs_gain_twice(world, stack):
    del stack
    if world.pairs < len(runner.names()):
        raise Skipped("with CACHEMON_FULL=1")
    print(f"{'pair':14} {'finding':28} {'foretold':>9} {'gained':>9} {'ratio':>6}")
    for name, finding, foretold, gained, ratio in GAINS:
        print(f"{name:14} {finding:28} {foretold:7.2f} s {gained:7.2f} s {ratio:6.2f}")
    twice = {g[0] for g in GAINS if g[4] >= 2}
    if len(twice) < TWOFOLD:
        raise Failed(f"only {', '.join(sorted(twice)) or 'none'} became twice as fast")


@part.case
def the_first_example_gains_twice(world, stack):
    """The output of examples/try: on an unmodified disk, the first finding is the fault, its fix
    at least doubles the speed of the job, and compare says so."""
    if not world.place:
        raise Skipped(world.lacking)
    place = stack.enter_context(runner.Place("ext4", world.place.base))
    program, path, db = f"{place.dir}/validate", f"{place.dir}/validation.bin", world.tool.fresh(".db")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-o", program,
                    os.path.join(ROOT, "examples", "validate.c")], check=True)
    with open(path, "wb") as f:
        f.write(os.urandom(16 << 20))
        os.fsync(f.fileno())
    for keep in "01":
        subprocess.run([world.tool.cachemon, "watch", "--job", "validation", "--level", "full", "--interval", "100ms",
                        "--db", db, "--", program, path], check=True, capture_output=True,
                       env={**os.environ, "KEEP": keep})
    first = json.loads(world.tool.run("advise", "--db", db, "--run", "1", "--format", "json"))["jobs"][0]
    check(first["answer"] == "fix", f"the answer is {first['answer']}")
    check(first["findings"][0]["id"] == "dontneed-harmful", f"the first finding is {first['findings'][0]['id']}")
    check("dontneed-harmful" not in findings(world, db, 2)[0], "the fixed job has it still")
    walls = wall_s(db)
    part.note(f"{walls[0]:.2f} s became {walls[1]:.2f} s; {first['findings'][0]['gain']} was foretold")
    check(walls[0] >= 2 * walls[1], f"{walls[0]:.2f} s became {walls[1]:.2f} s")
    compared(world, db, "validation")


for example in runner.names():
    part.case(pair(example))
part.case(three_pairs_gain_twice)

if __name__ == "__main__":
    sys.exit(part.main(World))
