#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cachemon dies in the middle of a run by a fault that it cannot handle: CMD runs to its end,
the database is sound, and the report of the run says so."""

import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True

from faultlib.cgroup import cgroup_mounts, make_cgroup  # noqa: E402
from faultlib.part import Part, Skipped, expect, wait_until  # noqa: E402
from faultlib.watch import BOUND_S, Db, Steady, Watch, run, wait_intervals  # noqa: E402

part = Part("watch_dies", __doc__)
MIB = 1 << 20
# Uses up the memory of its cgroup until the process is gone.
HOG = """import os, sys
taken = []
while os.path.exists(f"/proc/{sys.argv[1]}/exe") and len(taken) < 512:
    taken.append(bytearray(os.urandom(4096) * 256))
"""


def died(case, watch, steady, db, signo):
    """Checks that hold for every cause of death."""
    done = watch.wait()
    expect(done.status == -signo, str(done))
    cmd = steady.started()
    expect(os.path.exists(f"/proc/{cmd}"), "CMD was ended too")
    steady.stop()
    wait_until(steady.done, "CMD's own end", BOUND_S)
    after = run([case.cachemon, "watch", "--db", db.path, "--", "true"])
    expect(after.status == 0, str(after))
    db.sound()
    expect(db.one("SELECT state FROM run WHERE id = 1") == "cut", "the run is not marked as cut")
    text = run([case.cachemon, "report", "--db", db.path, "--run", "1"])
    words = " ".join(text.out.decode().split())
    expect("The run was cut short: cachemon was killed (by kill -9 or the OOM killer, possibly of its own memory "
           "cgroup)" in words, words[:600])


def begin(case, prefix=(), command=()):
    db = Db(case.path("run.db"))
    steady = Steady(case)
    watch = Watch(case, ["--level", "full", "--db", db.path, "--interval", "100ms"],
                  [*command, *steady.command], prefix=prefix)
    steady.wait_started(watch)
    wait_intervals(watch, db, 3)
    return db, steady, watch


@part.case("the -shm of its database is truncated")
def truncated_shm(case):
    db, steady, watch = begin(case)
    os.truncate(db.path + "-shm", 0)
    died(case, watch, steady, db, signal.SIGBUS)


@part.case("killed by a signal of anybody's: KILL, and crashes")
def killed(case):
    for number, signo in enumerate((signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)):
        case.path = lambda *names, dir=case.path(f"{number}"): os.path.join(dir, *names)
        os.mkdir(case.path(""))
        db, steady, watch = begin(case)
        os.kill(watch.pid, signo)
        died(case, watch, steady, db, signo)


@part.case("the OOM killer of its own memory cgroup")
def out_of_memory(case):
    version = "v1" if "v1" in cgroup_mounts() else "v2"
    group = make_cgroup(case, version)
    limit, usage = [(f"{group}/memory.limit_in_bytes", f"{group}/memory.usage_in_bytes"),
                    (f"{group}/memory.max", f"{group}/memory.current")][version == "v2"]
    if not os.path.exists(limit):
        raise Skipped("no memory controller for this cgroup")
    enter = ["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh"]
    leave = ["sh", "-c", f'echo $$ >{os.path.dirname(group)}/cgroup.procs; exec "$@"', "sh"]
    db, steady, watch = begin(case, enter, leave)
    with open(f"/proc/{watch.pid}/oom_score_adj", "w", encoding="ascii") as f:
        f.write("1000")
    with open(usage, encoding="ascii") as f:
        most = int(f.read()) + 16 * MIB
    with open(limit, "w", encoding="ascii") as f:
        f.write(str(most))
    hog = case.adopt(subprocess.Popen([*enter, "python3", "-c", HOG, str(watch.pid)]))
    died(case, watch, steady, db, signal.SIGKILL)
    hog.kill()
    hog.wait()


if __name__ == "__main__":
    part.main()
