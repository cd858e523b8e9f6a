# SPDX-License-Identifier: BSD-2-Clause
"""cachemon from outside: started, waited for, ended, and its report read."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess

from .machine import until
from .part import Failed, check, equal

TIMEOUT_S = 300
SUMS = ("read_calls", "read_bytes", "lookups", "hits", "misses", "demand_pages",
        "prefetched_pages", "written_pages", "stall_ns", "refaults")


def tail(text, lines=6):
    return " | ".join(text.strip().splitlines()[-lines:]) or "(silent)"


class Watch:
    """A running cachemon watch."""

    def __init__(self, tool, options, command, **popen):
        self.db = popen.pop("db", None) or tool.fresh(".db")
        argv = [*popen.pop("prefix", []), tool.cachemon, "watch", *([] if popen.pop("no_db", False) else ["--db", self.db]),
                *options, *(["--", *command] if command else [])]
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        self.process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, **popen)
        self.tool = tool
        self.errors = ""

    def pid(self):
        return self.process.pid

    def query(self, sql):
        """One value of the database while it is written; None before that."""
        if self.process.poll() is not None and not os.path.exists(self.db):
            raise Failed(f"watch exits {self.process.returncode}: {tail(self.finish()[1])}")
        with contextlib.suppress(sqlite3.Error):
            with contextlib.closing(sqlite3.connect(f"file:{self.db}?mode=ro", uri=True)) as db:
                row = db.execute(sql).fetchone()
                return row[0] if row else None
        return None

    def intervals(self):
        # Ids grow, rows are merged.
        return self.query("SELECT max(id) FROM interval") or 0

    def wait_intervals(self, more):
        """Waits for that many more intervals: everything counted in them is stored."""
        want = self.intervals() + more
        until(lambda: self.intervals() >= want or self.process.poll() is not None,
              f"{more} more intervals in {self.db}", TIMEOUT_S)
        if self.process.poll() is not None:
            raise Failed(f"watch has ended: {self.process.returncode}: {tail(self.finish()[1])}")

    def wait_started(self):
        """The probes are on and the job is known: the first interval was written."""
        self.wait_intervals(1)

    def wait_sliced(self):
        """Waits until the per-read hook is sliced."""
        until(lambda: self.query("SELECT sliced FROM run") == 1 or self.process.poll() is not None,
              f"slices in {self.db}", TIMEOUT_S)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def finish(self):
        try:
            out, self.errors = self.process.communicate(timeout=TIMEOUT_S)
        except BaseException:
            self.process.kill()
            self.process.communicate()
            raise
        return out, self.errors

    def end(self, status=0):
        """Waits for the end and returns (whole report, the watched job, stdout)."""
        out, errors = self.finish()
        if self.process.returncode != status:
            raise Failed(f"watch exits {self.process.returncode}, not {status}: {tail(errors)}")
        return (*self.tool.report(self.db), out)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        self.process.wait()


class Tool:
    def __init__(self, cachemon, work):
        self.cachemon = cachemon
        self.work = work
        self.serial = 0

    def fresh(self, suffix):
        self.serial += 1
        return os.path.join(self.work, f"{self.serial}{suffix}")

    def watch(self, stack, options=(), command=None, **popen):
        w = Watch(self, options, command, **popen)
        stack.callback(w.kill)
        return w

    def run(self, *argv, binary=False, status=0):
        done = subprocess.run([self.cachemon, *argv], capture_output=True, timeout=TIMEOUT_S,
                              stdin=subprocess.DEVNULL)
        if done.returncode != status:
            raise Failed(f"cachemon {argv[0]} exits {done.returncode}: "
                         f"{tail(done.stderr.decode(errors='replace'))}")
        return done.stdout if binary else done.stdout.decode()

    def report(self, db, run="last"):
        report = json.loads(self.run("report", "--db", db, "--run", run, "--format", "json",
                                     "--files", "100000"))
        equal("schema", report["schema"], 1)
        watched = [j for j in report["jobs"] if not j.get("other")]
        equal("watched jobs", len(watched), 1)
        consistent(report, watched[0])
        return report, watched[0]


def consistent(report, job):
    """Holds in every run, whatever the job did."""
    equal("conservation law, pages off", report["run"]["law_error_pages"], 0)
    adds_up(job)
    for name in SUMS:
        total = job["totals"][name]
        for part in ("files", "directories"):
            values = [e["totals"][name] for e in job[part]]
            if total is None or job["totals"].get(f"{name}_estimated"):
                check(all(v is None for v in values), f"{name} is not exact in the job, and not null in {part}")
            else:
                equal(f"{name}, sum of {part} against the job", sum(v or 0 for v in values), total)
    t = job["totals"]
    if t["lookups"] is not None:
        equal("hits", t["hits"], t["lookups"] - t["misses"])
    if t["prefetched_pages"] is not None and t["prefetch"]["fate"]["used"] is not None:
        equal("sum of fates", sum(t["prefetch"]["fate"].values()
                                  if not any(k.endswith("_estimated") for k in t["prefetch"]["fate"])
                                  else [v for k, v in t["prefetch"]["fate"].items()
                                        if not k.endswith("_estimated")]), t["prefetched_pages"])


def figures(tree, path=()):
    """(keys, value, its object) of each figure."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from figures(value, (*path, key))
        else:
            yield (*path, key), value, tree


def adds_up(job):
    """The buckets of the timeline add up to the totals, figure by figure."""
    line = {keys: value for keys, value, _ in figures(job["timeline"])}
    for keys in ("start_ns", "duration_ns", "intervals", "lookups"):
        equal(f"buckets of {keys}", len(line[(keys,)] or line[("start_ns",)]),
              job["timeline"]["buckets"])
    for keys, total, beside in figures(job["totals"]):
        if keys == ("prefetch", "fate", "resident_unused"):
            keys = (*keys[:-1], "resident_unused_change")
        if keys not in line or beside.get(f"{keys[-1]}_estimated"):
            continue
        name = ".".join(keys)
        # In a sliced run, only the beginning is known.
        if total is None and line[keys] and None in line[keys]:
            continue
        if total is None or line[keys] is None:
            equal(f"{name}, measured in the timeline and in all", line[keys], total)
        else:
            equal(f"{name}, sum of the timeline", sum(line[keys]), total)


def raw_path(entry):
    """The bytes of a reported path."""
    path = entry["path"]
    if path is None or not entry.get("path_escaped"):
        return None if path is None else path.encode()
    out, i = bytearray(), 0
    raw = path.encode()
    while i < len(raw):
        if raw[i:i + 2] == b"\\x":
            out.append(int(raw[i + 2:i + 4], 16))
            i += 4
        else:
            check(raw[i:i + 1] != b"\\", f"a bare backslash in an escaped path: {path!r}")
            out.append(raw[i])
            i += 1
    return bytes(out)


def named_files(job):
    return [e for e in job["files"] if not e.get("rest")]


def file_of(job, dev, ino, gen=None):
    found = [e for e in named_files(job) if e["dev"] == dev and e["ino"] == ino]
    return found[0] if len(found) == 1 else None


def on_device(job, dev):
    """Sums over the job's files on one device: its reads from a filesystem made for it."""
    sums = {name: 0 for name in SUMS}
    for entry in named_files(job):
        if entry["dev"] == dev:
            for name in SUMS:
                if sums[name] is not None:
                    value = entry["totals"][name]
                    sums[name] = None if value is None else sums[name] + value
    return sums
