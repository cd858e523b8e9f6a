# SPDX-License-Identifier: BSD-2-Clause
"""Control groups of a case."""

import errno
import os
import time

from .part import Skipped

REMOVE_S = 20


def cgroup_mounts():
    """{"v1": the memory controller's, "v2": the unified one}, those that are mounted here."""
    found = {}
    with open("/proc/self/mounts", encoding="utf-8") as f:
        for line in f:
            _, place, fstype, options = line.split()[:4]
            if fstype == "cgroup2":
                found.setdefault("v2", place)
            elif fstype == "cgroup" and "memory" in options.split(","):
                found.setdefault("v1", place)
    return found


def make_cgroup(case, version):
    place = cgroup_mounts().get(version)
    if not place:
        raise Skipped(f"no cgroup {version} here")
    path = os.path.join(place, os.path.basename(case.dir))
    try:
        os.mkdir(path)
    except OSError as e:
        raise Skipped(f"cannot make {path}: {e.strerror}") from e
    case.defer(lambda: remove_cgroup(path))
    return path


def remove_cgroup(path):
    """Once its last task is gone: a task that has ended stays until its parent reaps it."""
    end = time.monotonic() + REMOVE_S
    while os.path.isdir(path):
        try:
            os.rmdir(path)
        except OSError as e:
            if e.errno != errno.EBUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)


def make_reclaimed(case):
    """A memory cgroup, and the file to which "64M" is written to reclaim: v1 ignores the amount
    and takes everything."""
    for version, name in (("v1", "memory.force_empty"), ("v2", "memory.reclaim")):
        if version in cgroup_mounts():
            path = make_cgroup(case, version)
            if os.path.exists(os.path.join(path, name)):
                return path, os.path.join(path, name)
    raise Skipped("no cgroup here whose memory can be reclaimed on demand")
