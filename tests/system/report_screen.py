#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`cachemon report` on terminals: one screen that leaves the prompt in view, everything through
the user's pager, and the complete text otherwise."""

import glob
import html
import lzma
import os
import re
import shutil
import sqlite3
import subprocess
import sys

from syslib.part import Part, check, equal
from syslib.screen import Screen
from syslib.terminal import Terminal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Columns, rows, run, expected text, unexpected text.
SIZES = ((80, 24, 2, ["Fix first:", "1. ", "dontneed-harmful"], ["memcg-limit-too-low"]),
         (80, 24, 1, ["Fix first:", "1. ", "Gain: ", "cachemon explain ", "with 2 more fixes"], ["\n2. "]),
         (80, 26, 1, ["Fix first:", "2. ", "with 1 more fix"], ["\n3. "]),
         (120, 40, 1, ["Fix first:", "3. ", "Gain: ", "cachemon explain "], ["more fix"]))
LINES_MAX = 40
LEAST = 20
PAGER = """#!/bin/sh
printf 'LESS=%s\\n' "$LESS"
wc -c
"""

part = Part(__doc__)


class World:
    def __init__(self, args, work, stack):
        self.cachemon = args.cachemon
        self.work = work
        self.db = os.path.join(work, "train.db")
        with lzma.open(os.path.join(ROOT, "examples", "recorded", "train.db.xz")) as packed, \
                open(self.db, "wb") as out:
            out.write(packed.read())
        self.pager = os.path.join(work, "pager")
        with open(self.pager, "w", encoding="ascii") as f:
            f.write(PAGER)
        os.chmod(self.pager, 0o755)
        self.env = {k: v for k, v in os.environ.items() if k not in ("LESS", "PAGER", "LV")}

    def piped(self, *words):
        done = subprocess.run([self.cachemon, "report", self.db, *words], capture_output=True, check=False, env=self.env)
        equal("status", done.returncode, 0)
        equal("stderr", done.stderr, b"")
        return done.stdout.decode()

    def shown(self, stack, *words, verb=None, rows=24, **env):
        """The output on a terminal, without the progress line."""
        screen = Screen(stack, [self.cachemon, *(verb or ["report", self.db]), *words], rows=rows, env={**self.env, **env})
        equal("status", screen.end(), 0)
        return re.sub(r"\r\x1b\[K[^\r\n]*(?=\r\x1b\[K)|\r\x1b\[K", "", screen.said.decode()).replace("\r\n", "\n")


def waited(ns):
    """Three digits, or whole seconds after a minute."""
    seconds = ns / 1e9
    return f"{seconds // 60:.0f}m {seconds % 60:02.0f}s" if seconds >= 60 else \
        f"{seconds:.{2 if seconds < 10 else 1}f} s"


@part.case
def one_screen(world, stack):
    """All of it is in view, with the prompt after it; the figures are those of the database."""
    for columns, rows, run, answer, hidden in SIZES:
        with sqlite3.connect(world.db) as db:
            host, = db.execute("SELECT host FROM run WHERE id = ?", (run,)).fetchone()
            name, selector, stall_ns = db.execute(
                "SELECT name, selector, stall_ns FROM job WHERE run_id = ? AND slot = 1", (run,)).fetchone()
        terminal = Terminal(stack, world.work, columns, rows)
        terminal.type("clear; " + world.cachemon + f" report train.db --run {run}")
        seen = terminal.wait(lambda screen: "-o report.html" in screen and screen.rstrip().endswith("\n$"),
                             "the prompt after it")
        check(seen.startswith(f"cachemon: run {run}, job {name}, "), f"{columns}x{rows}: the top is gone:\n{seen}")
        for words in (selector.removeprefix("command: "), f"on {host}", "memory", "Grade ", "grades   overall ",
                      f"waiting  {waited(stall_ns)}", "without it", *answer,
                      "--full", "-o report.html"):
            check(words in seen, f"{columns}x{rows}: no '{words}' in\n{seen}")
        for words in hidden:
            check(words not in seen, f"{columns}x{rows}: '{words}' in\n{seen}")
        for finding in re.findall(r"^\d\. .*\[([a-z-]+)\]$", seen, re.M):
            explained = subprocess.run([world.cachemon, "explain", finding], capture_output=True, check=False)
            equal(f"explain {finding}", explained.returncode, 0)


def over_budget(world):
    """The recorded run as if it had cost more than it was allowed to."""
    path = os.path.join(world.work, "over.db")
    shutil.copy(world.db, path)
    with sqlite3.connect(path) as db:
        # As watch would, which only root can run.
        version, = db.execute("PRAGMA user_version").fetchone()
        for migration in sorted(glob.glob(os.path.join(ROOT, "sql", "[0-9]*.sql")))[version:]:
            with open(migration, encoding="utf-8") as f:
                db.executescript(f.read())
            version += 1
        db.execute(f"PRAGMA user_version = {version}")
        db.execute("UPDATE run SET cost_budget = 0.01, cost_share = 0.2, cost_budget_kept = 0, "
                   "cost_pages_ns = 9000000000")


@part.case
def title_of_a_run_over_its_budget(world, stack):
    """The title is in view above the prompt, with the first fix. Why it cost more gives way, and comes
    back on a larger screen. tests/unit/test_report_screen.c has every height."""
    over_budget(world)
    terminal = Terminal(stack, world.work, 80, LEAST)
    last = 0
    for rows in (LEAST, 22, 24, 60):
        terminal.resize(80, rows)
        # A prompt of its own, unlike that of the screen before.
        terminal.type(f"PS1='{rows}$ '; clear; {world.cachemon} report over.db --run 1")
        seen = terminal.wait(lambda screen, rows=rows: screen.rstrip().endswith(f"\n{rows}$"), "the prompt", 120)
        check(seen.startswith("cachemon: run 1, job "), f"{rows} lines: the title is gone:\n{seen}")
        words = " ".join(seen.split())
        for text in ("Grade E", "Measuring cost 20.0 % of the job's CPU time, over the budget of 1.0 %.",
                     "waiting ", "Fix first: 1. ", "Gain: "):
            check(text in words, f"{rows} lines: no '{text}':\n{seen}")
        lines = seen.rstrip().count("\n")
        check(lines >= last, f"{rows} lines: less than on a smaller terminal:\n{seen}")
        last = lines
    check("The largest part is for pages" in words and "\n3. " in seen and "-o report.html" in seen, seen)


@part.case
def one_screen_in_ascii(world, stack):
    """The fixes that do not fit are left out there too."""
    terminal = Terminal(stack, world.work, 80, 24, LC_ALL="C")
    terminal.type("clear; " + world.cachemon + " report train.db --run 1")
    seen = terminal.wait(lambda screen: "-o report.html" in screen and screen.rstrip().endswith("\n$"), "the prompt after it")
    check(seen.startswith("cachemon: run 1, ") and "\n1. " in seen and "\n2. " not in seen, seen)
    check("with 2 more fixes" in seen and seen.isascii(), seen)


@part.case
def no_more_than_a_screen(world, stack):
    text = world.shown(stack, rows=LINES_MAX)
    check(text.count("\n") <= LINES_MAX, f"{text.count(chr(10))} lines")
    check(max(map(len, text.split("\n"))) <= 80 + len(world.db), "a line is too wide")
    equal("the same in a pipe", world.piped("--brief"), text)


@part.case
def whole_where_nobody_looks(world, stack):
    """A pipe, a file, another format."""
    whole = world.piped()
    check(whole.count("\n") > 200 and "\nMeasurement\n-----------\n" in whole, "a pipe gets a part of it")
    equal("--full in a pipe", world.piped("--full"), whole)
    out = os.path.join(world.work, "report.txt")
    equal("on a terminal, to a file", world.shown(stack, "-o", out), "")
    with open(out, encoding="utf-8") as f:
        equal("file", f.read(), whole)
    equal("JSON on a terminal", world.shown(stack, "--json"), world.piped("--json"))


@part.case
def paged_as_on_the_terminal(world, stack):
    """The pager gets text in the width and the characters of its terminal. Each verb with a long
    text uses it, and other formats do not."""
    for verb in (["report", world.db, "--full"], ["whatif", "cache", "--db", world.db],
                 ["compare", "1", "2", "--any", "--db", world.db], ["explain", "memcg-limit-too-low"]):
        text = world.shown(stack, verb=verb, PAGER="tr A a", LC_ALL="C", COLUMNS="60")
        check(text.isascii(), f"{verb[0]}: not ASCII")
        check("A" not in text, f"{verb[0]}: not through the pager")
        # Not maps and commands, which are never cut.
        wide = [line for line in text.split("\n") if len(line) > 60 and not re.search(r"\S{24}|  ", line)]
        check(len(wide) < 5, f"{verb[0]}: lines of more than 60 columns:\n" + "\n".join(wide))
        check(any("A" in line for line in world.shown(stack, verb=verb, PAGER="cat")), f"{verb[0]}: no A to look for")
    equal("JSON is not paged", world.shown(stack, verb=["whatif", "cache", "--json", "--db", world.db], PAGER="false"),
          world.shown(stack, verb=["whatif", "cache", "--json", "--db", world.db], PAGER="cat"))


@part.case
def pager(world, stack):
    """As in git: $PAGER run by a shell, LESS=FRX unless set; no pager if it is empty or cat, or
    the terminal is dumb."""
    whole = world.piped("--full")
    size = len(whole.encode())
    equal("PAGER", world.shown(stack, "--full", PAGER=world.pager).split(), ["LESS=FRX", str(size)])
    equal("its words", world.shown(stack, "--full", PAGER=f"LESS=S {world.pager} | head -1"), "LESS=S\n")
    equal("LESS of the user", world.shown(stack, "--full", PAGER=world.pager, LESS="-M").split()[0], "LESS=-M")
    for name, words, env in (("cat", (), {"PAGER": "cat"}), ("empty", (), {"PAGER": ""}),
                             ("--no-pager", ("--no-pager",), {"PAGER": world.pager}),
                             ("not there", (), {"PAGER": "/no/such/pager 2>/dev/null"})):
        equal(name, world.shown(stack, "--full", *words, **env), whole)
    equal("left early", world.shown(stack, "--full", PAGER="head -1"), whole.split("\n")[0] + "\n")


@part.case
def pages_keep_the_directories_of_the_database(world, stack):
    """A page may be sent to others: its commands have the name of the database, and nothing of the
    default one. Other formats have the path as it was given."""
    def commands(verb, ending, *words, **env):
        path = os.path.join(world.work, f"out.{ending}")
        subprocess.run([world.cachemon, *verb, "-o", path, *words], check=True, capture_output=True,
                       env={**world.env, **env})
        with open(path, encoding="utf-8") as f:
            # A shell line that goes on after a backslash is one command.
            text = re.sub(r" \\\n +", " ", html.unescape(f.read()).replace("<wbr>", ""))
        return text, re.findall(r"cachemon [a-z]+[^\n<]* --(?:run|reports) [^\n<]*", text)

    del stack
    for verb in (["report", "--run", "1"], ["runs"]):
        for ending in ("html", "md"):
            text, found = commands(verb, ending, "--db", world.db)
            check(found and all(" --db train.db " in command for command in found), f"{verb}: {found}")
            check(world.work not in text, f"{verb}: {world.work} in {ending}")
            text, found = commands(verb, ending, CACHEMON_DB=world.db)
            check(found and not any("--db" in command for command in found), f"{verb}, default: {found}")
            check(world.work not in text, f"{verb}, default: {world.work} in {ending}")
    for ending in ("txt", "json"):
        check(f"--db {world.db} --run 1" in commands(["report", "--run", "1"], ending, "--db", world.db)[0], ending)


@part.case
def less_is_the_default(world, stack):
    terminal = Terminal(stack, world.work, 80, 24)
    terminal.type("unset PAGER LESS; clear; " + world.cachemon + " report train.db --full; echo status $?")
    seen = terminal.wait(lambda screen: screen.startswith("cachemon report: ") and screen.rstrip().endswith(":"),
                         "the first page of less")
    check("status 0" not in seen, "no pager")
    terminal.keys("q")
    terminal.wait_for("status 0")


if __name__ == "__main__":
    sys.exit(part.main(World))
