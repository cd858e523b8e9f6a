#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Site rules that use too much: time, memory, text, rows, in one step or in many, while they are
prepared or run. Each is stopped with a reason, the other rules are used, the report is made, and
no verb takes more than 10 s of CPU time and 500 MiB of memory."""

import json
import os
import re
import resource
import subprocess
import sys
import unicodedata

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rules  # noqa: E402
import schemas  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402

part = Part(__doc__)

CPU_S, RSS_KIB = 10, 500 << 10
RULE_CPU_S = 1      # limit of one rule
STOPPED_CPU_S = 60  # the test itself kills what does not stop

HEAD = """-- id: {0}
-- title: a rule
-- version: 1
-- severity: always low
"""
ROW = """SELECT j.job_id, 'job' AS subject_kind, {subject} AS subject, 'low' AS severity, {summary} AS summary,
	{evidence} AS evidence, 0.5 AS confidence FROM v_job j {more}"""
EVIDENCE = "json_array(json_object('metric', 'm', 'value', 1, 'unit', 'pages', 'scope', 'job'))"
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
SOME = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT {0})"

TIME = r"took too long and was stopped"
MEMORY = r"took more than \d+ MiB of memory and was stopped"
LENGTH = r"built a text longer than \d+ KiB and was stopped"
TEXT = r"returned more than \d+ MiB of text and was stopped"
ROWS = r"more than \d+ rows"
REPEATED = r"printf\(\) in a rule cannot repeat a character"
SEARCHES = r"has more than \d+ calls of functions that search text"
DEPTH = r"Expression tree is too large|parser stack overflow"
NOT_RUN = r"was not run: the rules before it took too long"
STOPS = "|".join((TIME, MEMORY, LENGTH))


def text(size):
    """An expression for that many bytes, without a function that repeats a character."""
    return f"substr(replace(hex('{'a' * 320}'), '61', '{'a' * 102}'), 1, {size})"


def doubled(times, begin="'aaaaaaaa'"):
    """A text of 8 bytes, doubled that often."""
    return ROW.format(subject="j.name", evidence=EVIDENCE, more="",
                      summary=f"(WITH RECURSIVE d(t, n) AS (SELECT {begin}, 0 UNION ALL SELECT t || t, n + 1 "
                      f"FROM d WHERE n < {times}) SELECT length(t) FROM d WHERE n = {times})")


def row(summary="'x'", subject="j.name", evidence=EVIDENCE, more=""):
    return ROW.format(subject=subject, summary=summary, evidence=evidence, more=more)


def chain(depth, step):
    """Tables, each made from the one before: {0} is its name."""
    names = ", ".join(f"t{i} AS ({step.format(f't{i - 1}')})" for i in range(1, depth))
    return row(summary=f"(WITH t0 AS (SELECT job_id AS a FROM v_job), {names} SELECT max(a) FROM t{depth - 1})")


# {what: (query, message)}
BOMBS = {
    "endless recursion": (row(summary=f"({ENDLESS} SELECT max(x) FROM c)"), TIME),
    "a cross join": (row(summary="(SELECT count(*) FROM json_each('[1,1,1,1,1,1,1,1]') a" +
                         "".join(f", json_each('[1,1,1,1,1,1,1,1]') b{i}" for i in range(12)) + ")"), TIME),
    # One step that takes arbitrarily long.
    "900 MB of one character": (row(summary="printf('%.*c', 900000000, 'x')"), REPEATED),
    "two thousand million times nothing": (row(summary="length(format('%.2147483647c', 'x'))"), REPEATED),
    "a format that is made": (row(summary="printf(substr('x%', 2) || '.' || char(42) || 'c', 2147483647, 'x')"),
                              REPEATED),
    "blanks up to a width": (row(summary="coalesce(length(printf('%2000000000d', 1)), 'x')"), None),
    "digits behind the point": (row(summary="coalesce(length(printf('%.100000000f', 1.5)), 'x')"), None),
    "hexadecimal": (row(summary=f"length(hex({text(30000)}))"), LENGTH),
    "every character replaced": (row(summary=f"length(replace({text(15000)}, 'a', {text(15000)}))"), LENGTH),
    "replaced again and again": (row(summary="length(" + "replace(" * 9 + "'aaaaaaaaaa'" +
                                     ", 'a', 'aaaaaaaaaa')" * 9 + ")"), LENGTH),
    "a text that doubles": (doubled(40), LENGTH),
    "quotes of quotes": (row(summary="length(" + "quote(" * 22 + "''''''" + ")" * 22 + ")"), LENGTH),
    "json of json": (doubled(40, "json_quote('\"\"\"')"), LENGTH),
    # Quadratic, and repeated.
    "searched for in each row": (row(summary=f"({ENDLESS} SELECT sum(instr({text(32000)}, {text(16000)} || x)) "
                                     "FROM c)"), TIME),
    "searched for in one row": (row(summary=" + ".join(f"instr(t.a, t.b || {i})" for i in range(120)),
                                    more=f", (SELECT {text(32000)} AS a, {text(16000)} AS b) t"), SEARCHES),
    "replaced in many columns": (row(more=f", (SELECT {text(32000)} AS a, {text(16000)} AS b) t WHERE length(" +
                                     " || ".join(f"replace(t.a, t.b || {i}, '')" for i in range(90)) + ")"), SEARCHES),
    "a pattern": (row(summary=f"({text(32000)} || 'c') LIKE '%{'_a%' * 80}b'"), None),
    "a long pattern": (row(summary=f"{text(32000)} LIKE ('%' || {text(30000)} || '%b')"), "LIKE or GLOB pattern"),
    "patterns in each row": (row(summary=f"({ENDLESS} SELECT sum(({text(32000)} || x) GLOB '*[{'b' * 200}a]b') "
                                 "FROM c)"), TIME),
    "trimmed by two thousand characters": (row(summary=" + ".join(f"length(trim(t.a, t.b || {i}))" for i in range(20)),
                                               more=f", (SELECT {text(32000)} AS a, {text(2400)} AS b) t"), SEARCHES),
    "trimmed in each row": (row(summary=f"({ENDLESS} SELECT sum(length(rtrim({text(32000)}, {text(2400)} || x))) "
                                "FROM c)"), TIME),
    "merged in each row": (row(summary=f"({ENDLESS} SELECT sum(length(json_patch(a, b))) FROM c, (SELECT "
                               "json_group_object(value, 1) AS a, json_group_object(-value, 1) AS b FROM "
                               "(SELECT x AS value FROM c LIMIT 1500)))"), f"{TIME}|{MEMORY}"),
    # Rows that are collected.
    "a group of texts": (row(summary=f"({SOME.format(2000000)} SELECT length(group_concat({text(400)})) FROM c)"),
                         STOPS),
    "a group over a cross join": (row(summary="(SELECT length(group_concat(a.value || b.value)) FROM "
                                      f"(SELECT {text(9000)} AS value) a, json_each('[1,1,1,1,1,1,1,1]') b)"), LENGTH),
    "an array of a group": (row(summary=f"({ENDLESS} SELECT length(json_group_array({text(20000)} || x)) FROM c)"),
                            MEMORY),
    "an object of a group": (row(summary=f"({SOME.format(9000000)} SELECT length(json_group_object(x, x)) FROM c)"),
                             STOPS),
    "a sorter of long rows": (row(summary=f"({ENDLESS} SELECT max(t) FROM (SELECT {text(30000)} || x AS t, x FROM c "
                                  "ORDER BY t, -x LIMIT -1 OFFSET 1))"), f"{MEMORY}|{TIME}"),
    "distinct rows": (row(summary=f"({ENDLESS} SELECT count(DISTINCT {text(30000)} || x) FROM c)"), MEMORY),
    "a union of long rows": (row(summary=f"(WITH RECURSIVE c(t, x) AS (SELECT '', 1 UNION SELECT {text(30000)} || x, "
                                 "x + 1 FROM c) SELECT max(x) FROM c)"), MEMORY),
    "a window over all rows": (row(summary=f"({SOME.format(9000000)} SELECT max(w) FROM (SELECT sum(length(t)) OVER "
                                   f"(ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS w FROM "
                                   f"(SELECT {text(30000)} || x AS t FROM c)))"), f"{MEMORY}|{TIME}"),
    "a queue that grows": (row(summary="(WITH RECURSIVE c(t) AS (SELECT 1 UNION ALL SELECT t + 1 FROM c, "
                               "json_each('[1,1,1,1,1,1,1,1]')) SELECT max(t) FROM c)"), f"{MEMORY}|{TIME}"),
    # The result.
    "100,000 rows of 10 KB": (f"{SOME.format(100000)} " + row(subject=f"{text(10000)} || x", more=", c"), TEXT),
    "two million rows": (f"{SOME.format(2000000)} " + row(more=", c"), ROWS),
    "a row too many": (f"{SOME.format(100001)} SELECT j.job_id, 'job' AS subject_kind, '' AS subject, 'low' AS severity, "
                       "'x' AS summary, e AS evidence, 0.5 AS confidence FROM "
                       f"(SELECT job_id, {EVIDENCE} AS e FROM v_job LIMIT 1) j CROSS JOIN c", ROWS),
    "evidence that is deep": (row(evidence="replace(hex('" + "a" * 250 + "'), '6', '[[[[[[[[')"), "a row's evidence"),
    "evidence of many": (f"{SOME.format(90000)} " + row(evidence=f"(SELECT json_group_array({EVIDENCE} -> 0) FROM "
                                                        "(SELECT 1 FROM json_each('[1,1,1,1,1,1,1,1]') a, "
                                                        "json_each('[1,1,1,1,1,1,1,1]') b))", more=", c"), TEXT),
    # During preparation.
    "a name that is two": (chain(40, "SELECT x.a FROM {0} x, {0} y"), f"{MEMORY}|{TIME}"),
    "a sum of itself": (chain(40, "SELECT a + a AS a FROM {0}"), f"{MEMORY}|{DEPTH}"),
    "a deep expression": (row(summary="(" * 900 + "1" + " + 1)" * 900), DEPTH),
    "many terms": (row(summary="(SELECT max(a) FROM (" + " UNION ".join(f"SELECT {i} AS a" for i in range(400)) +
                       "))"), "too many terms in compound SELECT"),
    "sixty tables": (row(summary="(SELECT count(*) FROM " + ", ".join(f"job t{i}" for i in range(60)) + " WHERE " +
                         " AND ".join(f"t{i}.id = t{(i * 7 + 1) % 60}.id" for i in range(60)) + ")"), None),
    "a long rule": ("SELECT " + "1, " * 60000 + "1", "longer than 64 KiB"),
}


class World:
    def __init__(self, args, work, stack):
        self.work = work
        made = schemas.World(args, work, stack)
        self.tool = made.tool
        self.db = made.stored(rules.Run().job({"/d": rules.LOOP}).machine())

    def rules(self, **files):
        """A directory with these files and one correct rule."""
        directory = self.tool.fresh(".rules")
        os.mkdir(directory)
        for name, content in {"good.sql": HEAD.format("good") + row(), **files}.items():
            with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
                f.write(content)
        return directory

    def run(self, *argv, status=(0,)):
        """(standard output, standard error, CPU seconds, peak KiB) of one verb."""
        out, err = self.tool.fresh(".out"), self.tool.fresh(".err")
        with open(out, "wb") as o, open(err, "wb") as e:
            child = subprocess.Popen([self.tool.cachemon, *argv], stdout=o, stderr=e, stdin=subprocess.DEVNULL,
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (STOPPED_CPU_S,) * 2))
        _, ended, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(ended)
        with open(out, "rb") as o, open(err, "rb") as e:
            said = e.read().decode()
            cpu = used.ru_utime + used.ru_stime
            check(cpu <= CPU_S, f"{argv[0]} takes {cpu:.1f} s of CPU time; {said[-200:]}")
            check(used.ru_maxrss <= RSS_KIB, f"{argv[0]} takes {used.ru_maxrss >> 10} MiB")
            check(child.returncode in status, f"{argv[0]} exits {child.returncode}: {said[-300:]}")
            return o.read().decode(), said, cpu, used.ru_maxrss

    def advise(self, *more, status=(0, 1), **files):
        """(ids of findings, problems, standard error, CPU seconds, KiB)"""
        out, err, *used = self.run("advise", "--db", self.db, "--rules", self.rules(**files), "--format", "json", *more,
                                   status=status)
        tree = json.loads(out)
        return {f["id"] for f in tree["jobs"][0]["findings"]}, tree["problems"], err, *used


def judge(world, query, want, **files):
    found, problems, err, cpu, kib = world.advise(**{"bomb.sql": HEAD.format("bomb") + query, **files})
    check("good" in found, f"the good rule has found nothing: {problems}")
    if want is None:
        equal("problems", problems, [])
        return cpu, kib
    equal("number of problems", len(problems), 1)
    # A slow machine may reach the time limit before any other.
    if cpu >= RULE_CPU_S:
        want = f"{want}|{TIME}"
    check(re.search(rf"/bomb\.sql:(\d+:)? .*({want})", problems[0]), f"says {problems[0]}")
    check("bomb.sql" in err and "bomb" not in found, f"stderr {err[-200:]}, found {found}")
    return cpu, kib


@part.case
def one_of_each(world, _):
    """All are tried before the first failure is reported."""
    most, wrong = (0.0, 0, ""), []
    for name, (query, want) in BOMBS.items():
        try:
            cpu, kib = judge(world, query, want)
            most = max(most, (cpu, kib >> 10, name))
        except Exception as e:  # pylint: disable=broad-except
            wrong.append(f"{name}: {e}")
    part.note(f"the longest of {len(BOMBS)}: {most[0]:.1f} s, {most[1]} MiB: {most[2]}")
    check(not wrong, f"{len(wrong)} of {len(BOMBS)}\n" + "\n".join(wrong))


@part.case
def many_at_once(world, _):
    """The rules of a site have a total limit, and one rule leaves something for others."""
    names = [f"bomb{i:03}" for i in range(300)]
    slow, wide = BOMBS["searched for in each row"][0], BOMBS["a queue that grows"][0]
    files = {f"{n}.sql": HEAD.format(n) + (slow if i % 2 else wide) for i, n in enumerate(names)}
    # Each may take half of the rest: after these a sixteenth of it remains, about 60 ms.
    few = dict(list(files.items())[:4])
    found, problems, _, cpu, kib = world.advise(**few)
    check("good" in found, f"after four: {problems[-1]}")
    equal("problems of four", len(problems), 4)
    part.note(f"4 rules: {cpu:.1f} s, {kib >> 10} MiB")
    found, problems, _, cpu, kib = world.advise(**files)
    part.note(f"{len(files)} rules: {cpu:.1f} s, {kib >> 10} MiB")
    check(len(problems) >= len(files), f"{len(problems)} problems of {len(files)} rules")
    check(all(re.search(f"{TIME}|{MEMORY}|{NOT_RUN}", p) for p in problems), f"{problems[-1]}")


@part.case
def each_verb(world, _):
    """Reports are made, with the message in each format."""
    directory = world.rules(**{"bomb.sql": HEAD.format("bomb") + BOMBS["searched for in each row"][0]})
    both = ("--db", world.db, "--rules", directory)
    for verb in ("report", "advise"):
        for form in ("text", "md", "html", "json", "yaml", "csv"):
            out, err, *_ = world.run(verb, *both, "--format", form, status=(0, 1))
            check(out, f"{verb} --format {form} is empty")
            check(re.search(f"bomb.sql:5: {TIME}", err), f"{verb} --format {form} says {err!r}")
            if verb == "advise" and form in ("text", "json"):
                check("bomb.sql" in out, f"{verb} --format {form} does not name the rule")
    world.run("compare", *both, "1", "1", status=(0, 1, 2))
    world.run("explain", "--rules", directory, "bomb", status=(0, 1))
    db = world.tool.fresh(".db")
    _, err, *_ = world.run("watch", "--db", db, "--rules", directory, "--report", world.tool.fresh(".html"), "--",
                           "sh", "-c", "exit 3", status=(3,))
    check(re.search(f"bomb.sql:5: {TIME}", err), f"watch says {err!r}")


NOTE = """---
id: bomb
title: a note
findings: [bomb]
risk: none
undo: none
verify: none
---
## What to do
"""
NESTED = {"quotes": ">" * 250000, "brackets": "[" * 125000 + "](" * 60000, "stars": "*a **b " * 35000,
          "ticks": "`" * 125001 + "a" + "`" * 125000, "entities": "&#x41;<" * 36000, "lists": "- " * 125000,
          "one word": "a" * 250000, "short lines": "a\n" * 125000, "tables": "|a" * 125000,
          "fences": "a\n" + "~~~\n" * 60000, "escapes": "\\x1b[31m" * 50000, "snippets": "a\n" + "```c\n```\n" * 32}
# {what: (name of the file, its text, message)}
PARTS = {
    "wrong lines of thresholds": ("thresholds", "x=\n" * 21000, "thresholds:1: "),
    "thresholds of no rule": ("thresholds", "".join(f"no-such-rule-{i}.a = 1\n" for i in range(2500)),
                              "no-such-rule-0"),
    "one long threshold": ("thresholds", "cache-too-small." + "a" * 60000 + " = 1\n", "has no parameter"),
    "a threshold of many digits": ("thresholds", "cache-too-small.min = " + "9" * 60000 + "\n", "thresholds:1: "),
    "many parameters": ("bomb.sql", HEAD.format("bomb") + "".join(f"-- param a{i} = 1\n" for i in range(2900)) + row(),
                        "more than"),
    "long parameter": ("bomb.sql", HEAD.format("bomb") + f"-- param {'a' * 30000} = 1\n" + row(f":{'a' * 30000}"),
                       None),
    "a parameter of many digits": ("bomb.sql", HEAD.format("bomb") + f"-- param a = 0.{'0' * 60000}1\n" + row(), None),
    "many counters": ("bomb.sql", HEAD.format("bomb") + f"-- needs counters: {'misses ' * 7000}\n" + row(),
                      "more than"),
    "many tables": ("bomb.sql", HEAD.format("bomb") + f"-- needs tables: {'analysis_grade ' * 4000}\n" + row(),
                    "more than"),
    "many facts": ("bomb.sql", HEAD.format("bomb") + f"-- needs facts: {'v_job.misses ' * 4800}\n" + row(),
                   "more than"),
    "many lines of a title": ("bomb.sql", HEAD.format("bomb").replace("a rule", "a\n--\t" * 11000) + row(), None),
}


@part.case
def other_parts_of_rules(world, _):
    """Thresholds, parameters and needs."""
    wrong, most = [], 0
    for what, (name, content, want) in PARTS.items():
        try:
            found, problems, err, cpu, _ = world.advise(**{name: content})
            most = max(most, cpu)
            check("good" in found, f"the good rule is lost: {problems[-1:]}")
            check(len(problems) <= 100 and len(err) < 200000, f"{len(problems)} problems")
            check(want in str(problems) if want else not problems, f"says {problems[:1]}")
        except Exception as e:  # pylint: disable=broad-except
            wrong.append(f"{what}: {str(e)[:600]}")
    part.note(f"the longest: {most:.1f} s")
    check(not wrong, "\n".join(wrong))


@part.case
def notes(world, _):
    """Markdown of 256 KiB, in each format and in a prompt."""
    most, wrong = (0.0, 0, ""), []
    for what, body in NESTED.items():
        directory = world.rules(**{"bomb.sql": HEAD.format("bomb") + row(), "bomb.md": NOTE + body + "\n"})
        for argv in (*(("advise", "--rules", directory, "--format", f) for f in ("text", "md", "html", "json", "yaml")),
                     ("report", "--rules", directory, "--format", "html"), ("explain", "--rules", directory, "bomb"),
                     ("advise", "--rules", directory, "--llm-dry-run", "--llm-url", "http://[::1]:1/v1",
                      "--llm-model", "m"),
                     ("ask", "--notes", directory, "--llm-dry-run", "--llm-url", "http://[::1]:1/v1",
                      "--llm-model", "m",
                      "why is it slow?")):
            try:
                db = () if argv[0] == "explain" else ("--db", world.db)
                _, _, cpu, kib = world.run(*argv, *db, status=(0, 1))
                most = max(most, (cpu, kib >> 10, f"{what}: {' '.join(argv[:1] + argv[3:6])}"))
            except Exception as e:  # pylint: disable=broad-except
                wrong.append(f"{what}: {str(e)[:300]}")
    part.note(f"the longest: {most[0]:.1f} s, {most[1]} MiB: {most[2]}")
    check(not wrong, "\n".join(wrong))


HOSTILE = "char(27) || ']0;x' || char(7) || '<script>alert(1)</script>' || char(8238) || 'a|b`c' || char(10) || '# h'"


@part.case
def text_of_a_rule(world, _):
    """Any bytes in a summary, a subject, a cause and evidence: inert in each format."""
    fields = ", ".join(f"'{name}', {HOSTILE}" for name in ("metric", "value", "unit", "scope"))
    evidence = f"json_array(json_object({fields}))"
    query = row(summary=HOSTILE, subject=HOSTILE, evidence=evidence).replace(
        "0.5 AS confidence", f"0.5 AS confidence, 1 AS gain_value, 's' AS gain_unit, 'model' AS gain_method, "
        f"{HOSTILE} AS gain_cause")
    bytes_too = row(subject="x'ff1b5d00ed'", summary="CAST(x'61ff9b1b5b' AS TEXT)")
    doubt = row().replace("0.5 AS confidence", f"0.5 AS confidence, {HOSTILE} AS not_judged")
    wrong = row(summary='"' + "no such\x1b]0;x\x07<script>" + '"')
    directory = world.rules(**{f"{n}.sql": HEAD.format(n) + q for n, q in
                               (("a", query), ("b", bytes_too), ("c", doubt), ("d", wrong))})
    for verb in ("report", "advise"):
        for form in ("text", "md", "html", "json", "yaml", "csv"):
            out, err, *_ = world.run(verb, "--db", world.db, "--rules", directory, "--format", form, status=(0, 1))
            acts = {f"{ord(c):x}" for c in out + err if c not in "\n" + ("\r" if form == "csv" else "")
                    and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cn", "Cs", "Co")}
            check(not acts or form == "csv" and not err.count("\x1b"), f"{verb} --format {form}: {sorted(acts)}")
            check(form in ("json", "yaml", "csv", "text") or "<script>alert" not in out,
                  f"{verb} --format {form}: script")


if __name__ == "__main__":
    sys.exit(part.main(World))
