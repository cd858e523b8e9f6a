#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How CacheBench chooses thresholds: on answers that are known, so that the best thresholds are
known too."""

import json
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(os.path.dirname(HERE), "cachebench")
sys.path[:0] = [HERE, BENCH]

from syslib.part import Part, check, equal  # noqa: E402
from tuning import Rule, Tuner, halves  # noqa: E402

part = Part(__doc__)
SLOW = """-- id: slow
-- param min_a = 0.8 ratio -- why
-- param min_b = 100 pages -- why
-- param high_a = 0.9 ratio -- of its severity
"""
QUIET = "-- id: quiet\n-- param min_c = 10\n"
OWN = {"slow": SLOW, "quiet": QUIET}


def texts(rules):
    """{name: text} of the program's rules, with those of a site added."""
    found = dict(OWN)
    for file in os.listdir(rules) if rules else ():
        with open(os.path.join(rules, file), encoding="utf-8") as f:
            found[file[:-4]] = f.read()
    return found


def judge(db, rules):
    """The rule slow fires from the thresholds a and b on, the rule quiet from c; db: the measured
    values."""
    found = {}
    for name, text in texts(rules).items():
        equal("id", re.findall("^-- id: (.*)$", text, re.M), [name])
        limits = {k: float(v) for k, v in re.findall(r"^-- param min_(\w) = (\S+)", text, re.M)}
        if all(db[k] >= v for k, v in limits.items()):
            found[name] = "medium"
    return found, {}


def recording(name, must, **measured):
    return "cell", name, {"must": must, "may": [], "healthy": not must}, \
        {"a": 0, "b": 0, "c": 0, **measured}


def tuner():
    work = tempfile.TemporaryDirectory(prefix="cachemon-test.")
    return work, Tuner(judge, work.name, {n: Rule(n, t) for n, t in OWN.items()})


@part.case
def two_parameters_of_one_rule(_world, stack):
    """Neither change alone finds both; no false alarm is accepted."""
    items = [recording("one", ["slow"], a=0.65, b=150), recording("two", ["slow"], a=0.9, b=80),
             recording("well", [], a=0.5, b=1000), recording("fine", [], a=1, b=40)]
    work, t = tuner()
    stack.callback(work.cleanup)
    equal("chosen", t.choose(items), {"slow": {"min_a": "0.6", "min_b": "75"}})


@part.case
def nothing_to_find_changes_nothing(_world, stack):
    """A rule without a workload to find is perfect as long as it raises no alarm."""
    work, t = tuner()
    stack.callback(work.cleanup)
    equal("chosen", t.choose([recording("well", [], c=6, a=0.7, b=90)]), {})
    equal("of an alarm", t.choose([recording("well", [], c=12)]), {"quiet": {"min_c": "13"}})


@part.case
def the_other_half_scores(_world, stack):
    """A change that is better on one half may be worse on the other, and its table says so."""
    work, t = tuner()
    stack.callback(work.cleanup)
    changes = t.choose([recording("one", ["quiet"], c=8)])
    equal("chosen", changes, {"quiet": {"min_c": "7"}})
    tallies = t.scores([recording("other", [], c=7)], changes)
    equal("wrong", tallies["quiet"].wrong, 1)
    equal("before", t.scores([recording("other", [], c=7)], {}), {})


@part.case
def margins_say_what_a_change_costs(_world, stack):
    """For each single change: the score of the rule with it, and without it."""
    work, t = tuner()
    stack.callback(work.cleanup)
    items = [recording("one", ["slow"], a=0.85, b=1000), recording("two", ["slow"], a=0.99, b=110),
             recording("well", [], a=0.5, b=1000)]
    found = {(m.rule, m.param, m.factor): (m.before, m.after) for m in t.margins(items)}
    equal("changes", len(found), 4 * 3)
    equal("kept", found["slow", "min_a", 0.75], (1.0, 1.0))
    equal("one of two lost", found["slow", "min_b", 1.33], (1.0, 2 / 3))
    equal("a false alarm", found["slow", "min_a", 0.5], (1.0, 0.8))
    equal("nothing to find", found["quiet", "min_c", 2], (1.0, 1.0))


@part.case
def each_kind_is_in_both_halves(_world, _stack):
    with open(os.path.join(BENCH, "workloads.json"), encoding="utf-8") as f:
        table = json.load(f)
    all_of = {name: {"must": ["nothing-wrong"] if group == "healthy" else [], **w}
              for group in ("healthy", "bad") for name, w in table[group].items()}
    half_of = halves(all_of)
    equal("workloads", set(half_of), set(all_of))
    check(abs(sum(half_of.values()) * 2 - len(half_of)) <= 1, f"{sum(half_of.values())} in one half")
    kinds = {}
    for name, w in all_of.items():
        kinds.setdefault(tuple(sorted(w["must"])), []).append(half_of[name])
    for kind, sides in kinds.items():
        check(abs(2 * sum(sides) - len(sides)) <= 1, f"{kind}: {sides}")
    equal("the same again", halves(dict(reversed(all_of.items()))), half_of)


if __name__ == "__main__":
    sys.exit(part.main(lambda *_: None))
