# SPDX-License-Identifier: BSD-2-Clause
"""Precision and recall of findings, and thresholds chosen on one half of the workloads."""

import os
import re
import zlib

RULES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "sql",
                     "rules")
GOAL = 0.95
FACTORS = (0.5, 0.75, 1, 1.33, 2)


def ratio(part, whole):
    return part / whole if whole else None


def text(value):
    return "-" if value is None else f"{value:.3f}"


class Tally:
    def __init__(self):
        self.right = self.wrong = self.missed = self.unjudged = 0

    def precision(self):
        return ratio(self.right, self.right + self.wrong)

    def recall(self):
        return ratio(self.right, self.right + self.missed)

    def add(self, other):
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def f1(self):
        return ratio(2 * self.right, 2 * self.right + self.wrong + self.missed)


class Score:
    def __init__(self):
        self.by_finding = {}
        self.alarms = []   # of healthy workloads
        self.mistakes = []
        self.reasons = {}

    def tally(self, finding):
        return self.by_finding.setdefault(finding, Tally())

    def take(self, cell, name, w, found, unjudged):
        """What may be found counts for nothing. What must be and could not be judged is counted apart."""
        for finding in w["must"]:
            if finding in found:
                self.tally(finding).right += 1
            elif finding in unjudged:
                self.tally(finding).unjudged += 1
                self.reasons[finding] = unjudged[finding]
            else:
                self.tally(finding).missed += 1
                self.mistakes.append(f"{cell} {name}: misses {finding}; finds {sorted(found)}")
        for finding in sorted(found - set(w["must"]) - set(w["may"])):
            if finding == "nothing-wrong" and self.excused(w, unjudged):
                continue
            self.tally(finding).wrong += 1
            self.mistakes.append(f"{cell} {name}: finds {finding}")
            if w["healthy"]:
                self.alarms.append(f"{cell} {name}: {finding}")

    @staticmethod
    def excused(w, unjudged):
        """Nothing wrong: right for a workload that must give nothing, and all that can be said where
        what it must give was not measured."""
        return not w["must"] or bool(set(w["must"]) & set(unjudged))

    def all(self):
        total = Tally()
        for tally in self.by_finding.values():
            total.add(tally)
        return total

    def print_table(self):
        print(f"{'finding':30} {'right':>5} {'wrong':>5} {'missed':>6} {'not judged':>10} "
              f"{'precision':>9} {'recall':>6}")
        for finding, t in [*sorted(self.by_finding.items()), ("all", self.all())]:
            print(f"{finding:30} {t.right:5} {t.wrong:5} {t.missed:6} {t.unjudged:10} "
                  f"{text(t.precision()):>9} {text(t.recall()):>6}")
        for finding, reason in sorted(self.reasons.items()):
            print(f"not judged: {finding}: {reason}")

    def verdicts(self):
        """(passed, failed, skipped, why)"""
        passed, skipped, why = 0, 0, list(self.mistakes)
        failed = 0
        for finding, t in [*sorted(self.by_finding.items()), ("all findings", self.all())]:
            if not t.right + t.wrong + t.missed:
                skipped += 1
                continue
            low = [f"{what} {text(value)}" for what, value in (("precision", t.precision()),
                                                              ("recall", t.recall()))
                   if value is not None and value < GOAL]
            if low:
                failed += 1
                why.append(f"FAILED  {finding}: {', '.join(low)}")
            else:
                passed += 1
        if self.alarms:
            failed += 1
            why.append(f"FAILED  false alarms on healthy workloads: {len(self.alarms)}")
        else:
            passed += 1
        return passed, failed, skipped, why


def half_of(name):
    """The same half in each cell, whatever else is in the table."""
    return zlib.crc32(name.encode()) & 1


def parameters():
    """{rule: [(name, value, unit)]} of the thresholds that decide; those of severity do not."""
    found = {}
    for file in sorted(os.listdir(RULES)):
        with open(os.path.join(RULES, file)) as f:
            lines = re.findall(r"^-- param ((?:min|max)_\w+) = (\S+)(?: (\w+))?", f.read(), re.M)
        found[file[:-4]] = lines
    return found


def scaled(value, factor, unit):
    number = float(value) * factor
    if unit == "ratio" and "." in value and float(value) <= 1:
        number = min(number, 0.999)
    return f"{number:.6f}" if "." in value else str(max(1, int(number)))


def write_rules(directory, changes):
    """A site's directory that overrides thresholds: {rule: {name: value}}."""
    os.makedirs(directory, exist_ok=True)
    for rule, values in changes.items():
        with open(os.path.join(directory, rule + ".sql"), "w") as f:
            f.write(f"-- id: {rule}\n" + "".join(f"-- param {n} = {v}\n" for n, v in values.items()))


def scores(items, judge, rules):
    score = Score()
    for cell, name, w, db in items:
        found, unjudged = judge(db, rules)
        score.take(cell, name, w, found, unjudged)
    return score.by_finding


def better(now, then):
    return then is None or (now is not None and now > then)


def choose_thresholds(items, judge, work):
    """Each parameter alone, all rules at once: the n-th parameter of every rule by one factor. A factor
    is taken when it gives the rule a better F1 on the first half than its own value."""
    first = [i for i in items if not half_of(i[1])]
    second = [i for i in items if half_of(i[1])]
    params = parameters()
    start, chosen = scores(first, judge, None), {}
    best = {rule: (t.f1(), None) for rule, t in start.items()}
    for place in range(max(len(p) for p in params.values())):
        for factor in FACTORS:
            if factor == 1:
                continue
            changes = {r: {p[place][0]: scaled(p[place][1], factor, p[place][2])}
                       for r, p in params.items() if place < len(p)}
            directory = os.path.join(work, f"rules-{place}-{factor}")
            write_rules(directory, changes)
            for rule, tally in scores(first, judge, directory).items():
                if rule in changes and better(tally.f1(), best.get(rule, (None, None))[0]):
                    best[rule] = (tally.f1(), changes[rule])
    for rule, (_, change) in best.items():
        if change:
            chosen[rule] = change
    directory = os.path.join(work, "rules-chosen")
    write_rules(directory, chosen)
    print(f"thresholds chosen on {len(first)} recordings, scored on the other {len(second)}")
    for rule, change in sorted(chosen.items()):
        print(f"better on the first half: {rule}: "
              + ", ".join(f"{n} = {v} instead of {dict((a, b) for a, b, _ in params[rule])[n]}"
                          for n, v in change.items()))
    for title, rules in (("own thresholds", None), ("chosen thresholds", directory)):
        total = Tally()
        for tally in scores(second, judge, rules).values():
            total.add(tally)
        print(f"second half, {title}: precision {text(total.precision())}, recall {text(total.recall())}")
