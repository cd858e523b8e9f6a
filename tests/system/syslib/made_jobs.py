# SPDX-License-Identifier: BSD-2-Clause
"""Databases with invented runs, for tests that need only their names."""

import glob
import os
import sqlite3
from contextlib import closing

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def make_database(path, jobs):
    """One run per job; the newest is the last."""
    with closing(sqlite3.connect(path)) as db:
        for name in sorted(glob.glob(os.path.join(ROOT, "sql", "[0-9]*.sql"))):
            with open(name, encoding="utf-8") as f:
                db.executescript(f.read())
            db.execute(f"PRAGMA user_version = {int(os.path.basename(name)[:3])}")
        columns = {row[1]: row for row in db.execute("PRAGMA table_info(run)")}
        for nr, job in enumerate(jobs, 1):
            given = {"id": nr, "uuid": f"{nr:032x}", "level": "full", "state": "complete",
                     "advice_mode": "effects", "page_size_bytes": 4096}
            for name, (_, _, kind, required, default, _) in columns.items():
                if required and default is None and name not in given:
                    given[name] = 1 if kind == "INTEGER" else "x"
            db.execute(f"INSERT INTO run ({', '.join(given)}) VALUES ({', '.join('?' * len(given))})",
                       list(given.values()))
            db.execute("INSERT INTO job (run_id, slot, name, selector) "
                       "VALUES (?, 1, CAST(? AS TEXT), 'pid: 1')",
                       (nr, job.encode("utf-8", "surrogateescape")))
        db.commit()
