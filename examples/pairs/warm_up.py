# SPDX-License-Identifier: BSD-2-Clause
"""A loader that warms up the whole dataset before each epoch, with less memory than that. Fixed:
requests a few files ahead."""

import os
import sys

import common
from common import MIB

NEEDS = {"bps": 40 * MIB, "memory": 40 * MIB}
FINDS = ["willneed-unused"]
# WILLNEED itself waits for a slow device, which does not count as a stall.
GAIN = "the calls wait for the device as well, which is not in the stall"
FILES, BYTES, EPOCHS, DEPTH = 64, MIB, 5, 4


def paths(directory, scale):
    return [f"{directory}/train/{i:05d}.bin" for i in range(int(FILES * scale))]


def make(directory, scale):
    for path in paths(directory, scale):
        common.make_file(path, BYTES)


def ask(path):
    fd = common.open_fd(path)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED)
    os.close(fd)


def bad(directory, scale):
    for _ in range(EPOCHS):
        for path in paths(directory, scale):
            ask(path)
        for path in paths(directory, scale):
            common.read_in_order(path)


def fixed(directory, scale):
    names = paths(directory, scale) * EPOCHS
    for i, path in enumerate(names):
        if i + DEPTH < len(names):
            ask(names[i + DEPTH])
        common.read_in_order(path)


if __name__ == "__main__":
    common.main(sys.modules[__name__])
