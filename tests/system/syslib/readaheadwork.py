# SPDX-License-Identifier: BSD-2-Clause
"""Jobs whose readahead is to be predicted: readaheadwork.py NAME DIR reads the files there."""

import mmap
import os
import random
import sys

PAGE = mmap.PAGESIZE
KB = 1024
FILE_BYTES = 32 << 20
SMALL_FILES = 64
SMALL_BYTES = 200 * KB


def path(place, name="big"):
    return os.path.join(place, name)


def make(place):
    with open(path(place), "wb") as f:
        f.write(os.urandom(FILE_BYTES))
        f.flush()
        os.fsync(f.fileno())
    os.makedirs(path(place, "small"), exist_ok=True)
    for i in range(SMALL_FILES):
        with open(path(place, f"small/{i}"), "wb") as f:
            f.write(os.urandom(SMALL_BYTES))
            f.flush()
            os.fsync(f.fileno())


def files(place):
    return [path(place), *(path(place, f"small/{i}") for i in range(SMALL_FILES))]


def opened(place, advice=None):
    fd = os.open(path(place), os.O_RDONLY)
    if advice is not None:
        os.posix_fadvise(fd, 0, 0, advice)
    return fd


def scan(place):
    """A backup: everything in order, in reads of 16 KiB."""
    fd = opened(place)
    while os.read(fd, 16 * KB):
        pass


def database(place):
    """Pages of 8 KiB in random order."""
    fd = opened(place)
    pick = random.Random(1)
    for _ in range(600):
        os.pread(fd, 8 * KB, pick.randrange(FILE_BYTES // (8 * KB)) * 8 * KB)


def samples(place):
    """Samples of 100 to 180 KB in one shard, shuffled, each read from beginning to end."""
    fd = opened(place)
    pick = random.Random(2)
    for _ in range(80):
        at, left = pick.randrange(FILE_BYTES - 200 * KB), pick.randrange(100, 180) * KB
        while left > 0:
            at += len(os.pread(fd, min(left, 32 * KB), at))
            left -= 32 * KB


def columns(place):
    """One column of a table stored by rows: 16 KiB of every 128 KiB."""
    fd = opened(place)
    for pos in range(0, FILE_BYTES, 128 * KB):
        os.pread(fd, 16 * KB, pos)


def streams(place):
    """Four readers of one open file, each with its own part, in turns."""
    fd = opened(place)
    part = FILE_BYTES // 4
    for pos in range(0, part, 32 * KB):
        for i in range(4):
            os.pread(fd, 32 * KB, i * part + pos)


def workers(place):
    """Samples as above, read by four processes in parallel that inherited the shard's
    descriptor."""
    fd = opened(place)
    children = []
    for worker in range(4):
        child = os.fork()
        if child:
            children.append(child)
            continue
        pick = random.Random(10 + worker)
        for _ in range(40):
            at, left = pick.randrange(FILE_BYTES - 200 * KB), pick.randrange(100, 180) * KB
            while left > 0:
                at += len(os.pread(fd, min(left, 32 * KB), at))
                left -= 32 * KB
        os._exit(0)
    for child in children:
        os.waitpid(child, 0)


def small_files(place):
    """A dataset of small files, each read as a whole, shuffled."""
    names = files(place)[1:]
    random.Random(3).shuffle(names)
    for name in names:
        fd = os.open(name, os.O_RDONLY)
        while os.read(fd, 64 * KB):
            pass
        os.close(fd)


def spread(place):
    """Random records of 12 KiB in many files, a few in each."""
    names = files(place)[1:]
    fds = [os.open(name, os.O_RDONLY) for name in names]
    pick = random.Random(4)
    for _ in range(4):
        for fd in fds:
            # Neither at the beginning nor consecutive.
            os.pread(fd, 12 * KB, (1 + pick.randrange(11)) * 16 * KB)


def mapped(place):
    """Tokens: a mapping read from beginning to end."""
    with mmap.mmap(opened(place), FILE_BYTES, prot=mmap.PROT_READ) as m:
        for at in range(0, FILE_BYTES, PAGE):
            m[at]


WORK = {f.__name__: f for f in (scan, database, samples, columns, streams, workers, small_files,
                                spread, mapped)}

if __name__ == "__main__":
    WORK[sys.argv[1]](sys.argv[2])
