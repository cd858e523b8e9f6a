# SPDX-License-Identifier: BSD-2-Clause
"""The load of endurance_core.py: processes in a cgroup that read, map, write and advise, and
count their reads. endurance_load.py DIR is the job that moves from CPU to CPU."""

import ctypes
import json
import mmap
import os
import signal
import sys
import time

PAGE, BLOCK = 4096, 16384
# Pages per file: together more than the cgroup's limit.
FILES = {"data": 32768, "mapped": 8192, "advised": 8192, "child": 256, "cpu": 2048}
MEMORY_MAX = 128 << 20
ON_EACH_CPU = 1000
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def fill(path, pages):
    with open(path, "wb") as f:
        for _ in range(0, pages, 256):
            f.write(b"\1" * (256 * PAGE))
        os.fsync(f.fileno())


def make_files(directory):
    for name, pages in FILES.items():
        fill(os.path.join(directory, name), pages)


class Counted:
    """A file whose readers count its reads. A read at the end of a file looks up nothing, and
    returns None."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self.fd).st_size
        self.calls = self.bytes = 0

    def pread(self, size, at):
        got = len(os.pread(self.fd, size, at))
        self.calls += 1
        self.bytes += got
        return got

    def whole(self):
        for at in range(0, self.size, BLOCK):
            self.pread(BLOCK, at)


def reading(directory, stop, pause_s):
    file, at = Counted(os.path.join(directory, "data")), 0
    while not stop():
        for _ in range(64):
            file.pread(BLOCK, at)
            at = (at + BLOCK) % file.size
        for nr in range(16):
            file.pread(PAGE, (at * 7 + nr * 1234567) % file.size // PAGE * PAGE)
        time.sleep(pause_s)
    return {"data": (file.calls, file.bytes)}


def mapping(directory, stop, pause_s):
    with open(os.path.join(directory, "mapped"), "rb") as f:
        while not stop():
            with mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
                for page in range(0, FILES["mapped"], 5):
                    if m[page * PAGE] != 1:
                        raise OSError("not what was written")
            time.sleep(pause_s)
    return {}


def writing(directory, stop, pause_s):
    path = os.path.join(directory, "written")
    while not stop():
        fill(path, 512)
        os.truncate(path, 100 * PAGE)
        time.sleep(pause_s)
    return {}


def advising(directory, stop, pause_s):
    file, at = Counted(os.path.join(directory, "advised")), 0
    while not stop():
        at = (at + 64 * BLOCK) % file.size
        os.posix_fadvise(file.fd, at, 64 * BLOCK, os.POSIX_FADV_WILLNEED)
        for nr in range(32):
            file.pread(BLOCK, at + nr * BLOCK)
        os.posix_fadvise(file.fd, at, 64 * BLOCK, os.POSIX_FADV_DONTNEED)
        time.sleep(pause_s)
    return {"advised": (file.calls, file.bytes)}


class Load:
    """Works in its own cgroup, whose memory can be limited."""

    def __init__(self, directory, cgroup, pause_s):
        """pause_s: how long each of its processes pauses."""
        self.dir, self.cgroup, self.pause_s = directory, cgroup, pause_s
        self.pids = []
        self.reads = {}  # the reads of once()
        self.limit(MEMORY_MAX)

    def limit(self, size):
        names = ("memory.max", "memory.limit_in_bytes")
        paths = [os.path.join(self.cgroup, name) for name in names]
        with open(next(filter(os.path.exists, paths)), "w", encoding="ascii") as f:
            f.write(str(size))

    def cached_pages(self):
        """As charged by the kernel to the cgroup and those below it."""
        with open(os.path.join(self.cgroup, "memory.stat"), encoding="ascii") as f:
            stat = dict(line.split() for line in f)
        return int(stat["total_cache"] if "total_cache" in stat else stat["file"]) // PAGE

    def fork(self, cgroups, work):
        """A process that works in the cgroups from its first read."""
        parent, pid = os.getpid(), os.fork()
        if pid:
            return pid
        status = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                raise OSError("nobody is left to work for")
            for cgroup in cgroups:
                with open(os.path.join(cgroup, "cgroup.procs"), "w", encoding="ascii") as f:
                    f.write("0")
            work()
            status = 0
        finally:
            os._exit(status)

    def do(self, work, *cgroups):
        pid = self.fork(cgroups or [self.cgroup], work)
        if os.waitpid(pid, 0)[1]:
            raise OSError("a process of the load failed")

    def once(self, path, *cgroups):
        """Reads a file to its end once more."""
        self.do(lambda: Counted(path).whole(), *cgroups)
        calls, size = self.reads.get(path, (0, 0))
        self.reads[path] = (calls + os.path.getsize(path) // BLOCK,
                            size + os.path.getsize(path))

    def place(self, name):
        return os.path.join(self.dir, "load." + name)

    def empty(self):
        """Drops cached pages of it."""
        for name in FILES:
            fd = os.open(os.path.join(self.dir, name), os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)

    def start(self):
        self.reads = {}
        for work in (reading, mapping, writing, advising):
            self.pids.append(self.fork([self.cgroup], lambda work=work: self.run(work)))

    def run(self, work):
        read = work(self.dir, lambda: os.path.exists(self.place("stop")), self.pause_s)
        with open(self.place(work.__name__), "w", encoding="ascii") as f:
            json.dump(read, f)

    def stop(self):
        with open(self.place("stop"), "w", encoding="ascii"):
            pass
        while self.pids:
            if os.waitpid(self.pids.pop(), 0)[1]:
                raise OSError("a process of the load failed")

    def kill(self):
        """The reads of a process that was not stopped are not known."""
        while self.pids:
            os.kill(self.pids[-1], signal.SIGKILL)
            os.waitpid(self.pids.pop(), 0)

    def total(self):
        total = dict(self.reads)
        for work in (reading, advising):
            with open(self.place(work.__name__), encoding="ascii") as f:
                for name, counts in json.load(f).items():
                    total[os.path.join(self.dir, name)] = tuple(counts)
        return total


def wait_step(directory, nr):
    while not os.path.exists(os.path.join(directory, f"step{nr}")):
        time.sleep(0.01)


def make_step(directory, nr, text=""):
    path = os.path.join(directory, f"step{nr}")
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write(text)
    os.rename(path + ".new", path)


def read_on_other_cpu(directory):
    """Half of the reads on a CPU that did not exist when the run began, the rest when it is
    gone."""
    file = Counted(os.path.join(directory, "cpu"))
    os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_RANDOM)
    make_step(directory, 1)
    wait_step(directory, 2)
    os.sched_setaffinity(0, {1})
    for page in range(ON_EACH_CPU):
        if LIBC.sched_getcpu() != 1:
            raise OSError("not on the CPU")
        file.pread(PAGE, page * PAGE)
    make_step(directory, 3)
    wait_step(directory, 4)
    # These are cached: hits.
    for page in range(ON_EACH_CPU):
        if LIBC.sched_getcpu() != 0:
            raise OSError("the CPU is still there")
        file.pread(PAGE, page * PAGE)
    make_step(directory, 5, json.dumps({
        "read_calls": file.calls, "read_bytes": file.bytes, "lookups": file.calls,
        "misses": ON_EACH_CPU, "demand_pages": ON_EACH_CPU}))


if __name__ == "__main__":
    read_on_other_cpu(sys.argv[1])
