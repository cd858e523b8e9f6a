# SPDX-License-Identifier: BSD-2-Clause
"""A small database with rows in every table, from the recorded one in examples/; and the same
with tables that accept any value in any column, for rows that cachemon never writes."""

import glob
import lzma
import os
import re
import sqlite3

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
RECORDED = os.path.join(REPO, "examples", "recorded", "train.db.xz")
SMALLER = """
DELETE FROM file_interval WHERE file_id NOT IN (SELECT file_id FROM file_interval GROUP BY 1
    ORDER BY count(*) DESC LIMIT 12);
DELETE FROM file WHERE id NOT IN (SELECT file_id FROM file_interval) AND id % 9;
DELETE FROM traced_file WHERE id NOT IN (SELECT traced_file_id FROM trace_chunk GROUP BY 1
    ORDER BY sum(length(data)) LIMIT 6);
DELETE FROM reference_page WHERE job_id NOT IN (SELECT max(job_id) FROM reference_sample);
DELETE FROM reference_chunk WHERE job_id NOT IN (SELECT max(job_id) FROM reference_sample);
DELETE FROM reference_sample WHERE job_id NOT IN (SELECT max(job_id) FROM reference_sample);
DELETE FROM interference WHERE id % 4;
INSERT INTO wording (run_id, job_id, asked_ns, question, prompt_sha256, api, host, model, outcome,
    attempts, duration_ns, redacted, kept, dropped, answer)
    SELECT run_id, id, 1, 'why?', hex(zeroblob(32)), 'openai', 'localhost', 'm', 'answered', 1, 1, 1,
    1, 0, '{"statements": []}' FROM job WHERE slot = 1;
"""


def connect(path):
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    return db


def tables(db):
    return [name for (name,) in db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")]


def rewrite(db, definitions):
    """Replaces the texts of the schema."""
    db.execute("PRAGMA writable_schema = ON")
    db.executemany("UPDATE sqlite_schema SET sql = ? WHERE name = ?",
                   [(sql, name) for name, sql in definitions])
    db.execute("PRAGMA writable_schema = RESET")


def loosened(sql):
    """A table's definition without types and constraints."""
    sql = re.sub(r"--[^\n]*", "", sql)
    # A table constraint includes the comma before it.
    sql = re.sub(r"(,\s*)?CHECK \((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "", sql)
    sql = re.sub(r"NOT NULL|STRICT, |STRICT", "", sql)
    return re.sub(r"(?<!INTEGER )\b(INTEGER|TEXT|REAL|BLOB)\b(?! PRIMARY)", "", sql)


class Seed:
    """Bytes of the two databases, and their content."""

    def __init__(self, work):
        self.path = os.path.join(work, "seed.db")
        self.loose = os.path.join(work, "loose.db")
        with lzma.open(RECORDED) as packed, open(self.path, "wb") as out:
            out.write(packed.read())
        db = connect(self.path)
        (version,) = db.execute("PRAGMA user_version").fetchone()
        for name in sorted(glob.glob(os.path.join(REPO, "sql", "[0-9]*.sql")))[version:]:
            with open(name, encoding="utf-8") as f:
                db.executescript(f.read())
            version += 1
        db.execute(f"PRAGMA user_version = {version}")
        db.execute("PRAGMA foreign_keys = ON")
        db.executescript(SMALLER)
        db.execute("VACUUM")
        self.definitions = db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL "
                                      "ORDER BY name").fetchall()
        self.columns = {t: [row[1] for row in db.execute(f"PRAGMA table_info({t})")] for t in tables(db)}
        self.roots = [root for (root,) in db.execute(
            "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")]
        db.close()
        with open(self.path, "rb") as f:
            self.bytes = f.read()
        with open(self.loose, "wb") as f:
            f.write(self.bytes)
        db = connect(self.loose)
        rewrite(db, [(name, loosened(sql)) for name, sql in self.definitions if name in self.columns])
        db.close()
        with open(self.loose, "rb") as f:
            self.loose_bytes = f.read()
        self.page_size = int.from_bytes(self.bytes[16:18], "big")
