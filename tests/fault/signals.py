#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Signals to cachemon, to CMD and to both: who receives them, how cachemon ends, and that the
run is complete."""

import contextlib
import fcntl
import os
import signal
import sys
import termios

sys.dont_write_bytecode = True

from faultlib.part import Part, expect, wait_until  # noqa: E402
from faultlib.watch import BOUND_S, Db, Steady, Watch, run, wait_intervals  # noqa: E402

part = Part("signals", __doc__, ("exit statuses", 256, 8))

# Cases in which conventions conflict: tried first.
EDGES = [0, 1, 2, 125, 126, 127, 137, 255, 77, 124, 128, 129, 130, 143, 254]

# Records each signal that it receives, and continues until a file 'stop' exists.
PATIENT = """
trap 'echo INT >>log' INT; trap 'echo TERM >>log' TERM; trap 'echo HUP >>log' HUP
echo $$ >started.new && mv started.new started
while ! test -e stop; do sleep 0.05; done
exit 7
"""
# Like an interactive shell: leads the session, is not ended by Ctrl-C, waits for its command.
SHELL = """
trap : INT
"$@"
echo $? >status.new && mv status.new status
while ! test -e release; do sleep 0.05; done
"""


def complete(db, exit_status):
    """A run that ended normally and has CMD's status."""
    db.sound()
    row = db.run()
    expect(row["state"] == "complete", f"the run is {row['state']}")
    expect(row["exit_status"] == exit_status, f"exit_status {row['exit_status']} in the database")
    expect(row["duration_ns"] > 0, "the run has no length")
    journals = [db.path + end for end in ("-wal", "-shm") if os.path.exists(db.path + end)]
    expect(not journals, f"left over: {journals}")


def parent(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rsplit(")", 1)[1].split()[1])


class Patient:
    """A CMD that records signals."""

    def __init__(self, case, name="patient"):
        self.dir = case.path(name)
        os.mkdir(self.dir)
        self.command = ["sh", "-c", f"cd {self.dir} && {PATIENT}"]
        case.defer(self.stop)

    def read(self, name):
        try:
            with open(os.path.join(self.dir, name), encoding="ascii") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def wait_started(self, watch):
        return int(wait_until(lambda: watch.running() and self.read("started"), "the start of CMD",
                              BOUND_S))

    def log(self):
        return self.read("log").split()

    def wait_log(self, *signals):
        wait_until(lambda: self.log() == list(signals), f"CMD to get {signals}, not {self.log()}",
                   BOUND_S)

    def stop(self):
        with open(os.path.join(self.dir, "stop"), "wb"):
            pass


class Terminal:
    """cachemon in the foreground of its own terminal, below a shell."""

    def __init__(self, case, options, command):
        self.case = case
        self.master, slave = os.openpty()
        case.defer(self.hang_up)
        self.release = case.path("release")
        case.defer(self.let_go)

        def lead():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.watch = Watch(case, options, command, prefix=["sh", "-c", SHELL, "sh"],
                           start_new_session=False, preexec_fn=lead, cwd=case.dir,
                           env={"TERM": "xterm"})
        os.close(slave)

    def let_go(self):
        with open(self.release, "wb"):
            pass

    def ctrl_c(self):
        os.write(self.master, b"\x03")

    def hang_up(self):
        with contextlib.suppress(OSError):
            os.close(self.master)

    def status(self):
        """Of cachemon."""
        def read():
            if os.path.exists(self.case.path("status")):
                with open(self.case.path("status"), encoding="ascii") as f:
                    return f.read().strip()
            return None
        return int(wait_until(read, "the end of cachemon", BOUND_S))


def begin(case, command, *options):
    db = Db(case.path("run.db"))
    return db, Watch(case, ["--db", db.path, "--interval", "100ms", *options], command)


@part.case("every exit status of CMD is cachemon's")
def statuses(case):
    every = EDGES + [status for status in range(256) if status not in EDGES]
    for status in every[:case.options.count]:
        db = Db(case.path(f"{status}.db"))
        done = run([case.cachemon, "watch", "--db", db.path, "--", "sh", "-c", f"exit {status}"])
        expect(done.status == status, f"exit {status}: {done}")
        complete(db, status)


@part.case("CMD that ends by a signal: 128 + its number")
def by_signal(case):
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGUSR1,
                   64):
        db = Db(case.path(f"{int(number)}.db"))
        done = run([case.cachemon, "watch", "--db", db.path, "--", "sh", "-c",
                    f"ulimit -c 0; kill -{int(number)} $$"])
        expect(done.status == 128 + number, f"signal {int(number)}: {done}")
        complete(db, 128 + number)


@part.case("kill -9 of CMD while it reads: status 137, the run is complete")
def kill_command(case):
    steady = Steady(case)
    db, watch = begin(case, steady.command)
    pid = steady.wait_started(watch)
    wait_intervals(watch, db, 2)
    os.kill(pid, signal.SIGKILL)
    done = watch.wait()
    expect(done.status == 137, str(done))
    expect(not watch.complaints(), str(done))
    complete(db, 137)


@part.case("SIGTERM to cachemon reaches CMD once; the end is CMD's")
def forward(case):
    patient = Patient(case)
    db, watch = begin(case, patient.command)
    patient.wait_started(watch)
    got = []
    for number, name in ((signal.SIGTERM, "TERM"), (signal.SIGHUP, "HUP"), (signal.SIGINT, "INT")):
        os.kill(watch.pid, number)
        got.append(name)
        patient.wait_log(*got)
    wait_intervals(watch, db, 2)
    expect(patient.log() == got, f"CMD got {patient.log()}")
    patient.stop()
    expect(watch.wait().status == 7, str(watch.wait()))
    complete(db, 7)


@part.case("SIGTERM to cachemon ends a CMD that does not catch it: 143")
def forward_default(case):
    steady = Steady(case)
    db, watch = begin(case, steady.command)
    steady.wait_started(watch)
    os.kill(watch.pid, signal.SIGTERM)
    expect(watch.wait().status == 143, str(watch.wait()))
    complete(db, 143)


@part.case("a signal before CMD runs: CMD never does, or ends by it")
def early(case):
    ends = {}
    for step in range(8):
        steady = Steady(case, name=f"early{step}")
        db = Db(case.path(f"early{step}.db"))
        watch = Watch(case, ["--db", db.path], steady.command, name=f"early{step}.watch")
        with contextlib.suppress(Exception):
            wait_until(steady.started, "", 0.2 * step)
        os.kill(watch.pid, signal.SIGTERM)
        status = watch.wait().status
        expect(status in (143, -15), f"{watch.wait()}")
        expect(not steady.done(), "CMD ended by itself")
        ends[status] = ends.get(status, 0) + 1
    return f"{ends.get(-15, 0)} ended before signals were taken over, {ends.get(143, 0)} after"


@part.case("Ctrl-C: CMD gets it and ends, cachemon ends cleanly with 130")
def ctrl_c(case):
    steady = Steady(case)
    db = Db(case.path("run.db"))
    terminal = Terminal(case, ["--db", db.path, "--interval", "100ms"], steady.command)
    steady.wait_started(terminal.watch)
    wait_intervals(terminal.watch, db, 2)
    terminal.ctrl_c()
    expect(terminal.status() == 130, f"{terminal.status()}: {terminal.watch.err()!r}")
    complete(db, 130)


@part.case("Ctrl-C: a CMD that catches it goes on, and so does cachemon")
def ctrl_c_caught(case):
    patient = Patient(case)
    db = Db(case.path("run.db"))
    terminal = Terminal(case, ["--db", db.path, "--interval", "100ms"], patient.command)
    patient.wait_started(terminal.watch)
    terminal.ctrl_c()
    patient.wait_log("INT")
    before = len(db.intervals())
    wait_intervals(terminal.watch, db, before + 3)
    patient.stop()
    expect(terminal.status() == 7, f"{terminal.status()}: {terminal.watch.err()!r}")
    complete(db, 7)


def is_pending(pid, number):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        masks = dict(line.split(":", 1) for line in f)
    return int(masks["ShdPnd"], 16) >> (number - 1) & 1


@part.case("Ctrl-C twice: cachemon ends at once with a complete run, CMD goes on")
def ctrl_c_twice(case):
    patient = Patient(case)
    db = Db(case.path("run.db"))
    terminal = Terminal(case, ["--db", db.path, "--interval", "100ms"], patient.command)
    pid = patient.wait_started(terminal.watch)
    cachemon = parent(pid)
    wait_intervals(terminal.watch, db, 2)
    terminal.ctrl_c()
    patient.wait_log("INT")
    # Two equal pending signals are delivered once.
    wait_until(lambda: not is_pending(cachemon, signal.SIGINT), "cachemon takes the first", BOUND_S)
    terminal.ctrl_c()
    expect(terminal.status() == 130, f"{terminal.status()}: {terminal.watch.err()!r}")
    complete(db, None)
    os.kill(pid, 0)
    patient.wait_log("INT", "INT")
    patient.stop()
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the end of CMD", BOUND_S)


@part.case("the terminal hangs up: the run is complete")
def hang_up(case):
    patient = Patient(case)
    db = Db(case.path("run.db"))
    terminal = Terminal(case, ["--db", db.path, "--interval", "100ms"], patient.command)
    cachemon = parent(patient.wait_started(terminal.watch))
    wait_intervals(terminal.watch, db, 2)
    terminal.hang_up()
    patient.wait_log("HUP")
    patient.stop()
    # By its process: a reader of the database at that moment would keep the log.
    wait_until(lambda: not os.path.exists(f"/proc/{cachemon}"), "the end of cachemon", BOUND_S)
    complete(db, 7)


@part.case("SIGINT and SIGTERM end a run without CMD: status 0, complete")
def no_command(case):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        db = Db(case.path(f"{int(number)}.db"))
        watch = Watch(case, ["--db", db.path, "--interval", "100ms", "--pid", os.getpid()],
                      name=f"{int(number)}.watch")
        wait_intervals(watch, db, 1)
        os.kill(watch.pid, number)
        expect(watch.wait().status == 0, str(watch.wait()))
        complete(db, None)


@part.case("a reader of cachemon's messages that goes away: CMD and the run go on")
def broken_pipe(case):
    steady = Steady(case)
    db = Db(case.path("run.db"))
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = Watch(case, ["--db", db.path, "--interval", "100ms"], steady.command,
                 prefix=["sh", "-c", f'exec 2>&{write_end} "$@"', "sh"], pass_fds=[write_end])
    os.close(write_end)
    steady.wait_started(done)
    wait_intervals(done, db, 1)
    steady.stop()
    expect(done.wait().status == 7, str(done.wait()))
    complete(db, 7)


if __name__ == "__main__":
    part.main()
