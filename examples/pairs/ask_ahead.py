# SPDX-License-Identifier: BSD-2-Clause
"""Samples in files, each requested right before it is read. Fixed: requested six samples ahead,
while the accelerator works on others."""

import os
import sys
import time

import common
from common import KIB, MIB

NEEDS = {"bps": 2 * MIB}
FINDS = ["willneed-too-late"]
FILES, BYTES, DEPTH, STEP_S = 32, 512 * KIB, 6, 0.3


def paths(directory, scale):
    return [f"{directory}/samples/{i:05d}.npy" for i in range(int(FILES * scale))]


def make(directory, scale):
    for path in paths(directory, scale):
        common.make_file(path, BYTES)


def ask(path):
    fd = common.open_fd(path)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED)
    return fd


def run(directory, scale, depth):
    names = paths(directory, scale)
    pending = [ask(name) for name in names[:depth]]
    for name in [*names[depth:], *[None] * depth]:
        if name:
            pending.append(ask(name))
        fd = pending.pop(0)
        os.read(fd, BYTES)
        os.close(fd)
        time.sleep(STEP_S)


def bad(directory, scale):
    run(directory, scale, 0)


def fixed(directory, scale):
    run(directory, scale, DEPTH)


if __name__ == "__main__":
    common.main(sys.modules[__name__])
