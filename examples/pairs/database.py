# SPDX-License-Identifier: BSD-2-Clause
"""Records at random places of a table, a header and then a body: the second read looks like the
beginning of a stream. Fixed: RANDOM advice and one call per record."""

import os
import random
import sys

import common
from common import MIB, PAGE

NEEDS = {"bps": 16 * MIB, "read_ahead_kb": 1024}
FINDS = ["random-with-readahead"]
BYTES, RECORDS, BODY = 512 * MIB, 3000, 2 * PAGE


def make(directory, scale):
    common.make_file(f"{directory}/table/table.db", int(BYTES * scale))


def offsets(directory, scale):
    pages = os.path.getsize(f"{directory}/table/table.db") // PAGE
    slots = random.Random(common.SEED).sample(range(pages // 32), int(RECORDS * scale))
    return [slot * 32 * PAGE for slot in slots]


def bad(directory, scale):
    fd = common.open_fd(f"{directory}/table/table.db")
    for at in offsets(directory, scale):
        os.pread(fd, PAGE, at)
        os.pread(fd, BODY, at + PAGE)


def fixed(directory, scale):
    fd = common.open_fd(f"{directory}/table/table.db")
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    for at in offsets(directory, scale):
        os.pread(fd, PAGE + BODY, at)


if __name__ == "__main__":
    common.main(sys.modules[__name__])
