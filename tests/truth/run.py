#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Truth tests: cachemon's figures, compared with an oracle that shares nothing with it.

Each cell is a pattern on a filesystem. The oracle (wl) performs the pattern, checks every page
with the kernel before and after each operation, and computes the expected figures. A run in
which others moved pages is repeated; that is decided before cachemon's figures are read. A cell
that was always disturbed is left out and counted as skipped."""

import argparse
import concurrent.futures
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from truthlib import conditions, fiocases, result  # noqa: E402
from truthlib.cells import Cell  # noqa: E402
from truthlib.image import FILESYSTEMS, Images  # noqa: E402
from truthlib.takers import Takers  # noqa: E402
from truthlib.watch import Limits, Tools  # noqa: E402
from truthlib.ways import Root, way_of  # noqa: E402

SKIP = 77
UNEXPLAINED_SHARE_MAX = 0.05  # of cells whose disturber the kernel does not name
LEFT_OUT_SHARE_MAX = 0.5  # of disturbed cells, by anybody: with more, the run shows too little
LEFT_OUT_CELLS_MIN = 10  # a share of fewer cells is meaningless
SHOWN_ROWS = 12
# Reads of every kind, advice, mappings, writes, direct reads, forks, and two runs at once.
SOME = ["seq_128k", "random_4k", "call_sendfile", "call_splice", "call_uring", "call_uring_worker", "call_aio",
        "willneed", "readahead2", "dontneed_partial", "uring_dontneed", "mmap_seq", "mmap_and_read",
        "write_read_back", "truncated", "direct_read", "workers", "two_at_once", "killed", "two_watchers_cold"]


class Environment:
    def __init__(self, tools, images, takers, seed):
        self.tools = tools
        self.images = images
        self.takers = takers  # {filesystem: how pages of its files leave}
        self.seed = seed


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cachemon", default=shutil.which("cachemon"))
    parser.add_argument("--wl", required=True)
    parser.add_argument("--fs", default="ext4,xfs")
    parser.add_argument("--only", action="append", metavar="PATTERN",
                        help="run these only (may be given again; a trailing * is allowed)")
    parser.add_argument("--some", action="store_true",
                        help="run some patterns of each kind, beside those of --only")
    parser.add_argument("--in-turn", action="store_true",
                        help="each pattern on one filesystem only, the next on the next")
    parser.add_argument("--repeat", type=int, default=1, metavar="N",
                        help="the whole suite N times")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dir", default="/var/tmp",
                        help="where the images are made: a disk, not memory or a network")
    parser.add_argument("--image-mb", type=int, default=1024, metavar="N",
                        help="size of an image; the patterns fill 300 MiB of it at most")
    parser.add_argument("--timeout", type=int, default=Limits.timeout_s, metavar="S",
                        help="for one run of one pattern")
    parser.add_argument("--looks", choices=("cachestat", "mincore", "both"),
                        help="how the oracle asks what is cached (default: what the kernel has); "
                             "both: and stops where they differ")
    parser.add_argument("--as", dest="how", choices=("root", "sudo", "setcap"), default="root",
                        help="who starts cachemon and the workload: root, or a user, through sudo "
                             "or with capabilities of the program's own")
    parser.add_argument("--level", choices=("full", "cold", "default"), default="full",
                        help="of watch; default: without the option (figures that are absent or "
                             "marked there are not compared)")
    parser.add_argument("--oracle", action="store_true",
                        help="run the oracle alone and print what it expects")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", metavar="FILE", help="write the verdicts, see truthlib/result.py")
    args = parser.parse_args()
    args.fs = args.fs.split(",")
    if args.some:
        args.only = SOME + (args.only or [])
    unknown = [fs for fs in args.fs if fs not in FILESYSTEMS]
    if unknown:
        parser.error(f"--fs: {unknown[0]} is not one of {', '.join(FILESYSTEMS)}")
    if args.oracle and args.how != "root":
        parser.error("--oracle starts no cachemon: leave out --as")
    if args.repeat < 1:
        parser.error("--repeat must be at least 1")
    if not args.oracle and not args.list and not args.cachemon:
        parser.error("no cachemon in PATH: name it with --cachemon")
    return args


def all_cells(tools):
    special = conditions.cells()
    taken = {c.pattern for c in special}
    cells = [Cell(*line.split()) for line in tools.run_wl("list").splitlines()]
    cells = [c for c in cells if c.name not in taken] + special
    return cells + fiocases.cells()


def wanted(name, only):
    return not only or any(name == o or (o.endswith("*") and name.startswith(o[:-1]))
                           for o in only)


def show(cell, fs, outcome, seconds):
    tries = f", attempt {outcome.attempts}" if outcome.attempts > 1 else ""
    print(f"{outcome.status.upper():7} {fs:5} {cell.name:20} {len(outcome.rows)} figures, "
          f"{seconds:.1f} s{tries}", flush=True)
    if outcome.status == "passed":
        return
    for note in outcome.notes[:SHOWN_ROWS]:
        print(f"        {note}")
    for column, reason in outcome.absent.items():
        print(f"        {column:18} absent: {reason}")
    wrong = outcome.wrong()
    for name, column, expected, got, diff in wrong[:SHOWN_ROWS]:
        got = "null" if got is None else got
        off = "" if diff is None else f" ({diff:+d})"
        print(f"        {name:12} {column:18} expected {expected}  got {got}{off}")
    if len(wrong) > SHOWN_ROWS:
        print(f"        ... {len(wrong) - SHOWN_ROWS} more")
    sys.stdout.flush()


def show_oracle(outcome):
    """The oracle's expectation for all files together."""
    sums = result.counters(outcome)
    print("        " + " ".join(f"{k}={v['expected']}" for k, v in sums.items() if v["expected"]))
    for note in outcome.notes:
        print(f"        {note}")


def show_table(results, filesystems):
    print("\nerror in pages, summed over files and columns (figures compared); ! = failed; "
          "-N = so many counters are absent here")
    print(f"{'pattern':20}" + "".join(f"{fs:>18}" for fs in filesystems))
    names = list(dict.fromkeys(name for name, _ in results))
    for name in names:
        line = f"{name:20}"
        for fs in filesystems:
            outcomes = results.get((name, fs), [])
            line += f"{' '.join(cell_text(o) for o in outcomes):>18}"
        print(line)


def cell_text(outcome):
    if outcome.status == "skipped":
        return "skipped"
    if not outcome.rows:
        return outcome.status
    error = outcome.error()
    mark = {"passed": "", "absent": f" -{len(outcome.absent)}"}.get(outcome.status, "!")
    return f"{'-' if error is None else error} ({len(outcome.rows)}){mark}"


def shares(cells, args):
    """For each filesystem, the cells that run there."""
    if args.in_turn:
        return {fs: cells[i::len(args.fs)] for i, fs in enumerate(args.fs)}
    return {fs: cells for fs in args.fs}


class Results:
    """Results of the cells, printed and stored after each, so that a guest that dies loses none."""

    def __init__(self, args, looks):
        self.args = args
        self.looks = looks
        self.outcomes = {}
        self.lock = threading.Lock()

    def run(self, env, fs, cells):
        for cell in cells:
            began = time.monotonic()
            outcome = cell.run(env, fs)
            with self.lock:
                self.take(cell, fs, outcome, time.monotonic() - began)

    def take(self, cell, fs, outcome, seconds):
        self.outcomes.setdefault((cell.name, fs), []).append(outcome)
        show(cell, fs, outcome, seconds)
        if self.args.oracle:
            show_oracle(outcome)
        if self.args.json:
            result.write(self.args.json, self.outcomes, self.looks)


def run_all(args, env, looks):
    """Runs the filesystems in parallel, and then the cells that must run alone."""
    results = Results(args, looks)
    cells = [c for c in all_cells(env.tools) if wanted(c.name, args.only)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for round_nr in range(args.repeat):
            env.seed = args.seed + round_nr
            for alone, spread in (False, pool.map), (True, map):
                share = shares([c for c in cells if c.alone == alone], args)
                list(spread(lambda fs: results.run(env, fs, share[fs]), share))
    if args.in_turn:
        print(f"patterns on each filesystem: {len(results.outcomes)} of {len(cells) * len(args.fs)}")
    return results.outcomes


def summary(results):
    """An absent counter is neither a failure nor exact: its cell counts as skipped."""
    count = {"passed": 0, "failed": 0, "absent": 0, "skipped": 0}
    lacking = unexplained = 0
    for (name, fs), outcomes in results.items():
        for outcome in outcomes:
            count[outcome.status] += 1
            lacking += outcome.lacking
            if outcome.status == "skipped" and not outcome.lacking:
                unexplained += not outcome.by_others
                print(f"left out: {fs} {name}, disturbed {outcome.attempts} times, the last time: "
                      f"{outcome.notes[-1]}")
    cells = sum(count.values())
    disturbed = count["skipped"] - lacking
    failed = count["failed"] > 0 or not cells
    if unexplained > UNEXPLAINED_SHARE_MAX * cells:
        print(f"too many cells were disturbed, and nothing says by whom: {unexplained} of {cells}")
        failed = True
    if cells >= LEFT_OUT_CELLS_MIN and disturbed > LEFT_OUT_SHARE_MAX * cells:
        print(f"too little was judged: {disturbed} of {cells} cells were disturbed")
        failed = True
    skipped = count["absent"] + count["skipped"]
    if skipped:
        print(f"of {skipped} skipped: {count['absent']} right but for absent counters, {lacking} "
              f"without what they need here, {disturbed} disturbed")
    print(f"{count['passed']} passed, {count['failed']} failed, {skipped} skipped")
    return 1 if failed else 0


def main():
    args = parse_arguments()
    Limits.timeout_s = args.timeout
    if args.looks:
        os.environ["WL_ORACLE"] = args.looks
    if args.list:
        for cell in all_cells(Tools(Root(None, args.wl), None)):
            if wanted(cell.name, args.only):
                print(cell.name)
        return 0
    if os.geteuid():
        print("truth tests need root: loop devices, BPF, cgroups", file=sys.stderr)
        return SKIP
    # The database of a failed cell is kept for examination.
    work = tempfile.mkdtemp(prefix="cachemon-truth-db.", dir=os.path.abspath(args.dir))
    databases = os.path.join(work, "db")
    os.mkdir(databases)
    # Background jobs of a script start with SIGINT ignored, and would leave their mounts behind.
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, lambda nr, _: sys.exit(128 + nr))
    try:
        with contextlib.ExitStack() as stack:
            images = stack.enter_context(Images(args.fs, args.dir, args.image_mb << 20))
            takers = {fs: Takers(stack, images.mount(fs)) for fs in args.fs if fs not in images.lacking}
            cachemon = None if args.oracle else os.path.abspath(args.cachemon)
            way = way_of(args.how, work, cachemon, os.path.abspath(args.wl))
            way.own(databases, *(images.mount(fs) for fs in args.fs if fs not in images.lacking))
            tools = Tools(way, databases, args.level)
            looks = tools.run_wl("looks").strip()
            print(f"kernel {os.uname().release}, presence of pages by {looks}, as {args.how}, "
                  f"level {args.level}")
            if args.some:
                every = all_cells(tools)
                print(f"truth patterns: {sum(wanted(c.name, args.only) for c in every)} of {len(every)}")
            results = run_all(args, Environment(tools, images, takers, args.seed), looks)
    finally:
        if args.oracle or not os.listdir(databases):
            shutil.rmtree(work)
    show_table(results, args.fs)
    return summary(results)


if __name__ == "__main__":
    sys.exit(main())
