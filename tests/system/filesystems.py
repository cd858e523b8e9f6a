#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What is seen of each filesystem, against cachestat(2) and the reader's own count, and whether the
cover that doctor and the report print is what was measured."""

import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine, reader  # noqa: E402
from syslib.fscase import (FIGURES, World, adds_up, cached_is_exact, direct_is_counted,  # noqa: E402
                           fill, is_covered, measured, past_the_hooks)
from syslib.part import Part, Skipped, equal  # noqa: E402

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
