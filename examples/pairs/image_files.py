# SPDX-License-Identifier: BSD-2-Clause
"""A loader over image files, one file per sample: PyTorch's DataLoader if it is installed, else
processes. Fixed: the samples in tar shards, read in order."""

import io
import multiprocessing
import os
import sys
import tarfile

import common
from common import KIB, MIB

NEEDS = {"iops": 600, "bps": 48 * MIB}
FINDS = ["small-files"]
FILES, BYTES, WORKERS, SHARDS = 1500, 20 * KIB, 2, 4


def paths(directory, scale):
    return [f"{directory}/train/class-{i % 10}/{i:06d}.jpg" for i in range(int(FILES * scale))]


def make(directory, scale):
    names = paths(directory, scale)
    for name in names:
        common.make_file(name, BYTES)
    for shard in range(SHARDS):
        os.makedirs(f"{directory}/shards", exist_ok=True)
        with tarfile.open(f"{directory}/shards/{shard}.tar", "w") as tar:
            for name in names[shard::SHARDS]:
                tar.add(name, os.path.basename(name))


def load(name):
    with open(name, "rb", buffering=0) as f:
        return len(f.read())


def load_torch(names):
    from torch.utils.data import DataLoader, Dataset

    class Images(Dataset):
        def __len__(self):
            return len(names)

        def __getitem__(self, i):
            return load(names[i])

    return sum(int(n) for n in DataLoader(Images(), batch_size=None, shuffle=True, num_workers=WORKERS))


def bad(directory, scale):
    names = common.shuffled(paths(directory, scale))
    try:
        load_torch(names)
    except ImportError:
        with multiprocessing.Pool(WORKERS) as pool:
            sum(pool.imap_unordered(load, names, chunksize=8))


def fixed(directory, scale):
    for shard in common.shuffled(range(SHARDS)):
        with open(f"{directory}/shards/{shard}.tar", "rb") as f, tarfile.open(
                fileobj=io.BufferedReader(f, 256 * KIB), mode="r|") as tar:
            for member in tar:
                tar.extractfile(member).read()


if __name__ == "__main__":
    common.main(sys.modules[__name__])
