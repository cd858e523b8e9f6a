# SPDX-License-Identifier: BSD-2-Clause
"""A small filesystem of a test, to fill up."""

import contextlib
import os
import subprocess

from .part import Failed


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


class Image:
    """ext4 on a loop device, removed with the case."""

    def __init__(self, case, size_bytes, name="small"):
        image = case.path(name + ".img")
        with open(image, "wb") as f:
            f.truncate(size_bytes)
        run("mkfs.ext4", "-q", "-F", "-m", "0", image)
        self.mount = case.path(name)
        os.mkdir(self.mount)
        run("mount", "-o", "loop", image, self.mount)
        case.defer(self._unmount)
        self.ballast = os.path.join(self.mount, "ballast")

    def path(self, name):
        return os.path.join(self.mount, name)

    def _unmount(self):
        if subprocess.run(["umount", self.mount], capture_output=True, check=False).returncode:
            subprocess.run(["umount", "-l", self.mount], capture_output=True, check=False)

    def fill(self, leave_bytes=0):
        """Fills all space except this much; with 0, to the last block."""
        space = os.statvfs(self.mount)
        with open(self.ballast, "ab", buffering=0) as f:
            left = space.f_bavail * space.f_frsize - leave_bytes
            with contextlib.suppress(OSError):  # the last blocks are used for its own metadata
                os.posix_fallocate(f.fileno(), os.path.getsize(self.ballast), max(left, 1))
            if not leave_bytes:
                f.seek(0, os.SEEK_END)
                for size in (65536, 4096, 1024, 1):
                    with contextlib.suppress(OSError):
                        while f.write(bytes(size)):
                            pass
            os.fsync(f.fileno())

    def free(self):
        os.unlink(self.ballast)

    def read_only(self):
        run("mount", "-o", "remount,ro", self.mount)
