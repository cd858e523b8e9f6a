#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A job whose memory limit kills processes: the summary, the report and JSON say so, and only
for such a job."""

import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.tool import tail  # noqa: E402
from syslib.world import World  # noqa: E402

part = Part(__doc__)
LIMIT = 64 << 20
PYTHON = "/usr/bin/python3"
# Enters a cgroup; on command, takes all memory or a signal.
JOB = """import os, sys
for place in sys.argv[1:-1]:
    open(place, "w").write(str(os.getpid()))
print("ready", flush=True)
sys.stdin.readline()
if sys.argv[-1] == "hog":
    x = bytearray(1 << 30)
os.kill(os.getpid(), int(sys.argv[-1]))
"""


def limited(stack, name):
    """(directory, file by which a process enters) of a cgroup with a limit and without swap."""
    v1 = machine.v1_root()
    root = v1 or machine.v2_root()
    if not root:
        raise Skipped("no cgroup hierarchy that limits memory")
    if not v1:
        with open(os.path.join(root, "cgroup.subtree_control"), "w") as f:
            f.write("+memory")
    path = machine.cgroup(stack, root, f"cachemon-{name}-{os.getpid()}")
    with open(f"{path}/{'memory.limit_in_bytes' if v1 else 'memory.max'}", "w") as f:
        f.write(str(LIMIT))
    for swap, value in (("memory.memsw.limit_in_bytes", LIMIT), ("memory.swap.max", 0)):
        if os.path.exists(f"{path}/{swap}"):
            with open(f"{path}/{swap}", "w") as f:
                f.write(str(value))
    return path


def job(stack, path, end):
    p = subprocess.Popen([PYTHON, "-I", "-c", JOB, f"{path}/cgroup.procs", end], text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    stack.callback(lambda: (p.poll() is None and p.kill(), p.wait()))
    equal("the job", p.stdout.readline(), "ready\n")
    return p


def kill(world, stack, path, select, end, earlier=()):
    for before in earlier:
        p = job(stack, path, before)
        p.communicate("\n")
    p = job(stack, path, end)
    watch = world.tool.watch(stack, [*select(p), "--interval", "100ms"])
    watch.wait_started()
    p.communicate("\n")
    equal("status of the job", p.returncode, -signal.SIGKILL)
    if watch.process.poll() is None:
        watch.wait_intervals(1) if "--cgroup" in select(p) else None
        watch.interrupt()
    _, found, _ = watch.end()
    return (found["oom_kills"], watch.errors, *judged(world, watch))


def judged(world, watch):
    """(report, text of the finding or None)"""
    text = world.tool.run("report", "--db", watch.db)
    advised = json.loads(world.tool.run("advise", "--db", watch.db, "--format", "json"))
    said = [f["summary"] for j in advised["jobs"] for f in j["findings"] if f["id"] == "job-limit-oom"]
    return " ".join(text.split()), said


def expect(got, kills):
    oom_kills, errors, text, found = got
    equal("oom_kills", oom_kills, kills)
    equal("findings", len(found), bool(kills))
    for said in found:
        check(said.startswith("the memory limit of 64 MiB killed 1 process"), f"finding: {said}")
    for where, said in (("summary", errors), ("report", text)):
        check(("The job's memory limit (64.0 MiB) killed 1 process:" in said) == bool(kills),
              f"{where}: {tail(said)}")


@part.case
def cgroup(world, stack):
    path = limited(stack, "oom")
    expect(kill(world, stack, path, lambda p: ["--cgroup", path], "hog"), 1)


@part.case
def process_in_a_cgroup(world, stack):
    path = limited(stack, "oom")
    expect(kill(world, stack, path, lambda p: ["--pid", str(p.pid)], "hog"), 1)


def below_it(stack, path):
    """A cgroup below that one, with the memory controller enabled on the way if needed."""
    if not machine.v1_root():
        with open(f"{path}/cgroup.subtree_control", "w") as f:
            f.write("+memory")
    return machine.cgroup(stack, path, "below")


@part.case
def limit_above(world, stack):
    """The job's own cgroup has no limit; the one above it has."""
    path = limited(stack, "oom")
    below = below_it(stack, path)
    expect(kill(world, stack, below, lambda p: ["--cgroup", below], "hog"), 1)


@part.case
def cgroup_below(world, stack):
    """The job is a cgroup; the killed process is in one below it."""
    path = limited(stack, "oom")
    below = below_it(stack, path)
    expect(kill(world, stack, below, lambda p: ["--cgroup", path], "hog"), 1)


@part.case
def killed_by_somebody(world, stack):
    """Status 137 too, in a limited cgroup where others were killed before."""
    path = limited(stack, "oom")
    expect(kill(world, stack, path, lambda p: ["--cgroup", path], str(int(signal.SIGKILL)),
                earlier=["hog"]), 0)


@part.case
def killed_earlier(world, stack):
    path = limited(stack, "oom")
    expect(kill(world, stack, path, lambda p: ["--cgroup", path], "hog", earlier=["hog", "hog"]),
           1)


@part.case
def command(world, stack):
    """Killed before the first interval ends; the status is the command's."""
    path = limited(stack, "oom")
    enter = "echo $$ > $0/cgroup.procs; echo ready; read go; exec \"$@\""
    watch = world.tool.watch(stack, ["--interval", "100ms"],
                             ["sh", "-c", enter, path, PYTHON, "-I", "-c", "x = bytearray(1 << 30)"],
                             stdin=subprocess.PIPE)
    equal("the command", watch.process.stdout.readline(), "ready\n")
    watch.wait_intervals(2)
    watch.process.stdin.write("\n")
    watch.process.stdin.flush()
    _, found, _ = watch.end(status=137)
    expect((found["oom_kills"], watch.errors, *judged(world, watch)), 1)


if __name__ == "__main__":
    sys.exit(part.main(World))
