#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every file has the right name and the right counts, wherever it is and whatever happens to it."""

import contextlib
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine, path_mounts, path_names, path_renames  # noqa: E402, F401
from syslib.part import Part  # noqa: E402
from syslib.pathcase import COPY_NAMES, cases  # noqa: E402
from syslib.pathwork import PathRun, work  # noqa: E402
from syslib.reads import fill  # noqa: E402
from syslib.tool import Tool  # noqa: E402


def keep_device(base, name, device):
    with open(os.path.join(base, name), "w") as f:
        f.write(device)


def make_copies(base, work_dir, stack):
    """Two devices with identical images."""
    first, second = (f"{work_dir}/copy{i}.img" for i in range(2))
    device = machine.loop(stack, first, 300 << 20, machine.MKFS["xfs"])
    place = os.path.join(work_dir, "copy")
    with contextlib.ExitStack() as mounted:
        machine.mount(mounted, "-t", "xfs", device, place)
        for name in COPY_NAMES:
            fill(os.path.join(place, name), 1)
    machine.run("cp", "--sparse=always", first, second)
    keep_device(base, "copy-device-0", device)
    keep_device(base, "copy-device-1", machine.loop(stack, second))


def make_world(args, work_dir, stack):
    base = os.path.join(work_dir, "world")
    for place in ("disk", "bind", "overlay"):
        os.makedirs(os.path.join(base, place))
    for fs in ("ext4", "xfs"):
        machine.filesystem(stack, fs, f"{work_dir}/{fs}.img", os.path.join(base, fs))
    machine.mount(stack, "--bind", f"{base}/ext4", f"{base}/bind")
    for layer in ("lower", "upper", "work"):
        os.mkdir(f"{base}/ext4/{layer}")
    machine.mount(stack, "-t", "overlay", "-o",
                  f"lowerdir={base}/ext4/lower,upperdir={base}/ext4/upper,"
                  f"workdir={base}/ext4/work", "overlay", f"{base}/overlay")
    keep_device(base, "private-device",
                machine.loop(stack, f"{work_dir}/private.img", 64 << 20, machine.MKFS["ext4"]))
    keep_device(base, "raw-device", machine.loop(stack, f"{work_dir}/raw.img", 1 << 20))
    make_copies(base, work_dir, stack)
    return PathRun(Tool(args.cachemon, work_dir), base, os.path.abspath(__file__),
                   args.only or list(cases))


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(sys.argv[2], sys.argv[3:])
    part = Part(__doc__)
    for name in cases:
        def function(run, stack, name=name):
            run.judge(name, stack)
        function.__name__ = name
        part.case(function)
    return part.main(make_world)


if __name__ == "__main__":
    sys.exit(main())
