# SPDX-License-Identifier: BSD-2-Clause
"""Shuffled epochs over files under a memory limit below the dataset's size, on a machine with memory to
spare. Fixed: a limit above it."""

import sys

import common
from common import KIB, MIB

NEEDS = {"bad": {"bps": 48 * MIB, "memory": 40 * MIB}, "fixed": {"bps": 48 * MIB, "memory": 160 * MIB}}
FINDS = ["memcg-limit-too-low"]
FILES, BYTES, EPOCHS = 128, 512 * KIB, 12


def paths(directory, scale):
    return [f"{directory}/train/{i:05d}.bin" for i in range(int(FILES * scale))]


def make(directory, scale):
    for path in paths(directory, scale):
        common.make_file(path, BYTES)


def bad(directory, scale):
    for epoch in range(EPOCHS):
        for path in common.shuffled(paths(directory, scale), epoch):
            common.read_in_order(path)


fixed = bad


if __name__ == "__main__":
    common.main(sys.modules[__name__])
