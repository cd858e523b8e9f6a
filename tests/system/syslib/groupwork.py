# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of treework for which a cgroup matters: who ends in it, is moved, or is squeezed by it."""

import mmap
import os

from .reads import Reads, cached_pages

ENDERS = 1000
SPIN_STATES = 5


def enders(job):
    """Children in a cgroup that end one after the other, each when it has made one read, the oldest
    first. For each that has ended another comes, until there is a file; then all end."""
    group, stop = job.rest
    with open(group, "w") as f:
        f.write("0")
    fd = os.open(os.path.join(job.data, job.names[0]), os.O_RDONLY)
    wait, go = os.pipe()

    def begin():
        if not os.fork():
            os.close(go)  # nobody waits for a parent that was killed
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
    """Reads one page all the time and counts for each state that it was told, in a file's byte,
    before the read; ends in the last."""
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
    """Reads a file that is larger than its memory cgroup may be; tells what of it is cached."""
    path, cached, group = job.rest
    with open(os.path.join(group, "cgroup.procs"), "w") as f:
        f.write("0")
    reads = Reads()
    for _ in range(2):
        reads.path(path, 1 << 16)
    with open(cached, "rb") as f:
        reads.tell(job.tally, cached=cached_pages(f.fileno()))
    return 0
