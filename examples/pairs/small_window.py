# SPDX-License-Identifier: BSD-2-Clause
"""A stream from a device with high latency and a small read_ahead_kb. Fixed: a larger one."""

import sys

import common
from common import KIB, MIB

NEEDS = {"bad": {"iops": 400, "bps": 64 * MIB, "read_ahead_kb": 32},
         "fixed": {"iops": 400, "bps": 64 * MIB, "read_ahead_kb": 1024}}
FINDS = ["readahead-too-small"]
BYTES = 64 * MIB


def make(directory, scale):
    common.make_file(f"{directory}/stream/stream.bin", int(BYTES * scale))


def bad(directory, scale):
    common.read_in_order(f"{directory}/stream/stream.bin", 16 * KIB)


fixed = bad


if __name__ == "__main__":
    common.main(sys.modules[__name__])
