#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A file that cannot grow: the limit of file sizes (ulimit -f), a quota, a full tmpfs, a failing
disk. cachemon reports it in a line and continues, CMD runs as it would without cachemon, and the
status shows that the record is incomplete."""

import errno
import os
import resource
import signal
import subprocess
import sys

sys.dont_write_bytecode = True

from faultlib.part import Part, expect, full_counts  # noqa: E402
from faultlib.trouble import check_complete, finished, said  # noqa: E402
from faultlib.watch import Db, Steady, Watch, run, wait_intervals  # noqa: E402

part = Part("file_limit", __doc__)
INCOMPLETE = 123
FORMATS = {"text": "txt", "md": "md", "html": "html", "json": "json", "csv": "csv", "yaml": "yaml"}
# CMD's own status, or that of an incomplete record.
STATUSES = (0, 7)
LIMIT = "the limit of file sizes is reached"


def limit(pid, size):
    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))


def begin(case, db, status, env=None):
    steady = Steady(case, status=status, name=f"steady{status}")
    watch = Watch(case, ["--level", "full", "--db", db.path, "--interval", "100ms"],
                  steady.command, env=env, name=f"watch{status}")
    steady.wait_started(watch)
    wait_intervals(watch, db, 3)
    return steady, watch


def finish(steady, watch):
    steady.stop()
    done = watch.wait()
    expect(steady.done(), f"CMD did not come to its own end: {done}")
    expect(done.status == (steady.status or INCOMPLETE), str(done))
    expect(("record is incomplete" in done.err) == (not steady.status), str(done))
    expect(len(watch.complaints()) <= 5, str(done))
    return done


def for_a_while(case, words, trouble, cure):
    """Reported once; totals are exact afterwards; the status shows it if CMD's is 0."""
    lost = []
    for status in STATUSES if full_counts() else (0,):
        db = Db(case.path(f"run{status}.db"))
        steady, watch = begin(case, db, status)
        trouble(watch, db)
        said(watch, words)
        before = len(db.intervals())
        cure(watch, db)
        wait_intervals(watch, db, before + 3)
        expect(len(watch.complaints()) == 1, watch.err())
        finish(steady, watch)
        lost.append(check_complete(db, steady)["loss_intervals"])
    expect(all(lost), f"no interval is counted as lost: {lost}")
    return f"{lost} intervals lost and counted"


def to_the_end(case, words, trouble, cure):
    """Written intervals are there; the next watch marks the run as cut."""
    for status in STATUSES if full_counts() else (7,):
        db = Db(case.path(f"run{status}.db"))
        steady, watch = begin(case, db, status)
        before = db.intervals()
        trouble(watch, db)
        said(watch, words)
        finish(steady, watch)
        left = db.copy(case.path("copy.db"))
        left.sound()
        expect(left.intervals()[:len(before)] == before, "intervals that were written are gone")
        expect(left.run()["state"] != "complete", "an unfinished run says it is complete")
        cure(None, db)
        done = run([case.cachemon, "watch", "--db", db.path, "--", "true"])
        expect(done.status == 0, str(done))
        expect(db.one("SELECT state FROM run WHERE id = 1") == "cut", "the run is not marked as cut")


# ---- the limit of file sizes ----


def limit_now(watch, db):
    limit(watch.pid, os.path.getsize(db.path + "-wal"))


def no_limit(watch, _):
    if watch:
        limit(watch.pid, resource.RLIM_INFINITY)


@part.case("the limit is reached while it runs, and raised again: said once, totals complete")
def limit_for_a_while(case):
    return for_a_while(case, LIMIT, limit_now, no_limit)


@part.case("the limit is reached while it runs: CMD goes on to its end, watched")
def limit_to_the_end(case):
    return to_the_end(case, LIMIT, limit_now, no_limit)


@part.case("the limit is low from the beginning: refused in a line, CMD is not run; or it works")
def limit_at_start(case):
    worked = []
    for size in (0, 1, 1024, 4096, 65536, 200000, 1 << 20, 64 << 20):
        path, mark = case.path(f"{size}.db"), case.path(f"ran{size}")
        done = run([case.cachemon, "watch", "--db", path, "--", "sh", "-c",
                    f": >{mark}; exit 3"], prefix=["prlimit", f"--fsize={size}"])
        if done.status == 125:
            expect(len(done.lines()) <= 2 and "limit of file sizes" in done.err and
                   not os.path.exists(mark), f"{size}: {done}")
        else:
            expect(done.status == 3 and os.path.exists(mark), f"{size}: {done}")
            worked.append(size)
        run(["rm", "-f", path, path + "-wal", path + "-shm"])
    expect(worked and worked[-1] == 64 << 20 and len(worked) < 8, f"works with {worked}")
    return f"works from {worked[0]} bytes on"


@part.case("CMD has the limit and the signal as without cachemon")
def signal_of_command(case):
    bit = 1 << (signal.SIGXFSZ - 1)
    look = ["sh", "-c", "grep -E '^Sig(Ign|Cgt):' /proc/$$/status; ulimit -f"]
    for ignored in ("", "trap '' XFSZ; "):
        shell = ["sh", "-c", ignored + "ulimit -f 20000; exec \"$@\"", "sh"]
        plain = run([*shell, *look])
        db = case.path("look.db")
        watched = run([*shell, case.cachemon, "watch", "--db", db, "--", *look])
        sets = [int(line.split()[1], 16) & bit for out in (plain.out, watched.out)
                for line in out.decode().splitlines()[:2]]
        expect(sets[:2] == sets[2:] and bool(sets[0]) == bool(ignored), f"{ignored}: {sets}")
        expect(plain.out.splitlines()[2] == watched.out.splitlines()[2] == b"20000",
               f"{plain.out} {watched.out}")
        # CMD's own behaviour at the limit is unchanged.
        big = ["dd", "if=/dev/zero", f"of={case.path('big')}", "bs=1M", "count=100", "status=none"]
        plain = run(["sh", "-c", shell[2].replace("exec ", ""), "sh", *big])
        watched = run([*shell, case.cachemon, "watch", "--db", db, "--", *big])
        expect(watched.status == plain.status and plain.status, f"{plain} {watched}")


def commands_that_write(db):
    """Commands that write a file, by its name and through standard output."""
    for name, ending in FORMATS.items():
        yield ["report", "--db", db, "--format", name], ending
    for name in ("text", "md", "html", "json"):
        yield ["advise", "--db", db, "--format", name], FORMATS[name]
        yield ["compare", "--db", db, "1", "2", "--format", name], FORMATS[name]


@part.case("a report at the limit: a message, status 1, nothing half-written stays")
def reports(case):
    db = finished(case, case.path("run.db")).path
    finished(case, db)
    folder = case.path("out")
    os.mkdir(folder)
    count = 0
    for argv, ending in commands_that_write(db):
        whole = run([case.cachemon, *argv])
        expect(whole.status == 0 and whole.out, str(whole))
        half = len(whole.out) // 2
        for size in (0, 100, half, len(whole.out) - 1) if full_counts() else (0, half):
            path = os.path.join(folder, "out." + ending)
            done = run([case.cachemon, *argv, "-o", path], prefix=["prlimit", f"--fsize={size}"])
            expect(done.status == 1 and len(done.lines()) == 1 and "File too large" in done.err,
                   f"{size}: {done}")
            expect(os.listdir(folder) == [], f"{size}: {done}: left {os.listdir(folder)}")
            # An existing file is not changed.
            with open(path, "w", encoding="ascii") as f:
                f.write("as it was")
            done = run([case.cachemon, *argv, "-o", path], prefix=["prlimit", f"--fsize={size}"])
            with open(path, encoding="ascii") as f:
                expect(done.status == 1 and f.read() == "as it was", f"{size}: {done}")
            expect(os.listdir(folder) == ["out." + ending], f"{size}: {os.listdir(folder)}")
            os.unlink(path)
            done = run(["prlimit", f"--fsize={size}", "sh", "-c", '"$@" >' + path, "sh",
                        case.cachemon, *argv])
            expect(done.status == 1 and len(done.lines()) == 1, f"{size}, stdout: {done}")
            os.unlink(path)
            count += 3
        done = run([case.cachemon, *argv, "-o", path],
                   prefix=["prlimit", f"--fsize={len(whole.out) + 65536}"])
        expect(done.status == 0, f"enough: {done}")
        os.unlink(path)
    if not full_counts():
        print(f"commands at a limit: {count} of {2 * count}", flush=True)
    return f"{count} commands"


@part.case("other verbs that print, into a file at the limit: a message, status 1")
def printers(case):
    db = finished(case, case.path("run.db")).path
    out = case.path("out")
    for argv in (["runs", "--db", db], ["runs", "--db", db, "--json"], ["explain", "small-files"],
                 ["whatif", "cache", "--db", db], ["doctor", "--json"], ["--help"], ["--version"],
                 ["top", "--batch", "--db", db, "--frames", "1"]):
        whole = run([case.cachemon, *argv])
        expect(whole.out, f"nothing is printed: {whole}")
        for size in (0, len(whole.out) // 2):
            done = run(["prlimit", f"--fsize={size}", "sh", "-c", f'"$@" >{out}', "sh",
                        case.cachemon, *argv])
            expect(done.status == 1 and "cannot write" in done.err and len(done.lines()) <= 3,
                   f"{size}: {done}")


# ---- other reasons ----


def small_tmpfs(case):
    place = case.path("tmpfs")
    os.makedirs(place, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", place], check=True)
    case.defer(lambda: subprocess.run(["umount", "-l", place], check=False))
    return place


def fill(path):
    with open(path, "ab", buffering=0) as f:
        for size in (65536, 4096, 1):
            try:
                while f.write(bytes(size)):
                    pass
            except OSError as e:
                expect(e.errno == errno.ENOSPC, str(e))


@part.case("a tmpfs is full for a while: said once, totals complete")
def tmpfs(case):
    place = small_tmpfs(case)
    ballast = os.path.join(place, "ballast")
    case.path = lambda *names: os.path.join(place if names[0].endswith(".db") else case.dir, *names)
    return for_a_while(case, "no space left", lambda *_: fill(ballast),
                       lambda *_: os.unlink(ballast))


@part.case("no space for the report or the summary of a watch: said, the status shows it")
def report_of_watch(case):
    place = small_tmpfs(case)
    fill(os.path.join(place, "ballast"))
    for status in (0, 6):
        for ending in FORMATS.values():
            done = run([case.cachemon, "watch", "--db", case.path("run.db"), "--report",
                        os.path.join(place, "report." + ending), "--", "sh", "-c", f"exit {status}"])
            expect(done.status == (status or INCOMPLETE) and "no report" in done.err, str(done))
            expect(os.listdir(place) == ["ballast"], f"left over: {os.listdir(place)}")
        done = run([case.cachemon, "watch", "--db", case.path("run.db"), "--duration", "100ms",
                    "--report", os.path.join(place, "report.html"), "--pid", str(os.getpid())])
        expect(done.status == 1 and "no report" in done.err, str(done))


def failing(case, number, words, judge):
    """A preloaded library makes writes fail with this errno."""
    library = case.helper("write_error", "-shared", "-fPIC")
    switch = case.path("errno")
    env = {"LD_PRELOAD": library, "WRITE_ERROR_FILE": switch}
    os.environ.update(env)
    case.defer(lambda: [os.environ.pop(name, None) for name in env])

    def on(*_):
        with open(switch + ".new", "w", encoding="ascii") as f:
            f.write(str(int(number)))
        os.rename(switch + ".new", switch)

    return judge(case, words, on, lambda *_: os.unlink(switch))


@part.case("the quota is used up for a while, as NFS or ext4 have it")
def quota(case):
    return failing(case, errno.EDQUOT, "the disk quota is used up", for_a_while)


@part.case("the quota is used up to the end")
def quota_to_the_end(case):
    return failing(case, errno.EDQUOT, "the disk quota is used up", to_the_end)


@part.case("the disk fails for a while")
def disk(case):
    return failing(case, errno.EIO, "Input/output error", for_a_while)


@part.case("the disk fails to the end")
def disk_to_the_end(case):
    return failing(case, errno.EIO, "Input/output error", to_the_end)


if __name__ == "__main__":
    part.main()
