#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Databases made to attack the user who opens them, and files and links planted next to one:
nothing of others is written, deleted or trusted, and CMD does not run if watch refuses."""

import os
import shutil
import sqlite3
import stat
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz"))

from dbfuzz.pages import JOURNAL_MAGIC  # noqa: E402
from faultlib.part import Part, expect  # noqa: E402
from faultlib.trouble import NOBODY, begin, digest, finish, finished, refused  # noqa: E402
from faultlib.watch import Db, run, wait_intervals  # noqa: E402

part = Part("planted", __doc__)

USER = 65534
FOREVER = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
ENDS = ("-wal", "-shm", "-journal")
READERS = (["report"], ["report", "--format", "json"], ["runs"], ["advise"], ["top", "--batch", "--frames", "1"])
# The user who runs it, and the owner of the file.
SIDES = (("root, its own", {}, 0), ("root, a user's", {}, USER), ("a user through sudo", NOBODY, USER))


def change(path, *statements):
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA legacy_alter_table = ON")
    for sql in statements:
        db.execute(sql)
    db.close()


def place(case, name, owner, mode=0o755):
    """A directory of that user's."""
    os.chmod(case.dir, 0o755)
    path = case.path(name)
    os.mkdir(path)
    os.chown(path, owner, owner)
    os.chmod(path, mode)
    return path


def owned_copy(source, path, owner):
    shutil.copyfile(source, path)
    os.chown(path, owner, owner)
    os.chmod(path, 0o600)
    return path


def journal_naming(path, victim):
    """A hot journal without pages, of a transaction over several databases."""
    name, size = victim.encode(), 4096
    out = JOURNAL_MAGIC + b"".join(n.to_bytes(4, "big") for n in (
        0, 0x1234, os.path.getsize(path) // size, 512, size))
    out += bytes(512 - len(out)) + (0x40000000 // size + 1).to_bytes(4, "big") + name
    out += len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + JOURNAL_MAGIC
    with open(path + "-journal", "wb") as f:
        f.write(out)
    os.chown(path + "-journal", os.stat(path).st_uid, -1)


@part.case("triggers of every kind, on what watch writes first, always, last: refused, nothing forged")
def triggers(case):
    good = finished(case, case.path("good.db")).path
    for number, (when, then) in enumerate((
            ("AFTER INSERT ON run", f"INSERT INTO zz {FOREVER} SELECT max(x) FROM c"),
            ("BEFORE INSERT ON interval", f"INSERT INTO zz {FOREVER} SELECT max(x) FROM c"),
            ("AFTER UPDATE ON run", f"INSERT INTO zz {FOREVER} SELECT x FROM c"),
            ("AFTER INSERT ON job", "UPDATE job SET name = 'forged' WHERE id = new.id"),
            ("BEFORE DELETE ON interval", "SELECT RAISE(IGNORE)"),
            ("AFTER UPDATE OF state ON run", "DELETE FROM run"),
            ("INSTEAD OF INSERT ON evicting_job", "DELETE FROM run"))):
        path = shutil.copy(good, case.path(f"t{number}.db"))
        change(path, "CREATE TABLE zz (x)", f"CREATE TRIGGER tt {when} BEGIN {then}; END")
        before = digest(path)
        refused(case, path, "the trigger 'tt'", "cachemon did not create")
        expect(digest(path) == before, f"{when}: the database was changed")


@part.case("views, computed columns and other indexes in the schema: refused by all")
def schema(case):
    good = finished(case, case.path("good.db")).path
    for number, (words, statements) in enumerate((
            ("instead of the table 'device'", (
                "ALTER TABLE device RENAME TO zz",
                f"CREATE VIEW device AS {FOREVER} SELECT zz.* FROM zz, c")),
            ("'job_interval'", ("ALTER TABLE job_interval RENAME TO zz",
                                "CREATE VIEW job_interval AS SELECT * FROM zz")),
            ("its table 'run' differs", ("ALTER TABLE run ADD COLUMN z INTEGER AS (length(hex(zeroblob(9))))",)),
            ("its table 'probe' differs", ("ALTER TABLE probe ADD COLUMN z INTEGER DEFAULT 1",)),
            ("the index 'zz' on 'file'", ("CREATE INDEX zz ON file (abs(ino))",)),
            ("its table 'wording' is missing", ("DROP TABLE wording",)))):
        path = shutil.copy(good, case.path(f"s{number}.db"))
        change(path, *statements)
        refused(case, path, words)
    path = shutil.copy(good, case.path("site.db"))
    change(path, "CREATE TABLE notes (run_id REFERENCES run (id), text)",
           f"CREATE VIEW never AS {FOREVER} SELECT x FROM c",
           "CREATE TRIGGER own AFTER INSERT ON notes BEGIN DELETE FROM notes; END")
    for verb in ([*READERS, ["watch"]]):
        done = run([case.cachemon, *verb, "--db", path, *(["--", "true"] if verb == ["watch"] else [])])
        expect(done.status == 0, f"a site's own tables: {done}")


@part.case("a hot journal that names a file: the file stays, whoever opens the database")
def journals(case):
    good = finished(case, case.path("good.db")).path
    for number, (who, env, owner) in enumerate(SIDES):
        home = place(case, f"home{number}", owner)
        for inside in (True, False):
            for verb in (*READERS, ["watch"]):
                db = owned_copy(good, os.path.join(home, "run.db"), owner)
                victim = os.path.join(home if inside else case.dir, "precious")
                with open(victim, "wb") as f:
                    f.write(b"precious")
                os.chown(victim, owner if inside else 0, -1)
                journal_naming(db, victim)
                command = ["--", "true"] if verb == ["watch"] else []
                done = run([case.cachemon, *verb, "--db", db, *command], env=env)
                said = f"{who}: {done}"
                expect(done.status in ((0, 125) if command else (0, 1)), said)
                expect(not done.status or 1 <= len(done.lines()) <= 2, said)
                expect(digest(victim) == digest_of(b"precious"), f"the file was changed, {said}")
                if command:
                    # The remaining file is a database, and accepts the next run.
                    done = run([case.cachemon, "watch", "--db", db, "--", "true"], env=env)
                    expect(done.status == 0, f"the next run, {who}: {done}")
                    Db(db).sound()
                for end in ("", *ENDS):
                    if os.path.exists(db + end):
                        os.unlink(db + end)


def digest_of(data):
    import hashlib
    return hashlib.sha256(data).hexdigest()


@part.case("root writes a user's database as that user: the file, its siblings, a new one")
def as_owner(case):
    home = place(case, "home", USER)
    path = os.path.join(home, "run.db")
    steady, watch = begin(case, Db(path))
    wait_intervals(watch, Db(path), 2)
    owners = {name: os.stat(os.path.join(home, name)).st_uid for name in os.listdir(home)}
    expect(owners == dict.fromkeys(("run.db", "run.db-wal", "run.db-shm"), USER), f"owners {owners}")
    expect(stat.S_IMODE(os.stat(path).st_mode) == 0o600, "its mode is not 0600")
    done = run([case.cachemon, "runs", "--db", path])
    expect(done.status == 0, f"root reads while it is written: {done}")
    finish(steady, watch)
    Db(path).sound()
    # Root does not write for a user what that user may not write.
    vault = place(case, "vault", 0, 0o700)
    secret = finished(case, os.path.join(vault, "run.db")).path
    before = digest(secret)
    link = os.path.join(home, "link.db")
    os.symlink(secret, link)
    os.lchown(link, USER, USER)
    done = run([case.cachemon, "watch", "--db", link, "--", "touch", case.path("ran")])
    expect(done.status == 125 and not os.path.exists(case.path("ran")), str(done))
    expect(digest(secret) == before, "root's file was written through the user's link")


@part.case("another's database: refused with the reason, by its rights or without")
def of_others(case):
    good = finished(case, case.path("good.db")).path
    home = place(case, "home", USER)
    shared = place(case, "shared", 0, 0o1777)
    for name, owner, mode, env in (("group.db", 0, 0o666, NOBODY), ("other.db", 1, 0o666, NOBODY),
                                   ("read.db", 0, 0o644, NOBODY)):
        path = owned_copy(good, os.path.join(home, name), owner)
        os.chmod(path, mode)
        before = digest(path)
        refused(case, path, f"belongs to user {owner}", "Only its owner", env=env, readable=True)
        expect(digest(path) == before, f"{name} was changed")
    # Anybody may put a file into a shared directory, into which root would then write its runs.
    path = owned_copy(good, os.path.join(shared, "run.db"), USER)
    refused(case, path, f"belongs to user {USER}", readable=True)


@part.case("links, other files and FIFOs in the place of -wal, -shm and -journal: not followed, not read")
def siblings(case):
    good = finished(case, case.path("good.db")).path
    change(good, "PRAGMA journal_mode = WAL")
    shared = place(case, "shared", 0, 0o1777)
    for who, env, owner in (SIDES[0], SIDES[2]):
        for end in ENDS:
            for kind in ("symlink", "hard link", "other's", "FIFO", "dangling", "directory"):
                db = owned_copy(good, os.path.join(shared, "run.db"), owner)
                victim = os.path.join(shared, "precious")
                with open(victim, "wb") as f:
                    f.write(b"precious")
                os.chown(victim, owner, owner)
                plant(kind, db + end, victim)
                before = digest(db)
                for verb in (["runs"], ["report", "--format", "json"], ["watch"]):
                    command = ["--", "true"] if verb == ["watch"] else []
                    done = run([case.cachemon, *verb, "--db", db, *command], env=env)
                    said = f"{who}, {end}, {kind}: {done}"
                    expect(done.status in ((0, 125) if command else (0, 1)), said)
                    expect(digest(victim) == digest_of(b"precious"), f"the file was changed, {said}")
                    expect(command or digest(db) == before, f"a reader changed the database, {said}")
                expect(kind != "dangling" or not os.path.exists(victim + ".new"), f"made, {said}")
                for name in os.listdir(shared):
                    at = os.path.join(shared, name)
                    (shutil.rmtree if os.path.isdir(at) and not os.path.islink(at) else os.unlink)(at)


def plant(kind, path, victim):
    if kind == "symlink":
        os.symlink(victim, path)
    elif kind == "hard link":
        os.link(victim, path)
    elif kind == "dangling":
        os.symlink(victim + ".new", path)
    elif kind == "FIFO":
        os.mkfifo(path, 0o666)
    elif kind == "directory":
        os.mkdir(path)
    else:
        with open(path, "wb") as f:
            f.write(b"other's" * 100)
        os.chmod(path, 0o666)
    os.chown(path, *((1, 1) if kind not in ("hard link",) else (-1, -1)), follow_symlinks=False)


@part.case("a -wal with forged rows: read when it is the owner's, not when another put it there")
def forged_log(case):
    good = finished(case, case.path("good.db")).path
    change(good, "PRAGMA journal_mode = WAL")
    source = shutil.copy(good, case.path("source.db"))
    db = sqlite3.connect(source, isolation_level=None)
    db.execute("UPDATE job SET name = 'forged-name' WHERE slot = 1")
    shared = place(case, "shared", 0, 0o1777)
    for who, env, owner in (SIDES[0], SIDES[2]):
        for planter, read in ((owner, True), (1, False)):
            path = owned_copy(good, os.path.join(shared, "run.db"), owner)
            owned_copy(source + "-wal", path + "-wal", planter)
            os.chmod(path + "-wal", 0o666)
            done = run([case.cachemon, "report", "--db", path], env=env)
            said = f"{who}, -wal of {planter}: {done}"
            expect((b"forged-name" in done.out) == read, said)
            expect(done.status == (0 if read else 1), said)
            if not read:
                done = run([case.cachemon, "watch", "--db", path, "--", "true"], env=env)
                expect(done.status == 125, f"{who}: {done}")
            for end in ("", *ENDS):
                if os.path.exists(path + end):
                    os.unlink(path + end)
    db.close()


@part.case("names that mean something in a URI: the file of that very name, and no other")
def names(case):
    work = place(case, "work", 0)
    for name in ("file:x.db", ":memory:", "x.db?mode=memory", "a#b.db", "a%41.db", "file:///x.db", "-wal", "x-wal",
                 "x.db?vfs=unix-none", "sp ace\t.db", "\u00e4\u20ac.db"):
        path = os.path.join(work, name)
        if "/" in name:
            os.makedirs(os.path.dirname(path))
        argument = name if "/" not in name and not name.startswith("-") else path
        done = run([case.cachemon, "watch", "--db", argument, "--", "true"], cwd=work)
        expect(done.status == 0, f"{name}: {done}")
        files = [os.path.join(d, f) for d, _, fs in os.walk(work) for f in fs]
        expect(files == [os.path.normpath(path)], f"{name}: made {files}")
        for verb in (["runs"], ["report"]):
            done = run([case.cachemon, *verb, "--db", argument], cwd=work)
            expect(done.status == 0 and done.out, f"{name}: {done}")
        shutil.rmtree(work)
        os.mkdir(work)
    # Too long for the names of the files next to it, or too long at all.
    for name in ("n" * 252, "n" * 255, "n" * 256, "d/" * 2048 + "x"):
        done = run([case.cachemon, "watch", "--db", name, "--", "true"], cwd=work)
        expect(done.status == 125 and 1 <= len(done.lines()) <= 2, f"{len(name)} bytes: {done}")
        expect(not os.listdir(work), f"{len(name)} bytes: left {[n[:9] for n in os.listdir(work)]}")


@part.case("a new database is its user's alone, whatever the umask; an old one keeps its mode")
def modes(case):
    for mask in (0, 0o22, 0o77):
        path = case.path(f"{mask}.db")
        done = run(["sh", "-c", f"umask {mask:o}; exec \"$@\"", "sh", case.cachemon, "watch", "--db", path, "--",
                    "true"])
        expect(done.status == 0, str(done))
        expect(stat.S_IMODE(os.stat(path).st_mode) == 0o600, f"umask {mask:o}: {os.stat(path).st_mode:o}")
    os.chmod(path, 0o644)
    steady, watch = begin(case, Db(path))
    wait_intervals(watch, Db(path), 1)
    for end in ("", "-wal", "-shm"):
        mode = stat.S_IMODE(os.stat(path + end).st_mode)
        expect(mode == 0o644, f"{end}: {mode:o}")
    finish(steady, watch)
    expect(stat.S_IMODE(os.stat(path).st_mode) == 0o644, "its mode was changed")


if __name__ == "__main__":
    part.main()
