#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cachemon merge: rows compared with sqlite3's view of each input, by names that do not depend on
the numbers of a database."""

import contextlib
import hashlib
import lzma
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from syslib.made_fleet import NEWEST, REPO, Node, canonical, migrated  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402

part = Part(__doc__)
MEMORY_MAX = 200 << 20
PEAK = ("import os, sys; pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); _, code, usage = os.wait4(pid, 0); "
        "print(usage.ru_maxrss, file=sys.stderr); sys.exit(os.waitstatus_to_exitcode(code))")


class World:
    def __init__(self, args, work, _):
        self.cachemon, self.work, self.number = args.cachemon, work, 0

    def fresh(self, end=".db"):
        self.number += 1
        return os.path.join(self.work, f"{self.number}{end}")

    def recorded(self):
        """Two recorded runs, with references and traces."""
        path = self.fresh()
        with lzma.open(os.path.join(REPO, "examples", "recorded", "train.db.xz")) as packed, open(path, "wb") as out:
            shutil.copyfileobj(packed, out)
        return path

    def node(self, host, jobs=3, **run):
        node = Node(self.fresh(), host)
        for i in range(jobs):
            node.run(100 + i, files=[(b"/data/%d" % k, 8192 * k, 2 * k) for k in range(1, 6)],
                     processes=[(7, "rank0", 3000, 900)], counts={"lookups": 10 * i, "misses": i}, **run)
        return node.done()

    def merge(self, *paths, status=0):
        """(output, lines of standard error, peak memory)"""
        # A process begins with its parent's peak, so that its parent has to be small.
        done = subprocess.run([sys.executable, "-S", "-c", PEAK, self.cachemon, "merge", *paths], capture_output=True,
                              text=True, cwd=self.work)
        lines = done.stderr.splitlines()
        equal(f"status of {paths}: {lines}", done.returncode, status)
        return done.stdout, lines[:-1], int(lines[-1]) << 10


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def change(path, text, *values):
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute(text, values)
    return path


def both(a, b):
    return {t: sorted(a[t] + b[t]) for t in a}


def same(got, want):
    for table in want:
        equal(f"rows of {table}", len(got[table]), len(want[table]))
        for x, y in zip(got[table], want[table]):
            check(x == y, f"a row of {table} differs: {x} {y}"[:900])


def sound(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        equal("integrity", db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        equal("dangling rows", db.execute("PRAGMA foreign_key_check").fetchall(), [])


@part.case
def every_row(world, _):
    """All rows of recorded and invented runs, once, and the inputs unchanged."""
    paths = [world.recorded(), world.node("n1"), world.node("n2")]
    out, want, before = world.fresh(), None, [digest(p) for p in paths]
    for p in paths:
        want = both(want, canonical(p)) if want else canonical(p)
    check(sum(bool(rows) for rows in want.values()) > 20, "too few tables have rows to compare")
    said, lines, _ = world.merge(out, *paths)
    equal("messages", lines, [])
    equal("summary", said, "8 runs added; 3 databases read\n")
    same(canonical(out), want)
    sound(out)
    size = os.path.getsize(out)
    said, _, _ = world.merge(out, *paths)
    equal("summary of the second merge", said, "0 runs added, 8 known already; 3 databases read\n")
    same(canonical(out), want)
    equal("bytes after the second merge", os.path.getsize(out), size)
    equal("inputs", [digest(p) for p in paths], before)


@part.case
def a_run_that_went_on(world, _):
    """A run that was open is replaced by its longer record, and never by a shorter one."""
    longer = world.node("n1", wall_s=30)
    shorter = world.fresh()
    shutil.copy(longer, shorter)
    change(shorter, "DELETE FROM interval WHERE start_ns > 0")
    change(shorter, "DELETE FROM file_interval WHERE interval_id NOT IN (SELECT id FROM interval)")
    change(shorter, "DELETE FROM directory_interval WHERE interval_id NOT IN (SELECT id FROM interval)")
    change(shorter, "UPDATE run SET state = 'open', duration_ns = duration_ns / 3")
    out, other = world.fresh(), world.node("n2")
    world.merge(out, shorter, other)
    same(canonical(out), both(canonical(shorter), canonical(other)))
    said, _, _ = world.merge(out, longer)
    equal("summary", said, "0 runs added, 3 replaced by a longer record; 1 database read\n")
    same(canonical(out), both(canonical(longer), canonical(other)))
    world.merge(out, shorter)
    same(canonical(out), both(canonical(longer), canonical(other)))
    sound(out)


@part.case
def the_same_length_ended(world, _):
    """At the same length, complete replaces cut and open; cut replaces open."""
    out, path = world.fresh(), world.node("n1", jobs=1)
    for state, words in (("open", "1 run added"), ("cut", "0 runs added, 1 replaced by a longer record"),
                         ("complete", "0 runs added, 1 replaced by a longer record"),
                         ("cut", "0 runs added, 1 known already")):
        said, _, _ = world.merge(out, change(path, "UPDATE run SET state = ?", state))
        equal(f"summary of {state}", said, f"{words}; 1 database read\n")


@part.case
def older_versions(world, _):
    """A database of each schema, with a run: merged as its migrations make it, and unchanged."""
    run = ("INSERT INTO run (id, uuid, cachemon, host, kernel, arch, started_ns, duration_ns, state, writer_boot, "
           "writer_pidns, writer_pid, writer_start_ticks, level, advice_mode, interval_ns, page_size_bytes, memory_bytes, "
           "map_bytes) VALUES (1, ?, '0', 'old', '6.1', 'x86_64', 5, 9, 'complete', 'b', 0, 1, 0, 'full', 'effects', 1, "
           "4096, 1, 0)")
    paths, want = [], None
    for version in range(1, NEWEST):
        path = migrated(world.fresh(), range(version + 1))
        change(path, run, f"of version {version}")
        change(path, "INSERT INTO job (id, run_id, slot, name, selector, read_calls, lookups) VALUES (1, 1, 1, 'j', 's', 7, 8)")
        change(path, "INSERT INTO directory (id, job_id, path, files, lookups) VALUES (4, 1, x'2f61', 1, 8)")
        change(path, "INSERT INTO file (id, job_id, directory_id, dev_major, dev_minor, ino, gen, lookups) "
                     "VALUES (9, 1, 4, 8, 1, 2, 3, 8)")
        paths.append(path)
        newest = world.fresh()
        shutil.copy(path, newest)
        rows = canonical(migrated(newest, range(version + 1, NEWEST + 1)))
        want = both(want, rows) if want else rows
    before, out = [digest(p) for p in paths], world.fresh()
    _, lines, _ = world.merge(out, *paths)
    equal("messages", lines, [])
    same(canonical(out), want)
    equal("inputs", [digest(p) for p in paths], before)


@part.case
def what_cannot_be_read(world, _):
    """One line for each, the others merged, and status 1."""
    good, newer, text, empty = world.node("n1"), world.node("n2"), world.fresh(), world.fresh()
    change(newer, f"PRAGMA user_version = {NEWEST + 1}")
    with open(text, "w", encoding="utf-8") as f:
        f.write("no database\n" * 1000)
    with open(empty, "w", encoding="utf-8"):
        pass
    damaged = world.node("n3", jobs=20)
    with open(damaged, "r+b") as f:
        f.seek(os.path.getsize(damaged) // 2)
        f.write(b"\xff" * 20000)
    bad = [world.fresh(), world.work, text, empty, newer]
    out = world.fresh()
    said, lines, _ = world.merge(out, *bad, good, damaged, status=1)
    equal("lines", len(lines), len(bad) + 1)
    for path, line in zip([*bad, damaged], lines):
        check(line.startswith("cachemon: ") and path in line, f"the line does not name {path}: {line}")
    check("newer cachemon" in lines[4], f"not the reason: {lines[4]}")
    for table, rows in canonical(good).items():
        check(set(rows) <= set(canonical(out)[table]), f"rows of {table} are missing")
    sound(out)
    out = world.fresh()
    said, _, _ = world.merge(out, *bad, status=1)
    equal("summary", said, "0 runs added; 0 databases read\n")
    check(not os.path.exists(out), "OUT was made for nothing")


@part.case
def command_lines(world, _):
    """A wrong one makes nothing."""
    good, out = world.node("n1"), world.fresh()
    link, hard = world.fresh(), world.fresh()
    os.symlink(good, link)
    os.link(good, hard)
    for words in ((), (out,), (good, good), (good, link), (good, hard), (out, ""), (out, "-"), (out, good, "--what")):
        _, lines, _ = world.merge(*words, status=2)
        equal(f"lines of {words}", len(lines), 2)
        check(not os.path.exists(out), f"{words} made OUT")


@part.case
def targets(world, _):
    """OUT that cannot be written: one line, and nothing of it is changed."""
    good, other = world.node("n1"), world.fresh()
    with contextlib.closing(sqlite3.connect(other)) as db, db:
        db.execute("CREATE TABLE t (x)")
    before = digest(other)
    for out in (other, world.work, os.path.join(world.work, "none", "out.db")):
        _, lines, _ = world.merge(out, good, good, status=1)
        equal(f"lines of {out}: {lines}", len(lines), 1)
    equal("the other program's database", digest(other), before)
    old = migrated(world.fresh(), range(1, 9))
    world.merge(old, good)
    same(canonical(old), canonical(good))


@part.case
def hostile_rows(world, _):
    """Nothing of an input runs, replaces a run of others, or gets past the constraints of OUT."""
    good, out = world.node("n1"), world.fresh()
    world.merge(out, good)
    want = canonical(out)

    stranger = world.fresh()  # the uuid of a run of n1, said to be longer
    shutil.copy(good, stranger)
    change(stranger, "UPDATE run SET host = 'evil', duration_ns = duration_ns * 9")
    _, lines, _ = world.merge(out, stranger, status=1)
    check("uuid of another" in lines[0] and lines[0].startswith(f"cachemon: 3 runs of {stranger}"), lines[0])

    trigger = world.node("n4")
    change(trigger, "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM job; END")
    view = world.node("n5")
    change(view, "CREATE VIEW v AS SELECT * FROM run")
    _, lines, _ = world.merge(out, trigger, status=1)
    check("did not create" in lines[0], lines[0])
    same(canonical(out), want)
    world.merge(out, view)  # a site's own view is ignored

    impossible = world.node("n6")
    with contextlib.closing(sqlite3.connect(impossible)) as db, db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute("UPDATE job SET lookups = -5 WHERE external_id = '101'")
    _, lines, _ = world.merge(out, impossible, status=1)
    check(lines[0].startswith(f"cachemon: 1 run of {impossible} left out") and "CHECK" in lines[0], lines[0])
    same(canonical(out), both(both(want, canonical(view)),
                              canonical(impossible, [r for r in uuids(impossible) if r != uuids(impossible)[1]])))
    sound(out)


def uuids(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return [r[0] for r in db.execute("SELECT uuid FROM run ORDER BY id")]


@part.case
def killed(world, _):
    """At any moment OUT has whole runs, and the next merge adds the rest."""
    inputs = [world.node(f"k{i}", jobs=60) for i in range(2)]
    want = both(canonical(inputs[0]), canonical(inputs[1]))
    stopped = 0
    for runs in (1, 20, 70):
        out = world.fresh()
        child = subprocess.Popen([world.cachemon, "merge", out, *inputs], stdout=subprocess.DEVNULL)
        while child.poll() is None and count(out) < runs:
            time.sleep(0.001)
        child.send_signal(signal.SIGKILL)
        child.wait()
        stopped += count(out) < 120
        sound(out)
        same(canonical(out), limited(want, inputs, uuids(out)))
        world.merge(out, *inputs)
        same(canonical(out), want)
    check(stopped, "no merge was killed before its end")


def limited(want, inputs, kept):
    parts = [canonical(p, kept) for p in inputs]
    return both(*parts)


def count(path):
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return db.execute("SELECT count(*) FROM run").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@part.case
def memory(world, _):
    """It does not grow with the rows of a run or with the number of databases."""
    node = Node(world.fresh(), "big")
    node.run(1, files=[(b"/data/%d" % i, 4096, 1) for i in range(8192)], intervals=2000,
             processes=[(i, "rank", 2000, 2000) for i in range(16)])
    big, many = node.done(), [world.node(f"m{i}") for i in range(40)]
    _, _, one = world.merge(world.fresh(), big)
    _, _, small = world.merge(world.fresh(), many[0])
    _, _, all_of = world.merge(world.fresh(), big, *many)
    part.note(f"peak: {small >> 20} MiB for one small database, {one >> 20} MiB for a run of 8,192 files and 2,000 "
              f"intervals, {all_of >> 20} MiB with 40 databases")
    check(all_of <= MEMORY_MAX, f"{all_of >> 20} MiB")
    check(all_of - one < 4 << 20, f"40 databases took {(all_of - one) >> 10} KiB more")


if __name__ == "__main__":
    sys.exit(part.main(World))
