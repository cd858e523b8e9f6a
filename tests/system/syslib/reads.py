# SPDX-License-Identifier: BSD-2-Clause
"""Reads with the workload's own count, by file.

Counts use the terms of the glossary: a call is one that looked up a page (none at the end of the
file), a lookup is a page of the requested range, cut at the end of the file."""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import struct

PAGE = os.sysconf("SC_PAGESIZE")
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
NR_CACHESTAT = 451
FS_IOC_GETVERSION = 0x80087601


class _Range(ctypes.Structure):
    _fields_ = [("off", ctypes.c_uint64), ("len", ctypes.c_uint64)]


class _Stat(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("cache", "dirty", "writeback", "evicted", "recent")]


def identity(file):
    """"MAJ:MIN INO GEN" of a descriptor or a path. Inode numbers are reused with another
    generation, which is "-" if the filesystem does not report it."""
    if not isinstance(file, int):
        fd = os.open(file, os.O_RDONLY)
        try:
            return identity(fd)
        finally:
            os.close(fd)
    st = os.fstat(file)
    try:
        gen = struct.unpack("I", fcntl.ioctl(file, FS_IOC_GETVERSION, b"\0" * 8)[:4])[0]
    except OSError:
        gen = "-"
    return f"{os.major(st.st_dev)}:{os.minor(st.st_dev)} {st.st_ino} {gen}"


def resident_pages(fd, first=0, pages=None):
    """Cached pages by mincore(2), of that many pages or of all: pages in flight do not count."""
    length = os.fstat(fd).st_size
    if not length:
        return 0
    area = _libc.mmap(None, ctypes.c_size_t(length), mmap.PROT_READ, mmap.MAP_SHARED, fd,
                      ctypes.c_long(0))
    seen = (ctypes.c_ubyte * ((length + PAGE - 1) // PAGE))()
    try:
        if _libc.mincore(ctypes.c_void_p(area), ctypes.c_size_t(length), seen):
            raise OSError(ctypes.get_errno(), "mincore")
    finally:
        _libc.munmap(ctypes.c_void_p(area), ctypes.c_size_t(length))
    return sum(byte & 1 for byte in seen[first:None if pages is None else first + pages])


def cached_pages(fd, first=0, pages=None):
    """Cached pages according to the kernel, of that many pages or all; including pages in
    flight, except before Linux 6.5."""
    span, stat = _Range(first * PAGE, (pages or 0) * PAGE), _Stat()
    if not _libc.syscall(NR_CACHESTAT, fd, ctypes.byref(span), ctypes.byref(stat), 0):
        return stat.cache
    if ctypes.get_errno() != errno.ENOSYS:
        raise OSError(ctypes.get_errno(), "cachestat")
    return resident_pages(fd, first, pages)


def fill(path, pages, odd=0):
    """A file of random bytes on disk, none of it cached."""
    fd = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644)
    try:
        os.write(fd, os.urandom(pages * PAGE - odd))
        drop(fd)
    finally:
        os.close(fd)
    return path


def drop(fd):
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    if cached_pages(fd):
        raise RuntimeError("the file stays in the cache")


class Reads:
    def __init__(self):
        self.files = {}

    def _count(self, fd, pos, got):
        if not got:
            return
        c = self.files.setdefault(identity(fd), {"read_calls": 0, "read_bytes": 0, "lookups": 0})
        c["read_calls"] += 1
        c["read_bytes"] += got
        c["lookups"] += (pos + got - 1) // PAGE - pos // PAGE + 1

    def pread(self, fd, size, pos):
        data = os.pread(fd, size, pos)
        self._count(fd, pos, len(data))
        return data

    def all(self, fd, block=16384):
        pos = 0
        while True:
            data = self.pread(fd, block, pos)
            if not data:
                return
            pos += len(data)

    def path(self, path, block=16384):
        fd = os.open(path, os.O_RDONLY)
        try:
            self.all(fd, block)
        finally:
            os.close(fd)

    def total(self):
        sums = {"read_calls": 0, "read_bytes": 0, "lookups": 0}
        for c in self.files.values():
            for name, value in c.items():
                sums[name] += value
        return sums

    def tell(self, path, **more):
        """Appends a line to a file that several processes write to."""
        line = json.dumps({**self.total(), **more}) + "\n"
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(fd, line.encode())
        finally:
            os.close(fd)
