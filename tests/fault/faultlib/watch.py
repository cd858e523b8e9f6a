# SPDX-License-Identifier: BSD-2-Clause
"""Runs cachemon, and reads its results."""

import json
import os
import shutil
import sqlite3
import subprocess

from .part import Failed, expect, wait_until

BOUND_S = 120  # for what takes a second or two on an idle machine
PREFETCHED = ("prefetched_sync", "prefetched_async", "prefetched_willneed",
              "prefetched_readahead2", "prefetched_mmap_around")
FATES = ("used", "used_late", "evicted_unused", "resident_unused", "untracked")


class Done:
    """The status and the output of a program that has ended."""

    def __init__(self, argv, status, out, err):
        self.argv = argv
        self.status = status
        self.out = out
        self.err = err

    def __str__(self):
        return f"{' '.join(map(str, self.argv[1:]))!r}: status {self.status}, says {self.err!r}"

    def lines(self):
        return self.err.splitlines()


def run(argv, env=None, stdin=b"", cwd=None, prefix=()):
    """Runs to the end; out is bytes, err is text."""
    argv = [*prefix, *argv]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, cwd=cwd, start_new_session=True,
                               env={**os.environ, **(env or {})})
    try:
        out, err = process.communicate(stdin, timeout=BOUND_S)
    except subprocess.TimeoutExpired as e:
        process.kill()
        process.communicate()
        raise Failed(f"{' '.join(argv)}: not done within {BOUND_S} s") from e
    return Done(argv, process.returncode, out, err.decode(errors="replace"))


class Watch:
    """A running 'watch', to which the case can do something."""

    def __init__(self, case, options, command=None, env=None, prefix=(), name="watch", **popen):
        self.err_path = case.path(name + ".err")
        self.argv = [*prefix, case.cachemon, "watch", *map(str, options)]
        if command:
            self.argv += ["--", *map(str, command)]
        with open(self.err_path, "wb") as err:
            self.process = case.adopt(subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err,
                env={**os.environ, **(env or {})}, **{"start_new_session": True, **popen}))
        self.pid = self.process.pid

    def err(self):
        with open(self.err_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def complaints(self):
        return [line for line in self.err().splitlines() if line.startswith("cachemon: ") and
                not line.startswith(("cachemon: run ", "cachemon: watching "))]

    def wait(self):
        try:
            status = self.process.wait(BOUND_S)
        except subprocess.TimeoutExpired as e:
            raise Failed(f"watch has not ended within {BOUND_S} s; says {self.err()!r}") from e
        return Done(self.argv, status, b"", self.err())

    def cpu_ticks(self):
        """CPU time of the program so far."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as f:
            return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))

    def running(self):
        expect(self.process.poll() is None,
               f"watch ended with {self.process.returncode}: {self.err()!r}")
        return True


class Steady:
    """tests/fault/steady.c: reads until it is stopped, and ends with the given status."""

    def __init__(self, case, status=7, name="steady", pages=64):
        self.dir = case.path(name)
        os.mkdir(self.dir)
        os.chmod(self.dir, 0o777)
        self.data = os.path.join(self.dir, "data")
        with open(self.data, "wb") as f:
            f.write(os.urandom(pages * 4096))
        self.status = status
        self.command = [case.helper("steady"), self.dir, str(status)]
        case.defer(self.stop)

    def _place(self, name):
        return os.path.join(self.dir, name)

    def started(self):
        """Its process id, once it runs."""
        try:
            with open(self._place("started"), encoding="ascii") as f:
                return int(f.read() or 0)
        except FileNotFoundError:
            return 0

    def wait_started(self, watch):
        return wait_until(lambda: watch.running() and self.started(), "the start of CMD", BOUND_S)

    def stop(self):
        with open(self._place("stop"), "wb"):
            pass

    def done(self):
        """{"calls", "bytes"} that it has read of its data, once it has ended by itself."""
        try:
            with open(self._place("done"), encoding="ascii") as f:
                return json.loads(f.read())
        except FileNotFoundError:
            return None


class Db:
    """A database, opened with only a reader's rights."""

    def __init__(self, path):
        self.path = path

    def rows(self, sql, *args):
        link = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=BOUND_S)
        try:
            link.row_factory = sqlite3.Row
            return [dict(row) for row in link.execute(sql, args)]
        finally:
            link.close()

    def one(self, sql, *args):
        """The first value of the first row, or None."""
        rows = self.rows(sql, *args)
        return next(iter(rows[0].values())) if rows else None

    def sound(self):
        expect(self.one("PRAGMA integrity_check") == "ok", f"integrity_check of {self.path}")
        expect(not self.rows("PRAGMA foreign_key_check"), f"foreign_key_check of {self.path}")

    def run(self, run_id=None):
        """The row of a run, by default the last one. None: no such run."""
        rows = self.rows("SELECT * FROM run WHERE id = coalesce(?, (SELECT max(id) FROM run))",
                         run_id)
        return rows[0] if rows else None

    def job(self, run_id=None):
        """The totals of the watched job of a run."""
        return self.rows("SELECT * FROM job WHERE slot = 1 AND run_id = "
                         "coalesce(?, (SELECT max(id) FROM run))", run_id)[0]

    def intervals(self, run_id=None):
        return self.rows("SELECT * FROM interval WHERE run_id = "
                         "coalesce(?, (SELECT max(id) FROM run)) ORDER BY start_ns", run_id)

    def file(self, path):
        """The row of a file in the last run."""
        rows = self.rows("SELECT * FROM file WHERE path = CAST(? AS BLOB) AND job_id = (SELECT id "
                         "FROM job WHERE slot = 1 ORDER BY run_id DESC LIMIT 1)", path)
        expect(len(rows) == 1, f"{len(rows)} rows for {path}")
        return rows[0]

    def copy(self, to):
        """What a crash has left, for an examination that does not change it."""
        for suffix in ("", "-wal"):
            if os.path.exists(to + suffix):
                os.unlink(to + suffix)
            if os.path.exists(self.path + suffix):
                shutil.copy(self.path + suffix, to + suffix)
        return Writable(to)


class Writable(Db):
    """A copy: reading a database that was left in WAL mode creates files next to it."""

    def rows(self, sql, *args):
        link = sqlite3.connect(self.path)
        try:
            link.row_factory = sqlite3.Row
            return [dict(row) for row in link.execute(sql, args)]
        finally:
            link.close()


def committed(db):
    """The number of intervals of the last run in a database that is being written; 0 before
    that."""
    try:
        return len(db.intervals()) if os.path.exists(db.path) else 0
    except sqlite3.OperationalError:
        return 0


def wait_intervals(watch, db, count):
    wait_until(lambda: watch.running() and committed(db) >= count, f"{count} intervals", BOUND_S,
               0.05)


def check_law(job):
    """Every prefetched page has a fate."""
    prefetched = sum(job[name] for name in PREFETCHED)
    fates = sum(job[name] for name in FATES)
    expect(prefetched == fates, f"prefetched {prefetched}, fates {fates}")


def check_gapless(intervals):
    """No interval is missing in between, to the accuracy of the clock ticks."""
    for before, after in zip(intervals, intervals[1:]):
        end = before["start_ns"] + before["duration_ns"]
        expect(end == after["start_ns"],
               f"a gap: an interval ends at {end} ns, the next begins at {after['start_ns']} ns")
