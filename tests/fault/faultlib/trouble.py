# SPDX-License-Identifier: BSD-2-Clause
"""A watch whose database gets into trouble: its start, its end, and what must hold in every
case."""

import hashlib
import os

from .part import expect, wait_until
from .watch import BOUND_S, Db, Steady, Watch, check_law, run

NOBODY = {"SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody"}
MIB = 1 << 20


def begin(case, db, **options):
    steady = Steady(case)
    watch = Watch(case, ["--level", "full", "--db", db.path, "--interval", "100ms"],
                  steady.command, **options)
    steady.wait_started(watch)
    return steady, watch


def finish(steady, watch, status=None):
    steady.stop()
    done = watch.wait()
    expect(done.status == (steady.status if status is None else status), str(done))
    expect(steady.done(), "CMD did not come to its own end")
    return done


def check_totals(db, steady):
    """CMD's reads of its data, to the last byte, even if single intervals were lost."""
    row = db.file(steady.data)
    truth = steady.done()
    expect((row["read_calls"], row["read_bytes"]) == (truth["calls"], truth["bytes"]),
           f"database: {row['read_calls']} calls, {row['read_bytes']} bytes; CMD: {truth}")
    expect(row["lookups"] * 4096 == truth["bytes"], f"lookups {row['lookups']}")
    check_law(db.job())


def check_complete(db, steady):
    db.sound()
    row = db.run()
    expect(row["state"] == "complete" and row["exit_status"] == steady.status,
           f"{row['state']}, exit_status {row['exit_status']}")
    check_totals(db, steady)
    return row


def said(watch, *words):
    """Waits for one line with these words, which must not be repeated meanwhile."""
    def look():
        return [line for line in watch.complaints() if all(word in line for word in words)]
    wait_until(lambda: watch.running() and look(), f"a message with {words}", BOUND_S)
    expect(len(look()) == 1, f"said {len(look())} times: {watch.err()!r}")


def refused(case, db_path, *words, env=None, readable=False, prefix=()):
    """watch does not start CMD and reports why in a line or two; so do the readers."""
    marker = case.path("cmd-ran")
    argv = [case.cachemon, "watch", "--db", db_path, "--"]
    done = run([*argv, "touch", marker], env=env, prefix=prefix)
    expect(done.status == 125 and not done.out, str(done))
    expect(1 <= len(done.lines()) <= 2 and done.err.startswith("cachemon: "), str(done))
    expect(all(word in done.err for word in words), f"{words} not in {done.err!r}")
    expect(not os.path.exists(marker), "CMD ran although cachemon failed before it")
    for verb in ("report", "runs"):
        done = run([case.cachemon, verb, "--db", db_path], env=env, prefix=prefix)
        if readable:
            expect(done.status == 0 and done.out, str(done))
        else:
            expect(done.status == 1 and not done.out, str(done))
            expect(1 <= len(done.lines()) <= 2 and done.err.startswith("cachemon: "), str(done))


def finished(case, path):
    """A small database, as left by a good run."""
    done = run([case.cachemon, "watch", "--db", path, "--", "cat", case.cachemon])
    expect(done.status == 0, str(done))
    return Db(path)


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()
