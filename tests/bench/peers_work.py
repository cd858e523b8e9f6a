# SPDX-License-Identifier: BSD-2-Clause
"""The workloads of tests/bench/peers: peers_work.py NAME DIR runs one, whose files are prepared.

Each makes a known number of accesses to pages of one file that are all uncached or all cached
before; WORKLOADS says which. The kernel is asked to confirm that."""

import contextlib
import ctypes
import mmap
import os
import random
import sys

PAGE = 4096
SMALL, LARGE = 16384, 65536  # pages per file
BLOCK = 32  # pages per sequential read
MANY = 4000
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]


class Workload:
    """Accessed pages of FILE that were cached before (hits), that were not (misses), read calls."""

    def __init__(self, what, file, hits, misses, calls, ahead, written=0):
        self.what, self.file = what, file
        self.written = written  # of these pages, by the workload itself
        self.hits, self.misses, self.calls = hits, misses, calls
        self.ahead = ahead  # pages brought by readahead


WORKLOADS = {
    "a": Workload("cold, sequential by 128 KiB", "small", 0, SMALL, SMALL // BLOCK, SMALL),
    "b": Workload("the same, cached", "small", SMALL, 0, SMALL // BLOCK, 0),
    "c": Workload("4000 cold 4 KiB, FADV_RANDOM", "large", 0, MANY, MANY, 0),
    "d": Workload("2000 cached, 2000 cold 4 KiB", "large", MANY // 2, MANY // 2, MANY, 0),
    "e1": Workload("mapping touched, cold", "small", 0, SMALL, 0, SMALL),
    "e2": Workload("mapping touched, cached", "small", SMALL, 0, 0, 0),
    "f": Workload("64 MiB written, then read", "new", SMALL, 0, SMALL // BLOCK, 0, SMALL),
    "g": Workload("read cold while another is written", "small", 0, SMALL, SMALL // BLOCK, SMALL),
}


@contextlib.contextmanager
def opened(directory, name, flags=os.O_RDONLY):
    fd = os.open(os.path.join(directory, name), flags, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)


def write_all(directory, name, pages):
    with opened(directory, name, os.O_RDWR | os.O_CREAT) as fd:
        for first in range(0, pages, BLOCK):
            os.pwrite(fd, b"\1" * (BLOCK * PAGE), first * PAGE)


def read_all(directory, name, pages):
    with opened(directory, name) as fd:
        for first in range(0, pages, BLOCK):
            if len(os.pread(fd, BLOCK * PAGE, first * PAGE)) != BLOCK * PAGE:
                raise OSError("a short read")


def random_pages():
    return random.Random(1).sample(range(LARGE), MANY)


def read_pages(directory, pages):
    with opened(directory, "large") as fd:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        for page in pages:
            os.pread(fd, PAGE, page * PAGE)


def touch(directory, pages):
    with opened(directory, "small") as fd, \
            mmap.mmap(fd, pages * PAGE, mmap.MAP_SHARED, mmap.PROT_READ) as m:
        for page in range(pages):
            if m[page * PAGE] != 1:
                raise OSError("not what was written")


def read_beside_writer(directory):
    with opened(directory, "small") as fd, opened(directory, "other", os.O_RDWR) as out:
        for first in range(0, SMALL, BLOCK):
            os.pread(fd, BLOCK * PAGE, first * PAGE)
            os.pwrite(out, b"\2" * (BLOCK * PAGE), first * PAGE)


def run(name, directory):
    if name in ("a", "b"):
        read_all(directory, "small", SMALL)
    elif name == "c":
        read_pages(directory, random_pages())
    elif name == "d":
        read_pages(directory, random.Random(2).sample(random_pages(), MANY))
    elif name in ("e1", "e2"):
        touch(directory, SMALL)
    elif name == "f":
        write_all(directory, "new", SMALL)
        read_all(directory, "new", SMALL)
    elif name == "g":
        read_beside_writer(directory)


def make_files(directory):
    for name, pages in (("small", SMALL), ("other", SMALL), ("large", LARGE)):
        write_all(directory, name, pages)


def prepare(name, directory):
    """Drops everything, and brings back the pages that the workload expects."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(directory, "new"))
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
        f.write("3")
    if name in ("b", "e2"):
        read_all(directory, "small", SMALL)
    elif name == "d":
        read_pages(directory, random_pages()[:MANY // 2])
    elif name == "g":
        read_all(directory, "other", SMALL)


def cached(directory, name):
    """Cached pages of the file, by mincore(2) on a mapping that is never touched."""
    try:
        with opened(directory, WORKLOADS[name].file) as fd:
            nr = os.fstat(fd).st_size // PAGE
            at = LIBC.mmap(None, nr * PAGE, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
            pages = ctypes.create_string_buffer(nr)
            if LIBC.mincore(ctypes.c_void_p(at), ctypes.c_size_t(nr * PAGE), pages):
                raise OSError(ctypes.get_errno(), "mincore")
            LIBC.munmap(ctypes.c_void_p(at), ctypes.c_size_t(nr * PAGE))
            return sum(byte & 1 for byte in pages.raw)
    except FileNotFoundError:
        return 0


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2])
