# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's own tracing: what the scheduler did with a thread, by its tracepoint, which shares nothing
with BPF programs."""

import contextlib
import os
import re
import subprocess
import threading

TRACING = "/sys/kernel/tracing"
SWITCH, WAKEUP = "events/sched/sched_switch", "events/sched/sched_wakeup"
BUFFER_KB = "8192"
LINE = re.compile(r" (\d+)\.(\d{6}): sched_(?:switch: .* prev_state=(\S+) ==>|wakeup: )")


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def mounted():
    """Whether it is there; where the system has not mounted it, it is mounted, and stays so."""
    if not os.path.isdir(f"{TRACING}/instances"):
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], stderr=subprocess.DEVNULL, check=False)
    return os.path.isdir(f"{TRACING}/instances")


class Sleeps:
    """Of the calling thread, from now on: when it went to sleep and when it was woken, in ns of
    CLOCK_MONOTONIC. (When it ran again is not told everywhere: some kernels do not trace the idle task.)"""

    def __init__(self):
        tid = threading.get_native_id()
        self.path = f"{TRACING}/instances/cachemon-sleeps-{tid}"
        os.mkdir(self.path)
        write(f"{self.path}/trace_clock", "mono")
        write(f"{self.path}/buffer_size_kb", BUFFER_KB)
        for event, field in ((SWITCH, "prev_pid"), (WAKEUP, "pid")):
            write(f"{self.path}/{event}/filter", f"{field} == {tid}")
            write(f"{self.path}/{event}/enable", "1")

    def end(self):
        """The sleeps, in order of time; the tracing is over."""
        for event in SWITCH, WAKEUP:
            write(f"{self.path}/{event}/enable", "0")
        with open(f"{self.path}/trace", encoding="utf-8", errors="replace") as f:
            events = sorted((int(m[1]) * 10**9 + int(m[2]) * 1000, m[3] or "")
                            for m in map(LINE.search, f) if m)
        with contextlib.suppress(OSError):
            os.rmdir(self.path)
        sleeps, since = [], None
        for at, state in events:
            if state:
                since = None if state.startswith("R") else at
            elif since:
                sleeps.append((since, at))
                since = None
        return sleeps
