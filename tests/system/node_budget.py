#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The budget of a node's daemon: above it detail is given up, and comes back with a larger one; the
counts of all jobs are those of their own accounts meanwhile; the cost is that of the kernel."""

import collections
import contextlib
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemon import Daemon, make_groups, start_jobs, write_config  # noqa: E402
from cost import COLLECTOR, set_stats  # noqa: E402
from metrics import parse, total, value  # noqa: E402
from syslib.jobworld import FILES, expect, lines_of, main  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402

part = Part(__doc__)
TINY, LARGE = "0.01%", "100%"
CALLS = "vfs_calls"
DETAILS = (CALLS, "process_rows", "file_rows", "intervals")
LONGER = 6
INTERVAL_NS = 1000000000
# Prices measured during 20 ms represent some seconds.
PRICES = 1.25
# The kernel's values are read after each share was published, up to an interval later.
SHARES = 1.5


Published = collections.namedtuple("Published", "before series after")


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Node:
    """Two jobs that read the same files, and their daemon."""

    def __init__(self, world, stack, budget, name):
        self.world = world
        self.groups = make_groups(stack, 2, name)
        self.jobs, self.tallies = start_jobs(world, stack, self.groups)
        self.texts = world.tool.fresh(".d")
        os.mkdir(self.texts)
        self.turn = 0
        _, self.config = write_config(world, self.settings(budget))
        self.daemon = Daemon(world, stack, self.groups, "--config", self.config, "--interval", "1s")
        self.daemon.wait_runs(2)

    def settings(self, budget):
        return f"budget: {budget}\nmetrics:\n  textfile_directory: {self.texts}\n  vfs: calls\n"

    def reload(self, budget):
        with open(self.config, encoding="utf-8") as f:
            text = f.read()
        lines = [f"budget: {budget}" if line.startswith("budget:") else line for line in text.splitlines()]
        with open(self.config, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        self.daemon.process.send_signal(signal.SIGHUP)

    def work(self):
        """The first job does most."""
        self.turn += 1
        for _ in range(9):
            self.jobs[0].do("read", self.turn % FILES, "in")
        self.jobs[1].do("read", self.turn * 5 % FILES, "in")
        return True

    def series(self):
        with contextlib.suppress(FileNotFoundError):
            with open(f"{self.texts}/cachemon.prom", encoding="utf-8") as f:
                return parse(f.read())
        return {}

    def work_until(self, condition, what):
        self.daemon.until(lambda: self.work() and condition(), what)

    def judged(self):
        return ("cachemon_cost_ratio", ()) in self.series()

    def run_ns(self):
        """Of its programs, by the kernel; but not of those that the daemon itself runs."""
        shown = subprocess.run(["bpftool", "--json", "prog", "show"], check=True, capture_output=True).stdout
        own = {p["id"] for p in json.loads(shown) if p.get("name", "").startswith(COLLECTOR)}
        directory, of = f"/proc/{self.daemon.process.pid}/fdinfo", {}
        for fd in os.listdir(directory):
            with contextlib.suppress(FileNotFoundError), open(f"{directory}/{fd}", encoding="ascii") as f:
                info = dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)
                if "prog_id" in info and "run_time_ns" in info:
                    of[int(info["prog_id"])] = int(info["run_time_ns"])
        return sum(ns for prog, ns in of.items() if prog not in own)

    def kernel(self):
        """CPU time by the kernel, in seconds."""
        jobs = sum(cpu_s(job.process.pid) for job in self.jobs)
        return {"probes": self.run_ns() / 1e9, "collector": cpu_s(self.daemon.process.pid), "jobs": jobs}

    def published(self):
        """The next figures, and the kernel's before and after."""
        before, was = self.kernel(), self.series()
        self.work_until(lambda: self.series() != was, "another interval")
        return Published(before, self.series(), self.kernel())

    def rows(self, table, run, after_ns):
        """Rows of intervals that begin then or later."""
        return self.daemon.query(f"SELECT count(*) FROM {table} JOIN interval ON id = interval_id WHERE "
                                 f"run_id = {run} AND start_ns >= {after_ns}")[0][0]

    def end(self):
        """The counts are exact; returns the reports."""
        self.daemon.end()
        reports = []
        for group, tally in zip(self.groups, self.tallies):
            report, job = self.daemon.report(group)
            expect(self.world, job, lines_of(tally))
            equal("processes", job["processes"], 1)
            reports.append(report)
        return reports


def given_up(series, detail):
    return value(series, "detail_given_up", detail=detail)


@part.case
def a_tiny_budget_and_a_larger_one(world, stack):
    node = Node(world, stack, TINY, "tiny")
    daemon = node.daemon
    node.work_until(node.judged, "a share of the cost")
    series = node.series()
    equal("budget", value(series, "budget_ratio"), 0.0001)
    check(value(series, "cost_ratio") > 0.0001, "a daemon that costs nothing")
    # The calls cost nothing that is known before they were timed.
    node.work_until(lambda: all(given_up(node.series(), detail) for detail in DETAILS), "all detail")
    check(not total(node.series(), "job_vfs_calls_total"), "calls that are not counted")
    daemon.wait_said("budget: counting costs")
    runs = [daemon.run_of(group) for group in node.groups]
    node.work_until(lambda: len(daemon.query("SELECT 1 FROM shed WHERE to_ns IS NULL")) == 2 * len(DETAILS), "its record")
    since = {run: daemon.query(f"SELECT max(from_ns) FROM shed WHERE run_id = {run}")[0][0] for run in runs}
    long = "SELECT count(*) FROM interval WHERE duration_ns > {} AND start_ns >= {} AND run_id = {}"
    for run in runs:
        node.work_until(lambda r=run: daemon.query(long.format(LONGER * INTERVAL_NS * 0.9, since[r], r))[0][0],
                        "a longer interval")
        check(node.rows("file_interval", run, 0) > 0, "no rows of files before")
        equal("rows of files", node.rows("file_interval", run, since[run]), 0)
        equal("rows of processes", node.rows("process_interval", run, since[run]), 0)
        check(node.rows("job_interval", run, since[run]) > 0, "no counts of intervals")
    node.reload(LARGE)
    daemon.wait_said("all detail is recorded again")
    node.work_until(lambda: all(value(node.series(), "detail_given_up", detail=d) == 0 for d in DETAILS), "detail")
    equal("budget", value(node.series(), "budget_ratio"), 1)
    node.work_until(lambda: total(node.series(), "job_vfs_calls_total"), "calls")
    before = {run: daemon.query(f"SELECT max(start_ns) FROM interval WHERE run_id = {run}")[0][0] for run in runs}
    node.work_until(lambda: all(node.rows("file_interval", run, before[run] + 1) for run in runs), "rows of files")
    reports = node.end()
    equal("times it was said", daemon.errors.count("counting costs"), 2)
    for report in reports:
        shed = {s["detail"]: s for s in report["run"]["cost"]["shed"]}
        equal("detail", set(shed), set(DETAILS))
        for s in shed.values():
            check(0 <= s["from_s"] < s["to_s"], f"from {s['from_s']} to {s['to_s']}")
            equal("reason", s["reason"], "counting exceeded the budget of the node")


@part.case
def a_large_budget_and_the_cost(world, stack):
    set_stats(stack)
    node = Node(world, stack, LARGE, "large")
    node.work_until(node.judged, "a share of the cost")
    first, of = node.series(), node.kernel()
    node.work_until(lambda: value(node.series(), "cost_ratio") != value(first, "cost_ratio"), "another share")
    of = {name: now - of[name] for name, now in node.kernel().items()}
    told, share = value(node.series(), "cost_ratio"), (of["probes"] + of["collector"]) / of["jobs"]
    part.note(f"share {told:.1%}, by the kernel {share:.1%}")
    check(1 / SHARES < told / share < SHARES, "share")
    last = node.published()
    for kind, unit in (("probes", 0), ("collector", 2 / os.sysconf("SC_CLK_TCK"))):
        told = value(last.series, "cpu_seconds_total", kind=kind)
        least, most = last.before[kind], last.after[kind]
        part.note(f"{kind}: {told:.3f} s, by the kernel {least:.3f} to {most:.3f}")
        check(least / PRICES - unit <= told <= most * PRICES + unit, f"cost of {kind}")
    check(total(last.series, "job_vfs_calls_total") > 0, "no calls")
    for detail in DETAILS:
        equal(detail, given_up(last.series, detail), 0)
    reports = node.end()
    check("budget:" not in node.daemon.errors, f"said: {node.daemon.errors}")
    for report in reports:
        equal("given up", report["run"]["cost"]["shed"], [])


if __name__ == "__main__":
    sys.exit(main(part))
