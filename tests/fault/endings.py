#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The end of a run: with the last process of a job that was already running, however long an
interval is; after --duration, when nothing of it remains in the kernel although CMD continues."""

import contextlib
import os
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True

from faultlib import bpf  # noqa: E402
from faultlib.part import Part, expect, wait_until  # noqa: E402
from faultlib.watch import BOUND_S, Db, Steady, Watch  # noqa: E402

part = Part("endings", __doc__)

TICKS = 20  # of the program's loop, which looks for the end of the job in each
# Leaves a child behind on command.
PARENT = 'dir=$1; shift; "$@" & until test -e "$dir/leave"; do sleep 0.05; done'


def touch(*names):
    with open(os.path.join(*names), "wb"):
        pass


def begun(db):
    with contextlib.suppress(sqlite3.OperationalError):  # being made
        return os.path.exists(db.path) and db.run()


def switches(pid):
    """How often a process has waited."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("voluntary_ctxt"))


def some_ticks(watch):
    enough = switches(watch.pid) + TICKS
    wait_until(lambda: watch.running() and switches(watch.pid) >= enough, "the loop", BOUND_S)


@part.case("--pid with an interval of an hour: ends with the last descendant, not before")
def pid(case):
    steady, db = Steady(case), Db(case.path("run.db"))
    parent = case.adopt(subprocess.Popen(["sh", "-c", PARENT, "sh", case.dir, *steady.command]))
    wait_until(steady.started, "the job", BOUND_S)
    watch = Watch(case, ["--level", "full", "--interval", "1h", "--db", db.path, "--pid",
                         parent.pid])
    wait_until(lambda: watch.running() and begun(db), "the run", BOUND_S)
    some_ticks(watch)
    touch(case.dir, "leave")
    expect(parent.wait(BOUND_S) == 0, "the parent's status")
    some_ticks(watch)
    steady.stop()
    done = watch.wait()
    expect(done.status == 0, str(done))
    expect(db.run()["state"] == "complete", f"{db.run()}")
    expect(db.job()["processes"] >= 2 and db.job()["alive"] == 0, f"{db.job()}")


@part.case("--pid and --duration: ends then, the job goes on")
def pid_for_a_while(case):
    steady, db = Steady(case), Db(case.path("run.db"))
    job = case.adopt(subprocess.Popen(steady.command))
    wait_until(steady.started, "the job", BOUND_S)
    done = Watch(case, ["--duration", "300ms", "--db", db.path, "--pid", job.pid]).wait()
    expect(done.status == 0 and job.poll() is None, str(done))
    expect(db.run()["state"] == "complete" and db.job()["alive"] == 1, f"{db.run()} {db.job()}")


@part.case("--duration, CMD goes on: no program, map or link stays in the kernel")
def duration(case):
    steady, db = Steady(case), Db(case.path("run.db"))
    watch = Watch(case, ["--level", "full", "--duration", "300ms", "--db", db.path],
                  steady.command)
    steady.wait_started(watch)
    held = wait_until(lambda: watch.running() and bpf.held_by(watch.pid), "the probes", BOUND_S)
    wait_until(lambda: watch.running() and db.run()["state"] == "complete", "the end", BOUND_S)
    wait_until(lambda: watch.running() and not bpf.held_by(watch.pid), "an empty kernel", BOUND_S)
    wait_until(lambda: not any(bpf.exists(*entry) for entry in held), "the objects' end", BOUND_S)
    steady.stop()
    done = watch.wait()
    expect(done.status == 7 and steady.done()["calls"] > 0, str(done))


if __name__ == "__main__":
    part.main()
