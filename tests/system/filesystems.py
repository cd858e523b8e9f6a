#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What is seen of each filesystem, compared with cachestat(2) and the reader's own count, and
whether the cover that doctor and the report print was measured."""

import errno
import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine, reader, reads, tracefs  # noqa: E402
from syslib.fscase import (BYTES, FIGURES, PAGES, Reader, World, adds_up,  # noqa: E402
                           against_the_kernel, asynchronous_is_counted, cached_is_exact,
                           direct_is_counted, every_direct_read, fill, is_covered, measured,
                           mount_entry, past_the_hooks, split_as_the_cache_says)
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE  # noqa: E402

ME = os.path.abspath(__file__)

part = Part(__doc__)

TMPFS_MB = 512
LEFT = re.compile(r" (\d+)\.(\d{6}): .* order=(\d+)")


def disk(world, stack, kind, options=()):
    if not shutil.which(f"mkfs.{kind}"):
        raise Skipped(f"no mkfs.{kind}")
    with open("/proc/filesystems", encoding="ascii") as f:
        if kind not in f.read().split():
            raise Skipped(f"this kernel has no {kind}")
    mount = world.place(kind)
    machine.filesystem(stack, kind, world.place(f"{kind}.img"), mount, 512 << 20, options)
    return mount


def on_disk(world, stack, kind):
    mount = disk(world, stack, kind)
    path = fill(f"{mount}/data")
    is_covered(world, path, kind, "exact")
    is_covered(world, mount, kind, "exact")
    entry, _ = cached_is_exact(world, stack, path, mount, kind, "exact")
    equal("device by doctor", world.doctor(path)["dev"], entry["dev"])
    said = every_direct_read(world, stack, path)
    equal("crooked direct reads", said, PAGE if kind == "btrfs" else -errno.EINVAL)
    return mount


@part.case
def ext4_is_exact(world, stack):
    on_disk(world, stack, "ext4")


@part.case
def xfs_is_exact(world, stack):
    on_disk(world, stack, "xfs")


@part.case
def btrfs_is_exact(world, stack):
    mount = on_disk(world, stack, "btrfs")
    # Compressed files can be read only through the cache.
    machine.run("mount", "-o", "remount,compress-force=zstd", mount)
    packed = fill(f"{mount}/packed", byte=b"x")
    equal("bytes through the cache", split_as_the_cache_says(world, stack, packed), BYTES)


def drop(path):
    with open(path, "rb") as f:
        reads.drop(f.fileno())


def subvolumes(world, stack):
    """A file, its snapshot, which has the same inode number and generation, and another file."""
    mount = disk(world, stack, "btrfs")
    machine.run("btrfs", "subvolume", "create", f"{mount}/a")
    fill(f"{mount}/a/data")
    machine.run("btrfs", "subvolume", "snapshot", f"{mount}/a", f"{mount}/b")
    os.mkdir(f"{mount}/dir")
    fill(f"{mount}/dir/data")
    paths = [f"{mount}/{name}/data" for name in ("a", "b", "dir")]
    equal("inode numbers", os.stat(paths[0]).st_ino, os.stat(paths[1]).st_ino)
    check(os.stat(paths[0]).st_dev != os.stat(paths[1]).st_dev, "the snapshot has a's device")
    for path in paths:
        drop(path)
    return mount, paths


def work_subvolumes(*paths):
    """Reads each file, drops the first one, and reads that again; reports what the kernel had of
    each."""
    told = {path: {"lookups": 0, "brought": 0, "refaults": 0} for path in paths}

    def read(path):
        with open(path, "rb", buffering=0) as f:
            before = reads.cached_pages(f.fileno())
            while f.read(16 * PAGE):
                told[path]["lookups"] += 16
            told[path]["brought"] += reads.cached_pages(f.fileno()) - before

    for path in paths:
        read(path)
    drop(paths[0])
    for path in paths:
        read(path)
    told[paths[0]]["refaults"] = told[paths[0]]["brought"] // 2
    print(json.dumps(told))


@part.case
def btrfs_snapshots_are_files_of_their_own(world, stack):
    mount, paths = subvolumes(world, stack)
    watch = world.tool.watch(stack, ["--level", "full"], [sys.executable, ME, "--work",
                                                          "subvolumes", *paths])
    _, job, out = watch.end()
    told = json.loads(out.splitlines()[0])
    for path in paths:
        st = os.stat(path)
        name = os.path.relpath(path, mount)
        found = [f for f in job["files"] if f["path"] == path]
        equal(f"rows of {name}", len(found), 1)
        equal(f"device of {name}", found[0]["dev"], f"{os.major(st.st_dev)}:{os.minor(st.st_dev)}")
        equal(f"inode of {name}", found[0]["ino"], st.st_ino)
        t = found[0]["totals"]
        equal(f"lookups of {name}", t["lookups"], told[path]["lookups"])
        equal(f"pages brought of {name}", t["demand_pages"] + t["prefetched_pages"],
              told[path]["brought"])
        equal(f"refaults of {name}", t["refaults"], told[path]["refaults"])
        equal(f"fates of {name}", t["prefetch"]["fate"]["used"] +
              t["prefetch"]["fate"]["used_late"], t["prefetched_pages"])
        equal(f"doctor's device of {name}", world.doctor(path)["dev"], found[0]["dev"])
    adds_up(job)
    # Blocks of metadata have the device of the whole filesystem.
    entries = [f for f in job["filesystems"] if f["mount"] == mount]
    equal("filesystems with reads: one a subvolume",
          [f["files"] for f in entries if f["totals"]["lookups"]], [1, 1, 1])
    equal("cover", {f["seen"] for f in entries}, {"exact"})


@part.case
def asynchronous_direct_reads_are_exact(world, stack):
    # btrfs and xfs queue I/O with the same code.
    mount = disk(world, stack, "ext4")
    for engine in "libaio", "io_uring":
        asynchronous_is_counted(world, stack, f"{mount}/{engine}", engine)
    if world.has("direct_block"):
        device = machine.loop(stack, fill(world.place("queue.img")))
        for engine in "libaio", "io_uring":
            asynchronous_is_counted(world, stack, device, engine)


def work_past_the_cache(path):
    """Reads of a device with all sizes and kinds of calls, some in parts, some at its end."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    size = os.lseek(fd, 0, os.SEEK_END)
    buffer = mmap.mmap(-1, 6 << 20)
    view = memoryview(buffer)
    told = {"calls": 0, "bytes": 0}

    def note(got):
        told["calls"] += got > 0
        told["bytes"] += got

    for length in (512, PAGE, 65536, 1 << 20, (1 << 20) + PAGE, 3 << 20, 6 << 20):
        for at in (0, PAGE, size - PAGE, size):
            note(os.preadv(fd, [view[:length]], at))
        note(os.preadv(fd, [view[i:i + PAGE] for i in range(0, min(length, 40 * PAGE), 2 * PAGE)], 512))
        os.lseek(fd, 1 << 20, os.SEEK_SET)
        note(os.readv(fd, [view[:length]]))
    print(json.dumps(told))


@part.case
def direct_reads_of_a_device_are_exact_in_all_sizes(world, stack):
    device = machine.loop(stack, fill(world.place("sizes.img"), 16 << 20))
    if not world.has("direct_block"):
        raise Skipped("direct reads of block devices are not seen here")
    for level in ["--level", "full"], []:
        watch = world.tool.watch(stack, level, [sys.executable, ME, "--work", "past_the_cache", device])
        _, job, out = watch.end()
        told = json.loads(out.splitlines()[0])
        rows = [f for f in job["files"] if f["path"] == device]
        equal("rows of the device", len(rows), 1)
        for t in job["totals"], rows[0]["totals"]:
            equal(f"direct bytes {level}", t["direct_read_bytes"], told["bytes"])
            equal(f"direct calls {level}", t["direct_read_calls"], told["calls"])
        equal("warning", job["reads_check"]["warning"], None)


@part.case
def what_a_filesystem_reads_for_itself_is_no_direct_read(world, stack):
    """A job that mounts: xfs reads its log and waits for each read, like direct reads of a
    device."""
    mount = disk(world, stack, "xfs")
    device = subprocess.run(["findmnt", "-n", "-o", "SOURCE", mount], capture_output=True, text=True,
                            check=True).stdout.strip()
    machine.run("umount", mount)
    watch = world.tool.watch(stack, ["--level", "full"],
                             ["sh", "-c", f"mount {device} {mount} && cat {device} >/dev/null && "
                                          f"umount {mount} && mount {device} {mount}"])
    job = watch.end()[1]
    equal("direct bytes", job["totals"]["direct_read_bytes"], 0)
    equal("direct calls", job["totals"]["direct_read_calls"], 0)


@part.case
def overlay_is_its_layer(world, stack):
    mount = disk(world, stack, "ext4")
    lower, upper, work, merged = (f"{mount}/{n}" for n in ("lo,w:er", "upper", "work", "merged"))
    for place in (lower, upper, work, merged):
        os.mkdir(place)
    fill(f"{lower}/data")
    lowerdir = lower.replace(":", "\\:").replace(",", "\\,")
    machine.mount(stack, "-t", "overlay", "-o",
                  f"lowerdir={lowerdir},upperdir={upper},workdir={work}", "overlay", merged)
    is_covered(world, merged, "overlay", "exact", "layers (ext4)")
    cached_is_exact(world, stack, f"{merged}/data\t{lower}/data", mount, "ext4", "exact")
    # An invisible layer lowers the cover.
    hidden = world.place("hidden")
    machine.mount(stack, "-t", "tmpfs", "none", hidden)
    both = world.place("both")
    machine.mount(stack, "-t", "overlay", "-o", f"lowerdir={hidden}:{upper}", "overlay", both)
    is_covered(world, both, "overlay", "cache-bypassed", "tmpfs")


@part.case
def tmpfs_is_outside(world, stack):
    mount = machine.mount(stack, "-t", "tmpfs", "none", world.place("tmpfs"))
    path = fill(f"{mount}/data")
    is_covered(world, path, "tmpfs", "cache-bypassed", "memory")
    past_the_hooks(world, stack, "cached", path)


def evicted(job):
    return sum(n or 0 for n in job["totals"]["evicted_pages"].values())


def work_evictions(path, kept):
    """Reads and drops a file of a disk, and empties one in memory; reports the pages of the first one
    that left the cache, and when this began and ended."""
    began = time.monotonic_ns()
    with open(kept, "rb", 0) as f:
        f.read()
        cached = reads.cached_pages(f.fileno())
        reads.drop(f.fileno())
    os.truncate(path, 0)
    print(json.dumps({"began": began, "ended": time.monotonic_ns(), "left": cached}))


@part.case
def pages_of_tmpfs_are_never_evicted(world, stack):
    """The oracle is the kernel's tracepoint: pages of all other filesystems that left the cache.
    Pages may leave while the watch begins and ends. If none do, both bounds of the others' are the
    same."""
    mount = machine.mount(stack, "-t", "tmpfs", "none", world.place("tmpfs_gone"))
    kept = fill(world.place("kept"))
    drop(kept)
    device = os.stat(mount).st_dev
    number = os.major(device) << 20 | os.minor(device)
    elsewhere = tracefs.Instance("elsewhere", os.getpid(), {tracefs.DELETE: f"s_dev != {number}"})
    stack.callback(elsewhere.end)
    with open(f"{mount}/data", "wb") as f:
        f.write(bytes(TMPFS_MB << 20))
    watch = world.tool.watch(stack, ["--level", "full"], [sys.executable, ME, "--work", "evictions", f"{mount}/data",
                                                          kept])
    report, job, out = watch.end()
    told = json.loads(out.splitlines()[0])
    left = [(int(m[1]) * 10**9 + int(m[2]) * 1000, 1 << int(m[3])) for m in map(LEFT.search, elsewhere.lines()) if m]
    equal("pages read", told["left"], PAGES)
    file, = (f for f in job["files"] if f["path"] == kept)
    equal("evicted pages of the job's file", {k: v for k, v in file["totals"]["evicted_pages"].items() if v},
          {"dontneed": told["left"]})
    both = evicted(job) + evicted(next(j for j in report["jobs"] if j["name"] == "(others)"))
    least = sum(pages for at, pages in left if told["began"] <= at <= told["ended"])
    most = sum(pages for _, pages in left)
    check(least <= both <= most, f"{both} evicted pages, but {least} to {most} left the cache elsewhere")


TOUCH = """
import mmap, sys
with open(sys.argv[1], "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
    sum(m[at] for at in range(0, len(m), 4096))
"""


@part.case
def faults_of_tmpfs_are_not_counted(world, stack):
    """The same program on a file of a disk shows that its faults would be seen."""
    def faults(path):
        watch = world.tool.watch(stack, ["--level", "full"], [sys.executable, "-c", TOUCH, path])
        watch.finish()
        equal("status", watch.process.returncode, 0)
        files = [f for f in world.tool.report(watch.db)[1]["files"] if f["path"] == path]
        return sum(sum(f["totals"]["faults"].values()) for f in files)

    mount = machine.mount(stack, "-t", "tmpfs", "none", world.place("tmpfs_mapped"))
    check(faults(fill(world.place("mapped"))), "faults of a file on a disk")
    equal("faults of the file in memory", faults(fill(f"{mount}/data")), 0)


@part.case
def device_is_exact_but_for_direct_reads_that_nothing_shows(world, stack):
    image = fill(world.place("device.img"))
    device = machine.loop(stack, image)
    hooked = world.has("direct_block")
    cover = "exact" if hooked else "partly"
    is_covered(world, device, "block device", cover, "direct reads" if hooked else "O_DIRECT")
    told, job = measured(world, stack, "cached", device)
    adds_up(job)
    entry = [f for f in job["filesystems"] if f["type"] == "block device"][0]
    for name in FIGURES:
        equal(f"{name} of the device", entry["totals"][name], told[name])
    equal("cover in the report", entry["seen"], cover)
    if hooked:
        every_direct_read(world, stack, device)
    else:
        past_the_hooks(world, stack, "direct", device)


def fuse(world, stack, how):
    if not os.path.exists("/dev/fuse"):
        raise Skipped("no /dev/fuse")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True,
                           text=True)
    if flags.returncode:
        raise Skipped("no libfuse3-dev")
    program = reader.build(world.work, "fusefs", "-Wl,--no-as-needed", *flags.stdout.split())
    mount = tempfile.mkdtemp(prefix="fuse-", dir=world.work)
    server = subprocess.Popen([program, how, fill(f"{mount}.back"), mount],
                              stdout=subprocess.PIPE, text=True)
    stack.callback(server.wait)
    stack.callback(machine.unmount, mount)
    equal("the FUSE server", server.stdout.readline(), "ready\n")
    return mount


@part.case
def fuse_is_exact_where_it_caches(world, stack):
    mount = fuse(world, stack, "cached")
    hooked = world.has("direct_fuse")
    cover = "exact" if hooked else "partly"
    is_covered(world, mount, "fuse.fusefs", cover, "direct")
    equal("trial", is_covered(world, f"{mount}/data", "fuse.fusefs", cover)["trial_cached"], True)
    cached_is_exact(world, stack, f"{mount}/data", mount, "fuse.fusefs", cover)
    if hooked:
        every_direct_read(world, stack, f"{mount}/data")
    else:
        past_the_hooks(world, stack, "direct", f"{mount}/data")


@part.case
def fuse_with_direct_io_is_outside_of_the_cache(world, stack):
    mount = fuse(world, stack, "direct")
    hooked = world.has("direct_fuse")
    is_covered(world, mount, "fuse.fusefs", "exact" if hooked else "partly", "direct")
    fs = is_covered(world, f"{mount}/data", "fuse.fusefs", "cache-bypassed", "test: a read of this file")
    equal("trial", fs["trial_cached"], False)
    if hooked:
        direct_is_counted(world, stack, f"{mount}/data")
        # Reads as if the file were cached, like a program that does not know the difference.
        told, job = measured(world, stack, "cached", f"{mount}/data")
        equal("direct bytes", job["totals"]["direct_read_bytes"], told["read_bytes"])
        equal("lookups", job["totals"]["lookups"], 0)
    else:
        told = past_the_hooks(world, stack, "cached", f"{mount}/data")
    equal("pages in the cache", told["after"], 0)


@part.case
def fuse_drops_the_cache_at_open_without_keep_cache(world, stack):
    """Each open evicts what the previous one read, without O_DIRECT."""
    path = f"{fuse(world, stack, 'cached')}/data"
    process = Reader(world, stack)
    process.read("cached", path)
    watch = world.tool.watch(stack, ["--level", "full", "--interval", "200ms", "--pid",
                                     str(process.process.pid)])
    watch.wait_started()
    told = [process.read("cached", path) for _ in range(3)]
    watch.interrupt()
    job = watch.end()[1]
    equal("pages in the cache at each open", [t["before"] for t in told], [0] * 3)
    # Pages that were cached before the run do not count.
    dropped = sum(t["after"] for t in told[:-1])
    evicted = {k: v for k, v in job["totals"]["evicted_pages"].items() if v}
    equal("evictions", evicted, {"invalidate": dropped})
    equal("refaults", job["totals"]["refaults"], dropped)
    said = json.loads(world.tool.run("advise", "--db", watch.db, "--format", "json"))
    found = [f for j in said["jobs"] for f in j["findings"] if f["id"] == "fuse-drops-cache"]
    equal("findings", len(found), 1)
    check("keep_cache" in world.tool.run("explain", "fuse-drops-cache"), "no keep_cache in its note")


def own_reads():
    """Bytes and calls of all reads of this process by the kernel, with the one that says so."""
    fd = os.open("/proc/self/io", os.O_RDONLY)
    text = os.read(fd, PAGE)
    counts = dict(line.split(": ") for line in text.decode().splitlines())
    return int(counts["rchar"]) + len(text), int(counts["syscr"]) + 1


def work_whole_files(*paths):
    """Reads each file to its end; requested pages that the kernel does not have are misses."""
    told = dict.fromkeys(FIGURES, 0)
    for path in paths:
        with open(path, "rb", buffering=0) as f:
            size = os.fstat(f.fileno()).st_size
            for at in range(0, size, 128 << 10):
                pages = -(-min(128 << 10, size - at) // PAGE)
                told["lookups"] += pages
                told["misses"] += pages - reads.cached_pages(f.fileno(), at // PAGE, pages)
                told["read_bytes"] += len(f.read(128 << 10))
                told["read_calls"] += 1
    told["own_reads"] = own_reads()
    print(json.dumps(told))


def work_by_all_ways(*paths):
    """Reads each file with another kind of call, then all of them again from the cache."""
    def mapped(fd):
        with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as m:
            return m[0]

    ways = (lambda fd: os.read(fd, PAGE), lambda fd: os.pread(fd, 3, 2),
            lambda fd: os.preadv(fd, [bytearray(2), bytearray(PAGE)], 0),
            lambda fd: os.sendfile(null, fd, 0, PAGE), mapped)
    told = {"lookups": 0, "misses": 0, "major": 0, "brought": 0}
    null = os.open("/dev/null", os.O_WRONLY)
    for n, path in enumerate(paths * 2):
        way = ways[n % len(paths) % len(ways)]
        fd = os.open(path, os.O_RDONLY)
        absent = 1 - reads.cached_pages(fd)
        way(fd)
        told["brought"] += reads.cached_pages(fd) - 1 + absent
        told["lookups"] += way is not mapped
        told["major" if way is mapped else "misses"] += absent
        os.close(fd)
    print(json.dumps(told))


@part.case
def inline_data_is_read_once(world, stack):
    """Readahead adds a page to the cache, finds the data in the inode and removes the page
    again; then the read adds it once more."""
    mount = disk(world, stack, "ext4", ("-O", "inline_data", "-I", "256"))
    paths = [fill(f"{mount}/{n}", 20 + n) for n in range(15)]
    for level in ["--level", "full"], []:
        for path in paths:
            drop(path)
        watch = world.tool.watch(stack, level, [sys.executable, ME, "--work", "by_all_ways",
                                                *paths])
        _, job, out = watch.end()
        told = json.loads(out.splitlines()[0])
        equal("misses by the kernel", told["misses"] + told["major"], len(paths))
        t = mount_entry(job, mount)["totals"]
        for name in ("lookups", "misses"):
            equal(f"{name} {level}", t[name], told[name])
        equal(f"hits {level}", t["hits"], told["lookups"] - told["misses"])
        equal(f"major faults {level}", t["faults"]["major"], told["major"])
        equal(f"pages brought {level}", t["demand_pages"] + t["prefetched_pages"],
              told["brought"])
        equal(f"evictions {level}", sum(t["evicted_pages"].values()), 0)
        equal(f"refaults {level}", t["refaults"], 0)
        equal(f"law {level}", job["law_error_pages"], 0)
        equal(f"windows {level}", sum(2 ** i * n for i, n in enumerate(
            t["windows"]["size_pages_log2"])), told["brought"])


@part.case
def squashfs_is_exact_or_says_what_it_lost(world, stack):
    """All kinds of sizes: the blocks beyond the end of a file may or may not be cached."""
    if not shutil.which("mksquashfs"):
        raise Skipped("no mksquashfs")
    source, image = world.place("source"), world.place("image.sqsh")
    os.mkdir(source)
    sizes = [20000 + 37 * n for n in range(40)] + [4096, 8192, 131072, 100, 1234567]
    names = [os.path.basename(fill(f"{source}/{n}", size)) for n, size in enumerate(sizes)]
    machine.run("mksquashfs", source, image, "-comp", "gzip", "-quiet", "-no-progress")
    mount = machine.mount(stack, "-o", "loop,ro", image, world.place("squash"))
    paths = [f"{mount}/{name}" for name in names]
    fs = world.doctor(mount)
    exact = fs["seen"] == "exact"
    for state in "cold", "warm":
        watch = world.tool.watch(stack, ["--level", "full"], [sys.executable, ME, "--work",
                                                              "whole_files", *paths])
        report, job, out = watch.end()
        told = json.loads(out.splitlines()[0])
        entry = mount_entry(job, mount)
        adds_up(job)
        equal(f"misses, {state}", entry["totals"]["misses"], told["misses"])
        for name in ("read_calls", "read_bytes", "lookups"):
            for of in entry["totals"], job["totals"]:
                equal(f"{name} is marked, {state}", of.get(f"{name}_lower_bound", False), not exact)
            seen = entry["totals"][name]
            # Without the hook, calls of blocks beyond the end of a file leave no event: how many do
            # is only in the kernel's code.
            check(seen == told[name] or (seen < told[name] and not exact),
                  f"{name}, {state}: {seen} of {told[name]}")
        against_the_kernel(job, *told["own_reads"])
        ratio = 1 - told["misses"] / told["lookups"]
        check(abs(entry["totals"]["hit_ratio"] - ratio) < 1e-9 if exact
              else entry["totals"]["hit_ratio"] <= ratio + 1e-9, f"hit ratio, {state}")
        equal("reason", [b["figures"] for b in report["run"]["lower_bounds"]],
              [] if exact else ["reads"])
        fates = entry["totals"]["prefetch"]["fate"]
        # Pages used by a call that left no event are not wasted.
        check(exact or fates["untracked"] == entry["totals"]["prefetched_pages"], f"fates: {fates}")
        print(f"        {state}: {entry['totals']['read_calls']} of {told['read_calls']} calls, "
              f"{entry['totals']['lookups']} of {told['lookups']} lookups", flush=True)


def main():
    works = {"evictions": work_evictions, "subvolumes": work_subvolumes, "whole_files": work_whole_files,
             "by_all_ways": work_by_all_ways, "past_the_cache": work_past_the_cache}
    if sys.argv[1:2] == ["--work"]:
        return works[sys.argv[2]](*sys.argv[3:])
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
