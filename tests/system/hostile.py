#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Hostile names of files, directories, jobs, commands, control groups, hosts, devices and probes
at once, in each format of report, advise, compare, whatif and runs. A standard parser must get
the same from the output as with harmless names, except for the names, which must be as
docs/json.md says."""

import contextlib
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import unicodedata

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import formats  # noqa: E402
from syslib.pages import Page, rendered, rendered_as_hosts_do  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402

part = Part(__doc__)

HARMLESS = b"name"
NAMES = [
    b"<script>alert(1)</script>", b"\"><img src=x onerror='alert(1)'>&amp;&#60;b&#62;",
    b"]]>--><!--<![CDATA[", b"a|b`c`*d*_e_[f](javascript:x)~~g~~#$x$", b"```\n~~~~~~\n",
    b"`@`@@\\@ user@1000.service", b"![i](http://evil.example/x.png)",
    b"https://evil.example www.evil.example me@evil.example <http://evil.example>",
    b"line\nbreak\r\n# h\n|t|\n|-|\n===", b"\x1b[31mred\x1b]0;title\x07\x9b\x1b]8;;http://evil.example\x07",
    "\u202e.fdp.exe\u2066\u061c\u200f".encode(), b"bad\xff\xfe\\utf8", b"\xed\xa0\x80\xf5\xc0\x80",
    b"back\\slash\\", b"{{7*7}}${7*7}<%= 7*7 %>", b"=cmd|'/C calc'!A0", b"+1+1", b"-1+1", b"@SUM(A1)",
    b"\t=1+1", b"\r=1+1", b"comma,quote\"semicolon;tab\t", b"yes", b"null", b"1e3", b"- 1. x", b"1. x",
    b"> x", b"    indented", b"# x", b"!!python/object:os.system", b"&anchor *alias", b"%s%n%1000000s",
    "\u2028\u2029\ufeff\u00ad\U000e0041".encode(), "e\u0301 \u4e2d\u6587 \U0001f600".encode(),
]
COLUMNS = {
    "run": ("host", "kernel", "arch", "cachemon"), "job": ("name", "selector"), "file": ("path", "fstype"),
    "directory": ("path",), "filesystem": ("type", "mount"), "advice": ("path",), "traced_file": ("path",),
    "interference": ("evictor", "evictor_cgroup", "evictor_path", "owner_path"), "device": ("name",),
    "probe": ("role", "hook", "reason"), "unmeasured": ("counter", "reason"), "job_limit": ("at",),
}
# Keys of the JSON whose values are names.
KEYS = {"host", "kernel", "arch", "selector", "path", "fstype", "mount", "command", "cgroup", "directory",
        "owner_directory", "role", "hook"}
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


part.count_option("names", len(NAMES), 12, "names")


class World:
    def __init__(self, args, work, stack):
        self.names = args.names
        args.db, self.copies = None, {}
        made = formats.World(args, work, stack)
        self.base, self.tool = made.db, made.tool
        self.harmless = self.named(HARMLESS)

    def named(self, name):
        """A copy of the run, twice, with this name everywhere."""
        if name not in self.copies:
            self.copies[name] = self.copy(name)
        return self.copies[name]

    def copy(self, name):
        path = self.tool.fresh(".db")
        shutil.copy(self.base, path)
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("UPDATE run SET state = 'complete'")
            db.execute("INSERT INTO unmeasured (run_id, counter, reason) VALUES (1, 'x', 'y')")
            again(db)
            for table, columns in COLUMNS.items():
                types = {r[1]: r[2] for r in db.execute(f"PRAGMA table_info({table})")}
                for column in columns:
                    value = "?" if types[column] == "BLOB" else "CAST(? AS TEXT)"
                    old = [r[0] for r in db.execute(f"SELECT DISTINCT {column} FROM {table}")]
                    for i, was in enumerate(o for o in old if o is not None or table == "run"):
                        unique = name if i == 0 or table in ("run", "job") else name + b" %d" % i
                        db.execute(f"UPDATE {table} SET {column} = {value} WHERE {column} IS ?", (unique, was))
            db.commit()
        return path

    def csv(self, db, *verb):
        """Raw: a cell holds the bytes of its name."""
        return self.tool.run(*verb, "--db", db, "--format", "csv", binary=True).decode()

    def say(self, db, *argv):
        out = self.tool.run(argv[0], *argv[1:], "--db", db, binary=True).decode()  # is UTF-8
        acts = [f"{ord(c):x}" for c in out if c != "\n" and unsafe(c)]
        check(not acts, f"{' '.join(argv)}: characters {acts}")
        return out


def again(db):
    """A second run with another job, to compare the first with."""
    for table, key, more in (("run", "id", {"uuid": "v"}), ("job", "run_id", {"id": 2})):
        columns = [r[1] for r in db.execute(f"PRAGMA table_info({table})")]
        values = {key: 2, **more}
        picked = ", ".join(f"'{values[c]}'" if c in values else c for c in columns)
        db.execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {picked} FROM {table} LIMIT 1")


def unsafe(c):
    """Control characters, format characters, line separators, noncharacters."""
    return unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cn", "Cs", "Co")


def data(name):
    """(as programs get it, whether it was escaped)"""
    try:
        return name.decode(), False
    except UnicodeDecodeError:
        return escaped(name, lambda c: False), True


def escaped(name, acts):
    out = ""
    for c in name.decode(errors="surrogateescape"):
        if 0xdc80 <= ord(c) <= 0xdcff:
            out += f"\\x{ord(c) - 0xdc00:02x}"
        elif c == "\\":
            out += "\\x5c"
        elif acts(c):
            out += f"\\x{ord(c):02x}" if ord(c) < 128 else f"\\u{ord(c):04x}" if ord(c) < 65536 else f"\\U{ord(c):08x}"
        else:
            out += c
    return out


def inert(name):
    """As shown to people."""
    text, bad = data(name)
    return escaped(name, unsafe) if bad or any(map(unsafe, text)) else text


def shape(text):
    """The structure of a page without its words: elements and attributes. In Markdown an @ is in
    code, so that it does not become an address."""
    page = Page(re.sub("<code>(@+)</code>", r"\1", text))
    # A long cell may take several lines: class w; a path breaks after a slash: wbr, class path.
    return [(name, sorted((k, v) for k, v in attrs.items() if k != "aria-label" and (k, v) != ("class", "w")))
            for name, attrs in page.elements if name != "wbr" and attrs.get("class") != "path"]


VERBS = (("report", "--run", "1"), ("advise", "--run", "1"), ("compare", "1", "2"))


def each_name(world, check_one):
    for name in NAMES[::max(1, len(NAMES) // world.names)][:world.names]:
        try:
            check_one(name)
        except Exception as e:
            raise type(e)(f"{name!r}: {e}") from e


def same_shape(world, verb, fmt, make):
    want = shape(make(world.say(world.harmless, *verb, "--format", fmt)))
    check(len(want) > 20, f"{verb}: {len(want)} elements")

    def one(name):
        got = shape(make(world.say(world.named(name), *verb, "--format", fmt)))
        for a, b in zip(got, want):
            equal(f"{verb[0]}: element", a, b)
        equal(f"{verb[0]}: elements", len(got), len(want))
    each_name(world, one)


@part.case
def html(world, _):
    """The same elements with the same attributes, whatever the names; and the names as text."""
    for verb in VERBS:
        same_shape(world, verb, "html", lambda text: text)

    def shown(name):
        page = Page(world.say(world.named(name), *VERBS[0], "--format", "html"))
        of_files(page, inert(name))
    each_name(world, shown)


def of_files(page, name):
    table = next(t for t in page.tables if t.head()[0] == "FILE")
    check(table.rows[1][0].split() == name.split(), f"{table.rows[1][0]!r} for {name!r}")


@part.case
def markdown(world, _):
    """The same for the output of two renderers that allow markup and make links of addresses."""
    for verb in VERBS:
        for render in (rendered, rendered_as_hosts_do):
            same_shape(world, verb, "md", render)

    def shown(name):
        text = world.say(world.named(name), *VERBS[0], "--format", "md")
        for render in (rendered, rendered_as_hosts_do):
            page = Page(render(text))
            of_files(page, inert(name))
            for table in page.tables:
                equal(f"columns of {table.head()}", {len(r) for r in table.rows}, {len(table.head())})
    each_name(world, shown)


@part.case
def text(world, _):
    """A control character in a name adds no line and makes none wider. The whole name is printed,
    over several lines if it is long."""
    # Lines of code are unchanged.
    usual = {line for verb in VERBS for line in world.say(world.harmless, *verb).split("\n")}

    def one(name):
        db = world.named(name)
        for verb in (*VERBS, ("whatif", "cache", "--run", "1"), ("whatif", "readahead", "--run", "1"), ("runs",)):
            out = world.say(db, *verb)
            check("".join(inert(name).split()) in "".join(out.split()), f"{verb}: the name is not there")
            for line in out.split("\n") if verb[0] in ("report", "compare") else ():
                check(len(line) <= 80 or line in usual, f"{verb}: {len(line)} characters in {line!r}")
    each_name(world, one)


def names_in(tree, found):
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key in KEYS and isinstance(value, str):
                found.append((key, value, tree.get(f"{key}_escaped", False)))
            names_in(value, found)
    elif isinstance(tree, list):
        for value in tree:
            names_in(value, found)
    return found


@part.case
def json_and_yaml(world, _):
    """Each name comes back, marked if it is not UTF-8; YAML is the same tree."""
    def one(name):
        db, (want, bad) = world.named(name), data(name)
        report = {}
        for verb in (*VERBS, ("runs", "--json"), ("whatif", "cache", "--run", "1"),
                     ("whatif", "readahead", "--run", "1")):
            fmt = () if verb[0] == "runs" else ("--format", "json")
            tree = json.loads(world.say(db, *verb, *fmt))
            found = names_in(tree, [])
            check(found, f"{verb}: no name")
            for key, value, mark in found:
                check(value == want or value.startswith(want + " "), f"{verb}: {key} is {value!r}, not {want!r}")
                equal(f"{verb}: {key}_escaped", mark, bad)
            report.setdefault(verb[0], tree)
        check(len(names_in(report["report"], [])) > 20, "few names in a report")
        for verb in VERBS[:2]:
            loaded = subprocess.run(
                ["/usr/bin/python3", "-c", "import json, sys, yaml\njson.dump(yaml.safe_load(sys.stdin), sys.stdout)"],
                input=world.say(db, *verb, "--format", "yaml"), capture_output=True, text=True, check=True).stdout
            check(json.loads(loaded) == report[verb[0]], f"{verb}: YAML is another tree")
    each_name(world, one)


@part.case
def csv_cells(world, _):
    """A row has the columns of the head; no cell is a formula; a name that would be one starts
    with an apostrophe."""
    def one(name):
        db, (want, bad) = world.named(name), data(name)
        if want.startswith(FORMULA):
            want = "'" + want
        for verb in VERBS[:2]:
            head, *rows = csv.reader(io.StringIO(world.csv(db, *verb), newline=""))
            equal(f"{verb}: columns", {len(r) for r in rows} - {len(head)}, set())
            for row in rows:
                cells = [c for c in row if c.startswith(FORMULA)]
                check(all(is_number(c) for c in cells), f"{verb}: {cells} begins as a formula does")
            places = [i for i, h in enumerate(head) if h in ("path", "job")]
            found = {row[i] for row in rows for i in places}
            check(want in found, f"{verb}: {want!r} is not among {found}")
            if "path_escaped" in head:
                at = head.index("path"), head.index("path_escaped")
                for row in rows:
                    if row[at[0]].startswith(want):
                        equal("path_escaped", row[at[1]], str(int(bad)))
    each_name(world, one)


def is_number(cell):
    with contextlib.suppress(ValueError):
        return float(cell) is not None
    return False


if __name__ == "__main__":
    sys.exit(part.main(World))
