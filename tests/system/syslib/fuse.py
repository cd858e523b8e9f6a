# SPDX-License-Identifier: BSD-2-Clause
"""Tests with a FUSE filesystem: what they need, and their beginning."""

import os
import subprocess
import sys

from syslib.part import SKIP


def lacks():
    """Why there can be no such test here; None: it can."""
    if not os.path.exists("/dev/fuse"):
        return "no /dev/fuse"
    found = subprocess.run(["pkg-config", "--exists", "fuse3"], capture_output=True)
    return "no libfuse3-dev" if found.returncode else None


def main(part, world):
    why = None if {"-h", "--help", "--list"} & set(sys.argv) else lacks()
    if why:
        print(why, file=sys.stderr)
        return SKIP
    return part.main(world)
