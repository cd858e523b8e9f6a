# SPDX-License-Identifier: BSD-2-Clause
"""What is visible of a filesystem: watched reads of a file on it, compared with what was read."""

import json
import os
import shutil
import subprocess
import sys

from . import reader
from .part import Skipped, check, equal
from .reads import PAGE
from .tool import Tool

PAGES = 2048
BYTES = PAGES * PAGE
TRIES = 3
FIGURES = ("read_calls", "read_bytes", "lookups", "misses")


class World:
    def __init__(self, args, work, stack):
        self.args = args
        self.work = work
        self.tool = Tool(args.cachemon, work)

    def place(self, name):
        return os.path.join(self.work, name)

    def doctor(self, path):
        return json.loads(self.tool.run("doctor", path, "--json"))["filesystem"]

    def has(self, role):
        roles = json.loads(self.tool.run("doctor", "--json"))["roles"]
        return [r["state"] for r in roles if r["role"] == role] == ["live"]


class Reader:
    """syslib/fsreader.py, watched by its pid: the job has its reads and nothing else."""

    def __init__(self, world, stack):
        self.process = subprocess.Popen([sys.executable, os.path.join(reader.SOURCES,
                                                                      "fsreader.py")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.callback(self.end)
        equal("the reader", self.process.stdout.readline(), "ready\n")

    def read(self, how, path):
        """Its report, with the bytes of the line to it ("line"): it reads that from a pipe, in one call
        and outside of every filesystem, and nothing else."""
        line = f"{how} {path}\n"
        self.process.stdin.write(line)
        self.process.stdin.flush()
        return {**json.loads(self.process.stdout.readline()), "line": len(line.encode())}

    def end(self):
        self.process.kill()
        self.process.communicate()


def fill(path, size=BYTES, byte=None):
    with open(path, "wb") as f:
        f.write(os.urandom(size) if byte is None else byte * size)
        f.flush()
        os.fsync(f.fileno())
    return path


def measured(world, stack, how, path):
    """(the reader's report of one reading, the job). path: also "path, tab, file with its
    pages". A busy kernel may skip runs of a program, which is counted and makes the figures
    lower bounds: then the reading is repeated."""
    for _ in range(TRIES):
        told, report, job = measured_once(world, stack, how, path)
        if not report["run"]["losses"]["recursion_misses"]:
            break
        print("        the kernel left out runs of a program: once more", flush=True)
    return told, job


def measured_once(world, stack, how, path):
    process = Reader(world, stack)
    # Once before the watch, because Python reads some files only when it needs them.
    process.read(how, path)
    watch = world.tool.watch(stack, ["--level", "full", "--interval", "200ms", "--pid",
                                     str(process.process.pid)])
    watch.wait_started()
    told = process.read(how, path)
    watch.interrupt()
    report, job, _ = watch.end()
    return told, report, job


def mount_entry(job, mount):
    found = [f for f in job["filesystems"] if f["mount"] == mount]
    return found[0] if found else None


def adds_up(job):
    for name in FIGURES:
        equal(f"{name}, sum of filesystems against the job",
              sum(f["totals"][name] for f in job["filesystems"]), job["totals"][name])


def against_the_kernel(job, kernel_bytes, kernel_calls):
    """The kernel's own count has all reads, also those that no hook sees, and there is a warning if
    less was seen."""
    said, t = job["reads_check"], job["totals"]
    equal("bytes seen", said["seen_bytes"], t["read_bytes"] + t["direct_read_bytes"])
    equal("calls seen", said["seen_calls"], t["read_calls"] + t["direct_read_calls"])
    equal("bytes by the kernel", said["kernel_bytes"], kernel_bytes)
    equal("calls by the kernel", said["kernel_calls"], kernel_calls)
    missing = said["kernel_bytes"] - said["seen_bytes"]
    equal(f"warning of {missing} of {said['kernel_bytes']} bytes", said["warning"] is not None,
          abs(missing) > 0.01 * max(said["kernel_bytes"], said["seen_bytes"]))


def cached_is_exact(world, stack, path, mount, type_, cover):
    told, job = measured(world, stack, "cached", path)
    equal("pages in the cache before", told["before"], 0)
    adds_up(job)
    entry = mount_entry(job, mount)
    check(entry, f"no filesystem at {mount} in the report: "
          f"{[(f['type'], f['mount']) for f in job['filesystems']]}")
    for name in FIGURES:
        equal(f"{name} of the filesystem", entry["totals"][name], told[name])
    t = entry["totals"]
    equal("hits", t["hits"], told["lookups"] - told["misses"])
    equal("pages brought in", t["demand_pages"] + t["prefetched_pages"], told["after"])
    equal("files", entry["files"], 1)
    equal("type", entry["type"], type_)
    equal("cover in the report", entry["seen"], cover)
    check(entry["explanation"], "the cover is not explained")
    equal("bytes outside of the hooks", job["outside_read_bytes"], told["line"])
    against_the_kernel(job, told["read_bytes"] + told["line"], told["read_calls"] + 1)
    equal("warning", job["reads_check"]["warning"], None)
    print(f"        {type_}: {told['lookups']} lookups, {told['misses']} misses, as the cache was before",
          flush=True)
    return entry, told


def past_the_hooks(world, stack, how, path, size=BYTES):
    """No figure includes these reads, no ratio has a denominator of 0, and the sum of the reads is
    reported."""
    told, job = measured(world, stack, how, path)
    t = job["totals"]
    for name in ("lookups", "misses", "read_bytes", "direct_read_bytes"):
        equal(f"{name} of what no hook sees", t[name], 0)
    equal("hit ratio of no lookups", t["hit_ratio"], None)
    read = told.get("read_bytes") or told["bytes"]
    # The reader reads parts of the file twice; less than all of it would show little.
    check(read >= size, f"the reader read {read} of {size} bytes")
    equal("bytes outside of the hooks", job["outside_read_bytes"], read + told["line"])
    equal("marked as a lower bound", job.get("outside_read_bytes_lower_bound"), True)
    against_the_kernel(job, read + told["line"], (told.get("read_calls") or told["calls"]) + 1)
    check(job["reads_check"]["warning"], "no warning of what no probe saw")
    return told


def direct_is_counted(world, stack, path, how="direct"):
    told, job = measured(world, stack, how, path)
    equal("direct bytes", job["totals"]["direct_read_bytes"], told["bytes"])
    equal("direct calls", job["totals"]["direct_read_calls"], told["calls"])
    equal("buffered bytes", job["totals"]["read_bytes"], 0)
    equal("hit ratio", job["totals"]["hit_ratio"], None)
    equal("bytes outside of the hooks", job["outside_read_bytes"], told["line"])
    return told


def asynchronous_is_counted(world, stack, path, engine):
    """Several at a time, which may end while their task does something else; fio knows their
    number."""
    if not shutil.which("fio"):
        raise Skipped("no fio")
    fill(path)
    told = world.place(f"{engine}.json")
    watch = world.tool.watch(stack, ["--level", "full"], [
        "fio", "--name=direct", f"--filename={path}", "--readonly", "--direct=1", "--rw=randread",
        "--bsrange=4k-64k", "--iodepth=8", f"--size={BYTES}", f"--ioengine={engine}",
        "--output-format=json", f"--output={told}"], stdout=subprocess.DEVNULL)
    job = watch.end()[1]
    with open(told, encoding="ascii") as f:
        read = json.load(f)["jobs"][0]["read"]
    equal("bytes read by fio", read["io_bytes"], BYTES)
    equal(f"direct bytes by {engine}", job["totals"]["direct_read_bytes"], read["io_bytes"])
    equal(f"direct calls by {engine}", job["totals"]["direct_read_calls"], read["total_ios"])


def crooked_is_what_it_gives(world, stack, path):
    """A refused read does not count, although it begins; a granted one counts as the cache
    shows."""
    told, job = measured(world, stack, "crooked", path)
    check(len(set(told["said"])) == 1, f"crooked reads: {told['said']}")
    given = told["calls"] if told["said"][0] > 0 else 0
    past = not told["after"]
    for name, want in (("direct_read_calls", given * past), ("read_calls", given * (not past)),
                       ("direct_read_bytes", told["bytes"] * past),
                       ("read_bytes", told["bytes"] * (not past))):
        equal(f"{name} of reads that say {told['said'][0]}", job["totals"][name], want)
    return told["said"][0]


def every_direct_read(world, stack, path):
    direct_is_counted(world, stack, path)
    # Some filesystems read these through the cache.
    split_as_the_cache_says(world, stack, path, "fresh")
    return crooked_is_what_it_gives(world, stack, path)


def split_as_the_cache_says(world, stack, path, how="direct"):
    """A direct read that goes through the cache after all is a read of the cache."""
    told, job = measured(world, stack, how, path)
    through = told["after"] * PAGE
    equal("buffered bytes", job["totals"]["read_bytes"], through)
    equal("direct bytes", job["totals"]["direct_read_bytes"], told["bytes"] - through)
    check(told["bytes"] == through or job["totals"]["direct_read_calls"] == told["calls"],
          f"{job['totals']['direct_read_calls']} direct calls of {told['calls']}")
    return through


def is_covered(world, path, type_, cover, word=""):
    fs = world.doctor(path)
    equal(f"type of {path} by doctor", fs["type"], type_)
    equal(f"cover of {path} by doctor", fs["seen"], cover)
    check(word in fs["explanation"], f"{word!r} is not in {fs['explanation']!r}")
    return fs
