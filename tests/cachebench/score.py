# SPDX-License-Identifier: BSD-2-Clause
"""Precision and recall of findings."""

import os

RULES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "sql",
                     "rules")
GOAL = 0.95
WORTH = ("low", "medium", "high")
ALWAYS = ("nothing-wrong", "too-little-data")


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
        """found: {id: severity}. Optional findings do not count. A required finding that could
        not be judged is counted separately. A required finding is right even below the floor
        (info), and then nothing else may be recommended; a forbidden one is wrong only above the
        floor."""
        below = {f for f in w["must"] if found.get(f) == "info"} - set(ALWAYS)
        found = {f for f, severity in found.items() if severity in WORTH or f in (*ALWAYS, *w["must"])}
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
            if finding == "nothing-wrong" and (self.excused(w, unjudged) or below == set(w["must"]) & found):
                continue
            self.tally(finding).wrong += 1
            self.mistakes.append(f"{cell} {name}: finds {finding}")
            if w["healthy"]:
                self.alarms.append(f"{cell} {name}: {finding}")

    @staticmethod
    def excused(w, unjudged):
        """"Nothing wrong" is right for a healthy workload, and the best answer if the required
        finding was not measured."""
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
