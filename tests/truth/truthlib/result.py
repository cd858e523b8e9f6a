# SPDX-License-Identifier: BSD-2-Clause
"""The verdicts as JSON, for comparing several kernels.

    {"kernel", "looks": "cachestat|mincore|both", "cells": [
      {"pattern", "fs", "attempts",
       "state": "exact|off|absent|skipped",
       "skipped": null | {"why": "lacking|disturbed", "reason"},
       "notes": [text],
       "counters": {NAME: {"state": "exact|off|absent", "reason": null|text, "figures": files,
                           "expected": N|[low, high], "got": N|null, "off_by": pages|null}},
       "wrong": [{"file", "counter", "expected", "got"}]}]}

Counters are summed over the files of a cell; wrong lists the first ones that are off. absent: null
in cachemon's report, with its reason; a null without a reason is off, by null.
"""

import json
import os

STATES = {"passed": "exact", "failed": "off", "absent": "absent", "skipped": "skipped"}
WRONG_MAX = 50


def plus(a, b):
    """Sum of two expectations, each a number or a range."""
    if isinstance(a, list) or isinstance(b, list):
        a, b = (x if isinstance(x, list) else [x, x] for x in (a, b))
        return [a[0] + b[0], a[1] + b[1]]
    return a + b


def counters(outcome):
    out = {}
    for _, name, expected, got, difference in outcome.rows:
        entry = out.setdefault(name, {"state": "exact", "reason": None, "figures": 0,
                                      "expected": 0, "got": 0, "off_by": 0})
        entry["figures"] += 1
        entry["expected"] = plus(entry["expected"], expected)
        if got is None or entry["got"] is None:
            entry["got"] = entry["off_by"] = None
        else:
            entry["got"] += got
            entry["off_by"] += abs(difference)
        if got is None and name in outcome.absent:
            entry["state"], entry["reason"] = "absent", outcome.absent[name]
        elif difference != 0:
            entry["state"] = "off"
    return out


def cell(name, fs, outcome):
    skipped = None
    if outcome.status == "skipped":
        skipped = {"why": "lacking" if outcome.lacking else "disturbed",
                   "reason": "; ".join(dict.fromkeys(outcome.notes))}
    return {"pattern": name, "fs": fs, "attempts": outcome.attempts,
            "state": STATES[outcome.status], "skipped": skipped, "notes": outcome.notes,
            "counters": counters(outcome),
            "wrong": [{"file": r[0], "counter": r[1], "expected": r[2], "got": r[3]}
                      for r in outcome.wrong()[:WRONG_MAX]]}


def write(path, results, looks):
    cells = [cell(name, fs, o) for (name, fs), outcomes in results.items() for o in outcomes]
    with open(path, "w") as f:
        json.dump({"kernel": os.uname().release, "looks": looks, "cells": cells}, f, indent=1)
        f.write("\n")
