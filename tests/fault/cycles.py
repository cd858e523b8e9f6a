#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Attach and detach repeatedly: programs, maps and links are the same before and after,
descriptors, heap and resident memory are constant, and the kernel log has no line."""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True

from faultlib import bpf  # noqa: E402
from faultlib.kernel_log import KernelLog  # noqa: E402
from faultlib.link import capture_flags  # noqa: E402
from faultlib.part import Failed, Part, expect  # noqa: E402
from faultlib.watch import Db, run  # noqa: E402

part = Part("cycles", __doc__, ("attach and detach", 1000, 30))

# This share of the count is whole runs of the program; the rest are cycles within one process.
RUNS_SHARE = 10
# Kernel messages about trouble with programs, references and memory; messages about mounts and so
# on of others are ignored.
TROUBLE = re.compile(r"bpf|BUG|WARNING|Oops|refcount|leak|Call Trace|blocked for more|vmalloc|"
                     r"page allocation|soft lockup|rcu.*stall|out of memory", re.I)


@part.case("in one process")
def in_process(case):
    program = case.helper("attach_cycles", *capture_flags(case.cachemon))
    log, before, pins = KernelLog(TROUBLE), bpf.everything(), bpf.pins()
    count = max(10, case.options.count - case.options.count // RUNS_SHARE)
    exact = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"}
    done = subprocess.run([program, str(count)], capture_output=True, text=True, check=False,
                          env={**os.environ, **exact})
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr.strip()}")
    bpf.wait_no_orphans(before)
    expect(bpf.pins() == pins, f"pins: {bpf.pins() - pins}")
    trouble = log.trouble()
    expect(not trouble, f"the kernel says {trouble[:3]}")
    return f"{count} cycles: {done.stdout.strip()}"


@part.case("whole runs")
def whole_runs(case):
    log, before, pins = KernelLog(TROUBLE), bpf.everything(), bpf.pins()
    db = Db(case.path("run.db"))
    count = max(2, case.options.count // RUNS_SHARE)
    for number in range(1, count + 1):
        done = run([case.cachemon, "watch", "--db", db.path, "--", "true"])
        expect(done.status == 0, f"run {number}: {done}")
        bpf.wait_no_orphans(before)
    expect(bpf.pins() == pins, f"pins: {bpf.pins() - pins}")
    db.sound()
    states = db.rows("SELECT state, count(*) AS nr FROM run GROUP BY state")
    expect(states == [{"state": "complete", "nr": count}], f"{states}")
    trouble = log.trouble()
    expect(not trouble, f"the kernel says {trouble[:3]}")
    return f"{count} runs"


@part.case("the look for objects without a holder sees one")
def sees_orphans(_):
    # The check must be able to fail: the kernel's own BTF is held by no process.
    kernel = {("btf", number) for number in bpf.ids("btf")}
    if not bpf.orphans(kernel):
        raise Failed("not even the kernel's own BTF is seen")
    expect(any(bpf.is_kernels(*entry) for entry in kernel), "the kernel's BTF is not its own")


if __name__ == "__main__":
    part.main()
