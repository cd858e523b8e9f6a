# SPDX-License-Identifier: BSD-2-Clause
"""Running programs: the workload, cachemon around it, and cachemon's report."""

import contextlib
import itertools
import json
import os
import signal
import subprocess

EXIT_LACKING = 77


class Limits:
    timeout_s = 180


class Failed(Exception):
    """A tool failed; the text names it and the reason."""


class Lacking(Exception):
    """This machine or its kernel lacks a feature that the cell needs; the text names it."""


def check_lacking(done):
    for line in done.stderr.splitlines() if done.returncode == EXIT_LACKING else ():
        if line.startswith("lacking: "):
            raise Lacking(line.removeprefix("lacking: "))


def execute(argv):
    """Runs argv to its end; ends everything it started if this program must stop."""
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        out, errors = process.communicate(timeout=Limits.timeout_s)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return subprocess.CompletedProcess(argv, process.returncode, out, errors)


class Tools:
    def __init__(self, way, work, level="full"):
        """way: of truthlib/ways.py. level: "default" is without options."""
        self.way = way
        self.level = [] if level == "default" else ["--level", level]
        self.cachemon = way.cachemon
        self.wl = way.wl
        self.work = work  # directory outside the filesystems under test
        self.serial = itertools.count(1)

    def fresh(self, suffix):
        return os.path.join(self.work, f"{next(self.serial)}{suffix}")

    def run_wl(self, *argv):
        done = execute(self.way.argv(self.wl, *argv))
        check_lacking(done)
        if done.returncode:
            raise Failed(f"wl {' '.join(argv)}: {done.stderr.strip()}")
        return done.stdout

    def scan(self, *paths):
        """Cached pages of each file."""
        return [int(n) for n in self.run_wl("scan", *paths).split()]

    def watch_argv(self, db, command, job="truth"):
        return self.way.argv(*self.cachemon, "watch", *self.level, "--advice", "effects",
                             "--db", db, "--job", job, "--", *command)

    def watch(self, command):
        """Runs command under cachemon; returns the database. Without cachemon it only runs it."""
        db = self.fresh(".db")
        argv = self.watch_argv(db, command) if self.cachemon else self.way.argv(*command)
        try:
            done = execute(argv)
        except subprocess.TimeoutExpired as e:
            raise Failed(f"{' '.join(command)}: not done after {Limits.timeout_s} s") from e
        check_lacking(done)
        if done.returncode:
            raise Failed(f"watch exits {done.returncode}: {tail(done.stderr)}")
        return db

    def report(self, db, job="truth"):
        """(whole report, the watched job)."""
        done = execute(self.way.argv(*self.cachemon, "report", "--db", db, "--run", "last",
                                     "--format", "json", "--files", "5000"))
        if done.returncode:
            raise Failed(f"report exits {done.returncode}: {tail(done.stderr)}")
        report = json.loads(done.stdout)
        if report.get("schema") != 1:
            raise Failed(f"report: schema {report.get('schema')}, not 1")
        for entry in report["jobs"]:
            if entry["name"] == job and not entry.get("other"):
                return report, entry
        raise Failed(f"report: no job {job!r} among {[j['name'] for j in report['jobs']]}")


def tail(text, lines=6):
    return " | ".join(text.strip().splitlines()[-lines:]) or "(silent)"


def file_totals(job, dev, ino):
    for entry in job["files"]:
        if entry["path"] is None and entry.get("ino") is None:
            continue
        if entry["dev"] == dev and entry["ino"] == ino:
            return entry["totals"]
    return None


def remove(*paths):
    for path in paths:
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(path + suffix):
                os.unlink(path + suffix)
