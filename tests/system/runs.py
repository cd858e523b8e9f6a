#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The list of runs: its columns, its selection, and deletion, compared with sqlite3."""

import contextlib
import datetime
import glob
import json
import lzma
import os
import re
import shutil
import sqlite3
import subprocess
import sys

from syslib.part import Part, check, equal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOBODY = 65534

part = Part(__doc__)


class World:
    def __init__(self, args, work, stack):
        self.cachemon = args.cachemon
        self.work = work
        os.chmod(work, 0o755)

    def made(self, name, copies=0):
        """A database of the two recorded runs, and that many empty ones, a day apart."""
        path = os.path.join(self.work, name, "runs.db")
        os.mkdir(os.path.dirname(path))
        with lzma.open(os.path.join(ROOT, "examples", "recorded", "train.db.xz")) as packed, open(path, "wb") as out:
            out.write(packed.read())
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            columns = [row[1] for row in db.execute("PRAGMA table_info(run)") if row[1] not in ("id", "uuid", "started_ns")]
            for i in range(copies):
                db.execute(f"INSERT INTO run (id, uuid, started_ns, {', '.join(columns)}) SELECT {3 + i}, 'copy{i}', "
                           f"started_ns + {i + 1} * 86400000000000, {', '.join(columns)} FROM run WHERE id = 2")
        for owned in (os.path.dirname(path), path):
            os.chown(owned, NOBODY, NOBODY)
        return path

    def run(self, path, *words, status=0):
        """(stdout, stderr), as the owner of the database."""
        done = subprocess.run(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", self.cachemon,
                               "runs", "--db", path, *words], capture_output=True, text=True, check=False, cwd=self.work,
                              env={"PATH": os.environ["PATH"], "HOME": os.path.dirname(path), "TZ": "UTC",
                                   "LC_ALL": "C.UTF-8"})
        equal(f"status of {words}: {done.stderr}", done.returncode, status)
        return done.stdout, done.stderr


def rows(path, sql):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def started(path):
    """{run: when it began, as the program prints it}."""
    return {run: datetime.datetime.fromtimestamp(ns / 1e9, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")
            for run, ns in rows(path, "SELECT id, started_ns FROM run")}


def tables(path):
    """{table: [(column, table of the owner)]}: the foreign keys of each table."""
    names = [name for name, in rows(path, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
    return {name: rows(path, f"SELECT \"from\", \"table\" FROM pragma_foreign_key_list('{name}') WHERE on_delete = 'CASCADE'")
            for name in names}


def content(path, run=None):
    """All rows of each table; or those of one run, by each key of the table."""
    keys = tables(path)

    def owned(table):
        if table == "run":
            return f"id = {run}"
        return " OR ".join(f"{column} IN (SELECT id FROM {owner} WHERE {owned(owner)})" for column, owner in keys[table])

    return {table: rows(path, f"SELECT * FROM {table}" + (f" WHERE {owned(table)}" if run else "") + " ORDER BY 1, 2")
            for table in keys}


def migrated(path):
    """Migrates the database to the newest schema, with the SQL text that a writer uses."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        was, = db.execute("PRAGMA user_version").fetchone()
        for name in sorted(glob.glob(os.path.join(ROOT, "sql", "[0-9]*.sql"))):
            version = int(os.path.basename(name)[:3])
            if version > was:
                with open(name, encoding="utf-8") as f:
                    db.executescript(f.read())
                db.execute(f"PRAGMA user_version = {version}")


# The recorded runs may have no rows in these tables: {table: (the owner of a row, its values)}.
SPARSE = {
    "unmeasured": ("run", {}), "trace_absent": ("job", {}), "job_cgroup": ("job", {}), "estimate": ("job", {"reason": "unknown"}),
    "mark": ("job", {"number": 1}), "device_change": ("run", {}), "device": ("run", {"dev_major": 999}), "shed": ("run", {}),
    "wording": ("run", {"prompt_sha256": 64 * "0", "api": "openai"}),
    "directory_interval": ("interval", {}), "pass_interval": ("interval", {"pass": 1}),
    "process_interval": ("interval", {"pid": 1}),
    "wait_histogram": ("job", {"from_ns": 0, "to_ns": 2048, "sleeps": 1}),
    "file_wait": ("file", {"from_ns": 0, "to_ns": 2048, "sleeps": 1}),
}


def filled(path):
    """A row in each table that had none of a run."""
    empty = [table for table in SPARSE if not (content(path, 1)[table] and content(path, 2)[table])]
    values = {"INTEGER": 0, "TEXT": "x", "BLOB": b"x", "REAL": 0.5}
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA foreign_keys = ON")
        for table in empty:
            owner, given = SPARSE[table]
            for run in (1, 2):
                of = {"run": run}
                for name in ("job", "interval"):
                    of[name], = db.execute(f"SELECT min(id) FROM {name} WHERE run_id = {run}").fetchone()
                of["file"], = db.execute("SELECT min(file.id) FROM file JOIN job ON job.id = job_id "
                                         f"WHERE run_id = {run}").fetchone()
                row = {name: values[kind] for _, name, kind, needed, default, _ in db.execute(f"PRAGMA table_info({table})")
                       if needed and default is None} | given | {f"{owner}_id": of[owner]}
                if table == "wording":
                    row["job_id"] = of["job"]
                row.pop("id", None)
                db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


@part.case
def deleted_whole(world, _):
    """Every row of the run and no other, in every table of the newest schema; and the space."""
    path = world.made("whole")
    migrated(path)
    filled(path)
    kept, gone, size, times = content(path, 2), content(path, 1), os.path.getsize(path), started(path)
    equal("tables without a row of the run", [table for table in gone if not gone[table] or not kept[table]], [])
    for table, of_both in content(path).items():
        equal(f"rows of {table}, of either run", len(of_both), len(gone[table]) + len(kept[table]))
    out, _ = world.run(path, "--delete", "1")
    check(f"deleted run 1, {times[1]}, train" in out and "cannot be undone" in out, out)
    equal("what is left", content(path), kept)
    equal("rows without their owner", rows(path, "PRAGMA foreign_key_check"), [])
    equal("integrity", rows(path, "PRAGMA integrity_check"), [("ok",)])
    equal("unused pages", rows(path, "PRAGMA freelist_count"), [(0,)])
    left = os.path.getsize(path)
    check(left < size, f"{left} of {size} bytes are left")
    near(freed(out), size - left)
    equal("owner", os.stat(path).st_uid, NOBODY)
    check(times[2] in world.run(path)[0] and times[1] not in world.run(path)[0], "the list")


def freed(out):
    found = re.search(r"runs? deleted, ([\d.]+) (B|KiB|MiB) freed", out)
    check(found, out)
    return float(found[1]) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[found[2]]


def near(got, want):
    check(abs(got - want) <= 0.06 * want, f"freed: {got} of {want} bytes")


@part.case
def freed_of_wal(world, stack):
    """The -wal of a killed writer counts as space; a reader keeps the space, so 0 B are freed."""
    path = world.made("killed")
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; VACUUM")
        killed = os.path.join(os.path.dirname(path), "left.db")
        for end in ("", "-wal"):
            shutil.copyfile(path + end, killed + end)
            os.chown(killed + end, NOBODY, NOBODY)
    before = os.path.getsize(killed) + os.path.getsize(killed + "-wal")
    out, _ = world.run(killed, "--delete", "1")
    check(not os.path.exists(killed + "-wal"), "the -wal is still there")
    near(freed(out), before - os.path.getsize(killed))
    path = world.made("read")
    reader = stack.enter_context(contextlib.closing(sqlite3.connect(path, isolation_level=None)))
    reader.executescript("PRAGMA journal_mode = WAL; BEGIN")
    equal("runs seen", reader.execute("SELECT count(*) FROM run").fetchone(), (2,))
    for end in ("-wal", "-shm"):
        os.chown(path + end, NOBODY, NOBODY)
    equal("freed while it is read", freed(world.run(path, "--delete", "1")[0]), 0)
    reader.execute("COMMIT")
    equal("runs", rows(path, "SELECT id FROM run"), [(2,)])


@part.case
def very_many(world, _):
    """The oldest 1152 at once, from a large table without an index by job; it names them."""
    path = world.made("many", copies=1600)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        job, = db.execute("SELECT min(id) FROM job WHERE run_id = 2").fetchone()
        columns = ", ".join(row[1] for row in db.execute("PRAGMA table_info(job)") if row[1] not in ("id", "run_id"))
        db.execute(f"INSERT INTO job (run_id, {columns}) SELECT run.id, of.* FROM run, "
                   f"(SELECT {columns} FROM job WHERE id = {job}) of WHERE run.id > 2")
        db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120) "
                   "INSERT INTO interval (run_id, start_ns, duration_ns, read_on_ns) SELECT run.id, i * 1000, 1000, 0 FROM run, n "
                   "WHERE run.id > 2")
        db.execute("INSERT INTO job_interval (interval_id, job_id) SELECT interval.id, job.id "
                   "FROM interval JOIN job USING (run_id) WHERE run_id > 2")
        # The newest runs have the smallest numbers: the order is by time.
        db.execute("UPDATE run SET started_ns = (SELECT max(started_ns) FROM run) + 1000000000 * (1000 - id) "
                   "WHERE id BETWEEN 3 AND 400")
    order = [run for run, in rows(path, "SELECT id FROM run ORDER BY started_ns, id")]
    kept = [content(path, run) for run in order[-2:]]
    out, _ = world.run(path, "--keep", "450")
    equal("runs", [run for run, in rows(path, "SELECT id FROM run ORDER BY started_ns, id")], order[-450:])
    equal("named", [int(run) for run in re.findall(r"^deleted run (\d+), 20", out, re.M)], order[:20])
    check(re.search(rf"^deleted {len(order) - 470} more, the last of them run {order[-451]}, ", out, re.M), out)
    check(f"{len(order) - 450} runs deleted, " in out, out)
    world.run(path, "--keep", "2")
    equal("what is left", content(path),
          {table: sorted(kept[0][table] + kept[1][table], key=lambda row: row[:2]) for table in kept[0]})
    equal("rows without their owner", rows(path, "PRAGMA foreign_key_check"), [])


@part.case
def several(world, _):
    """Several by number; all except the newest; nothing is deleted if one of them does not
    exist."""
    path = world.made("several", copies=6)
    before = content(path)
    for words, said in ((("--delete", "3", "99"), "99"), (("--delete", "4", "4"), "twice")):
        check(said in world.run(path, *words, status=1)[1], f"{words}")
        equal("nothing is deleted", content(path), before)
    out, _ = world.run(path, "--delete", "last", "1", "last-1")
    equal("runs", rows(path, "SELECT id FROM run ORDER BY id"), [(i,) for i in range(2, 7)])
    check("3 runs deleted" in out, out)
    out, _ = world.run(path, "--keep", "2")
    equal("runs", rows(path, "SELECT id FROM run ORDER BY id"), [(5,), (6,)])
    check("nothing deleted" in world.run(path, "--keep", "2")[0], "what is kept already")
    for words in (("--keep", "0"), ("--keep", "x"), ("--delete", "1", "--keep", "1"), ("--delete", "1", "--json"),
                  ("--keep", "1", "--since", "1d"), ("--delete", "?"), ("3",), ("--since", "soon"), ("--since", "2026-13-01")):
        world.run(path, *words, status=2)
    equal("runs", len(rows(path, "SELECT id FROM run")), 2)


@part.case
def uuids(world, _):
    """Digits alone are the number of a run, even if a uuid begins with them; a shorter beginning of
    a uuid than 8 characters is refused, and 8 of them name one run."""
    path = world.made("uuids", copies=2)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE run SET uuid = '77123456-0000-4000-8000-00000000000' || id")
        db.execute("UPDATE run SET uuid = '77abcdef-0000-4000-8000-000000000001' WHERE id = 1")
    before = content(path)
    for name in ("77", "771234", "77123456", "7712345600004000"):
        check(f"no run '{name}'" in world.run(path, "--delete", name, status=1)[1], name)
    for name in ("77abcde", "77a", "a"):
        check("8 or more characters" in world.run(path, "--delete", name, status=2)[1], name)
    check("several runs" in world.run(path, "--delete", "77123456-", status=1)[1], "two runs")
    equal("nothing is deleted", content(path), before)
    world.run(path, "--delete", "77ABCDEF")
    equal("runs", [run for run, in rows(path, "SELECT id FROM run ORDER BY id")],
          [i for i in range(2, len(before["run"]) + 1)])


@part.case
def while_written(world, _):
    """An open run may still be written: nothing is deleted; a run whose writer is gone is not
    open."""
    path = world.made("written")
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        boot = f.read().strip()
    host = os.uname().nodename
    before = content(path, 1)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE run SET state = 'open', host = ?, writer_boot = ?, writer_pidns = ?, writer_pid = ?, "
                   "writer_start_ticks = 0 WHERE id = 2", (host, boot, os.stat("/proc/self/ns/pid").st_ino, os.getpid()))
    check("is being written" in world.run(path, "--delete", "1", status=1)[1], "no reason")
    equal("nothing is deleted", content(path, 1), before)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE run SET writer_boot = 'another' WHERE id = 2")
    world.run(path, "--delete", "1")
    equal("runs", rows(path, "SELECT id, state FROM run"), [(2, "cut")])
    os.chmod(path, 0o444)
    check("annot write" in world.run(path, "--delete", "2", status=1)[1], "not to be written")
    equal("runs", len(rows(path, "SELECT id FROM run")), 1)


@part.case
def long_command(world, _):
    """The row of a run has one line for the names and the command, however long that is."""
    path = world.made("long")
    command = "command: cat " + " ".join(f"data/small/é{i}" for i in range(300))
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE job SET selector = ? WHERE slot = 1", (command,))
    lines = world.run(path)[0].split("\n")
    at = [i for i, line in enumerate(lines) if "data/small/é0" in line]
    equal("rows", len(at), 2)
    for i in at:
        check(lines[i].endswith("…") and 70 <= len(lines[i]) <= 80, f"not one line: {lines[i]!r}")
        check(re.match(r" +\d+ +2026-", lines[i + 1]), f"not the row's figures: {lines[i + 1]!r}")


@part.case
def since(world, _):
    """By date, by time and by age; in each format."""
    path = world.made("since", copies=3)
    times = started(path)
    wanted = [(run, times[run] if run < 3 else times[run][:10]) for run in range(1, 6)]
    began = {i: datetime.datetime.fromtimestamp(ns / 1e9, datetime.timezone.utc) for i, ns in
             rows(path, "SELECT id, started_ns FROM run")}
    for first, text in wanted:
        for form in (text, text.replace(" ", "T")):
            out, _ = world.run(path, "--since", form, "--json")
            equal(form, [int(i) for i in re.findall(r'^      "id": (\d+),', out, re.M)], list(range(first, 6)))
    ago = datetime.datetime.now(datetime.timezone.utc) - began[4]
    hours = int(ago.total_seconds() // 3600) + 1
    shown = world.run(path, "--since", f"{hours}h")[0] if hours > 0 else world.run(path, "--since", times[4][:10])[0]
    check(re.search(r"^ +4 +2026", shown, re.M) and not re.search(r"^ +3 +2026", shown, re.M), shown)
    check("No run is so new" in world.run(path, "--since", "2100-01-01")[0], "of the future")
    for future in ("2262-04-12", "2300-01-01", "9999-12-31"):
        check("No run is so new" in world.run(path, "--since", future)[0], future)
    for long_ago in ("36000d", "36500d", "106751d", "106752d", "213504d", "999999999d", "999999999999999d", "1600-01-01",
                     "0001-01-01"):
        equal(long_ago, world.run(path, "--since", long_ago)[0], world.run(path)[0])
    world.run(path, "--since", "0001-01-01", "--delete", "1", status=2)


HEADS = {1: ("C", 0.61, "fix", "cache-too-small", "the cache is too small"), 2: ("A", 0.93, "nothing", "nothing-wrong", "none")}


@part.case
def table(world, _):
    """The columns of each run, including its first finding; a page links by job and grade."""
    path = world.made("table")
    migrated(path)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE job SET head_grade = NULL, head_score = NULL, head_answer = NULL, head_finding = NULL, "
                   "head_title = NULL")
    check(not re.search(r"\d %  [A-F] [01]", world.run(path)[0]), "a grade of a run that was not judged")
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        for run, head in HEADS.items():
            db.execute("UPDATE job SET head_grade = ?, head_score = ?, head_answer = ?, head_finding = ?, head_title = ? "
                       "WHERE run_id = ? AND slot = 1", (*head, run))
    out, _ = world.run(path)
    for run, state, selector, took in rows(path, "SELECT r.id, r.state, j.selector, r.duration_ns FROM run r JOIN job j "
                                                 "ON j.run_id = r.id AND j.slot = 1"):
        found = re.search(rf"^(train\b.*\n(?: +[^\d ].*\n)*) +{run} +{started(path)[run]} +((?:\d+m )?[\d.]+ ?s) +([\d.]+) % +([\d.]+) % "
                          r"+([A-F]) ([\d.]+) +(.*\n(?: {20,}.*\n)*)", out, re.M)
        check(found, f"run {run} in {out}")
        minutes, _, seconds = found[2].rstrip(" s").rpartition("m ")
        check(abs(60 * int(minutes or 0) + float(seconds) - took / 1e9) <= (0.5 if minutes else 0.06), f"{found[2]} of {took} ns")
        text = selector.decode() if isinstance(selector, bytes) else selector
        check(text.removeprefix("command: ") in re.sub(r"\s+", " ", found[1]), f"no command in {found[1]!r}")
        grade, score, answer, _, title = HEADS[run]
        equal("grade", (found[5], float(found[6])), (grade, score))
        equal("first finding", " ".join(found[7].split()), title if answer == "fix" else "Nothing worth changing")
        equal("state", state, "complete")
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE run SET exit_status = 3 WHERE id = 1")
        db.execute("UPDATE run SET state = 'cut' WHERE id = 2")
    out, _ = world.run(path)
    check("(failed 3)" in out and "(cut)" in out, out)
    pages = os.path.join(os.path.dirname(path), "pages")
    world.run(path, "--reports", pages)
    with open(os.path.join(pages, "index.html"), encoding="utf-8") as f:
        links = re.findall(r'<a href="(run-[^"]+)">([^<]*)</a>', f.read().replace("<wbr>", ""))
    equal("links", [href for href, _ in links], ["run-2-job-1.html", "run-1-job-1.html"])
    for href, text in links:
        check(re.fullmatch(r"train, [A-F] [\d.]+", text), text)
        check(os.path.exists(os.path.join(pages, href)), href)


@part.case
def as_reported(world, _):
    """watch stores the summary of a run's report: for a job that reads little, and for one whose
    advice has no effect."""
    path = os.path.join(world.work, "reported.db")
    data = os.path.join(world.work, "data")
    with open(data, "wb") as f:
        f.write(os.urandom(48 << 20))
        f.flush()
        os.fsync(f.fileno())
    jobs = {"little": "pass",
            "random": "import os, random\n"
                      f"f = os.open({data!r}, os.O_RDONLY)\n"
                      "os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)\n"
                      "for block in random.Random(1).sample(range(48 << 8), 6000): os.pread(f, 4096, block << 12)\n"}
    for name, code in jobs.items():
        done = subprocess.run([world.cachemon, "watch", "--db", path, "--job", name, "--level", "full", "--", sys.executable,
                               "-c", code], capture_output=True, text=True, check=False)
        equal(f"status: {done.stderr}", done.returncode, 0)
        check("will show no grade" not in done.stderr, done.stderr)

    def said(*words):
        return json.loads(subprocess.run([world.cachemon, *words, "--db", path, "--format", "json"], capture_output=True,
                                         check=True).stdout)

    listed = said("runs")["runs"]
    for run in listed:
        job, = run["jobs"]
        full = said("report", "--run", str(run["id"]))["jobs"][0]
        first = full["findings"][0] if full["findings"] else None
        equal(f"{job['name']}: first finding", job["first_finding"], first and {"id": first["id"], "title": first["title"]})
        equal(f"{job['name']}: grade", job["grade"], full["grades"]["overall"])
        equal(f"{job['name']}: score", job["score"], full["grade_details"][0]["score"])
        equal(f"{job['name']}: answer", job["answer"], full["answer"])
    check(all(run["jobs"][0]["answer"] and run["jobs"][0]["grade"] for run in listed), "a run without an answer and a grade")


if __name__ == "__main__":
    sys.exit(part.main(World))
