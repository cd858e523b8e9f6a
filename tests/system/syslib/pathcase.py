# SPDX-License-Identifier: BSD-2-Clause
"""The list of path cases, and their shared beginnings."""

import ctypes
import mmap
import os
import subprocess

from .reads import PAGE, fill

CLONE_NEWNS = 0x00020000
PAGES = 24
COPY_NAMES = [f"f{i}" for i in range(8)]

cases = {}
libc = ctypes.CDLL(None, use_errno=True)


class PathCase:
    """work(worker) runs under cachemon, before(places) before it."""

    def __init__(self, function, before):
        self.work = function
        self.before = before or (lambda at: None)
        self.doc = function.__doc__


def one_file(at):
    """A file that is on disk, and not in the cache, before cachemon starts."""
    fill(os.path.join(at.ext4, "f"), PAGES, odd=100)


def warm_file(at):
    one_file(at)
    with open(f"{at.ext4}/f", "rb") as f:
        f.read()


def case(before=one_file):
    def add(function):
        cases[function.__name__] = PathCase(function, before)
        return function
    return add


def check_call(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), what)


def sh(*argv):
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def private_mounts():
    check_call(libc.unshare(CLONE_NEWNS), "unshare")
    sh("mount", "--make-rprivate", "/")


def mount_private(w, place):
    """The device that is mounted only there."""
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(w.at.base, "private-device")) as f:
        sh("mount", "-t", "ext4", f.read().strip(), place)


def mount_copy(base, which, place):
    """By system call: the reads of a program would disturb the case."""
    with open(os.path.join(base, f"copy-device-{which}")) as f:
        device = f.read().strip()
    check_call(libc.mount(device.encode(), os.fsencode(place), b"xfs", 0, b"nouuid"), "mount")


def touch(fd):
    with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as m:
        return sum(m[i] for i in range(0, len(m), PAGE))
