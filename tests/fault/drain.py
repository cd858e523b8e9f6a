#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Draining the maps: events that find no memory are counted once, and the counters agree with
the page state."""

import subprocess
import sys

sys.dont_write_bytecode = True

from faultlib.link import capture_flags  # noqa: E402
from faultlib.part import Part, expect  # noqa: E402
from faultlib.watch import BOUND_S  # noqa: E402

part = Part("drain", __doc__)


@part.case("memory is refused during a sample: nothing counted twice, nothing lost")
def refused(case):
    program = case.helper("drain", *capture_flags(case.cachemon), "-Wl,--wrap=realloc",
                          "-Wl,--wrap=probe_set_sweep_names")
    done = subprocess.run([program, case.dir], capture_output=True, text=True, check=False,
                          timeout=BOUND_S)
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()


@part.case("page state is forgotten while pages come and go: none is lost, none counted twice")
def forgotten(case):
    program = case.helper("ghosts", *capture_flags(case.cachemon), "-Wl,--wrap=grace_wait")
    done = subprocess.run([program, case.dir], capture_output=True, text=True, check=False,
                          timeout=BOUND_S)
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()


if __name__ == "__main__":
    part.main()
