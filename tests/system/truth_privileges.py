#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The figures do not depend on how cachemon got its privileges: truth tests started by a user
through a real sudo, and with a copy of the program that has capabilities, with the same oracle."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Part  # noqa: E402
from syslib.truthworld import TruthWorld  # noqa: E402

# Patterns that depend on privileges: the caller's own tasks, others', files that it may not read.
REDUCED = ("seq_128k", "call_sendfile", "call_uring", "willneed", "mmap_seq", "truncated", "two_at_once")

part = Part(__doc__)


@part.case
def sudo(world, _):
    """By a user through sudo."""
    world.judged("sudo", "--as", "sudo")


@part.case
def setcap(world, _):
    """By a user whose program file has the capabilities listed in docs/privileges.md."""
    world.judged("setcap", "--as", "setcap")


if __name__ == "__main__":
    sys.exit(part.main(lambda args, work, _: TruthWorld(
        part, args, work, "truth patterns through sudo and with file capabilities", REDUCED)))
