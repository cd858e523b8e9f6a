# SPDX-License-Identifier: BSD-2-Clause
"""The environment of a workload: its own filesystem on a loop device with a given speed, and
control groups. Owns the mounts and cgroups, and removes them."""

import contextlib
import os
import shutil
import subprocess
import tempfile

MKFS = {"ext4": ["mkfs.ext4", "-q", "-F", "-b", "4096"], "xfs": ["mkfs.xfs", "-q", "-f"]}
V1 = "/sys/fs/cgroup"
V2 = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
THROTTLE = {"bps": ("blkio.throttle.read_bps_device", "rbps"),
            "iops": ("blkio.throttle.read_iops_device", "riops")}


class Lacking(Exception):
    """Why this machine cannot provide the conditions."""


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


def put(path, value):
    with open(path, "w") as f:
        f.write(str(value))


def remove_cgroup(path):
    """Exiting processes may still be in it: they are moved to the parent first."""
    with contextlib.suppress(OSError):
        with open(os.path.join(path, "cgroup.procs")) as f:
            for pid in f.read().split():
                with contextlib.suppress(OSError):
                    put(os.path.join(os.path.dirname(path), "cgroup.procs"), pid)
    with contextlib.suppress(OSError):
        os.rmdir(path)


class Place:
    """A filesystem under a directory of the base, or at a given directory; with Place(...) as p: p.dir is
    where it is mounted. Its cgroups have the given name."""

    def __init__(self, fs="ext4", base="/var/tmp", size_bytes=2 << 30, at=None, group=f"cachemon-place-{os.getpid()}"):
        self.fs, self.base, self.size_bytes, self.at, self.group = fs, base, size_bytes, at, group
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        if os.geteuid():
            raise Lacking("mounts and control groups need root")
        if not shutil.which(MKFS[self.fs][0]):
            raise Lacking(f"{MKFS[self.fs][0]} is not installed")
        with contextlib.ExitStack() as stack:
            work = tempfile.mkdtemp(prefix="cachemon-place.", dir=self.base)
            stack.callback(shutil.rmtree, work, ignore_errors=True)
            image, self.dir = os.path.join(work, "image"), self.at or os.path.join(work, "fs")
            with open(image, "wb") as f:
                f.truncate(self.size_bytes)
            run(*MKFS[self.fs], image)
            if not self.at:
                os.mkdir(self.dir)
            try:
                self.loop = run("losetup", "--find", "--show", "--direct-io=on", image)
            except RuntimeError:
                self.loop = run("losetup", "--find", "--show", image)
            stack.callback(subprocess.run, ["losetup", "-d", self.loop], stderr=subprocess.DEVNULL)
            self.read_ahead(128)
            self._mount()
            stack.callback(self._unmount)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def _mount(self):
        run("mount", "-t", self.fs, self.loop, self.dir)

    def _unmount(self):
        if subprocess.run(["umount", self.dir], stderr=subprocess.DEVNULL).returncode:
            subprocess.run(["umount", "-l", self.dir], stderr=subprocess.DEVNULL)

    def cold(self):
        """Drops all of it from the cache, including inodes."""
        run("umount", self.dir)
        self._mount()

    def clear(self):
        for entry in os.scandir(self.dir):
            if entry.name != "lost+found":
                shutil.rmtree(entry.path) if entry.is_dir() else os.unlink(entry.path)

    def read_ahead(self, kib):
        put(f"/sys/block/{os.path.basename(self.loop)}/queue/read_ahead_kb", kib)

    def device(self):
        dev = os.stat(self.loop).st_rdev
        return f"{os.major(dev)}:{os.minor(dev)}"

    @contextlib.contextmanager
    def conditions(self, read_ahead_kb=128, memory=None, bps=None, iops=None):
        """Yields the cgroups to join, between colons."""
        self.read_ahead(read_ahead_kb)
        throttle = {k: v for k, v in (("bps", bps), ("iops", iops)) if v}
        with contextlib.ExitStack() as stack:
            if os.path.isdir(f"{V1}/memory") and os.path.isdir(f"{V1}/blkio"):
                joined = self._groups_v1(stack, memory, throttle)
            else:
                joined = self._group_v2(stack, memory, throttle)
            yield ":".join(joined)

    def _make(self, stack, parent):
        path = os.path.join(parent, self.group)
        os.mkdir(path)
        stack.callback(remove_cgroup, path)
        return path

    def _groups_v1(self, stack, memory, throttle):
        joined = []
        if memory:
            joined.append(self._make(stack, f"{V1}/memory"))
            put(os.path.join(joined[-1], "memory.limit_in_bytes"), memory)
        if throttle:
            joined.append(self._make(stack, f"{V1}/blkio"))
            for kind, value in throttle.items():
                put(os.path.join(joined[-1], THROTTLE[kind][0]), f"{self.device()} {int(value)}")
        return joined

    def _group_v2(self, stack, memory, throttle):
        if not memory and not throttle:
            return []
        root = next((p for p in V2 if os.path.exists(f"{p}/cgroup.subtree_control")), None)
        if not root:
            raise Lacking("no control groups")
        for controller in (["memory"] if memory else []) + (["io"] if throttle else []):
            with open(f"{root}/cgroup.controllers") as f:
                if controller not in f.read().split():
                    raise Lacking(f"no control group controller '{controller}'")
            put(f"{root}/cgroup.subtree_control", "+" + controller)
        path = self._make(stack, root)
        if memory:
            put(f"{path}/memory.max", memory)
        if throttle:
            put(f"{path}/io.max", f"{self.device()} " + " ".join(
                f"{THROTTLE[k][1]}={int(v)}" for k, v in throttle.items()))
        return [path]
