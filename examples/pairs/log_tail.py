# SPDX-License-Identifier: BSD-2-Clause
"""A log with fixed records, followed while another process writes it, and parsed field by field
with one read call each. Fixed: blocks."""

import multiprocessing
import os
import struct
import sys

import common
from common import KIB, MIB

NEEDS = {}
FINDS = ["small-reads"]
GAIN = "the interpreter's own time for each call is not the kernel's, which alone is foretold"
BYTES, FIELD, BLOCK = 128 * MIB, 16, 256 * KIB


def make(directory, scale):
    del scale
    os.makedirs(f"{directory}/log", exist_ok=True)


def write(path, size, told):
    """Signals that a block is complete."""
    with open(path, "wb", buffering=0) as f:
        for _ in range(0, size, BLOCK):
            f.write(b"r" * BLOCK)
            told.release()


def follow(directory, scale, parse):
    path, size, told = f"{directory}/log/events.log", int(BYTES * scale), multiprocessing.Semaphore(0)
    open(path, "wb").close()
    writer = multiprocessing.Process(target=write, args=(path, size, told))
    writer.start()
    fd = common.open_fd(path)
    total = 0
    for _ in range(0, size, BLOCK):
        told.acquire()
        total += parse(fd)
    writer.join()
    return total


def bad(directory, scale):
    follow(directory, scale, lambda fd: sum(os.read(fd, FIELD)[0] for _ in range(BLOCK // FIELD)))


def fixed(directory, scale):
    follow(directory, scale, lambda fd: sum(f[0] for f in struct.iter_unpack("<QQ", os.read(fd, BLOCK))))


if __name__ == "__main__":
    common.main(sys.modules[__name__])
