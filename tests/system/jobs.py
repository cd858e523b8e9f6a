#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The job is what was selected: all that it reads is counted, exactly, and nothing of others."""

import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine, treework  # noqa: E402
from syslib.machine import enter_cgroup, until  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import fill  # noqa: E402
from syslib.tool import Tool, on_device  # noqa: E402

FILES = 12
ME = os.path.abspath(__file__)
COUNTS = ("read_calls", "read_bytes", "lookups")
OPTIONS = ("--level", "full", "--interval", "200ms")

part = Part(__doc__)


class World:
    def __init__(self, args, work, stack):
        self.tool = Tool(args.cachemon, work)
        self.stranger_calls = 0
        self.data = os.path.join(work, "data")
        machine.filesystem(stack, "ext4", f"{work}/data.img", self.data)
        os.rmdir(f"{self.data}/lost+found")
        for i in range(FILES):
            fill(f"{self.data}/{i:02}", 20 + 7 * i, odd=i)
        self.dev = machine.device_of(self.data)

    def argv(self, verb, tally, *rest):
        return [sys.executable, ME, "--work", verb, self.data, tally, *map(str, rest)]

    def start(self, stack, verb, tally, *rest, **popen):
        p = subprocess.Popen(self.argv(verb, tally, *rest), stdout=subprocess.PIPE, text=True,
                             **popen)
        stack.callback(end_process, p)
        return p

    def stranger(self, stack):
        """Reads the same files all the time and belongs to nobody's job."""
        tally = self.tool.fresh(".stranger")
        p = subprocess.Popen([sys.executable, ME, "--stranger", self.data, tally])
        stack.callback(end_process, p)
        until(lambda: os.path.exists(tally), "the stranger reads")
        return p


def end_process(p):
    if p.poll() is None:
        p.kill()
    p.wait()


def lines_of(tally):
    with open(tally) as f:
        return [json.loads(line) for line in f]


def expect(world, job, lines):
    """The job's figures on the data's device are the sum of what the readers asked for."""
    got = on_device(job, world.dev)
    for name in COUNTS:
        equal(name, got[name], sum(line[name] for line in lines))
    equal("hits and misses", got["hits"] + got["misses"], got["lookups"])


def run_command(world, stack, verb, readers, processes, alive=0):
    tally = world.tool.fresh(".tally")
    stranger = world.stranger(stack)
    watch = world.tool.watch(stack, OPTIONS, world.argv(verb, tally))
    report, job, _ = watch.end()
    end_process(stranger)
    lines = lines_of(tally)
    equal("readers", len(lines), readers)
    expect(world, job, lines)
    equal("processes", job["processes"], processes)
    equal("alive at the end", job["alive_at_end"], alive)
    check(report["jobs"][-1]["totals"]["read_calls"] > 0, "the stranger's reads are nowhere")
    return job, lines, watch


@part.case
def command_forks(world, stack):
    run_command(world, stack, "forks", 1 + treework.CHILDREN, 1 + treework.CHILDREN)


@part.case
def command_double_forks(world, stack):
    run_command(world, stack, "double_forks", treework.CHILDREN, 1 + 2 * treework.CHILDREN)


@part.case
def command_exec_chain(world, stack):
    run_command(world, stack, "exec_chain", treework.CHAIN, 1)


@part.case
def command_threads(world, stack):
    run_command(world, stack, "threads", treework.THREADS, 1)


@part.case
def command_exec_from_thread(world, stack):
    run_command(world, stack, "exec_from_thread", 3, 1)


@part.case
def command_fork_from_threads(world, stack):
    run_command(world, stack, "fork_from_threads", 2 * treework.THREADS, 1 + treework.THREADS)


@part.case
def command_spawned(world, stack):
    run_command(world, stack, "spawned", 3, 4)


@part.case
def command_outlived_by_daemon(world, stack):
    _, lines, watch = run_command(world, stack, "outlives", 1, 3, alive=1)
    os.kill(lines[0]["pid"], signal.SIGKILL)
    check("1" in watch.errors and ("outlive" in watch.errors or "alive" in watch.errors or
                                   "live on" in watch.errors or "still run" in watch.errors),
          f"the summary does not say that one lives on: {watch.errors!r}")


def attach(world, stack, verb, select):
    """A tree that stands, cachemon attached to it, and the go. Returns (job, lines)."""
    tally = world.tool.fresh(".tally")
    wait, go = os.pipe()
    process = world.start(stack, verb, tally, wait, pass_fds=[wait])
    os.close(wait)
    stack.callback(lambda: go is None or close(go))
    equal("the tree", process.stdout.readline(), "ready\n")
    world.stranger(stack)
    watch = world.tool.watch(stack, [*OPTIONS, *select(process)])
    watch.wait_started()
    close(go)
    _, job, _ = watch.end()
    equal("exit status of the tree", process.wait(), 0)
    return job, lines_of(tally)


def close(fd):
    try:
        os.close(fd)
    except OSError:
        pass


@part.case
def pid_with_descendants(world, stack):
    job, lines = attach(world, stack, "tree", lambda p: ["--pid", str(p.pid)])
    equal("readers", len(lines), treework.TREE_READERS)
    expect(world, job, lines)
    equal("processes", job["processes"], treework.TREE_PROCESSES)
    equal("alive at the end", job["alive_at_end"], 0)


@part.case
def pid_that_forks_meanwhile(world, stack):
    job, lines = attach(world, stack, "storm", lambda p: ["--pid", str(p.pid)])
    forked = [line["forked"] for line in lines if "forked" in line][0]
    processes = 1 + forked + (forked + 2) // 3
    equal("readers", len(lines), processes)
    expect(world, job, lines)
    equal("processes", job["processes"], processes)
    part.note(f"{processes} processes forked around the attachment")


@part.case
def job_name_is_a_pid(world, stack):
    job, lines = attach(world, stack, "tree", lambda p: ["--job", str(p.pid)])
    expect(world, job, lines)
    equal("processes", job["processes"], treework.TREE_PROCESSES)


class Obedient:
    """A process that does as it is told: see treework.loop()."""

    def __init__(self, world, stack, tally):
        self.process = world.start(stack, "loop", tally, stdin=subprocess.PIPE)

    def do(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        equal(f"answer to {words[0]}", self.process.stdout.readline(), "done\n")


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
    """A task that goes in, out, in again and into a nested group; others that stay out."""
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
    """Who is inside already, in the group or below it; a sibling whose name begins the same."""
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
    """The selected group is the inner one: its parent's tasks are others."""
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
    """--job alone finds the group by its last component, wherever it is nested."""
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
    """The last one leaves and the group is removed: the run ends, complete."""
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
    """A member that reads all the time, also while cachemon attaches: one process, counted once."""
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


@part.case
def cgroup_v1_single_thread(world, stack):
    """v1 groups hold threads: one thread inside, its process outside."""
    root = cgroup_root(1)
    tally = world.tool.fresh(".tally")
    group = machine.cgroup(stack, root, f"cachemon-thread-{os.getpid()}")
    p = Obedient(world, stack, tally)
    watch = world.tool.watch(stack, [*OPTIONS, "--cgroup", group])
    watch.wait_started()
    p.do("read", 0, "out")
    p.do("thread", group, "in")
    p.do("read", 2, "out")
    watch.wait_intervals(2)
    watch.interrupt()
    _, job, _ = watch.end()
    expect(world, job, inside(lines_of(tally)))


@part.case
def two_jobs_at_once(world, stack):
    """Two of them on the same files, each watched by its own cachemon."""
    jobs = []
    for _ in range(2):
        tally = world.tool.fresh(".tally")
        p = Obedient(world, stack, tally)
        jobs.append((p, tally, world.tool.watch(stack, [*OPTIONS, "--pid", str(p.process.pid)])))
    for _, _, watch in jobs:
        watch.wait_started()
    for share in range(3):
        for p, _, _ in jobs:
            p.do("read", share, "in")
            p.do("fork", share + 1, "in")
    jobs[1][0].do("read", 0, "in")
    for p, tally, watch in jobs:
        watch.wait_intervals(2)
        watch.interrupt()
        _, job, _ = watch.end()
        expect(world, job, lines_of(tally))
        equal("processes", job["processes"], 4)


@part.case
def unknown_job_names_what_was_tried(world, stack):
    watch = world.tool.watch(stack, ["--job", f"no-such-job-{os.getpid()}"])
    _, errors = watch.finish()
    equal("exit status", watch.process.returncode, 1)
    for kind in ("Slurm", "unit", "container", "cgroup", "pid"):
        check(kind in errors, f"'{kind}' is not named: {errors!r}")
    check(not os.path.exists(watch.db), "a database was made for nothing")


def strange(data, tally):
    job = treework.Job("stranger", data, tally)
    job.read_and_tell()
    while True:
        job.read(0, 3)


def main():
    if sys.argv[1:2] == ["--work"]:
        return treework.work(*sys.argv[2:])
    if sys.argv[1:2] == ["--stranger"]:
        return strange(*sys.argv[2:])
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
