# SPDX-License-Identifier: BSD-2-Clause
"""A column of a table that is stored by rows: one piece of each row, at a constant stride.
Fixed: the same column from a file that is stored by columns."""

import os
import sys

import common
from common import KIB, MIB, PAGE

NEEDS = {"iops": 500, "bps": 9 * MIB}
FINDS = ["stride-defeats-readahead"]
BYTES, ROW = 640 * MIB, 128 * KIB


def make(directory, scale):
    common.make_file(f"{directory}/rows/table.bin", int(BYTES * scale))
    common.make_file(f"{directory}/columns/table.bin", int(BYTES * scale) // ROW * PAGE)


def bad(directory, scale):
    fd = common.open_fd(f"{directory}/rows/table.bin")
    for at in range(0, os.fstat(fd).st_size, ROW):
        os.pread(fd, PAGE, at)


def fixed(directory, scale):
    common.read_in_order(f"{directory}/columns/table.bin")


if __name__ == "__main__":
    common.main(sys.modules[__name__])
