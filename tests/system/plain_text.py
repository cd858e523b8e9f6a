#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Text on a terminal: only ASCII if the locale is not UTF-8, lines as wide as COLUMNS or the
terminal, notes without markup."""

import contextlib
import lzma
import os
import re
import sqlite3
import subprocess
import sys

from syslib.part import Part, check, equal
from syslib.screen import Screen

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLEAR = b"\r\x1b[K"
# Verbs without privileges that read a database, and those that do not.
READERS = (["report"], ["advise"], ["runs"], ["compare", "--any", "last-1", "last"], ["whatif", "cache"], ["whatif", "readahead"])
OTHERS = (["explain"], ["explain", "prefetch-waste"], ["doctor"], ["--help"], ["report", "--help"])
NAME = "données/日"  # all names of the recorded run are ASCII

part = Part(__doc__)


class World:
    def __init__(self, args, work, stack):
        self.cachemon = args.cachemon
        self.work = work
        self.db = os.path.join(work, "train.db")
        with lzma.open(os.path.join(ROOT, "examples", "recorded", "train.db.xz")) as packed, open(self.db, "wb") as out:
            out.write(packed.read())
        with contextlib.closing(sqlite3.connect(self.db)) as db, db:
            db.execute(f"UPDATE file SET path = CAST('/{NAME}' || id AS BLOB)")

    def environment(self, **more):
        left = {k: v for k, v in os.environ.items() if not k.startswith("LC_") and k not in ("LANG", "COLUMNS")}
        return {**left, "HOME": self.work, "TZ": "UTC", "PAGER": "cat", **more}

    def argv(self, words):
        reads = words[0] in {reader[0] for reader in READERS} and "--help" not in words
        return [self.cachemon, *words, *(["--db", self.db] if reads else [])]

    def shown(self, words, width=80, **env):
        """The output on a terminal, without lines that were erased."""
        with contextlib.ExitStack() as stack:
            # Variables that must be absent are absent in a Screen too.
            screen = Screen(stack, ["env", "-i", *(f"{k}={v}" for k, v in self.environment(TERM="xterm", **env).items()),
                                    *self.argv(words)], columns=width)
            screen.end()
            return screen.said.rpartition(CLEAR)[2].replace(b"\r\n", b"\n")

    def piped(self, words, **env):
        return subprocess.run(self.argv(words), env=self.environment(**env), stdin=subprocess.DEVNULL,
                              capture_output=True, check=False).stdout


def commands(line):
    """A command of the program, of which no word is too long for any line."""
    return line.startswith(b"    cachemon ") and max(map(len, line.split())) < 40


def widest(text):
    return max(len(line) for line in text.decode().split("\n"))


@part.case
def ascii_without_utf8(world, _):
    """Every verb, with each of the variables; pictures, names and symbols have another form, in
    the same lines."""
    for words in (*READERS, *OTHERS, ["report", "--format", "md"]):
        for env in ({"LC_ALL": "C"}, {"LANG": "C"}, {"LC_CTYPE": "POSIX", "LANG": "C.UTF-8"}, {}):
            said = world.shown(words, **env)
            check(said and said.isascii(), f"{words} {env}: {[line for line in said.splitlines() if not line.isascii()][:3]}")
            # Lines of code are not wrapped: they contain names of this run.
            prose = b"\n".join(line for line in said.splitlines() if not line.startswith(b"    "))
            check(words[-1] == "md" or widest(prose) <= 80, f"{words} {env}: {widest(said)} columns")
    whole = ["report", "--full", "--no-pager"]
    for words in (whole, ["runs"], ["compare", "--any", "last-1", "last"], ["whatif", "cache"]):
        check(not world.shown(words, LC_ALL="C.UTF-8").isascii(), f"{words}: no picture where there is UTF-8")
    text = world.shown(whole, LC_ALL="C").decode()
    check("donn\\u00e9es/\\u65e5" in text, "a name is not shown by its characters' numbers")
    check(NAME in world.shown(whole, LC_ALL="C.UTF-8").decode(), "a name is not shown")


@part.case
def files_and_programs(world, _):
    """Text follows the locale in a pipe and a file too; pages and data are always UTF-8."""
    path = os.path.join(world.work, "report.txt")
    for words in (*READERS, ["report", "--full"]):
        said = world.piped(words, LC_ALL="C")
        check(said and said.isascii(), f"{words}: {[line for line in said.splitlines() if not line.isascii()][:3]}")
    check(not world.piped(["report"], LC_ALL="C.UTF-8").isascii(), "a pipe is ASCII where there is UTF-8")
    for form in ("html", "json", "md"):
        words = ["report", "--format", form]
        equal(f"{form} in a pipe", world.piped(words, LC_ALL="C"), world.piped(words, LC_ALL="C.UTF-8"))
    subprocess.run([world.cachemon, "report", "--db", world.db, "-o", path], check=True,
                   env=world.environment(LC_ALL="C", COLUMNS="120"))
    with open(path, "rb") as f:
        equal("a file", f.read(), world.piped(["report"], LC_ALL="C"))
    check(NAME in world.shown(["report", "--format", "json"], LC_ALL="C").decode(), "JSON on a terminal is not as it is")


@part.case
def columns(world, _):
    """Lines are as wide as COLUMNS, for each verb; an invalid width is ignored."""
    usual = {}
    for words in (*READERS, *OTHERS):
        usual[tuple(words)] = world.piped(words)
        narrow, wide = world.piped(words, COLUMNS="60"), world.piped(words, COLUMNS="132")
        lines = {name: len(text.splitlines()) for name, text in (("narrow", narrow), ("usual", usual[tuple(words)]),
                                                                 ("wide", wide))}
        check(lines["narrow"] >= lines["usual"] >= lines["wide"] and lines["narrow"] > lines["wide"], f"{words}: {lines}")
        check(80 < widest(wide) <= 132, f"{words}: {widest(wide)} columns of 132")
    # A terminal's own width counts if COLUMNS is not set, which shells do not export.
    for words in (*READERS, ["explain"], ["explain", "prefetch-waste"], ["--help"], ["report", "--help"]):
        for width in (60, 132):
            shown = world.shown(words, width=width, LC_ALL="C.UTF-8")
            equal(f"{words} on a terminal of {width} columns", shown,
                  world.shown(words, LC_ALL="C.UTF-8", COLUMNS=str(width)))
            # Lines of C and Python are not wrapped, nor a word that is longer than a line.
            lines = [line for line in shown.splitlines() if not line.startswith(b"    ") or commands(line)]
            check(widest(b"\n".join(lines)) <= width, f"{words}: {max(lines, key=len)} has more than {width} columns")
    for bad in ("", "0", "39", "x", "80x", "-1", "1001", "99999999999999999999"):
        equal(f"COLUMNS={bad}", world.piped(["report"], COLUMNS=bad), usual[("report",)])


@part.case
def notes(world, _):
    """A note is text: headings underlined, paragraphs wrapped, code indented; raw with --format
    md."""
    names = re.findall(r"^([a-z][a-z0-9-]+) ", world.piped(["explain"]).decode(), re.M)
    check(len(names) > 60, f"{len(names)} notes")
    for name in names:
        said = world.piped(["explain", name]).decode()
        equal(f"{name}: placeholders", re.findall(r"%[A-Z_]+%", said), [])
        check("```" not in said and not re.search(r"^#+ (What|When|Why|How|Sources)", said, re.M), f"{name}: markup is left")
        prose = [line for line in said.split("\n") if not line.startswith("    ")]
        check(max(map(len, prose)) <= 80, f"{name}: {max(prose, key=len)!r}")
        check("`" not in "".join(prose), f"{name}: backticks are left")
    with open(os.path.join(ROOT, "prompts", "notes", "prefetch-waste.md"), encoding="utf-8") as f:
        source = f.read()
    raw = world.piped(["explain", "prefetch-waste", "--format", "md"]).decode()
    for heading in re.findall(r"^## .*$", source, re.M):
        check(heading in raw.split("\n"), f"no '{heading}'")
        check(f"\n{heading[3:]}\n{'-' * len(heading[3:])}\n" in world.piped(["explain", "prefetch-waste"]).decode(),
              f"'{heading[3:]}' is no heading")
    check("```python" in raw, "no fence in what is raw")
    done = subprocess.run([world.cachemon, "explain", "prefetch-wast"], env=world.environment(), capture_output=True,
                          text=True, check=False)
    equal("status", done.returncode, 2)
    check("did you mean 'prefetch-waste'?" in done.stderr, done.stderr)


def code(text, joined=False):
    """The indented lines, or with a line that goes on after a backslash as one, without comments."""
    lines = "\n".join(line[4:] for line in text.split("\n") if line.startswith("    "))
    lines = re.sub(r"\s*\\\n\s*", " ", lines) if joined else lines
    return [re.sub(r"  +| #.*", " ", line).strip() for line in lines.split("\n")] if joined else lines


@part.case
def commands_stay_whole(world, _):
    """In 60 columns a shell line of a note goes on after a backslash, and means the same."""
    broken = 0
    for name in re.findall(r"^([a-z][a-z0-9-]+) ", world.piped(["explain"]).decode(), re.M):
        wide = world.piped(["explain", name], COLUMNS="200").decode()
        narrow = world.piped(["explain", name], COLUMNS="60").decode()
        equal(name, code(narrow, True), code(wide, True))
        broken += narrow.count(" \\\n") > wide.count(" \\\n")
        with open(os.path.join(ROOT, "prompts", "notes", f"{name}.md"), encoding="utf-8") as f:
            shell = len(re.findall(r"^```shell", f.read(), re.M))
        if shell and "```" not in narrow:
            wanted = {line.split()[0] for line in code(wide).split("\n") if line.startswith(("sudo", "echo", "cachemon"))}
            for line in code(narrow).split("\n"):
                check(not wanted & set(line.split()[:1]) or len(line) <= 56 or max(map(len, line.split())) > 30,
                      f"{name}: {line!r} has more than 60 columns")
    check(broken > 10, f"only {broken} notes have a line to break")


if __name__ == "__main__":
    sys.exit(part.main(World))
