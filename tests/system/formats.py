#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One report, and its fixes, in all formats: the same tables, cell by cell, in HTML, Markdown
and text; no number in them that is not in the JSON; YAML is the same tree; CSV has the same
figures. The run is made here; --db: of another."""

import collections
import csv
import io
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rules  # noqa: E402
import schemas  # noqa: E402
import whatif_cache  # noqa: E402
from syslib import figures  # noqa: E402
from syslib.pages import Page, numbers, rendered  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.sametables import figure, same_cells, same_lines  # noqa: E402

part = Part(__doc__)
part.parser.add_argument("--db", help="of a run, instead of the one that is made")

# Numbers in the report's own sentences and headings.
WORDS = {"70 %", "90 %", "0.9", "0.8", "2", "0", "1"}


def made(world):
    """A run with content for every part of its report."""
    counts = {**rules.ONCE, "windows_sync": 11, "windows_async": 503, "window_log2_3": 17, "window_log2_6": 497,
              "evicted_reclaim_kswapd": 1203, "evicted_dontneed": 307, "read_calls": 40009, "refaults": 41,
              "refault_distance_pages": 41 * 5003, "refault_distance_ms": 41 * 1201, "stalls": 601}
    run = rules.Run().job({"/d": counts, "/e": {**rules.ONCE, "files": 3}, "/f": rules.ONCE}).machine()
    run.db.execute("UPDATE run SET kernel = '6.18.1', cost_probe_ns_per_lookup = 38.25, "
                   "cost_cpu_ns = 12345678, "
                   "loss_ring_drops = 13, loss_chunk_full = 17, exit_status = 0")
    run.db.execute("UPDATE job_limit SET limit_bytes = ?", (8 << 20,))
    for number, share in ((2, 3), (3, 7)):
        run.put("interval", id=number, run_id=1, start_ns=number * 100 * rules.SECOND,
                duration_ns=100 * rules.SECOND, read_on_ns=100 * rules.SECOND)
        run.counted("job_interval", {k: v // share for k, v in counts.items() if k != "files"},
                    interval_id=number, job_id=1)
    run.advice("willneed", calls=3, pages_asked=16001, pages_brought=323, redundant_pages=0, used=320,
               used_late=2, evicted_unused=1, resident_unused=0, untracked=0)
    run.advice("dontneed", calls=2, pages_asked=20011, pages_dropped=20007, dropped_refaults=10009)
    for cause, pages in (("reclaim_kswapd", 1203), ("dontneed", 307)):
        run.pushed(cause=cause, evictor_kind="others", evictor="rsync", evictor_cgroup=b"/backup.slice",
                   evictor_path=b"/backup", owner_path=b"/d", evictor_writes=1, pages=pages)
    for from_ns, to_ns, sleeps in ((0, 2048, 7), (1 << 20, 1 << 21, 577), (1 << 33, None, 17)):
        more = 2000 if sleeps == 577 else 0  # of the other files
        run.put("wait_histogram", job_id=1, from_ns=from_ns, to_ns=to_ns, sleeps=sleeps + more)
        run.put("file_wait", file_id=1, from_ns=from_ns, to_ns=to_ns, sleeps=sleeps)
    run.db.execute("UPDATE device SET reads = 4003, read_ms = 509")
    for number, pattern in ((1, "seq_4k"), (2, "mmap_seq")):
        schemas.traced(world, run, number, pattern, 128, path=f"/{'de'[number - 1]}/file".encode())
    schemas.traced(world, run, 3, "seq_4k", 128, path=b"/f/file", state="broken", reason="ring full", stands_for=None)
    whatif_cache.refer(run.db, whatif_cache.shuffled(), whatif_cache.PAGES * whatif_cache.EPOCHS)
    for role, state, hook in (("read", "live", "tp_btf:a"), ("map", "failed", None)):
        run.put("probe", run_id=1, role=role, state=state, hook=hook, reason="why")
    return world.stored(run)


class World(schemas.World):
    def __init__(self, args, work, stack):
        super().__init__(args, work, stack)
        self.db = args.db or made(self)
        self.reports = {}

    def report(self, name, verb="report"):
        if (verb, name) not in self.reports:
            more = ("--files", "50") if verb == "report" else ()
            self.reports[verb, name] = self.tool.run(verb, "--db", self.db, "--format", name, *more)
        return self.reports[verb, name]

    def json(self, verb="report"):
        return json.loads(self.report("json", verb))

    def page(self, verb="report"):
        return Page(self.report("html", verb))

    def markdown(self, verb="report"):
        return Page(rendered(self.report("md", verb)))


VERBS = ("report", "advise")


@part.case
def html_and_markdown(world, _):
    """The same tables in the same order; the same numbers in the text around them."""
    for verb in VERBS:
        same_document(world.page(verb), world.markdown(verb))


def same_document(page, other):
    equal("tables", len(other.tables), len(page.tables))
    heard = collections.Counter(other.numbers())
    for a, b in zip(page.tables, other.tables, strict=True):
        if a.kind == "numbers" and b.head()[-1] == "peak":
            same_lines(a, b)
        elif a.kind == "numbers":
            # Without the column of bars, and without the explanation of the numbers in titles.
            equal(f"cells of {a.caption}", [row[:len(a.head())] for row in b.rows],
                  [[cell.removesuffix(" pages") for cell in row] for row in a.rows])
        elif a.kind == "strips":
            equal("strips", [row[0] for row in b.rows[1:]], [row[0] for row in a.rows])
            heard.update(numbers(b.head()[0]))  # its name is next to the picture there
        else:
            same_cells(a, b)
    said = collections.Counter(page.numbers())
    # Markdown has the caption of a table before it.
    for table in page.tables:
        if table.kind == "plain":
            said.update(numbers(table.caption))
    check(not said - heard, f"only in HTML: {dict(said - heard)}")
    check(not heard - said, f"only in Markdown: {dict(heard - said)}")
    part.note(f"{len(page.tables)} tables, {sum(len(t.rows) for t in page.tables)} rows")


@part.case
def text_fits_a_terminal(world, _):
    """80 columns, however long the commands in notes are."""
    for verb in VERBS:
        lines = world.report("text", verb).splitlines()
        wide = [line for line in lines if len(line.expandtabs(8)) > 80]
        check(not wide, f"{verb}: {len(wide)} of {len(lines)} lines are wider: {wide[:3]}")


def squeezed(text):
    return re.sub(r"\s+", "", text)


@part.case
def text_and_markdown(world, _):
    """Every cell of Markdown's tables is in the text, in order, with no number between them."""
    for verb in VERBS:
        same_text(world.report("text", verb), world.markdown(verb))


def same_text(text, markdown):
    text, at, left = squeezed(text), 0, []

    def find(wanted, what):
        nonlocal at
        found = text.find(wanted, at)
        check(found >= 0, f"{what}: not in the text behind {text[max(at - 60, 0):at]!r}")
        left.append(text[at:found])
        at = found + len(wanted)

    for table in markdown.tables:
        head, *rows = table.rows
        for row in rows:
            if head[-1] == "peak":
                find(squeezed(row[0]), row)
                find(squeezed(row[2] if row[2] == "not measured" else f"peak {row[2]}"), row)
            elif head[1:] == [""] and set("".join(r[1] for r in rows)) <= set("_░▒▓█?"):
                find(squeezed("".join(row)), row)
            else:
                cells = [re.sub("^█+$", "", cell) for cell in row]
                if squeezed("".join(cells)) in text[at:]:
                    find(squeezed("".join(cells)), row)
                else:  # too wide: one line per cell, with the name of its column
                    find("".join(squeezed(f"{h}: {c}" if h else c) for h, c in zip(head, cells)), row)
    left.append(text[at:])
    words = squeezed(" ".join(markdown.words))
    unknown = {n for gap in left for n in re.findall(r"\d[\d,]*\.?\d*", gap.replace("#", ""))}
    unknown = {n for n in unknown if n not in words and n.rstrip(".,") not in words}
    heads = squeezed(" ".join(" ".join(t.head()) for t in markdown.tables))
    unknown = {n for n in unknown if n not in heads}
    check(not unknown, f"only in the text: {unknown}")


def part_of_job(report):
    """Values of the run and of the job as a whole."""
    job = {k: v for k, v in report["jobs"][0].items() if k not in ("files", "directories", "filesystems")}
    return [report["run"], job, *({"totals": j["totals"]} for j in report["jobs"][1:])]


def of_row(report, first):
    """The entries that the row is about, found by name."""
    job, found = report["jobs"][0], []
    name = re.sub(r"^\[(deleted|and below)\] ", "", first)
    for part_ in ("files", "directories", "advice"):
        found += [e for e in job[part_] if e["path"] is not None and e["path"] == name]
    if first.startswith("[all other files"):
        found += [e for e in job["files"] if e.get("rest")]
    found += [e for e in job["filesystems"]
              if e["dev"] and first.startswith(f"{e['type']} {e['dev']}")]
    if first.startswith("[files without") or first.startswith("[on none"):
        found += [e for p in ("files", "directories", "filesystems") for e in job[p]
                  if e.get("path", e.get("dev")) is None]
    return found


@part.case
def all_in_the_json(world, _):
    """Each number of each table, from the figures of the row's own entry if it has one."""
    report = world.json()
    page_size, job = report["run"]["page_size_bytes"], report["jobs"][0]
    whole = figures.known(part_of_job(report), page_size) | WORDS
    for j in report["jobs"]:
        whole |= figures.derived(j, page_size)
    whole |= figures.known([e["grades"] for e in job["directories"]], page_size)
    count = 0
    for table in world.page().tables:
        if table.kind != "plain":
            continue
        for row in table.rows[1:]:
            entries = of_row(report, row[0])
            there = figures.known(entries, page_size) if entries else whole
            for column, cell in list(enumerate(row))[1 if entries else 0:]:
                for number in numbers(cell):
                    count += 1
                    check(number in there, f"{table.head()}, {row[0]}: {number} of {cell!r} is not in the JSON")
    check(count > 150, f"{count} numbers")
    part.note(f"{count} numbers of tables")


@part.case
def sentences_in_the_json(world, _):
    """Each number in the text around tables; the count of omitted rows is not a number of the
    run."""
    report = world.json()
    page_size = report["run"]["page_size_bytes"]
    of_both = WORDS | figures.derived(report["jobs"][0], page_size)
    for verb in VERBS:
        there = of_both | figures.known([world.json(verb)], page_size)
        said = "".join(world.page(verb).words)
        if verb == "advise":
            said += "".join("\n".join(row) + "\n" for t in world.page(verb).tables for row in t.rows)
        missing = [n for n in numbers(re.sub(r"\d+ more ", "", said)) if n not in there]
        check(not missing, f"{verb}: not in the JSON: {missing}")


def table_of(page, caption):
    return next((t for t in page.tables if t.kind == "numbers" and t.caption == caption), None)


@part.case
def pictures_in_the_json(world, _):
    """The numbers of the pictures, computed again from the JSON."""
    page, job = world.page(), world.json()["jobs"][0]
    table = table_of(page, "Reads, prefetch, evictions and stall")
    columns = figures.of_timeline(job["timeline"], world.json()["run"]["lower_bounds"])
    for i, (head, wanted) in enumerate(zip(table.head(), columns, strict=True)):
        equal(head, [row[i] for row in table.rows[1:]], wanted)
    of_all = figures.least(world.json()["run"]["lower_bounds"], "")
    sizes, reads = job["totals"]["windows"]["size_pages_log2"], job["read_sizes"]
    for caption, values, mark in (
            ("Sizes of readahead windows", sizes, of_all),
            ("Sizes of read calls", reads["calls_log2"], ">=" * ("calls_log2_lower_bound" in reads))):
        table = table_of(page, caption)
        shown = [row[1] for row in table.rows[1:]] if table else []
        equal(caption, shown, [mark + figures.of_count(v) for v in figures.trimmed(values or [])])
    waits = [("Lengths of waits", job)]
    waits += [(f"Lengths of waits for {f['path']}", f) for f in job["files"] if f["wait_histogram"]]
    check(len(waits) > 1, "no file has lengths of waits")
    for caption, of in waits:
        equal(caption, [row[:2] for row in table_of(page, caption).rows[1:]], figures.of_waits(of["wait_histogram"]))
    models = job["whatif"]
    for caption, key in (("Read calls by setting", "settings"),
                         ("Mapped files by setting", "mapped_settings")):
        table = table_of(page, caption)
        shown = [row[1:] for row in table.rows[1:]] if table else []
        equal(caption, shown, figures.of_settings(models["readahead"][key]) if shown else [])
    of_curve(page, models["cache"]["curve"])


MAPS = 12  # files whose parts are shown to people


@part.case
def maps_in_the_json(world, _):
    """The parts of files: the table for each map, and its line of characters in Markdown."""
    page, job = world.page(), world.json()["jobs"][0]
    files = [f for f in job["files"] if (f.get("coverage") or {}).get("file_pages")
             and any(v for _, v in figures.leaves(f["totals"]))][:MAPS]
    equal("maps", [t.caption for t in page.maps], [f["path"] for f in files])
    lines = [t for t in world.markdown().tables if t.head()[1:] == [""] and t.head()[0] in {f["path"] for f in files}]
    equal("maps in Markdown", len(lines), len(files))
    known = 0
    for file, table, line in zip(files, page.maps, lines, strict=True):
        wanted = figures.of_coverage(file["coverage"])
        equal(f"{file['path']}: columns", table.head(), ["of the file, from", "to", *wanted])
        equal(f"{file['path']}: lines", [row[0] for row in line.rows[1:]], list(wanted))
        for column, (name, (mark, shares)) in enumerate(wanted.items(), 2):
            told = f"{file['path']}, {name}"
            same_parts(told, [(row[0], row[1], row[column]) for row in table.rows[1:]], mark, shares)
            equal(f"{told}: drawn", line.rows[column - 1][1], "".join(figures.shade(s) for s in shares))
            known += sum(s is not None for s in shares)
    check(known > 100, f"{known} shares")
    part.note(f"{known} shares of {len(files)} files")


def same_parts(what, rows, mark, shares):
    """Equal consecutive parts are one row: it belongs to its first part only."""
    at = 0
    for begin, end, shown in rows:
        equal(f"{what}: begin of a row", begin, figures.of_ratio(at / len(shares)))
        equal(f"{what}, from {begin}", shown, "-" if shares[at] is None else mark + figures.of_ratio(shares[at]))
        first = shares[at]
        while at < len(shares) and figures.of_ratio(at / len(shares)) != end:
            check((shares[at] is None) == (first is None), f"{what}: part {at} in the row from {begin}")
            check(first is None or abs(shares[at] - first) < 0.0051, f"{what}: {shares[at]} of part {at} as {shown}")
            at += 1
    equal(f"{what}: parts", at, len(shares))


def of_curve(page, curve):
    if not curve:
        return
    table = table_of(page, "Reuse distances")
    shares = figures.trimmed([*curve["reuse_distance_pages_log2"]])
    shown = [row[1] for row in table.rows[1:]]
    mark = "~" * (curve["sample"]["share"] < 1)
    wanted = [mark + figures.of_ratio(v) for v in (*shares, curve["first_touch_ratio"])]
    equal("Reuse distances", shown, wanted if curve["first_touch_ratio"] else wanted[:-1])
    points = sorted(curve["points"], key=lambda p: p["cache_bytes"])
    table = table_of(page, "Hit ratio by cache size")
    for row in table.rows[1:]:
        at = figure(row[0])
        # Sizes have three digits.
        below = [p for p in points if p["cache_bytes"] <= at * 0.994] or points[:1]
        above = [p for p in points if p["cache_bytes"] >= at * 1.006] or points[-1:]
        for cell, key in zip(row[1:], ("hit_ratio", "hit_ratio_low", "hit_ratio_high", "opt_hit_ratio")):
            equal(f"{key} at {row[0]}: mark", cell[0] == "~", mark == "~" and not key.endswith(("_low", "_high")))
            low = 0 if below[-1] is points[0] else min(below[-1][key], above[0][key])
            high = max(below[-1][key], above[0][key])
            check(low - 0.0006 <= figure(cell) / 100 <= high + 0.0006,
                  f"{key} at {row[0]}: {cell}, not from {low} to {high}")


@part.case
def yaml_is_the_json(world, _):
    text = subprocess.run(["/usr/bin/python3", "-c", "import json, sys, yaml\n"
                           "json.dump(yaml.safe_load(sys.stdin), sys.stdout)"],
                          input=world.report("yaml"), capture_output=True, text=True, check=True).stdout
    check(json.loads(text) == world.json(), "YAML is another tree")


@part.case
def csv_is_the_json(world, _):
    """The rows of job, directories, files and the rest, and each of their figures."""
    rows = list(csv.DictReader(io.StringIO(world.report("csv"))))
    wanted = []
    for job in world.json()["jobs"]:
        wanted += [("job", job), *(("directory", e) for e in job["directories"]),
                   *(("rest" if e.get("rest") else "file", e) for e in job["files"])]
    equal("rows", [r["scope"] for r in rows], [scope for scope, _ in wanted])
    flat = {"used": ("prefetch", "fate", "used"), "windows_sync": ("windows", "sync"),
            "evicted_dontneed": ("evicted_pages", "dontneed"), "faults_minor": ("faults", "minor"),
            "prefetched_async": ("prefetch", "origin", "async"), "hits": ("hits",), "misses": ("misses",),
            "lookups": ("lookups",), "stall_ns": ("stall_ns",), "waste_bytes": ("waste_bytes",),
            "hit_ratio": ("hit_ratio",), "prefetch_accuracy": ("prefetch", "accuracy")}
    for row, (scope, entry) in zip(rows, wanted, strict=True):
        for name, keys in flat.items():
            value = entry["totals"]
            for key in keys:
                value = value[key]
            got = None if row[name] == "" else float(row[name])
            equal(f"{name} of {scope} {row['path']}", got, value)


@part.case
def lists_as_tables(world, _):
    """The commands in docs/json.md that make tables of lists: as many rows as the list has."""
    with open(os.path.join(rules.ROOT, "docs", "json.md"), encoding="utf-8") as f:
        programs = re.findall(r"--format json \| jq -r '(.*)'$", f.read(), re.M)
    check(len(programs) >= 3, f"{len(programs)} commands")
    job = world.json()["jobs"][0]
    for program in programs:
        done = subprocess.run(["jq", "-r", program], input=world.report("json"), capture_output=True, text=True)
        equal(f"{program}: {done.stderr}", done.returncode, 0)
        wanted = job[re.match(r"\.jobs\[0\]\.(\w+)", program)[1]]
        rows = list(csv.reader(io.StringIO(done.stdout)))
        equal(program, len(rows), wanted["buckets"] if "buckets" in wanted else len(wanted))


if __name__ == "__main__":
    sys.exit(part.main(World))
