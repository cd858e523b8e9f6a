#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The output for the recorded database in examples/recorded, compared with the pages next to it:
a changed word or figure fails where it is made. CACHEMON_UPDATE=1 writes them again; look at the
difference."""

import contextlib
import importlib.machinery
import importlib.util
import json
import lzma
import os
import re
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import notes  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "examples", "recorded")
MADE = {
    "report.html": ("report", "--run", "1"),
    "report.md": ("report", "--run", "1"),
    "report.txt": ("report", "--run", "1"),
    "screen.txt": ("report", "--run", "1", "--brief"),
    "compare.html": ("compare", "1", "2"),
    "compare.md": ("compare", "1", "2"),
    "runs.html": ("runs",),
    "runs.md": ("runs",),
}

part = Part(__doc__)


class World:
    def __init__(self, args, work, stack):
        self.cachemon = args.cachemon
        self.work = work
        self.db = os.path.join(work, "train.db")
        with lzma.open(os.path.join(HERE, "train.db.xz")) as packed, open(self.db, "wb") as out:
            out.write(packed.read())

    def run(self, *command):
        done = subprocess.run([self.cachemon, *command, "--db", "train.db"], cwd=self.work, capture_output=True,
                              env={**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8", "HOME": self.work,
                                   "XDG_CONFIG_HOME": self.work}, check=False)
        equal(f"status of {command}, which said {done.stderr!r}", done.returncode, 0)
        return done.stdout

    def made(self, name):
        self.run(*MADE[name], "-o", name)
        with open(os.path.join(self.work, name), "rb") as file:
            return file.read()


def first_difference(got, want):
    pairs = zip(got.split(b"\n"), want.split(b"\n"))
    return next((f"line {i}: {a!r}, not {b!r}" for i, (a, b) in enumerate(pairs, 1) if a != b), "its length")


@part.case
def pages_are_as_kept(world, _stack):
    for name in MADE:
        got, path = world.made(name), os.path.join(HERE, name)
        if os.environ.get("CACHEMON_UPDATE") == "1":
            with open(path, "wb") as file:
                file.write(got)
        with open(path, "rb") as file:
            want = file.read()
        check(got == want, f"{name} differs: {first_difference(got, want) if got != want else ''}")


@part.case
def a_report_is_small(world, _stack):
    """400 KB, the limit for a usual run."""
    check(len(world.made("report.html")) <= 400_000, "the report is larger than 400 KB")


@part.case
def what_was_done_is_found(world, _stack):
    """Run 1 had a memory limit of 192 MiB for 529 MiB of files, run 2 one of 1 GiB, and took less than
    half as long; the list of runs has a grade and the first finding of each."""
    first, second = (world.run("advise", "--run", n).decode() for n in "12")
    check("memcg-limit-too-low" in first, "the limit of run 1 was not found")
    check("memcg-limit-too-low" not in second, "run 2 had no limit, and one was found")
    with contextlib.closing(sqlite3.connect(world.db)) as db:
        took = [ns for ns, in db.execute("SELECT duration_ns FROM run ORDER BY id")]
    check(2 * took[1] <= took[0], f"the fix gains too little to be shown: {took}")
    said = " ".join(world.run("compare", "1", "2").decode().split())
    check(" Improved: " in said and f"faster by {100 - 100 * took[1] / took[0]:.0f} %" in said, f"the verdict is: {said[:400]}")
    before, after = json.loads(world.run("runs", "--json"))["runs"]
    if before["id"] != 1:
        before, after = after, before
    equal("first finding of run 1", before["jobs"][0]["first_finding"]["id"], "memcg-limit-too-low")
    check(before["jobs"][0]["score"] < after["jobs"][0]["score"] and after["jobs"][0]["first_finding"], "no better grade")


@part.case
def commands_are_of_the_run(world, _stack):
    """The shell, Python and C of every finding of a run, as they are filled in, parse; no word is
    left to replace."""
    neutral, seen = {word for word in notes.placeholders().values() if re.fullmatch(r"[A-Z_]+(\.service)?", word)}, 0
    check(len(neutral) >= 5, f"the words of explain are not known: {neutral}")
    parse = {"shell": notes.checks_shell, "python": notes.compiles_python, "c": notes.compiles_c}
    for run in ("1", "2"):
        for job in json.loads(world.run("advise", "--run", run, "--format", "json"))["jobs"]:
            for snippet in (s for f in job["findings"] for s in f["action"]["snippets"]):
                code = snippet["code"]
                equal(f"run {run}: left to replace in {code!r}", re.findall(r"%[A-Z_0-9]+%", code), [])
                if snippet["language"] == "shell":
                    check(not neutral & set(re.findall(r"[\w.]+", code)), f"run {run}: a name of no run: {code}")
                status, said = parse[snippet["language"]](code, world.work)
                equal(f"run {run}: {code!r}: {said}", status, 0)
                seen += 1
    check(seen > 20, f"{seen} snippets: hardly anything is tested")


@part.case
def predictions_begin_with_a_verdict(world, _stack):
    """One sentence with the figures of the best setting, then only settings that differ from the
    one in force."""
    job, = (job for job in json.loads(world.run("whatif", "readahead", "--run", "2", "--json"))["jobs"]
            if job["name"] == "train")
    text = world.run("whatif", "readahead", "--run", "2").decode()
    actual, = (s for s in job["settings"] if s["actual"])
    best, = (s for s in job["settings"] if s["best"])
    fewer = 100 - 100 * best["waits"] / actual["waits"]
    said = " ".join(text.split("\n\n")[2].split())
    advice = {"sequential": "POSIX_FADV_SEQUENTIAL", "random": "POSIX_FADV_RANDOM"}
    name = advice.get(best["setting"]) or f"the setting {best['setting']}"
    check(said.startswith(f"With {name}, read calls would wait {best['waits']:,} "
                          f"times instead of {actual['waits']:,} ({fewer:.0f} % fewer)"), f"the verdict is: {said}")
    alike = [s["setting"] for s in job["settings"] if not s["actual"] and not s["best"] and
             s["waits"] == actual["waits"] and s["read_pages"] == actual["read_pages"]]
    table = text.split("Read files: ")[1].split("Mapped files: ")[0]
    check(max(map(len, text.split("\n"))) <= 80 and "waits:" not in table, "the table does not fit 80 columns")
    check(alike, "no setting is the same as what was in force: nothing is tested")
    equal("settings in the table", {line.split()[0] for line in table.split("\n")[2:] if " MiB" in line},
          {"as"} | {s["setting"] for s in job["settings"] if not s["actual"] and s["setting"] not in alike})


@part.case
def no_cache_size_is_enough(world, _stack):
    """First reads miss at every size: an answer, also for the run in which the curve is uncertain."""
    for run, uncertain in (("1", True), ("2", False)):
        job, = (job for job in json.loads(world.run("whatif", "cache", "--run", run, "--json"))["jobs"]
                if job["name"] == "train")
        equal(f"run {run}: the curve is uncertain", job["curve"]["check"]["uncertain"], uncertain)
        most = 100 * max(p["hit_ratio"] for p in job["curve"]["points"])
        said = " ".join(world.run("whatif", "cache", "--run", run).decode().split("\n\n")[2].split())
        check(said.startswith("No cache size gives a hit ratio of 90 %: ") and f"so {most:.1f} % is the most." in said,
              f"run {run}: {most:.1f} %: {said}")
        equal(f"run {run}: smaller sizes", "What smaller sizes give is uncertain." in said, uncertain)


def recorder():
    """examples/recorded/record as a module."""
    loader = importlib.machinery.SourceFileLoader("record", os.path.join(HERE, "record"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("record", loader))
    loader.exec_module(module)
    return module


def all_text(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        tables = [name.decode() for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        rows = (row for table in tables for row in db.execute(f'SELECT * FROM "{table}"'))
        return b"\n".join(value for row in rows for value in row if isinstance(value, bytes))


@part.case
def no_directory_of_a_build_is_recorded(world, _stack):
    """The recorder runs a copy of the program. The program itself would be in its database, which
    shows that this test sees it."""
    record = recorder()
    if os.geteuid():
        raise Skipped("watch needs root")
    if os.path.exists(record.INSTALLED):
        raise Skipped(f"{record.INSTALLED} exists")
    build = os.path.dirname(os.path.realpath(world.cachemon)).encode()

    def watched(cachemon, name):
        db = os.path.join(world.work, name)
        subprocess.run([cachemon, "watch", "--level", "full", "--db", db, "--", "true"], check=True, capture_output=True)
        return all_text(db)
    check(build in watched(world.cachemon, "build.db"), "the program is not in the database at all")
    with record.installed(world.cachemon) as copy:
        text = watched(copy, "installed.db")
    check(record.INSTALLED.encode() in text, "the copy is not in the database")
    check(build not in text and ROOT.encode() not in text, f"{ROOT} is in the database")
    check(not os.path.exists(record.INSTALLED), "the copy is still there")
    kept = b"".join([all_text(world.db), *(world.made(name) for name in MADE)])
    check(build not in kept and ROOT.encode() not in kept, f"{ROOT} is in what was recorded")


if __name__ == "__main__":
    sys.exit(part.main(World))
