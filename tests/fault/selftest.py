#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""selftest: correct on an idle machine; while reclaim takes its pages it reports that it cannot
judge, and never a figure that only the disturbance made wrong. The same on a kernel without
cachestat(2)."""

import errno
import os
import re
import subprocess
import sys
import threading

sys.dont_write_bytecode = True

from faultlib import refuse  # noqa: E402
from faultlib.cgroup import make_reclaimed  # noqa: E402
from faultlib.part import Part, Skipped, expect, full_counts  # noqa: E402
from faultlib.watch import BOUND_S, run  # noqa: E402

part = Part("selftest", __doc__)

CASES = ["cold", "warm", "random", "mmap"]
BOTH = CASES * 2  # with the per-read hook, and without
LINE = re.compile(r"^(\w+) +(\?|\d+) ", re.M)
RECLAIM_EVERY_S = 0.02

# A number above the others on every architecture.
CACHESTAT = "451"
BY_CACHESTAT = ()
BY_MINCORE = (sys.executable, refuse.__file__, CACHESTAT, str(errno.ENOSYS))


def verdicts(out):
    return [found for found in LINE.findall(out) if found[0] in CASES]


def at_rest(case, prefix):
    done = run([case.cachemon, "selftest", "--dir", case.dir], prefix=prefix)
    text = done.out.decode()
    if "?" in text:
        raise Skipped(f"others on this machine dropped its pages: {text!r}")
    expect(done.status == 0 and verdicts(text) == [(name, "0") for name in BOTH], f"{done} {text}")
    return text


@part.case("undisturbed: every case is right to the page")
def quiet(case):
    at_rest(case, BY_CACHESTAT)


@part.case("undisturbed, where there is no cachestat(2): right by mincore(2)")
def quiet_mincore(case):
    text = at_rest(case, BY_MINCORE)
    expect("mincore(2)" in text, f"says {text!r}")


def reclaimed(case, prefix):
    cgroup, reclaim = make_reclaimed(case)
    argv = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', cgroup, *prefix, case.cachemon,
            "selftest", "--dir", case.dir]
    process = case.adopt(subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    over = threading.Event()

    def disturb():
        # With a pause, because on few CPUs selftest would hardly run.
        while not over.wait(RECLAIM_EVERY_S):
            try:
                with open(reclaim, "w", encoding="ascii") as f:
                    f.write("64M")
            except OSError:  # there was less to reclaim
                pass

    helper = threading.Thread(target=disturb)
    helper.start()
    try:
        out, err = process.communicate(timeout=BOUND_S)
    finally:
        over.set()
        helper.join()
    found = verdicts(out.decode())
    expect([name for name, _ in found] == BOTH, f"{found}, says {err!r}")
    wrong = [line for line in found if line[1] not in ("?", "0")]
    expect(not wrong, f"judged although it was disturbed: {wrong}: {out.decode()}")
    judged = sum(word == "0" for _, word in found)
    expect(judged < len(BOTH), "nothing was disturbed: this test tests nothing")
    expect(process.returncode == 1, f"status {process.returncode} with {found}")
    return f"{judged} of {len(BOTH)} could be judged"


@part.case("its pages are reclaimed again and again: each case is right or not judged")
def disturbed(case):
    return reclaimed(case, BY_CACHESTAT)


@part.case("the same by mincore(2)")
def disturbed_mincore(case):
    if not full_counts():
        raise Skipped("with the full counts only")
    return reclaimed(case, BY_MINCORE)


if __name__ == "__main__":
    part.main()
