# SPDX-License-Identifier: BSD-2-Clause
"""Training over a dataset that fits, during a backup of the archive that reads each piece twice
(checksum, copy) and so stays in the cache. Fixed: the backup drops the pages it has read."""

import multiprocessing
import os
import sys
import time

import common
from common import MIB

NEEDS = {"bps": 48 * MIB, "memory": 80 * MIB}
FINDS = ["scan-pollutes-cache"]
GAIN = "the backup ends sooner too, as the device has less to do; foretold is what the training waits"
DATA, ARCHIVE, PARTS = 40 * MIB, 72 * MIB, 8
EPOCHS, STEP_S = 12, 0.02


def make(directory, scale):
    common.make_file(f"{directory}/train/train.bin", int(DATA * scale))
    for part in range(PARTS):
        common.make_file(f"{directory}/archive/{part}.img", int(ARCHIVE * scale))


def back_up(directory, after):
    def twice(fd, at, data):
        os.pread(fd, len(data), at)
        after(fd, at, data)

    for part in range(PARTS):
        common.read_in_order(f"{directory}/archive/{part}.img", MIB, twice)


def run(directory, after):
    backup = multiprocessing.Process(target=back_up, args=(directory, after))
    backup.start()
    for _ in range(EPOCHS):
        common.read_in_order(f"{directory}/train/train.bin", MIB, lambda *_: time.sleep(STEP_S))
    backup.join()


def bad(directory, scale):
    run(directory, lambda *_: None)


def fixed(directory, scale):
    run(directory, common.drop_behind)


if __name__ == "__main__":
    common.main(sys.modules[__name__])
