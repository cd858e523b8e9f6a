# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the cases of a part: the program, a filesystem of its own, cached or cold files."""

import os

from . import machine, reader
from .reads import fill
from .tool import Tool, file_of

HOT_PAGES = 4096
COLD_PAGES = 2048


class World:
    def __init__(self, args, work, stack):
        self.args = args
        self.tool = Tool(args.cachemon, work)
        self.work = work
        self.data = os.path.join(work, "data")
        machine.filesystem(stack, "ext4", f"{work}/data.img", self.data)
        self.dev = machine.device_of(self.data)
        self.reader = reader.build(work)
        self.hot = fill(f"{self.data}/hot", HOT_PAGES)
        self.serial = 0

    def cold(self, pages=COLD_PAGES):
        self.serial += 1
        return fill(f"{self.data}/cold{self.serial}", pages)

    def entry(self, job, path):
        return file_of(job, self.dev, os.stat(path).st_ino)
