# SPDX-License-Identifier: BSD-2-Clause
"""A validation file that is dropped after each epoch and read again by the next. Fixed: dropped after the
last."""

import os
import sys
import time

import common
from common import MIB

NEEDS = {"bps": 32 * MIB}
FINDS = ["dontneed-harmful"]
BYTES, EPOCHS = 48 * MIB, 8
SCORE_S = 0.2  # of CPU time for the score of an epoch


def make(directory, scale):
    common.make_file(f"{directory}/validation/validation.bin", int(BYTES * scale))


def score():
    end = time.process_time() + SCORE_S
    while time.process_time() < end:
        sum(range(1000))


def run(directory, drops):
    path = f"{directory}/validation/validation.bin"
    for epoch in range(EPOCHS):
        common.read_in_order(path)
        score()
        if drops(epoch):
            fd = common.open_fd(path)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def bad(directory, scale):
    run(directory, lambda epoch: True)


def fixed(directory, scale):
    run(directory, lambda epoch: epoch == EPOCHS - 1)


if __name__ == "__main__":
    common.main(sys.modules[__name__])
