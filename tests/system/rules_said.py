#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The numbers and sentences of rules, run as in rules.py. The shards of a dataset are one
finding, pages that were written again were not read again, and sentences agree with their
figures."""

import os
import random
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rules  # noqa: E402

WRITTEN = {"written_pages": 60000, "refaults": 40000}


def written_anew_is_not_read_again():
    """Pages that left and were written again need not be fetched."""
    dropped = rules.Run().job({"/log": {**WRITTEN, "evicted_dontneed": 40000}}).machine() \
        .advice("dontneed", calls=4, pages_asked=40000, pages_dropped=40000, dropped_refaults=40000)
    unseen = rules.Run().job({"/log": {**WRITTEN, "evicted_dontneed": 40000}}).machine()
    reclaimed = rules.Run().job({"/log": {**WRITTEN, "evicted_reclaim_memcg": 40000}}).machine()
    found = [sorted(set(r.views().find()) & {"dontneed-harmful", "memcg-limit-too-low",
                                             "cache-thrash-loop"})
             for r in (dropped, unseen, reclaimed)]
    return [f"finds {found}"] if any(found) else []


SHARD = {name: value // 10 for name, value in rules.RANDOM.items()}


def shards_are_one_finding():
    """Each shard wastes too little for a finding; together they waste as much as one large file."""
    run = rules.Run().job({"/d": SHARD}).machine().pattern("random").files(SHARD, range(2, 11))
    for number in range(2, 11):
        run.pattern("random", number)
    rows = run.views().find().get("random-with-readahead", [])
    one = rules.Run().job({"/d": rules.RANDOM}).machine().pattern("random").views() \
        .find()["random-with-readahead"][0]
    if len(rows) != 1:
        return [f"{len(rows)} findings"]
    row, wrong = rows[0], []
    if (row["subject_kind"], row["subject"]) != ("directory", b"/d"):
        wrong.append(f"of {row['subject_kind']} {row['subject']}")
    if abs(row["gain_value"] - one["gain_value"]) > 0.01 * one["gain_value"]:
        wrong.append(f"gain {row['gain_value']} instead of {one['gain_value']}")
    if "10 files" not in row["summary"]:
        wrong.append(row["summary"])
    return wrong


def fewer_is_not_minus_more():
    """A smaller window may miss less, and the sentence says so."""
    wrong = []
    for misses, words in ((4400, "miss 400 more"), (4000, "miss no more"), (3500, "miss 500 fewer")):
        run = rules.Run().job({"/d": rules.RANDOM}).machine().pattern("mixed") \
            .traced((4000, 20000, 18000, 4000, 4000), **{"ra_kb=32": (misses, 4000, 2400, 4400, 4400)})
        said = rules.sentence_of("readahead-too-large", run)
        if words not in said or "-" in said:
            wrong.append(said)
    return wrong


def few_waits_are_chance():
    """A device that was busy briefly: a few long waits do not hold back the stream."""
    wrong = []
    for stalls, found in ((1000, True), (7, False)):
        run = rules.Run().job({"/d": {**rules.ONCE, "stalls": stalls}}).machine() \
            .traced((1250, 38750, 0, 1250, 1250), **{"ra_kb=512": (310, 39690, 0, 313, 313)})
        if ("readahead-too-small" in run.views().find()) != found:
            wrong.append(f"{stalls} waits: found is {not found}")
    return wrong


def reread_in_order_is_not_random():
    """A file that is read in order repeatedly loses its prefetch to others, not because of its
    order."""
    wrong = []
    for share, found in ((0.99, False), (0.1, True), (None, True)):
        run = rules.Run().job({"/d": rules.RANDOM}).machine() \
            .pattern("reread", **({} if share is None else {"sequential_share": share}))
        if ("random-with-readahead" in run.views().find()) != found:
            wrong.append(f"sequential_share {share}: found is {not found}")
    return wrong


def what_is_in_no_figure():
    """Bytes that the job read without being seen are reported next to the little that was seen."""
    wrong = []
    for rchar, told in ((64 << 20, True), (5 * rules.PAGE, False), (None, False)):
        run = rules.Run().job({"/d": {"lookups": 5, "read_bytes": 5 * rules.PAGE}})
        run.db.execute("UPDATE job SET rchar_bytes = ?", (rchar,))
        said = rules.sentence_of("too-little-data", run)
        if ("63 MiB" in said) != told or ("no figure" in said) != told:
            wrong.append(f"{rchar}: {said}")
    return wrong


# A limited container: its libraries come and go by faults, and a file is read occasionally.
FAULTED = {"lookups": 8000, "misses": 700, "faults_major": 9000, "demand_pages": 9700,
           "prefetched_mmap_around": 30000, "prefetched_async": 1000, "used": 900, "untracked": 30000,
           "refaults": 24000, "evicted_reclaim_memcg": 24000, "stall_ns": 40 * rules.SECOND,
           "stalls": 9500, "read_calls": 1000, "read_bytes": 8000 * rules.PAGE}


def repeats_are_of_lookups():
    """Pages that faults or writes brought are not subtracted from the lookups, in any mix."""
    wrong = []
    cases = {
        "faults": (FAULTED, [r"^24,000 pages had to be fetched again"]),
        "faults without a read": ({**FAULTED, "lookups": 0, "misses": 0, "demand_pages": 9000,
                                   "prefetched_async": 0, "used": 0, "read_calls": 0,
                                   "read_bytes": 0}, [r"^24,000 pages had to be fetched again after reclaim; the job"]),
        "reads alone": (rules.LOOP, [r"^30,000 of 30,000 repeated lookups had"]),
        "reads, and a large write": ({**rules.LOOP, "written_pages": 9000},
                                     [r"^30,000 pages .* at least 21,000 lookups"]),
        "reads, and a mapping": ({**rules.LOOP, "faults_major": 500, "demand_pages": 2500,
                                  "prefetched_mmap_around": 7500, "untracked": 7500},
                                 [r"repeated lookups|^\d", "memory limit"]),
    }
    for name, (figures, patterns) in cases.items():
        run = rules.Run().job({"/d": figures}).machine()
        run.db.execute("UPDATE job_limit SET limit_bytes = ?", (256 << 20,))
        run.views()
        least, = run.db.execute("SELECT min(repeat_lookups) FROM v_return").fetchone()
        text = (run.find({"cache-thrash-loop"}).get("cache-thrash-loop") or [{"summary": ""}])[0]
        text = text["summary"]
        if least < 0 or least > figures["lookups"]:
            wrong.append(f"{name}: {least} of {figures['lookups']} lookups repeat")
        if re.search(r"-\d", text) or not all(re.search(p, text) for p in
                                              [*patterns, "memory limit of 256 MiB"]):
            wrong.append(f"{name}: {text!r}")
    return wrong


# Finds pairs of a whole and its part, in either order, in any sentence of a rule.
NUMBER = r"(\d[\d,]*)"
PARTS = ((rf"{NUMBER} of {NUMBER}\b", 2, 1),
         (rf"{NUMBER} (?:of its )?(?:cached )?pages\b[^;]*?, (?:at least )?{NUMBER} of which", 1, 2),
         (rf"{NUMBER} of which were read again \({NUMBER} of them", 1, 2),
         (rf"fetched {NUMBER} pages; {NUMBER} of them", 1, 2), (rf"{NUMBER} of them were not read, and {NUMBER} of those", 1, 2),
         (rf"named {NUMBER} cached pages and dropped only {NUMBER}", 1, 2),
         (rf"requested {NUMBER} pages that were not cached, but fetched only {NUMBER}", 1, 2))
FACTORS = (0, 0.3, 0.8, 1, 1, 1, 1.25, 4)
# Values that cannot exceed others, in a row of counters and in a row of advice, in any run.
LAWS = {"misses": "lookups", "delayed_hits": "lookups", "refault_misses": "refaults", "pages_brought": "pages_asked",
        "redundant_pages": "pages_asked", "cached_pages": "pages_asked", "pages_dropped": "cached_pages",
        "dropped_refaults": "pages_dropped", "dropped_refaults_others": "pages_dropped"}


def wholes_and_parts(text):
    return [(m[whole], m[part]) for pattern, whole, part in PARTS for m in re.finditer(pattern, text)]


def number(text):
    return int(text.replace(",", ""))


def shaken(run, chance):
    """Each figure of the run times a factor of its own, the same in every table of counters."""
    for tables, column in list(rules.nullable(run)):
        factor = chance.choice(FACTORS)
        if {*tables} & {*rules.COUNTED, "advice", "interference"} and column not in ("wall_ns", "evictor_writes", "exact", "size_bytes", "processes", "limit_bytes"):
            for table in tables:
                run.db.execute(f"UPDATE {table} SET {column} = CAST({column} * {factor} AS INTEGER) "
                               f"WHERE typeof({column}) = 'integer'")
    run.db.execute("UPDATE advice SET dropped_refaults_others = ? WHERE kind = 'dontneed'", (chance.randint(0, 20000),))
    for part, whole in LAWS.items():
        for table in (*rules.COUNTED, "advice"):
            if {part, whole} <= set(run.columns(table)):
                run.db.execute(f"UPDATE {table} SET {part} = min({part}, {whole}) WHERE {whole} IS NOT NULL")
    return run


def no_part_exceeds_its_whole():
    """Whatever the figures of a run, no rule prints a part that is larger than its whole."""
    chance, seen, wrong = random.Random(23), set(), set()
    telling = {name: make for name, make in rules.CASES.items() if wholes_and_parts(rules.sentence_of(name, make()))}
    for _ in range(50 if os.environ.get("CACHEMON_FULL") == "1" else 10):
        for name, make in telling.items():
            for row in shaken(make(), chance).views().find({name}).get(name, []):
                for whole, part in wholes_and_parts(row["summary"]):
                    seen.add(name)
                    if number(part) > number(whole):
                        wrong.add(f"{name}: {row['summary']}")
    return sorted(wrong) + ([f"never seen: {sorted(set(telling) - seen)}"] if len(seen) < len(telling) or len(seen) < 12
                            else [])


def counts_are_grouped():
    """4096 pages are printed as 4,096, as elsewhere in a report; a setting as it must be typed."""
    said = {name: rules.sentence_of(name, make()) for name, make in rules.CASES.items()}
    wrong = [f"{name}: {text}" for name, text in said.items()
             if re.search(r"\d{4}", re.sub(r"read_ahead_kb \d+( instead of \d+)?", "", text))]
    return wrong or ([] if sum("," in text for text in said.values()) > 15 else ["hardly any count is large"])


def main():
    return rules.judge([
        ("pages written anew", written_anew_is_not_read_again),
        ("random-with-readahead: shards of a dataset", shards_are_one_finding),
        ("readahead-too-large: its sentence", fewer_is_not_minus_more),
        ("random-with-readahead: read again in order", reread_in_order_is_not_random),
        ("readahead-too-small: few waits", few_waits_are_chance),
        ("too-little-data: what is in no figure", what_is_in_no_figure),
        ("cache-thrash-loop: what repeats", repeats_are_of_lookups),
        ("large counts", counts_are_grouped),
        ("parts and wholes", no_part_exceeds_its_whole),
    ])


if __name__ == "__main__":
    sys.exit(main())
