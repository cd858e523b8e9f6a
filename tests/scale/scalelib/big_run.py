# SPDX-License-Identifier: BSD-2-Clause
"""The one large run of a part, and the cases that judge it, independent of the job."""

import contextlib
import os
import sys

from faultlib.part import Failed, Skipped

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "system"))

from syslib.reclaimed import Reclaimed  # noqa: E402

from . import judge  # noqa: E402
from .measured import Measured, build_job

REPEATS = 3


class BigRun:
    def __init__(self, part):
        self.part = part
        self.measured = None
        self.base = None
        self.skipped = False

    def run(self, title):
        """The case that makes the run."""
        def add(function):
            def case(the_case):
                try:
                    return function(the_case)
                except Skipped:
                    self.skipped = True
                    raise
            return self.part.case(title)(case)
        return add

    def get(self):
        """If the run was skipped, its case has given the reason; a failed run fails all of them."""
        if not self.measured:
            raise (Skipped if self.skipped else Failed)("there was no run to judge")
        return self.measured

    def case(self, title, judgement):
        self.part.case(title)(lambda case: judgement(case, self.get()))

    def start(self, case):
        """The job's program, and the figures of a mere start of it."""
        case.dir = self.part.work  # the run is judged after this case
        job = build_job(case)
        self.base = judge.start_up(case, job)
        return job

    def until_undisturbed(self, case, job, prepare):
        """prepare(repeat): makes the files cold and returns the job's command."""
        with contextlib.ExitStack() as stack:
            reclaimed = Reclaimed(stack, self.part.work)
            for repeat in range(REPEATS):
                arguments = prepare(repeat)
                reclaimed.begin()
                measured = Measured(case, job, f"run{repeat}", arguments)
                if not measured.truth["disturbed"] and not reclaimed.by_whom():
                    self.measured = measured
                    return (f"in {measured.seconds:.1f} s, CPU time of job and collector "
                            f"{measured.end['cpu_s']} s")
        raise Skipped(f"{REPEATS} times others on this machine dropped pages of the files")

    def judge_counts(self):
        self.case("totals are the job's own", lambda _, run: judge.totals(run, self.base))
        self.case("files and directories add up to the job", judge.sums)

    def judge_sizes(self):
        self.case("memory of the collector beside the maps",
                  lambda _, run: judge.collector_memory(run))
        self.case("memory of the maps is what doctor says", judge.map_memory)
        self.case("size of the database", lambda _, run: judge.database(run))
