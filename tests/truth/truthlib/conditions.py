# SPDX-License-Identifier: BSD-2-Clause
"""Cells under a condition: a memory limit, memory pressure, a slow device, two watchers."""

import contextlib
import fcntl
import json
import os
import subprocess

from . import compare
from .cells import Cell, Outcome, disturbance
from .watch import TIMEOUT_S, Failed, file_totals, remove, tail

KNOB_LOCK = "/run/lock/cachemon-test-knob"
MEMORY_V1 = "/sys/fs/cgroup/memory"
BLKIO_V1 = "/sys/fs/cgroup/blkio"
UNIFIED = "/sys/fs/cgroup"
MEMORY_LIMIT = 64 << 20
THROTTLE_BYTES_PER_S = 2 << 20
STALL_TOLERANCE = 0.05
STALL_MIN_NS = 1_000_000_000
TICK_NS = 10_000_000
KSWAPD_HIGH_SHARE = 0.97


def put(path, value):
    with open(path, "w") as f:
        f.write(str(value))


@contextlib.contextmanager
def knob(path, value):
    """Sets a value of the machine. A child that waits for our end puts the old one back, so that it
    comes back when we are killed as well; it holds the lock until then, so that nobody takes a value
    that was set here for the old one. There is one lock for all values: knobs do not nest."""
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


class GroupCell(Cell):
    """A cell inside a control group of its own."""

    alone = True
    v1 = None

    def parent(self):
        return self.v1 if is_v1(self.v1) else UNIFIED

    def arguments(self, env, fs):
        return [f"join={self.parent()}/cachemon-truth-{os.getpid()}"]

    def condition(self, env, fs):
        settings = self.settings_v1 if is_v1(self.v1) else self.settings_v2
        return cgroup(self.parent(), settings(env, fs))


def job_files(expectation, job):
    """(oracle's file, cachemon's totals) of files that have both."""
    for want in expectation["files"]:
        totals = file_totals(job, want["dev"], want["ino"])
        if totals:
            yield want, totals


class MemoryLimit(GroupCell):
    """Reclaim by the job's own limit."""

    v1 = MEMORY_V1

    def settings_v1(self, env, fs):
        return {"memory.limit_in_bytes": MEMORY_LIMIT}

    def settings_v2(self, env, fs):
        return {"memory.max": MEMORY_LIMIT}

    def more_errors(self, expectation, job):
        errors = []
        for want, totals in job_files(expectation, job):
            gone = totals["evicted_pages"]
            evicted, by_limit = compare.total(*gone.values()), gone["reclaim_memcg"]
            if not evicted or by_limit is None or by_limit < 0.99 * evicted:
                errors.append(f"{os.path.basename(want['path'])}: evicted by reclaim_memcg "
                              f"{by_limit} of {evicted}, expected at least 99 %: {gone}")
        return errors


class Kswapd(Cell):
    """Background reclaim: the watermarks are raised until a file of 30 % of memory is too much."""

    alone = True

    @contextlib.contextmanager
    def condition(self, env, fs):
        # low = 1.25 min, high = 1.5 min. The high one can be met with the cache thrown away:
        # a kswapd that fails too often goes to sleep for good.
        high_kb = KSWAPD_HIGH_SHARE * (meminfo("MemFree") + meminfo("Cached"))
        with knob("/proc/sys/vm/min_free_kbytes", int(high_kb / 1.5)):
            yield

    def more_errors(self, expectation, job):
        errors, stolen = [], expectation["values"]["pgsteal_kswapd"]
        for want, totals in job_files(expectation, job):
            gone = totals["evicted_pages"]
            evicted, kswapd = compare.total(*gone.values()), gone["reclaim_kswapd"]
            reclaimed = compare.total(kswapd, gone["reclaim_direct"])
            if not kswapd:
                errors.append(f"reclaim_kswapd = {kswapd}, the kernel's kswapd took {stolen} "
                              f"pages of all files: {gone}")
            elif kswapd > stolen or reclaimed < 0.99 * evicted:
                errors.append(f"reclaim_kswapd {kswapd} of {evicted} evicted, the kernel's count "
                              f"over all files is {stolen}: {gone}")
        return errors


def meminfo(key):
    with open("/proc/meminfo") as f:
        for line in f:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    raise Failed(f"/proc/meminfo has no {key}")


class Throttled(GroupCell):
    """A device that delivers 2 MiB a second, and the kernel's own account of the waiting."""

    v1 = BLKIO_V1

    def settings_v1(self, env, fs):
        return {"blkio.throttle.read_bps_device":
                f"{env.images.device(fs)} {THROTTLE_BYTES_PER_S}"}

    def settings_v2(self, env, fs):
        return {"io.max": f"{env.images.device(fs)} rbps={THROTTLE_BYTES_PER_S}"}

    @contextlib.contextmanager
    def condition(self, env, fs):
        # Only tasks born after it are accounted.
        with knob("/proc/sys/kernel/task_delayacct", 1), super().condition(env, fs):
            yield


class ThrottledCold(Throttled):
    def more_errors(self, expectation, job):
        delay = expectation["values"]["block_delay_ns"]
        if delay < STALL_MIN_NS:
            return [f"the throttle did not hold: {delay} ns of block delay by the kernel's account"]
        errors = []
        for _, totals in job_files(expectation, job):
            stall, late = totals["stall_ns"], totals["prefetch"]["fate"]["used_late"]
            if stall is None or abs(stall - delay) > STALL_TOLERANCE * delay:
                errors.append(f"stall_ns expected {delay} +-5 % (the kernel's block delay), "
                              f"got {stall}")
            if not late:
                errors.append(f"used_late expected > 0 on a throttled device, got {late}")
            if totals["delayed_hits"] is None or totals["delayed_hits"] < (late or 0):
                errors.append(f"delayed_hits {totals['delayed_hits']} below used_late {late}")
        return errors


class ThrottledWarm(Throttled):
    def more_errors(self, expectation, job):
        delay = expectation["values"]["block_delay_ns"]
        return [f"stall_ns expected at most the kernel's {delay}, got {totals['stall_ns']}"
                for _, totals in job_files(expectation, job)
                if totals["stall_ns"] is None or totals["stall_ns"] > delay + TICK_NS]


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
        runs = [self.start(env, path, go, f"job{i}") for i in (1, 2)]
        try:
            self.release(runs, go)
            for run in runs:
                run["stderr"] = run["process"].communicate(timeout=TIMEOUT_S)[1]
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

    def release(self, runs, go):
        """Opens the FIFO when both workloads wait at it."""
        while not all(os.path.exists(r["ready"]) for r in runs):
            for run in runs:
                if run["process"].poll() is not None:
                    raise Failed(f"{run['job']}: ended early: "
                                 f"{tail(run['process'].stderr.read())}")
        os.close(os.open(go, os.O_WRONLY))

    def judge_both(self, tools, runs, why):
        rows, errors = [], []
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
            for want in expectation["files"]:
                totals = file_totals(job, want["dev"], want["ino"])
                rows += [(run["job"], *r) for r in compare.compare_file(want, totals)]
        wrong = errors or any(r[4] != 0 for r in rows)
        if not wrong:
            remove(*(r["db"] for r in runs), *(r["out"] for r in runs))
        return Outcome("failed" if wrong else "passed", errors, rows)


def cells():
    return [MemoryLimit("memcg_loop", "medium"), Kswapd("kswapd_fill", "big"),
            ThrottledCold("throttled_seq", "cold"), ThrottledWarm("throttled_warmed", "cold"),
            TwoWatchers("two_watchers_cold", "cold", "plain_loops"),
            TwoWatchers("two_watchers_warm", "warm", "plain_loops")]
