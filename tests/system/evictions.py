#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Why pages of the job left the cache, by evictor and number. The acts of the job are known, and
cachestat(2) counts the pages that left."""

import json
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.orders import RWF_DONTCACHE, Worker  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import cached_pages, drop  # noqa: E402
from syslib.world import World  # noqa: E402

PAGES = 2048

part = Part(__doc__)


class Case:
    """A worker that is the job from its first order."""

    def __init__(self, world, stack):
        self.world = world
        self.worker = Worker(stack)
        self.watch = world.tool.watch(stack, ["--level", "full", "--interval", "200ms", "--pid",
                                              str(self.worker.pid)])
        self.watch.wait_started()

    def do(self, *order):
        self.worker.do(*order)

    def end(self):
        """(totals, {cause: pages} of the causes that occurred)"""
        self.watch.interrupt()
        totals = self.watch.end()[1]["totals"]
        return totals, {k: v for k, v in totals["evicted_pages"].items() if v}

    def findings(self):
        said = json.loads(self.world.tool.run("advise", "--db", self.watch.db, "--format", "json"))
        return {f["id"] for j in said["jobs"] for f in j["findings"]}


def cached(path):
    with open(path, "rb") as f:
        return cached_pages(f.fileno())


def uncached_file(world):
    """A cold file, if this kernel and its filesystem know the flag."""
    path = world.cold(PAGES)
    with open(path, "rb") as f:
        try:
            os.preadv(f.fileno(), [bytearray(1)], 0, RWF_DONTCACHE)
        except OSError as e:
            raise Skipped(f"no RWF_DONTCACHE: {e}") from e
        drop(f.fileno())
    return path


@part.case
def uncached_reads(world, stack):
    """Each page leaves when its call ends; the second pass reads all of them again."""
    path = uncached_file(world)
    c = Case(world, stack)
    for _ in range(2):
        c.do("uncached", path, 0, PAGES)
        equal("pages in the cache", cached(path), 0)
    totals, causes = c.end()
    equal("evictions", causes, {"dontcache": 2 * PAGES})
    equal("refaults", totals["refaults"], PAGES)
    check("dontcache-reread" in c.findings(), "the finding is missing")


@part.case
def uncached_writes(world, stack):
    """The pages leave when they are written, in a kernel thread or in the call that waits."""
    path = uncached_file(world)
    c = Case(world, stack)
    c.do("write_uncached", path, 0, PAGES)
    c.do("sync", path)
    left = cached(path)
    totals, causes = c.end()
    equal("pages written", totals["written_pages"], PAGES)
    part.note(f"{left} of {PAGES} stayed")
    equal("evictions", causes, {"dontcache": PAGES - left} if left < PAGES else {})


@part.case
def direct_writes_are_direct(world, stack):
    """By system call, AIO and io_uring, over a file that is fully cached."""
    if not shutil.which("fio"):
        raise Skipped("no fio")
    for engine in "psync", "libaio", "io_uring":
        path = world.cold(PAGES)
        watch = world.tool.watch(stack, ["--level", "full"], [
            "sh", "-c", f"cat {path} >/dev/null && exec fio --name=w --filename={path} --rw=write --bs=64k "
            f"--direct=1 --invalidate=0 --size=4m --ioengine={engine} --iodepth=4 --thread --output=/dev/null"])
        job = watch.end()[1]
        causes = {k: v for k, v in job["totals"]["evicted_pages"].items() if v and k != "truncate"}
        equal(f"evictions by {engine}", causes, {"direct_io": PAGES - cached(path)})


@part.case
def files_without_a_name(world, stack):
    """Pages of a deleted file that advice and a direct write drop come back."""
    c, path = Case(world, stack), world.cold(PAGES)
    c.do("block", path, 0, PAGES)
    os.unlink(path)
    c.do("dontneed", path, 0, 1024)
    c.do("write_direct", path, 1024, 512)
    c.do("block", path, 0, PAGES)
    totals, causes = c.end()
    equal("evictions", causes, {"dontneed": 1024, "direct_io": 512})
    equal("refaults", totals["refaults"], 1024 + 512)


@part.case
def deleted_files_go_with_their_last_user(world, stack):
    c, path = Case(world, stack), world.cold(PAGES)
    c.do("block", path, 0, PAGES)
    os.unlink(path)
    c.do("close", path)
    totals, causes = c.end()
    equal("evictions", causes, {"truncate": PAGES})
    equal("refaults", totals["refaults"], 0)


@part.case
def holes_punched_by_madvise(world, stack):
    """Pages of a punched hole do not come back, whatever is read there."""
    c, path = Case(world, stack), world.cold(PAGES)
    c.do("block", path, 0, PAGES)
    c.do("remove", path, 512, 1024)
    c.do("block", path, 0, PAGES)
    totals, causes = c.end()
    equal("evictions", causes, {"truncate": 1024})
    equal("refaults", totals["refaults"], 0)


if __name__ == "__main__":
    sys.exit(part.main(World))
