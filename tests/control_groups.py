# SPDX-License-Identifier: BSD-2-Clause
"""Removes control groups, for parts of several directories."""

import contextlib
import errno
import os


def remove_cgroup(path, until):
    """Including those below it; until(condition, what) waits. An exited process stays in its
    cgroup until it is reaped."""
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
