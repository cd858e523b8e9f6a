#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Time that tasks sleep for the page cache, at each level, compared with the kernel's own
tracing.

Around each read the job takes the time and its count of voluntary switches: a read slept as
often as the count grew. Each sleep lasts at least from sched_switch to sched_wakeup, and at most
until the end of the read. (Its CPU time is not a bound: on a virtual machine, time taken by the
host is in no clock of the thread.)"""

import contextlib
import json
import mmap
import os
import resource
import select
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine, tracefs  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, fill  # noqa: E402
from syslib.tool import file_of  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
PAGES = 1024
# The tolerance at each end of a sleep: the time between the two programs at one switch.
SLACK_NS, SLACK_SHARE = 6000, 0.02
LENGTHS = [1 << n for n in range(11, 34)]  # ends of the buckets
ROOM = 2048  # files in a map of lengths: NR_WAITS
HOT_READS = 1000  # between checks for the order to continue
LEVELS = {"full": ["--level", "full"], "cold": ["--level", "cold"],
          "sliced": ["--level", "auto", "--max-overhead", "0.01%", "--interval", "200ms"]}

part = Part(__doc__)


# ---- worker ----

class Clocks:
    """The sleeps of calls."""

    def __init__(self):
        self.sleeps = self.faults = 0
        self.calls = []
        self.traced = tracefs.Sleeps()

    def take(self, call):
        before = resource.getrusage(resource.RUSAGE_THREAD)
        began = time.monotonic_ns()
        call()
        self.calls.append((began, time.monotonic_ns()))
        after = resource.getrusage(resource.RUSAGE_THREAD)
        self.sleeps += after.ru_nvcsw - before.ru_nvcsw
        self.faults += after.ru_majflt - before.ru_majflt

    def told(self):
        """Sleeps lie within their calls, to the microsecond of the trace."""
        lengths, sleeps = [], self.traced.end()
        for began, ended in self.calls:
            mine = [s for s in sleeps if began - 1000 <= s[0] and s[1] <= ended + 1000]
            # A task must have run before its next sleep.
            lengths += [(woken - since, runs - since)
                        for (since, woken), runs in zip(mine, [s for s, _ in mine[1:]] + [ended])]
        return {"sleeps": self.sleeps, "faults": self.faults, "calls": len(self.calls), "lengths": lengths,
                "least_ns": sum(least for least, _ in lengths), "most_ns": sum(most for _, most in lengths)}


def scattered(fd, clocks, call):
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    for i in range(PAGES // 4):
        page = i * 37 % PAGES
        clocks.take(lambda: call(fd, page * PAGE))


def do_pread(path, clocks):
    with open(path, "rb", buffering=0) as f:
        scattered(f.fileno(), clocks, lambda fd, at: os.pread(fd, PAGE, at))


def do_preadv(path, clocks):
    buffers = [bytearray(PAGE), bytearray(PAGE)]
    with open(path, "rb", buffering=0) as f:
        scattered(f.fileno(), clocks, lambda fd, at: os.preadv(fd, buffers, at))


def do_sequential(path, clocks):
    """Calls longer than a window of readahead, which also a fast device does not outrun."""
    with open(path, "rb", buffering=0) as f:
        for _ in range(PAGES // 64):
            clocks.take(lambda: f.read(64 * PAGE))


def do_sendfile(path, clocks):
    out = os.open("/dev/null", os.O_WRONLY)
    with open(path, "rb", buffering=0) as f:
        scattered(f.fileno(), clocks, lambda fd, at: os.sendfile(out, fd, at, PAGE))


def do_late(path, clocks):
    """Reads of pages that were requested a moment before: they issue no window."""
    with open(path, "rb", buffering=0) as f:
        fd = f.fileno()
        for first in range(0, PAGES, 8):
            os.posix_fadvise(fd, first * PAGE, 8 * PAGE, os.POSIX_FADV_WILLNEED)
            clocks.take(lambda: os.pread(fd, 8 * PAGE, first * PAGE))


def do_mapped(path, clocks):
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
        m.madvise(mmap.MADV_RANDOM)
        for i in range(PAGES // 4):
            clocks.take(lambda: m[i * 37 % PAGES * PAGE])


def do_direct(path, _):
    """Sleeps for something other than the page cache."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    with mmap.mmap(-1, PAGE) as buffer:
        for i in range(PAGES // 4):
            os.preadv(fd, [buffer], i * PAGE)
    os.close(fd)


def do_synced(path, _):
    """Sleeps in a write, which is not a read."""
    fd = os.open(path, os.O_WRONLY)
    for i in range(32):
        os.pwrite(fd, b"x" * PAGE, i * PAGE)
        os.fsync(fd)
    os.close(fd)


def work(how, hot, *paths):
    """hot: a file that is read until a line arrives on standard input; "": no file."""
    if hot:
        with open(hot, "rb", buffering=0) as f:
            while not select.select([sys.stdin], [], [], 0)[0]:
                for _ in range(HOT_READS):
                    os.pread(f.fileno(), PAGE, 0)
    told = []
    for path in paths:
        clocks = Clocks()
        globals()[f"do_{how}"](path, clocks)
        told.append(clocks.told())
    print(json.dumps(told))


# ---- cases ----

def rows_of(db, ino):
    """Sleeps in the rows of a file: the report has only their time."""
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as c:
        return c.execute("SELECT sum(stalls) FROM file WHERE ino = ?", (ino,)).fetchone()[0]


def worker(world, level, how, *paths):
    """At level sliced, cheap cached reads come first, until reads are sliced."""
    return [sys.executable, ME, "--work", how, world.hot if level == "sliced" else "", *paths]


def watched(world, stack, level, how, paths):
    if not tracefs.mounted():
        raise Skipped("no tracefs")
    watch = world.tool.watch(stack, LEVELS[level], worker(world, level, how, *paths),
                             stdin=subprocess.PIPE)
    if level == "sliced":
        watch.wait_sliced()
    report, job, out = watch.end()
    equal(f"sliced at level {level}", report["run"]["sliced"], level == "sliced")
    check("stall_ns_estimated" not in job["totals"], "stall_ns is counted, and marked as estimated")
    return watch.db, job, json.loads(out)


def entry(job, path):
    """By the device of the cached file, which for an overlay is not that of the path."""
    st = os.stat(path)
    return file_of(job, f"{os.major(st.st_dev)}:{os.minor(st.st_dev)}", st.st_ino)


def judge_time(ns, told, level):
    slack = told["sleeps"] * SLACK_NS + told["least_ns"] * SLACK_SHARE
    check(told["least_ns"] - slack <= ns <= told["most_ns"] + slack,
          f"stall at level {level}: {ns} ns, the job slept {told['least_ns']} to {told['most_ns']}")


def judge_lengths(row, told, level):
    """A sleep lasted at least until the wake-up, and at most until the next sleep or the end of the
    call. So the number of sleeps below each power of two has a lower and an upper bound. The job may
    also have slept for other files, for any length of time."""
    histogram = row["wait_histogram"]
    elsewhere = row["totals"]["stalls"] - told["sleeps"]
    equal(f"sleeps of all lengths at level {level}", sum(b["sleeps"] for b in histogram), row["totals"]["stalls"])
    for end in LENGTHS:
        below = sum(b["sleeps"] for b in histogram if b["to_ns"] and b["to_ns"] <= end)
        slack = SLACK_NS + end * SLACK_SHARE
        least = sum(most + slack < end for _, most in told["lengths"])
        most = sum(shortest - slack < end for shortest, _ in told["lengths"]) + elsewhere
        check(least <= below <= most,
              f"at level {level} {below} sleeps are shorter than {end} ns, the job had {least} to {most}")


def judge(db, job, path, told, level):
    found = entry(job, path)
    check(found, f"{path} has no row at level {level}")
    ns, sleeps = found["totals"]["stall_ns"], rows_of(db, os.stat(path).st_ino)
    part.note(f"{level}: {sleeps} sleeps of {ns / 1e6:.2f} ms; the job: {told['sleeps']} in "
              f"{told['calls']} calls, {told['faults']} major faults, {told['least_ns'] / 1e6:.2f} to "
              f"{told['most_ns'] / 1e6:.2f} ms")
    equal(f"sleeps at level {level}", sleeps, told["sleeps"])
    judge_time(ns, told, level)
    judge_lengths(job, told, level)
    judge_lengths(found, told, level)


def exact(world, stack, how, make=None):
    for level in LEVELS:
        path = make() if make else world.cold(PAGES)
        db, job, told = watched(world, stack, level, how, [path])
        check(told[0]["sleeps"] > 3, f"the job slept {told[0]['sleeps']} times: nothing to count")
        judge(db, job, path, told[0], level)


for name in ("pread", "preadv", "sequential", "sendfile", "late", "mapped"):
    def each(world, stack, how=name):
        exact(world, stack, how)

    each.__name__ = f"{name}_is_exact_at_each_level"
    part.case(each)


@part.case
def block_devices_are_exact(world, stack):
    def make():
        with open(world.tool.fresh(".img"), "wb") as f:
            f.write(os.urandom(PAGES * PAGE))
        device = machine.loop(stack, f.name)
        fd = os.open(device, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
        return device

    for level in LEVELS:
        device = make()
        _, job, told = watched(world, stack, level, "pread", [device])
        found = [e for e in job["files"] if e["path"] == device]
        equal(f"rows of {device}", len(found), 1)
        check(told[0]["sleeps"] > 10, "the job did not sleep")
        judge_time(found[0]["totals"]["stall_ns"], told[0], level)
        judge_lengths(job, told[0], level)


def reads_of(device):
    """Read requests that ended, and their milliseconds (Documentation/block/stat.rst)."""
    with open(f"/sys/block/{os.path.basename(device)}/stat", encoding="ascii") as f:
        fields = f.read().split()
    return int(fields[0]), int(fields[3])


@part.case
def reads_of_devices_are_the_kernels(world, stack):
    """The device is read by nobody else; its earlier reads do not count."""
    image, mounted = world.tool.fresh(".img"), os.path.join(world.data, "device")
    with open(image, "wb") as f:
        f.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", image], check=True)
    device = machine.loop(stack, image)
    os.mkdir(mounted)
    machine.mount(stack, device, mounted)
    for level in ("full", "cold"):
        path = fill(f"{mounted}/{level}", PAGES)
        before = reads_of(device)
        db, job, told = watched(world, stack, level, "pread", [path])
        after = reads_of(device)
        judge(db, job, path, told[0], level)
        dev = os.stat(path).st_dev
        mine = [f["device"] for f in job["filesystems"] if f["dev"] == f"{os.major(dev)}:{os.minor(dev)}"]
        equal("devices of the filesystem", len(mine), 1)
        check(before[0] and after[0] - before[0] >= told[0]["sleeps"] > 10, f"reads of {device}: {before} to {after}")
        equal(f"reads of {device} at level {level}", mine[0],
              {"name": os.path.basename(device), "reads": after[0] - before[0], "read_ms": after[1] - before[1],
               "read_mean_ns": (after[1] - before[1]) * 10**6 // (after[0] - before[0])})


@part.case
def lengths_without_room_are_absent(world, stack):
    """One interval has more files than the maps have room for: some files have all lengths, the
    others have none, and the job has all."""
    where = os.path.join(world.data, "many")
    os.mkdir(where)
    for i in range(ROOM + 300):
        fill(f"{where}/{i}", 1)
    read_all = "import os\nfor e in os.scandir(%r): os.pread(os.open(e.path, os.O_RDONLY), 1, 0); os.closerange(9, 99)"
    watch = world.tool.watch(stack, ["--level", "full", "--interval", "1m"], [sys.executable, "-c", read_all % where])
    _, job, _ = watch.end()
    judge_lengths(job, {"sleeps": 0, "lengths": []}, "full")
    slept = [f for f in job["files"] if f["totals"]["stalls"] and not f.get("rest")]
    known = [f for f in slept if f["wait_histogram"]]
    absent = {f["wait_histogram_absent"] for f in slept if not f["wait_histogram"]}
    part.note(f"{len(slept)} files waited for, {len(known)} with lengths")
    equal("files with lengths", len(known), ROOM)
    equal("reasons", absent, {"the lengths of some waits were not recorded"})
    for f in known:
        equal(f["path"], sum(b["sleeps"] for b in f["wait_histogram"]), f["totals"]["stalls"])


@part.case
def files_of_an_overlay_are_exact(world, stack):
    lower, upper, work_dir, merged = (os.path.join(world.data, d)
                                      for d in ("lower", "upper", "work", "merged"))
    for d in (lower, upper, work_dir, merged):
        os.mkdir(d)
    names = {}
    for level in LEVELS:
        for how in ("pread", "late"):
            names[level, how] = fill(f"{lower}/{level}-{how}", PAGES)
    machine.mount(stack, "-t", "overlay", "overlay", "-o",
                  f"lowerdir={lower},upperdir={upper},workdir={work_dir}", merged)
    for (level, how), path in names.items():
        db, job, told = watched(world, stack, level, how,
                                [os.path.join(merged, os.path.basename(path))])
        check(told[0]["sleeps"] > 10, "the job did not sleep")
        judge(db, job, path, told[0], level)


@part.case
def what_goes_past_the_cache_is_none(world, stack):
    for level in LEVELS:
        for how in ("direct", "synced"):
            path = world.cold(PAGES)
            _, job, _ = watched(world, stack, level, how, [path])
            found = entry(job, path)
            equal(f"stall of {how} at level {level}",
                  found["totals"]["stall_ns"] if found else 0, 0)


@part.case
def waits_for_a_ring_are_not_guessed(world, stack):
    """The read hook detects their end: at level cold they are absent, with a reason, never 0."""
    if not shutil.which("fio"):
        raise Skipped("no fio")
    for level in ("full", "cold"):
        path = world.cold(PAGES)
        report, job, _ = world.tool.watch(stack, LEVELS[level], [
            "fio", "--name=ring", f"--filename={path}", "--readonly", "--rw=randread", "--bs=4k", "--invalidate=0",
            f"--size={PAGES * PAGE}", "--ioengine=io_uring", "--iodepth=1", "--thread", "--output=/dev/null"]).end()
        stalls = job["totals"]["stalls"]
        why = [u["reason"] for u in report["run"]["unmeasured"] if u["counter"] == "stalls"]
        if level == "full":
            check(stalls > PAGES // 2, f"{stalls} waits of {PAGES} cold reads")
            equal("waits of all lengths", sum(b["sleeps"] for b in job["wait_histogram"]), stalls)
            equal("reasons at level full", why, [])
            continue
        equal("waits at level cold", (stalls, job["totals"]["stall_ns"], job["wait_histogram"]), (None, None, None))
        check(why and "io_uring" in why[0], f"why: {why}")
        equal("grade of stalls", job["grades"]["stall"], None)
        equal("ceiling", job["accelerator_ceiling"]["overall"], None)


@part.case
def what_moves_into_a_cgroup_is_exact(world, stack):
    root = machine.v2_root() or machine.v1_root()
    if not root:
        raise Skipped("no cgroup can be made here")
    group = machine.cgroup(stack, root, f"cachemon-stalls-{os.getpid()}")
    for level in LEVELS:
        path = world.cold(PAGES)
        watch = world.tool.watch(stack, [*LEVELS[level], "--cgroup", group])
        watch.wait_started()
        script = 'echo $$ > "$0"/cgroup.procs && exec "$@"'
        process = subprocess.Popen(["sh", "-c", script, group, *worker(world, level, "late", path)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.callback(process.kill)
        if level == "sliced":
            watch.wait_sliced()
        out, _ = process.communicate()
        equal("status of the worker", process.returncode, 0)
        watch.wait_intervals(1)
        watch.interrupt()
        _, job, _ = watch.end()
        judge(watch.db, job, path, json.loads(out)[0], level)


def begun(db):
    """Runs with an interval; the database may be new."""
    with contextlib.suppress(sqlite3.OperationalError):
        return query(db, "SELECT DISTINCT run_id FROM interval")
    return []


def query(db, sql):
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as c:
        return c.execute(sql).fetchall()


@part.case
def two_jobs_on_one_file_are_exact(world, stack):
    """One set of programs counts both. Each sleeps for pages that it or the other one brings."""
    root = machine.v2_root() or machine.v1_root()
    if not root or not tracefs.mounted():
        raise Skipped("no cgroup can be made here, or no tracefs")
    groups = [machine.cgroup(stack, root, f"cachemon-stalls{i}-{os.getpid()}") for i in range(2)]
    db, path = world.tool.fresh(".db"), world.cold(PAGES)
    daemon = subprocess.Popen([world.tool.cachemon, "daemon", "--db", db, "--interval", "200ms",
                               *(word for group in groups for word in ("--job", f"cgroup:{group}"))],
                              stderr=subprocess.PIPE, text=True)
    stack.callback(daemon.kill)
    machine.until(lambda: len(begun(db)) == 2, "an interval of each job")
    script = 'echo $$ > "$0"/cgroup.procs && exec "$@"'
    workers = [subprocess.Popen(["sh", "-c", script, group, *worker(world, "full", how, path)],
                                stdout=subprocess.PIPE, text=True) for group, how in zip(groups, ("pread", "late"))]
    told = [json.loads(w.communicate()[0])[0] for w in workers]
    daemon.terminate()
    errors = daemon.communicate()[1]
    equal("status of the daemon", (daemon.returncode, errors.count("\n")), (0, 2))
    for group, expected in zip(groups, told):
        name = os.path.basename(group)
        [(run,)] = query(db, f"SELECT run_id FROM job WHERE slot = 1 AND selector LIKE '%{name}%'")
        _, job = world.tool.report(db, str(run))
        found = entry(job, path)
        sleeps = query(db, "SELECT sum(f.stalls) FROM file f JOIN job j ON j.id = f.job_id "
                           f"WHERE j.run_id = {run} AND f.ino = {os.stat(path).st_ino}")[0][0]
        part.note(f"{sleeps} sleeps of {found['totals']['stall_ns'] / 1e6:.2f} ms; the job: {expected['sleeps']} in "
                  f"{expected['least_ns'] / 1e6:.2f} to {expected['most_ns'] / 1e6:.2f} ms")
        check(expected["sleeps"] > 3, f"the job slept {expected['sleeps']} times: nothing to count")
        equal("sleeps", sleeps, expected["sleeps"])
        judge_time(found["totals"]["stall_ns"], expected, "full")
        judge_lengths(job, expected, "full")


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(*sys.argv[2:])
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
