#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The figures do not depend on how cachemon got its privileges: truth tests that a user starts through
a real sudo, and with a copy of the program that has capabilities, against the same oracle."""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from syslib.part import Part, Skipped, check, equal  # noqa: E402

RUN = os.path.join(os.path.dirname(HERE), "truth", "run.py")
# Reads of every kind, advice, mappings, writes, direct reads, forks, and two runs at once.
REDUCED = ("seq_128k", "random_4k", "call_sendfile", "call_splice", "call_uring", "call_uring_worker",
           "call_aio", "willneed", "readahead2", "dontneed_partial", "uring_dontneed", "mmap_seq",
           "mmap_and_read", "write_read_back", "truncated", "direct_read", "workers", "two_at_once",
           "killed", "two_watchers_cold")
LIMIT_S = 7200
part = Part(__doc__)


class World:
    def __init__(self, args, work, _):
        build = os.environ.get("CACHEMON_BUILD", os.path.dirname(os.path.dirname(args.cachemon)))
        self.work = work
        self.run = [sys.executable, RUN, "--cachemon", args.cachemon, "--wl",
                    os.path.join(build, "tests/truth/wl"), "--fs", "ext4", "--dir", args.dir]
        self.every = subprocess.run([*self.run, "--list"], capture_output=True, text=True,
                                    check=True).stdout.split()
        self.patterns = self.every if part.full else REDUCED
        if not part.full:
            print(f"truth patterns through sudo and with file capabilities: {len(REDUCED)} of "
                  f"{len(self.every)}")

    def judged(self, how):
        out = os.path.join(self.work, f"{how}.json")
        only = [word for name in self.patterns for word in ("--only", name)]
        done = subprocess.run([*self.run, "--as", how, "--json", out, *only], capture_output=True,
                              text=True, timeout=LIMIT_S)
        check(os.path.exists(out), f"no result: {(done.stdout + done.stderr)[-600:]}")
        with open(out, encoding="utf-8") as f:
            cells = json.load(f)["cells"]
        off = [c for c in cells if c["state"] == "off"]
        check(not off, "\n".join(f"{c['pattern']}: {c['wrong'][:4]} {c['notes'][:4]}" for c in off))
        equal("patterns", [c["pattern"] for c in cells], [p for p in self.every if p in self.patterns])
        for c in cells:
            absent = {n: e["reason"] for n, e in c["counters"].items() if e["state"] == "absent"}
            if absent or c["skipped"]:
                part.note(f"{how}, {c['pattern']}: {absent or c['skipped']['reason']}")
        exact = [c for c in cells if c["state"] == "exact"]
        figures = sum(e["figures"] for c in exact for e in c["counters"].values())
        part.note(f"{how}: {len(exact)} of {len(cells)} patterns exact, {figures} figures")
        if not exact:
            raise Skipped("no pattern was without a counter that is not measured here")
        missing = len(cells) - len(exact)
        check(part.full or missing <= 2 or any(c["state"] == "absent" for c in cells),
              f"{missing} patterns gave no figures")


@part.case
def sudo(world, _):
    """By a user through sudo."""
    world.judged("sudo")


@part.case
def setcap(world, _):
    """By a user whose program file has the capabilities that docs/privileges.md names."""
    world.judged("setcap")


if __name__ == "__main__":
    sys.exit(part.main(World))
