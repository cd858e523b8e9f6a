# SPDX-License-Identifier: BSD-2-Clause
"""Databases for reports: one of a recorded run, with the kernel's real events, extended by rows
that a short job does not give, with names that nobody should use."""

import contextlib
import lzma
import os
import shutil
import sqlite3

from .reads import fill

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../examples/recorded/train.db.xz")
PAGES = 2048
MARKUP = '<img src=x onerror="document.title=1"><script>document.title="ran"</script>&amp;'
NAMES = (MARKUP.encode(), b"'\"`quotes`", b"new\nline", b"\x1b[31mred\x1b[0m", "\u202egnp.exe".encode(),
         b"not \xff utf-8", b"=1+1", b"a" * 240)
FILES, INTERVALS, RUNS = 60, 90, 40
# Cold reads, prefetch, repeated reads, holes, dropped pages; then small reads.
JOB = """
import os, sys
a, b, c = (os.open(p, os.O_RDONLY) for p in sys.argv[1:4])
n = int(sys.argv[4]) * 4096
os.posix_fadvise(a, 0, n, os.POSIX_FADV_WILLNEED)
for fd in (a, b):
    for at in range(0, n, 65536):
        os.pread(fd, 65536, at)
os.posix_fadvise(b, 0, n, os.POSIX_FADV_RANDOM)
os.posix_fadvise(b, 0, n, os.POSIX_FADV_DONTNEED)
for at in range(0, n, 5 * 4096):
    os.pread(b, 4096, at)
for at in range(0, n // 8, 512):
    os.pread(c, 512, at)
"""


def captured(world, stack):
    """The database of a job that reads in several ways."""
    paths = [fill(f"{world.data}/{name}", PAGES) for name in ("first", "second", "third")]
    run = world.tool.watch(stack, ["--interval", "100ms", "--level", "full"],
                           ["/usr/bin/python3", "-c", JOB, *paths, str(PAGES)])
    run.end()
    return run.db


def copied(db, table, number, key, changes):
    """Rows like the first of a table, each with other changes."""
    db.row_factory = sqlite3.Row
    row = dict(db.execute(f"SELECT * FROM {table} WHERE {key} ORDER BY 1 LIMIT 1").fetchone())
    row.pop("id", None)
    for i in range(number):
        new = {**row, **changes(i)}
        db.execute(f"INSERT INTO {table} ({', '.join(new)}) VALUES ({', '.join('?' * len(new))})",
                   list(new.values()))


def name(i):
    return b"/data/%02d/" % (i % 12) + (NAMES[i] if i < len(NAMES) else b"part-%05d.bin" % i)


def enrich(path):
    """Modifies db: many files, evictions by evictor, each kind of advice, and some minutes of
    intervals."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        job, run, end = db.execute("SELECT job.id, run.id, duration_ns FROM job JOIN run ON run.id = run_id "
                                   "WHERE slot = 1 ORDER BY 1 DESC").fetchone()
        mine = f"job_id = {job}"
        db.execute("UPDATE job SET name = ?, evicted_reclaim_memcg = 9000, evicted_reclaim_kswapd = 800, "
                   "evicted_unused = evicted_unused + 400, prefetched_async = prefetched_async + 400 "
                   "WHERE id = ?", (MARKUP, job))
        copied(db, "directory", 12, mine, lambda i: {"path": b"/data/%02d" % i, "misses": 50 * i,
                                                     "lookups": 9000 + i})
        copied(db, "file", FILES, mine, lambda i: {
            "ino": 1000 + i, "path": name(i), "misses": (i * 37) % 101 * 31, "lookups": 10000 + i,
            "stall_ns": 10 ** (i % 11)})
        for i, cause in enumerate(("reclaim_memcg", "reclaim_kswapd", "truncate", "dontneed") * 6):
            db.execute("INSERT INTO interference (job_id, cause, evictor_kind, evictor, evictor_path, "
                       "owner_path, evictor_writes, pages, exact) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       (job, cause, ("own", "others")[i % 2], MARKUP, name(i), name(i + 1), i % 2,
                        400 - 10 * i, i % 3 > 0))
        for i, kind in enumerate(("willneed", "dontneed", "sequential", "random", "normal", "noreuse")):
            db.execute("INSERT INTO advice (job_id, dev_major, dev_minor, ino, gen, path, kind, call, calls) "
                       "VALUES (?, 8, 1, ?, 1, ?, ?, 'fadvise', ?)", (job, 1000 + i, name(i), kind, i + 1))
        for i in range(INTERVALS):
            interval = db.execute("INSERT INTO interval (run_id, start_ns, duration_ns, read_on_ns) VALUES "
                                  "(?, ?, 1000000000, 1000000000)", (run, end + i * 10**9)).lastrowid
            copied(db, "job_interval", 1, mine, lambda _, i=i, interval=interval: {
                "interval_id": interval, "lookups": 4000 + 90 * i, "misses": 3000 - 30 * i,
                "stall_ns": 9 * 10**6 * i, "evicted_reclaim_memcg": 100 * (i % 7),
                "used": 2000, "prefetched_async": 2500, "evicted_unused": 5 * i})
        db.execute("UPDATE run SET duration_ns = duration_ns + ? WHERE id = ?", (INTERVALS * 10**9, run))
        # The job waited as long as its intervals, so that there is something to fix.
        db.execute("UPDATE job SET wall_ns = wall_ns + ?, stall_ns = stall_ns + ?, stalls = stalls + ? WHERE id = ?",
                   (INTERVALS * 10**9, sum(9 * 10**6 * i for i in range(INTERVALS)), INTERVALS, job))


def recorded(world):
    db = world.tool.fresh(".db")
    with lzma.open(RECORDED) as packed, open(db, "wb") as out:
        shutil.copyfileobj(packed, out)
    return db


def indexed(world):
    """The page of all runs: many runs of several jobs, one of which has a hostile name."""
    db, page = recorded(world), world.tool.fresh(".html")
    with contextlib.closing(sqlite3.connect(db)) as base, base:
        copied(base, "run", RUNS, "id = 1", lambda i: {"uuid": f"copy {i}", "duration_ns": 10**9 * (i * 7 % 31 + 9)})
        for i, (run,) in enumerate(base.execute("SELECT id FROM run WHERE id > 2").fetchall()):
            copied(base, "job", 1, "slot = 1", lambda _, i=i, run=run: {
                "run_id": run, "name": MARKUP if i % 5 == 0 else f"job-{i % 5}", "wall_ns": 10**9 * (i * 7 % 31 + 9),
                "lookups": 360000, "misses": 1000 * (i * 13 % 37 + 1)})
    world.tool.run("runs", "--db", db, "-o", page)
    return page


def compared(world):
    """The page that compares the two recorded runs, one longer than the other."""
    db, page = recorded(world), world.tool.fresh(".html")
    world.tool.run("compare", "--db", db, "1", "2", "--per", "job", "--any", "--format", "html", "-o",
                   page)
    return page


def pages(world, stack):
    """{name: path} of the reports of both, of a comparison, and of all runs."""
    small = captured(world, stack)
    rich = world.tool.fresh(".db")
    shutil.copy(small, rich)
    enrich(rich)
    made = {}
    for kind, db in (("small", small), ("rich", rich)):
        made[kind] = world.tool.fresh(".html")
        world.tool.run("report", "--db", db, "--format", "html", "-o", made[kind])
    made["compare"] = compared(world)
    made["runs"] = indexed(world)
    return made
