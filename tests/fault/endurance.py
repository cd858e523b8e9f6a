#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Hooks are attached and detached again and again while a watch goes on and the machine has trouble:
CPUs that go and come, modules, cgroups, memory. In a guest, where all of that can be done to a
kernel; endurance_guest.py is what happens there. The full count takes hours."""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "vm"))

from faultlib.link import capture_flags  # noqa: E402
from faultlib.part import Failed, Part, Skipped, expect  # noqa: E402
from vmlib.guest import Died, Guest, Settings  # noqa: E402

part = Part("endurance", __doc__, ("attach and detach in a guest", 1000, 10))
part.parser.add_argument("--kernel", default="6.12", help="of tests/vm/kernels (%(default)s)")
part.parser.add_argument("--out", help="a directory for what comes back from the guest")
# Emulated, on a machine that does other things beside.
START_S, CYCLE_S = 1800, 20


@part.case("a guest")
def guest(case):
    kernel = case.options.kernel
    found = subprocess.run([os.path.join(HERE, "..", "vm", "kernels"), "get", kernel],
                           capture_output=True, text=True, check=False)
    if found.returncode:
        raise Skipped(found.stderr.strip())
    count = max(6, case.options.count)  # it takes five to warm up
    out = os.path.abspath(case.options.out or case.path("out"))
    machine = Guest(found.stdout.strip(), out,
                    Settings(memory_mb=1536, timeout_s=START_S + count * CYCLE_S))
    try:
        status = machine.run([
            "python3", "-B", os.path.join(HERE, "endurance_guest.py"), case.cachemon,
            case.helper("attach_cycles", *capture_flags(case.cachemon)), str(count)])
    except Died as e:
        raise Failed(str(e)) from e
    results = [json.loads(line) for line in machine.read("results").splitlines()]
    for name, wrong, told in results:
        part.say("failed" if wrong else "passed", name, wrong or told or "")
    expect(status == 0, f"status {status}: {machine.read('log')[-500:]}")
    expect(results, "nothing was looked at")
    return f"{kernel}, {len(results)} results"


if __name__ == "__main__":
    part.main()
