#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The reads of Slurm jobs are counted exactly, wherever Slurm places the jobs."""

import os
import pwd
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.jobworld import OPTIONS, main  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.slurm import Slurm  # noqa: E402
from syslib.tool import on_device  # noqa: E402

part = Part(__doc__)


def watched(world, watch, job):
    watch.wait_intervals(2)
    watch.interrupt()
    _, got, _ = watch.end()
    data = on_device(got, world.dev)
    equal("read calls", data["read_calls"], job.calls)
    equal("bytes read", data["read_bytes"], job.bytes)
    return got


def two_users(world, stack, cgroups, memory, where):
    """Two jobs read the same files; one is watched, which another step of it joins."""
    slurm = Slurm(stack, world.tool.fresh(".slurm"), cgroups, memory)
    mine = slurm.job(stack, "train job", "nobody")
    other = slurm.job(stack, "other", "games")
    files = [f"{world.data}/{i:02}" for i in range(6)]
    mine.read(files[0], counted=False)
    watch = world.tool.watch(stack, [*OPTIONS, "--slurm", mine.id])
    step = world.tool.watch(stack, [*OPTIONS, "--job", f"slurm:{mine.id}.0"])
    for w in (watch, step):
        w.wait_started()
    for path in files:
        other.read(path)
        mine.read(path)
    other.read(files[0])
    got = watched(world, watch, mine)
    of_step = watched(world, step, mine)
    check(got["selector"].startswith(f"slurm: {mine.id}, "), got["selector"])
    check(got["selector"].endswith("name: 'train job', partition: batch"), got["selector"])
    check(where in got["selector"], f"not {where}: {got['selector']}")
    equal("name of the job", got["name"], f"slurm:{mine.id}")
    for job, number in ((got, None), (of_step, "0")):
        equal("fields of the job",
              [job[key] for key in ("kind", "external_id", "step", "job_name", "partition", "uid")],
              ["slurm", str(mine.id), number, "train job", "batch", pwd.getpwnam("nobody").pw_uid])


def v1(controller):
    root = f"/sys/fs/cgroup/{controller}"
    if not os.path.exists(root) or not machine.v1_root():
        raise Skipped(f"no v1 controller {controller} here")


@part.case
def with_a_limit_of_memory(world, stack):
    v1("memory")
    two_users(world, stack, True, True, "cgroup: /slurm")


@part.case
def in_the_freezer_alone(world, stack):
    v1("freezer")
    two_users(world, stack, True, False, "cgroup: /slurm")


@part.case
def without_a_cgroup(world, stack):
    two_users(world, stack, False, False, "without a cgroup")


if __name__ == "__main__":
    sys.exit(main(part))
