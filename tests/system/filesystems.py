#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What is seen of each filesystem, against cachestat(2) and the reader's own count, and whether the
cover that doctor and the report print is what was measured."""

import errno
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine, reader  # noqa: E402
from syslib.fscase import (BYTES, FIGURES, World, adds_up,  # noqa: E402
                           asynchronous_is_counted, cached_is_exact, direct_is_counted,
                           every_direct_read, fill, is_covered, measured, past_the_hooks,
                           split_as_the_cache_says)
from syslib.part import Part, Skipped, equal  # noqa: E402
from syslib.reads import PAGE  # noqa: E402

part = Part(__doc__)


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
    entry, _ = cached_is_exact(world, stack, path, mount, kind, "exact")
    equal("device by doctor", world.doctor(path)["dev"], entry["dev"])
    said = every_direct_read(world, stack, path)
    equal("crooked direct reads", said, PAGE if kind == "btrfs" else -errno.EINVAL)
    return mount


@part.case
def ext4_is_exact(world, stack):
    on_disk(world, stack, "ext4")


@part.case
def xfs_is_exact(world, stack):
    on_disk(world, stack, "xfs")


@part.case
def btrfs_is_exact(world, stack):
    mount = on_disk(world, stack, "btrfs")
    # It has no other way to read these.
    machine.run("mount", "-o", "remount,compress-force=zstd", mount)
    packed = fill(f"{mount}/packed", byte=b"x")
    equal("bytes through the cache", split_as_the_cache_says(world, stack, packed), BYTES)


@part.case
def asynchronous_direct_reads_are_exact(world, stack):
    # btrfs and xfs queue with the same code.
    mount = disk(world, stack, "ext4")
    for engine in "libaio", "io_uring":
        asynchronous_is_counted(world, stack, f"{mount}/{engine}", engine)
    if world.has("direct_block_end"):
        device = machine.loop(stack, fill(world.place("queue.img")))
        asynchronous_is_counted(world, stack, device, "io_uring")


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
def device_is_exact_but_for_direct_reads_without_a_hook(world, stack):
    image = fill(world.place("device.img"))
    device = machine.loop(stack, image)
    hooked = world.has("direct_block")
    cover = "exact" if hooked else "partly"
    is_covered(world, device, "block device", cover, "direct reads" if hooked else "O_DIRECT")
    told, job = measured(world, stack, "cached", device)
    adds_up(job)
    entry = [f for f in job["filesystems"] if f["type"] == "block device"][0]
    for name in FIGURES:
        equal(f"{name} of the device", entry["totals"][name], told[name])
    equal("cover in the report", entry["seen"], cover)
    if hooked:
        every_direct_read(world, stack, device)
    else:
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
    hooked = world.has("direct_fuse")
    cover = "exact" if hooked else "partly"
    is_covered(world, mount, "fuse.fusefs", cover, "direct")
    equal("trial", is_covered(world, f"{mount}/data", "fuse.fusefs", cover)["trial_cached"], True)
    cached_is_exact(world, stack, f"{mount}/data", mount, "fuse.fusefs", cover)
    if hooked:
        every_direct_read(world, stack, f"{mount}/data")
    else:
        past_the_hooks(world, stack, "direct", f"{mount}/data")


@part.case
def fuse_with_direct_io_is_outside_of_the_cache(world, stack):
    mount = fuse(world, stack, "direct")
    hooked = world.has("direct_fuse")
    is_covered(world, mount, "fuse.fusefs", "exact" if hooked else "partly", "direct")
    fs = is_covered(world, f"{mount}/data", "fuse.fusefs", "cache-bypassed", "tried")
    equal("trial", fs["trial_cached"], False)
    if hooked:
        direct_is_counted(world, stack, f"{mount}/data")
        # The same call as for cached ones: what a program does that knows nothing of it.
        told, job = measured(world, stack, "cached", f"{mount}/data")
        equal("direct bytes", job["totals"]["direct_read_bytes"], told["read_bytes"])
        equal("lookups", job["totals"]["lookups"], 0)
    else:
        told = past_the_hooks(world, stack, "cached", f"{mount}/data")
    equal("pages in the cache", told["after"], 0)


if __name__ == "__main__":
    sys.exit(part.main(World))
