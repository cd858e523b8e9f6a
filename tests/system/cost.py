#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Overhead: the figures agree with an A/B test, the calibration leaves no trace, and errors stay
cheap."""

import contextlib
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine, reader  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, Reads  # noqa: E402
from syslib.tool import named_files  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
# A read is compared with the control read next to it (see reader.c), as the median of several
# pairs. The difference between two blocks without cachemon, and the spread of the pairs, widen the
# band. If they exceed NOISE_MAX, a pair was disturbed and is repeated; on a machine that is loaded
# all the time nothing can be compared.
COST_BAND = 0.04
NOISE_MAX = 0.08
# The report has the run time of the programs. Cache lines that they evict cost the job later, which
# no clock in them measures: for cold reads 0.2 to 0.45 of the reported time.
COLD_BEYOND = 0.5
# A share of all run time by the kernel's own count: prices measured during 10 ms represent the rest
# of the run.
RUN_TIME_BAND = 0.15
# Programs that the collector runs, and counts as its own time.
COLLECTOR = "sweep_"
REPEATS_MAX = 3
COST_READS = 200000
COST_COLD_PAGES = 16384
COST_COLD_READS = 150000
CONTROL_READS = 20000
# Orders to the calibration's process: its rounds with and without the per-read hook, and then its
# system calls.
CALIBRATION_READS = 4 * 4800 + 4
CALIBRATION_CALLS = range(CALIBRATION_READS + 1, CALIBRATION_READS + 5)
ADVICE_CALLS = 50
BREAKS_MAX = 5

part = Part(__doc__)
part.count_option("pairs", 20, 4, "pairs of blocks with and without cachemon")


class HotWorld(World):
    def __init__(self, args, work, stack):
        super().__init__(args, work, stack)
        Reads().path(self.hot)


def cost_pair(world, stack, reader_of, how, reads, interval):
    """One block with cachemon, between two without."""
    before = reader_of.read(how, reads)
    watch = world.tool.watch(stack, ["--level", "full", "--interval", interval,
                                     "--pid", str(reader_of.pid())])
    watch.wait_started()
    inside = reader_of.read(how, reads)
    watch.interrupt()
    report, job, _ = watch.end()
    after = reader_of.read(how, reads)
    cost = report["run"]["cost"]
    check(cost["share_of_job_cpu"] is not None, "no share of the job's CPU time")
    check(abs(job["cpu_ns"] / inside["cpu_ns"] - 1) < 0.02,
          f"CPU time of the job {job['cpu_ns']}, by its own count {inside['cpu_ns']}")
    plain = (before["ratio"] + after["ratio"]) / 2
    read_ns = inside["ratio"] * inside["control_ns"]
    return {"read_ns": read_ns, "added": 1 - plain / inside["ratio"],
            "idle": abs(after["ratio"] - before["ratio"]) / plain,
            "raw": 1 - (before["reads_ns"] + after["reads_ns"]) / 2 / inside["reads_ns"],
            "reported": cost["share_of_job_cpu"] * job["cpu_ns"] / inside["lookups"] / read_ns,
            "share": cost["share_of_job_cpu"], "collector": cost["collector_cpu_ns"] / job["cpu_ns"]}


def cost_pairs(world, stack, r, how, reads, interval):
    """Only the blocks without cachemon decide whether a pair counts."""
    want, pairs, idle = world.args.pairs, [], []
    while len(pairs) < want:
        if len(idle) == REPEATS_MAX * want:
            raise Skipped(f"two blocks without cachemon differ by {statistics.median(idle):.1%}: "
                          f"nothing can be compared on a machine so busy")
        pair = cost_pair(world, stack, r, how, reads, interval)
        idle.append(pair["idle"])
        if pair["idle"] <= NOISE_MAX:
            pairs.append(pair)
    return pairs


def cost_case(world, stack, path, how, reads, interval="100ms", beyond=0):
    """CPU time of one loop, with and without cachemon alternately. beyond: the largest share of
    the reported cost that no run time shows."""
    r = reader.Reader(world.reader, path, stack)
    r.read(how, reads)
    pairs = cost_pairs(world, stack, r, how, reads, interval)
    mid = {k: statistics.median(p[k] for p in pairs) for k in pairs[0]}
    spread = statistics.median(abs(p["added"] - mid["added"]) for p in pairs)
    noise = max(mid["idle"], spread)
    off = mid["reported"] - mid["added"]
    part.note(f"{len(pairs)} pairs: cachemon is {mid['added']:.1%} of the {mid['read_ns']:.0f} ns of "
              f"a {how} read; reported {mid['reported']:.1%}")
    part.note(f"share_of_job_cpu {mid['share']:.1%}; A/B of all CPU time of the reads "
              f"{mid['raw']:.1%}; the collector beside it {mid['collector']:.1%}; two blocks without "
              f"cachemon differ by {mid['idle']:.1%}, pairs by {spread:.1%}")
    if noise > NOISE_MAX:
        raise Skipped(f"the noise of {noise:.1%} is above {NOISE_MAX:.0%}: nothing can be compared")
    band = COST_BAND + noise
    check(-band - beyond * mid["reported"] <= off <= band,
          f"the reported share is off by {off:+.1%}, the band is {band:.1%}, and below it {beyond:.0%} of what "
          f"is reported")


@part.case
def share_of_job_cpu_agrees_with_a_b_of_hot_reads(world, stack):
    cost_case(world, stack, world.hot, "hot", COST_READS)


@part.case
def share_of_job_cpu_is_most_of_an_a_b_of_cold_reads(world, stack):
    cost_case(world, stack, world.cold(COST_COLD_PAGES), "cold", COST_COLD_READS, beyond=COLD_BEYOND)


@part.case
def share_of_job_cpu_of_a_short_job_in_one_interval(world, stack):
    """The job waits until the first interval is over, and ends before the second one does."""
    cost_case(world, stack, world.cold(COST_COLD_PAGES), "cold", COST_COLD_READS, "1s", COLD_BEYOND)


def set_stats(stack):
    """Makes the kernel time all programs until the case ends."""
    path = "/proc/sys/kernel/bpf_stats_enabled"
    with open(path) as f:
        was = f.read()

    def put(value):
        with open(path, "w") as f:
            f.write(value)
    put("1")
    stack.callback(put, was)


def run_time_ns():
    """Of the probes in every task, by the kernel's own count."""
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], stdout=subprocess.PIPE, check=True).stdout
    return {p["id"]: p.get("run_time_ns", 0) for p in json.loads(shown)
            if not p.get("name", "").startswith(COLLECTOR)}


@part.case
def reported_cost_is_the_run_time_that_the_kernel_counts(world, stack):
    """Of cold reads, which settle the fates of pages and cost several times as much as a hit."""
    cold = reader.Reader(world.reader, world.cold(COST_COLD_PAGES), stack)
    set_stats(stack)
    watch = world.tool.watch(stack, ["--level", "full", "--interval", "100ms", "--pid", str(cold.pid())])
    watch.wait_started()
    before = run_time_ns()
    inside = cold.read("cold", COST_COLD_READS)
    after = run_time_ns()
    watch.interrupt()
    report, job, _ = watch.end()
    own = sum(ns - before.get(nr, 0) for nr, ns in after.items()) / inside["lookups"]
    cost = report["run"]["cost"]
    reported = (cost["cpu_ns"] - cost["collector_cpu_ns"]) / inside["lookups"]
    of_job = cost["share_of_job_cpu"] * job["cpu_ns"] / inside["lookups"]
    part.note(f"reported {reported:.0f} ns a read ({of_job:.0f} in the job's tasks), by the kernel's count {own:.0f}")
    check(abs(reported / own - 1) < RUN_TIME_BAND,
          f"reported {reported:.0f} ns a read, the kernel counts {own:.0f}")


@part.case
def a_busy_machine_does_not_spoil_the_calibration(world, stack):
    """More work than CPUs while the probes are timed: the figure stays the same, never null. It
    is measured in control reads, because a neighbour on the core slows down all work of a CPU."""
    control = reader.Reader(world.reader, world.hot, stack)

    def per_lookup():
        report, _, _ = world.tool.watch(stack, (), ["true"]).end()
        ns = report["run"]["cost"]["probe_ns_per_lookup"]
        check(ns is not None, "no figure")
        return ns / control.read("hot", CONTROL_READS)["control_ns"]

    quiet = statistics.median(per_lookup() for _ in range(3))
    for _ in range(2 * os.cpu_count()):
        reader.Reader(world.reader, world.hot, stack).start("hot", 1000000000)
    busy = [per_lookup() for _ in range(3)]
    part.note(f"a lookup costs {quiet:.3f} of a read before, {', '.join(f'{v:.3f}' for v in busy)} "
              f"beside {2 * os.cpu_count()} readers on {os.cpu_count()} CPUs")
    for value in busy:
        check(quiet / 2 < value < quiet * 2,
              f"a lookup costs {value:.3f} of a read under load, {quiet:.3f} before")


# ---- what the calibration leaves behind ----

@part.case
def files_that_the_calibration_used_too_have_names(world, stack):
    """The calibration's process maps the same libraries as the job, so their names were already
    sent."""
    _, job, _ = world.tool.watch(stack, ("--level", "full"), ["/bin/cat", world.hot],
                                 stdout=subprocess.DEVNULL).end()
    files = named_files(job)
    nameless = [f"{e['dev']} inode {e['ino']}" for e in files if e["path"] is None]
    check(not nameless, f"files without a name: {nameless}")
    st = os.stat(os.path.realpath("/bin/cat"))
    check(any(e["ino"] == st.st_ino for e in files), "the program itself is not among the files")
    with open("/proc/self/maps") as f:
        libc = next(line.split()[-1] for line in f if "/libc.so" in line)
    st = os.stat(libc)
    found = [e for e in files if e["ino"] == st.st_ino]
    equal("names of libc", [os.path.realpath(e["path"]) for e in found], [os.path.realpath(libc)])
    for entry in files:
        check("/cachemon-test." not in entry["path"] or entry["path"] == world.hot,
              f"a file of the calibration is in the job: {entry['path']}")


def reads_done(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/io") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("syscr:"))
    return 0


def state(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def kill_exerciser(watch):
    """Kills the calibration's process while it times system calls. False: it had gone on before it
    was stopped."""
    deadline = time.monotonic() + 30
    children = f"/proc/{watch.pid()}/task/{watch.pid()}/children"
    while watch.process.poll() is None:
        with contextlib.suppress(OSError), open(children) as f:
            for pid in map(int, f.read().split()):
                if reads_done(pid) < CALIBRATION_CALLS[0]:
                    continue
                os.kill(pid, signal.SIGSTOP)
                machine.until(lambda: state(pid) in "TZ", "the process stops")
                done = reads_done(pid)
                os.kill(pid, signal.SIGKILL)
                return done in CALIBRATION_CALLS
        check(time.monotonic() < deadline, "no process of a calibration was seen")
    return False


@part.case
def a_calibration_that_breaks_leaves_the_advice_hook_on(world, stack):
    for _ in range(BREAKS_MAX):
        go = world.tool.fresh(".go")
        watch = world.tool.watch(stack, ["--level", "full", "--advice", "calls"],
                                 [sys.executable, ME, "--work", world.hot, go])
        broken = kill_exerciser(watch)
        open(go, "w").close()
        report, job, _ = watch.end()
        if broken:
            break
    else:
        raise Skipped(f"in {BREAKS_MAX} calibrations none could be stopped in time")
    equal("cost of seeing a call, which was not measured", report["run"]["cost"]["advice_calls_ns"],
          None)
    calls = [a["calls"] for a in job["advice"] if a["kind"] == "willneed" and a["path"] == world.hot]
    equal("advice calls seen", sum(calls), ADVICE_CALLS)


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@part.case
def a_hook_that_cannot_be_switched_is_said_once_and_tried_seldom(world, stack):
    """Without a free descriptor the per-read hook cannot be attached for its next slice."""
    hot = reader.Reader(world.reader, world.hot, stack)
    watch = world.tool.watch(stack, ["--level", "auto", "--max-overhead", "0.1%", "--interval",
                                     "500ms", "--pid", str(hot.pid())])
    hot.start("hot", 1000000000)
    machine.until(lambda: watch.query("SELECT sliced FROM run"), "the run is sliced")
    resource.prlimit(watch.pid(), resource.RLIMIT_NOFILE, (3, 4096))
    watch.wait_intervals(6)
    before, start = cpu_s(watch.pid()), time.monotonic()
    watch.wait_intervals(6)
    share = (cpu_s(watch.pid()) - before) / (time.monotonic() - start)
    part.note(f"collector on {share:.1%} of a CPU while the hook cannot be attached")
    resource.prlimit(watch.pid(), resource.RLIMIT_NOFILE, (1024, 4096))
    watch.interrupt()
    watch.end()
    lines = [line for line in watch.errors.splitlines() if "per-read hook cannot" in line]
    equal("lines about it", len(lines), 1)
    check(share < 0.1, f"the collector used {share:.0%} of a CPU")


def work_advice(path, go):
    """Advice that moves no page: the file is cached."""
    fd = os.open(path, os.O_RDONLY)
    while not os.path.exists(go):
        time.sleep(0.01)
    for _ in range(ADVICE_CALLS):
        os.posix_fadvise(fd, 0, PAGE, os.POSIX_FADV_WILLNEED)


def main():
    if sys.argv[1:2] == ["--work"]:
        return work_advice(*sys.argv[2:])
    return part.main(HotWorld)


if __name__ == "__main__":
    sys.exit(main())
