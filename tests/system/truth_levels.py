#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What is not marked is exact at every level, without options first of all: truth tests against the
same oracle, which tests/truth/run.py has at level full."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Part  # noqa: E402
from syslib.truthworld import TruthWorld  # noqa: E402

part = Part(__doc__)


@part.case
def default(world, _):
    """As it is without --level."""
    world.judged("default", "--level", "default")


@part.case
def cold(world, _):
    """No read is seen: what then is not null must be right."""
    world.judged("cold", "--level", "cold", nulls=True)


if __name__ == "__main__":
    sys.exit(part.main(lambda args, work, _: TruthWorld(
        part, args, work, "truth patterns at other levels than full")))
