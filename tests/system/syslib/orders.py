# SPDX-License-Identifier: BSD-2-Clause
"""A process that reads, writes and advises a file on command, one order per line, so that a case
knows what has happened before it continues."""

import ctypes
import mmap
import os
import subprocess
import sys

from .part import equal
from .reads import PAGE

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
RWF_DONTCACHE = 0x80
MADV_REMOVE = 9
PLACE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Worker:
    """pages: first page and number of pages."""

    def __init__(self, stack, command=None):
        argv = [sys.executable, "-B", "-m", "syslib.orders"]
        if command:  # under another command name
            os.symlink(os.path.realpath(sys.executable), command)
            stack.callback(os.unlink, command)
            argv[0] = command
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, cwd=PLACE)
        stack.callback(self.end)

    @property
    def pid(self):
        return self.process.pid

    def do(self, order, path, first=0, pages=0, *more):
        self.process.stdin.write(" ".join(map(str, (order, path, first, pages, *more))) + "\n")
        self.process.stdin.flush()
        equal(f"answer to {order}", self.process.stdout.readline(), "done\n")

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def until_read(fd, first, pages):
    """Waits until the pages have arrived; nothing is read or touched."""
    area = _libc.mmap(None, ctypes.c_size_t(pages * PAGE), mmap.PROT_READ, mmap.MAP_SHARED, fd,
                      ctypes.c_long(first * PAGE))
    seen = (ctypes.c_ubyte * pages)()
    while not all(byte & 1 for byte in seen):
        if _libc.mincore(ctypes.c_void_p(area), ctypes.c_size_t(pages * PAGE), seen):
            raise OSError(ctypes.get_errno(), "mincore")
    _libc.munmap(ctypes.c_void_p(area), ctypes.c_size_t(pages * PAGE))


def readahead(fd, begin, length):
    if _libc.readahead(fd, ctypes.c_int64(begin), ctypes.c_size_t(length)):
        raise OSError(ctypes.get_errno(), "readahead")


def madvise(fd, begin, length, advice):
    with mmap.mmap(fd, length, prot=mmap.PROT_READ, offset=begin) as area:
        area.madvise(advice)


def obey(fds, order, path, first, pages, *more):
    fd = fds.setdefault(path, os.open(path, os.O_RDWR) if path not in fds else -1)
    begin, length = first * PAGE, pages * PAGE
    if order == "read":  # page by page
        for page in range(first, first + pages, int(more[0]) if more else 1):
            os.pread(fd, PAGE, page * PAGE)
    elif order == "block":  # in large calls
        for page in range(first, first + pages, 256):
            os.pread(fd, min(256, first + pages - page) * PAGE, page * PAGE)
    elif order == "write":
        for page in range(first, first + pages):
            os.pwrite(fd, b"x" * PAGE, page * PAGE)
    elif order == "uncached":
        for page in range(first, first + pages, 64):
            os.preadv(fd, [bytearray(min(64, first + pages - page) * PAGE)], page * PAGE, RWF_DONTCACHE)
    elif order == "write_uncached":
        for page in range(first, first + pages, 64):
            os.pwritev(fd, [b"x" * (min(64, first + pages - page) * PAGE)], page * PAGE, RWF_DONTCACHE)
    elif order == "write_direct":
        with mmap.mmap(-1, length) as area:
            direct = os.open(f"/proc/self/fd/{fd}", os.O_RDWR | os.O_DIRECT)
            os.pwritev(direct, [area], begin)
            os.close(direct)
    elif order == "close":
        os.close(fds.pop(path))
    elif order == "remove":
        with mmap.mmap(fd, length, offset=begin) as area:
            area.madvise(MADV_REMOVE)
    elif order == "sync":
        os.fsync(fd)
    elif order == "touch":
        with mmap.mmap(fd, length, prot=mmap.PROT_READ, offset=begin) as area:
            for page in range(pages):
                area[page * PAGE]  # pylint: disable=pointless-statement
    elif order == "wait":
        until_read(fd, first, pages)
    elif order == "readahead":
        readahead(fd, begin, length)
    elif order == "madvise":
        madvise(fd, begin, length, mmap.MADV_WILLNEED)
    elif order == "truncate":
        os.ftruncate(fd, begin)
    else:
        os.posix_fadvise(fd, begin, length,
                         getattr(os, f"POSIX_FADV_{order.upper()}"))


def main():
    fds = {}
    for line in sys.stdin:
        order, path, first, pages, *more = line.split()
        obey(fds, order, path, int(first), int(pages), *more)
        print("done", flush=True)


if __name__ == "__main__":
    main()
