# SPDX-License-Identifier: BSD-2-Clause
"""One cell of the table: a pattern on a filesystem, repeated while it is disturbed."""

import json
import os
import shutil

from . import compare, takers
from .watch import Failed, Lacking, file_totals, remove

REPEATS = 4


class Outcome:
    """rows: (file, column, expected, got, difference) of the judged attempt."""

    by_others = False  # skipped because of other processes that the kernel names

    def __init__(self, status, notes=(), rows=(), attempts=1, absent=None, lacking=False):
        self.status = status  # passed, failed, absent (right except nulls with a reason), skipped
        self.notes = list(notes)
        self.rows = list(rows)
        self.attempts = attempts
        self.absent = dict(absent or {})  # {column: cachemon's reason for its null}
        self.lacking = lacking  # skipped because of the machine, not because of a disturbance

    def left_out(self):
        """The kernel skipped runs of programs, and cachemon reported that: fault/preempted.py
        checks the figures of that case."""
        return any(note.startswith("losses.recursion_misses") for note in self.notes)

    def wrong(self):
        return [r for r in self.rows
                if r[4] != 0 and not (r[3] is None and r[1] in self.absent)]

    def error(self):
        """Sum of the differences; None if a column was null without a reason."""
        if any(r[3] is None for r in self.wrong()):
            return None
        return sum(abs(r[4]) for r in self.rows if r[4] is not None)


def decide(rows, errors, unmeasured):
    """A figure that is null for a reason is absent, never right; any other difference is wrong."""
    absent = {r[1]: compare.absent_reason(r[1], unmeasured) for r in rows if r[3] is None}
    absent = {column: reason for column, reason in absent.items() if reason}
    outcome = Outcome("passed", errors, rows, absent=absent)
    if errors or outcome.wrong():
        outcome.status = "failed"
    elif absent:
        outcome.status = "absent"
    return outcome


def clear(directory):
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        if name == "lost+found":
            continue
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def listed(by):
    return ", ".join(f"{pages:,} by {cause}" for cause, pages in sorted(by.items()))


def disturbance(tools, expectation, held=None, taken=None):
    """The reason why this run must not be judged, from the oracle alone; None: judge it. held:
    of the cell; taken: the known ways in which pages left."""
    for f in expectation["files"]:
        if f["disturbed"]:
            return f"{os.path.basename(f['path'])}: {f['reason']}"
        by = taken.get(f["ino"]) if taken else None
        if by and not held(by):
            return f"{os.path.basename(f['path'])}: pages left in another way than the pattern needs"
    there = [f for f in expectation["files"] if not f["gone"]]
    for f, pages in zip(there, tools.scan(*(f["path"] for f in there)) if there else []):
        if pages != f["resident"]:
            return f"{os.path.basename(f['path'])}: pages left after the last look"
    return None


def judge(expectation, report, job, pattern, more):
    """more: (rows, errors) that the cell itself found."""
    unmeasured = compare.unmeasured_of(report)
    rows, notes = list(more[0]), []
    for want in expectation["files"]:
        totals = file_totals(job, want["dev"], want["ino"])
        name = os.path.basename(want["path"])
        if totals is None:
            notes.append(f"{name}: no entry in the report")
        rows += [(name, *r) for r in compare.compare_file(want, totals, unmeasured)]
    errors = compare.report_errors(report) + more[1]
    if pattern == "small_files":
        errors += directory_errors(expectation, job, unmeasured)
    outcome = decide(rows, errors, unmeasured)
    if outcome.wrong():
        outcome.notes = notes + outcome.notes
    return outcome


def directory_errors(expectation, job, unmeasured):
    """Every directory's row, compared with the sum of the oracle's files in it."""
    want, errors = {}, []
    for f in expectation["files"]:
        entry = want.setdefault(os.path.dirname(f["path"]), {"files": 0})
        entry["files"] += 1
        for key, value in f["expect"].items():
            entry[key] = entry.get(key, 0) + value
    got = {d["path"]: d for d in job["directories"] or []}
    for path, sums in want.items():
        if path not in got:
            errors.append(f"{path}: no row among the directories")
            continue
        have = compare.columns(got[path]["totals"])
        have["files"] = got[path]["files"]
        errors += [f"{path}: {k} expected {v}, got {have[k]}" for k, v in sums.items()
                   if have[k] != v and not (have[k] is None
                                            and compare.absent_reason(k, unmeasured))]
    return errors


class Cell:
    """A named pattern. Subclasses add a condition around it and their own checks."""

    alone = False  # its changes to the machine would disturb cells of other filesystems
    root = False  # the workload itself needs root

    def __init__(self, name, setup, pattern=None):
        self.name = name
        self.setup = setup
        self.pattern = pattern or name
        if self.pattern == "drop_caches":
            self.alone = self.root = True

    def arguments(self, env, fs):
        """Additional arguments of wl run."""
        return []

    def condition(self, env, fs):
        """A context manager within which the pattern runs."""
        return Nothing()

    def unfit(self, expectation):
        """A missing feature that the cell needs, as found by the oracle, or None."""
        return None

    def held(self, by):
        """Whether pages of a file left only in the ways that the cell expects; by: {cause:
        pages}, see takers.py. The looks of most patterns see each page that leaves."""
        return True

    def more(self, expectation, job):
        """(rows, errors) in addition to the figures of the files."""
        return [], []

    def run(self, env, fs):
        why, by_others = [], True
        if fs in env.images.lacking:
            return Outcome("skipped", [env.images.lacking[fs]], lacking=True)
        if self.root and env.tools.way.user:
            return Outcome("skipped", ["the workload needs root"], lacking=True)
        for attempt in range(1, REPEATS + 2):
            env.takers[fs].begin()
            try:
                outcome = self.attempt(env, fs, why)
                by = {} if outcome else takers.others(env.takers[fs].taken())
            except Lacking as e:
                return Outcome("skipped", [str(e)], attempts=attempt, lacking=True)
            except Failed as e:
                return Outcome("failed", [str(e)], attempts=attempt)
            finally:
                clear(env.images.mount(fs))
            if outcome and outcome.left_out() and attempt <= REPEATS:
                why.append("the kernel left out runs of programs")
                outcome = None
            if outcome:
                outcome.attempts = attempt
                return outcome
            if by:
                why[-1] += f"; evicted pages: {listed(by)}"
            by_others = by_others and bool(by)
        outcome = Outcome("skipped", why, attempts=REPEATS + 1)
        outcome.by_others = by_others
        return outcome

    def attempt(self, env, fs, why):
        tools = env.tools
        path = os.path.join(env.images.mount(fs), "file")
        out = tools.fresh(".json")
        tools.run_wl("prepare", self.setup, path)
        env.takers[fs].begin()
        with self.condition(env, fs):
            db = tools.watch([tools.wl, "run", self.pattern, path, out, str(env.seed),
                              *self.arguments(env, fs)])
            with open(out) as f:
                expectation = json.load(f)
            disturbed = disturbance(tools, expectation, self.held, env.takers[fs].taken())
        for want in expectation["files"]:
            want["warm"] = self.setup == "warm"
            broken = compare.oracle_law(want)
            if broken and not disturbed:
                raise Failed(broken)
        if disturbed:
            why.append(disturbed)
            remove(db, out)
            return None
        if self.unfit(expectation):
            remove(db, out)
            raise Lacking(self.unfit(expectation))
        return self.verdict(tools, db, out, expectation)

    def verdict(self, tools, db, out, expectation):
        if not tools.cachemon:
            rows = [(os.path.basename(f["path"]), k, v, v, 0)
                    for f in expectation["files"] for k, v in f["expect"].items()]
            return Outcome("passed", [f"values {expectation['values']}"], rows)
        report, job = tools.report(db)
        outcome = judge(expectation, report, job, self.pattern, self.more(expectation, job))
        if outcome.status == "failed":
            outcome.notes.append(f"kept: {db} {out}")
        else:
            remove(db, out)
        return outcome


class Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False
