#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Cgroups that are made and removed while many jobs are watched: the programs' records, compared
with what was done."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from control_groups import remove_cgroup  # noqa: E402
from faultlib.link import capture_flags  # noqa: E402
from faultlib.part import Part, Skipped, expect, wait_until  # noqa: E402
from faultlib.watch import BOUND_S  # noqa: E402

part = Part("births", __doc__)

HIERARCHIES = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")


def tops():
    """The hierarchies that are mounted here."""
    found = [top for top in HIERARCHIES if os.path.exists(os.path.join(top, "cgroup.procs"))]
    if not found:
        raise Skipped("no cgroup hierarchy is mounted")
    return found


def run(case, name, libraries, *arguments):
    """A helper to its end; its output."""
    program = case.helper(name, *capture_flags(case.cachemon), *libraries)
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                          timeout=BOUND_S)
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()


@part.case("cgroups that live for 5 ms, and a ring that overflows")
def ring(case):
    lines = []
    for top in tops():
        path = os.path.join(top, f"cachemon-births{os.getpid()}")
        os.mkdir(path)
        case.defer(remove_cgroup, path, wait_until)
        lines.append(f"{top}: {run(case, 'births', [], path)}")
    return "; ".join(lines)


def uid_directories(case, found):
    """A slurmd's directory of a user in each hierarchy."""
    made = []
    for top in found:
        slurm = os.path.join(top, f"slurm_births{os.getpid()}")
        for path in (slurm, os.path.join(slurm, "uid_0")):
            os.mkdir(path)
            case.defer(remove_cgroup, path, wait_until)
        made.append(path)
    return made


@part.case("jobs of 5 ms, 2,000 births a second, lost records, a restart")
def jobs(case):
    """Slurm's jobs may be in several hierarchies."""
    found = [top for top in (*tops(), "/sys/fs/cgroup/freezer") if os.path.isdir(top)]
    libraries = ["-ldaemon", "-ljob", "-laccess", "-lbase", "-lcjson", "-lyaml"]
    return run(case, "discover", libraries, *uid_directories(case, found))


if __name__ == "__main__":
    part.main()
