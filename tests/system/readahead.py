#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The readahead model, compared with this kernel: which folios each access brings, on each
filesystem. Patterns and settings are those of tests/readahead/patterns.c; the truth is the
kernel's tracepoint, checked with mincore(2)."""

import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "readahead")]

import recording  # noqa: E402
from syslib import machine  # noqa: E402
from syslib.part import Part, Skipped, check  # noqa: E402

part = Part(__doc__)
part.parser.add_argument("--save", metavar="DIR", help="keep the recordings there")
part.parser.add_argument("--pattern", action="append", default=[], help="these only")


class World:
    def __init__(self, args, work, _):
        self.args = args
        self.work = work
        build = os.environ.get("CACHEMON_BUILD") or os.path.join(os.path.dirname(args.cachemon),
                                                                  "..")
        self.programs = os.path.join(build, "tests", "readahead")


def exact(world, stack, kind):
    if not shutil.which(f"mkfs.{kind}"):
        raise Skipped(f"no mkfs.{kind}")
    with open("/proc/filesystems", encoding="ascii") as f:
        if kind not in f.read().split():
            raise Skipped(f"this kernel has no {kind}")
    mount = os.path.join(world.work, kind)
    machine.filesystem(stack, kind, f"{mount}.img", mount, 512 << 20)
    out = f"{mount}.txt"
    why = recording.record(f"{world.programs}/readahead_record", mount, kind, out,
                           world.args.pattern)
    if why:
        raise Skipped(why)
    if world.args.save:
        os.makedirs(world.args.save, exist_ok=True)
        release = ".".join(os.uname().release.split(".")[:2])
        shutil.copy(out, os.path.join(world.args.save, f"{release}-{kind}.txt"))
    done = subprocess.run([f"{world.programs}/readahead_replay", out], stdout=subprocess.PIPE,
                          text=True)
    told = done.stdout.strip().splitlines()
    for line in told:
        part.note(line)
    check(done.returncode == 0, told[-1] if told else "no word of the replay")


@part.case
def ext4_is_exact(world, stack):
    exact(world, stack, "ext4")


@part.case
def xfs_is_exact(world, stack):
    exact(world, stack, "xfs")


@part.case
def btrfs_is_exact(world, stack):
    exact(world, stack, "btrfs")


if __name__ == "__main__":
    sys.exit(part.main(World))
