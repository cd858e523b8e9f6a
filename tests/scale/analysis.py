#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The analysis of a large run, and its report for programs: CPU time, memory, bytes, and that no
frequent query scans a whole table.

The database is made here: a million files in directories, a day of intervals of one second. Once
as the store keeps it (8192 files with a row, old intervals merged, 256 files per interval), and
once with a row for each file and each second, which no writer leaves but a reader must handle."""

import glob
import itertools
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fault"))

from faultlib.part import REPO, Part, expect  # noqa: E402

part = Part("analysis", __doc__, count=("files of a run", 1000000, 50000))
CPU_S_MAX = 2.0
MEMORY_MAX = 200 << 20
TIMELINE_BYTES_MAX, INTERFERENCE_BYTES_MAX = 128 << 10, 128 << 10
INTERFERENCE_ROWS = 4096  # as many as a recorder keeps
DAY_S, FULL_S, PER_DIR, FILES_MAX, INTERVAL_FILES = 86400, 900, 1000, 8192, 256
BIG_TABLES = ("file", "file_interval", "job_interval", "interval", "machine_interval", "directory", "advice",
              "interference")
READERS = (["advise"], ["report"], ["whatif", "cache"], ["whatif", "readahead"], ["compare", "1", "1"],
           ["runs"], ["top", "--batch", "--rows", "files"], ["top", "--batch", "--rows", "directories"])
COUNTS = ("read_calls", "read_bytes", "lookups", "delayed_hits", "misses", "demand_pages",
          "prefetched_sync", "prefetched_async", "prefetched_willneed", "prefetched_readahead2",
          "prefetched_mmap_around", "used", "used_late", "evicted_unused", "resident_unused",
          "untracked", "windows_sync", "windows_async", "windows_forced", "written_pages",
          "other_added_pages", "evicted_reclaim_kswapd", "evicted_reclaim_direct",
          "evicted_reclaim_memcg", "evicted_dontneed", "evicted_drop_caches", "evicted_truncate",
          "evicted_direct_io", "evicted_other", "refaults", "refault_misses",
          "refault_distance_pages", "refault_distance_ms", "faults_major", "faults_minor",
          "direct_read_calls", "direct_read_bytes", "stall_ns", "stalls")


def numbers(rng, scale=1):
    """Counters of a file that was read in order, with some wasted prefetch."""
    lookups = rng.randrange(200, 400) * scale
    misses, wasted = lookups // 10, lookups + rng.randrange(lookups)
    row = dict.fromkeys(COUNTS, 0)
    row.update(read_calls=lookups // 4, read_bytes=lookups * 4096, lookups=lookups, misses=misses,
               demand_pages=misses, prefetched_async=lookups - misses + wasted,
               used=lookups - misses, evicted_unused=wasted, windows_async=lookups // 32,
               evicted_reclaim_kswapd=misses, refaults=misses // 2, refault_misses=misses // 2,
               refault_distance_pages=misses * 1000, refault_distance_ms=misses * 100,
               stall_ns=misses * 100000, stalls=misses)
    return [row[name] for name in COUNTS]


def pool(rng, scale=1):
    """A few hundred of them, repeated: a database needs millions."""
    return itertools.cycle([numbers(rng, scale) for _ in range(509)])


def insert(db, table, columns, rows):
    columns = list(columns) + list(COUNTS)
    db.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES "
                   f"({', '.join('?' * len(columns))})", rows)


def intervals(rolled):
    """Start and length of each, in seconds."""
    if not rolled:
        return [(s, 1) for s in range(DAY_S)]
    return ([(s, 60) for s in range(0, DAY_S - FULL_S, 60)] +
            [(s, 1) for s in range(DAY_S - FULL_S, DAY_S)])


def make(path, count, rolled):
    """A run of a day over count files."""
    rng = random.Random(1)
    some, many = pool(rng), pool(rng, PER_DIR)
    db = sqlite3.connect(path)
    for name in sorted(glob.glob(os.path.join(REPO, "sql", "[0-9]*.sql"))):
        with open(name, encoding="utf-8") as f:
            db.executescript(f.read())
        version = int(os.path.basename(name).split("_")[0])
    db.execute(f"PRAGMA user_version = {version}")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("INSERT INTO run (id, uuid, cachemon, host, kernel, arch, started_ns, duration_ns, "
               "state, writer_boot, writer_pidns, writer_pid, writer_start_ticks, level, "
               "read_on_ns, advice_mode, interval_ns, page_size_bytes, memory_bytes, map_bytes) "
               "VALUES (1, 'u', '0', 'h', '6.18', 'x86_64', 0, ?1, 'complete', 'b', 0, 1, 0, "
               "'full', ?1, 'calls', 1000000000, 4096, 17179869184, 0)", (DAY_S * 10**9,))
    db.executemany("INSERT INTO job (id, run_id, slot, name, selector, processes, wall_ns, cpu_ns, "
                   f"rchar_bytes, {', '.join(COUNTS)}) VALUES ({', '.join('?' * (9 + len(COUNTS)))})",
                   [[1, 1, 1, "train", "pid", 8, DAY_S * 10**9, 10**13, 10**12] +
                    numbers(rng, count), [2, 1, 0, "(others)", "all", 9, None, None, None] +
                    numbers(rng, count)])
    insert(db, "directory", ("id", "job_id", "path", "files"),
           ([d + 1, 1, b"/data/%d" % d, PER_DIR] + next(many)
            for d in range(count // PER_DIR)))
    insert(db, "file", ("id", "job_id", "directory_id", "dev_major", "dev_minor", "ino", "gen",
                        "fstype", "size_bytes", "path"),
           ([i + 1, 1, i % (count // PER_DIR) + 1, 8, 1, i + 10, 1, "ext4", 1 << 20,
             b"/data/%d/%d" % (i % (count // PER_DIR), i)] + next(some)
            for i in range(min(count, FILES_MAX) if rolled else count)))
    spans = intervals(rolled)
    db.executemany("INSERT INTO interval VALUES (?, 1, ?, ?, ?, ?)",
                   ((i + 1, s * 10**9, n * 10**9, n * 10**9, n) for i, (s, n) in enumerate(spans)))
    insert(db, "job_interval", ("interval_id", "job_id"),
           ([i + 1, job] + next(some) for i in range(len(spans)) for job in (1, 2)))
    insert(db, "file_interval", ("interval_id", "file_id"),
           ([i + 1, (i * 7 + f) % FILES_MAX + 1] + next(some)
            for i in range(min(len(spans), 2400)) for f in range(INTERVAL_FILES)))
    db.executemany("INSERT INTO interference (job_id, cause, evictor_kind, evictor, evictor_path, "
                   "owner_path, pages, exact) VALUES (1, ?, 'own', 'train', ?, ?, 10, 1)",
                   (("truncate" if i % 2 else "reclaim_kswapd", b"/data/%d" % i, b"/data/%d" % (i % 9))
                    for i in range(INTERFERENCE_ROWS)))
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema")}
    if "machine_interval" in tables:
        db.executemany("INSERT INTO machine_interval (interval_id, free_bytes, available_bytes, "
                       "file_cached_bytes) VALUES (?, 1, 2, 3)", ((i + 1,) for i in range(len(spans))))
    db.commit()
    db.close()
    return path


def run(cachemon, path, verb="advise"):
    """Runs the verb: returns its JSON, CPU seconds and peak memory."""
    with tempfile.TemporaryFile() as out:
        pid = os.fork()
        if not pid:
            os.dup2(out.fileno(), 1)
            os.execv(cachemon, [cachemon, verb, "--db", path, "--format", "json"])
        _, status, usage = os.wait4(pid, 0)
        expect(os.waitstatus_to_exitcode(status) == 0, f"{verb}: status {status}")
        out.seek(0)
        return json.load(out), usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10


def judge(case, rolled):
    path = make(case.path("run.db"), part.options.count, rolled)
    done, cpu_s, memory = run(case.cachemon, path)
    size = os.path.getsize(path)
    expect(not done["problems"], str(done["problems"]))
    expect(done["jobs"][0]["findings"], "nothing was found")
    expect(memory <= MEMORY_MAX, f"{memory} bytes of memory, {MEMORY_MAX} allowed")
    expect(cpu_s <= CPU_S_MAX, f"{cpu_s:.2f} s of CPU time, {CPU_S_MAX} allowed")
    return f"{cpu_s:.2f} s of CPU time, {memory >> 20} MiB of memory, database {size >> 20} MiB"


def sums_of(tree):
    """{keys: sum} of the lines of a timeline, {keys: figure} of totals."""
    sums = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            sums.update({(key, *keys): v for keys, v in sums_of(value).items()})
        elif value is not None:
            sums[(key,)] = sum(v or 0 for v in value) if isinstance(value, list) else value
    return sums


def judge_report(case):
    """Bounded, and as exact as sqlite's sums of all intervals."""
    path = make(case.path("run.db"), part.options.count, True)
    db = sqlite3.connect(path)
    made = [name for name in COUNTS if name != "resident_unused"]
    wanted = dict(zip(made, db.execute("SELECT " + ", ".join(f"sum({name})" for name in made) +
                                       " FROM job_interval WHERE job_id = 1").fetchone()))
    # The generator sums the files into the job's totals; here the totals must be the sums of the
    # intervals.
    db.execute("UPDATE job SET " + ", ".join(f"{name} = ?" for name in made) + " WHERE id = 1",
               list(wanted.values()))
    db.commit()
    db.close()
    done, cpu_s, memory = run(case.cachemon, path, "report")
    job = done["jobs"][0]
    timeline = sums_of(job["timeline"])
    expect(job["timeline"]["buckets"] == 120, f"{job['timeline']['buckets']} buckets")
    expect(timeline[("intervals",)] == DAY_S, f"{timeline[('intervals',)]} intervals")
    expect(timeline[("duration_ns",)] == DAY_S * 10**9, f"{timeline[('duration_ns',)]} ns")
    for keys in (("lookups",), ("misses",), ("read_bytes",), ("stall_ns",), ("refaults",)):
        expect(timeline[keys] == wanted[keys[0]], f"{keys}: {timeline[keys]}, not {wanted[keys[0]]}")
    for keys, value in sums_of(job["totals"]).items():
        if keys in timeline and keys[-1] != "resident_unused":
            expect(timeline[keys] == value, f"{keys}: {timeline[keys]}, not {value}")
    pages = sum(e["pages"] for e in job["interference"]["evictions"])
    expect(pages == 10 * INTERFERENCE_ROWS, f"{pages} pages pushed out")
    sizes = [len(json.dumps(job[key])) for key in ("timeline", "interference")]
    expect(sizes[0] <= TIMELINE_BYTES_MAX and sizes[1] <= INTERFERENCE_BYTES_MAX, f"{sizes} bytes")
    expect(memory <= MEMORY_MAX, f"{memory} bytes of memory, {MEMORY_MAX} allowed")
    expect(cpu_s <= CPU_S_MAX, f"{cpu_s:.2f} s of CPU time, {CPU_S_MAX} allowed")
    return (f"{cpu_s:.2f} s of CPU time, {memory >> 20} MiB of memory, timeline {sizes[0]} bytes, "
            f"interference {sizes[1]} bytes")


@part.case("as the store keeps it")
def as_stored(case):
    return judge(case, True)


@part.case("with a row for each file and each second")
def all_rows(case):
    return judge(case, False)


@part.case("the report for programs")
def report_for_programs(case):
    return judge_report(case)


# Views are complete only in a build.
BUILD = os.environ.get("CACHEMON_BUILD") or os.path.join(REPO, "build")


def texts(*pattern):
    for name in sorted(glob.glob(os.path.join(*pattern))):
        with open(name, encoding="utf-8") as f:
            yield os.path.basename(name), f.read()


def stand_ins(db):
    """As created by cachemon/db/views.c: objects that the schema lacks."""
    with open(os.path.join(REPO, "cachemon", "db", "views.c"), encoding="utf-8") as f:
        source = f.read()
    source = re.sub(r'"\s*\n\s*"', "", source[:source.index("enum { NR_NEEDED")])
    for table, columns in re.findall(r'\{"(\w+)",\s*"([^"]+)"', source):
        have = {row[1] for row in db.execute(f"PRAGMA main.table_info({table})")}
        absent = [name for name in columns.split(", ") if name not in have]
        if not have:
            db.execute(f"CREATE TEMP TABLE {table} ({columns})")
        elif absent:
            db.execute(f"CREATE TEMP VIEW {table} AS SELECT *, " +
                       ", ".join(f"NULL AS {name}" for name in absent) + f" FROM main.{table}")


def roots_of(db):
    return {row[0]: row[1] for row in db.execute("SELECT rootpage, tbl_name FROM "
                                                 "main.sqlite_schema WHERE rootpage > 0")}


def scans_of(program, roots):
    """The tables of the database that a query scans completely, from the opens and rewinds of
    its bytecode, because a query plan has only aliases."""
    cursors, found = {}, []
    for opcode, p1, p2, p3 in program:
        if opcode == "OpenRead":
            cursors[p1] = roots.get(p2) if p3 == 0 else None
        elif opcode in ("Rewind", "Last", "Count") and cursors.get(p1) in BIG_TABLES:
            found.append(cursors[p1])
    return found


def scans(db, sql, values):
    return scans_of((row[1:5] for row in db.execute("EXPLAIN " + sql, values)), roots_of(db))


@part.case("no hot query goes through a whole table")
def plans(case):
    db = sqlite3.connect(make(case.path("run.db"), 20000, True))
    db.execute("CREATE TEMP TABLE analysis_scope (run_id INTEGER PRIMARY KEY)")
    db.execute("INSERT INTO analysis_scope VALUES (1)")
    db.execute("ANALYZE temp.analysis_scope")
    stand_ins(db)
    expect(scans(db, "SELECT * FROM file", {}) == ["file"], "a scan is not seen as one")
    expect(scans(db, "SELECT start_ns FROM interval", {}) == ["interval"], "nor one of an index")
    queries = 0
    views = list(texts(BUILD, "gen/sql/views/*.sql"))
    expect(views, f"no views in {BUILD}")
    for name, text in views:
        for fill in re.findall(r"^INSERT INTO.*?;", text, re.S | re.M):
            expect(not scans(db, fill, {}), f"{name}: {scans(db, fill, {})} in {fill}")
            queries += 1
        db.executescript(text)
    for name, text in texts(REPO, "sql/rules/*.sql"):
        sql = text[re.search(r"^(SELECT|WITH)", text, re.M).start():]
        values = {key: 1 for key in re.findall(r"^-- param (\w+)", text, re.M)}
        expect(not scans(db, sql, values), f"{name}: {scans(db, sql, values)}")
        queries += 1
    return f"{queries} queries"


def prepared(case, path, argv):
    """[(query, [(opcode, p1, p2, p3), ...]), ...] of a run of the program, from prepared.c."""
    told = case.path("prepared")
    env = {**os.environ, "LD_PRELOAD": case.helper("prepared", "-shared", "-fPIC"), "PREPARED": told}
    done = subprocess.run([case.cachemon, *argv, "--db", path], env=env, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False)
    expect(done.returncode == 0, f"{argv}: status {done.returncode}: {done.stderr}")
    with open(told, encoding="utf-8") as f:
        records = [record.split("\x1f") for record in f.read().split("\x1e")[:-1]]
    os.unlink(told)
    return [(sql, [(line.split()[0], *map(int, line.split()[1:])) for line in program.splitlines()])
            for sql, program in records]


@part.case("nor does any that the readers ask")
def asked(case):
    """As prepared by SQLite, on the reader's own connection. If there are more files than are
    analysed, one scan selects the most active ones."""
    path = make(case.path("run.db"), FILES_MAX - FILES_MAX % PER_DIR, True)
    db = sqlite3.connect(path)
    db.execute("INSERT INTO advice (job_id, dev_major, dev_minor, ino, gen, kind, call, calls) "
               "VALUES (1, 8, 1, 10, 1, 'willneed', 'fadvise', 1)")
    db.commit()
    roots, seen = roots_of(db), set()
    for argv in READERS:
        queries = prepared(case, path, argv)
        expect(queries, f"{argv} asks nothing")
        seen.update(sql for sql, _ in queries)
        bad = {sql: found for sql, program in queries if (found := scans_of(program, roots))}
        expect(not bad, f"{argv}: {bad}")
    expect(any("FROM v_" in sql for sql in seen), "rules are not among them")
    return f"{len(seen)} queries"


if __name__ == "__main__":
    part.main()
