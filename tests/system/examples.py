#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The examples: the bad version gives its finding, the fixed one does not, compare calls it improved, and
the gain that was foretold is the one that came. All pairs with CACHEMON_FULL=1, else a few."""

import importlib
import importlib.machinery
import importlib.util
import json
import os
import sqlite3
import sys
from contextlib import closing

from syslib.part import Failed, Part, Skipped, check
from syslib.tool import Tool

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load(path):
    """A program without an ending as a module."""
    loader = importlib.machinery.SourceFileLoader("examples_run", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("examples_run", loader))
    loader.exec_module(module)
    return module


runner = load(os.path.join(ROOT, "examples", "run"))
part = Part(__doc__)
part.count_option("pairs", len(runner.names()), 4, "pairs of examples")
# Those that need little: counters alone decide them.
FIRST = ("validation", "memory_limit", "log_tail", "epochs")
FACTOR = 1.5  # between the gain foretold and the one measured
GAINS = []    # (pair, finding, foretold s, measured s, ratio of wall times)
TWOFOLD = 3   # pairs that must gain twice
README = "validation"  # which the README shows, with no option
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
        """A database with the bad version as run 1, the fixed one as run 2."""
        if not self.place:
            raise Skipped(self.lacking)
        db = self.tool.fresh(".db")
        for version in ("bad", "fixed"):
            status = runner.record(self.tool.cachemon, self.place, name, version, db,
                                   options=options, quiet=True)
            check(status == 0, f"watch of the {version} version exits {status}")
        return db


def findings(world, db, run):
    """({id: finding}, {id: reason}) of a run; what was merged into another is found as well."""
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
    """What the times do not bear out; None: they do. Findings must be right each time."""
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
            # What other guests do to the disk is in both times: two more pairs settle it.
            part.note(f"once more, twice: {wrong}")
            for _ in range(2):
                wrong = both_versions(world, name, module)
                check(not wrong, wrong)

    case.__name__ = name
    return case


def judge_gain(module, foretold, measured):
    """A module that cannot be right to a factor says why in GAIN."""
    if hasattr(module, "GAIN"):
        part.note(f"not judged: {module.GAIN}")
        return
    check(measured > 0 and 1 / FACTOR <= foretold / measured <= FACTOR,
          f"{foretold:.2f} s were foretold and {measured:.2f} s gained")


def compared(world, db, name):
    """Both versions do the same job, the fixed one with fewer reads perhaps. What compare says to do where it has too
    little data is done."""
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


for example in runner.names():
    part.case(pair(example))
part.case(three_pairs_gain_twice)

if __name__ == "__main__":
    sys.exit(part.main(World))
