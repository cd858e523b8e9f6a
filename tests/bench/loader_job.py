#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A training-like input job: workers read sample files in shuffled order, decode and batch them.

loader_job.py torch|plain DIR FILES FILE_BYTES WORKERS

Makes FILES files in DIR, prints "ready", then runs one epoch for each line on stdin and prints the
CPU time (ns) of all its processes. "torch" is a torch.utils.data.DataLoader; "plain" has the same
structure with only multiprocessing. Exit 77: torch is not installed.
"""

import array
import multiprocessing
import os
import random
import sys

BATCH = 32


def make_files(folder, count, size):
    for i in range(count):
        with open(os.path.join(folder, f"{i}.bin"), "wb") as f:
            f.write(os.urandom(size))
    return [os.path.join(folder, f"{i}.bin") for i in range(count)]


def read_sample(path):
    with open(path, "rb") as f:
        return f.read()


def cpu_ns(pids):
    """sum_exec_runtime of all threads of the processes."""
    total = 0
    for pid in pids:
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
                total += int(f.read().split()[0])
    return total


def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as f:
        return [int(pid) for pid in f.read().split()]


def torch_epochs(paths, workers):
    try:
        import torch
        from torch.utils.data import DataLoader, Dataset
    except ImportError:
        sys.exit(77)
    torch.set_num_threads(1)

    class Samples(Dataset):
        def __len__(self):
            return len(paths)

        def __getitem__(self, i):
            data = torch.frombuffer(bytearray(read_sample(paths[i])), dtype=torch.uint8)
            return data.float().div_(255.0).mean(), i

    loader = DataLoader(Samples(), batch_size=BATCH, shuffle=True, num_workers=workers,
                        persistent_workers=True)
    while True:
        yield sum(len(labels) for _, labels in loader)


def plain_sample(path):
    data = array.array("B", read_sample(path))
    return sum(data[::16]) / len(data)


def plain_epochs(paths, workers):
    order = list(paths)
    with multiprocessing.Pool(workers) as pool:
        while True:
            random.shuffle(order)
            yield sum(1 for _ in pool.imap_unordered(plain_sample, order, chunksize=BATCH))


def main():
    kind, folder, count, size, workers = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    make = {"torch": torch_epochs, "plain": plain_epochs}[kind]
    paths = make_files(folder, count, size)
    epochs = make(paths, workers)
    next(epochs)  # the first epoch starts the workers and fills the cache
    print("ready", flush=True)
    for _ in sys.stdin:
        pids = [os.getpid(), *children()]
        before = cpu_ns(pids)
        if next(epochs) != count:
            sys.exit("an epoch was not complete")
        print(cpu_ns(pids) - before, flush=True)


main()
