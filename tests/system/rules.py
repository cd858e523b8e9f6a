#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The rules, run without cachemon: by sqlite3, the migrations and the views. Every rule finds
nothing in a run that measured nothing, finds its subject in a run made for it, and finds nothing
more if any figure of that run was not measured. NULL is never read as 0."""

import functools
import json
import os
import re
import sqlite3
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SQL = os.path.join(ROOT, "sql")
# As made by the build: with the shared columns and the formulas.
VIEWS = os.path.join(os.environ.get("CACHEMON_BUILD", os.path.join(ROOT, "build")), "gen", "sql", "views")
# Migrations of other source trees: directories separated by colons.
MORE = [d for d in os.environ.get("CACHEMON_MIGRATIONS", "").split(":") if d]
COLUMNS = ("job_id", "subject_kind", "subject", "severity", "confidence", "summary", "evidence",
           "gain_value", "gain_unit", "gain_method", "gain_cause")
PAGE = 4096
SECOND = 10**9
# Columns that decide whether there is a row at all, or whose NULL means that nothing limits the
# job.
NO_FIGURE = {"actual", "limit_bytes"}
# Findings that may appear if a value that would exclude them is not known.
MAY_APPEAR = {"nothing-wrong", "dontneed-harmful"}


def read(*path):
    with open(os.path.join(*path)) as f:
        return f.read()


def in_order(directory):
    return [os.path.join(directory, f) for f in sorted(os.listdir(directory)) if f.endswith(".sql")]


def rules():
    found = {}
    for path in in_order(os.path.join(SQL, "rules")):
        text = read(path)
        params = {n: float(v) if "." in v else int(v)
                  for n, v in re.findall(r"^-- param (\w+) = (\S+)", text, re.M)}
        found[os.path.basename(path)[:-4]] = (text, params)
    return found


@functools.cache
def template():
    db = sqlite3.connect(":memory:")
    paths = {os.path.basename(p): p for d in [*MORE, SQL] for p in in_order(d)
             if os.path.basename(p)[0].isdigit()}
    for name in sorted(paths):
        db.executescript(read(paths[name]))
    return db


def empty():
    db = sqlite3.connect(":memory:")
    template().backup(db)
    return db


class Run:
    """A database with one run, as a writer would leave it: a job, its directories, files,
    advice."""

    def __init__(self):
        self.db = empty()
        self.put("run", id=1, uuid="u", cachemon="0", host="h", kernel="6.18", arch="x86_64",
                 started_ns=0, duration_ns=100 * SECOND, state="complete", writer_boot="b",
                 writer_pidns=0, writer_pid=1, writer_start_ticks=0, level="full",
                 read_on_ns=100 * SECOND, advice_mode="calls", interval_ns=SECOND,
                 page_size_bytes=PAGE, memory_bytes=16 << 30, map_bytes=0)
        self.models = []
        self.settings = {}  # {rule: {parameter: other value}}

    def columns(self, table):
        return [r[1] for r in self.db.execute(f"PRAGMA table_info({table})")]

    def put(self, table, **values):
        names = ", ".join(values)
        self.db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})",
                        list(values.values()))

    def counted(self, table, values, **keys):
        """A row whose counters are 0 unless given."""
        rows = self.db.execute(f"PRAGMA table_info({table})").fetchall()
        first = self.columns(table).index("read_calls")
        zero = {name: 0 for _, name, kind, *_ in rows[first:] if kind == "INTEGER" and name != "uid"}
        self.put(table, **keys, **{**zero, **values})

    def job(self, directories=None, wall_s=100, cpu_s=10):
        """directories: {path: counters}; the job is their sum, and each has one file with the
        same counters."""
        total = {}
        for values in (directories or {}).values():
            for name, value in values.items():
                if name not in ("files", "size_bytes"):
                    total[name] = total.get(name, 0) + value
        self.counted("job", total, id=1, run_id=1, slot=1, name="job",
                     selector="command: x", processes=4, alive=0, wall_ns=wall_s * SECOND,
                     cpu_ns=cpu_s * SECOND, rchar_bytes=0, rchar_read_on_bytes=0, misses_read_on=0)
        for number, (path, values) in enumerate((directories or {}).items(), 1):
            values = dict(values)
            files, size = values.pop("files", 1), values.pop("size_bytes", 64 << 20)
            self.counted("directory", values, id=number, job_id=1, path=os.fsencode(path), files=files,
                         misses_read_on=0)
            self.counted("file", values, id=number, job_id=1, directory_id=number, dev_major=7,
                         dev_minor=0, ino=number, gen=1, fstype="ext4", size_bytes=size,
                         path=os.fsencode(f"{path}/file"), misses_read_on=0)
        self.counted("filesystem", total, id=1, job_id=1, dev_major=7, dev_minor=0, type="ext4",
                     cover="exact", files=len(directories or {}), misses_read_on=0)
        self.put("interval", id=1, run_id=1, start_ns=0, duration_ns=100 * SECOND,
                 read_on_ns=100 * SECOND)
        return self

    def files(self, values, numbers, directory=1):
        """More files of a directory that already has their counters."""
        for number in numbers:
            self.counted("file", values, id=number, job_id=1, directory_id=directory, dev_major=7,
                         dev_minor=0, ino=number, gen=1, fstype="ext4", size_bytes=64 << 20,
                         path=f"/d/shard{number}".encode(), misses_read_on=0)
        return self

    def machine(self, read_ahead_kb=128, **interval):
        self.put("machine", run_id=1, memory_total_bytes=16 << 30, swap_bytes=0, mglru=0, nr_cpus=2,
                 numa_nodes=1)
        self.put("machine_interval", **{"interval_id": 1, "free_bytes": 8 << 30,
                                        "available_bytes": 10 << 30, **interval})
        self.put("device", run_id=1, dev_major=7, dev_minor=0, name="loop0", rotational=0,
                 read_ahead_kb=read_ahead_kb, max_sectors_kb=1280, io_pages=320, network=0)
        self.put("job_limit", job_id=1, limit_bytes=None, at=b"/")
        return self

    def advice(self, kind, number=1, call="fadvise", **values):
        self.put("advice", job_id=1, dev_major=7, dev_minor=0, ino=number, gen=1, kind=kind, call=call,
                 path=b"file", **values)
        return self

    def pushed(self, **values):
        self.put("interference", **{"job_id": 1, "cause": "reclaim_memcg", "evictor": "x", "exact": 1,
                                    **values})
        return self

    def model(self, table, **values):
        self.models.append((table, values))
        return self

    def pattern(self, name, number=1, confidence=0.9, **features):
        return self.model("analysis_pattern", job_id=1, kind="file", subject_id=number, name=name,
                          confidence=confidence, features=json.dumps(features))

    def traced(self, now, **settings):
        """now: misses, prefetched, wasted, requests and windows with the setting in force, 128
        KiB."""
        self.put("traced_file", id=1, job_id=1, dev_major=7, dev_minor=0, ino=1, gen=1, path=b"file",
                 size_bytes=64 << 20, ra_pages=32, io_pages=320, stands_for=1, state="whole",
                 **{k: 9 if k == "max_order" else 0 for k in ("max_order", "stratum")}, began="cold",
                 fstype="ext4")
        for setting, values in {"ra_kb=128": now, **settings}.items():
            self.model("analysis_whatif_readahead", job_id=1, traced_file_id=1, setting=setting,
                       **dict(zip(("misses", "prefetched", "wasted", "requests", "windows"), values)),
                       fidelity=1.0, actual=int(values is now))
        return self

    def views(self):
        self.db.execute("CREATE TEMP TABLE analysis_scope AS SELECT max(id) AS run_id FROM run")
        for path in in_order(VIEWS):
            self.db.executescript(read(path))
        self.db.execute("INSERT INTO analysis_file SELECT id FROM file")
        for table, values in self.models:
            self.put("temp." + table, **values)
        return self

    def find(self, wanted=None):
        """{id: rows}; a rule raises if it is not one SELECT of the known columns. Findings in
        doubt are in doubts: {id: reasons}."""
        found, self.doubts = {}, {}
        ordered = sorted(rules().items(), key=lambda r: ("-- order: last" in r[1][0], "-- order: late" in r[1][0]))
        for name, (text, params) in ordered:
            if wanted and name not in wanted:
                continue
            cursor = self.db.execute(text, {**params, **self.settings.get(name, {})})
            names = tuple(c[0] for c in cursor.description)
            assert names in (COLUMNS, (*COLUMNS, "not_judged")), f"{name}: columns {names}"
            rows = [dict(zip(names, r)) for r in cursor]
            doubts = [row["not_judged"] for row in rows if row.get("not_judged") is not None]
            assert not any(map(ungrouped, doubts)), f"{name}: numbers without separators: {doubts}"
            rows = [row for row in rows if row.get("not_judged") is None]
            if doubts and not rows:
                self.doubts[name] = doubts
                self.put("temp.analysis_unjudged", job_id=1, id=name, reason=doubts[0], doubt=1)
            for row in rows:
                check_row(name, row)
                self.put("temp.analysis_finding", job_id=row["job_id"], id=name,
                         severity=row["severity"], confidence=row["confidence"],
                         gain_s=row["gain_value"] if row["gain_unit"] == "s" else None,
                         gain_cause=row["gain_cause"])
            if rows:
                found[name] = rows
        return found


def ungrouped(text):
    """Whole numbers without separators, as nothing else prints them; a path may have any digits, and a
    setting is printed as it is typed."""
    text = re.sub(r"/\S*|read_ahead_kb \d+", "", text)
    return re.findall(r"(?<![\w.,])\d{4,}(?![\w.])", text)


def check_row(name, row):
    for column in ("job_id", "subject_kind", "severity", "confidence", "summary", "evidence"):
        assert row[column] is not None, f"{name}: {column} is NULL"
    assert 0 <= row["confidence"] <= 1, f"{name}: confidence {row['confidence']}"
    assert row["severity"] in ("info", "low", "medium", "high"), f"{name}: {row['severity']}"
    assert (row["gain_value"] is None) or row["gain_value"] >= 0, f"{name}: gain {row['gain_value']}"
    assert row["gain_unit"] in (None, "s", "bytes"), f"{name}: unit {row['gain_unit']}"
    assert row["gain_method"] in (None, "measured", "model", "bound"), name
    assert not ungrouped(row["summary"]), f"{name}: numbers without separators: {row['summary']}"
    for entry in json.loads(row["evidence"]):
        assert set(entry) == {"metric", "value", "unit", "scope"}, f"{name}: evidence {entry}"


LOOP = {"lookups": 40000, "misses": 2000, "demand_pages": 2000, "prefetched_async": 38000,
        "used": 38000, "evicted_reclaim_memcg": 38000, "refaults": 30000, "refault_misses": 1500,
        "stall_ns": 40 * SECOND, "stalls": 2000, "read_calls": 1250, "read_bytes": 40000 * PAGE}
ONCE = {"lookups": 40000, "misses": 1250, "demand_pages": 1250, "prefetched_async": 38750,
        "used": 38750, "read_calls": 1250, "read_bytes": 40000 * PAGE, "stall_ns": 60 * SECOND,
        "stalls": 1000}
RANDOM = {"lookups": 8000, "misses": 4000, "demand_pages": 4000, "prefetched_sync": 20000,
          "used": 2000, "evicted_unused": 12000, "resident_unused": 6000, "read_calls": 4000,
          "read_bytes": 8000 * PAGE, "stall_ns": 30 * SECOND, "stalls": 4000, "windows_sync": 4000}
MAPPED = {"faults_major": 1000, "faults_minor": 10, "demand_pages": 1000, "stalls": 1000,
          "prefetched_mmap_around": 31000, "resident_unused": 16000, "untracked": 15000,
          "mapped_pages_upper_bound": 16000, "stall_ns": 20 * SECOND}
READ_AGAIN = {"lookups": 40000, "misses": 900, "demand_pages": 1000, "prefetched_async": 19000,
              "used": 19000, "refaults": 10000, "evicted_dontneed": 20000, "read_calls": 1250,
              "read_bytes": 40000 * PAGE, "stall_ns": 20 * SECOND, "stalls": 500}
CURVE = [(5000, 0.9), (10000, 0.8), (12000, 0.7), (15000, 0.2), (20000, 0.18), (40000, 0.15)]


def with_curve(run, uncertain, second_opinion="same", broken=0):
    for pages, ratio in CURVE:
        run.model("analysis_curve", job_id=1, cache_pages=pages, miss_ratio=ratio, low=ratio - 0.02,
                  high=ratio + 0.02)
    return run.model("analysis_curve_fact", job_id=1, present_pages=10000, floor=0.1,
                     uncertain=uncertain, second_opinion=second_opinion, broken=broken)


FETCHED_TWICE = {**LOOP, "lookups": 64000}
# {finding: the run that must have it}
CASES = {
    "too-little-data": lambda: Run().job({"/d": {"lookups": 5}}),
    "nothing-wrong": lambda: Run().job({"/d": {"lookups": 90000, "read_calls": 3000,
                                               "read_bytes": 90000 * PAGE}}).machine(),
    "cache-thrash-loop": lambda: Run().job({"/d": LOOP}),
    "cache-too-small": lambda: with_curve(Run().job({"/d": LOOP}).machine(), 0),
    "memcg-limit-too-low": lambda: Run().job({"/d": LOOP}).machine(),
    "first-touch-only": lambda: Run().job({"/d": ONCE}),
    "scan-pollutes-cache": lambda: Run().job({"/data": LOOP, "/scan": {**ONCE, "stall_ns": 0}})
    .pushed(evictor_kind="own", evictor_path=b"/scan", evictor_writes=0, owner_path=b"/data",
            pages=20000),
    "writes-evict-dataset": lambda: Run().job({"/data": LOOP, "/ckpt": {"written_pages": 50000}})
    .pushed(evictor_kind="own", evictor_path=b"/ckpt", evictor_writes=1, owner_path=b"/data",
            pages=20000),
    "evicted-by-neighbour": lambda: Run().job({"/data": LOOP})
    .pushed(evictor_kind="others", evictor="tar", owner_path=b"/data", cause="reclaim_kswapd",
            pages=20000, exact=0),
    "prefetch-waste": lambda: Run().job({"/d": RANDOM}),
    "prefetch-late": lambda: Run().job({"/d": {**ONCE, "used": 20000, "used_late": 18750, "windows_sync": 10}}),
    "readahead-too-small": lambda: Run().job({"/d": ONCE}).machine()
    .traced((1250, 38750, 0, 1250, 1250), **{"ra_kb=512": (310, 39690, 0, 313, 313),
                                             "ra_kb=1024": (200, 39800, 90, 290, 290)}),
    "readahead-too-large": lambda: Run().job({"/d": RANDOM}).machine().pattern("mixed")
    .traced((4000, 20000, 18000, 4000, 4000), **{"ra_kb=32": (4400, 4000, 2400, 4400, 4400)}),
    "random-with-readahead": lambda: Run().job({"/d": RANDOM}).machine().pattern("random"),
    "sequential-without-readahead": lambda: Run().job({"/d": {
        "lookups": 16000, "misses": 16000, "demand_pages": 16000, "windows_forced": 16000,
        "read_calls": 16000, "read_bytes": 16000 * PAGE, "stall_ns": 50 * SECOND, "stalls": 16000}})
    .machine().pattern("sequential").advice("random", calls=1),
    "stride-defeats-readahead": lambda: Run().job({"/d": {
        "lookups": 4000, "misses": 4000, "demand_pages": 4000, "read_calls": 1000, "stalls": 1000,
        "read_bytes": 4000 * PAGE, "stall_ns": 20 * SECOND}}).pattern("strided", stride_bytes=65536),
    "interleaved-streams": lambda: Run().job({"/d": {
        "lookups": 8000, "misses": 4000, "demand_pages": 4000, "prefetched_sync": 4000, "used": 4000,
        "read_calls": 4000, "read_bytes": 8000 * PAGE, "stall_ns": 20 * SECOND,
        "stalls": 4000}}).pattern("interleaved"),
    "willneed-cut-short": lambda: Run().job({"/d": {**ONCE, "prefetched_willneed": 320}}).machine()
    .advice("willneed", calls=1, pages_asked=16384, pages_brought=320, redundant_pages=0),
    "willneed-unused": lambda: Run().job({"/d": {**ONCE, "prefetched_willneed": 9000}})
    .advice("willneed", calls=40, pages_asked=9000, pages_brought=9000, redundant_pages=0, used=1000,
            used_late=0, evicted_unused=7000, resident_unused=1000),
    "willneed-too-late": lambda: Run().job({"/d": {**ONCE, "used_late": 8000}})
    .advice("willneed", calls=40, pages_asked=9000, pages_brought=9000, redundant_pages=0, used=1000,
            used_late=8000, evicted_unused=0, resident_unused=0),
    "willneed-redundant": lambda: Run().job({"/d": ONCE})
    .advice("willneed", calls=400, pages_asked=900000, pages_brought=1000, redundant_pages=899000),
    "dontneed-harmful": lambda: Run().job({"/d": READ_AGAIN})
    .advice("dontneed", calls=2, pages_asked=20000, pages_dropped=20000, dropped_refaults=10000),
    "dontneed-no-effect": lambda: Run().job({"/d": {"written_pages": 16384}}).machine()
    .advice("dontneed", calls=1, pages_asked=16384, pages_dropped=10, cached_pages=16384),
    "small-reads": lambda: Run().job({"/d": {"lookups": 400000, "read_calls": 400000,
                                             "read_bytes": 400000 * 16}}),
    "small-files": lambda: Run().job({"/d": {**ONCE, "files": 4000, "misses": 16000, "stalls": 4000,
                                             "demand_pages": 20000, "prefetched_async": 20000}}),
    "mmap-random-faults": lambda: Run().job({"/d": MAPPED}).machine().pattern("mmap_random"),
    "direct-io-rereads": lambda: Run().job({"/d": {"direct_read_calls": 256,
                                                   "direct_read_bytes": 256 << 20}}).machine(),
    "duplicate-staging": lambda: Run().job({"/d": FETCHED_TWICE})
    .pattern("reread", descriptions=4, readers=4),
    "network-readahead-small": lambda: network(Run().job({"/d": ONCE}).machine()
                                               .pattern("sequential")),
    "cache-bypassed": lambda: bypassed(Run().job({"/d": ONCE})),
    "fuse-drops-cache": lambda: Run().job({"/d": {**READ_AGAIN, "evicted_dontneed": 0,
                                                               "evicted_invalidate": 20000}}),
    "dontcache-reread": lambda: Run().job({"/d": {**READ_AGAIN, "evicted_dontneed": 0,
                                                  "evicted_dontcache": 20000}}),
    "one-read-at-a-time": lambda: Run().job({"/d": {**RANDOM, "stall_ns": 60 * SECOND}}).machine().pattern("random"),
    "job-limit-oom": lambda: killed(Run().job({"/d": ONCE}).machine(job_usage_bytes=1 << 30,
                                                                    job_file_bytes=64 << 20)),
}


def killed(run):
    run.db.execute("UPDATE job_limit SET limit_bytes = ?, oom_kills = 1", (1 << 30,))
    return run


def network(run):
    run.db.execute("UPDATE filesystem SET type = 'nfs4'")
    return run


def bypassed(run):
    run.db.execute("UPDATE job SET rchar_bytes = 1 << 40")
    run.db.execute("UPDATE filesystem SET type = 'zfs', cover = 'cache-bypassed', why = 'has its own'")
    return run


def nothing_measured():
    run = Run()
    run.put("job", id=1, run_id=1, slot=1, name="job", selector="command: x")
    run.put("directory", id=1, job_id=1, path=b"/d")
    run.put("file", id=1, job_id=1, directory_id=1, dev_major=7, dev_minor=0, ino=1, gen=1)
    run.put("filesystem", id=1, job_id=1)
    run.advice("willneed").advice("dontneed").pattern("random").pattern("sequential", 2)
    found = run.views().find()
    return [f"finds {', '.join(found)} in a run that measured nothing"] if found else []


def finds(name, make):
    found = make().views().find()
    return [] if name in found else [f"is not found; found are {sorted(found)}"]


COUNTED = ("job", "directory", "file", "filesystem")
BESIDE = ("advice", "interference", "machine", "machine_interval", "device", "job_limit", "analysis_pattern",
          "analysis_curve", "analysis_curve_fact", "analysis_whatif_readahead", "analysis_grade")


def may_be_null(run, table):
    for _, column, kind, required, _, key in run.db.execute(f"PRAGMA table_info({table})").fetchall():
        if not required and not key and kind in ("INTEGER", "REAL") and \
                column not in ("ino", "gen", "slot", "dev_major", "dev_minor") and \
                not column.endswith("_id"):
            yield column


def nullable(run):
    """(tables, column) of every figure that may be NULL: a counter is NULL in all tables or in
    none."""
    counters = {c: [t for t in COUNTED if c in run.columns(t)] for t in COUNTED for c in may_be_null(run, t)}
    yield from ((tables, column) for column, tables in counters.items())
    yield from (([t], c) for t in BESIDE for c in may_be_null(run, t)
                if c not in NO_FIGURE and run.db.execute(f"SELECT 1 FROM {t} WHERE {c} IS NOT NULL").fetchone())


def null_stays_null():
    """No rule reads a counter that was not measured as 0."""
    return [f"{name}: {found}" for name, (text, _) in sorted(rules().items())
            for found in re.findall(r"\b(?:coalesce|ifnull)\([^()]*, *0(?:\.0)?\)|\btotal\(", text)
            if not re.fullmatch(r"coalesce\(\w+\.directory_id, 0\)", found)]


def numbers(text):
    return set(re.findall(r"\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3})", "", text)))


def made_up(before, after):
    """New numbers in a finding's sentence after something was removed: printf() prints NULL as
    0, and a sum leaves it out."""
    known = set().union(*(numbers(r["summary"]) for r in before))
    return sorted(set().union(*(numbers(r["summary"]) for r in after)) - known)


def null_adds_nothing(name, make):
    """Each figure is NULL in turn: no finding is new, and no number is."""
    wrong, run = [], make().views()
    run.db.isolation_level = None
    found_before = run.find()
    before = set(found_before)
    for tables, column in list(nullable(run)):
        here = run
        if tables == ["machine_interval"]:  # computed when the views are made
            here = make()
            here.db.execute(f"UPDATE machine_interval SET {column} = NULL")
            here.views()
            here.db.isolation_level = None
        here.db.commit()
        here.db.execute("BEGIN")
        here.db.execute("DELETE FROM temp.analysis_finding")
        here.db.execute("DELETE FROM temp.analysis_unjudged")
        for table in tables:
            here.db.execute(f"UPDATE {table} SET {column} = NULL")
        found_now = here.find()
        for found in sorted(set(found_now) - before - MAY_APPEAR):
            wrong.append(f"{found} appears when {column} of {tables[0]} is NULL")
        for found in sorted(set(found_now) & before):
            if made_up(found_before[found], found_now[found]):
                wrong.append(f"{found} says {made_up(found_before[found], found_now[found])} when {column} of "
                             f"{tables[0]} is NULL")
        here.db.execute("ROLLBACK")
    return wrong


def uncertain_is_said(uncertain, second_opinion):
    """If the methods disagree, or are missing, the finding says so."""
    run = with_curve(Run().job({"/d": LOOP}).machine(), uncertain, second_opinion)
    row = run.views().find()["cache-too-small"][0]
    wrong = [] if "uncertain" in row["summary"] else [f"says: {row['summary']}"]
    return wrong + ([] if row["severity"] == "low" and row["confidence"] <= 0.5
                    else [f"{row['severity']}, {row['confidence']}"])


def mapped(larger_pages, pattern):
    """A mapped file, whose waste is not known, with a larger window that fetches that many
    pages."""
    run = Run().job({"/d": ONCE}).machine().pattern(pattern).traced(
        (1250, 38750, None, 1250, 1250), **{"ra_kb=512": (310, larger_pages - 310, None, 313, 313)})
    return "readahead-too-small" in run.views().find()


def mapped_use_is_not_seen():
    """A tenth more of 40,000 pages is accepted if they are touched in order."""
    wanted = ((42000, "mmap_sequential", True), (43900, "mmap_sequential", True),
              (44100, "mmap_sequential", False), (40000, "mmap_random", False))
    return [f"{pages} pages, {pattern}: {'not ' if want else ''}found" for pages, pattern, want in wanted
            if mapped(pages, pattern) != want]


def broken_curve_says_nothing():
    """A sample that ended before the run does not describe the run."""
    found = with_curve(Run().job({"/d": LOOP}).machine(), 0, broken=1).views().find()
    return ["it is used"] if "cache-too-small" in found else []


WELL = {"lookups": 90000, "read_calls": 3000, "read_bytes": 90000 * PAGE, "stall_ns": 2 * SECOND}
# Cold and random: 16 % hits, several tasks wait for 39 % of their time, and no rule has a cause.
COLD = {"lookups": 50000, "misses": 42000, "demand_pages": 42000, "windows_forced": 42000,
        "read_calls": 42000, "read_bytes": 42000 * PAGE, "stall_ns": 45 * SECOND, "stalls": 42000}


def sentence(counters, cpu_s=10, **scores):
    unknown = [name for name, value in counters.items() if value is None]
    run = Run().job({"/d": {**counters, **dict.fromkeys(unknown, 0)}}, cpu_s=cpu_s).machine().pattern("random")
    for name in unknown:
        run.db.execute(f"UPDATE job SET {name} = NULL")
    for name, score in scores.items():
        run.model("analysis_grade", job_id=1, kind="job", subject_id=1, name=name, score=score,
                  grade=score if score is None else "A" if score >= 0.9 else "E")
    return run.views().find()["nothing-wrong"][0]["summary"]


def praise_is_borne():
    """"The page cache serves this job well" is printed only if hits, waits and grades are known
    and good; otherwise the text is weaker."""
    good = {"overall": 0.95, "hits": 1.0, "prefetch": None, "eviction": 1.0, "stall": 0.98}
    wrong = []
    for what, counters, scores, praise, words in (
            ("all good", WELL, good, True, "spent 2.0 % of its time waiting for reads"),
            ("cold", COLD, {**good, "stall": 0.55, "cpu_s": 70}, False,
             "no rule explains the low grade: the job spent 39.1 % of its time waiting for reads, and 42,000 of "
             "50,000"),
            ("few hits", {**COLD, "stall_ns": SECOND}, good, False,
             "1.0 % of its time waiting for reads, and 42,000 of 50,000"),
            ("past the cache", {**WELL, "lookups": 8, "read_calls": 1, "read_bytes": 8 * PAGE,
                                "direct_read_bytes": 48 << 20}, good, False,
             "2.0 % of its time waiting for reads, and 48 MiB were read with O_DIRECT"),
            ("faults that read", {**WELL, "lookups": 8, "read_calls": 1, "read_bytes": 8 * PAGE,
                                  "faults_major": 2000}, good, False,
             "2.0 % of its time waiting for reads, and 2,000 faults had to read"),
            ("faults beside hits", {**WELL, "faults_major": 50000}, good, False, "and 50,000 faults had to read"),
            ("a bad grade", WELL, {**good, "eviction": 0.4}, False, "eviction is graded E"),
            ("no grades", WELL, {}, False, "no grade"),
            ("waits unknown", {**WELL, "stall_ns": None}, good, False, "the waiting time was not measured")):
        said = sentence(counters, **scores)
        if ("serves" in said) != praise or words not in said:
            wrong.append(f"{what}: {said}")
    for name, (text, _) in rules().items():
        if re.search(r"^-- title:.*serves", text, re.M):
            wrong.append(f"{name}: its title says so always")
    return wrong


def one_at_a_time():
    """Random reads of one task that waits; not of several, not in order, and not without waits."""
    wrong = []
    for what, counters, cpu_s, pattern, found in (("one task", COLD, 10, "random", True),
                                                  ("several tasks", COLD, 70, "random", False),
                                                  ("in order", COLD, 10, "sequential", False),
                                                  ("few waits", {**COLD, "stall_ns": 19 * SECOND}, 10, "random", False)):
        run = Run().job({"/d": counters}, cpu_s=cpu_s).machine().pattern(pattern)
        if ("one-read-at-a-time" in run.views().find()) != found:
            wrong.append(f"{what}: found is {not found}")
    # Counters alone show it in two ways. Random reads return to pages as often as chance makes
    # them: 20,000 draws of 262,144 pages return to 743 on average. And where the kernel looks for
    # an order, windows of just the requested pages show that it finds none: at a stride, at random
    # with hot pages, or shuffled. Without readahead, as after advice or by the device's setting,
    # any reads have the same windows.
    random, unforeseen = "at random", "in pieces that readahead could not foresee"
    wanted = (("at random, no windows of reads", 20000, 740, (0, 0, 19260), 0, random),
              ("at random, read ahead now and then", 20000, 740, (19260, 200, 0), 0, random),
              ("a stride", 16384, 0, (16384, 0, 0), 0, unforeseen),
              ("a stride, part of it again", 20000, 3616, (16384, 0, 0), 0, unforeseen),
              ("half of a stride twice", 16384, 8192, (8192, 0, 0), 0, unforeseen),
              ("hot pages", 20000, 12000, (8000, 0, 0), 700, unforeseen),
              ("few reads", 3000, 17, (2983, 0, 0), 0, unforeseen),
              ("a stride, with RANDOM", 16384, 0, (8192, 0, 8192), 0, None),
              ("some order", 16384, 0, (16384, 0, 0), 2000, None),
              ("in order, many calls a page", 262144, 229376, (0, 0, 32768), 0, None),
              ("read ahead", 20000, 740, (19260, 2000, 0), 0, None),
              ("too few to tell, with RANDOM", 3000, 17, (0, 0, 2983), 0, None))
    for what, lookups, again, windows, ahead, words in wanted:
        for pattern, confidence in (("random", 0.4), ("unknown", 0)):
            misses = lookups - again
            run = Run().job({"/d": {"lookups": lookups, "misses": misses, "demand_pages": misses,
                                    "read_calls": lookups, "read_bytes": lookups * PAGE, "stalls": misses,
                                    "stall_ns": 45 * SECOND, "size_bytes": 1 << 30, "prefetched_sync": ahead,
                                    "resident_unused": ahead,
                                    **dict(zip(("windows_sync", "windows_async", "windows_forced"), windows))}})
            rows = run.machine().pattern(pattern, confidence=confidence).views().find().get("one-read-at-a-time", [])
            if [row["confidence"] for row in rows] != [0.7] * bool(words) or \
                    not all(f"read {words}," in row["summary"] for row in rows):
                wrong.append(f"by counters, {what}, {pattern}: {rows}")
            if not words and "one-read-at-a-time" not in run.doubts:
                wrong.append(f"by counters, {what}, {pattern}: no doubt")
    mapped = Run().job({"/d": {**COLD, "windows_forced": 0, "windows_sync": 42000}}).machine()
    if "one-read-at-a-time" not in mapped.pattern("mmap_random", confidence=0.4).views().find():
        wrong.append("by counters, mapped: not found")
    return wrong


def scattered_reads_in_slices():
    """A sliced run knows neither lookups nor hits, and its misses, windows and waits are exact."""
    run = Run().job({"/d": {**COLD, "windows_forced": 0, "windows_sync": 42000}}).machine().pattern(
        "random", confidence=0.4)
    run.db.execute("UPDATE run SET sliced = 1, level = 'auto', cost_budget = 0.01")
    rows = run.views().find().get("one-read-at-a-time", [])
    return [] if len(rows) == 1 and "could not foresee" in rows[0]["summary"] else [f"{rows}, in doubt {run.doubts}"]


def small_files_are_no_random_reads():
    """2,000 files of 30 KiB, each read whole by one call that waits: neither random nor in doubt."""
    each = {"lookups": 8, "misses": 8, "demand_pages": 8, "windows_sync": 1, "read_calls": 1,
            "read_bytes": 30 << 10, "stalls": 1, "stall_ns": 30 * SECOND // 1000}
    run = Run().job({"/d": {**{name: 2000 * value for name, value in each.items()}, "files": 2000}}).machine()
    run.db.execute("DELETE FROM file")
    run.files(each, range(1, 2001))
    for number in range(1, 2001):
        run.pattern("random", number, confidence=0.4)
    found = run.views().find()
    return [] if "small-files" in found and "one-read-at-a-time" not in {*found, *run.doubts} else \
        [f"found {sorted(found)}, in doubt {run.doubts}"]


def one_wait_has_one_cause():
    """Data read once is a symptom of what makes each read wait, if that explains most waits."""
    small = {**COLD, "files": 1000, "windows_forced": 0, "windows_sync": 42000}
    wrong = []
    for what, counters, pattern, ids, causes in (
            ("random", {**COLD, "lookups": 42000}, "random", {"first-touch-only", "one-read-at-a-time"}, {"one-by-one"}),
            ("small files at random", {**small, "lookups": 42000}, "random",
             {"first-touch-only", "one-read-at-a-time", "small-files"}, {"one-by-one"}),
            ("in order", {**COLD, "lookups": 42000}, "sequential", {"first-touch-only"}, {"first-touch"})):
        found = Run().job({"/d": counters}).machine().pattern(pattern).views().find()
        got = {row["gain_cause"] for name in ids for row in found.get(name, [{"gain_cause": "not found"}])}
        if got != causes:
            wrong.append(f"{what}: {got}")
    return wrong


def random_reads_are_one_finding():
    """Files of several directories are one finding of the job, which needs its share of the time."""
    counters = {**COLD, "stall_ns": 15 * SECOND}
    run = Run().job({"/a": counters, "/b": counters}).machine().pattern("random").pattern("random", 2)
    rows = run.views().find().get("one-read-at-a-time", [])
    said = [(row["subject_kind"], row["subject"], row["gain_value"]) for row in rows]
    return [] if said == [("job", "job", 30 * 7 / 8)] else [f"{said}"]


def device_has_that_window():
    """No finding recommends a window that the device already has or exceeds: the file was opened
    before it was set."""
    wrong = []
    for name, kib, found in (("readahead-too-small", 256, True), ("readahead-too-small", 512, False),
                             ("readahead-too-small", 8192, False), ("readahead-too-large", 64, True),
                             ("readahead-too-large", 32, False), ("readahead-too-large", 16, False)):
        run = CASES[name]()
        run.db.execute("UPDATE device SET read_ahead_kb = ?", (kib,))
        if (name in run.views().find()) != found:
            wrong.append(f"{name}, {kib} KiB: found is {not found}")
    return wrong


def little_is_said_alone():
    """If a rule found something, there was enough data: too-little-data never comes with another
    finding."""
    stride = {"lookups": 900, "misses": 900, "demand_pages": 900, "read_calls": 900, "stalls": 900,
              "read_bytes": 900 * PAGE, "stall_ns": 20 * SECOND}
    found = Run().job({"/d": stride}).pattern("strided", stride_bytes=65536).views().find()
    wrong = [] if set(found) == {"stride-defeats-readahead"} else [f"a stride: {sorted(found)}"]
    found = Run().job({"/d": {**stride, "stall_ns": 0}}).pattern("sequential").views().find()
    return wrong + ([] if set(found) == {"too-little-data"} else [f"in order: {sorted(found)}"])


def dropped_by_its_own_calls():
    """Pages that others dropped are not attributed to this job's advice."""
    wrong = []
    for dropped, found in ((20000, True), (500, False), (None, False)):
        run = Run().job({"/d": READ_AGAIN})
        if dropped:
            run.advice("dontneed", calls=2, pages_asked=20000, pages_dropped=dropped)
        if ("dontneed-harmful" in run.views().find()) != found:
            wrong.append(f"{dropped} dropped by its own calls: found is {not found}")
    return wrong


def sentence_of(name, run):
    return run.views().find()[name][0]["summary"]


def what_is_read_again_is_not_random():
    """The rule is based on the pattern, so the sentence names that pattern."""
    wrong = []
    for pattern, word in (("random", "at random"), ("mixed", "at random"),
                          ("shuffled_epoch", "at random"), ("reread", "repeatedly")):
        said = sentence_of("random-with-readahead",
                           Run().job({"/d": RANDOM}).machine().pattern(pattern))
        if word not in said or (pattern == "reread" and "random" in said):
            wrong.append(f"{pattern}: {said}")
    return wrong


def small_files_of_the_dataset():
    """The finding names the directory with the dataset, and counts its files alone."""
    def small(files, stall_s=0):
        return {"files": files, "misses": 4 * files, "demand_pages": 5 * files, "prefetched_async": 5 * files,
                "stall_ns": stall_s * SECOND, "stalls": 4 * files}

    python = {f"/opt/conda/lib/python3.11/{name}": small(400, 5) for name in ("json", "site-packages/torch")}
    python["/home/u/job/__pycache__"] = small(900, 5)
    wrong = []
    for what, directories, want in (
            ("one directory", {"/d/train": small(1000, 30)}, ("/d/train", 1000)),
            ("a directory of each class", {f"/d/train/n{i}": small(10, 1) for i in range(60)}, ("/d/train", 600)),
            ("classes in two parts", {f"/d/{part}/n{i}": small(10, 1) for part in "ab" for i in range(30)},
             ("/d", 600)),
            ("another directory beside it", {"/d/train": small(1000, 30), "/d/log": small(20)}, ("/d/train", 1000)),
            ("a directory whose name begins like a program's", {"/library/scans": small(1000, 30)},
             ("/library/scans", 1000)),
            ("a name that is not text", {"/d/\udcff/x": small(1000, 30)}, ("/d/\udcff/x", 1000)),
            ("only the program", {}, None)):
        encoded = Run().job({**python, **directories}).views().find().get("small-files")
        found = encoded and (os.fsdecode(encoded[0]["subject"]),
                             next(e["value"] for e in json.loads(encoded[0]["evidence"]) if e["metric"] == "files"))
        if found != want:
            wrong.append(f"{what}: {found}")
    return wrong


def small_files_cost_their_waits():
    """There are 2,000 waits of 20 ms. Large files need one for each 32 pages that were fetched. If
    that is most of them, the files are not small."""
    wrong = []
    for what, each, gain in (("30 KiB, read whole", {"misses": 8, "demand_pages": 8, "stalls": 1}, 30),
                             ("192 KiB, in calls of 64 KiB",
                              {"misses": 17, "demand_pages": 17, "prefetched_async": 31, "stalls": 2}, None)):
        files = 2000 // each["stalls"]
        counters = {name: files * value for name, value in each.items()}
        run = Run().job({"/d": {**counters, "files": files, "stall_ns": 40 * SECOND}})
        got = [row["gain_value"] for row in run.views().find({"small-files"}).get("small-files", [])]
        if [round(g, 6) for g in got] != [gain] * (gain is not None):
            wrong.append(f"{what}: saves {got} s, not {gain}")
    return wrong


def small_reads_at_random():
    """Short random records: it is not known that a page is read again, so the text does not
    claim it."""
    row = Run().job({"/d": {"lookups": 400000, "read_calls": 400000,
                            "read_bytes": 400000 * 16}}).views().find()["small-reads"][0]
    wrong = [] if row["confidence"] <= 0.7 else [f"confidence {row['confidence']}"]
    return wrong + ([row["summary"]] if "each page" in row["summary"] else [])


def outside_of_the_cache():
    """Reads from elsewhere may be from a pipe; not measured is not 0."""
    row = bypassed(Run().job({"/d": ONCE})).views().find()["cache-bypassed"][0]
    metrics = {e["metric"]: e["value"] for e in json.loads(row["evidence"])}
    wrong = [] if row["confidence"] <= 0.7 else [f"confidence {row['confidence']}"]
    if not metrics.get("outside_read_bytes"):
        wrong.append(f"no outside_read_bytes in {metrics}")
    if "direct_read_bytes" not in needs("cache-bypassed"):
        wrong.append("direct_read_bytes is no need of it")
    return wrong


def needs(name):
    text = read(os.path.join(SQL, "rules", name + ".sql"))
    lines = re.findall(r"^-- needs counters: (.*(?:\n--  .*)*)", text, re.M)
    return {word for line in lines for word in line.replace("--", "").split()}


def beside(run, started_s, cgroup):
    """Another run on that machine, of a job in that cgroup."""
    run.put("run", id=0, uuid="v", cachemon="0", host="h", kernel="6.18", arch="x86_64",
            started_ns=started_s * SECOND, duration_ns=SECOND, state="complete", writer_boot="b",
            writer_pidns=0, writer_pid=1, writer_start_ticks=0, level="full", read_on_ns=0,
            advice_mode="calls", interval_ns=SECOND, page_size_bytes=PAGE, memory_bytes=16 << 30,
            map_bytes=0)
    run.put("job", id=100, run_id=0, slot=1, name="indexer", selector=f"cgroup: {cgroup}")
    run.put("job_cgroup", job_id=100, path=cgroup.encode())
    return run


def another_job_is_named():
    """The job whose cgroup has the evictor, if it was watched at that time; otherwise the
    command."""
    wrong = []
    for started_s, cgroup, name, words in ((50, "/jobs/2", "indexer", "job indexer evicted"),
                                           (101, "/jobs/2", "tar", "tar evicted"),
                                           (50, "/jobs/23", "tar", "tar evicted")):
        run = beside(Run().job({"/data": LOOP}), started_s, cgroup)
        run.pushed(evictor_kind="others", evictor="tar", evictor_cgroup=b"/jobs/2/step", pages=20000,
                   owner_path=b"/data")
        row = run.views().find()["evicted-by-neighbour"][0]
        said = {e["metric"]: e["value"] for e in json.loads(row["evidence"])}
        if words not in row["summary"] or said["interference.evictor"] != name:
            wrong.append(f"{cgroup} from {started_s} s on: {row['summary']}, {said}")
    return wrong


def unknown_evictors_are_no_pass():
    """A rule about who evicts is not passed if most evictors were not recorded."""
    wrong = []
    for known, written, want in ((0, 0, {"evicted-by-neighbour"}), (15000, 0, set()),
                                 (0, 20000, {"evicted-by-neighbour", "writes-evict-dataset"})):
        run = Run().job({"/data": {**LOOP, "written_pages": written}})
        run.pushed(evictor_kind=None, evictor=None, pages=20000 - known, owner_path=None)
        if known:
            run.pushed(evictor_kind="own", evictor_path=b"/data", evictor_writes=0, pages=known, owner_path=b"/data")
        asked = {"evicted-by-neighbour", "writes-evict-dataset"}
        found = run.views().find(asked)
        said = " ".join(reason for reasons in run.doubts.values() for reason in reasons)
        if found or set(run.doubts) != want or (want and "20,000 of the 20,000" not in said):
            wrong.append(f"{known} known, {written} written: finds {list(found)}, doubts {run.doubts}")
    return wrong


def sliced_is_no_waste():
    """In a sliced run, pages that are unread or untracked were not wasted."""
    run = Run().job({"/d": {**RANDOM, "evicted_unused": 0, "untracked": 12000}}).pattern("random")
    run.db.execute("UPDATE run SET sliced = 1, level = 'auto', read_on_ns = 10000000000")
    found = set(run.views().find()) & {"prefetch-waste", "random-with-readahead", "willneed-unused"}
    return [f"finds {', '.join(found)}"] if found else []


def sliced_is_limited():
    """Evictions by cause are exact in a sliced run: the limit is judged without the fates of
    prefetched pages, unless those that came back may all have been unused."""
    wrong = []
    for what, prefetched, found, doubted in (("few prefetched", 5000, True, False),
                                             ("most prefetched", 35000, False, True)):
        run = Run().job({"/d": {**LOOP, "prefetched_async": prefetched, "used": 0, "untracked": prefetched,
                                "demand_pages": 40000 - prefetched, "misses": 40000 - prefetched}}).machine()
        run.db.execute("UPDATE run SET sliced = 1, level = 'auto', read_on_ns = 10000000000")
        name = "memcg-limit-too-low"
        got = (name in run.views().find(), name in run.doubts)
        if got != (found, doubted):
            wrong.append(f"{what}: found, in doubt: {got}")
    return wrong


def judge(cases):
    """Runs (name, function, arguments...), each of which returns its errors; returns the status
    of the part."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}

    for name, function, *arguments in cases:
        try:
            wrong = function(*arguments)
        except (sqlite3.Error, AssertionError, KeyError) as e:
            wrong = [f"{type(e).__name__}: {e}"]
        verdict = "failed" if wrong else "passed"
        counts[verdict] += 1
        print(f"{verdict.upper():7} {name}{': ' if wrong else ''}{'; '.join(wrong[:8])}", flush=True)
    print(", ".join(f"{counts[k]} {k}" for k in ("passed", "failed", "skipped")))
    return 1 if counts["failed"] else 0


def main():
    return judge([
        ("a run that measured nothing", nothing_measured),
        *((f"{name}: a run that has it", finds, name, CASES[name]) if name in CASES else
          (f"{name}: a run that has it", lambda: ["there is none"]) for name in sorted(rules())),
        *((f"{name}: with figures not measured", null_adds_nothing, name, CASES[name]) for name in sorted(CASES)),
        ("what was not measured stays so", null_stays_null),
        ("cache-too-small: two opinions differ", uncertain_is_said, 1, "other"),
        ("cache-too-small: one opinion", uncertain_is_said, 0, "none"),
        ("cache-too-small: a broken curve", broken_curve_says_nothing),
        ("readahead-too-small: a mapped file", mapped_use_is_not_seen),
        ("a run in slices", sliced_is_no_waste),
        ("memcg-limit-too-low: a run in slices", sliced_is_limited),
        ("evicted-by-neighbour: another job", another_job_is_named),
        ("evicted-by-neighbour, writes-evict-dataset: evictors not known", unknown_evictors_are_no_pass),
        ("nothing-wrong: praise only where figures bear it", praise_is_borne),
        ("random-with-readahead: its sentence", what_is_read_again_is_not_random),
        ("one-read-at-a-time: of one task at random", one_at_a_time),
        ("one-read-at-a-time: a run in slices", scattered_reads_in_slices),
        ("one-read-at-a-time: small files read whole", small_files_are_no_random_reads),
        ("first-touch-only, small-files, one-read-at-a-time: one cause", one_wait_has_one_cause),
        ("one-read-at-a-time: in several directories", random_reads_are_one_finding),
        ("readahead-too-small, readahead-too-large: the device's window", device_has_that_window),
        ("too-little-data: beside nothing", little_is_said_alone),
        ("dontneed-harmful: the job's own calls", dropped_by_its_own_calls),
        ("small-files: the dataset's files alone", small_files_of_the_dataset),
        ("small-files: what larger files save", small_files_cost_their_waits),
        ("small-reads: order not known", small_reads_at_random),
        ("cache-bypassed: what it rests on", outside_of_the_cache),
    ])


if __name__ == "__main__":
    sys.exit(main())
