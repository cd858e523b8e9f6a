# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of treework with a cgroup that matters: tasks end in it, are moved, or are limited by it."""

import mmap
import os

from .reads import Reads, cached_pages

ENDERS = 1000
SPIN_STATES = 5


def enders(job):
    """Children in a cgroup that end one after the other, each after one read, the oldest first.
    Each is replaced by another one, until a file exists; then all end."""
    group, stop = job.rest
    with open(group, "w") as f:
        f.write("0")
    fd = os.open(os.path.join(job.data, job.names[0]), os.O_RDONLY)
    wait, go = os.pipe()

    def begin():
        if not os.fork():
            os.close(go)  # so that no child waits for a parent that was killed
            os.read(wait, 1)
            os.pread(fd, 1, 0)
            os._exit(0)

    def end():
        os.write(go, b".")
        os.wait()

    for _ in range(ENDERS):
        begin()
    ended = 0
    while not os.path.exists(stop):
        begin()
        end()
        ended += 1
        if ended == 1:
            print("ready", flush=True)
    for _ in range(ENDERS):
        end()
    Reads().tell(job.tally, ended=ended + ENDERS)
    return 0


def spin(job):
    """Reads one page all the time, and counts the reads for each state, which is a byte of a
    file checked before each read; ends in the last state."""
    fd = os.open(os.path.join(job.data, job.names[0]), os.O_RDONLY)
    counts = [0] * SPIN_STATES
    with open(job.rest[0], "r+b") as f, mmap.mmap(f.fileno(), 1) as told:
        print("ready", flush=True)
        while (state := told[0]) < SPIN_STATES:
            os.pread(fd, 1, 0)
            counts[state] += 1
    Reads().tell(job.tally, counts=counts)
    return 0


def squeezed(job):
    """Reads a file larger than the limit of its memory cgroup; reports its cached pages."""
    path, cached, group = job.rest
    with open(os.path.join(group, "cgroup.procs"), "w") as f:
        f.write("0")
    reads = Reads()
    for _ in range(2):
        reads.path(path, 1 << 16)
    with open(cached, "rb") as f:
        reads.tell(job.tally, cached=cached_pages(f.fileno()))
    return 0
