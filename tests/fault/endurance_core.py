# SPDX-License-Identifier: BSD-2-Clause
"""The work of endurance.py, the same on this machine and in a guest.

A watch of a cgroup runs all the time, over a load whose reads the test knows. Meanwhile another
process attaches and detaches all hooks many times, and the machine goes through its troubles in
turns."""

import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import Callable, Optional

from endurance_churn import Churn, memory_kb, write
from endurance_law import Timeline, every_read
from endurance_load import MEMORY_MAX, PAGE, Load
from endurance_memory import Memory
from faultlib import bpf
from faultlib.heap import EXACT_HEAP
from faultlib.kernel_log import KernelLog
from faultlib.part import Failed, Skipped, expect, wait_until
from faultlib.watch import Db, committed
from control_groups import remove_cgroup  # on faultlib's path

BOUND_S, LOOK_S = 300, 0.2
# Kernel memory charged to the attaching process: some of it, like names of files, stays until it is
# reclaimed.
CHARGED_SLACK = 256 << 10
TROUBLE = re.compile(r"\bBUG\b|WARNING:|Oops|refcount|percpu.*leak|bpf.*leak|Call Trace")


@dataclass
class Place:
    """The environment of the test."""
    cachemon: str
    attacher: str  # tests/fault/attach_cycles.c
    told: str  # tests/fault/memory_told.c
    count: int
    seconds: int  # over which the cycles are spread; 0: without pauses
    turn_s: float  # between troubles
    load: Load
    churn: Churn
    take: Callable  # (name, function, arguments...): returns a result
    alone: bool  # no other users on the machine


class Attacher:
    """Runs in its own cgroup, which shows the kernel memory charged to it."""

    def __init__(self, place):
        self.cgroup = place.load.cgroup + ".attacher"
        self.objects, self.charged_most = set(), 0
        os.mkdir(self.cgroup)
        self.process = subprocess.Popen(
            [place.attacher, str(place.count), str(place.seconds)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=EXACT_HEAP,
            preexec_fn=lambda: write(os.path.join(self.cgroup, "cgroup.procs"), "0"))

    def charged(self):
        v1 = os.path.join(self.cgroup, "memory.kmem.usage_in_bytes")
        path = v1 if os.path.exists(v1) else os.path.join(self.cgroup, "memory.stat")
        with open(path, encoding="ascii") as f:
            fields = dict(line.split() if path != v1 else ("kernel", line) for line in f)
        return int(fields.get("kernel", 0))

    def ended(self, wait_s):
        """Watches it for that long, or until it ends."""
        end = time.monotonic() + wait_s
        while self.process.poll() is None:
            self.objects |= bpf.held_by(self.process.pid)
            self.charged_most = max(self.charged_most, self.charged())
            if time.monotonic() >= end:
                return False
            time.sleep(LOOK_S)
        return True

    def said(self):
        out, err = self.process.communicate()
        status = self.process.returncode
        expect(status == 0, f"status {status}: {err.strip()}")
        return out.strip()

    def kill(self):
        self.process.kill()
        self.process.wait()
        remove_cgroup(self.cgroup, wait_until)


def kernel_kb(alone):
    """Kernel memory that is not page cache and not charged to a process, after everything
    reclaimable is gone; without maps that are in use."""
    names = "SUnreclaim", "Percpu", "VmallocUsed"
    if alone:
        os.sync()
        write("/proc/sys/vm/drop_caches", "3")
        return sum(memory_kb(*names).values())

    def settled():
        held = bpf.held_maps_bytes()
        found = sum(memory_kb(*names).values()) - (held >> 10)
        return bpf.held_maps_bytes() == held and found
    return wait_until(settled, "a moment in which nobody makes or closes maps", BOUND_S, 0.1)


def cycles(place, attacher, watch, looks):
    """Attaches and detaches while the machine goes through its troubles."""
    while not attacher.ended(place.turn_s):
        place.churn.turn()
        for look in looks:
            look(watch.pid)
        expect(watch.poll() is None, f"the watch ended with {watch.returncode}")


def nothing_left(before, seen, alone):
    """seen: objects that were open in processes that have ended."""
    def left():
        found = {entry for entry in seen if bpf.exists(*entry) and not bpf.is_kernels(*entry)}
        new = {entry for entry in bpf.everything() - before if not bpf.is_kernels(*entry)}
        # Objects of others are held by them.
        return found | (new if alone else bpf.orphans(new))

    try:
        wait_until(lambda: not left(), "the end of all programs, maps and links", 60, 0.1)
    except Failed as e:
        raise Failed(f"{e}: {bpf.describe(left())}") from e
    return f"{len(seen)} were seen, none is there, and no other" + " without a holder" * (not alone)


def charge_returned(attacher, map_bytes):
    """Only this process is charged here, for each map and program except their names."""
    most = attacher.charged_most
    if not most:
        raise Skipped("kernel memory is not charged to cgroups here")
    expect(most > map_bytes // 2, f"never more than {most} bytes, the maps are {map_bytes}")
    wait_until(lambda: attacher.charged() <= CHARGED_SLACK,
               f"the return of all but {CHARGED_SLACK} of {most} bytes, at {attacher.charged()}")
    return f"{most >> 10} kB at most, {attacher.charged() >> 10} kB at the end"


def memory_kept(before, alone, map_bytes, count):
    """For the whole machine: misses a leak that is smaller than one cycle's part of a run's maps,
    or that other processes compensate."""
    def grown():
        return kernel_kb(alone) - before

    wait_until(lambda: grown() << 10 < map_bytes,
               f"the machine's kernel memory, {grown()} kB more than {before}; the maps of one run "
               f"are {map_bytes >> 10} kB", 60, 1)
    return (f"{before} kB, then {before + grown()}; seen were {map_bytes >> 10} more, "
            f"{map_bytes // count >> 10} a cycle")


def kernel_log(log):
    if isinstance(log, Skipped):
        raise log
    trouble = log.trouble()
    expect(not trouble, f"the kernel says {trouble[:3]}")


def ends_well(db, status):
    with open(db.path + ".err", encoding="utf-8", errors="replace") as f:
        expect(status in (0, 130), f"status {status}: {f.read()[-500:]}")


def watched(place, db, memory, looks):
    """One long run, observed; returns the attacher and the results."""
    load = place.load
    with open(db.path + ".err", "wb") as err:
        watch = subprocess.Popen([place.cachemon, "watch", "--level", "full", "--db", db.path,
                                  "--cgroup", load.cgroup], stderr=err,
                                 env=memory.environment())
    attacher = None
    try:
        wait_until(lambda: committed(db), "the watch's first interval", BOUND_S, 0.2)
        load.start()
        attacher = Attacher(place)
        cycles(place, attacher, watch, looks)
        objects = attacher.objects | bpf.held_by(watch.pid)
        load.stop()
        pages = load.cached_pages()
    except BaseException:
        if attacher:
            attacher.kill()
        raise
    finally:
        load.kill()
        watch.send_signal(signal.SIGINT)
        status = watch.wait(BOUND_S)
    return attacher, objects, status, pages


def endure(place, db_path):
    take, load, db = place.take, place.load, Db(db_path)
    try:
        log = KernelLog(TROUBLE)
    except Skipped as e:
        log = e
    subprocess.run([place.attacher, "6"], stdout=subprocess.DEVNULL, check=True, env=EXACT_HEAP)
    load.empty()
    place.churn.attempt()
    load.empty()
    # By now, the kernel has everything that it creates once, like types of a module.
    objects = bpf.everything()
    kernel, started = kernel_kb(place.alone), time.monotonic()
    timeline, memory = Timeline(db, MEMORY_MAX // PAGE), Memory(place.told, db_path + ".memory")
    # At the end the kernel log may lack the oldest lines of a long run.
    looks = [lambda _: timeline.look(), memory.look]
    looks += [] if isinstance(log, Skipped) else [lambda _: log.look()]
    attacher, seen, status, pages = watched(place, db, memory, looks)
    try:
        took, map_bytes = time.monotonic() - started, db.run()["map_bytes"]
        take(f"{place.count} cycles",
             lambda: f"in {took:.0f} s, {place.churn.turns} turns beside: {attacher.said()}")
        take("troubles", place.churn.told)
        take("the watch ends well", ends_well, db, status)
        take("the watch stays as large as it is", memory.steady)
        take("the law at every interval", timeline.holds)
        take("what is in the cache", timeline.as_the_kernel_says, pages, load.cached_pages)
        take("every read is counted", every_read, db, load.total())
        take("no object is left", nothing_left, objects, seen, place.alone)
        take("memory of who attached", charge_returned, attacher, map_bytes)
        load.empty()
        take("the machine's kernel memory", memory_kept, kernel, place.alone, map_bytes,
             place.count)
        take("kernel log", kernel_log, log)
    finally:
        attacher.kill()
