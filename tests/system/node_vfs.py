#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Calls of files and directories in the metrics of a node's daemon: those that jobs counted
themselves, at the ends of system calls or of functions, and of nobody else."""

import contextlib
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from daemon import make_groups  # noqa: E402
from metrics import value  # noqa: E402
from node_metrics import Front, jobid  # noqa: E402
from syslib import machine, vfs_work  # noqa: E402
from syslib.jobworld import main  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402

part = Part(__doc__)
FUNCTIONS = ("vfs_read", "vfs_readv", "vfs_write", "vfs_writev", "vfs_open", "vfs_mkdir", "vfs_rmdir", "vfs_unlink")


# What vfs32.c does.
OLD = {"calls": {"read": 3, "write": 4, "open": 4, "mkdir": 3, "rmdir": 2, "unlink": 3},
       "errors": {"read": 0, "write": 0, "open": 1, "mkdir": 1, "rmdir": 0, "unlink": 1},
       "bytes": {"read": 1 + 100 + 600, "write": 1000 + 200 + 600 + 1}, "created": 2}


class Worker:
    def __init__(self, world, stack, n):
        self.process = subprocess.Popen([sys.executable, vfs_work.__file__, f"{world.data}/{id(self)}", str(n)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        stack.callback(self.process.wait)
        stack.callback(self.process.kill)
        self.process.stdout.readline()

    def begin(self):
        self.process.stdin.write(b"x")
        self.process.stdin.flush()

    def account(self):
        line = self.process.stdout.readline()
        did = json.loads(line)
        did["calls"]["write"] += 1
        did["bytes"]["write"] += len(line)
        return did


def live(series, role):
    return value(series, "probe_live", role=role)


def shown(series, group, mount):
    """As the account of a worker. No regular file is on another mount."""
    job = jobid(group)

    def of(name, mounts, **labels):
        return sum(value(series, f"job_vfs_{name}_total", jobid=job, mount=m, **labels) for m in mounts)

    def by_call(name, mounts, calls):
        return {c: of(name, mounts, call=c) for c in calls}

    everywhere = ("", mount)
    files, others = ("read", "write", "open"), ("mkdir", "rmdir", "unlink")
    mounts = {dict(labels).get("mount") for n, labels in series
              if n.startswith("cachemon_job_vfs_") and ("jobid", job) in labels}
    equal(f"mounts of {group}", mounts - {None}, set(everywhere))
    return {"calls": {**by_call("calls", everywhere, files), **by_call("calls", ("",), others)},
            "errors": {c: value(series, "job_vfs_errors_total", jobid=job, call=c) for c in vfs_work.KINDS},
            "bytes": by_call("bytes", everywhere, ("read", "write")),
            "created": of("created_files", (mount,)),
            "file_calls": by_call("calls", (mount,), files),
            "file_bytes": by_call("bytes", (mount,), ("read", "write"))}


def count(world, stack, mode):
    """Two jobs at once, and a process that is in no job."""
    groups = make_groups(stack, 2, mode)
    front = Front(world, stack, groups, options=("--vfs", mode))
    front.daemon.wait_runs(2)
    workers = [Worker(world, stack, n) for n in (40, 60, 50)]
    for group, worker in zip(groups, workers):
        machine.enter_cgroup(group, worker.process.pid)
    for worker in workers:
        worker.begin()
    did = [worker.account() for worker in workers]
    check(all(did[0]["errors"].values()), f"each kind of call fails sometimes: {did[0]}")
    series = front.until(lambda s: all(shown(s, g, world.data)["calls"]["write"] >= d["calls"]["write"]
                                       for g, d in zip(groups, did)), "the last call")
    for group, own in zip(groups, did):
        equal(f"calls of {group}", shown(series, group, world.data), own)
        equal(f"created without a mount, {group}",
              value(series, "job_vfs_created_files_total", jobid=jobid(group), mount=""), 0)
    front.daemon.end()
    return series


@part.case
def by_system_calls(world, stack):
    series = count(world, stack, "calls")
    equal("the role", live(series, "vfs_calls"), 1)
    equal("roles of functions", [r for r in FUNCTIONS if live(series, r)], [])


def by_old_numbers(world, stack, mode, bits):
    """A program that uses the numbers of 32-bit programs' system calls; its series."""
    if os.uname().machine != "x86_64":
        raise Skipped("numbers of 32-bit programs are known on x86 alone")
    place, program = f"{world.data}/old{mode}{bits}", world.tool.fresh(".old")
    os.mkdir(place)
    done = subprocess.run(["gcc", f"-m{bits}", "-nostdlib", "-static", "-ffreestanding", "-O1", "-no-pie", "-fno-pie",
                           "-fno-stack-protector", f'-DDIR="{place}"', "-o", program,
                           os.path.join(HERE, "vfs32.c")], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Skipped(f"no 32-bit programs are built here: {done.stderr.strip()[-200:]}")
    groups = make_groups(stack, 1, f"{mode}{bits}-")
    front = Front(world, stack, groups, options=("--vfs", mode))
    front.daemon.wait_runs(1)
    job = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    stack.callback(job.wait)
    stack.callback(job.kill)
    machine.enter_cgroup(groups[0], job.pid)
    job.stdin.write(b"x")
    job.stdin.flush()
    equal("its answer", len(job.stdout.read(1)), 1)
    series = front.until(lambda s: value(s, "job_wchar_bytes_total") >= OLD["bytes"]["write"], "its writes")
    front.daemon.end()
    return series, groups[0]


def sums(series, group):
    def of(name, **labels):
        return sum(v for (n, ls), v in series.items() if n == f"cachemon_job_vfs_{name}_total" and
                   {"jobid": jobid(group), **labels}.items() <= dict(ls).items())

    return {"calls": {c: of("calls", call=c) for c in vfs_work.KINDS},
            "errors": {c: of("errors", call=c) for c in vfs_work.KINDS},
            "bytes": {c: of("bytes", call=c) for c in ("read", "write")}, "created": of("created_files")}


@part.case
def of_32_bit_programs(world, stack):
    equal("calls", sums(*by_old_numbers(world, stack, "calls", 32)), OLD)
    if hooks_functions(world):
        equal("functions", sums(*by_old_numbers(world, stack, "functions", 32)), OLD)


@part.case
def by_numbers_of_others(world, stack):
    """A 64-bit program with the numbers of 32-bit ones: not mistaken for the calls that have these
    numbers otherwise."""
    nothing = {key: dict.fromkeys(of, 0) if isinstance(of, dict) else 0 for key, of in OLD.items()}
    equal("calls", sums(*by_old_numbers(world, stack, "calls", 64)), nothing)
    if hooks_functions(world):
        equal("functions", sums(*by_old_numbers(world, stack, "functions", 64)), OLD)


@part.case
def by_functions(world, stack):
    """Where they can be hooked; elsewhere nothing is shown."""
    if not hooks_functions(world):
        absent(world, stack, "functions")
        return
    series = count(world, stack, "functions")
    equal("roles of functions", [r for r in FUNCTIONS if not live(series, r)], [])
    equal("the role of system calls", live(series, "vfs_calls"), 0)


def hooks_functions(world):
    done = subprocess.run([world.tool.cachemon, "doctor", "--json"], check=False, capture_output=True, text=True)
    return any(t["kind"] == "fexit" and t["works"] for t in json.loads(done.stdout)["program_types"])


def absent(world, stack, mode):
    groups = make_groups(stack, 1, mode)
    front = Front(world, stack, groups, options=("--vfs", mode))
    front.daemon.wait_runs(1)
    worker = Worker(world, stack, 10)
    machine.enter_cgroup(groups[0], worker.process.pid)
    worker.begin()
    worker.account()
    with contextlib.suppress(ValueError):
        front.until(lambda s: value(s, "job_wchar_bytes_total") > 0, "the writes")
    series = front.series()
    equal("series", [n for n, _ in series if n.startswith("cachemon_job_vfs_")], [])
    for role in ("vfs_calls", *FUNCTIONS):
        equal(role, live(series, role), 0)
    front.daemon.end()


@part.case
def not_unless_asked(world, stack):
    absent(world, stack, "none")


if __name__ == "__main__":
    sys.exit(main(part))
