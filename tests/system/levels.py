#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Levels, slices, times, and owners of files: the promises of the options of watch."""

import array
import bisect
import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine, reader  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, Reads, cached_pages  # noqa: E402
from syslib.world import COLD_PAGES, World  # noqa: E402

ME = os.path.abspath(__file__)
SLICED_READS = 6000000
# Estimates of a run that is watched at its beginning and for a twentieth of the time after that.
SLICED_BAND = 0.10
DISTURBED_MAX = 4
TOO_WIDE = "the 90 % interval of the estimate is wider than a quarter of its value"
SEAM_LOOKS = 6
SEAM_MS = 2

part = Part(__doc__)
part.count_option("repeats", 10, 2, "sliced runs")


# ---- workers ----

def scattered(path, pages, pause=0):
    """Single pages in random order, each once, without readahead: each is a miss of one page."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    order = list(range(os.fstat(fd).st_size // PAGE))
    random.Random(7).shuffle(order)
    for page in order[:pages]:
        if not os.pread(fd, PAGE, page * PAGE):
            sys.exit("the file is too short")
        if pause:
            time.sleep(pause)
    os.close(fd)


def work_cold(random_file, sequential_file):
    scattered(random_file, COLD_PAGES // 2)
    reads = Reads()
    fd = os.open(sequential_file, os.O_RDONLY)
    reads.all(fd)
    print(json.dumps({"cached": cached_pages(fd)}))


def work_sliced(program, hot_file, random_file, sequential_file):
    """A hot loop, with misses and readahead throughout the slices."""
    hot = subprocess.Popen([program, hot_file], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           text=True)
    hot.stdout.readline()
    hot.stdin.write(f"hot {SLICED_READS}\n")
    hot.stdin.close()
    fd = os.open(sequential_file, os.O_RDONLY)
    order = iter(range(COLD_PAGES))
    scattered(random_file, COLD_PAGES, 0.001)
    for page in order:
        os.pread(fd, PAGE, page * PAGE)
        if page % 4 == 0:
            time.sleep(0.001)
    cached = cached_pages(fd)
    told = json.loads(hot.stdout.readline())
    kept = cached_pages(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    print(json.dumps({**told, "cached": cached, "kept": kept, "left": cached_pages(fd)}))
    return hot.wait()


def work_wait(path, go):
    """Reads once, and once more after the file `go` exists."""
    reads = Reads()
    reads.path(path)
    first = reads.total()
    while not os.path.exists(go):
        time.sleep(0.01)
    reads.path(path)
    print(json.dumps(first), flush=True)
    return 7


def worker(verb, *args):
    return [sys.executable, ME, "--work", verb, *args]


WORKERS = {"cold": work_cold, "sliced": work_sliced, "wait": work_wait}


# ---- levels ----

@part.case
def cold_has_no_lookups_and_exact_misses(world, stack):
    scatter, straight = world.cold(), world.cold()
    watch = world.tool.watch(stack, ["--level", "cold"], worker("cold", scatter, straight))
    report, job, out = watch.end()
    cached = json.loads(out)["cached"]
    for totals in (job["totals"], world.entry(job, scatter)["totals"]):
        for name in ("read_calls", "read_bytes", "lookups", "hits", "hit_ratio", "delayed_hits"):
            equal(f"{name} at level cold", totals[name], None)
        for name in ("used", "used_late", "evicted_unused", "resident_unused"):
            equal(f"fate {name} at level cold", totals["prefetch"]["fate"][name], None)
    t = world.entry(job, scatter)["totals"]
    equal("misses", t["misses"], COLD_PAGES // 2)
    equal("demand pages", t["demand_pages"], COLD_PAGES // 2)
    equal("prefetched pages", t["prefetched_pages"], 0)
    t = world.entry(job, straight)["totals"]
    equal("pages added", t["demand_pages"] + t["prefetched_pages"], cached)
    equal("level", report["run"]["level"], "cold")
    equal("sliced", report["run"]["sliced"], False)
    check(report["run"]["unmeasured"], "nothing says why lookups are null")


@part.case
def full_is_never_sliced(world, stack):
    straight = world.cold()
    watch = world.tool.watch(stack, ["--level", "full"], worker("cold", world.cold(), straight))
    report, job, _ = watch.end()
    equal("sliced", report["run"]["sliced"], False)
    equal("share of time with the hook on", report["run"]["read_on_share"], 1.0)
    t = world.entry(job, straight)["totals"]
    equal("lookups", t["lookups"], COLD_PAGES)
    check(not any(k.endswith("_estimated") for k in job["totals"]), "an exact figure is estimated")


def check_marks(totals):
    for name in ("lookups", "hits", "read_calls", "read_bytes", "hit_ratio"):
        if totals[name] is not None:
            equal(f"{name}_estimated", totals.get(f"{name}_estimated"), True)
            check(totals[f"{name}_low"] <= totals[name] <= totals[f"{name}_high"], f"the interval of {name}")
    for name in ("misses", "demand_pages", "prefetched_pages", "written_pages", "refaults"):
        check(f"{name}_estimated" not in totals, f"{name} is exact, and marked as estimated")


def sliced_run(world, stack):
    """(estimated lookups / true ones, or None if absent; the report). None: other processes dropped
    pages."""
    scatter, straight = world.cold(), world.cold()
    watch = world.tool.watch(stack, ["--level", "auto", "--max-overhead", "0.1%"],
                             worker("sliced", world.reader, world.hot, scatter, straight))
    report, job, out = watch.end()
    truth = json.loads(out)
    if truth["kept"] != truth["cached"]:
        return None
    equal("sliced", report["run"]["sliced"], True)
    check(report["run"]["read_on_share"] < 0.9, f"on for {report['run']['read_on_share']:.0%}")
    check_marks(job["totals"])
    t = world.entry(job, scatter)["totals"]
    equal("misses of scattered reads, exact", t["misses"], COLD_PAGES)
    equal("their demand pages", t["demand_pages"], COLD_PAGES)
    t = world.entry(job, straight)["totals"]
    fate = t["prefetch"]["fate"]
    equal("pages that DONTNEED left", truth["left"], 0)
    equal("pages added by the straight reader", t["demand_pages"] + t["prefetched_pages"],
          truth["cached"])
    equal(f"evicted by DONTNEED, of {t['evicted_pages']}", t["evicted_pages"]["dontneed"],
          truth["cached"])
    equal("read pages called unused", fate["evicted_unused"] + fate["resident_unused"], 0)
    check(fate["untracked"] > 0, "no page came or went while the hook was off")
    equal("lookups of a file", world.entry(job, world.hot)["totals"]["lookups"], None)
    # Besides the hot reads the two files are read once each; Python's own files are too small to
    # print.
    if job["totals"]["lookups"] is None:
        why = [u["reason"] for u in report["run"]["unmeasured"] if u["counter"] == "lookups"]
        equal("why lookups are absent", why, [TOO_WIDE])
        return None, report
    return job["totals"]["lookups"] / (truth["lookups"] + 2 * COLD_PAGES), report


@part.case
def sliced_estimates_are_near_and_the_rest_is_exact(world, stack):
    ratios, disturbed, too_wide = [], 0, 0
    while len(ratios) < world.args.repeats:
        run = sliced_run(world, stack)
        if not run:
            disturbed += 1
            if disturbed > DISTURBED_MAX:
                raise Skipped(f"in {disturbed} runs others on this machine dropped the pages")
            continue
        ratio, report = run
        if ratio is None:
            too_wide += 1
            check(too_wide <= world.args.repeats, f"{too_wide} estimates were absent, {len(ratios)} were not")
            continue
        ratios.append(ratio)
        part.note(f"estimated lookups / truth {ratio:.4f}, hook on for "
                  f"{report['run']['read_on_share']:.1%}")
    for ratio in ratios:
        check(abs(ratio - 1) <= SLICED_BAND, f"estimate off by {ratio - 1:+.1%}, the band is "
              f"{SLICED_BAND:.0%}: {ratios}")


# ---- sizes ----

GROWING = """import os, sys
d = sys.argv[1]
def write(name, *sizes, mode="ab"):
    with open(f"{d}/{name}", mode, buffering=0) as f:
        for size in sizes:
            f.write(b"x" * size)
write("once", 10000)
write("pieces", *[5000] * 20)
write("within", 100, 50, 3)
write("large", 3 << 20, 7)
write("again", 9000, 9000)
write("cut", 50000)
os.truncate(f"{d}/cut", 7)
write("longer", 5000)
os.truncate(f"{d}/longer", 70000)
write("old", 4096)
write("new", 8192, 1)
os.rename(f"{d}/new", f"{d}/old")
open(f"{d}/once", "rb").read()
"""


@part.case
def sizes_of_files_that_grow(world, stack):
    """The size at the end of the run, even if a file grows after its pages were added."""
    place = f"{world.data}/sizes"
    os.mkdir(place)
    for level in ("full", "cold"):
        watch = world.tool.watch(stack, ["--level", level],
                                 [sys.executable, "-I", "-c", GROWING, place])
        _, job, _ = watch.end(0)
        for name in os.listdir(place):
            entry = world.entry(job, f"{place}/{name}")
            check(entry, f"{level}: no entry of {name}")
            equal(f"{level}: size of {name}", entry["size_bytes"], os.stat(f"{place}/{name}").st_size)
        for name in os.listdir(place):
            os.unlink(f"{place}/{name}")


# ---- hooks ----

def hooks_of(pid):
    """Names of the programs that a process has attached."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}") as f:
                lines = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        except OSError:
            continue
        if "link_type" in lines:
            shown = json.loads(machine.run("bpftool", "-j", "prog", "show", "id", lines["prog_id"]))
            found.add(shown["name"])
    return found


def fault_addresses(watch):
    return "fault_addr_tp" in hooks_of(watch.pid())


@part.case
def fault_addresses_are_seen_only_while_files_are_traced(world, stack):
    if not shutil.which("bpftool"):
        raise Skipped("bpftool is not installed")
    hot = reader.Reader(world.reader, world.hot, stack)
    for level, traces in (("cold", False), ("full", True)):
        watch = world.tool.watch(stack, ["--level", level, "--interval", "200ms", "--pid",
                                         str(hot.pid())])
        watch.wait_started()
        check("switch_tp" in hooks_of(watch.pid()), "no hook is seen at all")
        equal(f"a hook on each fault of the machine, at level {level}", fault_addresses(watch), traces)
        watch.interrupt()
        watch.end()
    watch = world.tool.watch(stack, ["--level", "auto", "--max-overhead", "0.01%", "--interval",
                                     "200ms", "--pid", str(hot.pid())])
    watch.wait_started()
    while watch.query("SELECT min(read_on_ns) FROM interval") != 0:
        hot.read("hot", 100000)
    watch.wait_intervals(1)
    equal("a hook on each fault of the machine, once the run is sliced", fault_addresses(watch), False)
    watch.interrupt()
    watch.end()


# ---- times ----

@part.case
def duration_ends_the_counting_not_the_command(world, stack):
    go = world.tool.fresh(".go")
    path = world.cold(256)
    watch = world.tool.watch(stack, ["--level", "full", "--duration", "1500ms", "--interval",
                                     "200ms"], worker("wait", path, go))
    machine.until(lambda: watch.query("SELECT state FROM run") == "complete", "the run is complete")
    check(watch.process.poll() is None, "cachemon ended before its command")
    open(go, "w").close()
    report, job, out = watch.end(7)
    told, t = json.loads(out), world.entry(job, path)["totals"]
    for name, value in told.items():
        equal(f"{name} before the end of the counting", t[name], value)
    check(report["run"]["duration_s"] >= 1.5, f"ended after {report['run']['duration_s']} s")


# Reads a cached page all the time, records each start, and signals when it must end.
PACED = """import array, os, signal, sys, time
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
f, times, now = os.open(sys.argv[1], os.O_RDONLY), array.array("Q"), time.time_ns
os.pread(f, 1, 0)
print("ready", flush=True)
while not stop:
    times.append(now())
    os.pread(f, 1, 0)
times.tofile(open(sys.argv[2], "wb"))
"""


def seams(world, stack):
    """For one watch with an end and intervals: the largest difference, in ms of reads, between
    the counts of an interval and the reads that began in it; including the first and the last."""
    path, noted = world.cold(4), world.tool.fresh(".times")
    reader_ = subprocess.Popen([sys.executable, "-I", "-c", PACED, path, noted], text=True,
                               stdout=subprocess.PIPE)
    stack.callback(lambda: (reader_.kill(), reader_.wait()))
    equal("the reader", reader_.stdout.readline(), "ready\n")
    watch = world.tool.watch(stack, ["--level", "full", "--interval", "200ms", "--duration", "1100ms",
                                     "--pid", str(reader_.pid)])
    report, job, _ = watch.end(0)
    reader_.terminate()
    equal("status of the reader", reader_.wait(), 0)
    times = array.array("Q")
    with open(noted, "rb") as f:
        times.frombytes(f.read())
    line = job["timeline"]
    with contextlib.closing(sqlite3.connect(f"file:{watch.db}?mode=ro", uri=True)) as db:
        began, = db.execute("SELECT started_ns FROM run").fetchone()
    check(len(line["start_ns"]) >= 5, f"{len(line['start_ns'])} intervals")
    end = began + line["start_ns"][-1] + line["duration_ns"][-1]
    equal("end of the last interval and of the run, ms",
          round((end - began) / 1e6), round(report["run"]["duration_s"] * 1e3))
    worst = 0
    for start, length, calls in zip(line["start_ns"], line["duration_ns"], line["read_calls"]):
        first = bisect.bisect_left(times, began + start)
        asked = bisect.bisect_left(times, began + start + length) - first
        worst = max(worst, abs(asked - calls) * (length / 1e6) / max(asked, 1))
    return worst


@part.case
def counts_are_those_of_their_time(world, stack):
    """The scheduler may take cachemon's CPU away between two looks, though not each time."""
    worst = []
    for _ in range(SEAM_LOOKS):
        with contextlib.ExitStack() as inner:
            worst.append(seams(world, inner))
        if worst[-1] < SEAM_MS:
            break
    part.note("worst interval of each watch, ms off: " + ", ".join(f"{w:.2f}" for w in worst))
    check(min(worst) < SEAM_MS, f"counts of an interval are off by {min(worst):.1f} ms of reads")


@part.case
def duration_ends_the_watching_of_a_process(world, stack):
    hot = reader.Reader(world.reader, world.hot, stack)
    watch = world.tool.watch(stack, ["--level", "full", "--duration", "1s", "--pid",
                                     str(hot.pid())])
    report, job, _ = watch.end(0)
    check(report["run"]["duration_s"] >= 1, f"ended after {report['run']['duration_s']} s")
    equal("alive at the end", job["alive_at_end"], 1)
    equal("exit status", report["run"]["exit_status"], None)


@part.case
def intervals_are_as_long_as_asked(world, stack):
    hot = reader.Reader(world.reader, world.hot, stack)
    watch = world.tool.watch(stack, ["--level", "full", "--interval", "300ms", "--pid",
                                     str(hot.pid())])
    watch.wait_intervals(8)
    truth = hot.read("hot", 1000)
    watch.wait_intervals(2)
    watch.interrupt()
    report, job, _ = watch.end()
    equal("interval", report["run"]["interval_s"], 0.3)
    equal("lookups", world.entry(job, world.hot)["totals"]["lookups"], truth["lookups"])
    with contextlib.closing(sqlite3.connect(f"file:{watch.db}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT start_ns, duration_ns FROM interval ORDER BY start_ns").fetchall()
    check(len(rows) >= 10, f"only {len(rows)} intervals")
    end = 0
    for start, duration in rows:
        equal("begin of an interval, against the end of the one before", start, end)
        end += duration
    # A late tick is not made up for, but the next one is on time.
    short = [duration for _, duration in rows[:-1] if duration < 100e6]
    check(not short, f"intervals of 300 ms much shorter than that: {short}")


# ---- whose ----

def as_user(world, stack, name, uid, gid):
    """argv that runs the following command where the account NAME exists: with its own mount of
    /etc/passwd."""
    home = os.path.join(world.work, f"home-{name}")
    os.mkdir(home)
    os.chown(home, uid, gid)
    passwd, group = world.tool.fresh(".passwd"), world.tool.fresh(".group")
    with open("/etc/passwd") as f, open(passwd, "w") as out:
        out.write(f.read() + f"{name}:x:{uid}:{gid}::{home}:/bin/sh\n")
    with open("/etc/group") as f, open(group, "w") as out:
        out.write(f.read() + f"{name}:x:{gid}:\n{name}-extra:x:{gid + 1}:{name}\n")
    os.chmod(passwd, 0o644)
    os.chmod(group, 0o644)
    script = f"mount --bind {passwd} /etc/passwd && mount --bind {group} /etc/group && exec \"$@\""
    return home, ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]


def sudo_environment(name, uid, gid, **more):
    kept = {k: v for k, v in os.environ.items()
            if k not in ("CACHEMON_DB", "XDG_STATE_HOME", "SUDO_UID", "SUDO_GID", "SUDO_USER")}
    return {**kept, "SUDO_UID": str(uid), "SUDO_GID": str(gid), "SUDO_USER": name,
            "SUDO_COMMAND": "cachemon", "HOME": "/root", "USER": "root", "LOGNAME": "root", **more}


def run_as(world, prefix, env, *arguments):
    script = 'cat /proc/self/status; printf "HOME:\t%s\nUSER:\t%s\n" "$HOME" "$USER"'
    done = subprocess.run([*prefix, world.args.cachemon, "watch", *arguments, "--", "/bin/sh", "-c",
                           script], capture_output=True, text=True, env=env,
                          stdin=subprocess.DEVNULL, timeout=120)
    equal(f"exit status ({done.stderr.strip()[-200:]})", done.returncode, 0)
    told = dict(line.split(":\t", 1) for line in done.stdout.splitlines() if ":\t" in line)
    return {"uids": told["Uid"].split(), "gids": told["Gid"].split(),
            "groups": sorted(told["Groups"].split()), "home": told["HOME"], "user": told["USER"],
            "capabilities": int(told["CapEff"], 16)}


def owned(path, uid, gid):
    st = os.stat(path)
    equal(f"owner of {path}", (st.st_uid, st.st_gid), (uid, gid))
    check(not st.st_mode & 0o022, f"{path} is writable by others: {st.st_mode:o}")


@part.case
def sudo_runs_and_writes_as_the_user(world, stack):
    uid, gid = 64321, 64321
    home, prefix = as_user(world, stack, "cmtest", uid, gid)
    who = run_as(world, prefix, sudo_environment("cmtest", uid, gid))
    equal("user ids of the command", who["uids"], [str(uid)] * 4)
    equal("group ids of the command", who["gids"], [str(gid)] * 4)
    equal("its groups", who["groups"], [str(gid), str(gid + 1)])
    equal("its HOME", who["home"], home)
    equal("its USER", who["user"], "cmtest")
    equal("its capabilities", who["capabilities"], 0)
    db = f"{home}/.local/state/cachemon/cachemon.db"
    check(os.path.exists(db), f"no database at {db}")
    for path in (db, os.path.dirname(db), f"{home}/.local/state", f"{home}/.local"):
        owned(path, uid, gid)
    equal("beside the database", os.listdir(os.path.dirname(db)), ["cachemon.db"])
    equal("state", world.tool.report(db)[0]["run"]["state"], "complete")


def runs_in(db):
    with contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT count(*) FROM run").fetchone()[0]


@part.case
def sudo_honours_the_places_of_the_environment(world, stack):
    uid, gid = 64331, 64331
    home, prefix = as_user(world, stack, "cmtest2", uid, gid)
    state, db = f"{home}/state", f"{home}/elsewhere.db"
    run_as(world, prefix, sudo_environment("cmtest2", uid, gid, XDG_STATE_HOME=state))
    owned(f"{state}/cachemon/cachemon.db", uid, gid)
    run_as(world, prefix, sudo_environment("cmtest2", uid, gid, XDG_STATE_HOME=state,
                                           CACHEMON_DB=db))
    owned(db, uid, gid)
    equal("runs in the first database", runs_in(f"{state}/cachemon/cachemon.db"), 1)
    equal("runs in the second", runs_in(db), 1)
    given = f"{home}/given.db"
    run_as(world, prefix, sudo_environment("cmtest2", uid, gid, CACHEMON_DB=db), "--db", given)
    owned(given, uid, gid)
    check(not os.path.exists(f"{home}/.local"), "a default database was made beside the named one")


@part.case
def sudo_writes_only_where_the_user_may(world, stack):
    uid, gid = 64341, 64341
    _, prefix = as_user(world, stack, "cmtest3", uid, gid)
    closed = os.path.join(world.work, "closed")
    os.mkdir(closed, 0o700)
    mark = world.tool.fresh(".mark")
    done = subprocess.run([*prefix, world.args.cachemon, "watch", "--db", f"{closed}/x.db", "--",
                           "touch", mark], capture_output=True, text=True, timeout=120,
                          env=sudo_environment("cmtest3", uid, gid), stdin=subprocess.DEVNULL)
    equal("exit status", done.returncode, 125)
    equal("what root left there", os.listdir(closed), [])
    check(not os.path.exists(mark), "the command ran all the same")
    lines = done.stderr.strip().splitlines()
    check(1 <= len(lines) <= 2 and closed in done.stderr, f"unclear: {done.stderr!r}")


@part.case
def root_without_sudo_is_root(world, stack):
    state = world.tool.fresh(".state")
    env = {k: v for k, v in sudo_environment("", 0, 0).items() if not k.startswith("SUDO")}
    who = run_as(world, [], {**env, "XDG_STATE_HOME": state})
    equal("user ids of the command", who["uids"], ["0"] * 4)
    owned(f"{state}/cachemon/cachemon.db", 0, 0)


def main():
    if sys.argv[1:2] == ["--work"]:
        return WORKERS[sys.argv[2]](*sys.argv[3:])
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
