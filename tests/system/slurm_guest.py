#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Slurm's jobs in cgroup v2, as without systemd: a guest, because the machine may have v1. Jobs of
two users with the plugin, as in slurm_plugin.py."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.append(os.path.join(os.path.dirname(HERE), "vm"))

from syslib.part import Failed, Part, Skipped, equal  # noqa: E402
from syslib.slurm import missing_program  # noqa: E402
from vmlib.guest import Died, Guest, Settings  # noqa: E402

TIMEOUT_S = 900
# Slurm looks for an address that is not the loopback's.
SCRIPT = """
set -e
ip addr add 10.9.9.9/32 dev lo
echo 127.0.0.1 localhost $(hostname) >/etc/hosts
export CACHEMON_PATIENCE=5
exec python3 {here}/slurm_plugin.py --dir /scratch --cachemon {cachemon} --only two_users
"""

part = Part(__doc__)


class World:
    def __init__(self, args, work, stack):
        self.args, self.work = args, work


def two_users(world, kernel):
    if missing_program():
        raise Skipped(f"{missing_program()} is not installed")
    found = subprocess.run([f"{HERE}/../vm/kernels", "get", kernel], capture_output=True, text=True, check=False)
    if found.returncode:
        raise Skipped(found.stderr.strip())
    guest = Guest(found.stdout.strip(), f"{world.work}/{kernel}", Settings(memory_mb=2048, timeout_s=TIMEOUT_S))
    try:
        status = guest.run([SCRIPT.format(here=HERE, cachemon=world.args.cachemon)])
    except Died as e:
        raise Failed(str(e)) from e
    log = guest.read("log")
    for line in log.splitlines():
        part.note(line)
    equal("status of the guest's part", status, 0)
    equal("its verdict", log.splitlines()[-1], "1 passed, 0 failed, 0 skipped")


@part.case
def two_users_on_6_12(world, _):
    two_users(world, "6.12")


@part.case
def two_users_on_sid(world, _):
    two_users(world, "sid")


if __name__ == "__main__":
    sys.exit(part.main(World))
