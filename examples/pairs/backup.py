# SPDX-License-Identifier: BSD-2-Clause
"""Training over a set that fits, with a backup of the archive between the epochs that reads each piece twice
(checksum, copy) and so stays in the cache. Fixed: the backup drops what it has read."""

import os
import sys

import common
from common import MIB

NEEDS = {"bps": 48 * MIB, "memory": 80 * MIB}
FINDS = ["scan-pollutes-cache"]
DATA, ARCHIVE, EPOCHS = 40 * MIB, 72 * MIB, 8


def make(directory, scale):
    common.make_file(f"{directory}/train/train.bin", int(DATA * scale))
    for part in range(EPOCHS):
        common.make_file(f"{directory}/archive/{part}.img", int(ARCHIVE * scale))


def run(directory, after):
    def twice(fd, at, data):
        os.pread(fd, len(data), at)
        after(fd, at, data)

    for part in range(EPOCHS):
        common.read_in_order(f"{directory}/train/train.bin")
        common.read_in_order(f"{directory}/archive/{part}.img", MIB, twice)
    common.read_in_order(f"{directory}/train/train.bin")


def bad(directory, scale):
    run(directory, lambda *_: None)


def fixed(directory, scale):
    run(directory, common.drop_behind)


if __name__ == "__main__":
    common.main(sys.modules[__name__])
