# SPDX-License-Identifier: BSD-2-Clause
"""fio compared with cachemon: lookups by fio's own byte counts, residency by the oracle's look."""

import json
import mmap
import os
import shlex
import shutil

from . import compare
from .cells import Cell, Outcome, decide
from .watch import Failed, Lacking, file_totals, remove

PAGE = mmap.PAGESIZE
CASES = {
    "fio_psync_seq64k": ["--rw=read", "--bs=64k"],
    "fio_psync_seq1m_4j": ["--rw=read", "--bs=1m", "--numjobs=4"],
    "fio_psync_rand_4j": ["--rw=randread", "--bsrange=4k-64k", "--numjobs=4"],
    "fio_psync_seq20k": ["--rw=read", "--bs=20k"],
    "fio_uring_rand16k": ["--rw=randread", "--bs=16k", "--ioengine=io_uring", "--iodepth=8"],
    "fio_uring_seq64k": ["--rw=read", "--bs=64k", "--ioengine=io_uring", "--iodepth=4"],
}


class FioCell(Cell):
    def __init__(self, name, options):
        super().__init__(name, "medium")
        self.options = options

    def attempt(self, env, fs, why):
        tools = env.tools
        if not shutil.which("fio"):
            raise Lacking("fio is not installed")
        path = os.path.join(env.images.mount(fs), "file")
        out, scan = tools.fresh(".json"), tools.fresh(".scan")
        tools.run_wl("prepare", self.setup, path)
        argv = ["fio", "--name=truth", f"--filename={path}", f"--size={os.stat(path).st_size}",
                "--readonly", "--invalidate=0", "--direct=0", "--ioengine=psync",
                "--output-format=json", f"--output={out}", *self.options]
        # The last look belongs to the job, so that later evictions can be separated.
        script = f"{shlex.join(argv)} && {shlex.join([tools.wl, 'scan', path])} > {scan}"
        db = tools.watch(["sh", "-c", script])
        with open(scan) as f:
            resident = int(f.read())
        if tools.scan(path) != [resident]:
            why.append("pages left after the last look")
            remove(db, out, scan)
            return None
        return self.verdict_of(tools, path, db, out, scan, resident)

    def verdict_of(self, tools, path, db, out, scan, resident):
        with open(out) as f:
            io_bytes = sum(j["read"]["io_bytes"] for j in json.load(f)["jobs"])
        if not io_bytes or io_bytes % PAGE:
            raise Failed(f"fio read {io_bytes} bytes, not a number of pages")
        st = os.stat(path)
        want = {"expect": {"lookups": io_bytes // PAGE, "read_bytes": io_bytes,
                           "balance": resident, "written_pages": 0}}
        if not tools.cachemon:
            return Outcome("passed", [], [("file", k, v, v, 0)
                                          for k, v in want["expect"].items()])
        report, job = tools.report(db)
        dev = f"{os.major(st.st_dev)}:{os.minor(st.st_dev)}"
        totals = file_totals(job, dev, st.st_ino)
        unmeasured = compare.unmeasured_of(report)
        rows = [("file", *r) for r in compare.compare_file(want, totals, unmeasured)]
        outcome = decide(rows, compare.report_errors(report), unmeasured)
        if outcome.status == "failed":
            outcome.notes.append(f"kept: {db} {out}")
        else:
            remove(db, out, scan)
        return outcome


def cells():
    return [FioCell(name, options) for name, options in CASES.items()]
