# SPDX-License-Identifier: BSD-2-Clause
"""A log in fixed records, parsed field by field with a read call each. Fixed: blocks."""

import os
import struct
import sys

import common
from common import MIB

NEEDS = {}
FINDS = ["small-reads"]
GAIN = "the interpreter's own time for each call is not the kernel's, which alone is foretold"
BYTES, FIELD = 24 * MIB, 16


def make(directory, scale):
    common.make_file(f"{directory}/log/events.log", int(BYTES * scale))


def bad(directory, scale):
    fd, total = common.open_fd(f"{directory}/log/events.log"), 0
    while data := os.read(fd, FIELD):
        total += data[0]


def fixed(directory, scale):
    def fields(_, at, data):
        return sum(f[0] for f in struct.iter_unpack("<QQ", data))

    common.read_in_order(f"{directory}/log/events.log", MIB, fields)


if __name__ == "__main__":
    common.main(sys.modules[__name__])
