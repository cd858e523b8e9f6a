# SPDX-License-Identifier: BSD-2-Clause
"""Checks the database of a long watch against sums of the test."""

import os

from faultlib.part import expect, wait_until
from faultlib.watch import FATES, PREFETCHED

CACHED = ("demand_pages", *PREFETCHED, "written_pages", "other_added_pages")
EVICTED = tuple(f"evicted_{why}" for why in (
    "reclaim_kswapd", "reclaim_direct", "reclaim_memcg", "dontneed", "drop_caches", "truncate",
    "direct_io", "other", "invalidate", "dontcache"))
NOTED = 64
SUMMED = ("read_calls", "read_bytes", "lookups", "misses", *CACHED, *FATES, *EVICTED,
          "evicted_not_added")


def sum_of(row, names):
    return sum(row[name] for name in names)


class Timeline:
    """The intervals of a run, read while they are new, because the store merges them. The time
    of a read does not matter within 15 minutes."""

    def __init__(self, db, room_pages):
        """room_pages: the largest number of cached pages of the job."""
        self.db, self.room = db, room_pages
        self.last = self.nr = self.end_ns = self.resident = self.most = 0
        self.sums = dict.fromkeys(SUMMED, 0)
        self.broken = []

    def look(self):
        columns = ", ".join(f"coalesce(j.{name}, 0) AS {name}" for name in SUMMED)
        for row in self.db.rows(
                f"SELECT interval.id, start_ns, duration_ns, {columns} FROM interval LEFT JOIN "
                "(SELECT job_interval.* FROM job_interval JOIN job ON job.id = job_id AND slot = 1)"
                " AS j ON interval_id = interval.id WHERE interval.id > ? ORDER BY interval.id",
                self.last):
            self.take(row)

    def take(self, row):
        if self.nr and row["start_ns"] != self.end_ns:
            self.broken.append(f"{self.nr}: begins at {row['start_ns']} ns, the one before ended "
                               f"at {self.end_ns}")
        prefetched, fates = sum_of(row, PREFETCHED), sum_of(row, FATES)
        if prefetched != fates:
            self.broken.append(f"{self.nr}: {prefetched} prefetched pages have {fates} fates")
        self.resident += sum_of(row, CACHED) + row["evicted_not_added"] - sum_of(row, EVICTED)
        self.most = max(self.most, self.resident)
        if not 0 <= self.resident <= self.room:
            self.broken.append(f"{self.nr}: {self.resident} pages in the cache, there is room for "
                               f"{self.room}")
        for name in SUMMED:
            self.sums[name] += row[name]
        self.last, self.end_ns = row["id"], row["start_ns"] + row["duration_ns"]
        self.nr += 1

    def holds(self):
        """After the run's end."""
        self.look()
        expect(not self.broken, f"in {len(self.broken)} of {self.nr} intervals: {self.broken[:3]}")
        job, run = self.db.job(), self.db.run()
        totals = {name: job[name] for name in SUMMED}
        differ = {name: (self.sums[name], totals[name]) for name in SUMMED
                  if self.sums[name] != totals[name]}
        expect(not differ, f"intervals, the job: {differ}")
        merged = self.db.rows("SELECT " + ", ".join(f"sum(job_interval.{n}) AS {n}" for n in SUMMED)
                              + " FROM job_interval JOIN job ON job.id = job_id AND slot = 1")[0]
        expect(merged == totals, f"merged intervals {merged}, the job {totals}")
        expect(job["misses"] <= job["lookups"], f"{job['misses']} misses, {job['lookups']} lookups")
        lost = {n: run[n] for n in run if n.startswith(("loss_", "law_")) and run[n]}
        expect(run["state"] == "complete" and not lost, f"{run['state']}, {lost}")
        expect(job["evicted_reclaim_memcg"] > 0, "nothing was ever reclaimed")
        causes = ", ".join(f"{job[name]} {name[8:]}" for name in EVICTED if job[name])
        return (f"{self.nr} intervals, {job['lookups']} lookups, {sum_of(job, PREFETCHED)} pages "
                f"prefetched, evicted by {causes}")

    def as_the_kernel_says(self, pages, now):
        """pages: charged to the job's cgroup when the load had ended; now() returns the present
        charge. Others may have evicted some since then. The kernel sums the counts of its CPUs
        every two seconds, or earlier if they exceed NOTED per CPU."""
        expect(self.resident <= pages + NOTED * os.cpu_count(),
               f"{self.resident} pages in the cache, the kernel says {pages}")
        wait_until(lambda: now() <= self.resident,
                   f"{self.resident} pages in the cache, while the kernel says {now()}")
        return f"{self.resident} pages at the end, the kernel says {now()}; {self.most} at most"


def every_read(db, want):
    for path, (calls, size) in sorted(want.items()):
        # A filesystem may be on a different loop device each time.
        rows = db.rows("SELECT read_calls, read_bytes FROM file "
                       "WHERE path = CAST(? AS BLOB)", path)
        got = tuple(sum(row[name] for row in rows) for name in ("read_calls", "read_bytes"))
        expect(got == (calls, size), f"{path}: counted {got} calls and bytes, read {calls, size}")
    calls = sum(calls for calls, _ in want.values())
    counted = db.job()["read_calls"]
    expect(counted == calls, f"counted {counted} calls in all, there were {calls}")
    short = os.path.commonpath(list(want))
    return ", ".join(f"{os.path.relpath(path, short)} {nr} calls"
                     for path, (nr, _) in sorted(want.items()))
