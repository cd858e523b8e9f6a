# SPDX-License-Identifier: BSD-2-Clause
"""A validation file that every epoch reads with O_DIRECT although it would fit. Fixed: through the cache."""

import mmap
import os
import sys

import common
from common import MIB

NEEDS = {"bps": 32 * MIB}
FINDS = ["direct-io-rereads"]
BYTES, EPOCHS = 24 * MIB, 8


def make(directory, scale):
    common.make_file(f"{directory}/validation/validation.bin", int(BYTES * scale))


def run(directory, flags):
    aligned = mmap.mmap(-1, MIB)
    for _ in range(EPOCHS):
        fd = common.open_fd(f"{directory}/validation/validation.bin", flags)
        while os.readv(fd, [aligned]):
            pass
        os.close(fd)


def bad(directory, scale):
    run(directory, os.O_DIRECT)


def fixed(directory, scale):
    run(directory, 0)


if __name__ == "__main__":
    common.main(sys.modules[__name__])
