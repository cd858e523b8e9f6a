# SPDX-License-Identifier: BSD-2-Clause
"""A sequential pass over a file that a library advised RANDOM. Fixed: SEQUENTIAL before the
pass."""

import os
import sys

import common
from common import MIB, PAGE

NEEDS = {"iops": 1200, "bps": 64 * MIB}
FINDS = ["sequential-without-readahead"]
BYTES = 48 * MIB


def make(directory, scale):
    common.make_file(f"{directory}/scan/records.bin", int(BYTES * scale))


def run(directory, advice):
    fd = common.open_fd(f"{directory}/scan/records.bin")
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    os.posix_fadvise(fd, 0, 0, advice)
    while os.read(fd, PAGE):
        pass


def bad(directory, scale):
    run(directory, os.POSIX_FADV_RANDOM)


def fixed(directory, scale):
    run(directory, os.POSIX_FADV_SEQUENTIAL)


if __name__ == "__main__":
    common.main(sys.modules[__name__])
