#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cachemon inside pid namespaces, as in a container: the job is found and counted exactly."""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine, treework  # noqa: E402
from syslib.jobworld import OPTIONS, expect, lines_of, main  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.tool import tail  # noqa: E402

part = Part(__doc__)
INSIDE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
FOREIGN_PROC = ["unshare", "--pid", "--fork", "--kill-child"]
# Starts a tree ($2 is in it), attaches cachemon, then lets it go: within one namespace.
ATTACH = """
import os, subprocess, sys, time, sqlite3, contextlib
db, cachemon, options, job = sys.argv[1], sys.argv[2], sys.argv[3].split(), sys.argv[4:]
wait, go = os.pipe()
tree = subprocess.Popen([*job, str(wait)], pass_fds=[wait], stdout=subprocess.PIPE)
os.close(wait)
assert tree.stdout.readline() == b"ready\\n"
watch = subprocess.Popen([cachemon, "watch", "--db", db, *options, "--pid", str(tree.pid)])
def intervals():
    with contextlib.suppress(sqlite3.Error):
        with contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as d:
            return d.execute("SELECT max(id) FROM interval").fetchone()[0]
while watch.poll() is None and not intervals():
    time.sleep(0.01)
os.close(go)
status = tree.wait()
sys.exit(watch.wait() or status)
"""


def run(argv, status=0, **kwargs):
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=120, **kwargs)
    equal(f"status of {argv[0]} ({tail(done.stderr)})", done.returncode, status)
    return done


def names_of(world, job):
    return {e["path"] for e in job["files"] if e["path"] and e["path"].startswith(world.data)}


def forks_in(world, stack, *prefix):
    tally, db = world.tool.fresh(".tally"), world.tool.fresh(".db")
    world.stranger(stack)
    run([*prefix, world.args.cachemon, "watch", "--db", db, *OPTIONS, "--",
         *world.argv("forks", tally)])
    _, job = world.tool.report(db)
    lines = lines_of(tally)
    equal("readers", len(lines), 1 + treework.CHILDREN)
    expect(world, job, lines)
    equal("processes", job["processes"], 1 + treework.CHILDREN)
    check(names_of(world, job), "no file of the job has its name")


@part.case
def command(world, stack):
    forks_in(world, stack, *INSIDE)


@part.case
def command_two_levels_down(world, stack):
    forks_in(world, stack, *INSIDE, *INSIDE)


@part.case
def command_with_the_proc_of_another(world, stack):
    """/proc has other numbers than fork() returns: the command is found nevertheless."""
    forks_in(world, stack, *FOREIGN_PROC)


@part.case
def command_two_levels_below_its_proc(world, stack):
    forks_in(world, stack, *INSIDE, *FOREIGN_PROC, *FOREIGN_PROC)


def tree_in(world, stack, *prefix):
    tally, db = world.tool.fresh(".tally"), world.tool.fresh(".db")
    world.stranger(stack)
    run([*prefix, sys.executable, "-c", ATTACH, db, world.args.cachemon, " ".join(OPTIONS),
         *world.argv("tree", tally)])
    _, job = world.tool.report(db)
    expect(world, job, lines_of(tally))
    equal("processes", job["processes"], treework.TREE_PROCESSES)
    equal("alive at the end", job["alive_at_end"], 0)


@part.case
def pid(world, stack):
    tree_in(world, stack, *INSIDE)


@part.case
def pid_two_levels_down(world, stack):
    tree_in(world, stack, *INSIDE, *INSIDE)


@part.case
def pid_with_the_proc_of_another(world, stack):
    """Refused, because a process id could mean different processes."""
    done = run([*FOREIGN_PROC, world.args.cachemon, "watch", "--db", world.tool.fresh(".db"),
                "--pid", "1", "--duration", "1s"], status=1)
    check("another pid namespace" in done.stderr, f"not refused for that: {done.stderr!r}")


@part.case
def pid_of_a_namespace_below(world, stack):
    """From outside: a process and its descendants that have other numbers inside."""
    tally, (wait, go) = world.tool.fresh(".tally"), os.pipe()
    process = subprocess.Popen([*INSIDE, *world.argv("tree", tally, wait)], pass_fds=[wait],
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    stack.callback(lambda: process.poll() is None and process.kill())
    os.close(wait)
    equal("the tree", process.stdout.readline(), "ready\n")
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as f:
        root = f.read().split()[0]
    with open(f"/proc/{root}/status") as f:
        own = re.search(r"NSpid:\t\d+\t(\d+)\n", f.read())
    check(own and own[1] == "1", "the root of the tree is not the first of a namespace")
    watch = world.tool.watch(stack, [*OPTIONS, "--pid", root])
    watch.wait_started()
    os.close(go)
    _, job, _ = watch.end()
    equal("status of the tree", process.wait(), 0)
    expect(world, job, lines_of(tally))
    equal("processes", job["processes"], treework.TREE_PROCESSES)


@part.case
def selftest(world, _):
    done = run([*INSIDE, world.args.cachemon, "selftest", "--dir", world.data])
    check("all figures are exact" in done.stdout, done.stdout)


@part.case
def proc_that_hides(world, stack):
    """With hidepid=2 root sees all; a user who may measure gets an error that says so."""
    hide = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "sh", "-c",
            "mount -t proc -o hidepid=2 proc /proc && exec \"$@\"", "sh"]
    tree_in(world, stack, *hide)
    caps = "+bpf,+perfmon"
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
            "--inh-caps", f"-all,{caps}", "--ambient-caps", f"-all,{caps}"]
    done = run([*hide, "sh", "-c", "sleep 60 & exec \"$@\" --pid $!", "sh", *user,
                world.args.cachemon, "watch", "--db", "/nonexistent/x.db", "--duration", "1s"],
               status=1)
    check("hides process" in done.stderr and "hidepid" in done.stderr,
          f"not said that it is hidden: {done.stderr!r}")


@part.case
def proc_of_a_stranger(world, stack):
    """/proc does not show cachemon itself: numbers in it mean nothing there."""
    other = subprocess.Popen([*INSIDE, "sleep", "300"])
    stack.callback(other.wait)
    stack.callback(other.kill)

    def child():
        with open(f"/proc/{other.pid}/task/{other.pid}/children") as f:
            return f.read().split()
    first = machine.until(child, "the namespace has a process")[0]
    machine.until(lambda: os.path.exists(f"/proc/{first}/root/proc/1/status"), "its /proc")
    # The mounts of the other process, in cachemon's own pid namespace.
    done = run(["nsenter", "--target", first, "--mount", world.args.cachemon, "watch", "--db",
                world.tool.fresh(".db"), "--pid", "1", "--duration", "1s"], status=1)
    check("another pid namespace" in done.stderr or "is /proc mounted" in done.stderr,
          f"not refused for that: {done.stderr!r}")


if __name__ == "__main__":
    sys.exit(main(part))
