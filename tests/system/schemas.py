#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The formats for programs, checked against docs/schema: reports, whatif readahead over recorded
traces of a kernel, and the ledger of advice with each kind of verdict. The databases are made
here."""

import glob
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rules  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.schema import SCHEMAS, refused, valid  # noqa: E402
from syslib.tool import Tool  # noqa: E402

part = Part(__doc__)

RECORDING = os.path.join(rules.ROOT, "tests", "unit", "fixtures", "readahead", "6.18-ext4.txt")
PAGE = rules.PAGE


class World:
    def __init__(self, args, work, _):
        self.tool = Tool(args.cachemon, work)
        build = os.environ.get("CACHEMON_BUILD") or os.path.join(os.path.dirname(args.cachemon), "..")
        self.tape = os.path.join(build, "tests", "readahead", "readahead_tape")

    def stored(self, run):
        """The run as a database file."""
        path = self.tool.fresh(".db")
        newest = max(int(os.path.basename(n)[:3]) for n in glob.glob(f"{rules.SQL}/[0-9]*.sql"))
        run.db.commit()
        run.db.execute("VACUUM main INTO ?", (path,))
        with rules.sqlite3.connect(path) as db:
            db.execute(f"PRAGMA user_version = {newest}")
        return path

    def chunk(self, pattern, kb):
        done = subprocess.run([self.tape, RECORDING, pattern, str(kb)], capture_output=True)
        check(done.returncode == 0, f"no tape of {pattern}: {done.stderr.decode()}")
        return int(done.stderr), done.stdout


def traced(world, run, number, pattern, kb, **columns):
    events, data = world.chunk(pattern, kb)
    run.put("traced_file", **{"id": number, "job_id": 1, "dev_major": 7, "dev_minor": 0, "ino": number,
                              "gen": 1, "path": b"/d/file", "fstype": "ext4", "size_bytes": 16777316,
                              "ra_pages": kb // 4, "io_pages": 320, "max_order": 9, "stratum": None,
                              "stands_for": 1.0, "state": "whole", "began": "cold", **columns})
    run.put("trace_chunk", traced_file_id=number, seq=0, events=events, data=data)


def readahead(world, run):
    text = world.tool.run("whatif", "readahead", "--db", world.stored(run), "--format", "json")
    valid(text, "whatif-readahead")
    return text


@part.case
def whatif_readahead(world, _):
    """A sequential file, a random one, one whose trace broke off, and a mapped one."""
    run = rules.Run().job({"/d": rules.ONCE})
    run.db.execute("UPDATE run SET kernel = '6.18.1'")
    traced(world, run, 1, "seq_4k", 128)
    traced(world, run, 2, "random_64k", 128, path=b"/d/\xff")
    traced(world, run, 3, "seq_4k", 128, state="broken", reason="ring full", stands_for=None)
    traced(world, run, 4, "mmap_seq", 128, path=b"/d/mapped")
    text = readahead(world, run)
    job, = json.loads(text)["jobs"]
    equal("files that were traced", job["traced_files"], 4)
    check(job["settings"] and job["answered_files"] >= 3, f"{job['answered_files']} files answered")
    for key, known in (("settings", True), ("mapped_settings", False)):
        check(job[key], f"no {key}")
        for s in job[key]:
            equal(f"{key}, {s['setting']}: waste is known", s["wasted_pages"] is not None, known)
    for file in job["files"]:
        for s in file["settings"]:
            equal("of a file", s["wasted_pages"] is None, file["mapped"])
    for spoil in (lambda j: j.pop("settings"), lambda j: j["settings"][0].update(setting="fast"),
                  lambda j: j["settings"][0].update(misses=-1),
                  lambda j: j["files"][0].pop("fidelity"), lambda j: j["files"][0].update(fidelity=2)):
        spoilt = json.loads(text)
        spoil(spoilt["jobs"][0])
        check(refused(json.dumps(spoilt), "whatif-readahead"), "the schema takes what is no answer")


@part.case
def whatif_readahead_without_an_answer(world, _):
    """No traces, and a kernel without a model."""
    run = rules.Run().job({"/d": rules.ONCE})
    job, = json.loads(readahead(world, run))["jobs"]
    check(job["reason"] and not job["files"], "an answer from nothing")
    run.db.execute("UPDATE run SET kernel = '4.4.0'")
    traced(world, run, 1, "seq_4k", 128)
    job, = json.loads(readahead(world, run))["jobs"]
    equal("files that were answered for", job["answered_files"], 0)


def ledger(world, run):
    """{(kind, call): entry} of the report."""
    text = world.tool.run("report", "--db", world.stored(run), "--format", "json")
    entries = json.loads(text)["jobs"][0]["advice"]
    valid(json.dumps(entries), "advice-ledger")
    for spoil in (lambda e: e.pop("fate"), lambda e: e["fate"].pop("used"), lambda e: e.pop("redundant_pages"),
                  lambda e: e.update(verdict="splendid"), lambda e: e.update(pages_asked=-1)):
        spoilt = json.loads(json.dumps(entries))
        spoil(spoilt[0])
        check(refused(json.dumps(spoilt), "advice-ledger"), "the schema takes what is no ledger")
    return {(e["kind"], e["call"]): e for e in entries}


@part.case
def ledger_of_advice(world, _):
    """Each kind of advice, from the database alone: the verdict, and the figures it is based on."""
    larger = {**rules.ONCE, "windows_sync": 10, "windows_async": 500, "window_log2_6": 510}
    run = rules.Run().job({"/d": {**larger, "read_calls": 40000}}).machine()
    run.advice("willneed", calls=1, pages_asked=16384, pages_brought=320, redundant_pages=0, used=320,
               used_late=0, evicted_unused=0, resident_unused=0, untracked=0)
    run.advice("dontneed", calls=2, pages_asked=20000, pages_dropped=20000, dropped_refaults=10000)
    run.advice("sequential", calls=1).advice("noreuse", calls=1).advice("normal", calls=1)
    run.advice("random", call="madvise", calls=1)
    found = ledger(world, run)
    for key, verdict, words in ((("willneed", "fadvise"), "cut short", "320 of the 16,384"),
                                (("dontneed", "fadvise"), "harmful", "10,000 of the 20,000"),
                                (("sequential", "fadvise"), "helped", "windows were larger"),
                                (("noreuse", "fadvise"), "no effect", "reclaimed"),
                                (("normal", "fadvise"), None, "revoking"),
                                (("random", "madvise"), "redundant", "cached")):
        equal(f"verdict of {key}", found[key]["verdict"], verdict)
        check(words in found[key]["verdict_why"], f"{key}: {found[key]['verdict_why']}")
    equal("fate", found["willneed", "fadvise"]["fate"],
          {"used": 320, "used_late": 0, "evicted_unused": 0, "resident_unused": 0, "untracked": 0})
    equal("fate of what was not followed", set(found["normal", "fadvise"]["fate"].values()), {None})


@part.case
def random_by_traces(world, _):
    """RANDOM for an open file, with the order of the reads known from a trace: right for random
    reads, wrong for sequential ones."""
    forced = {**rules.COLD, "prefetched_async": 0, "used": 0}
    for pattern, verdict in (("random_64k", "helped"), ("seq_4k", "harmful")):
        run = rules.Run().job({"/d": forced}).machine().advice("random", calls=1)
        run.db.execute("UPDATE run SET kernel = '6.18.1'")
        traced(world, run, 1, pattern, 128)
        entry = ledger(world, run)["random", "fadvise"]
        equal(f"{pattern}: {entry['verdict_why']}", entry["verdict"], verdict)


@part.case
def whole_reports(world, _):
    """A run with traces, advice and evictors; a run with none of them; the golden files of the
    unit tests. All keys are in the schema."""
    bare = rules.Run().job({"/d": rules.ONCE})
    rich = rules.Run().job({"/d": rules.ONCE}).machine().advice("willneed", calls=1, pages_asked=8)
    rich.pushed(evictor_kind="others", evictor_cgroup=b"/bad\xff", evictor_path=b"/x", owner_path=b"/d",
                evictor_writes=1, pages=7)
    rich.db.execute("UPDATE run SET kernel = '6.18.1', host = CAST(x'ff' AS TEXT)")
    traced(world, rich, 1, "seq_4k", 128)
    texts = [world.tool.run("report", "--db", world.stored(run), "--format", "json") for run in (bare, rich)]
    with open(os.path.join(rules.ROOT, "tests", "unit", "fixtures", "report", "golden.json")) as f:
        texts.append(f.read())
    for text in texts:
        valid(text, "report")
    job = json.loads(texts[1])["jobs"][0]
    check(sum(job["read_sizes"]["calls_log2"]) > 0, "no size of a call of the traced file")
    for spoil in (lambda j: j.update(speed=3), lambda j: j["read_sizes"]["calls_log2"].pop(),
                  lambda j: j["whatif"]["readahead"].pop("scaled_by"), lambda j: j.pop("not_judged"),
                  lambda j: j["whatif"]["cache"].update(absent=None), lambda j: j["totals"].pop("stalls"),
                  lambda j: j["totals"].update(misses="many"), lambda j: j["files"][0].pop("coverage")):
        spoilt = json.loads(texts[1])
        spoil(spoilt["jobs"][0])
        check(refused(json.dumps(spoilt), "report"), "the schema takes what is no report")


def keys_of(schema):
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for value in schema.values():
            yield from keys_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from keys_of(value)


@part.case
def every_key_is_documented(world, _):
    with open(os.path.join(rules.ROOT, "docs", "json.md")) as f:
        documented = set(re.findall(r'"(\w+)"', f.read()))
    # Newer counters are in cachemon-terms(7), which is made from this table.
    with open(os.path.join(rules.ROOT, "cachemon", "figures", "figures.txt")) as f:
        documented.update(re.findall(r"^plain (\w+) \| [^|]+ \| [^|]+", f.read(), re.M))
    for path in sorted(glob.glob(os.path.join(SCHEMAS, "*.json"))):
        with open(path) as f:
            keys = set(keys_of(json.load(f)))
        # Suffixes such as "_estimated" are documented once for all names.
        keys = {k for k in keys if not k.endswith(("_estimated", "_lower_bound", "_error"))}
        missing = sorted(keys - documented)
        check(not missing, f"{os.path.basename(path)}: docs/json.md does not have {missing}")


if __name__ == "__main__":
    sys.exit(part.main(World))
