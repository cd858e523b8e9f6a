#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The report of a job on many nodes, compared with figures computed from the inputs of the merge,
not from the merged database; and a job that was really watched, under the names of several
hosts."""

import contextlib
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True

from syslib.made_fleet import PAGE, SECOND, Node  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.schema import valid  # noqa: E402

part = Part(__doc__)
BROUGHT = ("demand_pages", "prefetched_sync", "prefetched_async", "prefetched_willneed", "prefetched_readahead2",
           "prefetched_mmap_around")
EVICTED = ("evicted_reclaim_kswapd", "evicted_reclaim_direct", "evicted_reclaim_memcg", "evicted_dontneed",
           "evicted_drop_caches", "evicted_truncate", "evicted_direct_io", "evicted_other", "evicted_invalidate",
           "evicted_dontcache")
LISTED_PROCESSES, LEAST_JUDGED = 20, 5


class World:
    def __init__(self, args, work, _):
        self.cachemon, self.work, self.number = args.cachemon, work, 0

    def fresh(self, end=".db"):
        self.number += 1
        return os.path.join(self.work, f"{self.number}{end}")

    def run(self, *words, status=0):
        done = subprocess.run([self.cachemon, *words], capture_output=True, text=True, cwd=self.work)
        equal(f"status of {words}: {done.stderr}", done.returncode, status)
        return done.stdout if not status else done.stderr

    def merged(self, nodes):
        out = self.fresh()
        self.run("merge", out, *nodes)
        return out

    def data(self, out, job="slurm:42", *words):
        text = self.run("report", out, "--job", job, "--json", *words)
        valid(text, "report-nodes")
        return json.loads(text)


def counts(scale, absent=()):
    """All counters that the figures need."""
    row = dict.fromkeys((*BROUGHT, *EVICTED), 0)
    row.update(read_bytes=scale * 70001, read_calls=scale, lookups=scale * 1000, misses=scale * 31 + 7,
               demand_pages=scale * 11, prefetched_async=scale * 5, prefetched_sync=3, refaults=scale * 2,
               evicted_other=scale, evicted_reclaim_memcg=4, stall_ns=scale * 3_000_001, stalls=scale)
    row.update(dict.fromkeys(absent))
    return row


def file_of(i, pages):
    return (b"/data/shard-%03d" % i, 100 * PAGE + 1, pages)


def fleet(world, nodes=7, absent=(), **one):
    """Nodes with runs of job 42 and of others; the last one works ten times as much, in two runs."""
    paths = []
    for i in range(nodes):
        node = Node(world.fresh(), f"node{i:02d}")
        last = i == nodes - 1
        files = [file_of(k, 90 + k) for k in range(3)] + [file_of(10 + i, 5)] + [(b"/data/again", 10 * PAGE, 12 + i)]
        ranks = [(1000 + k, f"rank{k}", 3 * (i * 100 + k) * 10**6, 3000 * i) for k in range(4)]
        node.run(41, counts=counts(999), files=files, processes=ranks)
        node.run(42, counts=counts(100 if last else 10 + i % 3, absent if i == 1 else ()), files=files, processes=ranks,
                 wall_s=90 if last else 30 + i, **one)
        node.run(420, counts=counts(5), files=files)
        if last:
            node.run(42, counts=counts(2), files=[file_of(0, 50)], processes=ranks[:1], start=50 * SECOND)
        paths.append(node.done())
    return paths


def expected(paths, job="42"):
    """{node: {figure: value or None}}, from the inputs."""
    nodes = {}
    for path in paths:
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.row_factory = sqlite3.Row
            for row in db.execute("SELECT r.host, r.page_size_bytes, j.* FROM run r JOIN job j ON j.run_id = r.id "
                                  "WHERE j.external_id = ? ORDER BY r.id", (job,)):
                part_of = {"read_bytes": row["read_bytes"], "misses": row["misses"], "refaults": row["refaults"],
                           "brought_bytes": added(row, BROUGHT, PAGE), "evicted_pages": added(row, EVICTED, 1),
                           "stall_s": row["stall_ns"], "cpu_s": row["cpu_ns"], "wall_s": row["wall_ns"],
                           "lookups": row["lookups"]}
                had = nodes.get(row["host"])
                nodes[row["host"]] = part_of if had is None else {
                    k: None if had[k] is None or part_of[k] is None else had[k] + part_of[k] for k in had}
    for n in nodes.values():
        n["hit_ratio"] = None if None in (n["lookups"], n["misses"]) else (n["lookups"] - n["misses"]) / n["lookups"]
    return nodes


def added(row, names, unit):
    values = [row[n] for n in names]
    return None if None in values else sum(values) * unit


def near(what, got, want):
    if want is None or got is None:
        equal(what, got, want)
    else:
        check(abs(got - want) <= 1e-9 * max(1, abs(want)), f"{what}: expected {want}, got {got}")


def compare(data, nodes):
    equal("nodes", [n["host"] for n in data["nodes"]], sorted(nodes))
    for figure, got in data["figures"].items():
        unit = SECOND if figure.endswith("_s") else 1
        for n in data["nodes"]:
            want = nodes[n["host"]][figure]
            near(f"{figure} of {n['host']}", n[figure], None if want is None else want / unit)
        have = {h: n[figure] / unit for h, n in nodes.items() if n[figure] is not None}
        equal(f"{figure}: not measured", got["not_measured"], sorted(set(nodes) - set(have)))
        equal(f"{figure}: nodes", got["nodes"], len(have))
        values = list(have.values())
        median = statistics.median(values)
        mad = statistics.median(abs(v - median) for v in values)
        if figure == "hit_ratio":
            lookups = sum(nodes[h]["lookups"] for h in have)
            near("hit ratio of all", got["total"], (lookups - sum(nodes[h]["misses"] for h in have)) / lookups)
        else:
            near(f"{figure}: total", got["total"], None if figure == "wall_s" else sum(values))
        near(f"{figure}: median", got["median"], median)
        near(f"{figure}: mad", got["mad"], mad)
        near(f"{figure}: imbalance", got["imbalance"], max(values) / statistics.mean(values) if sum(values) else None)
        for end, pick in (("min", min), ("max", max)):
            near(f"{figure}: {end}", got[end]["value"], pick(values))
            near(f"{figure}: {end} on {got[end]['node']}", have[got[end]["node"]], pick(values))
        away = max(3 * mad, 0.1 * median)
        beyond = {h for h, v in have.items() if (v < median - away if figure == "hit_ratio" else v > median + away)}
        equal(f"{figure}: beyond", set(got["beyond_limit"]), beyond if len(have) >= LEAST_JUDGED else set())


@part.case
def figures(world, _):
    """Totals, spread and stragglers of seven nodes; one has two runs and ten times the work."""
    paths = fleet(world)
    data, nodes = world.data(world.merged(paths)), expected(paths)
    compare(data, nodes)
    equal("straggler", data["figures"]["stall_s"]["beyond_limit"], ["node06"])
    equal("its runs", [len(n["runs"]) for n in data["nodes"]], [1] * 6 + [2])
    equal("totals", data["totals"]["read_bytes"], sum(n["read_bytes"] for n in nodes.values()))
    equal("name of the job", data["job"]["job_name"], "train")
    near("time of the job", data["job"]["duration_s"], 90)


@part.case
def not_measured(world, _):
    """A node that did not measure a figure is named, and is not counted as 0."""
    paths = fleet(world, absent=("stall_ns", "misses"))
    out = world.merged(paths)
    data = world.data(out)
    compare(data, expected(paths))
    equal("without stall", data["figures"]["stall_s"]["not_measured"], ["node01"])
    equal("sum of counters", data["totals"]["stall_ns"], None)
    text = world.run("report", out, "--job", "slurm:42")
    check(re.search(r"Not in the figures of waited, because it was not measured:\s+node01\.", text), "not named in text")
    check("# the node that waited most" in world.run("report", out, "--job", "slurm:42", "--format", "md"), "no node to look at")
    with contextlib.closing(sqlite3.connect(out)) as db:
        db.execute("UPDATE job SET stall_ns = NULL")
        db.commit()
    text = world.run("report", out, "--job", "slurm:42", "--format", "md")
    check("# the node that took longest" in text and "waited most" not in text, "a wait that was not measured")


@part.case
def lower_bounds_are_said(world, _):
    """The programs of a node had no room for the state of some tasks."""
    paths = fleet(world)
    out = world.merged(paths)
    said = "on 1 of 7 nodes events were lost"
    check(said not in world.run("report", out, "--job", "slurm:42"), "a loss that did not happen")
    with contextlib.closing(sqlite3.connect(out)) as db:
        db.execute("UPDATE run SET loss_state_drops = 3 WHERE host = 'node02'")
        db.commit()
    check(said in " ".join(world.run("report", out, "--job", "slurm:42").split()), "no word about losses")


@part.case
def few_nodes(world, _):
    """Below five nodes, none stands out."""
    paths = fleet(world, nodes=4)
    out = world.merged(paths)
    data = world.data(out)
    compare(data, expected(paths))
    check(all(f["limit"] is None for f in data["figures"].values()), "a limit without enough nodes")
    check("judged for 5 nodes or more" in world.run("report", out, "--job", "slurm:42", "--brief"), "the text does not say it")


@part.case
def same_files(world, _):
    """Bytes that each node brought in of the same file, and what sharing would have saved at least."""
    paths = fleet(world)
    data = world.data(world.merged(paths))
    by_file = {}
    for path in paths:
        with contextlib.closing(sqlite3.connect(path)) as db:
            for host, name, size, brought in db.execute(
                    f"SELECT r.host, f.path, f.size_bytes, {' + '.join('f.' + b for b in BROUGHT)} FROM run r JOIN job j "
                    "ON j.run_id = r.id JOIN file f ON f.job_id = j.id WHERE j.external_id = '42'"):
                shares = by_file.setdefault((name.decode(), size), {})
                shares[host] = shares.get(host, 0) + brought * PAGE
    shared = {k: v for k, v in by_file.items() if len(v) > 1}
    equal("files on several nodes", data["same_files"]["files"], len(shared))
    equal("listed", {f["path"] for f in data["same_files"]["listed"]}, {k[0] for k in shared})
    sums = {"again_bytes": 0, "shared_bytes": 0}
    for f in data["same_files"]["listed"]:
        shares = shared[f["path"], f["size_bytes"]]
        whole = -(-f["size_bytes"] // PAGE) * PAGE
        once = {h: min(b, whole) for h, b in shares.items()}
        want = {"again_bytes": sum(b - once[h] for h, b in shares.items()),
                "shared_bytes": sum(once.values()) - min(whole, sum(once.values()))}
        equal(f"{f['path']} by node", {s["host"]: s["brought_bytes"] for s in f["by_node"]}, shares)
        equal(f"{f['path']} in all", f["brought_bytes"], sum(shares.values()))
        equal(f"mount of {f['path']}", f["mount"], "/data")
        for key, value in want.items():
            equal(f"{key} of {f['path']}", f[key], value)
            sums[key] += value
    for key, value in sums.items():
        equal(key, data["same_files"][key], value)
    equal("compared", data["same_files"]["compared_bytes"], sum(sum(v.values()) for v in by_file.values()))
    order = [f["shared_bytes"] for f in data["same_files"]["listed"]]
    equal("order", order, sorted(order, reverse=True))


@part.case
def other_sizes_and_mounts(world, _):
    """Files of one path are others if their size or mount differs."""
    paths = []
    for i, (size, mount) in enumerate(((PAGE, b"/data"), (2 * PAGE, b"/data"), (PAGE, b"/scratch"), (PAGE, b"/data"))):
        node = Node(world.fresh(), f"n{i}")
        node.run(42, counts=counts(1), files=[(b"/data/x", size, 1)], mount=mount)
        paths.append(node.done())
    listed = world.data(world.merged(paths))["same_files"]["listed"]
    equal("files", [(f["path"], f["nodes"], [s["host"] for s in f["by_node"]]) for f in listed], [("/data/x", 2, ["n0", "n3"])])


@part.case
def processes(world, _):
    """Those that waited longest, of all nodes."""
    paths = fleet(world, nodes=9)
    got = world.data(world.merged(paths))["processes"]
    want = []
    for path in paths:
        with contextlib.closing(sqlite3.connect(path)) as db:
            want += db.execute("SELECT r.host, p.pid, p.command, sum(p.stall_ns), sum(p.stalls), sum(p.rchar_bytes) FROM run r "
                               "JOIN job j ON j.run_id = r.id JOIN interval i ON i.run_id = r.id JOIN process_interval p ON "
                               "p.interval_id = i.id WHERE j.external_id = '42' GROUP BY r.id, p.pid").fetchall()
    equal("all", got["all"], len(want))
    want.sort(key=lambda p: -p[3])
    equal("listed", len(got["listed"]), LISTED_PROCESSES)
    known = {(p[0], p[1]): p for p in want}
    for p, rank in zip(got["listed"], want):
        near("the next longest wait", p["stall_s"], rank[3] / SECOND)
        host, pid, command, stall, stalls, rchar = known[p["host"], p["pid"]] if rank[1] != 1000 else rank
        equal("process", (p["command"], p["stalls"], p["rchar_bytes"]), (command, stalls, rchar))


@part.case
def formats(world, _):
    """One screen, the whole text, Markdown, HTML and YAML have the same totals; CSV is refused."""
    out = world.merged(fleet(world))
    total = sum(n["read_bytes"] for n in expected(fleet(world)).values())
    shown = f"{total / 2**20:.1f} MiB"
    brief = world.run("report", out, "--job", "slurm:42", "--brief")
    check(all(len(line) <= 80 for line in brief.splitlines()), "a line of the screen is too long")
    for words in (["--brief"], ["--full"], ["--format", "md"], ["--format", "html"]):
        text = world.run("report", out, "--job", "slurm:42", *words).replace("<wbr>", "")
        check(shown in text, f"{words} lacks {shown}")
        check("node06" in text and "rank3" in text and "/data/shard-000" in text, f"{words} lacks a name")
    check(str(total) in world.run("report", out, "--job", "slurm:42", "--format", "yaml"), "YAML lacks the total")
    check("choose one of its runs" in world.run("report", out, "--job", "slurm:42", "--format", "csv", status=1), "CSV")


@part.case
def one_node(world, _):
    """A job of one node has the report of its last run, also by KIND:NAME; with --run of that run."""
    node = Node(world.fresh(), "single")
    runs = [node.run(i, counts=counts(i), files=[file_of(1, i)]) for i in (5, 6, 7)]
    path = node.done()
    for words, run in ((["--job", "slurm:6"], runs[1]), (["--job", "slurm:6", "--run", "2"], runs[1]),
                       (["--job", "slurm:7"], runs[2])):
        data = json.loads(world.run("report", path, *words, "--json"))
        equal(f"run of {words}", data["run"]["id"], run)
        equal("jobs", [j["external_id"] for j in data["jobs"]], [str(4 + run)])
    check("no job 'slurm:99'" in world.run("report", path, "--job", "slurm:99", status=1), "an unknown job")
    out = world.merged(fleet(world))
    data = json.loads(world.run("report", out, "--job", "slurm:42", "--run", "2", "--json"))
    equal("run of a node", (data["run"]["id"], data["run"]["host"]), (2, "node00"))


@part.case
def really_watched(world, _):
    """Four watches of a cold file of known size, each under the name of another host."""
    data = world.fresh(".data")
    with open(data, "wb") as f:
        f.write(os.urandom(8 << 20))
        f.flush()
        os.fsync(f.fileno())
    paths, waited = [], set()  # a fast device may bring the pages before dd would sleep
    for i in range(4):
        paths.append(world.fresh())
        with open(data, "rb") as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        world.run("watch", "--db", paths[-1], "--level", "full", "--job", "slurm:42", "--", "dd", f"if={data}",
                  "of=/dev/null", "bs=64k")
        with contextlib.closing(sqlite3.connect(paths[-1])) as db, db:
            db.execute("UPDATE run SET host = ?", (f"host{i}",))
            slept = db.execute("SELECT sum(stalls) FROM process_interval WHERE command = 'dd'").fetchone()[0]
        if slept:
            waited.add(f"host{i}")
    got = world.data(world.merged(paths))
    listed = {f["path"]: f for f in got["same_files"]["listed"]}
    equal("bytes of the file on each node", [s["brought_bytes"] for s in listed[data]["by_node"]], [8 << 20] * 4)
    equal("saved by a shared cache", listed[data]["shared_bytes"], 3 * (8 << 20))
    check(all(n["read_bytes"] >= 8 << 20 for n in got["nodes"]), "a node read less than the file")
    equal("nodes where dd waited", {p["host"] for p in got["processes"]["listed"] if p["command"] == "dd" and p["stalls"]},
          waited)


if __name__ == "__main__":
    sys.exit(part.main(World))
