# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the workloads: the command line, creation of files, ways to read.

A workload is a module with NEEDS (the conditions it runs under, for both versions or for each),
FINDS (the findings that its bad version must give), make(dir, scale), bad(dir, scale) and
fixed(dir, scale). It is started as python3 NAME.py make|bad|fixed DIR [SCALE]."""

import os
import random
import sys

KIB, MIB = 1 << 10, 1 << 20
PAGE = os.sysconf("SC_PAGE_SIZE")
SEED = 20240229


def shuffled(items, seed=0):
    items = list(items)
    random.Random(SEED + seed).shuffle(items)
    return items


def make_file(path, size):
    """A file of that many bytes on disk."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    block = random.Random(SEED).randbytes(MIB)
    with open(path, "wb") as f:
        for at in range(0, size, MIB):
            f.write(block[:min(MIB, size - at)])
        f.flush()
        os.fsync(f.fileno())
    return path


def open_fd(path, flags=0):
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)


def read_in_order(path, piece=128 * KIB, use=None):
    """Reads a file to its end by read(2); use(descriptor, offset, bytes) sees each piece."""
    fd, at = open_fd(path), 0
    try:
        while data := os.read(fd, piece):
            if use:
                use(fd, at, data)
            at += len(data)
    finally:
        os.close(fd)
    return at


def drop_behind(fd, at, data):
    """From the beginning: a large folio that is only partly in the range stays."""
    os.posix_fadvise(fd, 0, at + len(data), os.POSIX_FADV_DONTNEED)


def join_cgroups():
    """The runner names cgroups; the workload enters them, cachemon stays outside."""
    for path in filter(None, os.environ.get("CACHEMON_JOIN", "").split(":")):
        with open(os.path.join(path, "cgroup.procs"), "w") as f:
            f.write("0")


def main(module):
    what, directory = sys.argv[1], sys.argv[2]
    scale = float(sys.argv[3]) if len(sys.argv) > 3 else 1.0
    if what not in ("make", "bad", "fixed"):
        sys.exit("usage: NAME.py make|bad|fixed DIR [SCALE]")
    if what != "make":
        join_cgroups()
    getattr(module, what)(directory, scale)
