# SPDX-License-Identifier: BSD-2-Clause
"""The load of endurance_guest.py: processes in a cgroup that read, map, write and advise, and know how
often they read. endurance_load.py DIR is the job that goes from CPU to CPU."""

import ctypes
import json
import mmap
import os
import subprocess
import sys
import time

PAGE, BLOCK = 4096, 16384
# Pages of each: more than the cgroup may have.
FILES = {"data": 32768, "mapped": 8192, "advised": 8192, "child": 256, "cpu": 2048}
MEMORY_MAX = 128 << 20
IMAGE_BYTES = 320 << 20
ON_EACH_CPU = 1000
PAUSE_S = 0.02
LIBC = ctypes.CDLL(None)


def fill(path, pages):
    with open(path, "wb") as f:
        for _ in range(0, pages, 256):
            f.write(b"\1" * (256 * PAGE))
        os.fsync(f.fileno())


def make_files(directory):
    for name, pages in FILES.items():
        fill(os.path.join(directory, name), pages)
    image, place = os.path.join(directory, "image"), os.path.join(directory, "mount")
    os.mkdir(place)
    with open(image, "wb") as f:
        f.truncate(IMAGE_BYTES)
    for argv in (["mkfs.xfs", "-q", image], ["mount", "-o", "loop", image, place]):
        subprocess.run(argv, check=True)
    fill(os.path.join(place, "data"), 256)
    for argv in (["umount", place], ["modprobe", "-r", "xfs"]):
        subprocess.run(argv, check=True)


class Counted:
    """A file whose reads are counted by who makes them. None is of nothing: what begins at the end of
    a file is not looked up."""

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


def reading(directory, stop):
    file, at = Counted(os.path.join(directory, "data")), 0
    while not stop():
        for _ in range(64):
            file.pread(BLOCK, at)
            at = (at + BLOCK) % file.size
        for nr in range(16):
            file.pread(PAGE, (at * 7 + nr * 1234567) % file.size // PAGE * PAGE)
        time.sleep(PAUSE_S)
    return {"data": (file.calls, file.bytes)}


def mapping(directory, stop):
    with open(os.path.join(directory, "mapped"), "rb") as f:
        while not stop():
            with mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
                for page in range(0, FILES["mapped"], 5):
                    if m[page * PAGE] != 1:
                        raise OSError("not what was written")
            time.sleep(PAUSE_S)
    return {}


def writing(directory, stop):
    path = os.path.join(directory, "written")
    while not stop():
        fill(path, 512)
        os.truncate(path, 100 * PAGE)
        time.sleep(PAUSE_S)
    return {}


def advising(directory, stop):
    file, at = Counted(os.path.join(directory, "advised")), 0
    while not stop():
        at = (at + 64 * BLOCK) % file.size
        os.posix_fadvise(file.fd, at, 64 * BLOCK, os.POSIX_FADV_WILLNEED)
        for nr in range(32):
            file.pread(BLOCK, at + nr * BLOCK)
        os.posix_fadvise(file.fd, at, 64 * BLOCK, os.POSIX_FADV_DONTNEED)
        time.sleep(PAUSE_S)
    return {"advised": (file.calls, file.bytes)}


class Load:
    """Owns the cgroup."""

    def __init__(self, directory, cgroup):
        self.dir, self.cgroup = directory, cgroup
        self.pids = []
        self.reads = {}  # what once() read
        os.mkdir(cgroup)
        with open(os.path.join(cgroup, "memory.max"), "w", encoding="ascii") as f:
            f.write(str(MEMORY_MAX))

    def fork(self, cgroup, work):
        """A process that works in the cgroup from its first read on."""
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            with open(os.path.join(cgroup, "cgroup.procs"), "w", encoding="ascii") as f:
                f.write("0")
            work()
            status = 0
        finally:
            os._exit(status)

    def once(self, name, path, cgroup=None):
        """Reads a file to its end, once more."""
        pid = self.fork(cgroup or self.cgroup, lambda: Counted(path).whole())
        if os.waitpid(pid, 0)[1]:
            raise OSError(f"reading {path} failed")
        calls, size = self.reads.get(path, (0, 0))
        self.reads[path] = (calls + os.path.getsize(path) // BLOCK,
                            size + os.path.getsize(path))

    def place(self, name):
        return os.path.join(self.dir, "load." + name)

    def start(self):
        self.reads = {}
        for work in (reading, mapping, writing, advising):
            self.pids.append(self.fork(self.cgroup, lambda work=work: self.run(work)))

    def run(self, work):
        read = work(self.dir, lambda: os.path.exists(self.place("stop")))
        with open(self.place(work.__name__), "w", encoding="ascii") as f:
            json.dump(read, f)

    def stop(self):
        with open(self.place("stop"), "w", encoding="ascii"):
            pass
        for pid in self.pids:
            if os.waitpid(pid, 0)[1]:
                raise OSError("a process of the load failed")

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
    """Half of the reads on a CPU that was not there when the run began, the rest when it is gone."""
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
    # These are there: hits.
    for page in range(ON_EACH_CPU):
        if LIBC.sched_getcpu() != 0:
            raise OSError("the CPU is still there")
        file.pread(PAGE, page * PAGE)
    make_step(directory, 5, json.dumps({
        "read_calls": file.calls, "read_bytes": file.bytes, "lookups": file.calls,
        "misses": ON_EACH_CPU, "demand_pages": ON_EACH_CPU}))


if __name__ == "__main__":
    read_on_other_cpu(sys.argv[1])
