# SPDX-License-Identifier: BSD-2-Clause
"""Which pages of a part's files the kernel reclaimed by itself: its own tracepoint says so, filtered by
kswapd and kdamond. A machine that reclaims idle pages takes them from the files under test too, and what a
case then finds is right and not what it asked for."""

import collections
import contextlib
import os
import re

from . import tracefs

BUFFER_KB = 4096  # of each CPU: a minute of a machine that lets 700 pages a second go
THREADS = ("kswapd", "kdamond")
LINE = re.compile(r"^\s*(\S+)-\d+\s.*: dev (\d+):(\d+) ino ([0-9a-f]+) ")


def _reclaimers():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="ascii",
                                                errors="replace") as f:
            if f.read().startswith(THREADS):
                found.append(pid)
    return found


class Reclaimed:
    """Begins to look when it is made; where the kernel cannot be asked it knows of nothing."""

    def __init__(self, stack, directory):
        self.directory = directory
        self.instance = None
        pids = _reclaimers()
        if not pids or not tracefs.mounted():
            return  # an empty filter would take everybody for one
        by_them = " || ".join(f"common_pid=={p}" for p in pids)
        with contextlib.suppress(OSError):
            self.instance = tracefs.Instance("test", os.getpid(), {tracefs.DELETE: by_them}, BUFFER_KB)
            stack.callback(self.instance.end)

    def begin(self):
        """Forgets what was before."""
        if self.instance:
            self.instance.clear()

    def _files(self):
        """Files of the part, and the filesystems that it made. The images of these are not looked at:
        that their pages go changes no count."""
        own = os.stat(self.directory).st_dev
        files, filesystems = set(), set()
        for root, _, names in os.walk(self.directory):
            with contextlib.suppress(OSError):
                if os.stat(root).st_dev != own:
                    filesystems.add(os.stat(root).st_dev)
            for name in names:
                with contextlib.suppress(OSError):
                    st = os.lstat(os.path.join(root, name))
                    if not name.endswith(".img"):
                        files.add((st.st_dev, st.st_ino))
        return files, filesystems

    def by_whom(self):
        """Folios of these files that left since, by the thread that took them."""
        taken = collections.Counter()
        if not self.instance:
            return taken
        files, filesystems = self._files()
        for line in self.instance.lines():
            found = LINE.match(line)
            if not found:
                continue
            device = os.makedev(int(found[2]), int(found[3]))
            if device in filesystems or (device, int(found[4], 16)) in files:
                taken[found[1]] += 1
        return taken
