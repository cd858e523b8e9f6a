#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Hooks are attached and detached repeatedly during a watch while the machine is disturbed: on
this machine for an hour, with all the trouble that it permits and others on it tolerate; and in
a guest, with CPUs, modules and all memory coming and going. endurance_core.py does the work."""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "vm"))

from endurance_churn import Cgroups, Churn, Filesystem, Hog, MKFS, Reclaim  # noqa: E402
from endurance_core import Place, endure  # noqa: E402
from endurance_damon import Damon  # noqa: E402
from endurance_load import Load, make_files  # noqa: E402
from endurance_memory import Look, Told, judge  # noqa: E402
from faultlib.cgroup import cgroup_mounts, make_reclaimed  # noqa: E402
from faultlib.link import capture_flags  # noqa: E402
from faultlib.part import Failed, Part, Skipped, expect, full_counts  # noqa: E402
from vmlib.guest import Died, Guest, Settings  # noqa: E402

GUEST_FULL, LEAST = 100, 6  # it takes five to warm up
part = Part("endurance", __doc__, ("attach and detach beside a load", 1000, 20))
part.parser.add_argument("--seconds", type=int, default=3600 if full_counts() else 40,
                         help="that they are spread over on this machine (%(default)s)")
part.parser.add_argument("--guest-count", type=int, metavar="N",
                         default=GUEST_FULL if full_counts() else 0,
                         help="how often in a guest, at least 6 (%(default)s: not)")
part.parser.add_argument("--kernel", default="6.12", help="of tests/vm/kernels (%(default)s)")
part.parser.add_argument("--out", help="a directory for what comes back from the guest")
# Emulated, on a machine with other work.
START_S, CYCLE_S = 1800, 20
# Between troubles, and in the load between pieces of its work: others work here.
TURN_S, PAUSE_S = 2, 0.1


def helpers(case):
    return (case.helper("attach_cycles", *capture_flags(case.cachemon)),
            case.helper("memory_told", "-shared", "-fPIC"))


@part.case("a watch that grows is seen")
def growth_is_seen(_):
    # The check must be able to fail.
    told = [Told(4_600_000 + 4360 * nr, 4_900_000 + 4360 * nr, 500_000 + 4360 * nr)
            for nr in range(300)]
    looks = [Look(82, 3900, 300, 0), Look(82, 5056, 300, 2048)]
    judge(told, looks)
    grown = {
        "allocated beside": [t._replace(in_use=t.in_use + 512 * nr) for nr, t in enumerate(told)],
        "page cache is": [Told(t.in_use + 4 * t.page_cache, t.held + 4 * t.page_cache,
                               5 * t.page_cache) for t in told],
        "malloc has": [t._replace(held=t.held + 1024 * nr) for nr, t in enumerate(told)],
        "descriptors": (told, [*looks, looks[0]._replace(descriptors=83)]),
        "beside the heap": (told, [*looks, looks[0]._replace(outside_kb=400)])}
    for what, series in grown.items():
        series = series if isinstance(series, tuple) else (series, looks)
        try:
            judge(*series)
        except Failed as e:
            expect(what in str(e), f"{what}: {e}")
        else:
            raise Failed(f"not seen: {what}")


@part.case("this machine")
def machine(case):
    attacher, told = helpers(case)
    cgroup, _ = make_reclaimed(case)
    make_files(case.dir)
    load = Load(case.dir, cgroup, PAUSE_S)
    troubles = {"DAMON": Damon(load, os.path.dirname(cgroup))}
    troubles |= {kind: Filesystem(load, kind) for kind in MKFS}
    troubles |= {"cgroups": Cgroups(load), "reclaim": Reclaim(load), "a hog": Hog(load)}
    mounts = cgroup_mounts()
    if not cgroup.startswith(mounts.get("v2", cgroup)):
        troubles["cgroups of another tree"] = Cgroups(load, mounts["v2"])
    shared = "others work here; in a guest"
    churn = Churn(troubles, dict.fromkeys(("CPUs", "modules", "memory of the whole machine"),
                                          shared))

    def take(name, function, *args):
        part.run_case(name, lambda _: function(*args))

    count, seconds = max(LEAST, case.options.count), case.options.seconds
    endure(Place(case.cachemon, attacher, told, count, seconds, TURN_S, load, churn, take, False),
           case.path("long.db"))
    return f"{count} cycles, meant to take {seconds} s"


@part.case("a guest")
def guest(case):
    kernel = case.options.kernel
    if not case.options.guest_count:
        print(f"attach and detach in a guest: 0 of {GUEST_FULL}")
        raise Skipped("with CACHEMON_FULL=1, or --guest-count")
    found = subprocess.run([os.path.join(HERE, "..", "vm", "kernels"), "get", kernel],
                           capture_output=True, text=True, check=False)
    if found.returncode:
        raise Skipped(found.stderr.strip())
    count = max(LEAST, case.options.guest_count)
    out = os.path.abspath(case.options.out or case.path("out"))
    emulated = Guest(found.stdout.strip(), out,
                     Settings(memory_mb=1536, timeout_s=START_S + count * CYCLE_S))
    try:
        status = emulated.run([
            "python3", "-B", os.path.join(HERE, "endurance_guest.py"), case.cachemon,
            *helpers(case), str(count)])
    except Died as e:
        raise Failed(str(e)) from e
    results = [json.loads(line) for line in emulated.read("results").splitlines()]
    for result, name, told in results:
        part.say(result, name, told or "")
    if count < GUEST_FULL:
        print(f"attach and detach in a guest: {count} of {GUEST_FULL}")
    expect(status == 0, f"status {status}: {emulated.read('log')[-500:]}")
    expect(results, "nothing was looked at")
    return f"{kernel}, {len(results)} results"


if __name__ == "__main__":
    part.main()
