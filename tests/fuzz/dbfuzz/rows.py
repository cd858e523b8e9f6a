# SPDX-License-Identifier: BSD-2-Clause
"""Damage by SQL: values that cachemon never writes, and a schema that acts or computes."""

import contextlib
import sqlite3

from .pages import write
from .seed import connect, rewrite

MIN, MAX = -(1 << 63), (1 << 63) - 1
VALUES = (None, 0, 1, -1, 2, 4096, 1 << 31, 1 << 32, 1 << 53, 1 << 62, MAX, MAX - 1, MIN, MIN + 1, -(1 << 62),
          0.0, -0.0, 1e308, -1e308, 1e-308, float("inf"), float("-inf"), 0.1, "", "x", "12", "-1e5", "1e400",
          "\x1b[31m", "a" * 5000, "\u202e\U0001f600" * 30, "%s%n%d", "';--", "{}", "[[", b"", b"\x00",
          b"\xff" * 40, b"/a/" * 2000, b"\x80" * 300)
FOREVER = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
# Numbers that may become bounds of loops and arrays.
SIZES = (("run", "duration_ns"), ("run", "interval_ns"), ("run", "page_size_bytes"), ("run", "started_ns"),
         ("run", "memory_bytes"), ("run", "read_on_ns"), ("interval", "start_ns"), ("interval", "duration_ns"),
         ("interval", "rolled"), ("interval", "read_on_ns"), ("traced_file", "size_bytes"),
         ("traced_file", "ra_pages"), ("traced_file", "io_pages"), ("traced_file", "max_order"),
         ("traced_file", "stands_for"), ("traced_file", "began"), ("file", "size_bytes"),
         ("machine", "nr_cpus"), ("reference_sample", "threshold"), ("reference_sample", "pages"),
         ("reference_sample", "refs"), ("directory", "files"), ("job", "processes"))


def value(rng):
    if rng.random() < 0.2:
        return rng.randrange(MIN, MAX)
    if rng.random() < 0.1:
        return rng.randbytes(rng.choice((1, 30, 5000)))
    return rng.choice(VALUES)


def loosely(seed, path, change):
    """Arbitrary rows below correct definitions."""
    write(path, seed.loose_bytes)
    db = connect(path)
    db.execute("PRAGMA foreign_keys = OFF")
    change(db)
    rewrite(db, seed.definitions)
    db.close()


def update(db, table, column, new, where="1"):
    """Not for an integer primary key, if the value is not a number."""
    with contextlib.suppress(sqlite3.IntegrityError):
        db.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {where}", (new,))


def cells(rng, seed, path):
    """Some columns of some rows."""
    def change(db):
        for _ in range(rng.choice((1, 2, 5, 20))):
            table = rng.choice(list(seed.columns))
            update(db, table, rng.choice(seed.columns[table]), value(rng),
                   rng.choice(("1", "1", "abs(random()) % 4 = 0")) if rng.random() < 0.5 else "1")
    loosely(seed, path, change)


def whole_tables(rng, seed, path):
    """Every column of a table except its keys: one value for all, or one each."""
    def change(db):
        table = rng.choice(list(seed.columns))
        one = value(rng)
        for column in seed.columns[table]:
            if column != "id" and not column.endswith("_id"):
                update(db, table, column, one if rng.random() < 0.7 else value(rng))
    loosely(seed, path, change)


def sizes(rng, seed, path):
    """Values that determine a length, a number or a size."""
    def change(db):
        for table, column in rng.sample(SIZES, rng.choice((1, 2, 6))):
            if column in seed.columns[table]:
                update(db, table, column, rng.choice((0, 1, -1, 1 << 40, 1 << 53, 1 << 61, 1 << 62, MAX, MIN)))
    loosely(seed, path, change)


def many(rng, seed, path):
    """Thousands of copies of one row."""
    def change(db):
        table = rng.choice(list(seed.columns))
        columns = seed.columns[table]
        others = [c for c in columns if c != "id"]
        count = rng.choice((100, 2000, 20000))
        db.execute("CREATE TEMP TABLE n AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c "
                   f"LIMIT {count}) SELECT x FROM c")
        spread = rng.choice(columns)
        picked = ", ".join("x" if c == spread else c for c in others)
        db.execute(f"INSERT OR IGNORE INTO {table} ({', '.join(others)}) SELECT {picked} FROM "
                   f"(SELECT * FROM {table} LIMIT 1), n")
    loosely(seed, path, change)


def crowds(rng, seed, path):
    """Hundreds of rows in every table at once: the work for each of them adds up."""
    def change(db):
        count = rng.choice((20, 60, 300, 900))
        db.execute("CREATE TEMP TABLE n AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c "
                   f"LIMIT {count}) SELECT x FROM c")
        for table, columns in seed.columns.items():
            others = [c for c in columns if c != "id"]
            for spread in rng.sample(others, len(others)):
                picked = ", ".join("x + 1000000" if c == spread else c for c in others)
                try:
                    added = db.execute(f"INSERT OR IGNORE INTO {table} ({', '.join(others)}) SELECT {picked} FROM "
                                       f"(SELECT * FROM {table} LIMIT 1), n").rowcount
                except sqlite3.Error:
                    continue
                if added > count // 2:
                    break
    loosely(seed, path, change)


def orphans(rng, seed, path):
    """Keys that lead nowhere, or to a row of another run."""
    def change(db):
        for _ in range(rng.randrange(1, 4)):
            table = rng.choice(list(seed.columns))
            for column in seed.columns[table]:
                if column.endswith("_id"):
                    update(db, table, column, rng.choice((0, 1, 2, 3, -1, MAX)), "abs(random()) % 2")
            if rng.random() < 0.3:
                db.execute(f"DELETE FROM {table}")
    loosely(seed, path, change)


def streams(rng, seed, path):
    """Packed bytes: traces, references, words of a model."""
    def change(db):
        table, column = rng.choice((("trace_chunk", "data"), ("reference_chunk", "data"), ("wording", "answer"),
                                    ("reference_page", "page")))
        if column not in seed.columns[table]:
            column = seed.columns[table][-1]
        for (row,) in db.execute(f"SELECT {column} FROM {table} LIMIT 20").fetchall():
            old = row.encode() if isinstance(row, str) else row
            if not isinstance(old, bytes) or not old:
                update(db, table, column, value(rng))
                continue
            data = bytearray(old)
            for _ in range(rng.choice((1, 10))):
                at = rng.randrange(len(data))
                data[at:at + rng.choice((0, 1, 9))] = rng.choice((b"\xff" * 9, bytes(4), rng.randbytes(5), b""))
                if not data:
                    break
            new = bytes(data[:rng.randrange(len(data) + 1)] if rng.random() < 0.3 else data)
            db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (new, row))
    loosely(seed, path, change)


def in_schema(seed, path, *statements):
    write(path, seed.bytes)
    db = connect(path)
    db.execute("PRAGMA legacy_alter_table = ON")
    db.execute("PRAGMA foreign_keys = OFF")
    for sql in statements:
        with contextlib.suppress(sqlite3.IntegrityError):
            db.execute(sql)
    db.close()


def views(rng, seed, path):
    """A view in the place of a table: the same rows, infinitely many, or far too many."""
    table = rng.choice(list(seed.columns))
    select = rng.choice(("SELECT * FROM zz", f"{FOREVER} SELECT zz.* FROM zz, c",
                         "SELECT a.* FROM zz a, zz b, zz c, zz d, zz e",
                         f"{FOREVER} SELECT zz.* FROM zz WHERE 1 IN (SELECT x FROM c WHERE x < 0)",
                         "SELECT * FROM zz ORDER BY hex(randomblob(10000000))"))
    in_schema(seed, path, f"ALTER TABLE {table} RENAME TO zz", f"CREATE VIEW {table} AS {select}")


def triggers(rng, seed, path):
    """Triggers of all kinds, which do not end, forge rows, or fail."""
    table = rng.choice(list(seed.columns))
    when = rng.choice(("BEFORE", "AFTER")) + " " + rng.choice(("INSERT", "UPDATE", "DELETE"))
    then = rng.choice((f"INSERT INTO zz {FOREVER} SELECT x FROM c", "UPDATE job SET name = 'forged'",
                       "SELECT RAISE(IGNORE)", "SELECT RAISE(ABORT, 'no')", "DELETE FROM run",
                       f"INSERT INTO zz {FOREVER} SELECT max(x) FROM c"))
    if rng.random() < 0.15:
        table, when = "evicting_job", "INSTEAD OF INSERT"
    in_schema(seed, path, "CREATE TABLE zz (x)", f"CREATE TRIGGER t {when} ON {table} BEGIN {then}; END")


def computed(rng, seed, path):
    """Computed columns and indexes."""
    table = rng.choice([t for t in seed.columns if t != "zz"])
    column = rng.choice(seed.columns[table])
    costly = "length(hex(zeroblob(100000000)))"
    in_schema(seed, path, rng.choice((
        f"ALTER TABLE {table} ADD COLUMN zz INTEGER AS ({costly})",
        f"ALTER TABLE {table} ADD COLUMN zz INTEGER AS ({column} || 1) VIRTUAL",
        f"CREATE INDEX zz ON {table} (length({column}) + 1)",
        f"CREATE INDEX zz ON {table} ({column}) WHERE {column} > 1",
        f"CREATE UNIQUE INDEX zz ON {table} (abs(1), {column}, {seed.columns[table][0]})")))


def definitions(rng, seed, path):
    """Changes rows of sqlite_schema: another root, name, kind or text."""
    write(path, seed.bytes)
    db = connect(path)
    db.execute("PRAGMA writable_schema = ON")
    for _ in range(rng.choice((1, 1, 3))):
        name, sql = rng.choice(seed.definitions)
        change, new = rng.choice((
            ("rootpage", rng.choice((*seed.roots, 0, 1, -1, MAX, None, "x"))),
            ("type", rng.choice(("table", "index", "view", "trigger", "", None, 7))),
            ("name", rng.choice(("run", "RUN", "sqlite_schema", "", None, "x", "sqlite_stat1"))),
            ("tbl_name", rng.choice(("run", "job", "", None, "x"))),
            ("sql", rng.choice((None, "", "CREATE TABLE x(a)", sql[:rng.randrange(len(sql))], sql + ";" + sql,
                                "CREATE VIRTUAL TABLE run USING fts5(a)", "SELECT 1", "CREATE" + " (" * 5000,
                                sql.replace("INTEGER", "INTEGER CHECK (" + "(" * 500 + "1" + ")" * 500 + ")", 1),
                                sql.replace(rng.choice(seed.columns[rng.choice(list(seed.columns))]), "zz", 1),
                                sql.replace(")", ") -- x\n", 1), sql.replace(" ", "/**/", 3))))))
        db.execute(f"UPDATE sqlite_schema SET {change} = ? WHERE name = ?", (new, name))
    if rng.random() < 0.1:
        db.execute("INSERT INTO sqlite_schema SELECT * FROM sqlite_schema")
    db.close()


def others(rng, seed, path):
    """Foreign tables: many, wide, virtual, with statistics for the planner."""
    count = rng.choice((1, 50, 3000))
    in_schema(seed, path, *(f"CREATE TABLE s{i} (a, b REFERENCES run (id) ON DELETE CASCADE, c AS (a + 1))"
                            for i in range(min(count, 300))),
              *(("CREATE VIRTUAL TABLE f USING fts5(a)",) if count == 1 else ()),
              "ANALYZE", rng.choice(("UPDATE sqlite_stat1 SET stat = '1 1 1'",
                                     "UPDATE sqlite_stat1 SET stat = '99999999999999999999 -1 unordered sz=0'",
                                     "UPDATE sqlite_stat1 SET stat = hex(zeroblob(100000))",
                                     "DELETE FROM sqlite_stat1")))


KINDS = (cells, cells, whole_tables, sizes, sizes, many, crowds, orphans, streams, views, triggers, computed, definitions,
         definitions, others)
