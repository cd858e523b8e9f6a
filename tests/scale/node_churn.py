#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A node whose jobs come and go for a day: its database stays within its policy, no memory is kept
for jobs that have ended, each run has the sums of its samples, and a scraper sees each of them."""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fault"))

from faultlib.heap import EXACT_HEAP  # noqa: E402
from faultlib.part import REPO, Part, expect  # noqa: E402
from faultlib.watch import Db  # noqa: E402

part = Part("node_churn", __doc__, count=("hours of a node", 24, 3))
DATABASE_BYTES, LOG_BYTES = 24 << 20, 17_000_000  # the policy of node_churn.c; journal_size_limit
SERIES_MAX = 2000
# At a full hour, up to 20 + 15 jobs that have ended still have series, for five minutes. Each needs
# about a kilobyte. A leak of 40 bytes a job would be as large after a day.
HEAP_SLACK = 64 << 10


@part.case("a day of jobs")
def day(case):
    program = os.path.join(os.environ.get("CACHEMON_BUILD") or os.path.join(REPO, "build"),
                           "tests", "scale", "node_churn")
    db = Db(case.path("churn.db"))
    done = subprocess.run([program, db.path, str(part.options.count)],
                          capture_output=True, text=True, check=False, env=EXACT_HEAP)
    expect(done.returncode == 0, f"status {done.returncode}, says {done.stderr!r}")
    hours = [json.loads(line) for line in done.stdout.splitlines()]
    expect(len(hours) == part.options.count and len(hours) > 2, f"{len(hours)} hours")
    for hour in hours:
        for name in ("too_old", "wrong_runs", "unscraped_lookups"):
            expect(hour[name] == 0, f"{name}: {hour}")
        expect(hour["bytes"] <= DATABASE_BYTES, f"the database has {hour['bytes']} bytes: {hour}")
        expect(hour["log_bytes"] <= LOG_BYTES, f"the log has {hour['log_bytes']} bytes: {hour}")
        expect(0 < hour["series"] <= SERIES_MAX, f"{hour['series']} series: {hour}")
    # The first run is deleted in the second hour.
    for hour in hours[2:]:
        expect(hour["heap_beside_bytes"] <= hours[1]["heap_beside_bytes"] + HEAP_SLACK,
               f"memory grows from {hours[1]['heap_beside_bytes']} bytes: {hour}")
    expect(hours[-1]["runs"] < hours[-1]["born"], f"nothing was deleted: {hours[-1]}")
    db.sound()
    heaps = [hour["heap_beside_bytes"] for hour in hours]
    return (f"{hours[-1]['born']} jobs in {len(hours)} hours, {hours[-1]['runs']} kept; database at most "
            f"{max(hour['bytes'] for hour in hours)} bytes; allocated {min(heaps)} to {max(heaps)} bytes")


if __name__ == "__main__":
    part.main()
