#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A process that reads a file on command, and reports its reads: by its own count and by
cachestat(2).

One line on stdin, one line of JSON on stdout. "cached PATH" reads through the page cache: one
part in order, one part in single pages without readahead, then all of it again. "direct PATH"
reads with O_DIRECT. A second path, after a tab, is the file that holds those pages. Nothing else
is read meanwhile, so that all events of this process are of that file. "fresh PATH" reads with
O_DIRECT into memory that is not mapped yet. "crooked PATH" makes unaligned requests that
O_DIRECT may refuse, and reports the error."""

import ctypes
import errno
import json
import mmap
import os
import random
import sys

PAGE = mmap.PAGESIZE
NR_CACHESTAT = 451
BLOCK = 16 * 1024
DIRECT = 1 << 20
_libc = ctypes.CDLL(None, use_errno=True)


class _Words(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("a", "b", "c", "d", "e")]


def resident(fd, pos, size):
    """By mincore(2), which leaves out pages in flight."""
    size = size or size_of(fd) - pos
    there = (ctypes.c_ubyte * ((size + PAGE - 1) // PAGE))()
    _libc.mmap.restype = ctypes.c_void_p
    at = _libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_PRIVATE, fd,
                    ctypes.c_size_t(pos))
    if at == ctypes.c_void_p(-1).value or _libc.mincore(ctypes.c_void_p(at), ctypes.c_size_t(size),
                                                        there):
        raise OSError(ctypes.get_errno(), "mincore")
    _libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(size))
    return sum(page & 1 for page in there)


def cached(fd, pos=0, size=0):
    """Pages in the cache, including those in flight if the kernel reports them; size 0: to the
    end of the file."""
    span, stat = _Words(pos, size), _Words()
    if not _libc.syscall(NR_CACHESTAT, fd, ctypes.byref(span), ctypes.byref(stat), 0):
        return stat.a
    if ctypes.get_errno() != errno.ENOSYS:
        raise OSError(ctypes.get_errno(), "cachestat")
    return resident(fd, pos, size)


def size_of(fd):
    return os.lseek(fd, 0, os.SEEK_END)


class Told:
    def __init__(self, fd, pages_fd):
        self.fd = fd
        self.pages_fd = pages_fd
        self.read_calls = self.read_bytes = self.lookups = self.misses = 0

    def read(self, pos, size):
        first, last = pos // PAGE, (pos + size - 1) // PAGE
        there = cached(self.pages_fd, first * PAGE, (last - first + 1) * PAGE)
        got = len(os.pread(self.fd, size, pos))
        if got != size:
            sys.exit(f"{got} of {size} bytes at {pos}")
        self.read_calls += 1
        self.read_bytes += size
        self.lookups += last - first + 1
        self.misses += last - first + 1 - there


def read_cached(path, pages_path):
    fd = os.open(path, os.O_RDONLY)
    pages_fd = os.open(pages_path, os.O_RDONLY)
    size = size_of(fd)
    half = size // 2 // BLOCK * BLOCK
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    before = cached(pages_fd)
    told = Told(fd, pages_fd)
    for pos in range(0, half // 2, BLOCK):
        told.read(pos, BLOCK)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    pages = list(range(half // PAGE, size // PAGE))
    random.Random(3).shuffle(pages)
    for page in pages[:len(pages) // 2]:
        told.read(page * PAGE, PAGE)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_NORMAL)
    for pos in range(0, size - BLOCK + 1, BLOCK):
        told.read(pos, BLOCK)
    after = cached(pages_fd)
    os.close(fd)
    os.close(pages_fd)
    return {"before": before, "after": after, "read_calls": told.read_calls,
            "read_bytes": told.read_bytes, "lookups": told.lookups, "misses": told.misses}


def read_direct(path, _, fresh=False):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    size = size_of(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    buffer = mmap.mmap(-1, DIRECT)
    buffer.write(b"x" * DIRECT)
    calls = got = 0
    while got < size:
        if fresh:
            buffer = mmap.mmap(-1, DIRECT)
        n = os.preadv(fd, [buffer], got)
        if n <= 0:
            sys.exit(f"{n} bytes at {got}")
        calls, got = calls + 1, got + n
    after = cached(fd)
    os.close(fd)
    return {"calls": calls, "bytes": got, "after": after}


def read_fresh(path, _):
    return read_direct(path, _, True)


def read_crooked(path, _):
    """At an odd offset into unaligned memory, which a block device refuses."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    buffer = mmap.mmap(-1, DIRECT)
    buffer.write(b"x" * DIRECT)
    said = []
    for _ in range(4):
        try:
            said.append(os.preadv(fd, [memoryview(buffer)[1:PAGE + 1]], 1))
        except OSError as e:
            said.append(-e.errno)
    after = cached(fd)
    os.close(fd)
    return {"calls": len(said), "said": said, "bytes": sum(n for n in said if n > 0), "after": after}


READ = {"cached": read_cached, "direct": read_direct, "fresh": read_fresh,
        "crooked": read_crooked}


def main():
    print("ready", flush=True)
    for line in sys.stdin:
        how, paths = line.rstrip("\n").split(" ", 1)
        path, _, pages_path = paths.partition("\t")
        print(json.dumps(READ[how](path, pages_path or path)), flush=True)


if __name__ == "__main__":
    main()
