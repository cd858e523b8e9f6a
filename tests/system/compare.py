#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare on runs recorded here: the same small job repeatedly, once with its files dropped
first, and jobs with a known difference and default options. Its JSON is checked against the
schema. Counts how often runs of the same job are called different."""

import contextlib
import itertools
import json
import os
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.schema import refused, valid  # noqa: E402
from syslib.tool import Tool  # noqa: E402

part = Part(__doc__)
part.count_option("runs", 24, 6, "runs of the same job")

LEVEL = 0.05
FILE_BYTES = 16 << 20
# Metrics that the load of the machine does not change: if other work disturbs a test, its result
# does not measure chance.
OF_THE_CACHE = ("hit_ratio", "misses_per_work", "brought_per_work", "prefetch_coverage", "refaults_per_work")
# compare needs that many intervals per run, however fast the machine is.
SECONDS = 4
# Passes over a file for at least that many seconds, each in a different order. Before a pass the
# file is dropped: each time (drop), at random half of the time (coin), or never (keep).
JOB = """
import os, random, sys, time
path, seconds, share = sys.argv[1], float(sys.argv[2]), {"drop": 1, "coin": 0.5, "keep": 0}[sys.argv[3]]
end = time.monotonic() + seconds
fd = os.open(path, os.O_RDONLY)
size = os.fstat(fd).st_size
rng = random.Random()
while time.monotonic() < end:
    if rng.random() < share:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    for at in rng.sample(range(0, size, 16384), size // 16384):
        sum(os.pread(fd, 16384, at)[::64])
"""


class World:
    def __init__(self, args, work, _):
        self.tool = Tool(args.cachemon, work)
        self.work = work
        self.runs = args.runs
        self.db = os.path.join(work, "runs.db")
        self.file = os.path.join(work, "data")
        self.recorded = False
        with open(self.file, "wb") as f:
            f.write(os.urandom(FILE_BYTES))
            os.fsync(f.fileno())

    def record(self, stack, seconds, how, *options):
        """Records one more run; returns its number."""
        w = self.tool.watch(stack, ("--level", "full", "--interval", "100ms", "--job", "loop", *options),
                            [sys.executable, "-c", JOB, self.file, str(seconds), how], db=self.db)
        w.end()
        return w.query("SELECT max(id) FROM run")

    def compare(self, a, b, *options):
        return self.tool.run("compare", "--db", self.db, str(a), str(b), "--format", "json", *options)

    def same_job(self, stack):
        """Runs of the same job, recorded once for all cases."""
        if not self.recorded:
            self.recorded = [self.record(stack, SECONDS, "coin") for _ in range(self.runs)]
        return self.recorded


def compared(world, a, b):
    text = world.compare(a, b)
    valid(text, "compare")
    job, = json.loads(text)["jobs"]
    return job


@part.case
def schema_refuses(world, stack):
    """The schema is strict: a missing key or an unknown word is refused."""
    first, second, *_ = world.same_job(stack)
    text = world.compare(first, second)
    valid(text, "compare")
    for spoil in (lambda o: o.pop("jobs"), lambda o: o["jobs"][0].pop("verdict"),
                  lambda o: o["jobs"][0].update(verdict={"result": "splendid", "sentence": ""}),
                  lambda o: o["jobs"][0]["metrics"][0].update(p=2),
                  lambda o: o["jobs"][0]["metrics"][0].pop("p_adjusted"),
                  lambda o: o["jobs"][0]["metrics"][0].update(mark="maybe"),
                  lambda o: o["jobs"][0]["pictures"]["time"]["a"].pop("panels"),
                  lambda o: o["jobs"][0].pop("findings"), lambda o: o.pop("not_the_same")):
        spoilt = json.loads(text)
        spoil(spoilt)
        check(refused(json.dumps(spoilt), "compare"), "the schema takes what is no comparison")


@part.case
def same_job_is_no_change(world, stack):
    """Each run is compared with the next: pairs that share no run. One in twenty judged pairs
    may be a false alarm; more than chance allows is an error."""
    runs = world.same_job(stack)
    judged = alarms = 0
    for a, b in zip(runs[::2], runs[1::2]):
        job = compared(world, a, b)
        metrics = [m for m in job["metrics"] if m["metric"] in OF_THE_CACHE and m["p_adjusted"] is not None]
        judged += bool(metrics)
        alarms += any(m["p_adjusted"] <= LEVEL for m in metrics)
        part.note(f"{a} against {b}: {job['verdict']['sentence']}")
    part.note(f"{judged} of {len(runs) // 2} pairs judged, {alarms} of these called different by the cache")
    check(judged, "no pair could be judged")
    check(chance_of(alarms, judged) >= 0.001, f"{alarms} of {judged} pairs of the same job differ")


@part.case
def list_of_runs_is_valid(world, stack):
    """All runs are in the list, and in the trend of their job, in order."""
    runs = world.same_job(stack)
    text = world.tool.run("runs", "--db", world.db, "--format", "json")
    valid(text, "runs")
    listed = json.loads(text)
    trend, = [t for t in listed["trends"] if t["name"] == "loop"]
    equal("runs of the job", [n for n in trend["runs"] if n in runs], sorted(runs))
    for run in listed["runs"]:
        took = run["jobs"][0]["wall_s"]
        check(0 < took <= run["duration_s"] + 1, f"run {run['id']} of {run['duration_s']} s: its job took {took} s")
    listed["trends"][0].pop("runs")
    check(refused(json.dumps(listed), "runs"), "the schema takes what is no list")


def chance_of(alarms, pairs):
    """The probability of that many or more false alarms in that many pairs at rate LEVEL."""
    term, below = (1 - LEVEL) ** pairs, 0.0
    for k in range(alarms):
        below += term
        term *= (pairs - k) / (k + 1) * LEVEL / (1 - LEVEL)
    return 1 - below


@part.case
def dropped_is_worse(world, stack):
    """The same job without a cache is worse, and better in the other direction."""
    kept = world.record(stack, SECONDS, "keep")
    dropped = world.record(stack, SECONDS, "drop")
    for a, b, want, outcome in ((kept, dropped, "worse", "worse"), (dropped, kept, "improved", "better")):
        job = compared(world, a, b)
        equal(f"verdict of {a} against {b}", job["verdict"]["result"], want)
        metrics = {m["metric"]: m for m in job["metrics"]}
        equal("hit ratio", metrics["hit_ratio"]["outcome"], outcome)
        check(metrics["hit_ratio"]["p_adjusted"] <= LEVEL, "an outcome without its p")


@part.case
def one_short_run_is_tested(world, stack):
    """A tenth of the passes with a cache, compared with all of them without: the long run shows
    how much chance varies. Only the cache's own figures are judged: other work may disturb the
    short run, and then a mixed verdict is right."""
    dropped = world.record(stack, SECONDS, "drop")
    short = world.record(stack, SECONDS / 10, "keep")
    for a, b, want in ((dropped, short, "better"), (short, dropped, "worse")):
        job = compared(world, a, b)
        part.note(job["verdict"]["sentence"])
        verdict = {"better": "improved", "worse": "worse"}[want]
        check(job["verdict"]["result"] in (verdict, "mixed"), f"verdict {job['verdict']['result']}")
        equal("test", job["test"], "t test on batch means of the longer run")
        metrics = {m["metric"]: m for m in job["metrics"]}
        for name in "hit_ratio", "misses_per_work":
            equal(f"{name} of {a} against {b}", metrics[name]["outcome"], want)
            check(metrics[name]["p_adjusted"] <= LEVEL, f"{name}: an outcome without its p")


@part.case
def not_tested_is_valid(world, stack):
    """Too short, or sliced: null where there is no figure."""
    kept = world.same_job(stack)[0]
    short = [world.record(stack, SECONDS / 10, "keep") for _ in range(2)]
    equal("verdict", compared(world, *short)["verdict"]["result"], "untested")
    cold = world.record(stack, SECONDS, "keep", "--level", "cold")
    metrics = {m["metric"]: m for m in compared(world, kept, cold)["metrics"]}
    equal("outcome of what was not measured", metrics["hit_ratio"]["outcome"], "unknown")
    equal("hit ratio of a run that had none", metrics["hit_ratio"]["b"], None)


# All of a file twice, uncached at the beginning: in one piece after the other, or in small pieces
# without readahead.
READS = """
import os, sys
path, how = sys.argv[1], sys.argv[2]
fd = os.open(path, os.O_RDONLY)
size = 4096 if how == "small" else 1 << 20
if how == "small":
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for _ in range(int(sys.argv[3])):
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    for at in range(0, os.fstat(fd).st_size, size):
        os.pread(fd, size, at)
"""


def with_defaults(world, stack, how, passes, job="reads"):
    """Records one more run, with no option except the name of the job; returns its number."""
    w = world.tool.watch(stack, ("--job", job), [sys.executable, "-c", READS, world.file, how, str(passes)],
                         db=world.db)
    w.end()
    return w.query("SELECT max(id) FROM run")


@part.case
def small_reads_against_large(world, stack):
    """A known improvement, without options: both runs are long enough for a test on a fast device."""
    before, after = (with_defaults(world, stack, how, 120) for how in ("small", "large"))
    text = world.compare(before, after, "--per", "job")
    valid(text, "compare")
    job, = json.loads(text)["jobs"]
    part.note(job["verdict"]["sentence"])
    equal("verdict", job["verdict"]["result"], "improved")
    equal("interval, s", job["interval_s_a"], 0.25)
    # Other load may hide one of these, but not both, and reverses neither.
    goals = [m for m in job["metrics"] if m["metric"] in ("time_per_work", "stall_per_work")]
    better = [m for m in goals if m["outcome"] == "better" and m["p_adjusted"] <= LEVEL]
    check(better and all(m["outcome"] in ("better", "untested", "noise") for m in goals), f"time and waiting: {goals}")
    said = world.tool.run("compare", "--db", world.db, str(before), str(after), "--per", "job")
    check("Improved: " in said, f"the text says another thing: {said[:300]}")


def p_of_ranks(before, after):
    """The p-value of the Mann-Whitney test, from all ways to choose the values before."""
    both = [*before, *after]

    def far(places):
        chosen, others = [both[i] for i in places], [both[i] for i in range(len(both)) if i not in places]
        wins = sum((b > a) + (b == a) / 2 for a in chosen for b in others)
        return abs(wins - len(chosen) * len(others) / 2)

    ways = [far(set(w)) for w in itertools.combinations(range(len(both)), len(before))]
    return sum(w >= far(set(range(len(before)))) for w in ways) / len(ways)


def grouped(world, before, after):
    text = world.tool.run("compare", "--db", world.db, *map(str, before), "vs", *map(str, after), "--per", "job",
                          "--format", "json")
    valid(text, "compare")
    job, = json.loads(text)["jobs"]
    part.note(job["verdict"]["sentence"])
    time = next(m for m in job["metrics"] if m["metric"] == "time_per_work")
    for values, runs in ((time["values_a"], before), (time["values_b"], after)):
        for value, run in zip(values, runs):
            report = json.loads(world.tool.run("report", "--db", world.db, "--run", str(run), "--format", "json"))
            check(abs(value - report["run"]["duration_s"]) < 0.01,
                  f"run {run}: {value} s, and its report says {report['run']['duration_s']} s")
    if time["p"] is not None:
        check(abs(time["p"] - p_of_ranks(time["values_a"], time["values_b"])) < 1e-9, f"p {time['p']}")
    return job, time


@part.case
def several_runs_a_side(world, stack):
    """Short runs, alternating: four on each side prove such a difference, three do not; p from
    an independent count."""
    runs = [with_defaults(world, stack, ("small", "large")[i % 2], 2) for i in range(8)]
    job, time = grouped(world, runs[::2], runs[1::2])
    equal("verdict", job["verdict"]["result"], "improved")
    equal("test", job["test"], "Mann-Whitney test (exact)")
    check(abs(time["p"] - 2 / 70) < 1e-9, f"p {time['p']}")
    job, _ = grouped(world, runs[:6:2], runs[1:6:2])
    equal("verdict of 3 against 3", job["verdict"]["result"], "untested")
    check("not proven: 3 and 3 runs are too few" in job["verdict"]["sentence"], job["verdict"]["sentence"])


@part.case
def same_runs_a_side(world, stack):
    """The same job eight times: the verdict follows p and names the detectable change."""
    runs = [with_defaults(world, stack, "small", 1) for _ in range(8)]
    job, time = grouped(world, runs[::2], runs[1::2])
    if time["p_adjusted"] > LEVEL:
        equal("verdict", job["verdict"]["result"], "no-difference")
        check("would be detected" in job["verdict"]["sentence"], job["verdict"]["sentence"])


@part.case
def runs_that_do_not_compare(world, stack):
    """Other jobs and commands are refused, a run that did not start is not the last one, and a
    run takes one line."""
    one = with_defaults(world, stack, "large", 1)
    other = with_defaults(world, stack, "large", 1, job="another")
    world.tool.run("compare", "--db", world.db, str(one), str(other), status=2)
    world.tool.run("compare", "--db", world.db, str(one), str(other), "--any")
    for command in (["cat", os.devnull], ["cat", "/etc/passwd"]):
        world.tool.watch(stack, (), command, db=world.db).end()
    world.tool.run("compare", "--db", world.db, "last-1", "last", status=2)
    last = world.tool.run("compare", "--db", world.db, "last", "last")
    broken = os.path.join(world.work, "broken")
    with open(broken, "w", encoding="ascii") as f:
        f.write("#!/no/such/interpreter\n")
    os.chmod(broken, 0o755)
    w = world.tool.watch(stack, (), [broken], db=world.db)
    w.finish()
    equal("status of a command that cannot be run", w.process.returncode, 127)
    equal("the last run", world.tool.run("compare", "--db", world.db, "last", "last"), last)
    check("is compared with itself: nothing can differ." in last, last)
    equal("lines", len(last.strip().splitlines()), 4)
    failed = w.query("SELECT max(id) FROM run")
    world.tool.run("compare", "--db", world.db, str(one), str(failed), status=1)


def merged_intervals(world, stack, seconds, *options):
    """All intervals are of a second, the earlier ones too, and no count is lost."""
    if not part.full:
        raise Skipped("with CACHEMON_FULL=1")
    w = world.tool.watch(stack, ("--duration", f"{seconds}s", *options),
                         [sys.executable, "-c", JOB, world.file, str(seconds + 1), "coin"])
    report, job, _ = w.end()
    equal("interval, s", report["run"]["interval_s"], 1)
    with contextlib.closing(sqlite3.connect(w.db)) as db:
        nr, total, rolled, misses = db.execute(
            "SELECT count(*), sum(duration_ns) / 1e9, max(rolled), sum(x.misses) FROM interval i JOIN job_interval x "
            "ON x.interval_id = i.id JOIN job j ON j.id = x.job_id WHERE slot = 1").fetchone()
    check(seconds - 5 <= nr <= seconds + 5, f"{nr} intervals")
    check(abs(total - report["run"]["duration_s"]) < 0.001, f"intervals of {total} s")
    check(rolled >= 4, f"at most {rolled} intervals in one")
    equal("misses of the intervals", misses, job["totals"]["misses"])


@part.case
def intervals_of_a_long_run(world, stack):
    merged_intervals(world, stack, 125)


@part.case
def intervals_of_a_run_over_its_budget(world, stack):
    merged_intervals(world, stack, 45, "--max-overhead", "0.01%")


if __name__ == "__main__":
    sys.exit(part.main(World))
