#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The job is exactly what was selected: all of its reads are counted, and none of others."""

import contextlib
import os
import re
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import treework  # noqa: E402
from syslib.jobworld import (OPTIONS, Obedient, end_process, expect, lines_of,  # noqa: E402
                             main)
from syslib.part import Failed, Part, check, equal  # noqa: E402
from syslib.machine import until  # noqa: E402
from syslib.reader import build  # noqa: E402
from syslib.reads import cached_pages, drop  # noqa: E402
from syslib.tool import file_of, raw_path  # noqa: E402

part = Part(__doc__)
LOOKS = 5
part.count_option("attachments", 20, 4, "attachments to trees that change")


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
    check(f"1 of its descendants still runs: {lines[0]['pid']} " in watch.errors,
          f"not said that one lives on, and which: {watch.errors!r}")
    check("cachemon watch --pid" in watch.errors, "not said how to follow it")


@part.case
def command_daemonises(world, stack):
    """A job that ends at once without reads gets no praise."""
    for children, daemonise in (
            (1, "setsid sleep 60 >/dev/null 2>&1 & exit 3"),
            (2, "exec >/dev/null 2>&1; sleep 60 & setsid sh -c 'sleep 61 & exit' & wait $!; exit 3")):
        watch = world.tool.watch(stack, OPTIONS, ["sh", "-c", daemonise])
        report, job, _ = watch.end(status=3)
        equal("alive at the end", job["alive_at_end"], children)
        said = re.search(r"descendants still runs?: ((?:\d+ \S+?(?:, )?)+);", watch.errors)
        pids = [int(p) for p in re.findall(r"\d+", said[1])] if said else []
        equal("processes that are named", len(pids), children)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        equal("grade", job["grades"]["overall"], None)


@part.case
def command_with_nothing_left(world, stack):
    watch = world.tool.watch(stack, OPTIONS, ["sh", "-c", "sleep 0.01 & wait"])
    watch.end()
    check("descendants" not in watch.errors, f"one lives on? {watch.errors!r}")


def attach(world, stack, verb, select, environment=lambda _: None):
    """Starts a tree of processes, attaches cachemon, then lets the tree go. Returns (job, lines,
    report)."""
    tally = world.tool.fresh(".tally")
    wait, go = os.pipe()
    process = world.start(stack, verb, tally, wait, pass_fds=[wait], start_new_session=True)
    os.close(wait)
    stack.callback(lambda: go is None or close(go))
    equal("the tree", process.stdout.readline(), "ready\n")
    world.stranger(stack)
    watch = world.tool.watch(stack, [*OPTIONS, *select(process)], env=environment(process))
    watch.wait_started()
    close(go)
    report, job, _ = watch.end()
    equal("exit status of the tree", process.wait(), 0)
    return job, lines_of(tally), report


def close(fd):
    try:
        os.close(fd)
    except OSError:
        pass


@part.case
def pid_with_descendants(world, stack):
    job, lines, _ = attach(world, stack, "tree", lambda p: ["--pid", str(p.pid)])
    equal("readers", len(lines), treework.TREE_READERS)
    expect(world, job, lines)
    equal("processes", job["processes"], treework.TREE_PROCESSES)
    equal("alive at the end", job["alive_at_end"], 0)


def attach_often(function):
    """Repeated, because its errors happen within moments."""
    def case(world, stack):
        for _ in range(world.args.attachments):
            with contextlib.ExitStack() as inner:
                function(world, inner)
    case.__name__ = function.__name__
    return part.case(case)


@attach_often
def pid_that_forks_meanwhile(world, stack):
    job, lines, _ = attach(world, stack, "storm", lambda p: ["--pid", str(p.pid)])
    forked = [line["forked"] for line in lines if "forked" in line][0]
    processes = 1 + forked + (forked + 2) // 3
    equal("readers", len(lines), processes)
    expect(world, job, lines)
    equal("processes", job["processes"], processes)
    part.note(f"{processes} processes forked around the attachment")


@attach_often
def pid_whose_parents_end_meanwhile(world, stack):
    """A parent may be gone before anybody can look at it."""
    job, lines, _ = attach(world, stack, "walkers", lambda p: ["--pid", str(p.pid)])
    equal("readers", len(lines), 1 + treework.WALKERS)
    expect(world, job, lines)
    equal("alive at the end", job["alive_at_end"], 0)


@part.case
def pid_whose_descendants_are_never_seen(world, stack):
    """All processes except the first have ended before cachemon looks at them."""
    library = build(world.tool.work, "late_look", "-shared", "-fPIC")
    job, lines, _ = attach(world, stack, "walkers", lambda p: ["--pid", str(p.pid)],
                           lambda p: {**os.environ, "LD_PRELOAD": library, "LATE_SESSION": str(p.pid)})
    equal("readers", len(lines), 1 + treework.WALKERS)
    expect(world, job, lines)
    equal("alive at the end", job["alive_at_end"], 0)


@part.case
def pid_of_more_than_have_room(world, stack):
    """Processes fork while they are taken in until the map of names is full: skipped processes
    are reported, and the end of the job is detected."""
    library = build(world.tool.work, "small_seeds", "-shared", "-fPIC")
    job, lines, report = attach(world, stack, "walkers", lambda p: ["--pid", str(p.pid)],
                                lambda p: {**os.environ, "LD_PRELOAD": library})
    equal("readers", len(lines), 1 + treework.WALKERS)
    equal("alive at the end", job["alive_at_end"], 0)
    check(report["run"]["losses"]["state_drops"] > 0, "all had room: this tests nothing")


@part.case
def pid_with_zombies(world, stack):
    """A process that has ended does not belong to the job and does not disturb it; one whose
    first thread has ended does belong."""
    job, lines, _ = attach(world, stack, "zombies", lambda p: ["--pid", str(p.pid)])
    equal("readers", len(lines), 2)
    expect(world, job, lines)
    equal("processes", job["processes"], 2)
    equal("alive at the end", job["alive_at_end"], 0)


@part.case
def pid_that_goes_on(world, stack):
    """The job reads while the watch ends: the kernel's byte count equals that of the counted calls,
    except for reads between two successive checks, between which cachemon may lose its CPU, though
    not each time."""
    p = world.stranger(stack)
    for _ in range(LOOKS):
        watch = world.tool.watch(stack, [*OPTIONS, "--pid", str(p.pid)])
        watch.wait_intervals(4)
        watch.interrupt()
        _, job, _ = watch.end()
        off = job["rchar_bytes"] - job["totals"]["read_bytes"]
        a_millisecond = job["totals"]["read_bytes"] * 10**6 // job["wall_ns"]
        part.note(f"{off} bytes off; it reads {a_millisecond} in a millisecond")
        if abs(off) < a_millisecond:
            return
    raise Failed(f"{LOOKS} times more than a millisecond's bytes are in one of the two alone")


@part.case
def dropped_by_a_stranger(world, stack):
    """Through another link of the file: the job loses its pages, for that cause, under its own
    name."""
    tally = world.tool.fresh(".tally")
    path, link = f"{world.data}/00", f"{world.data}/link"
    with open(path, "rb") as f:
        drop(f.fileno())
    p = Obedient(world, stack, tally)
    p.do("fork", 1, "names are known")
    os.link(path, link)
    stack.callback(os.unlink, link)
    watch = world.tool.watch(stack, [*OPTIONS, "--pid", str(p.process.pid)])
    watch.wait_started()
    p.do("read", 0, "in")
    with open(link, "rb") as f:
        pages = cached_pages(f.fileno())
        drop(f.fileno())
    watch.wait_intervals(2)
    watch.interrupt()
    _, job, _ = watch.end()
    entry = file_of(job, world.dev, os.stat(path).st_ino)
    check(pages and entry, f"{pages} pages of the file were cached, its entry: {entry}")
    equal("name", raw_path(entry), path.encode())
    evicted = entry["totals"]["evicted_pages"]
    equal("evicted", {k: v for k, v in evicted.items() if v}, {"dontneed": pages})


@part.case
def job_of_a_kind(world, stack):
    """The process found is reported, with its user and command."""
    job, lines, _ = attach(world, stack, "tree", lambda p: ["--job", f"pid:{p.pid}"])
    expect(world, job, lines)
    equal("processes", job["processes"], treework.TREE_PROCESSES)
    check(re.fullmatch(r"pid: \d+, command: python3\S*, uid: 0", job["selector"]),
          f"selected by {job['selector']!r}")


def refused(world, stack, words, *options, status=1):
    watch = world.tool.watch(stack, options)
    _, errors = watch.finish()
    equal(f"exit status of {options} ({errors.strip()!r})", watch.process.returncode, status)
    for word in words:
        check(word in errors, f"'{word}' is not in {errors!r}")
    check(not os.path.exists(watch.db), "a database was made for nothing")


@part.case
def jobs_that_are_refused(world, stack):
    """A number without a kind, kinds that are not found, threads of the kernel."""
    p = world.stranger(stack)
    refused(world, stack, [f"pid:{p.pid}", f"slurm:{p.pid}"], "--job", str(p.pid))
    refused(world, stack, ["running pod", "/var/log/pods"], "--job", "pod:default/web")
    refused(world, stack, ["virtual machine"], "--vm", "guest")
    refused(world, stack, ["running container", "/var/lib/docker"], "--container", "web")
    refused(world, stack, ["another option", "--vm"], "--pid", str(p.pid), "--vm", "guest", status=2)
    refused(world, stack, ["Slurm"], "--job", f"slurm:{p.pid}")
    refused(world, stack, ["slurm"], "--job", "slurm:", status=2)
    refused(world, stack, ["process id"], "--job", "pid:x")
    for pid in kernel_threads():
        refused(world, stack, ["kernel thread"], "--pid", str(pid))
        refused(world, stack, ["kernel thread"], "--job", f"pid:{pid}")


def kernel_threads():
    """The first kernel thread, and one of its children other than a kworker, which may end."""
    with open("/proc/2/task/2/children") as f:
        for pid in f.read().split():
            with open(f"/proc/{pid}/comm") as comm:
                if not comm.read().startswith("kworker"):
                    return 2, int(pid)


@part.case
def pid_is_a_thread(world, stack):
    """The process of the thread, even if its first thread has ended."""
    for verb in ("loop_in_threads", "loop_without_leader"):
        tally = world.tool.fresh(".tally")
        p = Obedient(world, stack, tally, verb)
        task = f"/proc/{p.process.pid}/task"
        until(lambda: len(os.listdir(task)) > 1, "another thread")
        tid = max(int(t) for t in os.listdir(task))
        watch = world.tool.watch(stack, [*OPTIONS, "--pid", str(tid)])
        watch.wait_started()
        p.do("read", 0, "in")
        p.do("fork", 1, "in")
        watch.wait_intervals(2)
        watch.interrupt()
        _, job, _ = watch.end()
        expect(world, job, lines_of(tally))
        equal("processes", job["processes"], 2)
        check(f"pid: {p.process.pid}, " in watch.errors, f"not said which: {watch.errors!r}")


@part.case
def two_jobs_at_once(world, stack):
    """Two jobs on the same files, each watched by its own cachemon."""
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
    for kind in ("slurm", "unit", "container", "cgroup", "pid"):
        check(kind in errors, f"'{kind}' is not named: {errors!r}")
    check(not os.path.exists(watch.db), "a database was made for nothing")


if __name__ == "__main__":
    sys.exit(main(part))
