# SPDX-License-Identifier: BSD-2-Clause
"""Why pages of the files under test left the page cache, from the kernel's own tracepoints, which share
nothing with BPF programs. A cell about one kind of eviction is judged only if the kernel reports such
evictions; a disturbed cell names the disturber.

    {inode number: {cause: pages}}

A cause is "kswapd", "direct" or "memcg" (reclaim by a task, for the machine or within a limit), else
the name of the thread: "kdamond.0", "sh". If the tracepoint has no order, a folio counts as one page.
"""

import collections
import contextlib
import os
import re

from syslib import tracefs

SCOPES = {"mm_vmscan_direct_reclaim": "direct", "mm_vmscan_memcg_reclaim": "memcg"}
EVENTS = (tracefs.DELETE, *(f"events/vmscan/{scope}_{edge}" for scope in SCOPES for edge in ("begin", "end")))
BUFFER_ALL_KB = 128 << 10
BUFFER_CPU_KB = 16 << 10
LINE = re.compile(r"^ *(.+)-(\d+) +\[\d+\] .*?: (mm_\w+): (.*)$")
DELETED = re.compile(r"ino ([0-9a-f]+) .*?(?:order=(\d+))?$")
WRITTEN = re.compile(r"^# entries-in-buffer/entries-written: (\d+)/(\d+)")
# The workload and its helpers: rings, ends of writes. A thread that has ended may have no name.
OWN = re.compile(r"wl$|fio$|iou-|kworker/|<\.\.\.>$")


def count(lines):
    """Counts the events of a trace. None if the kernel dropped a part of it."""
    taken = collections.defaultdict(collections.Counter)
    inside = {}  # {thread: its present scope}
    for line in lines:
        written = WRITTEN.match(line)
        if written and written[1] != written[2]:
            return None
        found = LINE.match(line.rstrip())
        if not found:
            continue
        name, thread, event, text = found.groups()
        scope, _, edge = event.rpartition("_")
        if edge == "begin":
            inside[thread] = SCOPES[scope]
        elif edge == "end":
            inside.pop(thread, None)
        else:
            ino, order = DELETED.search(text).groups()
            cause = "kswapd" if name.startswith("kswapd") else inside.get(thread, name)
            taken[int(ino, 16)][cause] += 1 << int(order or 0)
    return taken


def others(taken):
    """{cause: pages} of all files, without those that the workload itself may have evicted."""
    total = sum((taken or {}).values(), collections.Counter())
    return {cause: pages for cause, pages in total.items() if not OWN.match(cause)}


class Takers:
    """Observes one filesystem. Without the tracepoints it reports nothing."""

    def __init__(self, stack, directory):
        self.instance = None
        if not tracefs.mounted():
            return
        dev = os.stat(directory).st_dev
        events = {event: None for event in EVENTS}
        events[tracefs.DELETE] = f"s_dev == {os.major(dev) << 20 | os.minor(dev)}"
        size_kb = min(BUFFER_CPU_KB, BUFFER_ALL_KB // os.cpu_count())
        with contextlib.suppress(OSError):
            self.instance = tracefs.Instance(f"truth{dev}", os.getpid(), events, size_kb)
            stack.callback(self.instance.end)

    def begin(self):
        """Discards earlier events."""
        if self.instance:
            self.instance.clear()

    def taken(self):
        """The result of count() for the time since then. None: not known."""
        return count(self.instance.lines()) if self.instance else None
