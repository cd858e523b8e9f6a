#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A full disk, and a database that others lock: cachemon reports it in one or two lines. A CMD
that has started runs to its end; one that has not is not started if cachemon cannot begin.
Written data is not lost, and totals are complete once writing works again."""

import contextlib
import os
import sqlite3
import sys
import time

sys.dont_write_bytecode = True

from faultlib.image import Image  # noqa: E402
from faultlib.part import Part, expect  # noqa: E402
from faultlib.trouble import (MIB, begin, check_complete, finish, finished, refused,  # noqa: E402
                              said)
from faultlib.watch import (BOUND_S, Db, Steady, Watch, check_gapless, run,  # noqa: E402
                            wait_intervals)

part = Part("storage", __doc__)


# ---- no space ----


@part.case("a full disk at the start: CMD is not run")
def full_at_start(case):
    image = Image(case, 16 * MIB)
    image.fill()
    path = image.path("run.db")
    done = run([case.cachemon, "watch", "--db", path, "--", "touch", case.path("cmd-ran")])
    expect(done.status == 125 and "no space left" in done.err.lower(), str(done))
    expect(len(done.lines()) <= 2, str(done))
    expect(not os.path.exists(case.path("cmd-ran")), "CMD ran")
    # The leftovers of the failed start are no obstacle once there is space.
    image.free()
    done = run([case.cachemon, "watch", "--db", path, "--", "true"])
    expect(done.status == 0, str(done))
    Db(path).sound()


@part.case("the disk fills up and is freed again: said once, totals complete")
def full_for_a_while(case):
    image = Image(case, 32 * MIB)
    db = Db(image.path("run.db"))
    steady, watch = begin(case, db)
    wait_intervals(watch, db, 3)
    image.fill()
    said(watch, "no space left")
    before = len(db.intervals())
    image.free()
    wait_intervals(watch, db, before + 3)
    expect(len(watch.complaints()) == 1, watch.err())
    finish(steady, watch)
    row = check_complete(db, steady)
    expect(row["loss_intervals"] > 0, "no interval counted as lost")
    return f"{row['loss_intervals']} intervals lost and counted"


@part.case("the disk stays full to the end: CMD's status, what was written is there")
def full_at_end(case):
    image = Image(case, 32 * MIB)
    db = Db(image.path("run.db"))
    steady, watch = begin(case, db)
    wait_intervals(watch, db, 3)
    image.fill()
    said(watch, "no space left")
    before = db.intervals()
    done = finish(steady, watch)
    expect(len(watch.complaints()) <= 4, str(done))
    left = db.copy(case.path("copy.db"))
    left.sound()
    expect(left.intervals()[:len(before)] == before, "intervals that were written are gone")
    expect(left.run()["state"] != "complete", "an unfinished run says it is complete")
    image.free()
    done = run([case.cachemon, "watch", "--db", db.path, "--", "true"])
    expect(done.status == 0, str(done))
    db.sound()
    expect(db.one("SELECT state FROM run WHERE id = 1") == "cut", "the run is not marked as cut")


# ---- locks ----


@contextlib.contextmanager
def transaction(path, *statements):
    link = sqlite3.connect(path, isolation_level=None, timeout=BOUND_S)
    try:
        for statement in statements:
            link.execute(statement).fetchall()
        yield
        link.execute("ROLLBACK")
    finally:
        link.close()


@part.case("a reader keeps a transaction open all the time: nothing is lost")
def reader(case):
    db = Db(case.path("run.db"))
    steady, watch = begin(case, db)
    wait_intervals(watch, db, 2)
    with transaction(db.path, "BEGIN", "SELECT count(*) FROM interval"):
        before = len(db.intervals())
        wait_intervals(watch, db, before + 5)
        done = finish(steady, watch)
        expect(not watch.complaints(), str(done))
        row = check_complete(db, steady)
        expect(row["loss_intervals"] == 0, f"{row['loss_intervals']} intervals lost")
    check_gapless(db.intervals())


@part.case("a writer holds the lock for longer than cachemon waits: said once, totals complete")
def writer(case):
    db = Db(case.path("run.db"))
    steady, watch = begin(case, db)
    wait_intervals(watch, db, 2)
    with transaction(db.path, "BEGIN IMMEDIATE"):
        said(watch, "another program has locked it")
        before = len(db.intervals())
    wait_intervals(watch, db, before + 3)
    expect(len(watch.complaints()) == 1, watch.err())
    finish(steady, watch)
    row = check_complete(db, steady)
    expect(row["loss_intervals"] > 0, "no interval counted as lost")
    return f"{row['loss_intervals']} intervals lost and counted"


@part.case("a writer holds the lock for a moment: cachemon waits, nothing is lost")
def short_writer(case):
    db = Db(case.path("run.db"))
    steady, watch = begin(case, db)
    wait_intervals(watch, db, 2)
    for _ in range(5):
        with transaction(db.path, "BEGIN IMMEDIATE"):
            time.sleep(0.2)
        before = len(db.intervals())
        wait_intervals(watch, db, before + 1)
    finish(steady, watch)
    row = check_complete(db, steady)
    expect(row["loss_intervals"] == 0 and not watch.complaints(), f"{row['loss_intervals']} lost, "
           f"says {watch.err()!r}")
    check_gapless(db.intervals())


@part.case("a writer holds the lock at the start: CMD is not run, readers read")
def writer_at_start(case):
    db = finished(case, case.path("run.db"))
    with transaction(db.path, "BEGIN IMMEDIATE"):
        refused(case, db.path, "another program has locked it", readable=True)
    expect(run([case.cachemon, "watch", "--db", db.path, "--", "true"]).status == 0, "afterwards")
    db.sound()


@part.case("a writer holds the lock at the end: CMD's status, what was written is there")
def writer_at_end(case):
    db = Db(case.path("run.db"))
    steady, watch = begin(case, db)
    wait_intervals(watch, db, 2)
    with transaction(db.path, "BEGIN IMMEDIATE"):
        before = db.intervals()
        done = finish(steady, watch)
        expect("another program has locked it" in done.err, str(done))
    left = db.copy(case.path("copy.db"))
    left.sound()
    expect(left.intervals()[:len(before)] == before, "intervals that were written are gone")


@part.case("two runs at once into one database")
def two_writers(case):
    db = Db(case.path("run.db"))
    jobs = []
    for number in range(2):
        steady = Steady(case, status=number + 3, name=f"steady{number}")
        watch = Watch(case, ["--level", "full", "--db", db.path, "--interval", "100ms"],
                      steady.command, name=f"watch{number}")
        jobs.append((steady, watch))
    for steady, watch in jobs:
        steady.wait_started(watch)
        wait_intervals(watch, db, 3)
    for steady, watch in jobs:
        steady.stop()
        done = watch.wait()
        expect(done.status == steady.status and not watch.complaints(), str(done))
    db.sound()
    rows = db.rows("SELECT state, exit_status, loss_intervals FROM run ORDER BY exit_status")
    expect(rows == [{"state": "complete", "exit_status": status, "loss_intervals": 0}
                    for status in (3, 4)], f"{rows}")
    for steady, _ in jobs:
        row = db.rows("SELECT read_bytes FROM file WHERE path = CAST(? AS BLOB) AND read_bytes = ?",
                      steady.data, steady.done()["bytes"])
        expect(len(row) == 1, f"{steady.data}: read {steady.done()}, no such row")


@part.case("a report that cannot be written: said, CMD's status, the run is complete")
def no_report(case):
    image = Image(case, 16 * MIB)
    image.fill()
    db = Db(case.path("run.db"))
    for place in [image.path("run.html"), "/dev/full"]:
        done = run([case.cachemon, "watch", "--db", db.path, "--report", place, "--", "sh", "-c",
                    "exit 6"])
        expect(done.status == 6, str(done))
        complaints = [line for line in done.lines() if "report" in line and
                      line.startswith("cachemon: ") and not line.startswith("cachemon: run ")]
        expect(len(complaints) == 1, str(done))
        expect(not os.path.isfile(place), f"half a report at {place}")
    db.sound()
    states = db.rows("SELECT DISTINCT state FROM run")
    expect(states == [{"state": "complete"}], f"{states}")
    done = run(["sh", "-c", f"{case.cachemon} report --db {db.path} >/dev/full"])
    expect(done.status == 1 and 1 <= len(done.lines()) <= 2, str(done))


@part.case("a place where no report can be: said before CMD runs, and nothing else happens")
def no_place_for_report(case):
    mark, db, folder = case.path("cmd-ran"), case.path("run.db"), case.path("folder")
    os.mkdir(folder)
    for place in ["/dev/full/run.html", case.path("no", "run.json"), folder]:
        done = run([case.cachemon, "watch", "--db", db, "--report", place, "--", "touch", mark])
        expect(done.status == 125 and len(done.lines()) == 1 and "--report" in done.err and
               place in done.err, str(done))
    expect(os.listdir(case.dir) == ["folder"], f"{os.listdir(case.dir)}")


if __name__ == "__main__":
    part.main()
