#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""If programs of tracepoints can be preempted (7.2), the kernel skips a run of a program on a CPU
whose previous task was preempted inside of it. A job provokes this: cachemon reports enough skipped
runs to explain the missing counts, and as many as bpftool."""

import json
import os
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "vm"))

from faultlib.part import Failed, Part, Skipped, expect  # noqa: E402
from vmlib.guest import Died, Guest, Settings  # noqa: E402

KERNEL = "sid"
TIMEOUT_S = 900
FILE = "/scratch/file"

part = Part("preempted", __doc__, ("times that a reader is interrupted", 20000, 4000))


def in_guest(case):
    found = subprocess.run([os.path.join(HERE, "..", "vm", "kernels"), "get", KERNEL],
                           capture_output=True, text=True, check=False)
    if found.returncode:
        raise Skipped(found.stderr.strip())
    machine = Guest(found.stdout.strip(), case.path("out"),
                    Settings(memory_mb=1024, scratch_mb=256, timeout_s=TIMEOUT_S))
    look = "bpftool prog show -j"
    job = (f"{look} >/out/before; {case.helper('preempted')} {FILE} {case.options.count} "
           f">/out/made; {look} >/out/after")
    watch = (f"{case.cachemon} watch --level full --db /scratch/db -- sh -c {shlex.quote(job)} "
             f"&& {case.cachemon} report --db /scratch/db --format json >/out/report")
    try:
        status = machine.run(["sh", "-c", f"head -c 4096 /dev/urandom >{FILE}; {watch}"])
    except Died as e:
        raise Failed(str(e)) from e
    expect(status == 0, f"status {status}: {machine.read('log')[-500:]}")
    return machine


def left_out(machine, name):
    """From bpftool, which leaves out the field if it is 0."""
    return sum(p.get("recursion_misses", 0) for p in json.loads(machine.read(name)))


@part.case("runs that the kernel leaves out")
def preempted(case):
    machine = in_guest(case)
    report = json.loads(machine.read("report"))
    job, told = report["jobs"][0], report["run"]["losses"]["recursion_misses"]
    made = sum(int(n) for n in machine.read("made").split())
    counted = next((f["totals"]["read_calls"] for f in job["files"] if f["path"] == FILE), 0)
    by_bpftool = left_out(machine, "after") - left_out(machine, "before")
    text = f"{made} calls, {counted} counted, {told} runs left out, {by_bpftool} by bpftool"
    expect(counted <= made, text)
    expect(made - counted <= told, text)
    expect(by_bpftool <= told, text)
    expect(by_bpftool > 0, f"{text}: nothing was provoked")
    expect(job.get("lower_bound") is True, f"{text}: the figures are not marked")
    return text


if __name__ == "__main__":
    part.main()
