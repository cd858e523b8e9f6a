# SPDX-License-Identifier: BSD-2-Clause
"""Weights that are mapped and loaded layer by layer, as by safetensors, from a device with high
latency and a small read_ahead_kb. Fixed: a larger one."""

import mmap
import sys

import common
from common import MIB

NEEDS = {"bad": {"iops": 400, "bps": 64 * MIB, "read_ahead_kb": 32},
         "fixed": {"iops": 400, "bps": 64 * MIB, "read_ahead_kb": 1024}}
FINDS = ["readahead-too-small"]
BYTES, LAYER = 64 * MIB, MIB


def make(directory, scale):
    common.make_file(f"{directory}/model/model.safetensors", int(BYTES * scale))


def bad(directory, scale):
    with open(f"{directory}/model/model.safetensors", "rb") as f:
        weights = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    return sum(weights[at:at + LAYER][0] for at in range(0, len(weights), LAYER))


fixed = bad


if __name__ == "__main__":
    common.main(sys.modules[__name__])
