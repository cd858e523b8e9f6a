#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""In an invented sliced run, no estimate is printed without its mark, in any format."""

import contextlib
import csv
import io
import json
import os
import re
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.made_run import MadeRun  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.world import World  # noqa: E402

SECONDS = 30
# Each value is unique: if a text contains it, it is the estimate.
ESTIMATES = {"read_calls": (1234567, 1200001, 1260013), "read_bytes": (98765431234, 97531234567, 99912345678),
             "lookups": (7654321, 7543219, 7765433), "hits": (7123457, 7011113, 7234561),
             "hit_ratio": (0.9306, 0.9297, 0.9313)}
TOO_WIDE = "the 90 % interval of the estimate is wider than a quarter of its value"
NOT_SEEN = "reads were watched in slices, to stay within --max-overhead"
HOOK = ("read_calls", "read_bytes", "lookups", "delayed_hits")
FATES = {"used": 31013, "used_late": 2017, "evicted_unused": 1013, "resident_unused": 523, "untracked": 2011}
TEXTS = ("text", "md", "html")

part = Part(__doc__)


class SlicedWorld(World):
    def sliced(self, absent=(), fates=None):
        """A run whose reads were watched in slices. absent: figures without an estimate, because
        its interval was too wide."""
        fates = fates or FATES
        made = MadeRun(os.path.join(self.data, f"sliced-{len(os.listdir(self.data))}.db"), level="auto")
        for _ in range(SECONDS):
            made.add()
        db = made.db
        hook = ", ".join(f"{name} = NULL" for name in HOOK)
        for table in ("job_interval", "file_interval", "job", "file", "directory"):
            db.execute(f"UPDATE {table} SET {hook}")
        db.execute("UPDATE interval SET read_on_ns = duration_ns / 10 WHERE id > 3")
        db.execute("UPDATE job SET wall_ns = 30000000000, cpu_ns = 15000000000, rchar_bytes = 99000000000, "
                   "misses = 530864, demand_pages = 530864, prefetched_async = ?, prefetched_sync = 0, "
                   "prefetched_willneed = 0, prefetched_readahead2 = 0, prefetched_mmap_around = 0, refaults = 200003, "
                   "evicted_reclaim_kswapd = 300007, stall_ns = 3000000000, stalls = 4001, processes = 1, "
                   f"{', '.join(f'{k} = {v}' for k, v in fates.items())} WHERE id = 1", (sum(fates.values()),))
        db.execute("UPDATE run SET sliced = 1, read_on_ns = 3000000000, cost_budget = 0.01, cost_share = 0.03, "
                   "cost_budget_kept = 0, cost_over_budget_by = 0.02, cost_reads_ns = 400000000, state = 'complete'")
        db.executemany("INSERT INTO unmeasured (run_id, counter, reason) VALUES (1, ?, ?)",
                       [(name, NOT_SEEN) for name in HOOK])
        db.execute("INSERT INTO shed VALUES (1, 'per_read_hook', 'it cost most', 3000000000, NULL)")
        for name, (value, low, high) in ESTIMATES.items():
            row = (name, None, None, None, TOO_WIDE) if name in absent else (name, value, low, high, None)
            db.execute("INSERT INTO estimate VALUES (1, ?, ?, ?, ?, ?)", row)
        db.execute("INSERT INTO estimate VALUES (1, 'delayed_hits', NULL, NULL, NULL, 'no slice contained a read of this kind')")
        made.close()
        return made.path

    def told(self, path, verb="report", how="json", *args):
        return self.tool.run(verb, "--db", path, "--format", how, *args)


def job_of(report):
    return next(j for j in report["jobs"] if not j.get("other"))


def unmarked(text, value):
    """Places where the figure is printed without '~', except as an end of an interval."""
    for m in re.finditer(rf"(?<![\d,.]){re.escape(value)}(?![\d,])", text):
        if not re.search(r"(~|&gt;=|>=|\(|to )\s*$", text[max(0, m.start() - 8):m.start()]):
            yield text[max(0, m.start() - 60):m.end() + 20]


def flat(text):
    return " ".join(text.split())


# ---- cases ----

@part.case
def people_see_a_mark_at_each_estimate(world, stack):
    path = world.sliced()
    for how in TEXTS:
        text = world.told(path, "report", how)
        for name in ("read_calls", "lookups", "hits"):
            value = f"{ESTIMATES[name][0]:,}"
            check(value in text, f"{how} does not show {name}")
            equal(f"{name} in {how}, unmarked", list(unmarked(text, value)), [])
        check("93.1 %" in text, f"{how} does not show the hit ratio")
        equal(f"hit ratio in {how}, unmarked", list(unmarked(text, "93.1 %")), [])
        for name in ("used", "used_late", "evicted_unused", "resident_unused"):
            equal(f"{name} in {how}, unmarked", list(unmarked(text, f"{FATES[name]:,}")), [])
    text = world.tool.run("runs", "--db", path)
    equal("hit ratio in runs, unmarked", list(unmarked(text, "93.1 %")), [])


@part.case
def programs_see_a_mark_and_an_interval(world, stack):
    report = json.loads(world.told(world.sliced()))
    totals = job_of(report)["totals"]
    for name, (value, low, high) in ESTIMATES.items():
        equal(name, (totals[name], totals.get(f"{name}_estimated"), totals.get(f"{name}_low"),
                     totals.get(f"{name}_high")), (value, True, low, high))
    equal("delayed hits", totals["delayed_hits"], None)
    equal("fates", {k: totals["prefetch"]["fate"][k] for k in FATES}, FATES)
    equal("mark of fates", totals["prefetch"].get("fate_lower_bound"), True)
    for name in ("accuracy", "coverage", "timeliness"):
        if totals["prefetch"][name] is not None:
            equal(f"mark of {name}", totals["prefetch"].get(f"{name}_estimated"), True)
    for row in job_of(report)["files"] + job_of(report)["directories"]:
        for name in (*HOOK, "hits", "hit_ratio"):
            equal(f"{name} of {row['path']}", row["totals"][name], None)


@part.case
def an_absent_estimate_has_its_reason_and_no_ends(world, stack):
    path = world.sliced(absent=("lookups", "hits", "read_bytes"))
    report = json.loads(world.told(path))
    totals = job_of(report)["totals"]
    for name in ("lookups", "hits"):
        equal(name, [totals.get(name + end) for end in ("", "_estimated", "_low", "_high")], [None] * 4)
    equal("hit ratio, which is narrow all the same", totals["hit_ratio"], ESTIMATES["hit_ratio"][0])
    why = {u["counter"]: u["reason"] for u in report["run"]["unmeasured"]}
    equal("why no lookups", why["lookups"], TOO_WIDE)
    equal("why no hits", why.get("hits"), TOO_WIDE)
    check("estimate" in why["read_calls"] and "files" in why["read_calls"], f"read_calls: {why['read_calls']}")
    gone = json.loads(world.told(world.sliced(absent=tuple(ESTIMATES))))
    totals = job_of(gone)["totals"]
    equal("what is left of absent estimates", [k for k in totals if k.endswith(("_low", "_high", "_estimated"))], [])
    text = world.told(path, "report", "text")
    check("read -" not in text, "an absent figure in a sentence")
    check("looked up or added" not in text, "a file is said to have no lookups")
    verdict = text.split("What to change")[0]
    check("was not measured" not in verdict, f"the verdict says that reads were not measured: {verdict}")
    verdict = flat(world.told(world.sliced(absent=tuple(ESTIMATES)), "report", "text").split("What to change")[0])
    check(TOO_WIDE in verdict, f"the verdict does not say why there is no hit ratio: {verdict}")
    check("No fix found, but some rules could not be judged" in verdict,
          f"the verdict does not say that rules were not judged: {verdict}")


@part.case
def a_budget_that_is_not_kept_names_what_helps(world, stack):
    path = world.sliced()

    def budget(share, **parts):
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE run SET cost_share = ?, cost_collector_cpu_ns = 5, cost_reads_ns = 4, cost_other_ns = ?",
                       (share, parts.get("other", 0)))
        return re.search(r"over the budget of 1\.0 %.*?(?= \d|$)", flat(world.told(path, "report", "text")))[0]

    said = budget(0.03)
    check("raise --max-overhead" in said and "longer job" in said, said)
    check("--interval" not in said, f"the interval changes nothing in a sliced run: {said}")
    said = budget(6.83)
    check("--max-overhead" not in said and "longer job" in said, f"no budget is as large: {said}")
    check("io_uring" in budget(0.03, other=9), "the cause is another")


@part.case
def tables_for_programs_say_what_is_estimated(world, stack):
    path = world.sliced()
    rows = list(csv.DictReader(io.StringIO(world.told(path, "report", "csv"))))
    job = next(r for r in rows if r["scope"] == "job" and r["job"] != "(others)")
    equal("estimated", job["estimated"], "1")
    equal("lookups", job["lookups"], str(ESTIMATES["lookups"][0]))
    for name, (_, low, high) in ESTIMATES.items():
        equal(f"interval of {name}", [float(job[f"{name}_low"]), float(job[f"{name}_high"])], [low, high])
    check("fates" in job["lower_bounds"], f"fates are no lower bound: {job['lower_bounds']!r}")
    for row in rows:
        if row["scope"] in ("file", "directory", "rest"):
            equal(f"lookups of {row['path']}", row["lookups"], "")
            ends = [row[k] for k in row if k.endswith("_low") and row[k]]
            equal(f"estimated, of {row['path']}", row["estimated"], "1" if ends else "0")
    runs = json.loads(world.tool.run("runs", "--db", path, "--json"))["runs"][0]["jobs"][0]
    for name in ("lookups", "hits", "hit_ratio", "miss_ratio"):
        if runs[name] is not None:
            equal(f"mark of {name} in runs", runs.get(f"{name}_estimated"), True)
    for name, (_, low, high) in ESTIMATES.items():
        if name in runs:
            equal(f"interval of {name} in runs", (runs[f"{name}_low"], runs[f"{name}_high"]), (low, high))
    _, low, high = ESTIMATES["hit_ratio"]
    trend = json.loads(world.tool.run("runs", "--db", path, "--json"))["trends"][0]
    equal("mark of the miss ratio over runs", trend.get("miss_ratio_estimated"), True)
    for of, key in ((runs["miss_ratio_low"], runs["miss_ratio_high"]), "a run"), \
                   ((trend["miss_ratio_low"][-1], trend["miss_ratio_high"][-1]), "the trend"):
        equal(f"interval of the miss ratio of {key}", [round(v, 9) for v in of],
              [round(1 - high, 9), round(1 - low, 9)])


@part.case
def grades_and_gains_rest_on_what_is_exact(world, stack):
    report = json.loads(world.told(world.sliced()))
    job = job_of(report)
    for name in ("overall", "hits", "prefetch", "eviction"):
        equal(f"grade {name}", job["grades"][name], None)
    check(job["grades"]["stall"], "waits are exact, and have no grade")
    whys = {d["name"]: d["formula"] or d["reason"] for d in job["grade_details"]}
    for name in ("overall", "hits"):
        check("slices" in whys[name], f"why there is no grade {name}: {whys[name]}")
    for finding in job["findings"]:
        gain = finding["gain"] or {}
        metrics = {e["metric"] for e in finding["evidence"]}
        hook = {"lookups", "hits", "hit_ratio", "read_calls", "read_bytes", "used", "all_used", "used_late",
                "evicted_unused", "waste_bytes", "prefetch.accuracy", "prefetch.timeliness"}
        equal(f"{finding['id']} rests on", sorted(metrics & hook), [])
        check(gain.get("method") != "measured" or not metrics & hook, f"{finding['id']} says measured")
    listed = json.loads(world.tool.run("runs", "--db", world.sliced(), "--json"))["runs"][0]["jobs"][0]
    equal("grade in runs", listed["grade_by_counters"], None)


@part.case
def top_has_no_ratio_of_what_it_did_not_see(world, stack):
    text = world.tool.run("top", "--replay", world.sliced(), "--batch", "--rows", "files")
    frames = text.split("run 1 ")[1:]
    check(len(frames) >= 10, f"{len(frames)} frames")
    for frame in frames[5:]:
        hits = re.search(r"HITS +(\S+)", frame).group(1)
        check(hits == "-" or hits.startswith("~"), f"hits {hits} in an off slice")
        check(re.search(r"LOOKUPS/s +-", frame), f"lookups in an off slice: {frame[:200]}")


@part.case
def a_language_model_is_told_what_is_estimated(world, stack):
    request = world.tool.run("ask", "--db", world.sliced(), "--llm-dry-run", "--llm-url", "http://localhost:1",
                             "--llm-model", "m", "--llm-api", "openai", "how well is it cached?")
    for value in (str(ESTIMATES["lookups"][0]), str(ESTIMATES["read_bytes"][0])):
        for m in re.finditer(value, request):
            check("estimated" in request[m.start():m.end() + 200], f"unmarked: {request[m.start() - 60:m.end() + 60]}")
    for name in ("hit_ratio", "lookups"):
        _, low, high = ESTIMATES[name]
        check(f"{low} to {high}" in request, f"the interval of {name} is not told")
    check("may be estimated" not in request, "what a rule found, which is exact, is called an estimate")
    check("cost.share_of_job_cpu | 3.0 % |" in request, "the cost told is not that of the run")
    for name in ("waste_bytes", "used_late"):
        at = request.find(f"{name}")
        check(at < 0 or "least" in request[at:at + 200], f"{name}: {request[at:at + 120]}")


if __name__ == "__main__":
    sys.exit(part.main(SlicedWorld))
