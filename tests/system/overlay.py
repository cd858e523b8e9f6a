#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files of an overlay: all accesses to one count in one row, that of the layer that holds the
pages, under the path that the job used. Compared with cachestat(2) and the job's own count."""

import ctypes
import json
import mmap
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, cached_pages, drop, fill  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
PAGES = 256
libc = ctypes.CDLL(None, use_errno=True)

part = Part(__doc__)


class Overlays(World):
    """One mount of two layers, and one that has that mount as its lower layer."""

    def __init__(self, args, work, stack):
        super().__init__(args, work, stack)
        for place in ("lower", "upper", "work", "merged", "upper2", "work2", "nested"):
            os.mkdir(f"{self.data}/{place}")
        for name in ("low", "copied"):
            fill(f"{self.data}/lower/{name}", PAGES)
        self.mount(stack, "lower", "upper", "work", "merged")
        fill(f"{self.data}/merged/new", PAGES)
        with open(f"{self.data}/merged/copied", "r+b") as f:
            f.write(b"up")
        self.mount(stack, "merged", "upper2", "work2", "nested")

    def mount(self, stack, lower, upper, work, merged):
        machine.mount(stack, "-t", "overlay", "-o", f"lowerdir={self.data}/{lower},"
                      f"upperdir={self.data}/{upper},workdir={self.data}/{work}",
                      "overlay", f"{self.data}/{merged}")

    def cold(self, layer, name):
        path = f"{self.data}/{layer}/{name}"
        with open(path, "rb") as f:
            os.fsync(f.fileno())
            drop(f.fileno())
            equal("pages before", cached_pages(f.fileno()), 0)
        return path


WAYS = {"low": "lower", "copied": "upper", "new": "upper"}


def work_advise(path, layer):
    """Each call that moves pages, and RANDOM; reports by how many pages each changed the layer's
    cache."""
    fd, below, moved = os.open(path, os.O_RDONLY), os.open(layer, os.O_RDONLY), {}

    def advise(name, call, *args):
        before = cached_pages(below)
        call(*args)
        moved[name] = cached_pages(below) - before

    advise("fadvise willneed", os.posix_fadvise, fd, 0, 8 * PAGE, os.POSIX_FADV_WILLNEED)
    os.pread(fd, 8 * PAGE, 0)
    advise("fadvise dontneed", os.posix_fadvise, fd, 0, 0, os.POSIX_FADV_DONTNEED)
    advise("readahead readahead", libc.readahead, fd, ctypes.c_int64(0), ctypes.c_size_t(8 * PAGE))
    area = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
    advise("madvise willneed", area.madvise, mmap.MADV_WILLNEED, 16 * PAGE, 8 * PAGE)
    area.close()
    advise("fadvise random", os.posix_fadvise, fd, 0, 0, os.POSIX_FADV_RANDOM)
    os.pread(fd, PAGE, 64 * PAGE)
    print(json.dumps(moved))


def one_file(world, job, path, layer, named=None):
    """The only row of either inode: the layer's, with the user's path."""
    # Inode numbers of other filesystems may be the same.
    inodes = {(machine.device_of(place), os.stat(place).st_ino) for place in (path, layer)}
    found = [f for f in job["files"]
             if (f["dev"], f["ino"]) in inodes or f["path"] in (path, layer)]
    equal("rows, by path", [f["path"] for f in found], [named or path])
    equal("device and inode", (found[0]["dev"], found[0]["ino"]),
          (world.dev, os.stat(layer).st_ino))
    return found[0]["totals"]


def advised(world, stack, mode, merged, name):
    path = f"{world.data}/{merged}/{name}"
    layer = world.cold(WAYS[name], name)
    watch = world.tool.watch(stack, ["--level", "full", "--advice", mode],
                             [sys.executable, ME, "--work", "advise", path, layer])
    _, job, out = watch.end()
    moved = json.loads(out)
    one_file(world, job, path, layer)
    rows = {f"{a['call']} {a['kind']}": a for a in job["advice"] if a["path"] == path}
    equal("advice, all of it", len([a for a in job["advice"] if a["path"].startswith(world.data)]),
          len(rows))
    equal("advice in the report", sorted(rows), sorted(moved))
    for kind, pages in moved.items():
        r = rows[kind]
        check(pages or kind == "fadvise random", f"{kind} moved nothing: the test shows nothing")
        equal(f"{kind}: brought less dropped", r["pages_brought"] - r["pages_dropped"], pages)
        if kind != "fadvise random" or mode == "calls":
            equal(f"{kind}: calls", r["calls"], 1)
        if kind.endswith(("willneed", "readahead")):
            equal(f"{kind}: pages asked", r["pages_asked"], 8)
    return rows


def each_file(world, stack, mode):
    for merged, name in (("merged", "low"), ("merged", "copied"), ("merged", "new"),
                         ("nested", "low"), ("nested", "new")):
        print(f"        {mode}: {merged}/{name}", flush=True)
        advised(world, stack, mode, merged, name)


@part.case
def advice_by_calls_is_one_row(world, stack):
    each_file(world, stack, "calls")


@part.case
def advice_by_effects_is_one_row(world, stack):
    each_file(world, stack, "effects")


def work_map(path):
    fd = os.open(path, os.O_RDONLY)
    area = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
    os.close(fd)
    for at in range(0, PAGES * PAGE, PAGE):
        area[at]


def brought(t):
    return t["demand_pages"] + t["prefetched_pages"]


def work_mapped_advice(path):
    fd = os.open(path, os.O_RDONLY)
    area = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
    os.close(fd)
    area.madvise(mmap.MADV_WILLNEED, 0, PAGES * PAGE)


@part.case
def advice_on_a_mapping_alone_has_the_users_path(world, stack):
    for mode in "calls", "effects":
        path, layer = f"{world.data}/merged/low", world.cold("lower", "low")
        _, job, _ = world.tool.watch(stack, ["--level", "full", "--advice", mode], [
            sys.executable, ME, "--work", "mapped_advice", path]).end()
        one_file(world, job, path, layer)
        rows = [a for a in job["advice"] if a["path"].startswith(world.data)]
        equal(f"advice by {mode}", [(a["path"], a["call"], a["pages_brought"]) for a in rows],
              [(path, "madvise", PAGES)])


@part.case
def mapped_files_have_the_users_path(world, stack):
    for merged, name in (("merged", "low"), ("merged", "copied"), ("nested", "low")):
        layer = world.cold(WAYS[name], name)
        path = f"{world.data}/{merged}/{name}"
        _, job, _ = world.tool.watch(stack, ["--level", "full"], [
            sys.executable, ME, "--work", "map", path]).end()
        # A mapping of an overlay file in another overlay resolves to the layer only.
        t = one_file(world, job, path, layer, layer if merged == "nested" else None)
        equal(f"pages of {merged}/{name}", brought(t), PAGES)


@part.case
def io_uring_reads_have_the_users_path(world, stack):
    if not shutil.which("fio"):
        raise Skipped("no fio")
    for name, cold in (("low", True), ("copied", True), ("low", False)):
        layer = f"{world.data}/{WAYS[name]}/{name}"
        if cold:
            world.cold(WAYS[name], name)
        path = f"{world.data}/merged/{name}"
        _, job, _ = world.tool.watch(stack, ["--level", "full"], [
            "fio", "--name=ring", f"--filename={path}", "--readonly", "--rw=read", "--bs=16k",
            f"--size={PAGES * PAGE}", "--ioengine=io_uring", "--iodepth=4", "--invalidate=0",
            "--output=/dev/null"], stdout=subprocess.DEVNULL).end()
        t = one_file(world, job, path, layer)
        equal("lookups", t["lookups"], PAGES)
        equal("pages brought", brought(t), PAGES if cold else 0)


WORKERS = {"advise": work_advise, "map": work_map, "mapped_advice": work_mapped_advice}


def main():
    if sys.argv[1:2] == ["--work"]:
        return WORKERS[sys.argv[2]](*sys.argv[3:])
    return part.main(Overlays)


if __name__ == "__main__":
    sys.exit(main())
