#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Completions in real shells, and the manual pages: both are made from the tables of the verbs."""

import glob
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

from syslib import shells
from syslib.made_jobs import make_database
from syslib.part import Failed, Part, Skipped, check, equal
from syslib.tool import Tool

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VERBS = ["watch", "top", "report", "advise", "ask", "explain", "whatif", "compare", "runs", "mark",
         "doctor", "selftest"]
# The author of a database chooses these names.
PLAIN = ["train", "a b", "it's", 'say "x"', "$(touch owned)", "`touch owned`", "a;touch owned", "x:y",
         "x=y", "*", "~", "!!", "a\\b", "#x", "{a,b}", "<x>", "ü", "[z]", "&", "$HOME", "%1", "a\u00a0b"]
UNSEEN = ["new\nline", "tab\there", "\x1b[31mred", "\u202eltr", "", "bad\udcff"]

part = Part(__doc__)


class World:
    def __init__(self, args, work, stack):
        self.tool = Tool(args.cachemon, work)
        self.work = work
        self.made = os.path.join(os.environ.get("CACHEMON_BUILD") or os.path.join(ROOT, "build"),
                                 "gen", "docs")
        self.home = os.path.join(work, "home")
        os.makedirs(os.path.join(self.home, "folder"))
        for name in ("file-1", "file-2"):
            open(os.path.join(self.home, name), "w", encoding="ascii").close()
        self.db = os.path.join(work, "jobs.db")
        make_database(self.db, PLAIN + UNSEEN)
        self.other = os.path.join(work, "other.db")
        make_database(self.other, ["another"])
        # The shells find the program under test.
        os.makedirs(os.path.join(work, "bin"))
        os.symlink(args.cachemon, os.path.join(work, "bin", "cachemon"))
        os.environ["PATH"] = f"{work}/bin:{os.environ['PATH']}"

    def flags(self, verb):
        """The options of its --help."""
        text = self.tool.run(verb, "--help")
        return set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.M))


class Asked:
    """A shell with the program's completions: the candidates it offers."""

    def __init__(self, world, stack, shell):
        self.world, self.shell = world, shell
        self.session = None
        if shell != "fish":
            start = getattr(shells, shell)
            name = {"bash": "cachemon.bash", "zsh": "_cachemon"}[shell]
            self.session = start(stack, world.home, os.path.join(world.made, name),
                                 CACHEMON_DB=world.db)
        else:
            shells.need("fish")

    def words(self, text):
        """The words of a line, as that shell reads them."""
        done = subprocess.run([self.shell, *(["-f"] if self.shell == "zsh" else []), "-c",
                               f"set -- {text}\nprintf '%s\\0' \"$@\""], capture_output=True,
                              cwd=self.world.home, text=True, errors="surrogateescape", check=True)
        return done.stdout.split("\0")[:-1]

    def offers(self, line, typed=None):
        """The candidates for the word at the end of a line. typed: that word, if it contains
        blanks."""
        if self.session:
            got = self.session.every(line)
            typed = line.rpartition(" ")[2] if typed is None else typed
            head = line[:len(line) - len(typed)].rstrip(" ")
            check(got.startswith(head + " "), f"{self.shell}: {line!r} became {got!r}")
            words = self.words(got[len(head) + 1:])
            # Without candidates the line does not change.
            return [] if words == [typed] or not words else words
        done = subprocess.run(
            ["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", "--",
             os.path.join(self.world.made, "cachemon.fish"), line], capture_output=True, text=True,
            cwd=self.world.home, errors="surrogateescape",
            env={**os.environ, "CACHEMON_DB": self.world.db, "HOME": self.world.home,
                 "LC_ALL": "C.UTF-8"})
        if done.returncode or done.stderr:
            raise Failed(f"fish: {line!r}: {done.stderr.strip()[:200]}")
        return [text.split("\t")[0] for text in done.stdout.splitlines()]


def unleft(offers):
    """A flag with a value may be offered with '=' at its end."""
    return {word.rstrip("=") for word in offers}


def ask_all(world, stack, shell):
    asked = Asked(world, stack, shell)
    first = set(asked.offers("cachemon "))
    check(set(VERBS) <= first and not any("__" in word for word in first), f"verbs: {first}")
    equal("verbs that begin with re", asked.offers("cachemon rep"), ["report"])
    for verb in VERBS:
        want = world.flags(verb)
        got = {word for word in unleft(asked.offers(f"cachemon {verb} --")) if word.startswith("--")}
        equal(f"flags of {verb}", got, want)
    for line, want in (("report --format ", {"text", "md", "html", "json", "csv", "yaml"}),
                       ("whatif --format ", {"text", "json"}), ("compare --per ", {"work", "job"}),
                       ("watch --level ", {"cold", "full", "auto"}),
                       ("whatif ", {"cache", "readahead"}), ("report --files ", set()),
                       # Findings, and the other notes.
                       ("explain prefetch-", {"prefetch-late", "prefetch-waste", "prefetch-with-readahead-thread"}),
                       ("selftest --dir ", {"folder"}), ("report -o file-", {"file-1", "file-2"}),
                       (f"compare --db {world.other} ", {"last", "1", "vs"}), (f"compare --db {world.other} 1 v", {"vs"}),
                       (f"report --db {world.other} --run ", {"last", "1"}),
                       (f"report --db {world.other} --job ", {"another"}),
                       ("report --db /no/such --job ", set()),
                       ("watch -- cat file-", {"file-1", "file-2"})):
        got = {word.rstrip("/") for word in asked.offers("cachemon " + line)}
        equal(f"{shell}: {line}", got, want)
    got = asked.offers("cachemon watch -- cachemo")
    check("cachemon" in got, f"commands behind --: {got[:5]}")
    return asked


def hostile(world, stack, shell):
    """Names are offered unchanged, and no shell executes them."""
    asked = Asked(world, stack, shell)
    got = asked.offers("cachemon report --job ")
    equal("names", sorted(got), sorted(PLAIN))
    equal("runs", set(asked.offers("cachemon report --run ")),
          {"last", *(str(nr + 1) for nr in range(len(PLAIN) + len(UNSEEN)))})
    for name in PLAIN:
        # Each alone, after its first character.
        if name in ("a b", "$(touch owned)", "it's", "x:y") and asked.session:
            typed = {"a b": "a\\ ", "$(touch owned)": "\\$\\(", "it's": "it", "x:y": "x:"}[name]
            equal(f"{name!r} behind {typed!r}",
                  asked.offers(f"cachemon report --job {typed}", typed), [name])
    check(not os.path.exists(os.path.join(world.home, "owned")), "a name was run")


@part.case
def in_bash(world, stack):
    asked = ask_all(world, stack, "bash")
    equal("the word behind =", asked.session.tab("cachemon report --format=m"),
          "cachemon report --format=md ")
    equal("a single flag", asked.session.tab("cachemon report --outp"), "cachemon report --output ")


@part.case
def names_in_bash(world, stack):
    hostile(world, stack, "bash")


@part.case
def in_zsh(world, stack):
    ask_all(world, stack, "zsh")


@part.case
def names_in_zsh(world, stack):
    hostile(world, stack, "zsh")


@part.case
def in_fish(world, stack):
    ask_all(world, stack, "fish")


@part.case
def names_in_fish(world, stack):
    hostile(world, stack, "fish")


def pages(world):
    found = sorted(glob.glob(os.path.join(world.made, "*.[157]")))
    if not found:
        raise Skipped("no manual pages were built: no scdoc")
    return found


@part.case
def pages_are_all_there(world, stack):
    names = {os.path.basename(page) for page in pages(world)}
    equal("pages", names, {"cachemon.1", *(f"cachemon-{verb}.1" for verb in VERBS), "cachemon-db.5",
                           "cachemon-terms.7", "cachemon-findings.7"})


@part.case
def pages_are_clean(world, stack):
    if not shutil.which("mandoc"):
        raise Skipped("no mandoc here")
    for page in pages(world):
        # Without its advice on style, which is for roff authors: scdoc writes a line per paragraph,
        # and titles are as typed.
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True)
        check(not done.stdout and not done.stderr, f"{os.path.basename(page)}: {done.stdout[:300]}")


def shown(page):
    done = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=200", page], capture_output=True,
                          text=True)
    return re.sub(".\b", "", done.stdout)


@part.case
def pages_say_all(world, stack):
    """Every option, finding, figure, table."""
    if not shutil.which("mandoc"):
        raise Skipped("no mandoc here")
    made = {os.path.basename(page): shown(page) for page in pages(world)}
    for verb in VERBS:
        text = made[f"cachemon-{verb}.1"]
        for flag in world.flags(verb):
            check(flag in text, f"{verb}: no {flag}")
        check(f"cachemon-{verb}(1)" in made["cachemon.1"], f"cachemon.1 does not lead to {verb}")
    subjects = re.findall(r"^([a-z][a-z0-9-]+)  ", world.tool.run("explain"), re.M)
    check(len(subjects) > 40, f"{len(subjects)} subjects")
    for subject in subjects:
        check(subject in made["cachemon-findings.7"], f"no {subject}")
    with closing(sqlite3.connect(world.db)) as db:
        for table, in db.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
                                 " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"):
            check(re.search(rf"^ +{table}( \(view\))?$", made["cachemon-db.5"], re.M), f"no {table}")
            for row in db.execute(f"PRAGMA table_info({table})"):
                check(re.search(rf"\b{row[1]}\b", made["cachemon-db.5"]) or table == "evicting_job",
                      f"no {table}.{row[1]}")
    with open(os.path.join(ROOT, "bpf", "cachemon.h"), encoding="utf-8") as f:
        counters = re.findall(r"^\tX\((\w+), ", f.read(), re.M)
    check(len(counters) > 40, "the counters of the header")
    missing = [name for name in counters if not re.search(rf"^ +{name}$", made["cachemon-terms.7"], re.M)
               and not re.match("window_log2_|untracked_map_full|refault_distance_ms", name)]
    equal("counters that are no terms", missing, [])
    with open(os.path.join(ROOT, "docs", "glossary.md"), encoding="utf-8") as f:
        words = re.findall(r"^- \*\*(.+?)\*\*: (\S+)", f.read(), re.M)
    check(len(words) > 40, f"{len(words)} words")
    missing = [word for word, begins in words if not re.search(
        rf"^ +{re.escape(word)}\n +{re.escape(begins.strip('`*'))}(?!\w)", made["cachemon-terms.7"], re.M)]
    equal("words of the glossary that are not in cachemon-terms(7)", missing, [])


@part.case
def installed_where_they_are_looked_for(world, stack):
    where = os.path.join(world.work, "installed")
    build = os.path.dirname(os.path.dirname(world.made))
    manifest = os.path.join(build, "install_manifest.txt")
    if not os.path.exists(manifest):
        stack.callback(lambda: os.path.exists(manifest) and os.unlink(manifest))
    done = subprocess.run(["cmake", "--install", build, "--prefix", "/usr"], capture_output=True, text=True,
                          env={**os.environ, "DESTDIR": where})
    check(done.returncode == 0, done.stderr[:300])
    for name in ("bin/cachemon", "share/bash-completion/completions/cachemon",
                 "share/zsh/site-functions/_cachemon", "share/fish/vendor_completions.d/cachemon.fish"):
        check(os.path.exists(os.path.join(where, "usr", name)), f"no {name}")
    for page in pages(world):
        name = os.path.basename(page)
        check(os.path.exists(os.path.join(where, "usr/share/man", f"man{name[-1]}", name)), f"no {name}")
    check(not glob.glob(where + "/**/cachemon-docs", recursive=True), "the generator was installed")


if __name__ == "__main__":
    sys.exit(part.main(World))
