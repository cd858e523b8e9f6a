# SPDX-License-Identifier: BSD-2-Clause
"""The guest's part of endurance.py: endurance_guest.py CACHEMON ATTACH_CYCLES COUNT. A line of JSON for
each thing that was looked at, [name, what was wrong or null, what to tell], in /out/results.

A watch of a cgroup runs all the time, over a load of which the harness knows every read. Meanwhile
another process attaches and detaches all hooks COUNT times, and by turns CPUs go and come, a filesystem's
module is loaded, used and unloaded, cgroups are made and removed, and memory is made scarce.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time

from endurance_load import PAGE, Load, make_files
from faultlib import bpf
from faultlib.cgroup import cgroup_mounts
from faultlib.part import Failed, expect, wait_until
from faultlib.watch import FATES, PREFETCHED, Db, committed

DIR = "/scratch/endurance"
BOUND_S = 300
CPU = "/sys/devices/system/cpu/cpu1/online"
# Of its own anonymous memory after a quarter of the run.
RSS_SLACK_KB = 1024
# attach_cycles counts its heap to the byte.
EXACT_HEAP = {**os.environ,
              "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"}
TROUBLE = re.compile(r"\bBUG\b|WARNING:|Oops|refcount|percpu.*leak|bpf.*leak|Call Trace")
CACHED = ("demand_pages", *PREFETCHED, "written_pages", "other_added_pages")
EVICTED = [f"evicted_{why}" for why in ("reclaim_kswapd", "reclaim_direct", "reclaim_memcg",
                                        "dontneed", "drop_caches", "truncate", "direct_io", "other")]


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def command(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"{' '.join(argv)}: {done.stderr.strip()}")


def cpu(on):
    write(CPU, str(int(on)))
    expect(read(CPU).strip() == str(int(on)), f"CPU 1 is not {'on' if on else 'off'}line")


def kernel_kb():
    """What is neither page cache nor anybody's own, once all that can go has gone."""
    os.sync()
    write("/proc/sys/vm/drop_caches", "3")
    fields = dict(line.split(":") for line in read("/proc/meminfo").splitlines())
    return {name: int(fields[name].split()[0]) for name in ("SUnreclaim", "Percpu", "VmallocUsed")}


class Results:
    def __init__(self):
        self.file = open("/out/results", "w", encoding="utf-8")

    def take(self, name, function, *args):
        wrong = told = None
        try:
            told = function(*args)
        except Failed as e:
            wrong = str(e)
        self.file.write(json.dumps([name, wrong, told]) + "\n")
        self.file.flush()


def cpus_come_and_go(cachemon):
    """A run begun with a CPU away counts what is read on it later, also when it has gone again."""
    db, steps = Db("/scratch/cpu.db"), os.path.join(DIR, "step")
    cpu(False)
    job = [sys.executable, "-B", os.path.join(os.path.dirname(__file__), "endurance_load.py"), DIR]
    watch = subprocess.Popen([cachemon, "watch", "--level", "full", "--db", db.path, "--", *job])
    try:
        wait_until(lambda: os.path.exists(steps + "1"), "the job's start", BOUND_S)
        cpu(True)
        write(steps + "2", "")
        wait_until(lambda: os.path.exists(steps + "3"), "reads on the CPU that came", BOUND_S)
        cpu(False)
        write(steps + "4", "")
        expect(watch.wait(BOUND_S) == 0, f"watch ends with {watch.returncode}")
    finally:
        watch.kill()
        cpu(True)
    row, want = db.file(os.path.join(DIR, "cpu")), json.loads(read(steps + "5"))
    got = {name: row[name] for name in want}
    expect(got == want, f"counted {got}, read were {want}")
    return f"{got}"


class Churn:
    """What the machine goes through meanwhile, by turns."""

    def __init__(self, load):
        self.load = load
        self.turns = 0

    def turn(self):
        for trouble in (self.cpu, self.module, self.cgroups, self.memory):
            trouble()
        self.turns += 1
        print("turn", self.turns, flush=True)

    @staticmethod
    def cpu():
        cpu(False)
        cpu(True)

    def module(self):
        place = os.path.join(DIR, "mount")
        command("modprobe", "xfs")
        command("mount", "-o", "loop", os.path.join(DIR, "image"), place)
        self.load.once("module", os.path.join(place, "data"))
        command("umount", place)
        # Its last user, a worker of the kernel, may be on its way out.
        wait_until(lambda: not subprocess.run(["modprobe", "-r", "xfs"], capture_output=True,
                                              check=False).returncode, "the module's end", 60, 0.1)

    def cgroups(self):
        for nr in range(3):
            path = os.path.join(self.load.cgroup, f"child{nr}")
            os.mkdir(path)
            self.load.once("child", os.path.join(DIR, "child"), path)
            # An exited process is in it until it is reaped, and its end is seen.
            wait_until(lambda path=path: "populated 0" in read(os.path.join(path, "cgroup.events")),
                       "an empty cgroup")
            os.rmdir(path)

    def memory(self):
        """Once by order, once because somebody takes what there is."""
        try:
            write(os.path.join(self.load.cgroup, "memory.reclaim"), "16M")
        except OSError:
            pass  # less was there to be taken
        fields = dict(line.split(":") for line in read("/proc/meminfo").splitlines())
        take = int(fields["MemAvailable"].split()[0]) - (160 << 10)
        if take > 0 and self.turns % 8 == 2:
            command(sys.executable, "-c", f"bytearray(b'1') * ({take} << 10)")


def anonymous_kb(pid):
    fields = dict(line.split(":", 1) for line in read(f"/proc/{pid}/status").splitlines())
    return int(fields["RssAnon"].split()[0])


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def cycles(churn, watch, program, count):
    """Attaches and detaches while the machine goes through its troubles; and what the watch is
    like meanwhile."""
    sizes = []
    attacher = subprocess.Popen([program, str(count)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=EXACT_HEAP)
    while attacher.poll() is None:
        churn.turn()
        expect(watch.poll() is None, f"the watch ended with {watch.returncode}")
        sizes.append((anonymous_kb(watch.pid), min(descriptors(watch.pid) for _ in range(5))))
    out, err = attacher.communicate()
    expect(attacher.returncode == 0, f"status {attacher.returncode}: {err.strip()}")
    return out.strip(), sizes


def steady(sizes):
    rest = sizes[len(sizes) // 4:]
    (first_kb, first_fds), (last_kb, last_fds) = rest[0], rest[-1]
    expect(last_fds == first_fds, f"descriptors: {first_fds}, then {last_fds}")
    expect(last_kb <= first_kb + RSS_SLACK_KB, f"anonymous memory: {first_kb} kB, then {last_kb}")
    return (f"in {len(rest)} looks {first_fds} descriptors, then {last_fds}; {first_kb} kB, "
            f"then {last_kb}")


def law(db):
    """By SQL of one's own: each interval for itself, and the sum of all up to each."""
    prefetched, fates = " + ".join(PREFETCHED), " + ".join(FATES)
    jobs = "FROM job_interval JOIN job ON job.id = job_id AND slot = 1"
    columns = ", ".join(f"job_interval.{name}" for name in (*PREFETCHED, *FATES))
    nr = db.one(f"SELECT count(*) {jobs}")
    broken = db.one(f"WITH i AS (SELECT {columns} {jobs}) SELECT count(*) FROM i "
                    f"WHERE {prefetched} <> {fates}")
    expect(broken == 0, f"prefetched pages are not their fates in {broken} of {nr} intervals")
    cached = " + ".join(f"job_interval.{name}" for name in CACHED)
    evicted = " + ".join(f"job_interval.{name}" for name in EVICTED)
    memory = db.run()["memory_bytes"] // PAGE
    outside = db.one(
        f"WITH i AS (SELECT sum({cached} - ({evicted})) OVER (ORDER BY interval_id) AS resident "
        f"{jobs}) SELECT count(*) FROM i WHERE resident NOT BETWEEN 0 AND ?", memory)
    expect(outside == 0, f"in {outside} of {nr} intervals more pages left than came, or than fit")
    for name in ("read_calls", "lookups", "misses", "used", "evicted_reclaim_memcg"):
        parts = db.one(f"SELECT sum(job_interval.{name}) {jobs}")
        expect(parts == db.job()[name], f"{name}: intervals {parts}, the job {db.job()[name]}")
    job, row = db.job(), db.run()
    expect(job["misses"] <= job["lookups"], f"{job['misses']} misses of {job['lookups']} lookups")
    lost = {name: row[name] for name in row if name.startswith(("loss_", "law_")) and row[name]}
    expect(row["state"] == "complete" and not lost, f"{row['state']}, {lost}")
    expect(job["evicted_reclaim_memcg"] > 0, "nothing was ever reclaimed")
    return f"{nr} intervals, {job['lookups']} lookups, {sum(job[n] for n in EVICTED)} pages evicted"


def exact(db, want):
    for path, (calls, size) in sorted(want.items()):
        # A filesystem may be on another loop device each time.
        rows = db.rows("SELECT read_calls, read_bytes FROM file WHERE path = CAST(? AS BLOB)", path)
        got = tuple(sum(row[name] for row in rows) for name in ("read_calls", "read_bytes"))
        expect(got == (calls, size), f"{path}: counted {got} calls and bytes, read {calls, size}")
    return ", ".join(f"{os.path.basename(path)} {calls} calls"
                     for path, (calls, _) in sorted(want.items()))


def nothing_left(before):
    wait_until(lambda: not bpf.everything() - before, "the end of all programs, maps and links", 60)
    return f"{len(before)} objects before and after"


def memory_kept(before, after, map_bytes):
    grown = sum(after.values()) - sum(before.values())
    told = ", ".join(f"{name} {before[name]} then {after[name]}" for name in before) + " kB"
    expect(grown << 10 < map_bytes, f"{grown} kB more, the maps of one run are {map_bytes}: {told}")
    return told


def kernel_log():
    said = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    found = [line for line in said.splitlines() if TROUBLE.search(line)]
    expect(not found, f"the kernel says {found[:3]}")


def main():
    cachemon, program, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    results, db = Results(), Db("/scratch/long.db")
    os.mkdir(DIR)
    make_files(DIR)
    results.take("a CPU that comes and goes within a run", cpus_come_and_go, cachemon)
    load = Load(DIR, os.path.join(cgroup_mounts()["v2"], "endurance"))
    churn = Churn(load)
    # Whatever the kernel makes once and keeps, it has made then.
    subprocess.run([program, "6"], stdout=subprocess.DEVNULL, check=True, env=EXACT_HEAP)
    churn.turn()
    objects, kernel, started = bpf.everything(), kernel_kb(), time.monotonic()
    watch = subprocess.Popen([cachemon, "watch", "--level", "full", "--db", db.path, "--cgroup",
                              load.cgroup])
    try:
        wait_until(lambda: committed(db), "the watch's first interval", BOUND_S, 0.2)
        load.start()
        said, sizes = cycles(churn, watch, program, count)
        load.stop()
    finally:
        watch.send_signal(signal.SIGINT)
        status = watch.wait(BOUND_S)
    took = time.monotonic() - started
    results.take(f"{count} cycles", lambda: f"in {took:.0f} s, with {churn.turns} turns: {said}")
    results.take("the watch ends well", expect, status in (0, 130), f"status {status}")
    results.take("the watch stays as large as it is", steady, sizes)
    results.take("the law at every interval", law, db)
    results.take("every read is counted", exact, db, load.total())
    results.take("no object is left", nothing_left, objects)
    results.take("kernel memory", memory_kept, kernel, kernel_kb(), db.run()["map_bytes"])
    results.take("kernel log", kernel_log)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main()
