# SPDX-License-Identifier: BSD-2-Clause
"""Thresholds of rules, chosen on one half of the labelled workloads and scored on the other.

Each half chooses for the other one, so that every recording is scored by thresholds that were chosen
without it. What a rule gains on the half that chose and not on the other is luck."""

import concurrent.futures
import os
import re
import zlib

from score import RULES, Score, Tally, text

FACTORS = (0.75, 1.33, 0.5, 2)  # of equal ones the nearest is taken
BESIDE = 2  # analyses at once


def halves(workloads):
    """{name: 0 or 1}, by a fixed hash. In its order workloads are dealt out in turns, those that must give
    the same findings together: so each half has its share of every kind."""
    def place(name):
        kind = " ".join(sorted(workloads[name]["must"]))
        return zlib.crc32(kind.encode()), kind, zlib.crc32(name.encode()), name

    return {name: i & 1 for i, name in enumerate(sorted(workloads, key=place))}


def parameters():
    """({rule: [(name, value, unit)]} of the thresholds that decide, {rules that look at the others'
    findings}); what decides of severity alone is left as it is."""
    found, last = {}, set()
    for file in sorted(os.listdir(RULES)):
        with open(os.path.join(RULES, file), encoding="utf-8") as f:
            source = f.read()
        found[file[:-4]] = re.findall(r"^-- param ((?:min|max)_\w+) = (\S+)(?: (\w+))?", source, re.M)
        if re.search(r"^-- order: last", source, re.M):
            last.add(file[:-4])
    return found, last


def scaled(value, factor, unit):
    number = float(value) * factor
    if unit == "ratio" and "." in value and float(value) <= 1:
        number = min(number, 0.999)
    return f"{number:.6g}" if "." in value else str(max(1, int(number)))


def write_rules(directory, changes):
    """A site's directory that overrides thresholds: {rule: {name: value}}."""
    os.makedirs(directory, exist_ok=True)
    for rule, values in changes.items():
        if values:
            with open(os.path.join(directory, rule + ".sql"), "w", encoding="utf-8") as f:
                f.write(f"-- id: {rule}\n" +
                        "".join(f"-- param {n} = {v}\n" for n, v in values.items()))
    return directory


class Tuner:
    """judge(db, rules) gives ({findings}, {not judged: reason}); rules is a directory or None."""

    def __init__(self, judge, work, rules=None):
        self.judge, self.work, self.serial = judge, work, 0
        self.params, self.last = rules or parameters()

    def scores(self, items, changes):
        """{finding: Tally} of recordings under changed thresholds."""
        self.serial += 1
        rules = write_rules(os.path.join(self.work, f"rules-{self.serial}"), changes) \
            if any(changes.values()) else None
        score = Score()
        with concurrent.futures.ThreadPoolExecutor(BESIDE) as pool:
            answers = pool.map(lambda item: self.judge(item[3], rules), items)
            for (cell, name, w, _), (found, unjudged) in zip(items, answers, strict=True):
                score.take(cell, name, w, found, unjudged)
        return score.by_finding

    @staticmethod
    def worth(tallies, rule):
        """F1; nothing to find and nothing found is as good as can be."""
        f1 = tallies.get(rule, Tally()).f1()
        return 1.0 if f1 is None else f1

    def improve(self, items, chosen, rules):
        """One parameter after the other, of all these rules at once: kept where the rule is better for it."""
        now = self.scores(items, chosen)
        best = {rule: self.worth(now, rule) for rule in rules}
        for place in range(max((len(self.params[r]) for r in rules), default=0)):
            start = {rule: dict(values) for rule, values in chosen.items()}
            for factor in FACTORS:
                tried = {rule: dict(values) for rule, values in start.items()}
                open_rules = [r for r in rules if place < len(self.params[r]) and best[r] < 1]
                for rule in open_rules:
                    name, value, unit = self.params[rule][place]
                    tried[rule][name] = scaled(value, factor, unit)
                if not open_rules:
                    break
                got = self.scores(items, tried)
                for rule in open_rules:
                    if self.worth(got, rule) > best[rule]:
                        best[rule], chosen[rule] = self.worth(got, rule), tried[rule]

    def choose(self, items):
        """{rule: {parameter: value}}: what is better than the rule's own on these recordings."""
        chosen = {rule: {} for rule in self.params}
        self.improve(items, chosen, [r for r in self.params if r not in self.last])
        self.improve(items, chosen, sorted(self.last))
        return {rule: values for rule, values in chosen.items() if values}


def merged(one, other):
    for finding, tally in other.items():
        one.setdefault(finding, Tally()).add(tally)
    return one


def total(tallies):
    everything = Tally()
    for tally in tallies.values():
        everything.add(tally)
    return everything


def print_table(own, chosen):
    print(f"{'finding':30} {'own thresholds':>25}   {'chosen on the other half':>25}")
    print(f"{'':30} {'precision':>9} {'recall':>6} {'judged':>8}   {'precision':>9} {'recall':>6} "
          f"{'judged':>8}")
    for finding in [*sorted(set(own) | set(chosen)), "all"]:
        print(f"{finding:30}", end="")
        for side in own, chosen:
            t = total(side) if finding == "all" else side.get(finding, Tally())
            print(f" {text(t.precision()):>9} {text(t.recall()):>6} "
                  f"{t.right + t.wrong + t.missed:8}  ", end="")
        print()


def tune(items, workloads, judge, work):
    """Prints what each half chose and how the other half scores it."""
    half_of, tuner, own, chosen = halves(workloads), Tuner(judge, work), {}, {}
    for half in 0, 1:
        choosing = [i for i in items if half_of[i[1]] == half]
        scoring = [i for i in items if half_of[i[1]] != half]
        changes = tuner.choose(choosing)
        print(f"half {half}: {len(choosing)} recordings choose, the other {len(scoring)} score",
              flush=True)
        for rule, values in sorted(changes.items()):
            was = {n: v for n, v, _ in tuner.params[rule]}
            print(f"  {rule}: " + ", ".join(f"{n} {v} instead of {was[n]}" for n, v in values.items()))
        before, after = tuner.scores(scoring, {}), tuner.scores(scoring, changes)
        for title, tallies in (("own", before), ("chosen", after)):
            t = total(tallies)
            print(f"  {title} thresholds: precision {text(t.precision())}, recall {text(t.recall())}")
        merged(own, before)
        merged(chosen, after)
    print_table(own, chosen)
