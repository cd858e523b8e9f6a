#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What is seen of each filesystem, against cachestat(2) and the reader's own count, and whether the
cover that doctor and the report print is what was measured."""

import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine, reader  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE  # noqa: E402
from syslib.tool import Tool  # noqa: E402

PAGES = 2048
BYTES = PAGES * PAGE
# Lines from this test to the reader: they are read from a pipe, outside of every filesystem.
TALK_BYTES = 4096
FIGURES = ("read_calls", "read_bytes", "lookups", "misses")

part = Part(__doc__)


class World:
    def __init__(self, args, work, stack):
        self.args = args
        self.work = work
        self.tool = Tool(args.cachemon, work)

    def place(self, name):
        return os.path.join(self.work, name)

    def doctor(self, path):
        return json.loads(self.tool.run("doctor", path, "--json"))["filesystem"]


class Reader:
    """syslib/fsreader.py, watched by its pid: the job is what it reads and nothing else."""

    def __init__(self, world, stack):
        self.process = subprocess.Popen([sys.executable, os.path.join(reader.SOURCES,
                                                                      "fsreader.py")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.callback(self.end)
        equal("the reader", self.process.stdout.readline(), "ready\n")

    def read(self, how, path):
        self.process.stdin.write(f"{how} {path}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.kill()
        self.process.communicate()


def fill(path, size=BYTES):
    with open(path, "wb") as f:
        f.write(os.urandom(size))
        f.flush()
        os.fsync(f.fileno())
    return path


def measured(world, stack, how, path):
    """(what the reader says of one reading, the job). path: also "path, tab, file with its pages"."""
    process = Reader(world, stack)
    # Once before it is watched: what Python reads only when it is needed.
    process.read(how, path)
    watch = world.tool.watch(stack, ["--level", "full", "--interval", "200ms", "--pid",
                                     str(process.process.pid)])
    watch.wait_started()
    told = process.read(how, path)
    watch.interrupt()
    return told, watch.end()[1]


def mount_entry(job, mount):
    found = [f for f in job["filesystems"] if f["mount"] == mount]
    return found[0] if found else None


def adds_up(job):
    for name in FIGURES:
        equal(f"{name}, sum of filesystems against the job",
              sum(f["totals"][name] for f in job["filesystems"]), job["totals"][name])


def cached_is_exact(world, stack, path, mount, type_, cover):
    told, job = measured(world, stack, "cached", path)
    equal("pages in the cache before", told["before"], 0)
    adds_up(job)
    entry = mount_entry(job, mount)
    check(entry, f"no filesystem at {mount} in the report: "
          f"{[(f['type'], f['mount']) for f in job['filesystems']]}")
    for name in FIGURES:
        equal(f"{name} of the filesystem", entry["totals"][name], told[name])
    t = entry["totals"]
    equal("hits", t["hits"], told["lookups"] - told["misses"])
    equal("pages brought in", t["demand_pages"] + t["prefetched_pages"], told["after"])
    equal("files", entry["files"], 1)
    equal("type", entry["type"], type_)
    equal("cover in the report", entry["seen"], cover)
    check(entry["explanation"], "the cover is not explained")
    check(0 <= job["outside_read_bytes"] < TALK_BYTES,
          f"outside of the hooks: {job['outside_read_bytes']} bytes")
    part.note(f"{type_}: {told['lookups']} lookups, {told['misses']} misses, as counted by cachestat")
    return entry


def past_the_hooks(world, stack, how, path, size=BYTES):
    """Nothing of it is in any figure, no ratio is made of nothing, and the sum of it is told."""
    told, job = measured(world, stack, how, path)
    t = job["totals"]
    for name in ("lookups", "misses", "read_bytes", "direct_read_bytes"):
        equal(f"{name} of what no hook sees", t[name], 0)
    equal("hit ratio of no lookups", t["hit_ratio"], None)
    read = told.get("read_bytes") or told["bytes"]
    check(read >= size, f"the reader read {read} of {size} bytes")
    check(read <= job["outside_read_bytes"] < read + TALK_BYTES,
          f"outside of the hooks: {job['outside_read_bytes']} bytes, of {read}")
    equal("marked as a lower bound", job.get("outside_read_bytes_lower_bound"), True)
    return told


def direct_is_counted(world, stack, path):
    told, job = measured(world, stack, "direct", path)
    equal("direct bytes", job["totals"]["direct_read_bytes"], told["bytes"])
    equal("direct calls", job["totals"]["direct_read_calls"], told["calls"])
    equal("buffered bytes", job["totals"]["read_bytes"], 0)
    equal("hit ratio", job["totals"]["hit_ratio"], None)


def is_covered(world, path, type_, cover, word=""):
    fs = world.doctor(path)
    equal(f"type of {path} by doctor", fs["type"], type_)
    equal(f"cover of {path} by doctor", fs["seen"], cover)
    check(word in fs["explanation"], f"{word!r} is not in {fs['explanation']!r}")
    return fs


def disk(world, stack, kind, options=()):
    if not shutil.which(f"mkfs.{kind}"):
        raise Skipped(f"no mkfs.{kind}")
    with open("/proc/filesystems", encoding="ascii") as f:
        if kind not in f.read().split():
            raise Skipped(f"this kernel has no {kind}")
    mount = world.place(kind)
    machine.filesystem(stack, kind, world.place(f"{kind}.img"), mount, 512 << 20, options)
    return mount


def on_disk(world, stack, kind):
    mount = disk(world, stack, kind)
    path = fill(f"{mount}/data")
    is_covered(world, path, kind, "exact")
    is_covered(world, mount, kind, "exact")
    entry = cached_is_exact(world, stack, path, mount, kind, "exact")
    equal("device by doctor", world.doctor(path)["dev"], entry["dev"])
    direct_is_counted(world, stack, path)


@part.case
def ext4_is_exact(world, stack):
    on_disk(world, stack, "ext4")


@part.case
def xfs_is_exact(world, stack):
    on_disk(world, stack, "xfs")


@part.case
def btrfs_is_exact(world, stack):
    on_disk(world, stack, "btrfs")


@part.case
def overlay_is_its_layer(world, stack):
    mount = disk(world, stack, "ext4")
    lower, upper, work, merged = (f"{mount}/{n}" for n in ("lo,w:er", "upper", "work", "merged"))
    for place in (lower, upper, work, merged):
        os.mkdir(place)
    fill(f"{lower}/data")
    lowerdir = lower.replace(":", "\\:").replace(",", "\\,")
    machine.mount(stack, "-t", "overlay", "-o",
                  f"lowerdir={lowerdir},upperdir={upper},workdir={work}", "overlay", merged)
    is_covered(world, merged, "overlay", "exact", "layers (ext4)")
    cached_is_exact(world, stack, f"{merged}/data\t{lower}/data", mount, "ext4", "exact")
    # A layer that nothing is seen of spoils it.
    hidden = world.place("hidden")
    machine.mount(stack, "-t", "tmpfs", "none", hidden)
    both = world.place("both")
    machine.mount(stack, "-t", "overlay", "-o", f"lowerdir={hidden}:{upper}", "overlay", both)
    is_covered(world, both, "overlay", "cache-bypassed", "tmpfs")


@part.case
def tmpfs_is_outside(world, stack):
    mount = machine.mount(stack, "-t", "tmpfs", "none", world.place("tmpfs"))
    path = fill(f"{mount}/data")
    is_covered(world, path, "tmpfs", "cache-bypassed", "memory")
    past_the_hooks(world, stack, "cached", path)


@part.case
def device_is_seen_but_for_direct_reads(world, stack):
    image = fill(world.place("device.img"))
    device = machine.loop(stack, image)
    is_covered(world, device, "block device", "partly", "O_DIRECT")
    told, job = measured(world, stack, "cached", device)
    adds_up(job)
    entry = [f for f in job["filesystems"] if f["type"] == "block device"][0]
    for name in FIGURES:
        equal(f"{name} of the device", entry["totals"][name], told[name])
    equal("cover in the report", entry["seen"], "partly")
    past_the_hooks(world, stack, "direct", device)


def fuse(world, stack, how):
    if not os.path.exists("/dev/fuse"):
        raise Skipped("no /dev/fuse")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True,
                           text=True)
    if flags.returncode:
        raise Skipped("no libfuse3-dev")
    program = reader.build(world.work, "fusefs", "-Wl,--no-as-needed", *flags.stdout.split())
    mount = world.place(f"fuse-{how}")
    os.mkdir(mount)
    server = subprocess.Popen([program, how, fill(world.place(f"{how}.back")), mount],
                              stdout=subprocess.PIPE, text=True)
    stack.callback(server.wait)
    stack.callback(machine.unmount, mount)
    equal("the FUSE server", server.stdout.readline(), "ready\n")
    return mount


@part.case
def fuse_is_exact_where_it_caches(world, stack):
    mount = fuse(world, stack, "cached")
    is_covered(world, mount, "fuse.fusefs", "partly", "direct_io")
    equal("trial", is_covered(world, f"{mount}/data", "fuse.fusefs", "partly")["trial_cached"], True)
    cached_is_exact(world, stack, f"{mount}/data", mount, "fuse.fusefs", "partly")


@part.case
def fuse_with_direct_io_is_outside(world, stack):
    mount = fuse(world, stack, "direct")
    is_covered(world, mount, "fuse.fusefs", "partly", "direct_io")
    fs = is_covered(world, f"{mount}/data", "fuse.fusefs", "cache-bypassed", "tried")
    equal("trial", fs["trial_cached"], False)
    told = past_the_hooks(world, stack, "cached", f"{mount}/data")
    equal("pages in the cache", told["after"], 0)


if __name__ == "__main__":
    sys.exit(part.main(World))
