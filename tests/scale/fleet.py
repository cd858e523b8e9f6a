#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""From a node to a fleet: the CPU time, memory and bytes of a merge, and of the report of a job
over many nodes, in databases made here whose sums are known."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(ROOT, "fault"), os.path.join(ROOT, "system")]

from faultlib.part import Part, expect  # noqa: E402
from syslib.made_fleet import PAGE, Node  # noqa: E402

part = Part("fleet", __doc__, count=("jobs of a node, and nodes of a job", 500, 100))
NODES, FILES, INTERVALS, RANKS = 4, 40, 36, 8
REPEATS = 3
MERGE_S, REPORT_S, MANY_S, MEMORY_MAX = 5.0, 2.0, 10.0, 200 << 20
# A process begins with its parent's peak of memory, so that its parent has to be small.
MEASURED = ("import json, os, sys; pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); "
            "_, code, u = os.wait4(pid, 0); print(json.dumps([os.waitstatus_to_exitcode(code), u.ru_utime + u.ru_stime, "
            "u.ru_maxrss << 10]), file=sys.stderr)")
# Counters of a row that are 0, which take one byte each, as in the rows of a real run.
ZEROS = ("delayed_hits", "prefetched_sync", "prefetched_willneed", "prefetched_readahead2", "prefetched_mmap_around",
         "used_late", "evicted_unused", "resident_unused", "untracked", "windows_sync", "windows_forced", "written_pages",
         "evicted_reclaim_kswapd", "evicted_reclaim_direct", "evicted_reclaim_memcg", "evicted_dontneed",
         "evicted_drop_caches", "evicted_truncate", "evicted_direct_io", "evicted_other", "evicted_invalidate",
         "evicted_dontcache", "refaults", "refault_misses", "faults_major", "direct_read_calls", "direct_read_bytes")


def measured(case, *words):
    """(output, CPU time, peak memory)"""
    done = subprocess.run([sys.executable, "-S", "-c", MEASURED, case.cachemon, *words], capture_output=True, text=True)
    lines = done.stderr.splitlines()
    status, cpu_s, memory = json.loads(lines[-1])
    expect(not status, f"{words[0]}: status {status}: {lines[:3]}")
    return done.stdout, cpu_s, memory


def job_of(node, number):
    counts = dict.fromkeys(ZEROS, 0)
    counts.update(read_calls=9, read_bytes=0, lookups=50000, misses=2000, demand_pages=2000, prefetched_async=30000,
                  used=30000, windows_async=100, stall_ns=200000300, stalls=100)
    node.run(number, counts=counts, intervals=INTERVALS,
             files=[(b"/data/set/shard-%05d.tar" % i, 64 * PAGE, 60 + i % 8) for i in range(FILES)],
             processes=[(1000 + r, "python3", INTERVALS * (r + 1) * 1000, INTERVALS * 5000) for r in range(RANKS)])


def read_bytes(node, number):
    """Of that job of that node."""
    return 1000003 * (node + 1) + number


def nodes_of(case, count, numbers):
    """Databases of that many nodes with the same jobs: copies of one, with other names and sums."""
    first = Node(case.path("node0000.db"), "node0000")
    for number in numbers:
        job_of(first, number)
    paths = [first.done()]
    for n in range(count):
        path = case.path(f"node{n:04d}.db")
        if n:
            shutil.copy(paths[0], path)
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("PRAGMA synchronous = OFF")
            db.execute("UPDATE run SET host = ?, writer_boot = ?, uuid = substr(uuid, 1, 31) || ?",
                       (f"node{n:04d}", f"boot {n}", f"{n:05d}"))
            db.execute("UPDATE job SET read_bytes = ? + CAST(external_id AS INTEGER) WHERE slot = 1", (read_bytes(n, 0),))
        paths[n:] = [path]
    return paths


def goal(what, value, most, unit):
    expect(value <= most, f"{what}: {value:.2f} {unit}, {most:g} allowed")
    return f"{what} {value:.2f} {unit} ({value / most:.2f} of the goal)"


def merged_anew(case, out, paths):
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(out + end)
    return measured(case, "merge", out, *paths)[1:]


def judge(case, paths, job, want_nodes, want_read, merge_s):
    out = case.path("out.db")
    size = sum(os.path.getsize(p) for p in paths)
    # The least of some, because other work on the machine takes its caches.
    cpu_s, memory = min(merged_anew(case, out, paths) for _ in range(REPEATS))
    said = [goal("merge", cpu_s, merge_s, "s"), goal("peak", memory / (1 << 20), MEMORY_MAX >> 20, "MiB")]
    again, again_s, _ = measured(case, "merge", out, *paths)
    expect(again.startswith("0 runs added, "), again)
    text, cpu_s, memory = measured(case, "report", out, "--job", job, "--json")
    data = json.loads(text)
    expect(len(data["nodes"]) == want_nodes, f"{len(data['nodes'])} nodes, not {want_nodes}")
    expect(data["figures"]["read_bytes"]["total"] == want_read, f"{data['figures']['read_bytes']['total']} bytes, not {want_read}")
    expect(data["processes"]["all"] == want_nodes * RANKS, f"{data['processes']['all']} processes")
    expect(data["same_files"]["files"] == FILES, f"{data['same_files']['files']} files")
    said += [f"again {again_s:.2f} s", goal("report", cpu_s, REPORT_S, "s"),
             goal("its peak", memory / (1 << 20), MEMORY_MAX >> 20, "MiB"),
             f"{size >> 10} KiB in {len(paths)} databases, {os.path.getsize(out) >> 10} KiB merged"]
    return ", ".join(said)


@part.case("four nodes with many jobs")
def many_jobs(case):
    """At goal: 500 jobs of each of four nodes."""
    numbers = range(1000, 1000 + part.options.count)
    chosen = numbers[len(numbers) // 2]
    paths = nodes_of(case, NODES, numbers)
    said = judge(case, paths, f"slurm:{chosen}", NODES, sum(read_bytes(n, chosen) for n in range(NODES)), MERGE_S)
    return f"{said}, {os.path.getsize(case.path('out.db')) // (NODES * len(numbers))} bytes a run"


@part.case("one job on many nodes")
def many_nodes(case):
    """At goal: a file of each of 500 nodes."""
    count = part.options.count
    return judge(case, nodes_of(case, count, [7]), "slurm:7", count, sum(read_bytes(n, 7) for n in range(count)), MANY_S)


if __name__ == "__main__":
    part.main()
