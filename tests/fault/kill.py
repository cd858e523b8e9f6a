#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""kill -9 of cachemon at random moments: start, watch, end. Within a second nothing of it is
left in the kernel; CMD continues with its own status, or was never run; the database opens and
has every committed interval; the next run works and marks the killed one as cut. Likewise, without
the moments, of a node's daemon."""

import contextlib
import ctypes
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from faultlib import bpf  # noqa: E402
from faultlib.part import Part, expect, wait_until  # noqa: E402
from faultlib.watch import BOUND_S, Db, Steady, Watch, check_gapless, run  # noqa: E402

part = Part("kill", __doc__, ("kill -9", 200, 20))
part.parser.add_argument("--seed", type=int, default=0, help="of the moments; 0: a new one")

GONE_WITHIN_S = 1.0
DAEMON_GONE_WITHIN_S = 5.0  # on a busy machine 1.2 s were seen
PR_SET_CHILD_SUBREAPER = 36
# Of ten moments: that many during the start, the watch, the end.
PHASES = ["starting"] * 4 + ["watching"] * 4 + ["ending"] * 2
ENDING_S = 0.4
INTERVAL_S = 0.1
# A sample that is due waits for a CPU, then for the disk.
LATE_S = 0.5


def children():
    """Becomes the parent of orphans: the processes of a killed cachemon come here."""
    found = set()
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/children", encoding="ascii") as f:
            found |= set(map(int, f.read().split()))
    return found


def end_of(pid):
    """CMD's status, as in a shell."""
    def ended():
        got, status = os.waitpid(pid, os.WNOHANG)
        return got and (os.waitstatus_to_exitcode(status),)
    return wait_until(ended, f"the end of process {pid}", BOUND_S)[0]


class Moments:
    """When to kill, and what was observed before."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.start_s = 1.0  # how long a start takes here; measured
        self.lost_s = []    # of the timeline, before a kill
        self.last_s = 0.0   # the longest time that anything remained after a kill
        self.never_ran = 0
        self.went_on = 0
        self.too_late = 0

    def wait(self, index, watch, steady, began):
        """Returns at the moment to kill."""
        phase = PHASES[index % len(PHASES)]
        if phase == "starting":
            target = began + self.random.uniform(0, self.start_s)
        else:
            steady.wait_started(watch)
            self.start_s = 0.7 * self.start_s + 0.3 * (time.monotonic() - began)
            target = time.monotonic() + self.random.uniform(0, 1.0)
        if phase == "ending":
            time.sleep(max(0, target - time.monotonic()))
            steady.stop()
            target = time.monotonic() + self.random.uniform(0, ENDING_S)
        time.sleep(max(0, target - time.monotonic()))


def wait_nothing_left(mine, before, killed, within_s=GONE_WITHIN_S):
    """mine: objects that cachemon was seen to hold. Objects that it created later are found because
    nobody holds them."""
    while True:
        asked = time.monotonic()
        left = {entry for entry in mine if bpf.exists(*entry)}
        left |= bpf.orphans(bpf.everything() - before - mine)
        if not left:
            return time.monotonic() - killed
        # A delay of the test itself, on a busy machine, is not an error of cachemon.
        expect(asked - killed <= within_s,
               f"{asked - killed:.2f} s after the kill there are still {bpf.describe(left)}")
        time.sleep(0.005)


def ended_with_it(pid):
    """The process in which cachemon times its probes ends with it; CMD has another status."""
    end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if not end or end.si_status not in (0, signal.SIGKILL):
        return False
    os.waitpid(pid, 0)
    return True


def check_command(moments, steady, orphans):
    """CMD continues and ends with its own status, or it never ran and never will."""
    def only_command():
        orphans.difference_update({pid for pid in orphans if ended_with_it(pid)})
        return len(orphans) <= 1
    wait_until(only_command, f"the end of all but CMD of {orphans}", GONE_WITHIN_S)
    for pid in orphans:
        wait_until(lambda p=pid: steady.started() or is_zombie(p), "CMD to run or to end", BOUND_S)
        steady.stop()
        status = end_of(pid)
        if steady.started():
            expect(steady.started() == pid, "CMD is another process")
            expect(status == steady.status and steady.done(), f"CMD ended with {status}")
            moments.went_on += 1
        else:
            expect(status == 125, f"CMD did not run, but its process ended with {status}")
            moments.never_ran += 1
    if not orphans:
        # Killed before the fork, or after CMD had ended.
        expect(not steady.started() or steady.done(), "CMD was ended with cachemon")
        moments.never_ran += not steady.started()
    wait_until(lambda: not orphans & children(), "the end of CMD", BOUND_S)


def is_zombie(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "Z"


def check_database(db, copy, run_id, nr_before, job_before):
    """Intervals that were committed before the kill are there."""
    if not os.path.exists(db.path):
        expect(not run_id, "the database is gone")
        return None
    left = db.copy(copy)
    left.sound()
    if not run_id:
        return None
    row = left.run(run_id)
    expect(row, f"run {run_id} is gone")
    intervals = left.intervals(run_id)
    expect(len(intervals) >= nr_before, f"{nr_before} intervals before, {len(intervals)} after")
    expect(row["loss_intervals"] == 0, f"{row['loss_intervals']} intervals were not written")
    check_gapless(intervals)
    if intervals:
        end = intervals[-1]["start_ns"] + intervals[-1]["duration_ns"]
        expect(row["state"] == "complete" or row["duration_ns"] == end,
               f"the run lasts {row['duration_ns']} ns, its intervals {end} ns")
    job = left.job(run_id)
    for name in ("read_calls", "lookups", "processes"):
        expect((job[name] or 0) >= (job_before[name] or 0), f"{name} went back")
    cut = left.rows("SELECT id FROM run WHERE id < ? AND state = 'open'", run_id)
    expect(not cut, f"runs {[r['id'] for r in cut]} were killed and are not marked as cut")
    return left


def kill_once(case, moments, index, db, last_run):
    steady = Steady(case, status=7, name=f"steady{index}")
    objects = bpf.everything()
    known = children()
    began = time.monotonic()
    watch = Watch(case, ["--db", db.path, "--interval", f"{INTERVAL_S * 1000:.0f}ms",
                         "--job", f"kill {index}"], steady.command)
    moments.wait(index, watch, steady, began)

    nr_before, run_id, job_before = 0, 0, None
    if os.path.exists(db.path):
        try:
            row = db.run()
            if row and row["id"] > last_run:
                run_id, nr_before, job_before = row["id"], len(db.intervals()), db.job()
        except sqlite3.OperationalError:
            run_id = 0  # not a database yet
    mine = bpf.held_by(watch.pid)
    killed, killed_ns = time.monotonic(), time.time_ns()
    watch.process.kill()
    status = watch.process.wait()
    left_s = wait_nothing_left(mine, objects, killed)
    moments.last_s = max(moments.last_s, left_s)
    if status != -9:
        moments.too_late += 1
        expect(status == steady.status, f"cachemon ended before the kill, with {status}")
    check_command(moments, steady, children() - known - {watch.pid})
    left = check_database(db, case.path("copy.db"), run_id, nr_before, job_before)
    if left and left.run(run_id)["state"] == "open" and status == -9 and left.intervals(run_id):
        row = left.run(run_id)
        lost_s = (killed_ns - row["started_ns"] - row["duration_ns"]) / 1e9
        moments.lost_s.append(lost_s)
        expect(lost_s < INTERVAL_S + LATE_S, f"the last {lost_s:.2f} s before the kill are lost")
    return max(last_run, run_id)


@part.case("kill -9 at random moments")
def kill_many(case):
    """One case by name; each kill counts."""
    options = case.options
    seed = options.seed or random.SystemRandom().randrange(1, 1 << 31)
    print(f"seed {seed}", flush=True)
    expect(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "no subreaper")
    moments = Moments(seed)
    db, pins, last_run = Db(case.path("run.db")), bpf.pins(), 0
    for index in range(options.count):
        last_run = kill_once(case, moments, index, db, last_run)
        case.part.counts["passed"] += 1
        if (index + 1) % 10 == 0:
            print(f"        {index + 1} of {options.count}", flush=True)
    expect(bpf.pins() == pins, f"pins: {bpf.pins() - pins}")

    done = run([case.cachemon, "watch", "--db", db.path, "--", "sh", "-c", "exit 5"])
    expect(done.status == 5, f"the run after the kills: {done}")
    db.sound()
    expect(db.run()["state"] == "complete", "the run after the kills is not complete")
    left = db.one("SELECT count(*) FROM run WHERE state = 'open'")
    expect(left == 0, f"{left} killed runs are still open")
    cut = db.one("SELECT min(id) FROM run WHERE state = 'cut'")
    if cut:
        for verb in (["runs"], ["report", "--run", str(cut)]):
            done = run([case.cachemon, *verb, "--db", db.path])
            expect(done.status == 0 and b"cut" in done.out, f"of a cut run: {done}")
    return (f"CMD went on {moments.went_on} times, had ended or was never run else "
            f"({moments.never_ran} never run), {moments.too_late} kills came too late; "
            f"all objects gone within {moments.last_s * 1000:.0f} ms, at most the last "
            f"{max(moments.lost_s, default=0) * 1000:.0f} ms not in the database "
            f"(median {sorted(moments.lost_s or [0])[len(moments.lost_s) // 2] * 1000:.0f})")


class Daemon:
    """A node's daemon without jobs, with its socket and its metrics server."""

    def __init__(self, case, settings, place, port):
        self.place, self.port = place, port
        self.process = case.adopt(subprocess.Popen(
            [case.cachemon, "daemon", "--config", settings], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))

    def answers(self):
        if self.process.poll() is not None:
            expect(False, f"daemon ended with {self.process.returncode}: {self.process.stderr.read()}")
        with contextlib.suppress(OSError):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.settimeout(1)
                s.connect(self.place)
                s.send(b'{"request": "hello"}')
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return b"version" in s.recv(4096)
        return False

    def wait(self):
        wait_until(self.answers, "the daemon's answer", BOUND_S)

    def helpers(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as f:
            return list(map(int, f.read().split()))


def has_ended(pid):
    try:
        return is_zombie(pid)
    except (FileNotFoundError, ProcessLookupError):
        return True


@part.case("kill -9 of a node's daemon")
def kill_daemon(case):
    """Its metrics server ends with it. The next daemon uses the same socket and address."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    settings, place, db = case.path("node.yaml"), case.path("socket"), Db(case.path("node.db"))
    with open(settings, "w", encoding="ascii") as f:
        f.write(f"database: {db.path}\njobs:\n  include: ['slurm:none']\n"
                f"socket:\n  path: {place}\nmetrics:\n  listen: 127.0.0.1:{port}\n")
    objects, pins = bpf.everything(), bpf.pins()
    daemon = Daemon(case, settings, place, port)
    daemon.wait()
    mine, helpers = bpf.held_by(daemon.process.pid), daemon.helpers()
    expect(helpers and any(kind == "link" for kind, _ in mine), f"nothing to leave: {mine}, {helpers}")
    killed = time.monotonic()
    daemon.process.kill()
    daemon.process.wait()
    left_s = wait_nothing_left(mine, objects, killed, DAEMON_GONE_WITHIN_S)
    wait_until(lambda: all(map(has_ended, helpers)), f"the end of {helpers}", DAEMON_GONE_WITHIN_S)
    expect(bpf.pins() == pins, f"pins: {bpf.pins() - pins}")
    after = Daemon(case, settings, place, port)
    after.wait()
    after.process.terminate()
    expect(after.process.wait(BOUND_S) == 0, f"the next daemon: {after.process.stderr.read()}")
    db.sound()
    return f"{len(mine)} objects gone within {left_s * 1000:.0f} ms"


if __name__ == "__main__":
    part.main()
