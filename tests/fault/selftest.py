#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""selftest: right on a machine at rest, and while reclaim takes its pages it says that it cannot
judge; never a figure that only the disturbance made wrong."""

import os
import re
import subprocess
import sys
import threading

sys.dont_write_bytecode = True

from faultlib.cgroup import make_reclaimed  # noqa: E402
from faultlib.part import Part, Skipped, expect  # noqa: E402
from faultlib.watch import BOUND_S, run  # noqa: E402

part = Part("selftest", __doc__)

CASES = ["cold", "warm", "random", "mmap"]
LINE = re.compile(r"^(\w+) +(\?|\d+) ", re.M)


def verdicts(out):
    return [found for found in LINE.findall(out) if found[0] in CASES]


@part.case("undisturbed: every case is right to the page")
def quiet(case):
    done = run([case.cachemon, "selftest", "--dir", case.dir])
    text = done.out.decode()
    if "?" in text:
        raise Skipped(f"others on this machine dropped its pages: {text!r}")
    expect(done.status == 0 and verdicts(text) == [(name, "0") for name in CASES], f"{done} {text}")


@part.case("its pages are reclaimed all the time: each case is right or not judged")
def disturbed(case):
    cgroup, reclaim = make_reclaimed(case)
    argv = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', cgroup, case.cachemon,
            "selftest", "--dir", case.dir]
    process = case.adopt(subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    over = threading.Event()

    def disturb():
        while not over.is_set():
            try:
                with open(reclaim, "w", encoding="ascii") as f:
                    f.write("64M")
            except OSError:  # there was not so much
                pass

    helper = threading.Thread(target=disturb)
    helper.start()
    try:
        out, err = process.communicate(timeout=BOUND_S)
    finally:
        over.set()
        helper.join()
    found = verdicts(out.decode())
    expect([name for name, _ in found] == CASES, f"{found}, says {err!r}")
    wrong = [line for line in found if line[1] not in ("?", "0")]
    expect(not wrong, f"judged although it was disturbed: {wrong}: {out.decode()}")
    judged = sum(word == "0" for _, word in found)
    expect(judged < len(CASES), "nothing was disturbed: this test tests nothing")
    expect(process.returncode == 1, f"status {process.returncode} with {found}")
    return f"{judged} of {len(CASES)} could be judged"


if __name__ == "__main__":
    part.main()
