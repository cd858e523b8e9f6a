# SPDX-License-Identifier: BSD-2-Clause
"""Filesystems to test on: loop images, mounted under a directory of their own."""

import os
import shutil
import subprocess
import tempfile

READ_AHEAD_KB = 128
IMAGE_BYTES = 1 << 30
MKFS = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"],
        "btrfs": ["mkfs.btrfs", "-q", "-f"]}


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


class Images:
    """Makes the filesystems, and always takes them away again."""

    def __init__(self, fstypes, base):
        self.fstypes = fstypes
        self.base = base
        self.loops = {}
        self.dir = None

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="cachemon-truth.", dir=self.base)
        try:
            for fs in self.fstypes:
                self._make(fs)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _make(self, fs):
        image = os.path.join(self.dir, fs + ".img")
        with open(image, "wb") as f:
            f.truncate(IMAGE_BYTES)
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
        """MAJ:MIN of the filesystem's device."""
        dev = os.stat(self.mount(fs)).st_dev
        return f"{os.major(dev)}:{os.minor(dev)}"

    def __exit__(self, *_):
        for fs, loop in self.loops.items():
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            if os.path.ismount(self.mount(fs)):
                if subprocess.run(["umount", self.mount(fs)], **quiet).returncode:
                    subprocess.run(["umount", "-l", self.mount(fs)], **quiet)
            subprocess.run(["losetup", "-d", loop], **quiet)
        shutil.rmtree(self.dir, ignore_errors=True)
