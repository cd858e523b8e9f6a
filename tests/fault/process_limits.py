#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Low limits of a process: descriptors, stack, /proc and /sys. A missing resource is reported in
a line, and nothing ends by a signal."""

import os
import sys

sys.dont_write_bytecode = True

from faultlib.part import Part, expect  # noqa: E402
from faultlib.trouble import finished  # noqa: E402
from faultlib.watch import run  # noqa: E402

part = Part("process_limits", __doc__)
FORMATS = ("text", "md", "html", "json", "csv", "yaml")
STACKS = (64 << 10, 96 << 10, 128 << 10, 200 << 10)


def measuring(case):
    """Verbs that examine the machine, and their status when they could not."""
    db = case.path("run.db")
    yield ["doctor"], (1,)
    yield ["selftest", "--dir", case.dir], (1,)
    yield ["watch", "--db", db, "--duration", "100ms", "--pid", str(os.getpid())], (1,)
    yield ["watch", "--db", db, "--", "true"], (125,)


def readers(db):
    for name in FORMATS:
        yield ["report", "--db", db, "--format", name]
    for name in ("text", "html", "json"):
        yield ["compare", "--db", db, "1", "2", "--format", name]
        yield ["advise", "--db", db, "--format", name]
    for what in ("cache", "readahead"):
        yield ["whatif", what, "--db", db]
    yield ["runs", "--db", db]
    yield ["explain", "small-files"]
    yield ["top", "--batch", "--frames", "1", "--db", db]


@part.case("few descriptors: the limit is named, no capability")
def descriptors(case):
    worked = {}
    for limit in (4, 5, 8, 12, 16, 24, 32, 48, 63, 64, 80, 100, 256):
        for argv, failed in measuring(case):
            done = run([case.cachemon, *argv], prefix=["prlimit", f"--nofile={limit}"])
            name = " ".join(argv[:1] + argv[-2:-1])
            if done.status == 0:
                worked.setdefault(name, limit)
                continue
            # The dynamic loader fails below about 4, with a line and 127.
            expect(done.status in (*failed, 127), f"{limit}: {done}")
            expect(name not in worked, f"{limit}: works with fewer: {done}")
            expect("CAP_" not in done.err and ("open files" in done.err or done.status == 127 and
                   "Error 24" in done.err), f"{limit}: {done}")
            expect(len(done.lines()) <= 2, f"{limit}: {done}")
    expect(len(worked) == 4, f"some never work: {worked}")
    return f"work from {sorted(set(worked.values()))} descriptors on"


@part.case("no /proc, no /sys: the place is named, no capability")
def places(case):
    for place in ("/proc", "/sys"):
        for argv, failed in measuring(case):
            done = run(["unshare", "-m", "sh", "-c", f'umount -l {place}; exec "$@"', "sh",
                        case.cachemon, *argv])
            expect(done.status in failed, f"{place}: {done}")
            expect(f"is {place} mounted" in done.err and "CAP_" not in done.err and
                   len(done.lines()) == 1, f"{place}: {done}")
    db = finished(case, case.path("read.db")).path
    finished(case, db)
    for place in ("/proc", "/sys"):
        for argv in readers(db):
            done = run(["unshare", "-m", "sh", "-c", f'umount -l {place}; exec "$@"', "sh",
                        case.cachemon, *argv])
            expect(done.status in (0, 1) and done.out, f"{place}: {done}")


@part.case("a small stack: every verb and format as with a large one")
def stack(case):
    db = finished(case, case.path("run.db")).path
    finished(case, db)
    count = 0
    for size in STACKS:
        few = ["prlimit", f"--stack={size}"]
        for argv in readers(db):
            whole = run([case.cachemon, *argv])
            done = run([case.cachemon, *argv], prefix=few)
            expect(done.status == whole.status and len(done.out) == len(whole.out),
                   f"{size}: {done}, {whole}")
            count += 1
        for argv, _ in measuring(case):
            done = run([case.cachemon, *argv], prefix=few)
            expect(done.status == 0, f"{size}: {done}")
            count += 1
        done = run([case.cachemon, "watch", "--db", db, "--report", case.path("report.html"), "--",
                    "true"], prefix=few)
        expect(done.status == 0, f"{size}: {done}")
        done = run([case.cachemon, "top", "--batch", "--frames", "1", "--pid", str(os.getpid())],
                   prefix=few)
        expect(done.status == 0, f"{size}: {done}")
    return f"{count} commands"


if __name__ == "__main__":
    part.main()
