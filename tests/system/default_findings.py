#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Orders of reading that readahead does not foresee, watched without options: the finding needs
neither a trace nor a sample of references, which a busy run gives up."""

import contextlib
import json
import os
import random
import shutil
import sqlite3
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(ROOT, "examples", "pairs")]
sys.dont_write_bytecode = True

from place import Lacking, Place  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, fill  # noqa: E402
from syslib.tool import Tool  # noqa: E402

part = Part(__doc__)
FILE_PAGES = 32768
READS = 900
RECORD = 4  # pages
IOPS = 600  # slow enough that the job waits for most of its time, whatever else runs


def stride(r):
    return [(i * (FILE_PAGES // READS), 1) for i in range(READS)]


def shuffled(r):
    return [(i * RECORD, RECORD) for i in r.sample(range(FILE_PAGES // RECORD), READS)]


def hot_pages(r):
    """Zipf: the hottest page is read hundreds of times, most of the others once."""
    pages = r.sample(range(FILE_PAGES), 2000)
    return [(p, 1) for p in r.choices(pages, [1 / (i + 1) for i in range(len(pages))], k=4 * READS)]


def in_order(r):
    return [(at, RECORD) for at in range(0, FILE_PAGES, RECORD)]


ORDERS = {f.__name__: f for f in (stride, shuffled, hot_pages, in_order)}
SCATTERED = {"stride-defeats-readahead", "one-read-at-a-time"}
DETAIL = ("trace_chunk", "trace_advice", "traced_file", "reference_chunk", "reference_page", "reference_sample")


def work(order, path):
    """Prints the number of reads."""
    fd, reads = os.open(path, os.O_RDONLY), ORDERS[order](random.Random(1))
    for page, pages in reads:
        os.pread(fd, pages * PAGE, page * PAGE)
    print(len(reads))


class World:
    def __init__(self, args, folder, stack):
        self.tool = Tool(args.cachemon, folder)
        try:
            self.place = stack.enter_context(Place("ext4", "/var/tmp", 512 << 20))
        except Lacking as e:
            raise Skipped(str(e)) from e
        self.path = fill(os.path.join(self.place.dir, "data"), FILE_PAGES)

    def watch(self, stack, order):
        """The database of a cold job."""
        self.place.cold()
        with self.place.conditions(iops=IOPS) as groups:
            join = "import os, sys\nfor g in sys.argv[1].split(':'):\n    g and open(g + '/cgroup.procs', 'w')" \
                   ".write(str(os.getpid()))\nos.execv(sys.argv[2], sys.argv[2:])"
            watch = self.tool.watch(stack, (), [
                sys.executable, "-B", "-c", join, groups, sys.executable, "-B", os.path.abspath(__file__),
                "--work", order, self.path])
            watch.end()
        return watch.db

    def findings(self, db):
        """{finding: object}, {rule that could not be judged: reason}"""
        job = json.loads(self.tool.run("advise", "--db", db, "--format", "json"))["jobs"][0]
        return {f["id"]: f for f in job["findings"]}, {u["id"]: u["reason"] for u in job["not_judged"]}

    def without_detail(self, db):
        """A copy without traces and references, as of a run that could not afford any."""
        bare = self.tool.fresh(".db")
        with contextlib.closing(sqlite3.connect(db)) as whole, contextlib.closing(sqlite3.connect(bare)) as copy:
            whole.backup(copy)
            have = {name for name, in copy.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            for table in DETAIL:
                if table in have:
                    copy.execute(f"DELETE FROM {table}")
            copy.commit()
        return bare


def scattered(order):
    def case(world, stack):
        db = world.watch(stack, order)
        found, _ = world.findings(db)
        check(SCATTERED & set(found), f"found {sorted(found)}")
        found, unjudged = world.findings(world.without_detail(db))
        check("one-read-at-a-time" in found, f"without a trace: {sorted(found)}")
        equal("subject", found["one-read-at-a-time"]["subject"]["name"], world.path)
        equal("severity", found["one-read-at-a-time"]["severity"], "high")
        # Counters do not show whether the distance is constant, and the report says what would.
        if order != "hot_pages":
            check("watch --level full" in unjudged["stride-defeats-readahead"], f"{unjudged}")
    case.__name__ = order
    return part.case(case)


for name in ("stride", "shuffled", "hot_pages"):
    scattered(name)


@part.case
def order_is_not_scattered(world, stack):
    """The same file in order, on the same slow device."""
    db = world.watch(stack, "in_order")
    for which in (db, world.without_detail(db)):
        found, unjudged = world.findings(which)
        check(not SCATTERED & set(found), f"found {sorted(found)}")
        check(not SCATTERED & {name for name, why in unjudged.items() if "all else holds" in why}, f"in doubt: {unjudged}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        sys.exit(work(*sys.argv[2:]))
    sys.exit(part.main(World))
