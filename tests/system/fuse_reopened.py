#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A loader that opens a file of a FUSE filesystem again for each epoch, watched without options.
Without keep_cache each open drops the cached pages, which the server then sends again; the finding
names keep_cache. With keep_cache nothing is dropped, and there is no finding. cachestat(2) counts
the pages before and after each open."""

import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import fuse, machine, reader  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.reads import PAGE, cached_pages, fill  # noqa: E402
from syslib.tool import Tool  # noqa: E402

PAGES = 4096
EPOCHS = 6
NAME = "fuse-drops-cache"

part = Part(__doc__)


def work(path):
    """Prints the pages that opening the file dropped, and the pages that reading it brought."""
    dropped = brought = cached = 0
    for _ in range(EPOCHS):
        fd = os.open(path, os.O_RDONLY)
        dropped += cached - cached_pages(fd)
        brought -= cached_pages(fd)
        while os.read(fd, 1 << 16):
            pass
        cached = cached_pages(fd)
        brought += cached
        os.close(fd)
    print(json.dumps({"dropped": dropped, "brought": brought}))


class World:
    def __init__(self, args, folder, stack):
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True,
                               check=True)
        self.tool, self.folder = Tool(args.cachemon, folder), folder
        self.backing = fill(os.path.join(folder, "backing"), PAGES)
        self.server = reader.build(folder, "fusefs", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-Wl,--no-as-needed",
                                   *flags.stdout.split())

    def watch(self, stack, how):
        """(job of the report, job of the advice, what the job itself counted)"""
        mount = tempfile.mkdtemp(dir=self.folder)
        server = subprocess.Popen([self.server, how, self.backing, mount], stdout=subprocess.PIPE, text=True)
        stack.callback(server.wait)
        stack.callback(machine.unmount, mount)
        equal("the FUSE server", server.stdout.readline(), "ready\n")
        watch = self.tool.watch(stack, (), [sys.executable, "-B", os.path.abspath(__file__), "--work", f"{mount}/data"])
        _, job, out = watch.end()
        advised = json.loads(self.tool.run("advise", "--db", watch.db, "--format", "json"))["jobs"][0]
        return job, advised, json.loads(out), mount


@part.case
def dropped_at_each_open(world, stack):
    job, advised, truth, mount = world.watch(stack, "cached")
    equal("pages that opening dropped, by cachestat(2)", truth["dropped"], (EPOCHS - 1) * PAGES)
    equal("evicted_pages.invalidate", job["totals"]["evicted_pages"]["invalidate"], truth["dropped"])
    found = {f["id"]: f for f in advised["findings"]}
    check(NAME in found, f"found {sorted(found)}, not judged {advised['not_judged']}")
    f = found[NAME]
    evidence = {e["metric"]: e["value"] for e in f["evidence"]}
    equal("evidence: dropped", evidence["evicted_pages.invalidate"], truth["dropped"])
    equal("evidence: read again", evidence["returned_pages"], truth["brought"] - PAGES)
    equal("subject", f["subject"]["name"], mount)
    check(f["severity"] != "info", f"severity {f['severity']}, gain {f['gain']}")
    said = json.dumps(f["action"])
    check("keep_cache" in said and "kernel_cache" in said, f"keep_cache is not named: {said}")
    check(mount in said, f"no command names {mount}: {said}")


@part.case
def kept_at_each_open(world, stack):
    job, advised, truth, _ = world.watch(stack, "kept")
    equal("pages that opening dropped, by cachestat(2)", truth["dropped"], 0)
    equal("evicted_pages.invalidate", job["totals"]["evicted_pages"]["invalidate"], 0)
    found = {f["id"] for f in advised["findings"]}
    check(NAME not in found, f"found {sorted(found)}")
    check(NAME not in {u["id"] for u in advised["not_judged"]}, "could not be judged")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        sys.exit(work(*sys.argv[2:]))
    sys.exit(fuse.main(part, World))
