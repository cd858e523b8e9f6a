#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Unmarked figures are exact at every level, most importantly without options: truth tests with
the same oracle, which tests/truth/run.py uses at level full."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Part  # noqa: E402
from syslib.truthworld import TruthWorld  # noqa: E402

part = Part(__doc__)


@part.case
def default(world, _):
    """The default without --level."""
    world.judged("default", "--level", "default")


@part.case
def cold(world, _):
    """Reads are not seen: figures that are not null must still be right."""
    world.judged("cold", "--level", "cold", nulls=True)


if __name__ == "__main__":
    sys.exit(part.main(lambda args, work, _: TruthWorld(
        part, args, work, "truth patterns at other levels than full")))
