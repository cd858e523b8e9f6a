# SPDX-License-Identifier: BSD-2-Clause
"""Token ids of a mapped file, sampled at random places. Fixed: MADV_RANDOM on the mapping."""

import mmap
import random
import sys

import common
from common import MIB, PAGE

NEEDS = {"bps": 24 * MIB}
FINDS = ["mmap-random-faults"]
BYTES, SAMPLES = 256 * MIB, 2000


def make(directory, scale):
    common.make_file(f"{directory}/tokens/tokens.bin", int(BYTES * scale))


def run(directory, scale, advice):
    chosen = random.Random(common.SEED)
    with open(f"{directory}/tokens/tokens.bin", "rb") as f:
        area = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    area.madvise(advice)
    return sum(area[chosen.randrange(len(area) // PAGE) * PAGE] for _ in range(int(SAMPLES * scale)))


def bad(directory, scale):
    run(directory, scale, mmap.MADV_NORMAL)


def fixed(directory, scale):
    run(directory, scale, mmap.MADV_RANDOM)


if __name__ == "__main__":
    common.main(sys.modules[__name__])
