# SPDX-License-Identifier: BSD-2-Clause
"""The truth tests as cases of a part: cachemon started in another way, with the same oracle."""

import json
import os
import subprocess
import sys

from .part import Skipped, check, equal

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "truth", "run.py")
LIMIT_S = 7200


def absent_of(cell):
    return {n: e["reason"] for n, e in cell["counters"].items() if e["state"] == "absent"}


class TruthWorld:
    """reduced: the name of the reduced count. patterns: run only these; otherwise some of each
    kind."""

    def __init__(self, part, args, work, reduced, patterns=None):
        build = os.environ.get("CACHEMON_BUILD", os.path.dirname(os.path.dirname(args.cachemon)))
        self.part = part
        self.work = work
        self.run = [sys.executable, RUN, "--cachemon", args.cachemon, "--wl",
                    os.path.join(build, "tests/truth/wl"), "--fs", "ext4", "--dir", args.dir]
        self.every = self.listed()
        self.patterns = self.every if part.full else patterns or self.listed("--some")
        if not part.full:
            print(f"{reduced}: {len(self.patterns)} of {len(self.every)}")

    def listed(self, *words):
        return subprocess.run([*self.run, "--list", *words], capture_output=True, text=True,
                              check=True).stdout.split()

    def judged(self, how, *words, nulls=False):
        """words: further arguments of run.py. nulls: figures that are absent by design."""
        out = os.path.join(self.work, f"{how}.json")
        only = [word for name in self.patterns for word in ("--only", name)]
        done = subprocess.run([*self.run, *words, "--json", out, *only], capture_output=True,
                              text=True, timeout=LIMIT_S)
        check(os.path.exists(out), f"no result: {(done.stdout + done.stderr)[-600:]}")
        with open(out, encoding="utf-8") as f:
            cells = json.load(f)["cells"]
        off = [c for c in cells if c["state"] == "off"]
        check(not off, "\n".join(f"{c['pattern']}: {c['wrong'][:4]} {c['notes'][:4]}" for c in off))
        equal("patterns", [c["pattern"] for c in cells], [p for p in self.every if p in self.patterns])
        for c in cells:
            if c["skipped"] or (absent_of(c) and not nulls):
                self.part.note(f"{how}, {c['pattern']}: {absent_of(c) or c['skipped']['reason']}")
        right = [c for c in cells if c["state"] == "exact" or (nulls and c["state"] == "absent")]
        figures = sum(e["figures"] for c in right for e in c["counters"].values() if e["state"] == "exact")
        self.part.note(f"{how}: {len(right)} of {len(cells)} patterns exact, {figures} figures")
        if not right:
            raise Skipped("no pattern was without a counter that is not measured here")
        missing = len(cells) - len(right)
        check(self.part.full or missing <= 2 or any(c["state"] == "absent" for c in cells),
              f"{missing} patterns gave no figures")
