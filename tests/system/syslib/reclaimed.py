# SPDX-License-Identifier: BSD-2-Clause
"""Pages of a part's files that the kernel reclaimed by itself, from its own tracepoint, filtered
by kswapd and kdamond. A machine that reclaims idle pages also takes those of the files under
test; the results of a case are then right but not the intended ones."""

import collections
import contextlib
import os
import re

from . import tracefs

BUFFER_KB = 4096  # per CPU: enough for a minute at 700 pages per second
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
    """Starts when it is created; reports nothing if the kernel has no such tracepoint."""

    def __init__(self, stack, directory):
        self.directory = directory
        self.instance = None
        pids = _reclaimers()
        if not pids or not tracefs.mounted():
            return  # an empty filter would match every task
        by_them = " || ".join(f"common_pid=={p}" for p in pids)
        with contextlib.suppress(OSError):
            self.instance = tracefs.Instance("test", os.getpid(), {tracefs.DELETE: by_them}, BUFFER_KB)
            stack.callback(self.instance.end)

    def begin(self):
        """Discards earlier events."""
        if self.instance:
            self.instance.clear()

    def _files(self):
        """The files of the part, and the filesystems that it made. Their images are excluded:
        evicted pages of these change no count."""
        own = os.stat(self.directory).st_dev
        files, filesystems, left = set(), set(), [self.directory]
        # Not os.walk(), which fails in directories nested more than a thousand deep.
        while left:
            with contextlib.suppress(OSError), os.scandir(left.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        st = entry.stat(follow_symlinks=False)
                        if st.st_dev != own:
                            filesystems.add(st.st_dev)
                        if entry.is_dir(follow_symlinks=False):
                            left.append(entry.path)
                        elif not entry.name.endswith(".img"):
                            files.add((st.st_dev, st.st_ino))
        return files, filesystems

    def by_whom(self):
        """Folios of these files evicted since then, by the evicting thread."""
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
