# SPDX-License-Identifier: BSD-2-Clause
"""Filesystems to test on: loop images, mounted under a directory of their own."""

import contextlib
import os
import shutil
import subprocess
import tempfile

from . import nfs
from .watch import Lacking

READ_AHEAD_KB = 128
# Blocks of a page: with smaller blocks mkfs.ext4 would treat a small image differently.
MKFS = {"ext4": ["mkfs.ext4", "-q", "-F", "-b", "4096"], "xfs": ["mkfs.xfs", "-q", "-f"],
        "btrfs": ["mkfs.btrfs", "-q", "-f"]}
# Over the network, from this machine to itself: the filesystem of the server.
SERVED = {"nfs": "ext4"}
FILESYSTEMS = (*MKFS, *SERVED)


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


def load(module):
    """If the kernel does not find its modules by itself; built in, or missing, is fine too."""
    if shutil.which("modprobe"):
        subprocess.run(["modprobe", module], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def lacks(fs):
    """Why the filesystem is not available here, or None."""
    if fs in SERVED:
        return nfs.lacks() or lacks(SERVED[fs])
    load(fs)
    with open("/proc/filesystems") as f:
        if fs not in (line.split()[-1] for line in f):
            return f"this kernel has no {fs}"
    return None if shutil.which(MKFS[fs][0]) else f"{MKFS[fs][0]} is not installed"


class Images:
    """Makes the filesystems, and always removes them. lacking: {fs: why it is not available}."""

    def __init__(self, fstypes, base, size_bytes):
        self.fstypes = fstypes
        self.base = base
        self.size_bytes = size_bytes
        self.loops = {}
        self.servers = contextlib.ExitStack()
        self.lacking = {}
        self.dir = None

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="cachemon-truth.", dir=self.base)
        try:
            load("loop")
            for fs in self.fstypes:
                why = lacks(fs)
                if why:
                    self.lacking[fs] = why
                else:
                    self._make(fs)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _make(self, fs):
        image, kind = os.path.join(self.dir, fs + ".img"), SERVED.get(fs, fs)
        with open(image, "wb") as f:
            f.truncate(self.size_bytes)
        run(*MKFS[kind], image)
        os.mkdir(self.disk(fs))
        try:
            loop = run("losetup", "--find", "--show", "--direct-io=on", image)
        except RuntimeError:
            loop = run("losetup", "--find", "--show", image)
        self.loops[fs] = loop
        run("mount", "-t", kind, loop, self.disk(fs))
        knob = f"/sys/block/{os.path.basename(loop)}/queue/read_ahead_kb"
        with open(knob, "w") as f:
            f.write(str(READ_AHEAD_KB))
        if fs in SERVED:
            self.servers.enter_context(nfs.loopback(self.disk(fs), self.mount(fs)))
        self._without_device(fs, os.stat(loop).st_rdev)

    def _without_device(self, fs, disk):
        """If files have a device number that is not a disk, wl gets the disk."""
        dev = os.stat(self.mount(fs)).st_dev
        if dev == disk:
            return
        os.environ[f"WL_DISK_{os.major(dev)}_{os.minor(dev)}"] = \
            f"{os.major(disk)}:{os.minor(disk)}{' served' if fs in SERVED else ''}"

    def disk(self, fs):
        """Where the image is mounted."""
        return os.path.join(self.dir, fs + ".disk" if fs in SERVED else fs)

    def mount(self, fs):
        return os.path.join(self.dir, fs)

    def device(self, fs):
        """MAJ:MIN of the filesystem's disk, from which the job itself reads."""
        if fs in SERVED:
            raise Lacking("its disk is read by the server, not by the job")
        dev = os.stat(self.loops[fs]).st_rdev
        return f"{os.major(dev)}:{os.minor(dev)}"

    def __exit__(self, *_):
        self.servers.close()
        for fs, loop in self.loops.items():
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            if os.path.ismount(self.disk(fs)):
                if subprocess.run(["umount", self.disk(fs)], **quiet).returncode:
                    subprocess.run(["umount", "-l", self.disk(fs)], **quiet)
            subprocess.run(["losetup", "-d", loop], **quiet)
        shutil.rmtree(self.dir, ignore_errors=True)
