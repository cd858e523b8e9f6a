# SPDX-License-Identifier: BSD-2-Clause
"""Resources of the machine for the cases: filesystems, mounts, cgroups. All of them are removed."""

import os
import subprocess
import time

from control_groups import remove_cgroup

MKFS = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"],
        "btrfs": ["mkfs.btrfs", "-q", "-f"]}
READ_AHEAD_KB = 128
V1_MEMORY = "/sys/fs/cgroup/memory"
# In an emulated machine everything takes longer.
PATIENCE = int(os.environ.get("CACHEMON_PATIENCE", "1"))
V2_PLACES = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


def until(condition, what, seconds=60):
    """Waits for a condition; the time is only a bound."""
    seconds *= PATIENCE
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise RuntimeError(f"not after {seconds} s: {what}")
        time.sleep(0.01)


def unmount(path):
    if subprocess.run(["umount", path], stderr=subprocess.DEVNULL).returncode:
        subprocess.run(["umount", "-l", path], stderr=subprocess.DEVNULL)


def mount(stack, *argv):
    """mount(8) with argv, whose last word is the place; undone by the stack."""
    os.makedirs(argv[-1], exist_ok=True)
    run("mount", *argv)
    stack.callback(unmount, argv[-1])
    return argv[-1]


def loop(stack, image, size_bytes=None, mkfs=None):
    """A loop device over an image, which is created if a size is given."""
    if size_bytes:
        with open(image, "wb") as f:
            f.truncate(size_bytes)
        stack.callback(os.unlink, image)
    if mkfs:
        run(*mkfs, image)
    try:
        device = run("losetup", "--find", "--show", "--direct-io=on", image)
    except RuntimeError:
        device = run("losetup", "--find", "--show", image)
    stack.callback(subprocess.run, ["losetup", "-d", device], stderr=subprocess.DEVNULL)
    with open(f"/sys/block/{os.path.basename(device)}/queue/read_ahead_kb", "w") as f:
        f.write(str(READ_AHEAD_KB))
    return device


def filesystem(stack, kind, image, place, size_bytes=1 << 30, options=()):
    device = loop(stack, image, size_bytes, [*MKFS[kind], *options])
    mount(stack, "-t", kind, device, place)
    return device


def device_of(path):
    dev = os.stat(path).st_dev
    return f"{os.major(dev)}:{os.minor(dev)}"


def v2_root():
    for place in V2_PLACES:
        if os.path.exists(os.path.join(place, "cgroup.controllers")):
            return place
    return None


def v1_root():
    return V1_MEMORY if os.path.exists(os.path.join(V1_MEMORY, "memory.stat")) else None


def cgroup(stack, root, name):
    path = os.path.join(root, name)
    os.mkdir(path)
    stack.callback(remove_cgroup, path, until)
    return path


def enter_cgroup(path, pid, file="cgroup.procs"):
    with open(os.path.join(path, file), "w") as f:
        f.write(str(pid))
