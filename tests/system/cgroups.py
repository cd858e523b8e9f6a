#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A job that is a cgroup: its processes are counted exactly while they are in it."""

import mmap
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import groupwork, machine  # noqa: E402
from syslib.jobworld import (OPTIONS, Obedient, end_process, expect, lines_of,  # noqa: E402
                             main)
from syslib.machine import enter_cgroup  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, fill  # noqa: E402
from syslib.tool import file_of, named_files, on_device, raw_path  # noqa: E402

part = Part(__doc__)
CPU_TIME_NS = 3_000_000  # between the move and the clock, and from the clock to the end
SQUEEZED_PAGES = (64 << 20) // PAGE


def cgroup_root(version):
    root = machine.v2_root() if version == 2 else machine.v1_root()
    if not root:
        raise Skipped(f"no cgroup v{version} here")
    return root


def cgroup_case(version, function):
    def case(world, stack):
        function(world, stack, cgroup_root(version))
    case.__name__ = f"cgroup_v{version}_{function.__name__}"
    part.case(case)
    return function


def inside(lines):
    return [line for line in lines if line["mark"] == "in"]


def finish_cgroup(world, watch, tally, processes, alive):
    watch.wait_intervals(2)
    watch.interrupt()
    _, job, _ = watch.end()
    expect(world, job, inside(lines_of(tally)))
    equal("processes", job["processes"], processes)
    equal("alive at the end", job["alive_at_end"], alive)
    return job


def moves(world, stack, root):
    """A task that enters, leaves, enters again and then enters a nested group; others that stay
    out."""
    tally = world.tool.fresh(".tally")
    group = machine.cgroup(stack, root, f"cachemon-moves-{os.getpid()}")
    nested = machine.cgroup(stack, group, "nested")
    a, b = Obedient(world, stack, tally), Obedient(world, stack, tally)
    a.do("read", 0, "out")
    watch = world.tool.watch(stack, [*OPTIONS, "--cgroup", group])
    watch.wait_started()
    a.do("read", 1, "out")
    a.do("enter", group, "cgroup.procs")
    a.do("read", 0, "in")
    b.do("read", 2, "out")
    enter_cgroup(root, a.process.pid)
    a.do("read", 2, "out")
    enter_cgroup(nested, a.process.pid)
    a.do("read", 1, "in")
    enter_cgroup(group, a.process.pid)
    a.do("read", 2, "in")
    b.do("enter", nested, "cgroup.procs")
    b.do("read", 0, "in")
    b.do("enter", root, "cgroup.procs")
    b.do("read", 0, "out")
    finish_cgroup(world, watch, tally, 2, 1)


def existing(world, stack, root):
    """Processes already inside, in the group or below it; a sibling group whose name has the
    same beginning."""
    tally = world.tool.fresh(".tally")
    name = f"cachemon-existing-{os.getpid()}"
    group = machine.cgroup(stack, root, name)
    nested = machine.cgroup(stack, machine.cgroup(stack, group, "a"), "b")
    sibling = machine.cgroup(stack, root, name + "2")
    inner = [Obedient(world, stack, tally) for _ in range(3)]
    outer = Obedient(world, stack, tally)
    enter_cgroup(group, inner[0].process.pid)
    enter_cgroup(group, inner[1].process.pid)
    enter_cgroup(nested, inner[2].process.pid)
    enter_cgroup(sibling, outer.process.pid)
    world.stranger(stack)
    watch = world.tool.watch(stack, [*OPTIONS, "--cgroup", group])
    watch.wait_started()
    for i, p in enumerate(inner):
        p.do("read", i, "in")
        p.do("fork", i + 1, "in")
    outer.do("read", 0, "out")
    outer.do("fork", 0, "out")
    finish_cgroup(world, watch, tally, 6, 3)


def nested_only(world, stack, root):
    """The inner group is selected: tasks of its parent are others."""
    tally = world.tool.fresh(".tally")
    group = machine.cgroup(stack, root, f"cachemon-nested-{os.getpid()}")
    nested = machine.cgroup(stack, group, "inner")
    above, within = Obedient(world, stack, tally), Obedient(world, stack, tally)
    enter_cgroup(group, above.process.pid)
    enter_cgroup(nested, within.process.pid)
    watch = world.tool.watch(stack, [*OPTIONS, "--cgroup", nested])
    watch.wait_started()
    above.do("read", 0, "out")
    within.do("read", 1, "in")
    above.do("fork", 2, "out")
    within.do("fork", 2, "in")
    finish_cgroup(world, watch, tally, 2, 1)


def by_job_name(world, stack, root):
    """--job finds the group by its last component, however deeply it is nested."""
    tally = world.tool.fresh(".tally")
    name = f"cachemon-by-name-{os.getpid()}-{os.path.basename(root)}"
    group = machine.cgroup(stack, machine.cgroup(stack, root, f"cachemon-above-{os.getpid()}"), name)
    p = Obedient(world, stack, tally)
    enter_cgroup(group, p.process.pid)
    watch = world.tool.watch(stack, [*OPTIONS, "--job", name])
    watch.wait_started()
    p.do("read", 0, "in")
    job = finish_cgroup(world, watch, tally, 1, 1)
    equal("name of the job", job["name"], name)


def vanishes(world, stack, root):
    """The last process leaves and the group is removed: the run ends, complete."""
    tally = world.tool.fresh(".tally")
    path = os.path.join(root, f"cachemon-gone-{os.getpid()}")
    os.mkdir(path)
    stack.callback(lambda: os.path.isdir(path) and os.rmdir(path))
    p = Obedient(world, stack, tally)
    enter_cgroup(path, p.process.pid)
    watch = world.tool.watch(stack, [*OPTIONS, "--cgroup", path])
    watch.wait_started()
    p.do("read", 1, "in")
    enter_cgroup(root, p.process.pid)
    p.do("read", 0, "out")
    os.rmdir(path)
    report, job, _ = watch.end()
    expect(world, job, inside(lines_of(tally)))
    equal("state of the run", report["run"]["state"], "complete")


def busy(world, stack, root):
    """A member that reads all the time, even while cachemon attaches: one process, counted once."""
    tally = world.tool.fresh(".tally")
    group = machine.cgroup(stack, root, f"cachemon-busy-{os.getpid()}")
    p = world.stranger(stack)
    enter_cgroup(group, p.pid)
    later = Obedient(world, stack, tally)
    watch = world.tool.watch(stack, [*OPTIONS, "--cgroup", group])
    watch.wait_started()
    enter_cgroup(group, later.process.pid)
    watch.wait_intervals(1)
    end_process(p)
    watch.wait_intervals(2)
    watch.interrupt()
    _, job, _ = watch.end()
    equal("processes", job["processes"], 2)
    equal("alive at the end", job["alive_at_end"], 1)
    check(on_device(job, world.dev)["lookups"] > 0, "what it read is nowhere")


for each in (moves, existing, busy, nested_only, by_job_name, vanishes):
    for cgroup_version in (2, 1):
        cgroup_case(cgroup_version, each)


def single_thread(world, stack, group, file):
    """One thread inside, its process outside: its reads and CPU time count after its move."""
    tally = world.tool.fresh(".tally")
    p = Obedient(world, stack, tally)
    if file == "cgroup.threads":
        enter_cgroup(os.path.dirname(group), p.process.pid)
    watch = world.tool.watch(stack, [*OPTIONS, "--cgroup", group])
    watch.wait_started()
    p.do("read", 0, "out")
    p.do("thread", group, file, "in")
    p.do("read", 2, "out")
    watch.wait_intervals(2)
    watch.interrupt()
    _, job, _ = watch.end()
    lines = inside(lines_of(tally))
    expect(world, job, lines)
    equal("threads inside", len(lines), 1)
    off = job["cpu_ns"] - sum(line["cpu_ns"] for line in lines)
    part.note(f"CPU time of the job and by the thread's clock differ by {off / 1e6:.2f} ms")
    check(abs(off) < CPU_TIME_NS, f"{off / 1e6:.1f} ms of CPU time too many or too few")


@part.case
def cgroup_v1_single_thread(world, stack):
    """v1 groups hold threads."""
    group = machine.cgroup(stack, cgroup_root(1), f"cachemon-thread-{os.getpid()}")
    single_thread(world, stack, group, "tasks")


@part.case
def cgroup_v2_single_thread(world, stack):
    """So do threaded v2 groups."""
    above = machine.cgroup(stack, cgroup_root(2), f"cachemon-thread-{os.getpid()}")
    group = machine.cgroup(stack, above, "threaded")
    with open(f"{group}/cgroup.type", "w") as f:
        f.write("threaded")
    single_thread(world, stack, group, "cgroup.threads")


@part.case
def cgroup_v2_born_inside(world, stack):
    """clone3 puts children of an outsider into the group, and those of a member out of it."""
    root = cgroup_root(2)
    tally = world.tool.fresh(".tally")
    group = machine.cgroup(stack, root, f"cachemon-born-{os.getpid()}")
    stranger, member = Obedient(world, stack, tally), Obedient(world, stack, tally)
    enter_cgroup(group, member.process.pid)
    watch = world.tool.watch(stack, [*OPTIONS, "--cgroup", group])
    watch.wait_started()
    stranger.do("clone", group, "in")
    member.do("clone", group, "in")
    member.do("clone", root, "out")
    stranger.do("read", 1, "out")
    finish_cgroup(world, watch, tally, 3, 1)


def exec_from_thread(world, stack, root):
    """The thread that calls exec becomes the first one, and moves: one process throughout."""
    tally = world.tool.fresh(".tally")
    group = machine.cgroup(stack, root, f"cachemon-exec-{os.getpid()}")
    nested = machine.cgroup(stack, group, "nested")
    stays, leaves, comes = (Obedient(world, stack, tally) for _ in range(3))
    for p in stays, leaves:
        enter_cgroup(group, p.process.pid)
    watch = world.tool.watch(stack, [*OPTIONS, "--cgroup", group])
    watch.wait_started()
    for p in stays, leaves:
        p.do("read", 0, "in")
        p.do("exec")
        p.do("read", 1, "in")
        enter_cgroup(nested, p.process.pid)
        p.do("read", 2, "in")
    enter_cgroup(root, leaves.process.pid)
    leaves.do("read", 0, "out")
    comes.do("exec")
    enter_cgroup(group, comes.process.pid)
    comes.do("exec")
    comes.do("read", 0, "in")
    enter_cgroup(nested, comes.process.pid)
    comes.do("read", 1, "in")
    finish_cgroup(world, watch, tally, 3, 2)


def ends_meanwhile(world, stack, root):
    """Members end one after the other and are replaced while cachemon begins to count. The last
    ones are alive at the end, and every process that read after the beginning belongs to the
    job."""
    group = machine.cgroup(stack, root, f"cachemon-ends-{os.getpid()}")
    survivor = Obedient(world, stack, world.tool.fresh(".tally"))
    enter_cgroup(group, survivor.process.pid)
    tally, stop = world.tool.fresh(".tally"), world.tool.fresh(".stop")
    enders = world.start(stack, "enders", tally, os.path.join(group, "cgroup.procs"), stop)
    equal("the first of them has ended", enders.stdout.readline(), "ready\n")
    watch = world.tool.watch(stack, [*OPTIONS, "--cgroup", group])
    watch.wait_started()
    watch.wait_intervals(1)
    with open(stop, "w"):
        pass
    equal("exit status of who begins and ends them", enders.wait(), 0)
    watch.wait_intervals(1)
    watch.interrupt()
    _, job, _ = watch.end()
    readers = on_device(job, world.dev)["read_calls"]
    line, = lines_of(tally)
    ended = line["ended"]
    part.note(f"{readers} of {ended} ended after the beginning")
    check(groupwork.ENDERS <= readers < ended, f"{readers} of {ended} reads counted")
    equal("alive at the end", job["alive_at_end"], 1)
    # The survivor, the process that started and ended them, and one that may have read before the
    # beginning and ended after it.
    check(job["processes"] - 2 - readers in (0, 1), f"{job['processes']} processes")


def moved_while_it_reads(world, stack, root):
    """Another process moves it in and out while it reads all the time. Its reads inside count;
    of the others at most those during a move."""
    tally, flag = world.tool.fresh(".tally"), world.tool.fresh(".flag")
    group = machine.cgroup(stack, root, f"cachemon-moved-{os.getpid()}")
    with open(flag, "wb") as f:
        f.write(b"\0")
    p = world.start(stack, "spin", tally, flag)
    equal("the reader", p.stdout.readline(), "ready\n")
    watch = world.tool.watch(stack, [*OPTIONS, "--cgroup", group])
    watch.wait_started()
    with open(flag, "r+b") as f, mmap.mmap(f.fileno(), 1) as state:
        for place in group, root:
            state[0] += 1
            enter_cgroup(place, p.pid)
            state[0] += 1
            watch.wait_intervals(2)
        state[0] += 1
    equal("exit status of the reader", p.wait(), 0)
    watch.interrupt()
    _, job, _ = watch.end()
    counts = lines_of(tally)[0]["counts"]
    got = on_device(job, world.dev)["read_calls"]
    part.note(f"{got} counted; before, while it went in, inside, while it went out, after: {counts}")
    # A read may come late after the state was checked.
    check(counts[2] - 1 <= got <= sum(counts[1:4]) + 1, f"{got} reads counted")
    equal("processes", job["processes"], 1)
    equal("alive at the end", job["alive_at_end"], 0)


for each in (exec_from_thread, ends_meanwhile, moved_while_it_reads):
    for cgroup_version in (2, 1):
        cgroup_case(cgroup_version, each)


def memory_limit(group, size):
    for name in ("memory.limit_in_bytes", "memory.max"):
        path = os.path.join(group, name)
        if os.path.exists(path):
            with open(path, "w") as f:
                f.write(str(size))
            return
    raise Skipped("no memory controller in that hierarchy")


def reclaimed_below_an_overlay(world, stack, root):
    """A file of 64 MiB in a group limited to 24. The layer's file loses the pages, under its
    name in the overlay; every page that was added and is not cached was evicted."""
    dirs = {d: f"{world.data}/overlay-{d}" for d in ("lower", "upper", "work")}
    for d in dirs.values():
        os.mkdir(d)
        stack.callback(shutil.rmtree, d)
    place = world.tool.fresh(".overlay")
    machine.mount(stack, "-t", "overlay", "-o",
                  ",".join(f"{d}dir={path}" for d, path in dirs.items()), "overlay", place)
    lower = fill(f"{dirs['lower']}/large", SQUEEZED_PAGES)
    group = machine.cgroup(stack, root, f"cachemon-squeezed-{os.getpid()}")
    memory_limit(group, 24 << 20)
    tally = world.tool.fresh(".tally")
    watch = world.tool.watch(stack, OPTIONS, world.argv("squeezed", tally, f"{place}/large", lower,
                                                        group))
    _, job, _ = watch.end()
    line, = lines_of(tally)
    entry = file_of(job, world.dev, os.stat(lower).st_ino)
    check(entry, "the layer's file has no entry")
    equal("name", raw_path(entry), f"{place}/large".encode())
    totals = entry["totals"]
    for name in ("read_calls", "read_bytes", "lookups"):
        equal(name, totals[name], line[name])
    evicted = totals["evicted_pages"]
    came = totals["demand_pages"] + totals["prefetched_pages"]
    equal("evicted", sum(evicted.values()), came - line["cached"])
    check(came > SQUEEZED_PAGES and evicted["reclaim_memcg"] > 0, f"nothing was squeezed: {evicted}")
    equal("entries of that size", [e["path"] for e in named_files(job)
                                   if e["totals"]["lookups"] >= SQUEEZED_PAGES], [f"{place}/large"])


for cgroup_version in (2, 1):
    cgroup_case(cgroup_version, reclaimed_below_an_overlay)


if __name__ == "__main__":
    sys.exit(main(part))
