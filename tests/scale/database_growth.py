#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The database of a run longer than a day: its growth in each hour, with more active files than
get a row, every counter changing and as many waiting processes as get one; its sums stay exact; and memory stays constant once
SQLite's page cache is full."""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fault"))

from faultlib.heap import EXACT_HEAP, PAGE_CACHE_MAX  # noqa: E402
from faultlib.part import REPO, Part, expect  # noqa: E402
from faultlib.watch import Db  # noqa: E402

part = Part("database_growth", __doc__, count=("hours of a database", 27, 3))
INTERVAL_S = 10
# An hour is 60 rows of a minute, each with 256 files and 64 processes; 400 bytes per file are more
# than the counters of a busy job take, and 60 per process than a name and four counters. The lengths
# of waits are sums of the files, complete after the first hour. After a day the rows are of 15 minutes; in the hour in between there are both.
HOUR_BYTES = 6_200_000 + 60 * 64 * 60
LATE_HOUR_BYTES, LOG_BYTES = 1_000_000, 17_000_000
DAY_H = 24
# All files have been seen in the first hour. At the end of an hour a little may be allocated for
# work in progress: measured were 4 kB.
HEAP_SLACK = 16 << 10


@part.case("growth in each hour")
def growth(case):
    program = os.path.join(os.environ.get("CACHEMON_BUILD") or os.path.join(REPO, "build"),
                           "tests", "scale", "store_growth")
    db = Db(case.path("growth.db"))
    done = subprocess.run([program, db.path, str(part.options.count), str(INTERVAL_S)],
                          capture_output=True, text=True, check=False, env=EXACT_HEAP)
    expect(done.returncode == 0, f"store_growth: status {done.returncode}, says {done.stderr!r}")
    hours = [json.loads(line) for line in done.stdout.splitlines()]
    expect(len(hours) == part.options.count and len(hours) > 1, f"{len(hours)} hours")
    steps = [after["bytes"] - before["bytes"] for before, after in zip(hours, hours[1:])]
    for hour, step in enumerate(steps, 2):
        bound = HOUR_BYTES if hour <= DAY_H + 1 else LATE_HOUR_BYTES
        expect(step <= bound, f"{step} bytes more in hour {hour}, {bound} allowed")
    for entry in hours:
        expect(entry["lookups_missing"] == 0, f"the timeline does not add up: {entry}")
        expect(entry["log_bytes"] <= LOG_BYTES, f"the log is {entry['log_bytes']} bytes long")
        cache, heap = entry["page_cache_most_bytes"], entry["heap_beside_bytes"]
        expect(cache <= PAGE_CACHE_MAX, f"SQLite's page cache: {cache} bytes")
        expect(heap <= hours[0]["heap_beside_bytes"] + HEAP_SLACK,
               f"{heap} bytes are allocated beside that cache: {hours}")
    db.sound()
    late = steps[DAY_H:]
    return (f"{hours[0]['bytes']} bytes after the first hour, then at most {max(steps)} an hour"
            f"{f', after the first day at most {max(late)}' if late else ''}; "
            f"{hours[-1]['bytes']} bytes after {len(hours)} hours; SQLite's page cache at most "
            f"{max(entry['page_cache_most_bytes'] for entry in hours)} bytes, "
            f"{hours[0]['heap_beside_bytes']} allocated beside it, then "
            f"{hours[-1]['heap_beside_bytes']}")


if __name__ == "__main__":
    part.main()
