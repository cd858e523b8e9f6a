# SPDX-License-Identifier: BSD-2-Clause
"""Places of a file: filesystems, mounts, layers, namespaces, devices."""

import mmap
import os
import random
import shutil

from system_calls import NR_MEMBARRIER, NR_PIVOT_ROOT

from .pathcase import (COPY_NAMES, PAGES, case, check_call, fill, libc, mount_copy, mount_private,
                       private_mounts, sh, touch)
from .reads import PAGE, identity

MEMBARRIER_CMD_GLOBAL = 1
MNT_DETACH = 2
COPY_TURNS = 60

def on_each(at):
    for d in (at.ext4, at.xfs, at.disk):
        fill(os.path.join(d, "f"), PAGES, odd=1)


@case(on_each)
def filesystems(w):
    """The root filesystem and two loop mounts."""
    for d in (w.at.disk, w.at.ext4, w.at.xfs):
        fd = w.open(f"{d}/f")
        w.read(fd, fd)
        w.expect(fd, f"{d}/f")


@case()
def top_of_mount(w):
    """A file in the root of a mount."""
    path = os.path.join(os.path.dirname(w.at.ext4), "top-of-mount")
    shutil.copy(f"{w.at.ext4}/f", path)
    fd = w.open(path)
    w.read(fd)
    w.expect(fd, path)


@case()
def bind_mount(w):
    """The path that the job used, through the bind mount."""
    fd = w.open(f"{w.at.bind}/f")
    w.read(fd)
    w.expect(fd, f"{w.at.bind}/f")


@case()
def bind_and_origin(w):
    """One file by two paths: one entry, either name, the counts of both."""
    a, b = w.open(f"{w.at.bind}/f"), w.open(f"{w.at.ext4}/f")
    w.read(a, b, a)
    w.expect(a, f"{w.at.bind}/f", f"{w.at.ext4}/f")


@case()
def bind_of_a_file(w):
    place = f"{w.at.disk}/mounted"
    open(place, "w").close()
    sh("mount", "--bind", f"{w.at.ext4}/f", place)
    try:
        fd = w.open(place)
        w.read(fd)
        w.expect(fd, place)
        os.close(fd)
    finally:
        sh("umount", place)


@case()
def detached_mount(w):
    """First read when its mount is gone: no path leads to it, and an absolute one is wrong."""
    place = f"{w.at.disk}/mounted"
    os.makedirs(place, exist_ok=True)
    sh("mount", "--bind", w.at.ext4, place)
    fd = w.open(f"{place}/f")
    sh("umount", "-l", place)
    w.read(fd)
    w.expect(fd, f"{w.at.ext4}/f", absolute=False)


def in_overlay(at, suffix=""):
    return os.path.join(at.base, "overlay", at.case + suffix)


def in_layer(at, layer, suffix=""):
    return os.path.join(at.base, "ext4", layer, at.case + suffix)


def layers(at):
    fill(in_layer(at, "lower"), PAGES, odd=7)
    fill(in_overlay(at, ".upper"), PAGES)


@case(layers)
def overlay_lower(w):
    """The name is that of the overlay, the pages are those of the lower file."""
    fd = w.open(in_overlay(w.at))
    w.read(fd, fd)
    w.expect(identity(in_layer(w.at, "lower")), in_overlay(w.at), counts_of=fd)


@case(layers)
def overlay_upper(w):
    fd = w.open(in_overlay(w.at, ".upper"))
    w.read(fd)
    w.expect(identity(in_layer(w.at, "upper", ".upper")), in_overlay(w.at, ".upper"), counts_of=fd)


@case(layers)
def overlay_copied_up(w):
    """Read below, then written and so copied up, then read above: two files with one name."""
    path = in_overlay(w.at)
    before = w.open(path)
    w.read(before)
    w.expect(identity(in_layer(w.at, "lower")), path)
    w.expect_only(None)  # copying up also reads the lower file
    with open(path, "r+b") as f:
        f.write(b"x")
        os.fsync(f.fileno())
    w.reads.files.clear()
    after = w.open(path)
    w.read(after, after)
    w.expect(identity(in_layer(w.at, "upper")), path, counts_of=after)


def layer_and_neighbour(at):
    layers(at)
    fill(os.path.join(at.ext4, "neighbour"), PAGES)


@case(layer_and_neighbour)
def overlay_read_into_mapping(w):
    """A fault during a read from an overlay is not attributed to the file being read."""
    fd = w.open(in_overlay(w.at))
    other = os.open(os.path.join(w.at.ext4, "neighbour"), os.O_RDWR)
    with mmap.mmap(other, 0) as target:
        os.preadv(fd, [target], 0)
    w.expect(identity(in_layer(w.at, "lower")), in_overlay(w.at))
    w.expect(other, os.path.join(w.at.ext4, "neighbour"))


def large_layer(at):
    fill(in_layer(at, "lower"), 300, odd=7)


@case(large_layer)
def overlay_sendfile(w):
    """The parts of a call are one call, through the overlay too."""
    fd = w.open(in_overlay(w.at))
    null = os.open("/dev/null", os.O_WRONLY)
    sent = os.sendfile(null, fd, 100, 900000)
    w.expect(identity(in_layer(w.at, "lower")), in_overlay(w.at))
    w.expect_only({"read_calls": 1, "read_bytes": sent,
                   "lookups": (100 + sent - 1) // PAGE + 1})


@case(layers)
def overlay_mapped(w):
    """A fault carries no descriptor: the layer's own name is right too."""
    touch(w.open(in_overlay(w.at)))
    w.expect(identity(in_layer(w.at, "lower")), in_overlay(w.at), in_layer(w.at, "lower"))


@case()
def private_mount(w):
    """A mount that exists only in the job's mount namespace."""
    private_mounts()
    place = f"{w.at.disk}/private"
    mount_private(w, place)
    fill(f"{place}/f", PAGES)
    fd = w.open(f"{place}/f")
    w.read(fd)
    w.expect(fd, f"{place}/f")


@case()
def private_mount_mapped(w):
    """Mapped there and never read: placed by the mount table of the namespace."""
    private_mounts()
    place = f"{w.at.disk}/private"
    mount_private(w, place)
    fill(f"{place}/mapped", PAGES)
    w.sync()
    fd = w.open(f"{place}/mapped")
    touch(fd)
    w.sync()
    w.expect(fd, f"{place}/mapped")


@case()
def chrooted(w):
    """The host's path, because readers of the report are outside."""
    d = w.at.ext4
    os.chroot(d)
    os.chdir("/")
    fd = w.open("/f")
    w.read(fd)
    w.expect(fd, f"{d}/f")


@case()
def pivoted(w):
    """As in a container: the old root is gone, paths begin at the new one."""
    private_mounts()
    root = w.at.ext4
    sh("mount", "--bind", root, root)
    os.mkdir(f"{root}/old")
    os.chdir(root)
    check_call(libc.syscall(NR_PIVOT_ROOT, b".", b"old"), "pivot_root")
    os.chroot(".")
    check_call(libc.umount2(b"/old", MNT_DETACH), "umount2")
    fd = w.open("/f")
    w.read(fd)
    w.expect(fd, "/f")


@case(None)
def block_device(w):
    """A device read as a file, by its own node and by another one."""
    with open(os.path.join(w.at.base, "raw-device")) as f:
        path = f.read().strip()
    fd = os.open(path, os.O_RDONLY)
    rdev = os.fstat(fd).st_rdev
    node = f"{w.at.ext4}/node"
    os.mknod(node, 0o60000 | 0o600, rdev)
    again = os.open(node, os.O_RDONLY)
    for f in (fd, again):
        for pos in range(0, 64 * PAGE, 16384):
            os.pread(f, 16384, pos)
    w.expect_block(path, {"read_calls": 32, "read_bytes": 2 * 64 * PAGE, "lookups": 128})


@case(None)
def copies_in_turn(w):
    """Two copies of one filesystem mounted in one place, one after the other: the same inode
    numbers and generations, and often the same memory."""
    place = f"{w.at.disk}/copy"
    os.mkdir(place)
    keys = set()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for turn in range(COPY_TURNS):
        mount_copy(w.at.base, turn % 2, place)
        for name in random.sample(COPY_NAMES, len(COPY_NAMES)):
            fd = w.open(f"{place}/{name}")
            for _ in range(3):
                w.reads.pread(fd, PAGE, 0)
            keys.add((identity(fd), name))
            os.close(fd)
        check_call(libc.umount2(os.fsencode(place), 0), "umount2")
        # Waits for a grace period if permitted: memory of the removed objects is free again.
        libc.syscall(NR_MEMBARRIER, MEMBARRIER_CMD_GLOBAL, 0, 0)
    for key, name in keys:
        w.expect(key, f"{place}/{name}")
