#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A node with thousands of cgroups and processes: memory and CPU time of its daemon while they
sleep, and the counts of a job that forks 2,000 processes a second among them."""

import contextlib
import os
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fault"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from control_groups import remove_cgroup  # noqa: E402
from faultlib.part import Part, Skipped, expect, wait_until  # noqa: E402
from faultlib.watch import Db  # noqa: E402

part = Part("node_crowd", __doc__, count=("jobs, each with 5 cgroups and 25 processes", 400, 100))
SLOTS = 255
IN_JOB = 25
MEMORY_BYTES = 64 << 20  # without the maps of the programs
IDLE_S, IDLE_SHARE = 30, 0.01
STORM, STORM_RATE = 10000, 2000
WAIT_S = 300


def root():
    for top in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if os.path.exists(f"{top}/cgroup.controllers"):
            return top
    raise Skipped("no cgroup v2 here")


class Node:
    """The scope of Slurm's daemon, and the daemon that watches its jobs."""

    def __init__(self, case):
        self.case = case
        self.number = 100000 + os.getpid() % 100000 * 10
        slice_ = f"{root()}/system.slice"
        if not os.path.isdir(slice_):
            os.mkdir(slice_)
            case.defer(os.rmdir, slice_)
        self.scope = f"{slice_}/crowd{os.getpid()}_slurmstepd.scope"
        os.mkdir(self.scope)
        case.defer(remove_cgroup, self.scope, wait_until)
        self.db = Db(case.path("node.db"))

    def job(self, number, *words):
        """Words of crowd.c, in a job of its own."""
        place = self.scope
        for name in (f"job_{number}", "step_0", "user", "task_0"):
            place += "/" + name
            os.mkdir(place)
        os.mkdir(f"{os.path.dirname(place)}/../slurm")
        process = subprocess.Popen([self.case.helper("crowd"), *map(str, words)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.case.adopt(process)
        with open(f"{place}/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(process.pid))
        return process

    def start(self):
        config = self.case.path("node.yaml")
        with open(config, "w", encoding="ascii") as f:
            f.write(f"interval: 10s\njobs:\n  kinds: [slurm]\n  include: ['slurm:{self.number // 10}*']\n"
                    f"socket:\n  path: {self.case.path('run')}/socket\n")
        self.daemon = subprocess.Popen([part.options.cachemon, "daemon", "--config", config, "--db", self.db.path],
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.case.adopt(self.daemon)

    def runs(self):
        """Those that have an interval."""
        with contextlib.suppress(sqlite3.OperationalError):  # it may have no tables yet
            return self.db.one("SELECT count(DISTINCT run_id) FROM interval")
        return 0

    def wait_all(self, runs):
        wait_until(lambda: self.daemon.poll() is None and self.runs() >= runs, f"{runs} runs", WAIT_S, 0.5)

    def cpu_s(self):
        with open(f"/proc/{self.daemon.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        with open(f"/proc/{self.daemon.pid}/status", encoding="ascii") as f:
            return int(next(line for line in f if line.startswith("RssAnon")).split()[1]) << 10


@part.case("a crowd that sleeps, and a fork storm in it")
def crowd(case):
    jobs = part.options.count
    node = Node(case)
    path = case.path("page")
    with open(path, "wb") as f:
        f.write(bytes(4096))
    number = f"{node.number // 10}999"
    # It has a slot, and waits.
    storm = node.job(number, "storm", STORM, STORM_RATE, path)
    node.start()
    node.wait_all(1)
    sleepers = [node.job(f"{node.number // 10}{i:03d}", "sleep", IN_JOB) for i in range(jobs)]
    for sleeper in sleepers:
        sleeper.stdin.close()
        expect(sleeper.stdout.readline() == "there\n", "a crowd did not start")
    node.wait_all(min(jobs + 1, SLOTS))
    before, began = node.cpu_s(), time.monotonic()
    time.sleep(IDLE_S)  # the thing measured: the CPU time of this time
    share = (node.cpu_s() - before) / (time.monotonic() - began)
    memory = node.memory()
    out, _ = storm.communicate()
    remove_cgroup(f"{node.scope}/job_{number}", wait_until)
    wait_until(lambda: node.db.rows("SELECT 1 FROM job JOIN run ON run.id = run_id WHERE slot = 1 AND state = "
                                    f"'complete' AND selector LIKE '%job_{number}%'"), "its end", WAIT_S, 0.5)
    job = f"FROM job WHERE slot = 1 AND selector LIKE '%job_{number}%'"
    processes = node.db.one(f"SELECT processes {job}")
    calls = node.db.one(f"SELECT sum(read_calls) FROM file WHERE path = ? AND job_id = (SELECT id {job})",
                        os.fsencode(path))
    expect(calls == STORM and processes == STORM + 1,
           f"{calls} reads of {STORM} by {processes} processes of {STORM + 1}")
    told = (f"{jobs} jobs, {5 * jobs} cgroups, {IN_JOB * jobs} processes: {memory / (1 << 20):.1f} MiB, "
            f"{share:.2%} of a CPU in {IDLE_S} s; {STORM} forks in {float(out):.1f} s, all counted")
    expect(memory <= MEMORY_BYTES and share <= IDLE_SHARE, told)
    return told


if __name__ == "__main__":
    part.main()
