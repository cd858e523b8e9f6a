#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Many jobs of one daemon: each has a run in one database, and its figures are those of its own
processes, whatever the others do with the same files."""

import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine, reads  # noqa: E402
from syslib.jobworld import FILES, Obedient, end_process, expect, lines_of, main  # noqa: E402
from syslib.machine import enter_cgroup, until  # noqa: E402
from syslib.part import Failed, Part, Skipped, check, equal  # noqa: E402
from syslib.tool import on_device, tail  # noqa: E402

part = Part(__doc__)
JOBS = 8
ROUNDS = 6
TIMEOUT_S = 60
SLOTS = 255  # jobs at once
CLOCK_JUMP = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fault/clock_jump.c")


class Daemon:
    def __init__(self, world, stack, groups, *options, db=None, named=True, use_config=False, prefix=(), env=None):
        """use_config: the settings name the database, and have a policy for it. named=False: they
        have the interval, too. prefix: words before the program."""
        self.world = world
        self.db = db or world.tool.fresh(".db")
        self.errors = ""  # as far as they were read
        # Without groups it finds the jobs itself.
        jobs = [word for group in groups for word in ("--job", f"cgroup:{group}")]
        if named:
            options = ("--interval", "200ms", *options)
        if named and not use_config:
            options = ("--db", self.db, *options)
        self.process = subprocess.Popen([*prefix, world.tool.cachemon, "daemon", *options, *jobs],
                                        stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(env or {})})
        stack.callback(end_process, self.process)

    def query(self, sql):
        with contextlib.suppress(sqlite3.Error):
            with contextlib.closing(sqlite3.connect(f"file:{self.db}?mode=ro", uri=True)) as db:
                return db.execute(sql).fetchall()
        return []

    def until(self, condition, what):
        until(lambda: condition() or self.process.poll() is not None, what, TIMEOUT_S)
        if self.process.poll() is not None:
            raise Failed(f"daemon exits {self.process.returncode}: {tail(self.process.stderr.read())}")

    def intervals(self):
        return dict(self.query("SELECT run_id, max(id) FROM interval GROUP BY run_id"))

    def wait_intervals(self, runs, more=2):
        """That many more intervals of each of those runs: everything counted before is stored."""
        before = self.intervals()
        wanted = {run: before.get(run, 0) for run in runs}
        for _ in range(more):
            self.until(lambda: all(self.intervals().get(r, 0) > wanted[r] for r in wanted), "intervals")
            now = self.intervals()
            wanted = {run: now[run] for run in wanted}

    def wait_runs(self, number):
        self.until(lambda: len(self.intervals()) == number, f"{number} runs")

    def run_of(self, group):
        """The run of the job with that cgroup."""
        name = group.split("/cgroup/", 1)[1].split("/", 1)[1]
        runs = self.query(f"SELECT run_id FROM job WHERE slot = 1 AND selector LIKE '%{name}%'")
        equal(f"runs of {name}", len(runs), 1)
        return runs[0][0]

    def writes(self):
        """Attempts of the process so far, failed ones too."""
        with open(f"/proc/{self.process.pid}/io", encoding="ascii") as f:
            return int(dict(line.split(": ") for line in f)["syscw"])

    def wait_writes(self, more):
        wanted = self.writes() + more
        self.until(lambda: self.writes() >= wanted, "attempts to write")

    def wait_said(self, words):
        fd = self.process.stderr.fileno()
        os.set_blocking(fd, False)

        def said():
            with contextlib.suppress(BlockingIOError):
                self.errors += os.read(fd, 65536).decode()
            return words in self.errors
        self.until(said, words)
        os.set_blocking(fd, True)

    def end(self, status=0):
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=TIMEOUT_S)
        self.errors += errors
        if self.process.returncode != status:
            raise Failed(f"daemon exits {self.process.returncode}, not {status}: {tail(errors)}")
        return errors

    def report(self, group):
        return self.world.tool.report(self.db, str(self.run_of(group)))


def make_groups(stack, number, name):
    root = machine.v2_root() or machine.v1_root()
    return [machine.cgroup(stack, root, f"cachemon-{name}{i}-{os.getpid()}") for i in range(number)]


def start_jobs(world, stack, groups):
    """A process in each cgroup, that obeys, and the file to which it adds its reads."""
    tallies = [world.tool.fresh(".tally") for _ in groups]
    jobs = [Obedient(world, stack, tally) for tally in tallies]
    for group, job in zip(groups, jobs):
        enter_cgroup(group, job.process.pid)
    return jobs, tallies


def end_group(group):
    until(lambda: not open(f"{group}/cgroup.procs", encoding="ascii").read(), "an empty cgroup")
    os.rmdir(group)


def slurm_groups(stack, node):
    """The directory in which Slurm makes the cgroups of root's jobs, and an unused job number."""
    root = machine.v1_root()
    if not root:
        raise Skipped("no cgroup v1 here")
    above = machine.cgroup(stack, root, f"slurm_{node}{os.getpid()}")
    return machine.cgroup(stack, above, "uid_0"), 100000 + os.getpid() % 100000 * 10


def write_config(world, settings, socket_path=None):
    """The options; with a socket of its own, because the machine may have another daemon."""
    path = world.tool.fresh(".yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"{settings}socket:\n  path: {socket_path or world.tool.fresh('.socket')}\n")
    return "--config", path


def only(world, pattern, settings="", socket_path=None):
    """Options for jobs of this name: the machine may have others."""
    return write_config(world, f"jobs:\n  include: ['{pattern}']\n{settings}", socket_path)


def cached(world):
    return sum(reads.cached_pages(fd) for fd in world.fds)


@part.case
def eight_jobs_on_shared_files(world, stack):
    """The pages that came are those of all jobs together, by cachestat(2)."""
    groups = make_groups(stack, JOBS, "eight")
    jobs, tallies = start_jobs(world, stack, groups)
    world.fds = [os.open(f"{world.data}/{i:02}", os.O_RDONLY) for i in range(FILES)]
    for fd in world.fds:
        stack.callback(os.close, fd)
        reads.drop(fd)
    daemon = Daemon(world, stack, groups)
    daemon.wait_runs(JOBS)
    for r in range(ROUNDS):
        for i, job in enumerate(jobs):
            job.do("read", (i * 3 + r) % FILES, "in")
    daemon.wait_intervals([daemon.run_of(group) for group in groups])
    came = 0
    for group, tally in zip(groups, tallies):
        _, job = daemon.report(group)
        expect(world, job, lines_of(tally))
        equal("processes", job["processes"], 1)
        totals = on_device(job, world.dev)
        came += totals["demand_pages"] + totals["prefetched_pages"]
    equal("pages that came", came, cached(world))
    daemon.end()
    for group, tally in zip(groups, tallies):
        report, job = daemon.report(group)
        expect(world, job, lines_of(tally))
        equal("state", report["run"]["state"], "complete")
        equal("cost of one of many jobs", report["run"]["cost"]["collector_cpu_ns"], None)


@part.case
def brought_by_one_and_read_by_another(world, stack):
    groups = make_groups(stack, 2, "pair")
    (first, second), tallies = start_jobs(world, stack, groups)
    paths = [f"{world.data}/{i:02}" for i in range(0, FILES, 3)]  # those of the order below
    pages = 0
    for path in paths:
        with open(path, "rb") as f:
            reads.drop(f.fileno())
            pages += -(-os.fstat(f.fileno()).st_size // reads.PAGE)
    daemon = Daemon(world, stack, groups)
    daemon.wait_runs(2)
    first.do("read", 0, "in")
    second.do("read", 0, "in")
    daemon.end()
    jobs = [daemon.report(group)[1] for group in groups]
    for job, tally in zip(jobs, tallies):
        expect(world, job, lines_of(tally))
    one, two = (on_device(job, world.dev) for job in jobs)
    equal("pages that the first brought", one["demand_pages"] + one["prefetched_pages"], pages)
    equal("misses of the second", two["misses"], 0)
    equal("pages that the second brought", two["demand_pages"] + two["prefetched_pages"], 0)


@part.case
def jobs_that_end(world, stack):
    """A run ends with its cgroup; the others go on. The daemon ends with the last one."""
    groups = make_groups(stack, 3, "ends")
    jobs, tallies = start_jobs(world, stack, groups)
    daemon = Daemon(world, stack, groups)
    daemon.wait_runs(3)
    for i, job in enumerate(jobs):
        job.do("read", i, "in")
    for i, (group, job) in enumerate(zip(groups, jobs)):
        end_process(job.process)
        end_group(group)
        if i < 2:
            daemon.until(lambda: daemon.query("SELECT count(*) FROM run WHERE state = 'complete'") == [(i + 1,)],
                         f"{i + 1} ended runs")
            jobs[2].do("read", 3 + i, "in")
    daemon.process.communicate(timeout=TIMEOUT_S)
    equal("status", daemon.process.returncode, 0)
    for group, tally in zip(groups, tallies):
        expect(world, daemon.report(group)[1], lines_of(tally))


@part.case
def killed(world, stack):
    """All runs have whole intervals, and the next daemon writes to the same database."""
    groups = make_groups(stack, 3, "killed")
    jobs, tallies = start_jobs(world, stack, groups)
    daemon = Daemon(world, stack, groups)
    daemon.wait_runs(3)
    for i, job in enumerate(jobs):
        job.do("read", i, "in")
    daemon.wait_intervals([daemon.run_of(group) for group in groups])
    daemon.process.kill()
    daemon.process.wait()
    for group, tally in zip(groups, tallies):
        report, job = daemon.report(group)
        equal("state", report["run"]["state"], "open")
        expect(world, job, lines_of(tally))
    again = Daemon(world, stack, groups, db=daemon.db)
    again.wait_runs(6)
    again.end()
    equal("integrity", again.query("PRAGMA integrity_check"), [("ok",)])


@part.case
def found_by_their_births(world, stack):
    """Slurm's layout: a job that is there before the daemon, and some that come and go while it
    runs. Their user is that of their processes. Other cgroups are no jobs."""
    slurm, number = slurm_groups(stack, "t")
    root = machine.v1_root()
    groups = [machine.cgroup(stack, slurm, f"job_{number}")]
    jobs, tallies = start_jobs(world, stack, groups)
    daemon = Daemon(world, stack, [])
    daemon.wait_runs(1)
    # A user of a container runtime can make cgroups with the same names below its own.
    machine.cgroup(stack, machine.cgroup(stack, root, f"cachemon-twin-{os.getpid()}"), os.path.basename(groups[0]))
    machine.cgroup(stack, root, f"cachemon-none-{os.getpid()}")
    for i in range(1, 4):
        groups.append(machine.cgroup(stack, slurm, f"job_{number + i}"))
        more, tally = start_jobs(world, stack, groups[-1:])
        more[0].do("read", i, "in")
        end_process(more[0].process)
        end_group(groups[-1])
        tallies += tally
    jobs[0].do("read", 0, "in")
    daemon.until(lambda: daemon.query("SELECT count(*) FROM run WHERE state = 'complete'") == [(3,)], "three ended runs")
    daemon.end()
    equal("runs", daemon.query("SELECT count(*) FROM run"), [(4,)])
    for group, tally in zip(groups, tallies):
        report, job = daemon.report(group)
        expect(world, job, lines_of(tally))
        equal("user", report["run"]["user"], "root")
        equal("processes", job["processes"], 1)


@part.case
def mounts_are_read_once_for_a_job(world, stack):
    """By strace(1): the list of mounts may be long, and jobs may be short and many."""
    slurm, number = slurm_groups(stack, "m")
    log = world.tool.fresh(".strace")
    path = f"{world.tool.fresh('.run')}/socket"
    os.mkdir(os.path.dirname(path))
    daemon = Daemon(world, stack, [], *only(world, f"slurm:{number // 10}?", socket_path=path),
                    "--interval", "10m", prefix=("strace", "-D", "-f", "-qq", "-e", "trace=openat", "-o", log))

    def reads_of_mounts():
        """Until now; an answer comes after the cgroups were seen, and samples are far away."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.connect(path)
            s.send(b'{"request": "hello"}')
            s.recv(4096)
        with open(log, encoding="ascii") as f:
            return sum("mountinfo" in line for line in f)
    daemon.until(lambda: os.path.exists(path), "the socket")
    for i in range(3):
        before = reads_of_mounts()
        machine.cgroup(stack, slurm, f"job_{number + i}")
        equal("times that the mounts were read", reads_of_mounts() - before, 1)
    daemon.end()


def try_rmdir(path):
    with contextlib.suppress(OSError):
        os.rmdir(path)


def slurm_scope(stack, node):
    """As slurm_groups(), in cgroup v2. systemd may have made the slice."""
    root = machine.v2_root()
    if not root:
        raise Skipped("no cgroup v2 here")
    with contextlib.suppress(FileExistsError):
        os.mkdir(f"{root}/system.slice")
        stack.callback(try_rmdir, f"{root}/system.slice")
    scope = machine.cgroup(stack, f"{root}/system.slice", f"{node}{os.getpid()}_slurmstepd.scope")
    return scope, (100000 + os.getpid() % 100000 * 10) * 1000


@part.case
def found_in_cgroup_v2(world, stack):
    """Slurm's layout, with the processes in cgroups below those of the steps; and a container with
    a twin in a cgroup that a user can make."""
    scope, number = slurm_scope(stack, "v")
    root = machine.v2_root()
    own = f"{os.getpid():064x}"
    settings = f"jobs:\n  include: ['slurm:{number // 1000}*', 'container:{own}']\n"
    jobs, tallies = [], []

    def start(group):
        step = machine.cgroup(stack, group, "step_0")
        task = machine.cgroup(stack, machine.cgroup(stack, step, "user"), "task_0")
        more, tally = start_jobs(world, stack, [task])
        jobs.extend(more)
        tallies.extend(tally)
    groups = [machine.cgroup(stack, scope, f"job_{number}")]
    start(groups[0])
    daemon = Daemon(world, stack, [], *write_config(world, settings))
    daemon.wait_runs(1)
    groups.append(machine.cgroup(stack, scope, f"job_{number + 1}"))
    start(groups[1])
    groups.append(machine.cgroup(stack, root, f"docker-{own}.scope"))
    twins = machine.cgroup(stack, root, f"cachemon-twins-{os.getpid()}")
    machine.cgroup(stack, twins, f"docker-{own}.scope")
    more, tally = start_jobs(world, stack, groups[2:])
    jobs += more
    tallies += tally
    daemon.wait_runs(3)
    for i, job in enumerate(jobs):
        job.do("read", i, "in")
    errors = daemon.end()
    equal("runs", daemon.query("SELECT count(*) FROM run"), [(3,)])
    for group, tally in zip(groups, tallies):
        report, job = daemon.report(group)
        expect(world, job, lines_of(tally))
        equal("user", report["run"]["user"], "root")
        equal("processes", job["processes"], 1)
    places = [group[len(root):] for group in groups]
    # The user is that of the processes, which may come later.
    equal("lines", sorted(line.split(", uid: ")[0] for line in errors.splitlines()),
          sorted([f"cachemon: watching slurm: {number + i}, cgroup: {places[i]}" for i in range(2)] +
                 [f"cachemon: watching container: {own}, cgroup: {places[2]}"]))


@part.case
def more_jobs_than_slots(world, stack):
    """The job that finds no slot begins when another one ends."""
    slurm, number = slurm_groups(stack, "m")
    number *= 1000
    groups = [machine.cgroup(stack, slurm, f"job_{number + i}") for i in range(SLOTS)]
    daemon = Daemon(world, stack, [], "--interval", "1s", *only(world, f"slurm:{number // 1000}*"))
    daemon.wait_runs(SLOTS)
    late = machine.cgroup(stack, slurm, f"job_{number + SLOTS}")
    jobs, tallies = start_jobs(world, stack, [late])
    daemon.wait_intervals(daemon.intervals(), 1)
    equal("runs", len(daemon.intervals()), SLOTS)
    end_group(groups[0])
    daemon.wait_runs(SLOTS + 1)
    jobs[0].do("read", 0, "in")
    errors = daemon.end()
    expect(world, daemon.report(late)[1], lines_of(tallies[0]))
    job = f"{number + SLOTS}"
    lines = [line.split(", ", 1)[0] for line in errors.splitlines() if job in line]
    equal("lines about it", lines, [f"cachemon: slurm:{job} is not watched: {SLOTS} jobs are watched already: "
                                    "no more at once", f"cachemon: watching slurm: {job}"])


def fill(path):
    """All space of its filesystem."""
    with open(path, "wb", buffering=0) as f, contextlib.suppress(OSError):
        while f.write(bytes(4096)):
            pass


@part.case
def full_disk(world, stack):
    """Reads and the end of a job while nothing can be written: they are written when there is room
    again. The daemon says so once for each job."""
    place = world.tool.fresh(".mount")
    os.mkdir(place)
    machine.mount(stack, "-t", "tmpfs", "-o", "size=16m", "none", place)
    groups = make_groups(stack, 2, "full")
    jobs, tallies = start_jobs(world, stack, groups)
    daemon = Daemon(world, stack, groups, db=f"{place}/run.db")
    daemon.wait_runs(2)
    jobs[0].do("read", 0, "in")
    runs = [daemon.run_of(group) for group in groups]
    daemon.wait_intervals(runs)
    fill(f"{place}/ballast")
    daemon.wait_said("no space left")
    before = daemon.query("SELECT id, run_id, start_ns FROM interval ORDER BY id")
    for i, job in enumerate(jobs):
        job.do("read", 1 + i, "in")
    end_process(jobs[1].process)
    end_group(groups[1])
    daemon.wait_writes(40)  # the job probably ends meanwhile
    os.unlink(f"{place}/ballast")
    daemon.until(lambda: daemon.query(f"SELECT state FROM run WHERE id = {runs[1]}") == [("complete",)],
                 "the end of a run")
    jobs[0].do("read", 3, "in")
    daemon.wait_intervals(runs[:1])
    daemon.end()
    equal("intervals that were written", daemon.query("SELECT id, run_id, start_ns FROM interval ORDER BY id")
          [:len(before)], before)
    equal("integrity", daemon.query("PRAGMA integrity_check"), [("ok",)])
    for group, tally in zip(groups, tallies):
        report, job = daemon.report(group)
        equal("state", report["run"]["state"], "complete")
        expect(world, job, lines_of(tally))
    check(daemon.errors.count("no space left") <= 3, daemon.errors)


@part.case
def clock_set_forward(world, stack):
    """The time of day jumps by a year: a run that has just ended is not a year old."""
    library = world.tool.fresh(".so")
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, CLOCK_JUMP], check=True)
    jumped = world.tool.fresh(".jumped")
    slurm, number = slurm_groups(stack, "c")
    number *= 1000
    kept, ended = (machine.cgroup(stack, slurm, f"job_{number + i}") for i in range(2))
    jobs, _ = start_jobs(world, stack, [kept, ended])
    db = world.tool.fresh(".db")
    settings = f"database: {db}\nretention: {{age: 1h}}\n"
    daemon = Daemon(world, stack, [], *only(world, f"slurm:{number // 1000}*", settings), db=db, use_config=True,
                    env={"LD_PRELOAD": library, "CLOCK_JUMP_S": str(366 * 86400), "CLOCK_JUMP_FILE": jumped})
    daemon.wait_runs(2)
    end_process(jobs[1].process)
    end_group(ended)
    daemon.until(lambda: daemon.query("SELECT count(*) FROM run WHERE state = 'complete'") == [(1,)], "the end of a run")
    with open(jumped, "w", encoding="ascii"):
        pass
    daemon.wait_intervals([daemon.run_of(kept)], 5)
    equal("runs", daemon.query("SELECT count(*) FROM run"), [(2,)])
    daemon.end()


DROP = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.read(fd, 4096)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
"""


@part.case
def advice_is_of_its_own_job(world, stack):
    """The second job gets the slot of the first one, but none of its advice."""
    slurm, number = slurm_groups(stack, "a")
    keeper, _ = start_jobs(world, stack, [machine.cgroup(stack, slurm, f"job_{number + 9}")])
    daemon = Daemon(world, stack, [])
    daemon.wait_runs(1)
    runs = []
    for i in range(2):
        group = machine.cgroup(stack, slurm, f"job_{number + i}")
        code = "pass" if i else DROP
        done = subprocess.run(["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh", sys.executable, "-c",
                               code, f"{world.data}/00"], check=False)
        equal("status", done.returncode, 0)
        end_group(group)
        daemon.until(lambda: daemon.query("SELECT count(*) FROM run WHERE state = 'complete'") == [(len(runs) + 1,)],
                     "the end of a run")
        runs.append(daemon.run_of(group))
    keeper[0].do("read", 0, "in")
    daemon.end()
    advice = [daemon.query("SELECT count(*) FROM advice JOIN job ON job.id = job_id WHERE slot = 1 AND "
                           f"run_id = {run}") for run in runs]
    equal("rows of advice of the two jobs", advice, [[(1,)], [(0,)]])


@part.case
def not_there(world, stack):
    """Nothing is begun, and nothing is written."""
    group = make_groups(stack, 1, "alone")[0]
    daemon = Daemon(world, stack, [group, f"{group}-absent"])
    _, errors = daemon.process.communicate(timeout=TIMEOUT_S)
    equal("status", daemon.process.returncode, 1)
    check(f"{group}-absent" in errors, errors)
    check(not os.path.exists(daemon.db), "a database was made")
    for words in (("--job", "pid:1"), ("--job", "word"), ("--job", "slurm:")):
        done = subprocess.run([world.tool.cachemon, "daemon", *words], capture_output=True, check=False)
        equal(f"status of daemon {words}", done.returncode, 2)
        check(len(done.stderr.splitlines()) <= 2, done.stderr)


if __name__ == "__main__":
    sys.exit(main(part))
