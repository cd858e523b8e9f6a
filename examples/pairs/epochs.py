# SPDX-License-Identifier: BSD-2-Clause
"""Epochs in the same order over files that do not fit into memory: each is evicted before its
next turn. Fixed: a part is kept, the rest dropped after use."""

import sys

import common
from common import MIB

NEEDS = {"bps": 48 * MIB, "memory": 56 * MIB}
FINDS = ["cache-thrash-loop"]
# The predicted gain is that of enough memory for everything; this fix keeps only a part.
GAIN = "the fix keeps a part of the files, the gain foretold is that of keeping all"
FILES, BYTES, KEPT, EPOCHS = 80, MIB, 36, 5


def paths(directory, scale):
    return [f"{directory}/train/{i:05d}.bin" for i in range(int(FILES * scale))]


def make(directory, scale):
    for path in paths(directory, scale):
        common.make_file(path, BYTES)


def run(directory, scale, kept):
    for _ in range(EPOCHS):
        for i, path in enumerate(paths(directory, scale)):
            common.read_in_order(path, use=None if i < kept * scale else common.drop_behind)


def bad(directory, scale):
    run(directory, scale, FILES)


def fixed(directory, scale):
    run(directory, scale, KEPT)


if __name__ == "__main__":
    common.main(sys.modules[__name__])
