# SPDX-License-Identifier: BSD-2-Clause
"""Cells with a condition: a memory limit, memory pressure, a slow device, two watches."""

import contextlib
import fcntl
import json
import math
import os
import subprocess
import time

from . import compare
from .cells import Cell, Outcome, decide, disturbance
from .watch import Failed, Lacking, Limits, file_totals, remove, tail

KNOB_LOCK = "/run/lock/cachemon-test-knob"
MEMORY_V1 = "/sys/fs/cgroup/memory"
BLKIO_V1 = "/sys/fs/cgroup/blkio"
UNIFIED = "/sys/fs/cgroup"
MEMORY_LIMIT = 64 << 20
THROTTLE_BYTES_PER_S = 2 << 20
STALL_TOLERANCE = 0.05
STALL_MIN_NS = 1_000_000_000
TICK_NS = 10_000_000
DELAYACCT = "/proc/sys/kernel/task_delayacct"
KSWAPD_HIGH_SHARE = 0.97


def put(path, value):
    with open(path, "w") as f:
        f.write(str(value))


@contextlib.contextmanager
def knob(path, value):
    """Sets a value of the machine. A child waits for our end and restores the old value, even if
    we are killed. It holds the lock until then, so that a value set here is never taken for the
    old one. There is one lock for all values: knobs do not nest."""
    os.makedirs(os.path.dirname(KNOB_LOCK), exist_ok=True)
    with open(KNOB_LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(path) as f:
            before = f.read().strip()
        keeper = subprocess.Popen(["sh", "-c", 'cat; echo "$1" >"$2"', "sh", before, path],
                                  stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  pass_fds=[lock.fileno()], start_new_session=True)
    try:
        put(path, value)
        yield
    finally:
        complaint = keeper.communicate()[1].strip()
        if keeper.returncode:
            raise Failed(f"{path} could not be set back to {before}: {complaint}")


@contextlib.contextmanager
def cgroup(parent, settings):
    path = os.path.join(parent, f"cachemon-truth-{os.getpid()}")
    os.mkdir(path)
    try:
        for name, value in settings.items():
            put(os.path.join(path, name), value)
        yield
    finally:
        os.rmdir(path)


def is_v1(parent):
    return os.path.exists(os.path.join(parent, "cgroup.procs"))


def words(path):
    with open(path) as f:
        return f.read().split()


def unified_with(controller):
    """The root of the v2 hierarchy, with the controller enabled for its children."""
    if not os.path.exists(os.path.join(UNIFIED, "cgroup.controllers")):
        raise Lacking(f"no cgroup tree with the controller {controller}")
    if controller not in words(os.path.join(UNIFIED, "cgroup.controllers")):
        raise Lacking(f"{UNIFIED} has no controller {controller}")
    control = os.path.join(UNIFIED, "cgroup.subtree_control")
    if controller not in words(control):
        put(control, "+" + controller)
    return UNIFIED


class GroupCell(Cell):
    """A cell inside its own control group."""

    alone = root = True
    v1 = None
    controller = None  # of v2

    def parent(self):
        return self.v1 if is_v1(self.v1) else unified_with(self.controller)

    def arguments(self, env, fs):
        return [f"join={self.parent()}/cachemon-truth-{os.getpid()}"]

    def condition(self, env, fs):
        settings = self.settings_v1 if is_v1(self.v1) else self.settings_v2
        return cgroup(self.parent(), settings(env, fs))


def job_files(expectation, job):
    """(oracle's file, cachemon's totals) of files in both."""
    for want in expectation["files"]:
        totals = file_totals(job, want["dev"], want["ino"])
        if totals:
            yield want, totals


def left(want, got):
    """Evicted pages of a file that was cold; None if too little was measured."""
    if got["evicted"] is not None or got["added"] is None:
        return got["evicted"]
    return got["added"] - want["expect"]["balance"]


def nearly_all(pages, want):
    """The range for a cause that evicted at least 99 % of the pages, and at least one page."""
    if pages is None:
        return [1, want["expect"]["lookups"]]
    return [max(1, math.ceil(0.99 * pages)), max(1, pages)]


def nearly_all_by(by, *causes):
    """Whether these causes evicted at least the share of nearly_all() of the pages that the kernel
    saw leave."""
    return sum(by[cause] for cause in causes) >= nearly_all(sum(by.values()), None)[0]


class MemoryLimit(GroupCell):
    """Reclaim by the job's own limit."""

    v1 = MEMORY_V1
    controller = "memory"

    def settings_v1(self, env, fs):
        return {"memory.limit_in_bytes": MEMORY_LIMIT}

    def settings_v2(self, env, fs):
        return {"memory.max": MEMORY_LIMIT}

    def held(self, by):
        return nearly_all_by(by, "memcg")

    def more(self, expectation, job):
        """At least 99 % of the evictions must be by the limit."""
        rows = []
        for want, totals in job_files(expectation, job):
            got = compare.columns(totals)
            rows.append(compare.row(os.path.basename(want["path"]), "evicted_reclaim_memcg",
                                    nearly_all(left(want, got), want),
                                    got["evicted_reclaim_memcg"]))
        return rows, []


class Kswapd(Cell):
    """Background reclaim: the watermarks are raised until a file of 30 % of memory is too large."""

    alone = True

    @contextlib.contextmanager
    def condition(self, env, fs):
        # low = 1.25 min, high = 1.5 min. The high one can be met by dropping the cache: a kswapd
        # that fails too often goes to sleep for good.
        high_kb = KSWAPD_HIGH_SHARE * (meminfo("MemFree") + meminfo("Cached"))
        with knob("/proc/sys/vm/min_free_kbytes", int(high_kb / 1.5)):
            yield

    def unfit(self, expectation):
        if not expectation["values"]["pgsteal_kswapd"]:
            return "kswapd took no page under raised watermarks, by /proc/vmstat"
        return None

    def held(self, by):
        return by["kswapd"] and nearly_all_by(by, "kswapd", "direct")

    def more(self, expectation, job):
        """kswapd evicted no more pages of this file than of all files by the kernel's own count,
        and together with direct reclaim at least 99 % of all evicted pages."""
        rows, stolen = [], expectation["values"]["pgsteal_kswapd"]
        for want, totals in job_files(expectation, job):
            name, got = os.path.basename(want["path"]), compare.columns(totals)
            rows.append(compare.row(name, "evicted_reclaim_kswapd", [1, stolen],
                                    got["evicted_reclaim_kswapd"]))
            rows.append(compare.row(name, "reclaimed", nearly_all(left(want, got), want),
                                    got["reclaimed"]))
        return rows, []


def meminfo(key):
    with open("/proc/meminfo") as f:
        for line in f:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    raise Failed(f"/proc/meminfo has no {key}")


class Throttled(GroupCell):
    """A device that delivers 2 MiB/s, and the kernel's own account of the waits."""

    v1 = BLKIO_V1
    controller = "io"

    def settings_v1(self, env, fs):
        return {"blkio.throttle.read_bps_device":
                f"{env.images.device(fs)} {THROTTLE_BYTES_PER_S}"}

    def settings_v2(self, env, fs):
        return {"io.max": f"{env.images.device(fs)} rbps={THROTTLE_BYTES_PER_S}"}

    @contextlib.contextmanager
    def condition(self, env, fs):
        # Only tasks born later are accounted. Older kernels have no such knob: always on.
        account = contextlib.nullcontext()
        if os.path.exists(DELAYACCT):
            account = knob(DELAYACCT, 1)
        with account, super().condition(env, fs):
            yield

    def held(self, by):
        """Evicted pages would be read again, and waited for again."""
        return not by


class ThrottledCold(Throttled):
    def unfit(self, expectation):
        values = expectation["values"]
        if not values["block_delay_ns"] and values["call_ns"] >= STALL_MIN_NS:
            return "the kernel accounts no block delay"
        return None

    def more(self, expectation, job):
        delay, rows = expectation["values"]["block_delay_ns"], []
        if delay < STALL_MIN_NS:
            return [], [f"the throttle did not hold: {delay} ns of block delay by the kernel's "
                        "account"]
        slack = int(STALL_TOLERANCE * delay)
        for want, totals in job_files(expectation, job):
            name, got = os.path.basename(want["path"]), compare.columns(totals)
            lookups, late = want["expect"]["lookups"], got["used_late"]
            rows.append(compare.row(name, "stall_ns", [delay - slack, delay + slack],
                                    got["stall_ns"]))
            rows.append(compare.row(name, "used_late", [1, lookups], late))
            rows.append(compare.row(name, "delayed_hits", [late or 0, lookups],
                                    got["delayed_hits"]))
        return rows, []


class ThrottledWarm(Throttled):
    def more(self, expectation, job):
        delay = expectation["values"]["block_delay_ns"]
        return [compare.row(os.path.basename(want["path"]), "stall_ns", [0, delay + TICK_NS],
                            totals["stall_ns"])
                for want, totals in job_files(expectation, job)], []


def stalls(expectation, job):
    """{number of the file: (name, its stall)}"""
    found = {}
    for want, totals in job_files(expectation, job):
        name = os.path.basename(want["path"])
        found[int(name.partition(".")[2] or 0)] = (name, totals["stall_ns"])
    return found


class ThrottledFiles(ThrottledCold):
    """Several files, each with its own waits: at least nine tenths of the kernel's account for
    it, whose clock differs from that of the calls, and at most the time of its calls."""

    def unfit(self, expectation):
        return None if expectation["values"]["block_delay_ns"] else "no block delay is accounted"

    def more(self, expectation, job):
        values = expectation["values"]
        if values["block_delay_ns"] < STALL_MIN_NS:
            return [], [f"the throttle did not hold: {values['block_delay_ns']} ns"]
        return [compare.row(name, "stall_ns",
                            [max(0, values[f"block_delay_{i}_ns"] * 9 // 10 - TICK_NS),
                             values[f"call_{i}_ns"]], got)
                for i, (name, got) in stalls(expectation, job).items()
                if f"call_{i}_ns" in values], []


class TwoWatchers(Cell):
    """Two cachemons, two jobs, one file, at once: each counts its own reads."""

    def attempt(self, env, fs, why):
        tools = env.tools
        if not tools.cachemon:
            return Outcome("passed")
        path = os.path.join(env.images.mount(fs), "file")
        tools.run_wl("prepare", self.setup, path)
        go = tools.fresh(".fifo")
        os.mkfifo(go)
        held = os.fdopen(os.open(go, os.O_RDWR))
        runs = [self.start(env, path, go, f"job{i}") for i in (1, 2)]
        try:
            with held:
                self.wait_ready(runs)
            for run in runs:
                run["stderr"] = run["process"].communicate(timeout=Limits.timeout_s)[1]
        except subprocess.TimeoutExpired as e:
            raise Failed(f"{run['job']}: not done after {Limits.timeout_s} s") from e
        finally:
            for run in runs:
                if run["process"].poll() is None:
                    run["process"].terminate()
                    run["process"].wait()
            remove(go, *(r["ready"] for r in runs))
        return self.judge_both(tools, runs, why)

    def start(self, env, path, go, job):
        tools = env.tools
        run = {"job": job, "db": tools.fresh(".db"), "out": tools.fresh(".json"),
               "ready": tools.fresh(".ready")}
        command = [tools.wl, "run", self.pattern, path, run["out"], str(env.seed),
                   f"ready={run['ready']}", f"go={go}"]
        run["process"] = subprocess.Popen(tools.watch_argv(run["db"], command, job), text=True,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return run

    def wait_ready(self, runs):
        """Waits until both workloads wait for the FIFO to be closed."""
        while not all(os.path.exists(r["ready"]) for r in runs):
            for run in runs:
                if run["process"].poll() is not None:
                    raise Failed(f"{run['job']}: ended early: "
                                 f"{tail(run['process'].stderr.read())}")
            time.sleep(0.01)

    def judge_both(self, tools, runs, why):
        rows, errors, unmeasured = [], [], {}
        for run in runs:
            if run["process"].returncode:
                raise Failed(f"{run['job']}: watch exits {run['process'].returncode}: "
                             f"{tail(run['stderr'])}")
            with open(run["out"]) as f:
                expectation = json.load(f)
            disturbed = disturbance(tools, expectation)
            if disturbed:
                why.append(disturbed)
                return None
            report, job = tools.report(run["db"], run["job"])
            errors += compare.report_errors(report)
            unmeasured = compare.unmeasured_of(report)
            for want in expectation["files"]:
                totals = file_totals(job, want["dev"], want["ino"])
                rows += [(run["job"], *r)
                         for r in compare.compare_file(want, totals, unmeasured)]
        outcome = decide(rows, errors, unmeasured)
        if outcome.status != "failed":
            remove(*(r["db"] for r in runs), *(r["out"] for r in runs))
        return outcome


def cells():
    return [MemoryLimit("memcg_loop", "medium"), Kswapd("kswapd_fill", "big"),
            ThrottledCold("throttled_seq", "cold"), ThrottledWarm("throttled_warmed", "cold"),
            ThrottledFiles("throttled_aio", "many"), ThrottledFiles("throttled_direct", "many"),
            ThrottledFiles("throttled_uring", "many"),
            TwoWatchers("two_watchers_cold", "cold", "plain_loops"),
            TwoWatchers("two_watchers_warm", "warm", "plain_loops")]
