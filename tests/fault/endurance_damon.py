# SPDX-License-Identifier: BSD-2-Clause
"""A trouble for endurance_core.py: DAMON reclaims the load's pages, in the context of any
process."""

import os

from endurance_churn import read, write
from faultlib.part import expect, wait_until

ADMIN = "/sys/kernel/mm/damon/admin/kdamonds"
LOW_BYTES = 1 << 20
EVERYTHING = {"sz/max": (1 << 64) - 1, "nr_accesses/max": (1 << 32) - 1, "age/max": (1 << 32) - 1}


def memory():
    """The machine's memory, as ranges of physical addresses."""
    with open("/proc/iomem", encoding="ascii") as f:
        lines = [line.split() for line in f if line.endswith(" : System RAM\n")]
    ranges = [tuple(int(end, 16) for end in words[0].split("-")) for words in lines]
    return [(first, last + 1) for first, last in ranges if first >= LOW_BYTES]


class Damon:
    def __init__(self, load, mount):
        self.load, self.path = load, "/" + os.path.relpath(load.cgroup, mount)
        self.turns = 0

    def __call__(self):
        self.load.once(os.path.join(self.load.dir, "child"))  # there is something to reclaim
        if int(read(f"{ADMIN}/nr_kdamonds")):
            # Another process uses DAMON; if so at the first turn, it is not available here.
            expect(self.turns, "somebody uses it")
            return
        self.turns += 1
        write(f"{ADMIN}/nr_kdamonds", "1")
        try:
            self.take(f"{ADMIN}/0")
        finally:
            if read(f"{ADMIN}/0/state").strip() == "on":
                write(f"{ADMIN}/0/state", "off")
            write(f"{ADMIN}/nr_kdamonds", "0")

    def take(self, damon):
        context = f"{damon}/contexts/0"
        scheme = f"{context}/schemes/0"
        write(f"{damon}/contexts/nr_contexts", "1")
        write(f"{context}/operations", "paddr")
        write(f"{context}/targets/nr_targets", "1")
        ranges = memory()
        write(f"{context}/targets/0/regions/nr_regions", str(len(ranges)))
        for nr, ends in enumerate(ranges):
            for name, at in zip(("start", "end"), ends):
                write(f"{context}/targets/0/regions/{nr}/{name}", str(at))
        write(f"{context}/schemes/nr_schemes", "1")
        write(f"{scheme}/action", "pageout")
        for name, most in EVERYTHING.items():
            write(f"{scheme}/access_pattern/{name}", str(most))
        # The evictions in this cgroup only.
        write(f"{scheme}/ops_filters/nr_filters", "1")
        for name, value in (("type", "memcg"), ("matching", "Y"), ("allow", "Y"),
                            ("memcg_path", self.path)):
            write(f"{scheme}/ops_filters/0/{name}", value)
        write(f"{damon}/state", "on")

        def taken():
            write(f"{damon}/state", "update_schemes_stats")
            return int(read(f"{scheme}/stats/sz_applied"))
        wait_until(taken, "pages that DAMON takes", 60, 0.2)
