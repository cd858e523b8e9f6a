# SPDX-License-Identifier: BSD-2-Clause
"""Members of a tar shard in shuffled order. The shard is requested with one WILLNEED, of which
the kernel accepts only the first piece. Fixed: requested in pieces."""

import os
import sys

import common
from common import KIB, MIB

NEEDS = {"iops": 300}
FINDS = ["willneed-cut-short"]
SHARDS, BYTES, MEMBER, PIECE = 3, 24 * MIB, 64 * KIB, 128 * KIB


def make(directory, scale):
    for shard in range(SHARDS):
        common.make_file(f"{directory}/shards/{shard}.tar", int(BYTES * scale))


def read_members(fd, size, shard):
    for at in common.shuffled(range(0, size, MEMBER), shard):
        os.pread(fd, MEMBER, at)


def run(directory, ask):
    for shard in range(SHARDS):
        fd = common.open_fd(f"{directory}/shards/{shard}.tar")
        size = os.fstat(fd).st_size
        ask(fd, size)
        read_members(fd, size, shard)
        os.close(fd)


def bad(directory, scale):
    run(directory, lambda fd, size: os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED))


def fixed(directory, scale):
    def in_pieces(fd, size):
        for at in range(0, size, 8 * PIECE):
            os.posix_fadvise(fd, at, 8 * PIECE, os.POSIX_FADV_WILLNEED)

    run(directory, in_pieces)


if __name__ == "__main__":
    common.main(sys.modules[__name__])
