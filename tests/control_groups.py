# SPDX-License-Identifier: BSD-2-Clause
"""Taking control groups away, for parts of several directories."""

import contextlib
import errno
import os


def remove_cgroup(path, until):
    """With those below it; until(condition, what) waits. An exited process is in its cgroup until
    it is reaped, and its end is seen."""
    def removed():
        for child in [e.path for e in os.scandir(path) if e.is_dir()]:
            remove_cgroup(child, until)
        try:
            os.rmdir(path)
        except OSError as e:
            if e.errno != errno.EBUSY:
                raise
            return False
        return True

    with contextlib.suppress(FileNotFoundError):
        until(removed, f"{path} is empty")
