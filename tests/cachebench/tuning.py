# SPDX-License-Identifier: BSD-2-Clause
"""Thresholds of rules, chosen on one half of the labelled workloads and scored on the other.

Each half chooses for the other one, so that every recording is scored with thresholds that were
chosen without it. A gain on the choosing half that the other half lacks is luck."""

import collections
import concurrent.futures
import os
import re
import zlib

from score import RULES, Score, Tally, text

FACTORS = (0.75, 1.33, 0.5, 2)  # of equal ones the nearest is chosen
BESIDE = 2  # analyses at once


def halves(workloads):
    """{name: 0 or 1}, by a fixed hash. Workloads are dealt alternately in the order of the hash,
    those with the same required findings together, so that each half has its share of every
    kind."""
    def place(name):
        kind = " ".join(sorted(workloads[name]["must"]))
        return zlib.crc32(kind.encode()), kind, zlib.crc32(name.encode()), name

    return {name: i & 1 for i, name in enumerate(sorted(workloads, key=place))}


class Rule:
    """The text of a rule, and the thresholds that decide whether it fires: [(name, value,
    unit)]; those that decide only the severity are left out. last: it depends on the findings of
    others."""

    def __init__(self, name, source):
        self.name, self.source = name, source
        self.params = re.findall(r"^-- param ((?:min|max)_\w+) = (\S+)(?: (\w+))?", source, re.M)
        self.last = bool(re.search(r"^-- order: last", source, re.M))

    def changed(self, values, name=None):
        """The text of the rule with other values, under another name."""
        source = re.sub(r"^-- id: .*$", f"-- id: {name or self.name}", self.source, flags=re.M)
        for param, value in values.items():
            source = re.sub(rf"^(-- param {param} = )\S+", rf"\g<1>{value}", source, flags=re.M)
        return source


def own_rules():
    rules = []
    for file in sorted(os.listdir(RULES)):
        with open(os.path.join(RULES, file), encoding="utf-8") as f:
            rules.append(Rule(file[:-4], f.read()))
    return {rule.name: rule for rule in rules}


def scaled(value, factor, unit):
    number = float(value) * factor
    if unit == "ratio" and "." in value and float(value) <= 1:
        number = min(number, 0.999)
    return f"{number:.6g}" if "." in value else str(max(1, int(number)))


def worth(tally):
    """F1; with nothing to find, finding nothing is perfect."""
    f1 = tally.f1()
    return 1.0 if f1 is None else f1


Margin = collections.namedtuple("Margin", "rule param factor before after")  # F1 of the rule


class Trial:
    """A rule with one more changed value, which runs with the others under its own name."""

    def __init__(self, rule, values, number, what):
        self.rule, self.values, self.name = rule, values, f"{rule.name}-try{number}"
        self.what = what  # parameter, factor
        self.score = Score()

    def take(self, cell, name, w, found, unjudged):
        """As if it were the rule. Only the rule's own tally of the score is meaningful."""
        known = {k: v for k, v in unjudged.items() if k != self.rule.name}
        if self.name in unjudged:
            known[self.rule.name] = unjudged[self.name]
        self.score.take(cell, name, w, {self.rule.name: found[self.name]} if self.name in found else {}, known)

    def worth(self):
        return worth(self.score.tally(self.rule.name))


class Tuner:
    """judge(db, rules) gives ({finding: severity}, {not judged: reason}); rules is a directory or None."""

    def __init__(self, judge, work, rules=None):
        self.judge, self.work, self.serial = judge, work, 0
        self.rules = own_rules() if rules is None else rules

    def write(self, chosen, trials=()):
        """A site's directory: these rules instead of the program's, and the trials in addition."""
        self.serial += 1
        directory = os.path.join(self.work, f"rules-{self.serial}")
        os.makedirs(directory)
        texts = {name: self.rules[name].changed(values) for name, values in chosen.items()}
        texts.update((t.name, t.rule.changed(t.values, t.name)) for t in trials)
        for name, source in texts.items():
            with open(os.path.join(directory, name + ".sql"), "w", encoding="utf-8") as f:
                f.write(source)
        return directory if texts else None

    def ask(self, items, chosen, trials=()):
        """(recording, answer) of each."""
        rules = self.write(chosen, trials)
        with concurrent.futures.ThreadPoolExecutor(BESIDE) as pool:
            yield from zip(items, pool.map(lambda item: self.judge(item[3], rules), items),
                           strict=True)

    def scores(self, items, chosen):
        """{finding: Tally} of recordings under changed thresholds."""
        score = Score()
        for (cell, name, w, _), (found, unjudged) in self.ask(items, chosen):
            score.take(cell, name, w, found, unjudged)
        return score.by_finding

    def trials(self, rules, chosen):
        """Each parameter times each factor, in addition to the accepted changes."""
        changes = [(rule, {**chosen.get(rule.name, {}), name: scaled(value, factor, unit)}, (name, factor))
                   for factor in FACTORS for rule in rules for name, value, unit in rule.params]
        return [Trial(rule, values, n, what) for n, (rule, values, what) in enumerate(changes)]

    def margins(self, items):
        """A Margin for each single change of a threshold. Rules that depend on findings of
        others are left out: they would depend on the trials."""
        rules = [r for r in self.rules.values() if not r.last]
        own, trials = Score(), self.trials(rules, {})
        for (cell, name, w, _), (found, unjudged) in self.ask(items, {}, trials):
            own.take(cell, name, w, {k: v for k, v in found.items() if k in self.rules}, unjudged)
            for trial in trials:
                trial.take(cell, name, w, found, unjudged)
        return [Margin(t.rule.name, *t.what, worth(own.tally(t.rule.name)), t.worth()) for t in trials]

    def improve(self, items, chosen, rules, now):
        """Takes the best single change of each rule, until no change is better."""
        best = {rule.name: worth(now.get(rule.name, Tally())) for rule in rules}
        while any(best[rule.name] < 1 for rule in rules):
            trials = self.trials([r for r in rules if best[r.name] < 1], chosen)
            for (cell, name, w, _), (found, unjudged) in self.ask(items, chosen, trials):
                for trial in trials:
                    trial.take(cell, name, w, found, unjudged)
            before = dict(best)
            for trial in trials:
                if trial.worth() > best[trial.rule.name]:
                    best[trial.rule.name] = trial.worth()
                    chosen[trial.rule.name] = trial.values
            if best == before:
                break

    def choose(self, items, now=None):
        """{rule: {parameter: value}}: values better than the rule's own on these recordings,
        whose present score is now."""
        chosen, now = {}, self.scores(items, {}) if now is None else now
        self.improve(items, chosen, [r for r in self.rules.values() if not r.last], now)
        if any(r.last for r in self.rules.values()):
            now = self.scores(items, chosen) if chosen else now
            self.improve(items, chosen, [r for r in self.rules.values() if r.last], now)
        return chosen


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


def print_margins(margins):
    """The distance of the thresholds from other findings."""
    for factor in sorted({m.factor for m in margins}):
        changed = [m for m in margins if m.factor == factor]
        print(f"thresholds one at a time at {factor} times their value: {len(changed)}, of which "
              f"{sum(m.after >= m.before for m in changed)} make no rule worse")
    for m in sorted(m for m in margins if m.after < m.before):
        print(f"  {m.rule}: {m.param} at {m.factor} times: F1 {m.after:.3f} instead of {m.before:.3f}")


def tune(items, workloads, judge, work):
    """Prints the choice of each half and its score on the other half."""
    half_of, tuner, own, chosen = halves(workloads), Tuner(judge, work), {}, {}
    of_half = [[i for i in items if half_of[i[1]] == half] for half in (0, 1)]
    now = [tuner.scores(half, {}) for half in of_half]
    for half in 0, 1:
        changes = tuner.choose(of_half[half], now[half])
        after = tuner.scores(of_half[1 - half], changes)
        print(f"half {half}: {len(of_half[half])} recordings choose, the other "
              f"{len(of_half[1 - half])} score", flush=True)
        for rule, values in sorted(changes.items()):
            was = {n: v for n, v, _ in tuner.rules[rule].params}
            print(f"  {rule}: " + ", ".join(f"{n} {v} instead of {was[n]}" for n, v in values.items()))
        for title, tallies in (("own", now[1 - half]), ("chosen", after)):
            t = total(tallies)
            print(f"  {title} thresholds: precision {text(t.precision())}, recall {text(t.recall())}")
        merged(own, now[1 - half])
        merged(chosen, after)
    print_table(own, chosen)
    print_margins(tuner.margins(items))
