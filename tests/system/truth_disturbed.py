#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The truth tests while other processes evict pages of the files under test: a disturbed cell is
repeated, and left out if it was always disturbed. A wrong figure fails even then."""

import contextlib
import glob
import io
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter

sys.dont_write_bytecode = True
PLACE = os.path.dirname(os.path.abspath(__file__))
TRUTH = os.path.join(os.path.dirname(PLACE), "truth")
sys.path[:0] = [PLACE, TRUTH]

import run as truth  # noqa: E402
from syslib import tracefs  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, resident_pages  # noqa: E402
from truthlib import conditions  # noqa: E402
from truthlib.cells import Outcome  # noqa: E402
from truthlib.takers import count, others  # noqa: E402

LIMIT_S = 600
BOUNDED = "memcg_loop"  # its bound is that of kswapd_fill, and it fills less memory
EXACT = "seq_128k"
FIRST = 8192  # pages, of a file of 16,384
MUCH, LITTLE = 4096, 64  # pages: more than 1 % of the evictions, and less
PAUSE_S = 0.005

# Replaces cachemon: others evict during its first watches, and two figures of the report are
# swapped.
STAND_IN = """#!/bin/sh
if [ "$1" = report ]; then
	{program} "$@" | sed 's/"{one}":/"none":/g; s/"{other}":/"{one}":/g; s/"none":/"{other}":/g'
elif [ "$(wc -l <{count})" -lt {watches} ]; then
	echo >>{count}
	{evictor} &
	{program} "$@"
	status=$?
	kill $!
	exit $status
else
	exec {program} "$@"
fi
"""

part = Part(__doc__)


def evict(base, pages, how):
    """Evicts that many pages in the middle of each file under test once they are cached, once or
    repeatedly ("ever")."""
    done = set()
    while True:
        for path in glob.glob(f"{base}/cachemon-truth.*/ext4/file*"):
            with contextlib.suppress(OSError), open(path, "rb") as f:  # it may be removed just now
                if path not in done and resident_pages(f.fileno(), FIRST, pages):
                    os.posix_fadvise(f.fileno(), FIRST * PAGE, pages * PAGE, os.POSIX_FADV_DONTNEED)
                    done.update([path] if how == "once" else [])
        time.sleep(PAUSE_S)


class World:
    def __init__(self, args, work, _):
        build = os.environ.get("CACHEMON_BUILD", os.path.dirname(os.path.dirname(args.cachemon)))
        self.cachemon, self.work = args.cachemon, work
        self.wl = os.path.join(build, "tests/truth/wl")

    def stand_in(self, evicted=0, how="once", watches=0, lie=("nothing", "nothing")):
        """A program like cachemon; during its first watches other processes evict that many
        pages. lie: the figures of its reports that are swapped."""
        path, tally = os.path.join(self.work, "stand-in"), os.path.join(self.work, "watches")
        open(tally, "w", encoding="ascii").close()
        evictor = f"{sys.executable} {os.path.abspath(__file__)} evict {self.work} {evicted} {how}"
        with open(path, "w", encoding="ascii") as f:
            f.write(STAND_IN.format(program=self.cachemon, one=lie[0], other=lie[1], count=tally,
                                    watches=watches, evictor=evictor))
        os.chmod(path, 0o755)
        return path

    def judged(self, pattern, **stand_in):
        """(exit status, output) of run.py for one cell."""
        done = subprocess.run([sys.executable, os.path.join(TRUTH, "run.py"), "--cachemon",
                               self.stand_in(**stand_in), "--wl", self.wl, "--fs", "ext4", "--dir", self.work,
                               "--only", pattern],
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        return done.returncode, done.stdout + done.stderr


def judgeable(text):
    """The machine may lack what the cell needs, or disturb it itself."""
    if text.endswith("0 passed, 0 failed, 1 skipped\n"):
        raise Skipped(" ".join(text.splitlines()[1:4]))


def line(thread, text):
    return f" {thread:>16}  [001] d..2.  7.{len(text):06}: {text}\n"


def deleted(thread, ino, order=None):
    size = "" if order is None else f" order={order}"
    return line(thread, f"mm_filemap_delete_from_page_cache: dev 7:0 ino {ino:x} pfn=0x1f ofs=4096{size}")


@part.case
def causes(*_):
    """A page is attributed to the reclaim that its thread was in, to kswapd, or to the thread."""
    scope = "mm_vmscan_{}_reclaim_{}: nr_reclaimed=32".format
    lines = ["# entries-in-buffer/entries-written: 10/10   #P:2\n",
             deleted("kswapd0-45", 12, 5), deleted("kdamond.0-77", 12, 2), deleted("wl-9", 12, 0),
             line("wl-9", scope("direct", "begin")), deleted("wl-9", 12, 1), deleted("sh-8", 255),
             line("wl-9", scope("direct", "end")), deleted("wl-9", 12, 0), line("wl-9", scope("memcg", "begin")),
             deleted("wl-9", 255), deleted("iou-wrk-9-11", 255, 3)]
    taken = count(lines)
    equal("pages by cause", taken, {12: {"kswapd": 32, "kdamond.0": 4, "wl": 2, "direct": 2},
                                    255: {"sh": 1, "memcg": 1, "iou-wrk-9": 8}})
    equal("without the workload's own", others(taken),
          {"kswapd": 32, "kdamond.0": 4, "direct": 2, "sh": 1, "memcg": 1})
    equal("a trace that lost lines", count([lines[0].replace("10/10", "10/11"), *lines[1:]]), None)
    equal("nothing is known", others(None), {})


@part.case
def preconditions(*_):
    """If others evicted more than 1 %, and if they evicted no more."""
    cells = {c.name: c for c in conditions.cells()}
    for name, by, held in (
            ("kswapd_fill", {"kswapd": 90, "direct": 9, "kdamond.0": 1}, True),
            ("kswapd_fill", {"kswapd": 90, "direct": 8, "kdamond.0": 2}, False),
            ("kswapd_fill", {"kswapd": 1328128, "kdamond.0": 14080}, False),
            ("kswapd_fill", {"direct": 100}, False),
            ("memcg_loop", {"memcg": 99, "kswapd": 1}, True),
            ("memcg_loop", {"memcg": 98, "kswapd": 2}, False),
            ("throttled_aio", {"sh": 1}, False)):
        by = Counter(by)
        equal(f"{name}, {dict(by)}", bool(cells[name].held(by)), held)


def cells(passed, by_others=0, by_nobody=0):
    """Results of run.py, with that many cells of each kind."""
    results = {(f"passed{i}", "ext4"): [Outcome("passed")] for i in range(passed)}
    for i in range(by_others + by_nobody):
        outcome = Outcome("skipped", ["pages left"], attempts=5)
        outcome.by_others = i < by_others
        results[(f"skipped{i}", "ext4")] = [outcome]
    return results


@part.case
def shares(*_):
    """The number of cells that may be left out before a run is insufficient."""
    for results, status in ((cells(40), 0), (cells(38, by_nobody=2), 0), (cells(37, by_nobody=3), 1),
                            (cells(20, by_others=20), 0), (cells(19, by_others=21), 1),
                            (cells(0, by_others=1), 0), (cells(0), 1)):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            equal("exit status", truth.summary(results), status)
        check(text.getvalue().splitlines()[-1].endswith(" skipped"), text.getvalue())


@part.case
def killed(*_):
    """The trace instance of a killed test is removed by the next one, that of a running one is
    not."""
    if not tracefs.mounted():
        raise Skipped("this kernel has no tracefs")
    code = "import os, signal; from syslib import tracefs; tracefs.Instance('orphan', os.getpid(), {}, 64); " \
           "os.kill(os.getpid(), signal.SIGKILL)"
    dead = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": PLACE})
    equal("signal", -dead.wait(), signal.SIGKILL)
    left = f"{tracefs.TRACING}/instances/cachemon-orphan-{dead.pid}"
    check(os.path.isdir(left), f"{left}: was not left behind")
    living = tracefs.Instance("living", os.getpid(), {}, 64)
    tracefs.Instance("next", os.getpid(), {}, 64).end()
    check(not os.path.exists(left), f"{left}: still there")
    check(os.path.isdir(living.path), f"{living.path}: was removed")
    living.end()


@part.case
def left_out(world, _):
    """Others evict in each attempt."""
    status, text = world.judged(BOUNDED, evicted=MUCH, how="ever", watches=100)
    if ", 1 without what they need here" in text:
        judgeable(text)
    check(re.search("^left out: ext4 memcg_loop, disturbed 5 times, .*: pages left in another way than .*"
                    r"; evicted pages: .*\bmemcg, [0-9,]+ by python3$", text, re.M), text)
    check(text.endswith("\n0 passed, 0 failed, 1 skipped\n"), text)
    equal("exit status", status, 0)


@part.case
def repeated(world, _):
    """Others evict in the first attempt only."""
    status, text = world.judged(BOUNDED, evicted=MUCH, how="ever", watches=1)
    judgeable(text)
    check(re.search(r"^PASSED .*, attempt [2-5]$", text, re.M), text)
    equal("exit status", status, 0)


@part.case
def wrong(world, _):
    """A wrong figure fails, even if others evict less than the bound allows."""
    for pattern, figure, taken_for, watches in ((BOUNDED, "reclaim_memcg", "reclaim_direct", 0),
                                                (BOUNDED, "reclaim_memcg", "reclaim_direct", 100),
                                                (EXACT, "misses", "hits", 0)):
        status, text = world.judged(pattern, evicted=LITTLE, watches=watches, lie=(figure, taken_for))
        judgeable(text)
        check(re.search(rf"^FAILED .*\n(.*\n)* +file +(evicted_)?{figure} +expected ", text, re.M), text)
        check(text.endswith("\n0 passed, 1 failed, 0 skipped\n"), text)
        equal("exit status", status, 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["evict"]:
        evict(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    sys.exit(part.main(World))
