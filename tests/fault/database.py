#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A database that is moved, deleted, empty, damaged, of another kind, or not accessible. It is
refused in a line or two before CMD starts, and left unchanged; a CMD that had started continues."""

import os
import shutil
import sqlite3
import sys

sys.dont_write_bytecode = True

from faultlib.image import Image  # noqa: E402
from faultlib.part import Part, expect, wait_until  # noqa: E402
from faultlib.trouble import (MIB, NOBODY, begin, check_complete, digest, finish,  # noqa: E402
                              finished, refused, said)
from faultlib.watch import BOUND_S, Db, run, wait_intervals  # noqa: E402

part = Part("database", __doc__)


@part.case("the database is moved away and back: said, totals complete")
def moved(case):
    db = Db(case.path("run.db"))
    steady, watch = begin(case, db)
    wait_intervals(watch, db, 2)
    os.rename(db.path, db.path + ".away")
    said(watch, "moved or deleted")
    os.rename(db.path + ".away", db.path)
    before = len(db.intervals())
    wait_intervals(watch, db, before + 2)
    finish(steady, watch)
    expect(check_complete(db, steady)["loss_intervals"] > 0, "no interval counted as lost")


@part.case("the database is deleted: said, CMD's status")
def deleted(case):
    db = Db(case.path("run.db"))
    steady, watch = begin(case, db)
    wait_intervals(watch, db, 2)
    os.unlink(db.path)
    said(watch, "moved or deleted")
    done = finish(steady, watch)
    expect(len(watch.complaints()) <= 4, str(done))


@part.case("zero bytes: a new database")
def zero_bytes(case):
    path = case.path("zero.db")
    with open(path, "wb"):
        pass
    for verb in ("report", "runs"):
        done = run([case.cachemon, verb, "--db", path])
        expect(done.status == 1 and len(done.lines()) <= 2, str(done))
    expect(os.path.getsize(path) == 0, "a reader wrote to it")
    expect(run([case.cachemon, "watch", "--db", path, "--", "true"]).status == 0, "watch")
    Db(path).sound()


@part.case("no database, another program's database, a newer version: refused, not touched")
def foreign(case):
    text = case.path("text")
    with open(text, "w", encoding="ascii") as f:
        f.write("Not a database.\n" * 1000)
    other = case.path("other.db")
    link = sqlite3.connect(other)
    link.execute("CREATE TABLE run (id INTEGER PRIMARY KEY)")
    link.commit()
    link.close()
    newer = finished(case, case.path("newer.db")).path
    link = sqlite3.connect(newer)
    link.execute("PRAGMA user_version = 9999")
    link.commit()
    link.close()
    for path, words in ((text, ["not an SQLite database"]), (other, ["another"]),
                        (newer, ["newer"])):
        before = digest(path)
        refused(case, path, path, *words)
        expect(digest(path) == before, f"{path} was changed")
        left = [path + end for end in ("-wal", "-shm", "-journal") if os.path.exists(path + end)]
        expect(not left, f"left over: {left}")


@part.case("a damaged database: refused, or read as far as it goes; never a crash")
def corrupt(case):
    good = finished(case, case.path("good.db")).path
    size, statuses = os.path.getsize(good), {}
    for at in (0, 16, 100, 4096, 8192, size // 2, size - 4096):
        path = case.path(f"bad{at}.db")
        shutil.copy(good, path)
        with open(path, "r+b") as f:
            f.seek(at)
            f.write(b"\xa5" * 2048)
        for verb in (["report"], ["report", "--format", "json"], ["runs"],
                     ["watch", "--duration", "1s"]):
            command = ["--", "sh", "-c", "exit 9"] if verb[0] == "watch" else []
            done = run([case.cachemon, *verb, "--db", path, *command])
            allowed = (9, 125) if command else (0, 1)
            expect(done.status in allowed, f"bytes at {at}: {done}")
            if done.status in (1, 125):
                expect(not done.out and 1 <= len(done.lines()) <= 2, f"bytes at {at}: {done}")
            statuses[done.status] = statuses.get(done.status, 0) + 1
    expect(statuses.get(1) and statuses.get(125), f"no damage was noticed: {statuses}")


@part.case("cut off in the middle while it is written: CMD's status, never a crash")
def truncated(case):
    db = Db(case.path("run.db"))
    finished(case, db.path)
    steady, watch = begin(case, db)
    wait_intervals(watch, db, 2)
    os.truncate(db.path + "-wal", 0)
    os.truncate(db.path, 3 * 4096)
    ticks = watch.cpu_ticks()
    wait_until(lambda: watch.running() and watch.cpu_ticks() > ticks + 5, "more intervals", BOUND_S)
    done = finish(steady, watch)
    expect(len(watch.complaints()) <= 4, str(done))
    done = run([case.cachemon, "watch", "--db", db.path, "--", "sh", "-c", "exit 9"])
    expect(done.status in (9, 125) and (done.status == 9 or len(done.lines()) <= 2), str(done))


@part.case("a directory, a FIFO, a device, a place that is not there: refused")
def no_file(case):
    refused(case, case.dir, "directory")
    os.mkfifo(case.path("fifo"))
    refused(case, case.path("fifo"), "not a regular file")
    refused(case, "/dev/full", "not a regular file")
    refused(case, case.path("no", "such", "place.db"), "No such file or directory")
    refused(case, os.path.join(case.cachemon, "below-a-file.db"), "Not a directory")


@part.case("no permission, as root on behalf of a user: refused, not touched")
def no_permission(case):
    os.chmod(case.dir, 0o755)
    db = finished(case, case.path("run.db"))
    os.chmod(db.path, 0o644)
    before = digest(db.path)
    refused(case, db.path, "belongs to user 0", env=NOBODY, readable=True)
    expect(digest(db.path) == before, "the database was changed")
    refused(case, case.path("new.db"), "Permission denied", env=NOBODY)
    expect(not os.path.exists(case.path("new.db")), "a database was made")
    os.chmod(db.path, 0o600)
    refused(case, db.path, "belongs to user 0", env=NOBODY)


@part.case("a user's directory: the database is the user's, and so is what CMD does")
def users_own(case):
    os.chmod(case.dir, 0o755)
    home = case.path("home")
    os.mkdir(home)
    os.chown(home, 65534, 65534)
    path = os.path.join(home, "run.db")
    done = run([case.cachemon, "watch", "--db", path, "--", "sh", "-c",
                f"id -u >{home}/who; exit 4"], env=NOBODY)
    expect(done.status == 4, str(done))
    owners = {name: os.stat(os.path.join(home, name)).st_uid for name in os.listdir(home)}
    expect(owners == {"run.db": 65534, "who": 65534}, f"owners {owners}")
    with open(os.path.join(home, "who"), encoding="ascii") as f:
        expect(f.read() == "65534\n", "CMD ran as another user")


@part.case("a read-only filesystem: watch refused, readers read")
def read_only(case):
    image = Image(case, 16 * MIB)
    db = finished(case, image.path("run.db"))
    image.read_only()
    refused(case, db.path, "read-only", readable=True)
    refused(case, image.path("new.db"), "Read-only")


if __name__ == "__main__":
    part.main()
