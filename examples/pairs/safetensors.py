# SPDX-License-Identifier: BSD-2-Clause
"""Weights that every rank loads, one after the other, with less memory than the file. Fixed: one
process loads them, the others share its memory."""

import mmap
import os
import sys

import common
from common import MIB

NEEDS = {"bps": 40 * MIB, "memory": 48 * MIB}
FINDS = ["duplicate-staging"]
BYTES, RANKS, LAYER = 64 * MIB, 3, MIB


def make(directory, scale):
    common.make_file(f"{directory}/model/model.safetensors", int(BYTES * scale))


def in_child(function):
    pid = os.fork()
    if not pid:
        function()
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        sys.exit("a rank has failed")


def load(directory):
    common.read_in_order(f"{directory}/model/model.safetensors", LAYER)


def bad(directory, scale):
    for _ in range(RANKS):
        in_child(lambda: load(directory))


def fixed(directory, scale):
    """A digest of each layer replaces the weights in shared memory: only the number of passes
    matters."""
    shared = mmap.mmap(-1, MIB)

    def keep(_, at, data):
        shared[at // LAYER % MIB] = data[0]

    common.read_in_order(f"{directory}/model/model.safetensors", LAYER, keep)
    for _ in range(RANKS):
        in_child(lambda: shared[:])


if __name__ == "__main__":
    common.main(sys.modules[__name__])
