# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of treework for which a cgroup matters: who ends in it, is moved, or is squeezed by it."""

import mmap
import os

from .reads import Reads, cached_pages

ENDERS = 3000
SPIN_STATES = 5


def enders(job):
    """Stand in a cgroup and end one after the other, each when it has made one read."""
    with open(job.rest[0], "w") as f:
        f.write("0")
    fd = os.open(os.path.join(job.data, job.names[0]), os.O_RDONLY)
    wait, go = os.pipe()
    for _ in range(ENDERS):
        if not os.fork():
            os.read(wait, 1)
            os.pread(fd, 1, 0)
            os._exit(0)
    with open(job.rest[1], "w") as f:
        f.write("0")
    print("ready", flush=True)
    for _ in range(ENDERS):
        os.write(go, b".")
        os.wait()
    Reads().tell(job.tally)
    return 0


def spin(job):
    """Reads one page all the time and counts for each state that it was told, in a file's byte,
    before the read; ends in the last."""
    fd = os.open(os.path.join(job.data, job.names[0]), os.O_RDONLY)
    counts = [0] * SPIN_STATES
    with open(job.rest[0], "r+b") as f, mmap.mmap(f.fileno(), 1) as told:
        print("ready", flush=True)
        while told[0] < SPIN_STATES:
            state = told[0]
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
