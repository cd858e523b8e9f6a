# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's own tracing by its tracepoints, independent of BPF programs."""

import contextlib
import os
import re
import subprocess
import threading

TRACING = "/sys/kernel/tracing"
DELETE = "events/filemap/mm_filemap_delete_from_page_cache"
SWITCH, WAKEUP = "events/sched/sched_switch", "events/sched/sched_wakeup"
BUFFER_KB = 8192  # per CPU
NAME = re.compile(r"cachemon-[a-z0-9:.]+-(\d+)$")
LINE = re.compile(r" (\d+)\.(\d{6}): sched_(?:switch: .* prev_state=(\S+) ==>|wakeup: )")


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def mounted():
    """Whether it is available; it is mounted if the system has not done so, and stays mounted."""
    if not os.path.isdir(f"{TRACING}/instances"):
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], stderr=subprocess.DEVNULL, check=False)
    return os.path.isdir(f"{TRACING}/instances")


def remove_abandoned():
    """Removes the instances of killed tests: each keeps megabytes of kernel memory."""
    for name in os.listdir(f"{TRACING}/instances"):
        owner = NAME.match(name)
        if owner and not os.path.exists(f"/proc/{owner[1]}"):
            with contextlib.suppress(OSError):  # another test may remove it at the same time
                os.rmdir(f"{TRACING}/instances/{name}")


class Instance:
    """A trace instance. kind: a word for its name. owner: the process or thread; when it is gone
    the instance is abandoned. events: {event: its filter, or None}."""

    def __init__(self, kind, owner, events, buffer_kb=BUFFER_KB):
        remove_abandoned()
        self.path = f"{TRACING}/instances/cachemon-{kind}-{owner}"
        self.events = events
        os.mkdir(self.path)
        try:
            write(f"{self.path}/trace_clock", "mono")
            write(f"{self.path}/buffer_size_kb", str(buffer_kb))
            for event, condition in events.items():
                if condition:
                    write(f"{self.path}/{event}/filter", condition)
                write(f"{self.path}/{event}/enable", "1")
        except OSError:
            self.end()
            raise

    def clear(self):
        write(f"{self.path}/trace", "")

    def lines(self):
        """The events so far, in order of time; they stay in the trace."""
        with open(f"{self.path}/trace", encoding="utf-8", errors="replace") as f:
            yield from f

    def stop(self):
        for event in self.events:
            with contextlib.suppress(OSError):
                write(f"{self.path}/{event}/enable", "0")

    def end(self):
        self.stop()
        with contextlib.suppress(OSError):
            os.rmdir(self.path)


class Sleeps:
    """Records when the calling thread goes to sleep and is woken, in ns of CLOCK_MONOTONIC.
    (Some kernels do not trace the idle task, so they do not show when the thread ran again.)"""

    def __init__(self):
        tid = threading.get_native_id()
        self.instance = Instance("sleeps", tid, {SWITCH: f"prev_pid == {tid}", WAKEUP: f"pid == {tid}"})

    def end(self):
        """Ends the tracing and returns the sleeps in order of time."""
        self.instance.stop()
        events = sorted((int(m[1]) * 10**9 + int(m[2]) * 1000, m[3] or "")
                        for m in map(LINE.search, self.instance.lines()) if m)
        self.instance.end()
        sleeps, since = [], None
        for at, state in events:
            if state:
                since = None if state.startswith("R") else at
            elif since:
                sleeps.append((since, at))
                since = None
        return sleeps
