#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The jobs of tests/bench/defaults: deterministic programs that read files in the usual ways.

default_jobs.py make DIR           writes the files that all jobs read
default_jobs.py JOB DIR SCALE      runs a job; SCALE 1 is at least 3 s of CPU time on a slow core
default_jobs.py list               names of the jobs, one per line
Exit 77: the job cannot run here (torch is not installed).
"""

import mmap
import os
import random
import sys

PAGE = 4096
MIB = 1 << 20
SMALL_FILES, SMALL_BYTES = 1200, 176 << 10
TINY_FILES, TINY_BYTES = 2500, 16 << 10
BIG_BYTES = 512 * MIB
HOT_BYTES = 64 * MIB


def small(folder, i):
    return os.path.join(folder, "small", str(i))


def tiny(folder, i):
    return os.path.join(folder, "tiny", str(i))


def write_file(path, size, seed):
    chunk = random.Random(seed).randbytes(MIB)
    with open(path, "wb") as f:
        while size > 0:
            f.write(chunk[:min(size, MIB)])
            size -= MIB
        f.flush()
        os.fsync(f.fileno())


def make(folder):
    for name, count, size in (("small", SMALL_FILES, SMALL_BYTES), ("tiny", TINY_FILES, TINY_BYTES)):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        for i in range(count):
            with open(os.path.join(folder, name, str(i)), "wb") as f:
                f.write(random.Random(i).randbytes(PAGE) * (size // PAGE))
    write_file(os.path.join(folder, "big"), BIG_BYTES, 1)
    write_file(os.path.join(folder, "hot"), HOT_BYTES, 2)
    os.sync()


def uncached(path):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return fd


def drop(paths):
    for path in paths:
        os.close(uncached(path))


def whole(path, size=MIB):
    with open(path, "rb", buffering=0) as f:
        total = 0
        while data := f.read(size):
            total += len(data)
    return total


def compute(data):
    """The work of a decoder: CPU time without reads."""
    return sum(data[::16])


def all_small(folder):
    return [small(folder, i) for i in range(SMALL_FILES)]


def job_dataloader(folder, scale):
    try:
        import torch
        from torch.utils.data import DataLoader, Dataset
    except ImportError:
        sys.exit(77)
    torch.set_num_threads(1)
    torch.manual_seed(7)
    paths = all_small(folder)
    drop(paths)

    class Samples(Dataset):
        def __len__(self):
            return len(paths)

        def __getitem__(self, i):
            with open(paths[i], "rb") as f:
                data = torch.frombuffer(bytearray(f.read()), dtype=torch.uint8)
            return data.float().div_(255.0).mean(), i

    loader = DataLoader(Samples(), batch_size=32, shuffle=True, num_workers=2, persistent_workers=True)
    for _ in range(max(1, round(5 * scale))):
        for _ in loader:
            pass


def job_small_cold_warm(folder, scale):
    paths = all_small(folder)
    for _ in range(max(1, round(8 * scale))):
        drop(paths)
        for _ in range(2):
            for path in paths:
                with open(path, "rb") as f:
                    compute(f.read())


def job_small_epochs(folder, scale):
    paths = [tiny(folder, i) for i in range(1000)]
    drop(paths)
    for epoch in range(round(200 * scale)):
        random.Random(epoch).shuffle(paths)
        for path in paths:
            whole(path)


def random_reads(fd, size, count, seed):
    pages, r = size // PAGE, random.Random(seed)
    for _ in range(count):
        os.pread(fd, PAGE, int(r.random() * pages) * PAGE)


def job_random_cold(folder, scale):
    fd = uncached(os.path.join(folder, "big"))
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    random_reads(fd, BIG_BYTES, round(200000 * scale), 3)


def job_random_cached(folder, scale):
    path = os.path.join(folder, "hot")
    whole(path)
    random_reads(os.open(path, os.O_RDONLY), HOT_BYTES, round(2500000 * scale), 4)


def job_sequential(folder, scale):
    path = os.path.join(folder, "big")
    for _ in range(max(1, round(6 * scale))):
        drop([path])
        whole(path, 128 << 10)
        whole(path, 128 << 10)
        whole(path, 128 << 10)


def job_mapping(folder, scale):
    fd = uncached(os.path.join(folder, "big"))
    with mmap.mmap(fd, BIG_BYTES, prot=mmap.PROT_READ) as m:
        m.madvise(mmap.MADV_RANDOM)
        r, pages, total = random.Random(5), BIG_BYTES // PAGE, 0
        for _ in range(round(500000 * scale)):
            total += m[int(r.random() * pages) * PAGE]


def job_anonymous(folder, scale):
    for _ in range(round(20 * scale)):
        buffer = mmap.mmap(-1, 256 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for at in range(0, len(buffer), PAGE):
            buffer[at] = 1
        buffer.close()


def job_forks(folder, scale):
    for i in range(round(2500 * scale)):
        pid = os.fork()
        if not pid:
            data = b""
            with open(tiny(folder, i % TINY_FILES), "rb", buffering=0) as f:
                data = f.read(TINY_BYTES)
            compute(data)
            os._exit(0)
        os.waitpid(pid, 0)


def job_shuffled(folder, scale):
    """In a memory limit, set by the caller: more files than fit."""
    paths = all_small(folder)
    drop(paths)
    for epoch in range(round(12 * scale)):
        random.Random(epoch).shuffle(paths)
        for path in paths:
            with open(path, "rb") as f:
                compute(f.read())


def job_loader(folder, scale):
    """Two workers, each with half of the files, in the same limit."""
    def work(number):
        paths = all_small(folder)[number::2]
        for epoch in range(round(12 * scale)):
            random.Random(epoch).shuffle(paths)
            for path in paths:
                compute(memoryview(bytearray(open(path, "rb").read())))

    drop(all_small(folder))
    children = []
    for number in range(2):
        pid = os.fork()
        if not pid:
            work(number)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)


def job_phases(folder, scale):
    """Hot small reads, cold large ones and pure computing alternately."""
    hot = os.open(os.path.join(folder, "hot"), os.O_RDONLY)
    whole(os.path.join(folder, "hot"))
    data = random.Random(6).randbytes(MIB)
    for turn in range(max(1, round(6 * scale))):
        random_reads(hot, HOT_BYTES, 250000, turn)
        drop([os.path.join(folder, "big")])
        whole(os.path.join(folder, "big"))
        for _ in range(40):
            compute(data)


JOBS = {name[4:]: work for name, work in list(globals().items()) if name.startswith("job_")}
LIMITED = ("shuffled", "loader")


def main():
    if sys.argv[1] == "list":
        print("\n".join(JOBS))
    elif sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        JOBS[sys.argv[1]](sys.argv[2], float(sys.argv[3]))


if __name__ == "__main__":
    main()
