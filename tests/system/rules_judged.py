#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Rules with uncertain input, run as in rules.py on runs where all conditions except one hold.
Such a finding is neither reported nor dropped, and neither is one that needs a counter that was
not measured. The severity of a finding follows its limits."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rules  # noqa: E402

IN_DOUBT = ("random-with-readahead", "sequential-without-readahead", "stride-defeats-readahead",
            "interleaved-streams", "mmap-random-faults", "network-readahead-small")

# Not needed for a judgement: direct reads; a file whose own figure is known; a lower bound of
# returned pages, whatever the fates of prefetched pages.
DO_WITHOUT = {("cache-bypassed", "rchar_bytes"), ("random-with-readahead", "resident_unused"),
              ("evicted-by-neighbour", "evicted_unused")}


def needs_cover_what_is_read(name):
    """A counter without which a rule does not find its subject is one of its needs, or makes one
    NULL: the rule is then not judged, and did not just find nothing."""
    wrong, run = [], rules.CASES[name]().views()
    run.db.isolation_level = None
    missing = " + ".join(f"({need} IS NULL)" for need in rules.needs(name)) or "0"
    figures = run.columns("v_job")
    for tables, column in [f for f in rules.nullable(run) if "job" in f[0] and f[1] in figures]:
        run.db.execute("BEGIN")
        for table in tables:
            run.db.execute(f"UPDATE {table} SET {column} = NULL")
        found = name in run.find((name,)) or name in run.doubts or (name, column) in DO_WITHOUT
        if not found and not run.db.execute(f"SELECT {missing} FROM v_job").fetchone()[0]:
            wrong.append(column)
        run.db.execute("ROLLBACK")
    return wrong


def doubt_is_said(name):
    """All conditions hold except that the pattern is uncertain, whatever its name: neither
    reported nor dropped."""
    wrong = []
    for what, change in (("unsure", "UPDATE temp.analysis_pattern SET confidence = 0.5"),
                         ("another, unsure", "UPDATE temp.analysis_pattern SET name = 'backward', confidence = 0.5"),
                         ("unknown", "UPDATE temp.analysis_pattern SET name = 'unknown', confidence = 0"),
                         ("none", "DELETE FROM temp.analysis_pattern")):
        run = rules.CASES[name]().views()
        run.db.execute(change)
        found = run.find()
        if name in found or not any("/file" in reason for reason in run.doubts.get(name, ())):
            wrong.append(f"{what}: found {sorted(found)}, in doubt {run.doubts}")
        if "nothing-wrong" in found:
            wrong.append(f"{what}: {found['nothing-wrong'][0]['summary']}")
    run = rules.CASES[name]().views()
    run.db.execute("UPDATE temp.analysis_pattern SET name = 'backward', confidence = 0.9")
    if name in run.find() or name in run.doubts:
        wrong.append(f"another pattern that is sure: {run.doubts}")
    return wrong


def no_doubt_without_a_sign():
    """An uncertain pattern is no doubt if no other condition holds."""
    run = rules.CASES["nothing-wrong"]().pattern("random", confidence=0.5).views()
    found = run.find()
    return [f"in doubt {run.doubts}, found {sorted(found)}"] if run.doubts or "nothing-wrong" not in found else []


def foreseen_reads_are_not_scattered():
    """A job that waits for its disk and reads in order: readahead brings nearly all of its pages."""
    run = rules.Run().job({"/d": {**rules.ONCE, "windows_sync": 10, "windows_async": 1240}}).machine().pattern(
        "scan_once", confidence=0.4).views()
    found = run.find()
    return [f"in doubt {run.doubts}"] if "one-read-at-a-time" in {*found, *run.doubts} else []


def what_was_cached_is_not_known():
    """Pages that WILLNEED did not bring may have been cached: without a count this is not known."""
    run = rules.Run().job({"/d": {**rules.ONCE, "prefetched_willneed": 320}}).machine().advice(
        "willneed", calls=1, pages_asked=16384, pages_brought=320).views()
    found = run.find()
    return [] if "willneed-cut-short" in run.doubts and "nothing-wrong" not in found else \
        [f"found {sorted(found)}, in doubt {run.doubts}"]


def direct_reads_in_no_known_order():
    """Small direct reads: only a trace shows whether they are in order."""
    counters = {"direct_read_calls": 16384, "direct_read_bytes": 16384 * rules.PAGE}
    wrong = []
    for share, doubt in ((None, True), (0.1, False)):
        run = rules.Run().job({"/d": counters}).machine().pattern(
            "direct", **({} if share is None else {"sequential_share": share})).views()
        run.find()
        if ("sequential-without-readahead" in run.doubts) != doubt:
            wrong.append(f"share {share}: in doubt {run.doubts}")
    return wrong


def one_reader_is_no_other():
    """A task that opens a file again for each epoch is one reader, and a cache that is too small
    is another finding; without a trace the number of readers is not known."""
    wrong = []
    for readers, doubt in ((1, False), (None, True)):
        run = rules.Run().job({"/d": rules.FETCHED_TWICE}).pattern(
            "reread", descriptions=4, **({} if readers is None else {"readers": readers})).views()
        if "duplicate-staging" in run.find():
            wrong.append(f"{readers} readers: found")
        if ("duplicate-staging" in run.doubts) != doubt:
            wrong.append(f"{readers} readers: in doubt {run.doubts}")
    return wrong


def severity_follows(name):
    """Limits of 0, limits above any time, and one of each give the three severities; a limit
    decides nothing else."""
    text, params = rules.rules()[name]
    limits = [p for p in ("medium_share", "high_share") if f":{p}" in text]
    wrong = []
    for low, high, want in ((0.0, 0.0, "high"), (0.0, 1e9, "medium"), (1e9, 1e9, "low")):
        run = rules.CASES[name]().views()
        run.settings = {name: dict(zip(limits, (low, high)))}
        found = {row["severity"] for row in run.find((name,)).get(name, ())}
        if found != {"medium" if want == "high" and "high_share" not in limits else want}:
            wrong.append(f"{found or 'nothing'} instead of {want} with {run.settings[name]}")
    return wrong


def main():
    return rules.judge([
        *((f"{name}: its pattern is in doubt", doubt_is_said, name) for name in IN_DOUBT),
        ("a pattern in doubt, and no other sign", no_doubt_without_a_sign),
        ("one-read-at-a-time: read ahead, and no trace", foreseen_reads_are_not_scattered),
        ("willneed-cut-short: what was cached is not known", what_was_cached_is_not_known),
        ("sequential-without-readahead: direct reads in no known order", direct_reads_in_no_known_order),
        ("duplicate-staging: one task that opens the file again", one_reader_is_no_other),
        *((f"{name}: counters that it needs", needs_cover_what_is_read, name)
          for name in sorted(set(rules.CASES) - {"nothing-wrong"})),
        *((f"{name}: severity by its limits", severity_follows, name)
          for name in sorted(n for n in rules.CASES if ":medium_share" in rules.rules()[n][0])),
    ])


if __name__ == "__main__":
    sys.exit(main())
