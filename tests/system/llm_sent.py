#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The data that a language model gets about a run: measured values, no names, and no more than
fits."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "llm"))

import llm_tokens  # noqa: E402
from llmlib.cases import CASES  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.worded import Asker, Sent, good_and_bad, kept, of_exchange  # noqa: E402

# Names in the recorded database (read with sqlite3, not the program) that are in no note of the
# program.
NAMES = [b"/data/dataset", b"shard-3.bin", b"validation.bin", b"advised-random", b"train.sh", b"job train"]

part = Part(__doc__)


@part.case
def evidence_is_what_was_measured(world, _):
    """Compared with the database's own columns."""
    sent, job = world.sent("advise"), world.job

    def value(metric, scope="job"):
        return sent.evidence[sent.key_of(metric, scope)][1]

    for metric in ("lookups", "misses", "refaults", "refault_misses", "delayed_hits"):
        equal(metric, value(metric), f"{job[metric]:,} pages" if job[metric] != 1 else "1 page")
    equal("read calls", value("read_calls"), f"{job['read_calls']:,} calls")
    hits = 1 - job["misses"] / job["lookups"]
    equal("hit ratio", value("hit_ratio"), f"{hits * 100:.1f} %")
    used, late, wasted = (job[c] for c in ("used", "used_late", "evicted_unused"))
    equal("accuracy", value("prefetch.accuracy"), f"{(used + late) / (used + late + wasted) * 100:.1f} %")
    equal("stall", value("stall_ns"), as_shown(job["stall_ns"], "ns"))
    equal("read", value("read_bytes"), as_shown(job["read_bytes"], "bytes"))


@part.case
def findings_are_the_rules(world, _):
    """In order, with severity and evidence."""
    sent, advised = world.sent("advise"), world.json("advise")
    findings = kept(advised["jobs"][0])
    equal("findings", [f[0] for f in sent.findings.values()], [f["id"] for f in findings])
    equal("severities", [f[1] for f in sent.findings.values()], [f["severity"] for f in findings])
    for told, finding in zip(sent.findings.values(), findings):
        metrics = [sent.evidence[key][0] for key in told[-2].split()]
        known = [e["metric"] for e in finding["evidence"]]
        check([m for m in metrics if m != "gain"] == known[:len(metrics) - metrics.count("gain")],
              f"{finding['id']}: {metrics} of {known}")


def three_digits(value):
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def scaled(value, steps):
    """steps: (smallest value, size of the unit, its name), the largest first."""
    of, name = next((of, name) for least, of, name in steps if value >= least)
    return f"{value:,.0f} {name}" if of == 1 else f"{three_digits(value / of)} {name}"


def as_shown(value, unit):
    """By hand: three digits for bytes and times, percentages with one decimal, all digits of a
    count."""
    if unit == "ratio":
        return f"{value * 100:.1f} %" if 0.0005 <= value < 0.9995 or value in (0, 1) else \
            "<0.1 %" if value < 0.0005 else ">99.9 %"
    if unit in ("bytes", "KiB"):
        return scaled(value * (1024 if unit == "KiB" else 1), [(2**30, 2**30, "GiB"), (2**20, 2**20, "MiB"),
                                                               (2**10, 2**10, "KiB"), (0, 1, "B")])
    seconds = value / {"ns": 1e9, "s": 1}.get(unit, float("inf"))
    if 60 <= seconds < 3600:
        return f"{seconds // 60:.0f}m {seconds % 60:02.0f}s"
    if unit in ("ns", "s"):
        return scaled(value * (1e9 if unit == "s" else 1), [(1e9, 1e9, "s"), (1e6, 1e6, "ms"), (1e3, 1e3, "us"),
                                                            (0, 1, "ns")])
    return f"{value:,.0f} {unit[:-1] if value == 1 else unit}"


@part.case
def figures_of_findings(world, _):
    """Each finding of both runs, from the report's exact values, and its gain with the kind of
    gain."""
    seen = gains = 0
    for run in ("1", "2"):
        sent, job = world.sent("advise", "--run", run), world.json("advise", "--run", run)["jobs"][0]
        for key, finding in zip(sent.findings, kept(job)):
            told = {(e[0], e[2].removeprefix(key).removeprefix(": ")): e[1] for e in sent.evidence.values()
                    if e[2] == key or e[2].startswith(f"{key}:")}
            gain, before = finding["gain"], {"bound": "at most ", "model": "", "measured": ""}
            if gain:
                gains += 1
                equal("gain", told["gain", ""], before[gain["method"]] + as_shown(gain["value"], gain["unit"]))
            for e in finding["evidence"]:
                if (e["metric"], e["scope"]) not in told:
                    continue
                want = "not measured" if e["value"] is None else as_shown(e["value"], e["unit"])
                equal(f"{finding['id']}: {e['metric']}", told[e["metric"], e["scope"]], want)
                seen += 1
    check(seen >= 20 and gains, f"only {seen} figures, {gains} gains")


@part.case
def figures_over_time_and_of_models(world, _):
    """Outliers, and other sizes of the cache, from the report's exact values."""
    sent, job = world.sent("advise"), world.json("report")["jobs"][0]
    change = job["series"]["changes"][0]
    for name in ("before", "after"):
        got = next(e for e in sent.evidence.values() if e[0] == f"change.{name}.{change['metric']}")
        value, unit = change[name], change["unit"]
        want = f"{as_shown(value, 'bytes')}/s" if unit == "bytes/s" else as_shown(value, unit) if unit == "ratio" else \
            f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.4g} {unit}"
        equal(f"{change['metric']} {name}", got[1], want)
    equal("when", next(e for e in sent.evidence.values() if e[0] == f"change.at.{change['metric']}")[1],
          as_shown(change["at_s"], "s"))
    mark = job["whatif"]["cache"]["curve"]["marks"]["present"]
    for name, unit in (("cache_bytes", "bytes"), ("hit_ratio", "ratio")):
        got = next(e for e in sent.evidence.values() if e[0] == f"whatif.cache.present.{name}")
        equal(f"present {name}", (got[1], got[3]), (as_shown(mark[name], unit), "computed"))


@part.case
def choices_are_what_was_sent(world, _):
    sent = world.sent("advise")
    items = sent.schema["properties"]["statements"]["items"]["properties"]
    equal("evidence", items["evidence"]["items"]["enum"], list(sent.evidence))
    equal("findings", items["about"]["enum"], ["job", *sent.findings])
    equal("actions", items["action"]["enum"], ["none", *sent.actions])
    check(sent.body["max_tokens"] <= 1500, f"asks for {sent.body['max_tokens']} tokens")


@part.case
def names_stay_here(world, _):
    """Unless the user allows them."""
    for verb in (("advise",), ("report",), ("ask", "is /data/dataset/shards of job train read twice?")):
        body, _err = world.run(*verb, "--llm-dry-run")
        user = Sent(body).user.encode()
        for name in (*NAMES, b"/home", b"nobody"):
            check(name not in user, f"{verb[0]} sends {name!r}")
        check(not re.search(rb"\bvm\b(?!\.)", user), f"{verb[0]} sends the host's name: {user}")
    named, _err = world.run("advise", "--llm-dry-run", "--llm-no-redact")
    check(b"/data/dataset/shards" in named, "names were to be sent, and are not")


@part.case
def notes_are_for_its_cgroups(world, _):
    """A note that needs cgroup v2 is sent for a job in v2, and not for one in v1."""
    asked, run = "is memory.low of the cgroup needed to protect pages from a batch job?", "/sys/fs/cgroup/{}train"
    for at, wanted in (("memory/", False), ("unified/", True), ("", True)):
        with contextlib.closing(sqlite3.connect(world.db)) as db, db:
            db.execute("UPDATE job_limit SET at = ?", (run.format(at).encode(),))
        sent = world.sent("ask", asked)
        equal(at, any("memory-low-protection" in title for title, _ in sent.notes.values()), wanted)


@part.case
def notes_are_for_its_devices(world, _):
    """A note for solid-state disks is sent only if no device of the job is known to be another one."""
    asked = "are random reads slow on this SSD, and how deep is the queue of an nvme device?"
    with contextlib.closing(sqlite3.connect(world.db)) as db:
        before = db.execute("SELECT rotational, network FROM device").fetchall()
        check(before, "the recorded database has no device: nothing is tested")
    for rotational, network, wanted in ((0, 0, True), (1, 0, False), (0, 1, False), (None, 0, True)):
        with contextlib.closing(sqlite3.connect(world.db)) as db, db:
            db.execute("UPDATE device SET rotational = ?, network = ?", (rotational, network))
        sent = world.sent("ask", asked)
        equal(f"rotational {rotational}, network {network}", any("ssd-queue-depth" in title for title, _ in
                                                                 sent.notes.values()), wanted)


@part.case
def hosts_by_their_short_names(world, _):
    with contextlib.closing(sqlite3.connect(world.db)) as db, db:
        db.execute("UPDATE run SET host = 'node17.acme.example'")
    try:
        sent = world.sent("ask", "is node17 slow, or 10.0.0.1 at node17.acme.example?")
    finally:
        with contextlib.closing(sqlite3.connect(world.db)) as db, db:
            db.execute("UPDATE run SET host = 'vm'")
    check("# Question\nis <host-" in sent.user and "node17" not in sent.user, f"sends {sent.user[-200:]}")


@part.case
def a_dry_run_sends_nothing(world, stack):
    server = world.server(stack)
    _, said = world.run("advise", "--llm-dry-run", **world.at(server))
    equal("connections", server.connections, 0)
    check(b"not sent" in said, f"says {said!r}")
    _, said = world.run("advise", "--llm-dry-run", CACHEMON_LLM_URL="https://127.0.0.1/v1?code=secret")
    check(b"127.0.0.1" in said and b"secret" not in said, f"says {said!r}")
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(world.argv("advise", "--llm-dry-run"), env=world.environment(), stdout=full,
                                  stderr=subprocess.PIPE, cwd=world.home, timeout=60, check=False)
        check(done.returncode == 1 and b"cannot write" in done.stderr, f"{done}")
    equal("rows", world.rows(), [])
    # A dry run needs neither an endpoint nor a user: anybody may look at the request.
    equal("as root", world.run("advise", "--llm-dry-run", as_root=True, **world.at(server))[0],
          world.run("advise", "--llm-dry-run", **world.at(server))[0])


@part.case
def a_smaller_context_is_told_less(world, stack):
    server = world.server(stack, of_exchange(good_and_bad))

    def small(x):
        if x.number == 1:
            CASES["too_long"](x)
        else:
            CASES["ok"](x)

    CASES["small"] = small
    stack.callback(CASES.pop, "small")
    out, _ = world.run("advise", "--llm", **world.at(server, "small"))
    bodies = [x.request.body for x in server.of("small")]
    equal("requests", len(bodies), 2)
    check(len(bodies[1]) < len(bodies[0]), f"{len(bodies[1])} bytes after {len(bodies[0])}")
    check(b"statements kept" in out, "no words")


RULE = """-- id: {0}
-- title: finding number {0} of a site, with a title of the usual length
-- version: 1
-- severity: always medium
SELECT job_id, 'directory' AS subject_kind, '/data/train/directory-{0}/with/a/deep/path' AS subject,
	'medium' AS severity, 0.75 AS confidence,
	printf('%,d pages of the directory came back after they were dropped, and its tasks waited for them', misses)
		AS summary,
	json_array(json_object('metric', 'misses', 'value', misses, 'unit', 'pages', 'scope', 'directory'),
		json_object('metric', 'refaults', 'value', refaults, 'unit', 'pages', 'scope', 'directory'),
		json_object('metric', 'stall_ns', 'value', stall_ns, 'unit', 'ns', 'scope', 'directory'),
		json_object('metric', 'lookups', 'value', lookups, 'unit', 'pages', 'scope', 'directory'),
		json_object('metric', 'evicted_pages', 'value', evicted_pages, 'unit', 'pages', 'scope', 'directory'))
		AS evidence,
	1.5 AS gain_value, 's' AS gain_unit, 'model' AS gain_method, '{0}' AS gain_cause FROM v_job
"""


def tokens_by_encoders(texts):
    """The larger count of two public encoders, for all of it."""
    if not shutil.which("npm") or not shutil.which("node"):
        raise Skipped("npm is not installed")
    cache, why = llm_tokens.tokenizer()
    if not cache:
        raise Skipped(f"no encoder: {why.strip()[-120:]}")
    done = subprocess.run(["node", f"{llm_tokens.HERE}/count.mjs", cache], input=json.dumps(texts),
                          capture_output=True, text=True, check=True)
    return max(sum(found) for found in json.loads(done.stdout).values())


@part.case
def thirty_findings_fit(world, _):
    """At most 8,000 input tokens, by the program's own count and by those of real encoders."""
    rules = os.path.join(world.home, "rules")
    os.makedirs(rules)
    for i in range(28):
        with open(os.path.join(rules, f"site-rule-{i}.sql"), "w", encoding="ascii") as f:
            f.write(RULE.format(f"site-rule-{i}"))
    body, said = world.run("advise", "--llm-dry-run", "--rules", rules)
    sent = Sent(body)
    equal("findings", len(sent.findings), 30)
    tokens = int(re.search(rb"about ([\d,]+) tokens", said)[1].replace(b",", b""))
    check(tokens <= 8000, f"{tokens} tokens")
    real = tokens_by_encoders([sent.system, sent.user, json.dumps(sent.schema, separators=(",", ":"))])
    check(real <= tokens, f"{real} tokens, and {tokens} were told to be the most")
    part.note(f"30 findings: {len(body):,} bytes, {tokens:,} tokens at most, {real:,} by real encoders")


@part.case
def what_does_not_fit_stays_here(world, stack):
    """Unredacted names may have any length; the report is the same."""
    rules = os.path.join(world.home, "long-rules")
    os.makedirs(rules)
    for i in range(8):
        rule = RULE.format(f"long-rule-{i}").replace("/with/a/deep/path", "/漢字" * 500).replace("'medium'", "'high'")
        with open(os.path.join(rules, f"long-rule-{i}.sql"), "w", encoding="utf-8") as f:
            f.write(rule)
    server = world.server(stack)
    out, said = world.run("advise", "--llm", "--llm-no-redact", "--rules", rules, **world.at(server))
    check(b"too long" in said and b"long-rule-7" in out, f"says {said!r}")
    equal("connections", server.connections, 0)
    world.run("advise", "--llm-dry-run", "--rules", rules)


if __name__ == "__main__":
    sys.exit(part.main(Asker))
