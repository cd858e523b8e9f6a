# SPDX-License-Identifier: BSD-2-Clause
"""Filesystems to test on: loop images, mounted under a directory of their own."""

import os
import shutil
import subprocess
import tempfile

READ_AHEAD_KB = 128
# Blocks of a page: with smaller ones mkfs.ext4 would make of a small image something else.
MKFS = {"ext4": ["mkfs.ext4", "-q", "-F", "-b", "4096"], "xfs": ["mkfs.xfs", "-q", "-f"],
        "btrfs": ["mkfs.btrfs", "-q", "-f"]}


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


def load(module):
    """Where the kernel does not find its modules by itself; built in, or absent, is as good."""
    if shutil.which("modprobe"):
        subprocess.run(["modprobe", module], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def lacks(fs):
    """Why the filesystem cannot be had here, or None."""
    load(fs)
    with open("/proc/filesystems") as f:
        if fs not in (line.split()[-1] for line in f):
            return f"this kernel has no {fs}"
    return None if shutil.which(MKFS[fs][0]) else f"{MKFS[fs][0]} is not installed"


class Images:
    """Makes the filesystems, and always takes them away again. lacking: {fs: why it has none}."""

    def __init__(self, fstypes, base, size_bytes):
        self.fstypes = fstypes
        self.base = base
        self.size_bytes = size_bytes
        self.loops = {}
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
        image = os.path.join(self.dir, fs + ".img")
        with open(image, "wb") as f:
            f.truncate(self.size_bytes)
        run(*MKFS[fs], image)
        os.mkdir(self.mount(fs))
        try:
            loop = run("losetup", "--find", "--show", "--direct-io=on", image)
        except RuntimeError:
            loop = run("losetup", "--find", "--show", image)
        self.loops[fs] = loop
        run("mount", "-t", fs, loop, self.mount(fs))
        knob = f"/sys/block/{os.path.basename(loop)}/queue/read_ahead_kb"
        with open(knob, "w") as f:
            f.write(str(READ_AHEAD_KB))

    def mount(self, fs):
        return os.path.join(self.dir, fs)

    def device(self, fs):
        """MAJ:MIN of the filesystem's disk."""
        dev = os.stat(self.loops[fs]).st_rdev
        return f"{os.major(dev)}:{os.minor(dev)}"

    def __exit__(self, *_):
        for fs, loop in self.loops.items():
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            if os.path.ismount(self.mount(fs)):
                if subprocess.run(["umount", self.mount(fs)], **quiet).returncode:
                    subprocess.run(["umount", "-l", self.mount(fs)], **quiet)
            subprocess.run(["losetup", "-d", loop], **quiet)
        shutil.rmtree(self.dir, ignore_errors=True)
