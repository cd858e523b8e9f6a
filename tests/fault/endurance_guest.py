# SPDX-License-Identifier: BSD-2-Clause
"""The guest's part of endurance.py: endurance_guest.py CACHEMON ATTACH_CYCLES MEMORY_TOLD COUNT.
A line of JSON per check, [passed, failed or skipped, name, text], in /out/results. A guest has
all troubles: CPUs come and go, a filesystem's module is loaded, used and unloaded, cgroups are
made and removed, and memory becomes scarce."""

import json
import os
import subprocess
import sys

from endurance_churn import (Cgroups, Churn, Filesystem, Reclaim, WholeMemory, cpu, cpu_goes, read,
                             write)
from endurance_core import BOUND_S, Place, endure
from endurance_load import Load, make_files
from faultlib.cgroup import cgroup_mounts
from faultlib.part import Failed, Skipped, expect, wait_until
from faultlib.watch import Db

DIR = "/scratch/endurance"
PAUSE_S = 0.02


class Results:
    def __init__(self):
        self.file = open("/out/results", "w", encoding="utf-8")

    def take(self, name, function, *args):
        try:
            result, told = "passed", function(*args)
        except Failed as e:
            result, told = "failed", str(e)
        except Skipped as e:
            result, told = "skipped", str(e)
        self.file.write(json.dumps([result, name, told]) + "\n")
        self.file.flush()


def cpus_come_and_go(cachemon):
    """A run that began without a CPU counts later reads on it, even after it has gone again."""
    db, steps = Db("/scratch/cpu.db"), os.path.join(DIR, "step")
    cpu(False)
    job = [sys.executable, "-B", os.path.join(os.path.dirname(__file__), "endurance_load.py"), DIR]
    watch = subprocess.Popen([cachemon, "watch", "--level", "full", "--db", db.path, "--", *job])
    try:
        wait_until(lambda: os.path.exists(steps + "1"), "the job's start", BOUND_S)
        cpu(True)
        write(steps + "2", "")
        wait_until(lambda: os.path.exists(steps + "3"), "reads on the CPU that came", BOUND_S)
        cpu(False)
        write(steps + "4", "")
        expect(watch.wait(BOUND_S) == 0, f"watch ends with {watch.returncode}")
    finally:
        watch.kill()
        cpu(True)
    row, want = db.file(os.path.join(DIR, "cpu")), json.loads(read(steps + "5"))
    got = {name: row[name] for name in want}
    expect(got == want, f"counted {got}, read were {want}")
    return f"{got}"


def nothing_refused(churn):
    expect(not churn.left_out, churn.told())


def main():
    cachemon, attacher, told, count = *sys.argv[1:4], int(sys.argv[4])
    results, cgroup = Results(), os.path.join(cgroup_mounts()["v2"], "endurance")
    os.mkdir(DIR)
    os.mkdir(cgroup)
    make_files(DIR)
    results.take("a CPU that comes and goes within a run", cpus_come_and_go, cachemon)
    load = Load(DIR, cgroup, PAUSE_S)
    churn = Churn({"CPUs": cpu_goes, "a module": Filesystem(load, "xfs", module=True),
                   "cgroups": Cgroups(load), "reclaim": Reclaim(load),
                   "memory of the whole machine": WholeMemory()})
    endure(Place(cachemon, attacher, told, count, 0, 0, load, churn, results.take, True),
           "/scratch/long.db")
    results.take("nothing was left out", nothing_refused, churn)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main()
