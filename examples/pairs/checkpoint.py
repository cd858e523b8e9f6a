# SPDX-License-Identifier: BSD-2-Clause
"""Epochs over a dataset that fits, with a checkpoint after each of them that evicts it. Fixed:
the checkpoint's pages are written back and dropped while it is written."""

import os
import sys

import common
from common import MIB

NEEDS = {"bps": 32 * MIB, "memory": 80 * MIB}
FINDS = ["writes-evict-dataset"]
DATA, CHECKPOINT, EPOCHS, PIECE = 40 * MIB, 64 * MIB, 10, 4 * MIB


def make(directory, scale):
    common.make_file(f"{directory}/data/train.bin", int(DATA * scale))
    os.makedirs(f"{directory}/checkpoints", exist_ok=True)


def run(directory, scale, written):
    block = b"w" * PIECE
    for epoch in range(EPOCHS):
        common.read_in_order(f"{directory}/data/train.bin")
        with open(f"{directory}/checkpoints/{epoch}.pt", "wb", buffering=0) as f:
            for at in range(0, int(CHECKPOINT * scale), PIECE):
                f.write(block)
                written(f.fileno(), at)


def bad(directory, scale):
    run(directory, scale, lambda fd, at: None)


def fixed(directory, scale):
    def let_go(fd, at):
        os.fdatasync(fd)
        os.posix_fadvise(fd, at, PIECE, os.POSIX_FADV_DONTNEED)

    run(directory, scale, let_go)


if __name__ == "__main__":
    common.main(sys.modules[__name__])
