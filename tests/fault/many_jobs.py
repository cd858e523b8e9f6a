#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Many jobs at once: processes in several cgroups share files, and one set of programs counts each
job. What cachestat(2) showed and what each process did is the truth."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from control_groups import remove_cgroup  # noqa: E402
from faultlib.link import capture_flags  # noqa: E402
from faultlib.part import Part, Skipped, expect, wait_until  # noqa: E402
from faultlib.watch import BOUND_S  # noqa: E402

part = Part("many_jobs", __doc__)

# The helper's exit status if the kernel evicted pages of its own accord, or skipped programs that
# count.
DISTURBED, ATTEMPTS = 75, 5
HIERARCHIES = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")


def helper(case):
    """It counts the waits for running programs."""
    return case.helper("many_jobs", "-Wl,--wrap=grace_wait", *capture_flags(case.cachemon))


def directories(case):
    """One in each hierarchy that is mounted here."""
    made = []
    for top in HIERARCHIES:
        if os.path.exists(os.path.join(top, "cgroup.procs")):
            path = os.path.join(top, f"cachemon-many{os.getpid()}")
            os.mkdir(path)
            case.defer(remove_cgroup, path, wait_until)
            made.append(path)
    if not made:
        raise Skipped("no cgroup hierarchy is mounted")
    return made


@part.case("jobs that share pages and blocks, a slot that is used again, eight jobs at once")
def shared(case):
    program, places = helper(case), directories(case)
    disturbed = []
    while len(disturbed) < ATTEMPTS:
        done = subprocess.run([program, case.dir, *places], capture_output=True, text=True, check=False,
                              timeout=BOUND_S)
        if done.returncode != DISTURBED:
            expect(done.returncode == 0, f"status {done.returncode}: {done.stderr.strip()}")
            return "; ".join([done.stdout.strip(), *disturbed])
        disturbed.append(f"disturbed attempt: {done.stderr.strip()}")
    raise Skipped("; ".join(disturbed))


@part.case("programs that can count only one job: refused in a line")
def refused(case):
    program = helper(case)
    done = subprocess.run([program, case.dir, *directories(case)], capture_output=True, text=True,
                          check=False, timeout=BOUND_S, env={**os.environ, "CACHEMON_PROBES": "probe"})
    lines = done.stderr.splitlines()
    expect(done.returncode == 1 and len(lines) == 1 and "only one job at a time" in lines[0],
           f"status {done.returncode}: {done.stderr.strip()}")


if __name__ == "__main__":
    part.main()
