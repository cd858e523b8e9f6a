#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Slurm's plugin: jobs of several users at once have the figures that they know themselves. Each
user sees the own jobs only, and gets a line in the job's output and a report of the user's own. No
job fails or waits because of a daemon that is not there, or hangs."""

import contextlib
import glob
import json
import os
import pwd
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemon import Daemon  # noqa: E402
from syslib import machine, reads  # noqa: E402
from syslib.jobworld import FILES, main  # noqa: E402
from syslib.machine import until  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.slurm import FIRST_JOB, NODE, SECOND_NODE, Slurm  # noqa: E402
from syslib.tool import on_device  # noqa: E402

part = Part(__doc__)
USERS = ("nobody", "games")
HOOK_S = 1  # for which a hook waits for the daemon; longer where a busy machine must not matter
SCRIPT_S = 2  # the same of the prolog and of the epilog
EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples/slurm")
COUNTS = ("read_calls", "read_bytes", "lookups", "hits", "misses")
# Reads whole files without readahead, so that each page that is not cached before a call is a miss
# of that call, and prints the sums.
READER = """
import json, os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reads
got = dict.fromkeys(("read_calls", "read_bytes", "lookups", "hits", "misses"), 0)
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    size = os.fstat(fd).st_size
    for at in range(0, size, 65536):
        pages = -(-min(65536, size - at) // reads.PAGE)
        cached = reads.cached_pages(fd, at // reads.PAGE, pages)
        got["read_bytes"] += len(os.pread(fd, 65536, at))
        got["read_calls"] += 1
        got["lookups"] += pages
        got["hits"] += cached
        got["misses"] += pages - cached
    os.close(fd)
print(json.dumps(got), flush=True)
"""
LINE = re.compile(r"cachemon: read (?P<bytes>.*); (?P<ratio>.*) of (?P<lookups>[\d,]+) page lookups hit the page "
                  r"cache, (?P<misses>[\d,]+) missed \(.*\); its tasks waited .* for it in [^(]*$")
SO_FAR = " (the job so far)"


class Cluster:
    """Slurm with the plugin, and a daemon that takes samples so seldom that only the end of a job can
    be the reason for one."""

    def __init__(self, world, stack, plugin=True, wait=10 * HOOK_S, nodes=(NODE,), scripts=False):
        self.world, self.stack = world, stack
        self.plugin = f"{os.path.dirname(os.path.abspath(world.args.cachemon))}/slurm/spank_cachemon.so"
        if not os.path.exists(self.plugin):
            raise Skipped("the plugin is not built, because slurm/spank.h is not installed")
        self.socket_dir = world.tool.fresh(".run")
        self.socket = f"{self.socket_dir}/cachemon/socket"
        os.mkdir(self.socket_dir)
        line = f"optional {self.plugin} socket={self.socket} program={os.path.abspath(world.args.cachemon)} wait={wait}\n"
        self.slurm = Slurm(stack, world.tool.fresh(".slurm"), True, True, plugstack=line if plugin else "",
                           more="PrologFlags=Alloc\n" + (self.copy_scripts() if scripts else ""), nodes=nodes)
        self.reader = f"{self.slurm.dir}/known.py"
        with open(self.reader, "w", encoding="ascii") as f:
            f.write(READER)
        shutil.copy(reads.__file__, f"{self.slurm.dir}/reads.py")
        self.daemon = None
        for i in range(FILES):
            os.chmod(f"{world.data}/{i:02}", 0o666)  # cachestat(2) is for who may write
            with open(f"{world.data}/{i:02}", "rb") as f:
                reads.drop(f.fileno())

    def copy_scripts(self):
        """The prolog and the epilog, with the paths of this test: lines of Slurm's settings."""
        lines = ""
        for name in ("prolog", "epilog"):
            with open(f"{EXAMPLES}/{name}", encoding="ascii") as f:
                text = f.read()
            for key, value in (("cachemon", self.world.tool.cachemon), ("socket", self.socket)):
                text, found = re.subn(f"(?m)^{key}=.*$", f"{key}={value}", text)
                equal(f"lines of {key} in {name}", found, 1)
            with open(self.script(name), "w", encoding="ascii") as f:
                f.write(text)
            os.chmod(self.script(name), 0o755)
            lines += f"{name.title()}={self.script(name)}\n"
        return lines

    def script(self, name):
        return f"{self.socket_dir}/{name}"

    def start(self, interval="10m"):
        config = self.world.tool.fresh(".yaml")
        with open(config, "w", encoding="ascii") as f:
            f.write(f"jobs:\n  kinds: [slurm]\n  include: [\"slurm:{FIRST_JOB // 100}??\"]\n"
                    f"socket:\n  path: {self.socket}\n")
        self.daemon = Daemon(self.world, self.stack, [], "--config", config, "--interval", interval)
        self.daemon.until(lambda: os.path.exists(self.socket), "the socket")
        return self

    def home(self, user):
        path = self.world.tool.fresh(f".{user}")
        os.mkdir(path, 0o755)
        os.chown(path, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
        return path

    def read(self, *files):
        names = " ".join(f"{self.world.data}/{i:02}" for i in files)
        return f"/usr/bin/python3 {self.reader} {names}\n"

    def as_user(self, user, *argv, directory="/"):
        return subprocess.run(["runuser", "-u", user, "--", *argv], env=self.slurm.env, cwd=directory, capture_output=True,
                              text=True, check=False)

    def submit(self, user, script, *options):
        return Batch(self, user, script, *options)

    def log(self, pattern):
        lines = []
        for path in glob.glob(f"{self.slurm.dir}/slurmd.*.log"):
            with open(path, encoding="utf-8") as f:
                lines += [line for line in f if re.search(pattern, line)]
        return lines

    def wait_report(self, path):
        def failed():
            return self.log("cachemon: no report of ")

        until(lambda: failed() or os.path.exists(path) and os.path.getsize(path), path)
        equal("failures", failed(), [])

    def list(self, user):
        done = self.as_user(user, self.world.tool.cachemon, "jobs", "--socket", self.socket, "--json")
        equal(f"status of jobs: {done.stderr}", done.returncode, 0)
        return {job["job"]: job for job in json.loads(done.stdout)["jobs"]}


class Batch:
    def __init__(self, cluster, user, script, *options):
        self.cluster, self.user = cluster, user
        self.dir = cluster.home(user)
        path = f"{self.dir}/job.sh"
        with open(path, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\n" + script)
        done = cluster.as_user(user, "sbatch", "--parsable", "-n1", "-D", self.dir, "-o", f"{self.dir}/out.%A.%a", *options,
                               path)
        equal(f"status of sbatch: {done.stderr}", done.returncode, 0)
        self.id = int(done.stdout)

    def wait(self):
        run = self.cluster.slurm.run
        until(lambda: not run("squeue", "-h", "-j", str(self.id), "-o", "%i").strip(), f"the end of job {self.id}", 120)
        return self

    def outputs(self):
        """The lines of each task."""
        names = sorted(name for name in os.listdir(self.dir) if name.startswith("out."))
        return [open(f"{self.dir}/{name}", encoding="utf-8").read().splitlines() for name in names]

    def output(self):
        outputs = self.outputs()
        equal("files of output", len(outputs), 1)
        return outputs[0]

    def known(self):
        """The sums of the job's readers."""
        lines = [json.loads(line) for line in self.output() if line.startswith("{")]
        return {key: sum(line[key] for line in lines) for key in COUNTS}

    def shown(self):
        """The plugin's line."""
        lines = [line for line in self.output() if "cachemon: " in line]
        equal(f"lines of the plugin: {lines}", len(lines), 1)
        return lines[0]

    def file(self, ending, number=None):
        return f"{self.dir}/cachemon-{number or self.id}-{NODE}.{ending}"


def check_counts(world, db, known):
    data = on_device(world.tool.report(db)[1], world.dev)
    for key in COUNTS:
        equal(key, data[key], known[key])


def figures(line):
    """Lookups and misses in a line of the plugin."""
    found = LINE.search(line)
    check(found, line)
    return [int(found[key].replace(",", "")) for key in ("lookups", "misses")]


def query(path, sql):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute(sql).fetchall()


def check_so_far(db, line, known):
    """The line has the first interval: until the last task has ended, the daemon takes no sample."""
    check(line.endswith(SO_FAR), line)
    rows = query(db, "SELECT i.lookups, i.misses FROM job_interval i JOIN job j ON j.id = job_id WHERE slot = 1 "
                     "ORDER BY interval_id LIMIT 1")
    equal("figures of the line", figures(line.removesuffix(SO_FAR)), list(rows[0]))
    check(rows[0][0] >= known["lookups"], f"{rows} are not all of {known}")


def check_own(path, user):
    st = os.lstat(path)
    equal(f"owner and mode of {path}", (st.st_uid, st.st_gid, stat.filemode(st.st_mode)),
          (pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid, "-rw-------"))


@part.case
def two_users(world, stack):
    """Each job has two steps: the batch script and one of srun."""
    cluster = Cluster(world, stack).start()
    jobs = []
    for i, user in enumerate(USERS):
        first, second = range(i, FILES, 4), range(i + 2, FILES, 4)
        script = cluster.read(*first) + cluster.read(*first) + "srun -J step " + cluster.read(*second)
        jobs.append(cluster.submit(user, script, "--cachemon=report", "-J", f"train {user}"))
    for job in jobs:
        job.wait()
        cluster.wait_report(job.file("txt"))
    for job, user in zip(jobs, USERS):
        known = job.known()
        check(known["hits"] and known["misses"], f"the job hit or missed nothing: {job.output()}")
        for ending in ("txt", "db"):
            check_own(job.file(ending), user)
        check_counts(world, job.file("db"), known)
        rows = query(job.file("db"), "SELECT external_id, uid, job_name, partition, lookups, misses, r.state FROM job "
                                     "JOIN run r ON r.id = run_id WHERE slot = 1")
        equal("rows", [row[:4] + row[6:] for row in rows],
              [(str(job.id), pwd.getpwnam(user).pw_uid, f"train {user}", "batch", "complete")])
        equal("figures of the line", figures(job.shown()), list(rows[0][4:6]))
        with open(job.file("txt"), encoding="utf-8") as f:
            check(f"(Slurm job {job.id}, partition batch)" in f.read(), "the report is not of this job")
        equal(f"jobs of {user}", list(cluster.list(user)), [f"slurm:{job.id}"])
    equal("jobs of another user", cluster.list("mail"), {})
    equal("messages", len(cluster.log("cachemon: ")), len(cluster.log("cachemon: read ")))
    cluster.daemon.end()


@part.case
def task_array(world, stack):
    cluster = Cluster(world, stack).start()
    names = " ".join(f"{world.data}/0$((SLURM_ARRAY_TASK_ID + {i}))" for i in (0, 3))
    script = f"echo task $SLURM_ARRAY_TASK_ID is $SLURM_JOB_ID\n/usr/bin/python3 {cluster.reader} {names}\n"
    jobs = cluster.submit(USERS[0], script, "--array=0-2", "--cachemon=report", "-J", "array").wait()
    outputs = jobs.outputs()
    equal("tasks", len(outputs), 3)
    for lines in outputs:
        number = next(line for line in lines if line.startswith("task ")).split()[-1]
        cluster.wait_report(jobs.file("txt", number))
        check_counts(world, jobs.file("db", number), json.loads(next(line for line in lines if line.startswith("{"))))
        equal("lines", len([line for line in lines if LINE.search(line)]), 1)
    equal("runs", sorted(job["name"] for job in cluster.list(USERS[0]).values()), ["array"] * 3)
    cluster.daemon.end()


@part.case
def srun_alone(world, stack):
    """A job without a batch script has a line and a report, too; other values of the option are
    refused."""
    cluster = Cluster(world, stack).start()
    user = USERS[0]
    home = cluster.home(user)
    wrong = cluster.as_user(user, "srun", "--cachemon=html", "true")
    check(wrong.returncode and "the only value is report" in wrong.stderr, wrong.stderr)
    for i, command in enumerate((("srun",), ("salloc", "srun"))):
        with_option = (command[0], "--cachemon=report", "-J", f"alone {i}", *command[1:])
        done = cluster.as_user(user, *with_option, *cluster.read(i, i + 2, i).split(), directory=home)
        equal(f"status: {done.stderr}", done.returncode, 0)
        cluster.wait_report(f"{home}/cachemon-{FIRST_JOB + i}-{NODE}.txt")
        db = f"{home}/cachemon-{FIRST_JOB + i}-{NODE}.db"
        check_counts(world, db, json.loads(done.stdout))
        lines = [line for line in done.stderr.splitlines() if "cachemon: " in line]
        equal(f"lines: {lines}", len(lines), 1)
        check_so_far(db, lines[0], json.loads(done.stdout))
    equal("names", sorted(job["name"] for job in cluster.list(user).values()), ["alone 0", "alone 1"])
    cluster.daemon.end()


@part.case
def tasks_of_nodes(world, stack):
    """Two slurmd on this machine, and a step of four tasks: a line for each node, and a report."""
    nodes = (NODE, SECOND_NODE)
    cluster = Cluster(world, stack, nodes=nodes).start()
    user = USERS[0]
    home = cluster.home(user)
    task = f"/usr/bin/python3 {cluster.reader} {world.data}/0$SLURM_PROCID"
    done = cluster.as_user(user, "srun", "-N2", "-n4", "--cachemon=report", "sh", "-c", task, directory=home)
    equal(f"status: {done.stderr}", done.returncode, 0)
    known = [json.loads(line) for line in done.stdout.splitlines()]
    equal("tasks", len(known), 4)
    known = {key: sum(line[key] for line in known) for key in COUNTS}
    for node in nodes:
        cluster.wait_report(f"{home}/cachemon-{FIRST_JOB}-{node}.txt")
        check_counts(world, f"{home}/cachemon-{FIRST_JOB}-{node}.db", known)
        lines = [line for line in done.stderr.splitlines() if f"cachemon: {node}: " in line]
        equal(f"lines of {node} in {done.stderr}", len(lines), 1)
        check(LINE.search(lines[0].replace(f"{node}: ", "").removesuffix(SO_FAR)), lines[0])
    equal("lines", done.stderr.count("cachemon: "), len(nodes))
    cluster.daemon.end()


@part.case
def step_of_a_batch_job(world, stack):
    """Only that step asks for a line; the job goes on after it."""
    cluster = Cluster(world, stack).start()
    script = cluster.read(1) + "srun --cachemon " + cluster.read(2, 1) + cluster.read(3)
    job = cluster.submit(USERS[0], script, "-J", "steps").wait()
    before = [json.loads(line) for line in job.output() if line.startswith("{")][:2]
    cluster.daemon.end()
    check_so_far(cluster.daemon.db, job.shown(), {"lookups": sum(line["lookups"] for line in before)})
    check_counts(world, cluster.daemon.db, job.known())


@part.case
def requeued(world, stack):
    """Each run of the job has its own report."""
    cluster = Cluster(world, stack).start()
    again = f'if [ -z "$SLURM_RESTART_COUNT" ]; then {cluster.read(1).strip()}; scontrol requeue $SLURM_JOB_ID; sleep 60\nfi\n'
    job = cluster.submit(USERS[0], again + cluster.read(2, 2), "--cachemon=report", "--requeue", "--open-mode=append")
    cluster.wait_report(job.file("txt"))
    # Slurm waits two minutes by default.
    until(lambda: cluster.slurm.run("squeue", "-h", "-j", str(job.id), "-o", "%T").strip() == "PENDING", "the requeued job")
    equal("status", subprocess.run(["scontrol", "update", f"JobId={job.id}", "StartTime=now"], env=cluster.slurm.env,
                                   check=False).returncode, 0)
    job.wait()
    cluster.wait_report(f"{job.dir}/cachemon-{job.id}-{NODE}-2.txt")
    first, second = (json.loads(line) for line in job.output() if line.startswith("{"))
    check_counts(world, job.file("db"), first)
    check_counts(world, f"{job.dir}/cachemon-{job.id}-{NODE}-2.db", second)
    cluster.daemon.end()


@part.case
def without_the_option(world, stack):
    """The job is watched, and has no line and no report."""
    cluster = Cluster(world, stack).start()
    job = cluster.submit(USERS[0], cluster.read(1)).wait()
    cluster.daemon.until(lambda: cluster.list(USERS[0]), "the run")
    equal("output", len(job.output()), 1)
    equal("files", sorted(os.listdir(job.dir)), ["job.sh", os.path.basename(f"out.{job.id}.4294967294")])
    equal("messages", cluster.log("cachemon: "), [])
    cluster.daemon.end()


@part.case
def planted_links(world, stack):
    """Where the report or the rows would be, the job's directory has links that somebody planted."""
    cluster = Cluster(world, stack).start()
    for ending in ("txt", "db"):
        victim = f"{cluster.home(USERS[1])}/victim"
        with open(victim, "w", encoding="ascii") as f:
            f.write("as it was")
        os.chmod(victim, 0o666)  # the job's user may write it
        plant = f"ln -s {victim} cachemon-$SLURM_JOB_ID-{NODE}.{ending}\n"
        job = cluster.submit(USERS[0], plant + cluster.read(1), "--cachemon=report").wait()
        cluster.wait_report(f"{job.dir}/cachemon-{job.id}-{NODE}-2.txt")
        with open(victim, encoding="ascii") as f:
            equal("the file behind the link", f.read(), "as it was")
        equal("the link", os.readlink(job.file(ending)), victim)
        check(os.path.lexists(job.file("txt")) + os.path.lexists(job.file("db")) == 1, "there is half a report")
        equal("lines", len([line for line in job.output() if LINE.search(line)]), 1)
        equal("other files of the victim", os.listdir(os.path.dirname(victim)), ["victim"])
    cluster.daemon.end()


@part.case
def directory_with_lines(world, stack):
    """The user chooses the name of the job's directory, which is in a message of slurmd: it adds no
    line to the log and no escape sequence."""
    cluster = Cluster(world, stack).start()
    directory = f"{cluster.home(USERS[0])}/a\n[2026] error: forged \x1b[31m"
    os.mkdir(directory)
    os.chown(directory, *(pwd.getpwnam(USERS[0])[2:4]))
    job = cluster.submit(USERS[0], "rmdir \"$PWD\"\n", "-D", directory, "--cachemon=report").wait()
    until(lambda: cluster.log("cachemon: no report of "), "the message")
    lines = cluster.log("cachemon: no report of|forged \x1b")
    equal(f"lines {lines}", len(lines), 1)
    check(f"slurm:{job.id} in " in lines[0] and "a\\x0a[2026] error: forged \\x1b[31m: No such file" in lines[0], lines[0])
    cluster.daemon.end()


@part.case
def without_the_plugin(world, stack):
    """The prolog and the epilog announce jobs and end them. A report is for who asked by a comment."""
    cluster = Cluster(world, stack, plugin=False, scripts=True).start("1s")
    listed = f"{world.tool.cachemon} jobs --socket {cluster.socket} --json"
    # The daemon may find the cgroup of the job later than the job begins to read.
    wait = f"until {listed} | grep -q '\"slurm:'$SLURM_JOB_ID'\"'; do sleep 0.3; done\n"
    jobs = [cluster.submit(user, wait + cluster.read(i, i + 2) + "srun " + cluster.read(i, i + 4), *options)
            for i, (user, *options) in enumerate(((USERS[0], "--comment=cachemon"), (USERS[1], "--comment=cachemon"),
                                                  (USERS[1],)))]
    for job, user in zip(jobs[:2], USERS):
        job.wait()
        until(lambda j=job: os.path.exists(j.file("txt")) and os.path.getsize(j.file("txt")), job.file("txt"))
        for ending in ("txt", "db"):
            check_own(job.file(ending), user)
        check_counts(world, job.file("db"), job.known())
        rows = query(job.file("db"), "SELECT external_id, uid, partition, r.state FROM job JOIN run r ON r.id = run_id "
                                     "WHERE slot = 1")
        equal("rows", rows, [(str(job.id), pwd.getpwnam(user).pw_uid, "batch", "complete")])
    jobs[2].wait()
    cluster.daemon.until(lambda: cluster.list(USERS[1]).get(f"slurm:{jobs[2].id}", {}).get("state") == "complete", "the end")
    equal("files of the job that asked for nothing", glob.glob(f"{jobs[2].dir}/cachemon*"), [])
    # Links where the files would be.
    victim = f"{cluster.home(USERS[1])}/victim"
    plant = f"ln -s {victim} cachemon-$SLURM_JOB_ID-{NODE}.txt; ln -s {victim} cachemon-$SLURM_JOB_ID-{NODE}-2.db\n"
    job = cluster.submit(USERS[0], plant + wait, "--comment=cachemon").wait()
    third = f"{job.dir}/cachemon-{job.id}-{NODE}-3.txt"
    until(lambda: os.path.exists(third) and os.path.getsize(third), third)
    check(not os.path.lexists(victim), "something followed the link")
    # Neither fails or waits long without an answer.
    cluster.daemon.process.send_signal(signal.SIGSTOP)
    job = cluster.submit(USERS[0], cluster.read(1), "--comment=cachemon").wait()
    equal("bytes read", job.known()["read_bytes"], os.path.getsize(f"{world.data}/01"))
    equal("state of the node", cluster.slurm.run("sinfo", "-h", "-o", "%T").strip() in ("idle", "completing"), True)
    for name in ("prolog", "epilog"):
        began = time.monotonic()
        equal(f"status of the {name}", subprocess.run([cluster.script(name)], check=False, stderr=subprocess.DEVNULL,
                                                      env={**os.environ, "SLURM_JOB_ID": "1", "SLURM_JOB_UID": "1",
                                                           "SLURM_JOB_PARTITION": "batch"}).returncode, 0)
        took = time.monotonic() - began
        check(took < SCRIPT_S + 1, f"the {name} took {took:.1f} s")
    cluster.daemon.process.send_signal(signal.SIGCONT)
    cluster.daemon.end()


def unharmed(cluster, words, last):
    """The job does all that it would do; its last line is written when its last command has ended."""
    script = cluster.read(1) + "srun " + cluster.read(2) + "date +%s.%N\n"
    job = cluster.submit(USERS[0], script, "--cachemon=report").wait()
    lines = job.output()
    equal("bytes read", job.known()["read_bytes"], sum(os.path.getsize(f"{cluster.world.data}/0{i}") for i in (1, 2)))
    check(f"cachemon: no figures: {words}" in job.shown(), job.shown())
    ended = float(next(line for line in lines if re.fullmatch(r"\d+\.\d+", line)))
    waited = os.stat(f"{job.dir}/out.{job.id}.4294967294").st_mtime - ended
    check(waited < last, f"the last line came {waited:.2f} s after the last command")
    equal("state of the node", cluster.slurm.run("sinfo", "-h", "-o", "%T").strip() in ("idle", "completing"), True)
    equal("complaints of the prolog", len(cluster.log(f"cachemon: slurm:{job.id} is not announced: ")), 1)
    check(not os.path.exists(job.file("txt")) and not os.path.exists(job.file("db")), "there is a report")


@part.case
def no_daemon(world, stack):
    cluster = Cluster(world, stack, wait=HOOK_S)
    unharmed(cluster, "cannot reach the daemon at ", HOOK_S)


@part.case
def hanging_daemon(world, stack):
    """It accepts connections, by its queue, and never answers."""
    cluster = Cluster(world, stack, wait=HOOK_S).start()
    cluster.daemon.process.send_signal(signal.SIGSTOP)
    unharmed(cluster, "no answer ", 2 * HOOK_S)
    cluster.daemon.process.send_signal(signal.SIGCONT)
    cluster.daemon.end()


if __name__ == "__main__":
    sys.exit(main(part))
