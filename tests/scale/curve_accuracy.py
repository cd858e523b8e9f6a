#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The miss-ratio curve of a sample, compared with exact LRU and OPT; needs no privileges.

Five traces of a million accesses to 262,144 pages, ten cache sizes each. The mean error over ten
hash seeds is at most 0.01 with 8,192 sampled pages, and the band contains the true value in 90 %
of the cells."""

import os
import subprocess
import sys

FULL = os.environ.get("CACHEMON_FULL") == "1"
SAMPLED = 8192
ERROR_MAX = 0.01
HELD_MIN = 0.9
TRACES = 5
# The number of distinct pages: exact, with an error, or unknown. If it is unknown only the band is
# checked, because the estimator without totals is known to be worse.
HOW = (("counted", []), ("estimated", ["hll"]), ("not known", ["unknown"]))


def run(program, pages, seeds, how):
    out = subprocess.run([program, str(pages), str(seeds), *how], check=True, capture_output=True,
                         text=True, timeout=3000).stdout
    rows = {}
    for line in out.splitlines():
        name, *fields = line.split("\t")
        rows[name] = {k: float(v) for k, v in (f.split("=") for f in fields)}
    return rows


class Count:
    def __init__(self):
        self.passed = self.failed = 0

    def judge(self, good, text):
        self.passed += good
        self.failed += not good
        print(f"{'PASSED' if good else 'FAILED'}  {text}", flush=True)


def main():
    program = os.path.join(os.environ["CACHEMON_BUILD"], "tests/scale/curve_accuracy")
    error_seeds, band_seeds = (10, 20) if FULL else (3, 5)
    if not FULL:
        print(f"hash seeds of the miss-ratio curve's error: {error_seeds} of 10")
        print(f"hash seeds of the miss-ratio curve's band: {band_seeds} of 20")
    count = Count()
    rows = run(program, SAMPLED, error_seeds, [])
    for name, row in rows.items():
        for what in ("lru", "opt"):
            mae = row[f"{what}_mae"]
            count.judge(mae <= ERROR_MAX,
                        f"{name}, {what}: mean error {mae:.4f}, largest {row[f'{what}_max']:.3f}")
    for words, how in HOW:
        rows = run(program, SAMPLED, band_seeds, how)
        count.judge(len(rows) == TRACES, f"distinct pages {words}: {len(rows)} traces")
        for name, row in rows.items():
            for what in ("lru", "opt"):
                held = row[f"{what}_held"] / row[f"{what}_cells"]
                count.judge(held >= HELD_MIN,
                            f"{name}, {what}, distinct pages {words}: the band holds "
                            f"{held:.1%}, mean error {row[f'{what}_mae']:.4f}")
    print(f"{count.passed} passed, {count.failed} failed, 0 skipped")
    return 1 if count.failed or not count.passed else 0


if __name__ == "__main__":
    sys.exit(main())
