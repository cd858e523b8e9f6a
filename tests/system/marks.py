#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Marks that a job sets, and epochs: counts between two marks are exact, however the job writes
them, and the FIFO is removed at the end. The oracle is the job itself, which reads known files
that are cold or cached."""

import json
import multiprocessing
import os
import random
import shlex
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, fill  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
EXAMPLES = os.path.join(os.path.dirname(ME), "../../examples")
PAGES = 128

part = Part(__doc__)


def read_whole(path):
    fd = os.open(path, os.O_RDONLY)
    while os.read(fd, 16 * PAGE):
        pass
    os.close(fd)


def worker(how, program, files):
    """Epoch i reads the first i files, each once and completely."""
    sys.path.insert(0, EXAMPLES)
    import cachemon_marks
    for i in range(1, len(files) + 1):
        if how == "verb":
            subprocess.run([program, "mark", f"epoch {i}"], check=True)
        else:
            cachemon_marks.mark(f"epoch {i}")
        for path in files[:i]:
            read_whole(path)
    cachemon_marks.mark("after")


def mine(job):
    return [e for e in job["epochs"]["list"] if (e["name"] or "").startswith("epoch")]


def marked(w, stack, how):
    paths = []
    for _ in range(3):
        w.serial += 1
        paths.append(fill(f"{w.data}/cold{w.serial}", PAGES))
    command = [sys.executable, "-B", ME, "--worker", how, w.args.cachemon, *paths]
    watch = w.tool.watch(stack, ["--level", "full"], command)
    watch.process.wait()
    _, job = w.tool.report(watch.db)
    epochs = mine(job)
    equal("names of epochs", [e["name"] for e in epochs], ["epoch 1", "epoch 2", "epoch 3"])
    equal("source", job["epochs"]["source"], "marks")
    # Only the program that sets the mark reads as well, and before the mark.
    for i, e in enumerate(epochs, 1):
        if how != "verb":
            equal(f"bytes of epoch {i}", e["read_bytes"], i * PAGES * PAGE)
            equal(f"lookups of epoch {i}", e["lookups"], i * PAGES)
            equal(f"hits and misses of epoch {i}", e["hits"] + e["misses"], i * PAGES)
            equal(f"pages that came in epoch {i}", e["demand_pages"] + e["prefetched_pages"], PAGES)
    for key in ("lookups", "misses", "read_bytes", "demand_pages", "stall_ns", "stalls"):
        equal(f"sum of {key}", sum(e[key] for e in job["epochs"]["list"]), job["totals"][key])


@part.case
def helper(w, stack):
    marked(w, stack, "helper")


@part.case
def verb(w, stack):
    marked(w, stack, "verb")


def plainly(epochs, path):
    """Writes marks without waiting, and reads one cached file, more often in each epoch. Prints for
    each epoch when its mark was being written, and how much was read before, as [start, bytes]; the
    last pair is the moment of an exact mark, before and after it."""
    sys.path.insert(0, EXAMPLES)
    import cachemon_marks
    total, seen = 0, []
    began = time.monotonic_ns()
    cachemon_marks.mark("exact")
    exact = [began, time.monotonic_ns()]
    for i in range(epochs):
        seen.append([time.monotonic_ns(), total])
        with open(os.environ["CACHEMON_MARKS"], "w", encoding="ascii") as f:
            f.write(f"plain {i}\n")
        for _ in range(i % 7 * 3):
            read_whole(path)
            total += os.path.getsize(path)
    print(json.dumps([seen, total, exact]), flush=True)


@part.case
def plain(w, stack):
    """Marks without an answer, some of them so close together that they share a sample: all are
    kept, none is later than the report says, and the report does not call them exact."""
    path, db = fill(f"{w.data}/plain", 8 * PAGES), f"{w.work}/plain.db"
    done = subprocess.run([w.args.cachemon, "watch", "--db", db, "--level", "full", "--", sys.executable, "-B", ME, "--plainly",
                           "40", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    seen, total, exact = json.loads(done.stdout)
    job = report(w, db)
    marks, epochs = job["marks"], [e for e in job["epochs"]["list"] if (e["name"] or "").startswith("plain")]
    equal("names", [e["name"] for e in epochs], [f"plain {i}" for i in range(len(seen))])
    equal("the mark that was waited for is exact", marks[0]["late_ns"], 0)
    equal("margin", job["epochs"]["margin_ns"], max(m["late_ns"] for m in marks))
    # The run began between these moments by the job's clock.
    start = [exact[0] - marks[0]["at_ns"], exact[1] - marks[0]["at_ns"]]
    shared = 0
    for i, (e, mark, (at, _)) in enumerate(zip(epochs, marks[1:], seen)):
        check(mark["late_ns"] > 0, f"mark {i} is called exact")
        check(mark["at_ns"] >= at - start[1], f"mark {i} is before the job set it")
        check(mark["at_ns"] - (at - start[0]) <= mark["late_ns"],
              f"mark {i} is {mark['at_ns'] - (at - start[0])} ns late, not at most {mark['late_ns']}")
        if e["duration_ns"] == 0:
            shared += 1
            equal(f"counts of epoch {i}, which ended before its mark was taken", (e["read_bytes"], e["lookups"]), (None, None))
    check(shared, "no two marks share a sample: nothing is tested")
    check(sum(e["read_bytes"] or 0 for e in job["epochs"]["list"]) == job["totals"]["read_bytes"], "bytes are lost")
    check(job["totals"]["read_bytes"] >= total, "not all bytes were counted")
    text = " ".join(subprocess.run([w.args.cachemon, "report", "--db", db, "--format", "text"], check=True,
                                   stdout=subprocess.PIPE).stdout.decode().split())
    check(f"did not wait for {len(seen)} of {len(marks)} marks: their boundaries may be late" in text, "the report does not say it")
    check(f"{shared} epoch{'s' * (shared != 1)} ended before" in text, f"the report does not say of {shared}")
    check("Counts are exact" not in text, "the report calls them exact")


def pass_over(path, how, passes):
    """Reads one file so many times, in order or at random, at a steady pace. Prints when each pass
    began."""
    fd, piece = os.open(path, os.O_RDONLY), 16 * PAGE
    pieces = list(range(0, os.fstat(fd).st_size, piece))
    for _ in range(passes):
        print(time.monotonic(), flush=True)
        if how == "random":
            random.shuffle(pieces)
        for number, place in enumerate(pieces, 1):
            os.pread(fd, piece, place)
            if number % 16 == 0:
                time.sleep(0.025)


@part.case
def one_file(w, stack):
    """The passes over one large file are epochs if it is read from the beginning to the end."""
    path = fill(f"{w.data}/large", 32 * 256)
    for how, passes in (("ordered", 3), ("random", 3)):
        db = f"{w.work}/{how}.db"
        done = subprocess.run([w.args.cachemon, "watch", "--db", db, "--level", "full", "--interval", "100ms", "--",
                               sys.executable, "-B", ME, "--pass-over", path, how, str(passes)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        began = [float(line) for line in done.stdout.split()]
        epochs = report(w, db)["epochs"]
        if how == "random":
            check(not epochs["list"] and "pieces" in epochs["absent"], f"random reads have epochs: {epochs}")
            continue
        equal("source", epochs["source"], "found")
        equal("passes", len(epochs["list"]), passes)
        starts = [e["start_ns"] / 1e9 for e in epochs["list"]]
        off = (starts[2] - starts[1]) - (began[2] - began[1])
        check(abs(off) <= 2 * epochs["margin_ns"] / 1e9, f"the second epoch lasts {off:.3f} s more than the pass")


def load_epochs(folder, group, epochs):
    """Two workers read all files in another order in each epoch, at a steady pace. Prints when each
    epoch began."""
    with open(f"{group}/cgroup.procs", "w", encoding="ascii") as f:
        f.write("0")
    paths = [entry.path for entry in os.scandir(folder)]
    for _ in range(epochs):
        print(time.monotonic(), flush=True)
        random.shuffle(paths)
        with multiprocessing.Pool(2) as pool:
            pool.map(load_file, paths, chunksize=8)


def load_file(path):
    read_whole(path)
    time.sleep(0.01)


@part.case
def loader(w, stack):
    """Workers that read small files under a memory limit, of which some stay in the cache."""
    folder, epochs, files = f"{w.data}/small", 3, 300
    os.mkdir(folder)
    for i in range(files):
        fill(f"{folder}/{i}", PAGES)
    root = machine.v1_root() or machine.v2_root()
    group = machine.cgroup(stack, root, f"cachemon-marks-{os.getpid()}")
    limit = next((name for name in ("memory.limit_in_bytes", "memory.max") if os.path.exists(f"{group}/{name}")), None)
    if not limit:
        raise Skipped("no cgroup hierarchy that limits memory")
    with open(f"{group}/{limit}", "w", encoding="ascii") as f:
        f.write(str(files * PAGES * PAGE * 2 // 3))
    db = f"{w.work}/loader.db"
    done = subprocess.run([w.args.cachemon, "watch", "--db", db, "--level", "full", "--interval", "100ms", "--",
                           sys.executable, "-B", ME, "--load-epochs", folder, group, str(epochs)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    began = [float(line) for line in done.stdout.split()]
    job = report(w, db)
    check(job["totals"]["evicted_pages"]["reclaim_memcg"] > 0, "the limit evicted nothing")
    found = job["epochs"]
    equal("epochs", (found["source"], len(found["list"])), ("found", epochs))
    starts = [e["start_ns"] / 1e9 for e in found["list"]]
    off = (starts[2] - starts[1]) - (began[2] - began[1])
    check(abs(off) <= 2 * found["margin_ns"] / 1e9, f"the second epoch lasts {off:.3f} s more than the job says")


def watched(w, script, *options):
    db = f"{w.work}/marks{time.monotonic_ns()}.db"
    return db, [w.args.cachemon, "watch", "--db", db, *options, "--", "sh", "-c", script]


def report(w, db):
    text = subprocess.run([w.args.cachemon, "report", "--db", db, "--format", "json"], check=True,
                          stdout=subprocess.PIPE).stdout
    return json.loads(text)["jobs"][0]


def place_of(w, name):
    with open(f"{w.work}/{name}") as f:
        return f.read().strip()


@part.case
def hostile(w, stack):
    """Long lines, control characters, invalid UTF-8, and more marks than fit."""
    w.serial += 1
    path = f"{w.work}/place{w.serial}"
    job = (f"echo $CACHEMON_MARKS > {shlex.quote(path)}; printf 'a\\033[31m\\377b\\n' > $CACHEMON_MARKS; "
           "head -c 1000000 /dev/zero | tr '\\0' x > $CACHEMON_MARKS; echo > $CACHEMON_MARKS; "
           "yes m | head -n 10000 > $CACHEMON_MARKS")
    db, command = watched(w, job)
    began = time.monotonic()
    equal("status", subprocess.run(command, stderr=subprocess.DEVNULL, timeout=120).returncode, 0)
    found = report(w, db)
    equal("marks kept", len(found["marks"]), 4096)
    equal("marks counted", found["marks_dropped"], 10002 - 4096)
    equal("first mark", found["marks"][0], {"at_ns": found["marks"][0]["at_ns"], "text": "a\x1b[31m\\xffb", "text_escaped": True})
    equal("long line", found["marks"][1]["text"], "x" * 256)
    check(time.monotonic() - began < 60, "the flood took a minute")
    text = subprocess.run([w.args.cachemon, "report", "--db", db, "--format", "text"], check=True,
                          stdout=subprocess.PIPE).stdout
    check(b"\x1b" not in text, "a control character reached the report")
    check(not os.path.exists(os.path.dirname(place_of(w, f"place{w.serial}"))), "the FIFO stays")


def wait_until(true, what):
    end = time.monotonic() + 30
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    check(true(), what)


def touch(path):
    with open(path, "w"):
        pass


def stat_of(pid):
    """State, parent, group and session of a process, or None."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            state, parent, group, session = f.read().rpartition(")")[2].split()[:4]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return state, int(parent), int(group), int(session)


def living(session):
    """Processes of a session that are still running."""
    stats = [stat_of(pid) for pid in os.listdir("/proc") if pid.isdigit()]
    return sum(1 for s in stats if s and s[3] == session and s[0] not in "ZX")


def guard_of(watch):
    """The child of watch that leads its own session."""
    for pid in (int(p) for p in os.listdir("/proc") if p.isdigit()):
        s = stat_of(pid)
        if s and s[1] == watch and s[3] == pid:
            return pid
    raise AssertionError("watch has no process that removes the FIFO")


def writer(w, then):
    """A path, and a job that opens the FIFO for writing only, creates the path and runs a shell
    command. In the command the path is PATH."""
    w.serial += 1
    path = f"{w.work}/place{w.serial}"
    then = then.replace("PATH", path)
    return path, f"exec 9>$CACHEMON_MARKS; echo $CACHEMON_MARKS > {path}.new; mv {path}.new {path}; {then}"


LATE = "while [ ! -e PATH.go ]; do sleep 0.02; done; echo late >&9 && echo wrote > PATH.done"


def begin(command, path, **streams):
    """watch, its guard and the FIFO's directory, once the job has the FIFO open."""
    run = subprocess.Popen(command, start_new_session=True, **streams)
    while not os.path.exists(path):
        equal("status of watch", run.poll(), None)
        time.sleep(0.02)
    with open(path) as f:
        place = os.path.dirname(f.read().strip())
    check(os.path.exists(place), "the FIFO is there")
    guard = guard_of(run.pid)
    equal("processes that remove the FIFO", living(guard), 1)
    return run, guard, place


@part.case
def killed(w, stack):
    """After kill -9, both the FIFO and the process that removes it are gone, and the job
    continues."""
    path, job = writer(w, LATE)
    _, command = watched(w, job)
    run, guard, place = begin(command, path, stderr=subprocess.DEVNULL)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    wait_until(lambda: not os.path.exists(place), "the FIFO stays after kill -9")
    equal("readers for the job", living(guard), 1)
    touch(f"{path}.go")
    wait_until(lambda: os.path.exists(f"{path}.done"), "the job did not go on")
    wait_until(lambda: not living(guard), "the process that removed the FIFO stays")


@part.case
def outlived(w, stack):
    """A daemon has the FIFO open: watch and its reader end without it, and it can still write."""
    daemon = (f"setsid sh -c {shlex.quote(LATE)} </dev/null >/dev/null 2>&1 & "
              "while [ ! -e PATH.end ]; do sleep 0.02; done")
    path, job = writer(w, daemon)
    _, command = watched(w, job)
    run, guard, place = begin(command, path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    touch(f"{path}.end")
    run.communicate(timeout=60)
    equal("status of watch", run.returncode, 0)
    check(not os.path.exists(place), "the FIFO stays")
    equal("readers for the daemon", living(guard), 1)
    touch(f"{path}.go")
    wait_until(lambda: os.path.exists(f"{path}.done"), "the daemon could not write")
    wait_until(lambda: not living(guard), "the process that removed the FIFO stays")


@part.case
def late(w, stack):
    """A mark that is written succeeds, however long its sample takes; without room it fails."""
    w.serial += 1
    path = f"{w.work}/fifo{w.serial}"
    os.mkfifo(path)
    fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    stack.callback(os.close, fd)
    command = [w.args.cachemon, "mark", "epoch 1"]
    env = {**os.environ, "CACHEMON_MARKS": path}
    r = subprocess.run(command, env=env, stderr=subprocess.PIPE, text=True)
    equal("status of a mark that nobody took yet", r.returncode, 0)
    check("within a second" in r.stderr, r.stderr)
    equal("what was written", os.read(fd, 100), b"epoch 1\n")
    while True:
        try:
            os.write(fd, bytes(4096))
        except BlockingIOError:
            break
    r = subprocess.run(command, env=env, stderr=subprocess.PIPE, text=True)
    equal("status of a mark without room", r.returncode, 1)
    check("is full" in r.stderr, r.stderr)


@part.case
def no_run(w, stack):
    env = {k: v for k, v in os.environ.items() if k != "CACHEMON_MARKS"}
    r = subprocess.run([w.args.cachemon, "mark", "x"], env=env, stderr=subprocess.PIPE, text=True)
    equal("status without a run", r.returncode, 1)
    check("watch -- CMD" in r.stderr, r.stderr)
    env["CACHEMON_MARKS"] = f"{w.work}/gone/marks"
    r = subprocess.run([w.args.cachemon, "mark", "x"], env=env, stderr=subprocess.PIPE, text=True)
    equal("status after the run", r.returncode, 1)
    check("has ended" in r.stderr, r.stderr)
    equal("two lines", subprocess.run([w.args.cachemon, "mark", "a\nb"], stderr=subprocess.DEVNULL).returncode, 2)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], sys.argv[3], sys.argv[4:])
    elif sys.argv[1:2] == ["--plainly"]:
        plainly(int(sys.argv[2]), sys.argv[3])
    elif sys.argv[1:2] == ["--pass-over"]:
        pass_over(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    elif sys.argv[1:2] == ["--load-epochs"]:
        load_epochs(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        sys.exit(part.main(World))
