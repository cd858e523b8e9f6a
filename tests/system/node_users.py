#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The users of a node ask its daemon for their own jobs: each sees these, their rows are what the
jobs did, and neither other users' jobs nor hostile clients are in the way."""

import contextlib
import grp
import json
import os
import socket
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemon import Daemon, end_group  # noqa: E402
from syslib import machine  # noqa: E402
from syslib.jobworld import Obedient, end_process, expect, lines_of, main  # noqa: E402
from syslib.machine import enter_cgroup  # noqa: E402
from syslib.part import Failed, Part, Skipped, check, equal  # noqa: E402

part = Part(__doc__)
ALICE, BOB, MALLORY = 4001, 4002, 4003
PYTHON = "/usr/bin/python3"  # every user may run it
CONNECTIONS = 40
ANSWER_S = 1
ABSENT = "you have no such job on this node"


NO_COPY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fault/no_copy.c")
ADMINS = grp.getgrgid(1)


def as_user(uid, *groups):
    return {"user": uid, "group": uid, "extra_groups": groups}


class UserJob(Obedient):
    """A process of that user."""

    def __init__(self, world, stack, uid, tally):
        os.close(os.open(tally, os.O_CREAT | os.O_WRONLY, 0o644))
        os.chown(tally, uid, uid)
        self.tally = tally
        self.process = subprocess.Popen([PYTHON, *world.argv("loop", tally)[1:]], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, **as_user(uid))
        stack.callback(end_process, self.process)


class Node:
    """A daemon, and the jobs of users in Slurm's directories."""

    def __init__(self, world, stack):
        self.root = machine.v1_root()
        if not self.root:
            raise Skipped("no cgroup v1 here")
        self.world, self.stack = world, stack
        self.number = 200000 + os.getpid() % 100000 * 10
        self.slurm = machine.cgroup(stack, self.root, f"slurm_u{os.getpid()}")
        self.directory = world.tool.fresh(".run")
        self.socket = f"{self.directory}/cachemon/socket"
        os.mkdir(self.directory)
        self.daemon = None
        self.directories = {}

    def start(self, *options, kind="slurm", include=None, **how):
        config = self.world.tool.fresh(".yaml")
        with open(config, "w", encoding="ascii") as f:
            f.write(f"jobs:\n  kinds: [{kind}]\n  include: [\"{kind}:{include or f'{self.number // 10}?'}\"]\n"
                    f"socket:\n  path: {self.socket}\n  admin_group: {ADMINS.gr_name}\n")
        self.daemon = Daemon(self.world, self.stack, [], "--config", config, *options, **how)
        self.daemon.until(lambda: os.path.exists(self.socket), "the socket")
        return self

    def name(self, i):
        return f"slurm:{self.number + i}"

    def group(self, i, uid):
        if uid not in self.directories:
            self.directories[uid] = machine.cgroup(self.stack, self.slurm, f"uid_{uid}")
        return machine.cgroup(self.stack, self.directories[uid], f"job_{self.number + i}")

    def job(self, i, uid):
        group = self.group(i, uid)  # removed after the process has ended
        job = UserJob(self.world, self.stack, uid, self.world.tool.fresh(".tally"))
        job.group = group
        enter_cgroup(job.group, job.process.pid)
        return job

    def cachemon(self, uid, *words, groups=()):
        return subprocess.run([self.world.tool.cachemon, "jobs", "--socket", self.socket, *words],
                              capture_output=True, text=True, check=False, **as_user(uid, *groups))

    def listed(self, uid, *groups):
        done = self.cachemon(uid, "--json", groups=groups)
        equal(f"status of jobs: {done.stderr}", done.returncode, 0)
        reply = json.loads(done.stdout)
        equal("more", reply["more"], 0)
        return {job["job"]: job for job in reply["jobs"]}

    def fetch(self, uid, i):
        """The job's report, from rows that this user received."""
        home = self.world.tool.fresh(f".{uid}")
        os.mkdir(home)
        os.chown(home, uid, uid)
        done = self.cachemon(uid, self.name(i), "-o", f"{home}/job.db")
        equal(f"status of {self.name(i)}: {done.stderr}", done.returncode, 0)
        return f"{home}/job.db"

    def wait_ended(self, i):
        """By the database: the socket limits the requests of a user."""
        number = self.name(i).split(":")[1]
        self.daemon.until(lambda: self.daemon.query("SELECT r.state FROM run r JOIN job j ON j.run_id = r.id WHERE "
                                                    f"j.external_id = '{number}'") == [("complete",)], "the run ends")

    def ask(self, request):
        """As root."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(10)
            s.connect(self.socket)
            s.send(json.dumps(request).encode())
            return json.loads(s.recv(4096))


@part.case
def each_sees_their_own(world, stack):
    node = Node(world, stack).start()
    jobs = {ALICE: node.job(1, ALICE), BOB: node.job(2, BOB)}
    node.daemon.wait_runs(2)
    equal("directory", os.stat(os.path.dirname(node.socket)).st_mode & 0o7777, 0o755)
    jobs[ALICE].do("read", 0, "in")
    jobs[BOB].do("read", 1, "in")
    jobs[BOB].do("read", 2, "in")
    equal("jobs of Alice", {k: v["state"] for k, v in node.listed(ALICE).items()}, {node.name(1): "running"})
    equal("jobs of Bob", {k: v["state"] for k, v in node.listed(BOB).items()}, {node.name(2): "running"})
    equal("jobs of Mallory", node.listed(MALLORY), {})
    equal("jobs of root", set(node.listed(0)), {node.name(1), node.name(2)})
    equal("jobs of an admin", set(node.listed(MALLORY, ADMINS.gr_gid)), {node.name(1), node.name(2)})
    runs = dict(node.daemon.query("SELECT external_id, run_id FROM job WHERE slot = 1"))
    for job, name in zip(jobs.values(), (node.name(1), node.name(2))):
        equal("run", node.listed(0)[name]["run"], runs[name.split(":")[1]])
        check(lines_of(job.tally), "the job read nothing")
    shown = node.cachemon(ALICE).stdout
    check(node.name(1) in shown and node.name(2) not in shown, shown)
    for i in (2, 9):  # Bob's, and one that is not there
        home = world.tool.fresh(".db")
        done = node.cachemon(ALICE, node.name(i), "-o", home)
        equal("status", done.returncode, 1)
        equal("words", done.stderr, f"cachemon: {ABSENT}\n")
        check(not os.path.exists(home), "a file was made")
    node.daemon.end()


@part.case
def rows_are_what_the_job_did(world, stack):
    """While it runs, and after it has ended."""
    node = Node(world, stack).start()
    alice, bob = node.job(1, ALICE), node.job(2, BOB)
    node.daemon.wait_runs(2)
    alice.do("read", 0, "in")
    bob.do("read", 1, "in")
    runs = [run for run, in node.daemon.query("SELECT run_id FROM job WHERE slot = 1")]
    node.daemon.wait_intervals(runs)
    for uid, i, job in ((ALICE, 1, alice), (BOB, 2, bob), (0, 2, bob)):
        db = node.fetch(uid, i)
        with contextlib.closing(sqlite3.connect(db)) as rows:
            equal("runs", rows.execute("SELECT count(*) FROM run").fetchone(), (1,))
            equal("jobs", rows.execute("SELECT external_id, uid FROM job WHERE slot = 1").fetchall(),
                  [(node.name(i).split(":")[1], ALICE if i == 1 else BOB)])
        expect(world, world.tool.report(db)[1], lines_of(job.tally))
        again = node.cachemon(uid, node.name(i), "-o", db)
        equal("status over a file that exists", again.returncode, 1)
        check("File exists" in again.stderr, again.stderr)
        equal("files next to it", os.listdir(os.path.dirname(db)), ["job.db"])
    alice.do("read", 2, "in")
    end_process(alice.process)
    end_group(alice.group)
    node.wait_ended(1)
    equal("state", node.listed(ALICE)[node.name(1)]["state"], "complete")
    expect(world, world.tool.report(node.fetch(ALICE, 1))[1], lines_of(alice.tally))
    node.daemon.end()


@part.case
def reports_of_own_jobs(world, stack):
    """Without a file: the same as from the rows of a file; and no report of another user's job."""
    node = Node(world, stack).start()
    job = node.job(1, ALICE)
    node.daemon.wait_runs(1)
    job.do("read", 0, "in")
    end_process(job.process)
    end_group(job.group)
    node.wait_ended(1)
    db = node.fetch(ALICE, 1)
    home = os.path.dirname(db)

    def ask(uid, *words):
        return subprocess.run([world.tool.cachemon, *words], cwd=home, capture_output=True, text=True, check=False,
                              env={"HOME": home, "PATH": os.environ["PATH"]}, **as_user(uid))

    own = ("--job", node.name(1), "--socket", node.socket)
    for words in (("report", "--json"), ("report", "--full"), ("report", "--format", "csv"), ("advise",)):
        direct, stored = ask(ALICE, *words, *own), ask(ALICE, *words, "--db", "job.db")
        equal(f"status of {words}: {direct.stderr}", (direct.returncode, stored.returncode), (0, 0))
        equal(f"text of {words}", direct.stdout, stored.stdout)
    expect(world, json.loads(ask(ALICE, "report", "--json", *own).stdout)["jobs"][0], lines_of(job.tally))
    brief = ask(ALICE, "report", "--brief", *own).stdout
    check(f"cachemon report --job {node.name(1)} --full" in brief, brief)
    equal("files", sorted(os.listdir(home)), ["job.db"])
    for words in (("report",), ("advise",)):
        refused = ask(BOB, *words, *own)
        equal(f"{words} of another user's job", (refused.returncode, refused.stdout, refused.stderr),
              (1, "", f"cachemon: {ABSENT}\n"))
    for words in (("--run", "1"), ("--db", "job.db"), ("--llm",)):
        equal(f"status with {words}", ask(ALICE, "report", *own, *words).returncode, 2)
    equal("without a daemon", ask(ALICE, "report", *own[:3], f"{home}/none").stderr,
          f"cachemon: cannot reach the daemon at {home}/none: No such file or directory\n")
    node.daemon.end()


@part.case
def a_container_by_its_name(world, stack):
    """Of two that had the name one after another, the newer one; and none of another user's."""
    node = Node(world, stack)
    name = f"web{os.getpid()}"
    ids = [f"{os.getpid():08x}{i:056x}" for i in (1, 2)]
    library = world.tool.fresh(".lib")
    for i in ids:
        os.makedirs(f"{library}/docker/containers/{i}")
        with open(f"{library}/docker/containers/{i}/config.v2.json", "w", encoding="ascii") as f:
            json.dump({"Name": f"/{name}"}, f)
    node.start(kind="container", include=name,
               prefix=("unshare", "-m", "sh", "-c", f'mount --bind {library} /var/lib && exec "$@"', "sh"))

    def report(uid, container):
        return subprocess.run([world.tool.cachemon, "report", "--json", "--job", f"container:{container}", "--socket",
                               node.socket], capture_output=True, text=True, check=False, **as_user(uid))

    for nr, container in enumerate(ids, 1):
        group = machine.cgroup(stack, node.root, f"docker-{container}.scope")
        job = UserJob(world, stack, ALICE, world.tool.fresh(".tally"))
        enter_cgroup(group, job.process.pid)
        node.daemon.wait_runs(nr)
        job.do("read", nr, "in")
        end_process(job.process)
        end_group(group)
        node.daemon.until(lambda n=nr: node.daemon.query("SELECT state FROM run") == [("complete",)] * n, "its end")
        named = report(ALICE, name)
        equal(f"status of the report: {named.stderr}", named.returncode, 0)
        equal("the container", json.loads(named.stdout)["jobs"][0]["external_id"], container)
        expect(world, json.loads(named.stdout)["jobs"][0], lines_of(job.tally))
        equal("another user's", report(BOB, name).stderr, f"cachemon: {ABSENT}\n")
    equal("the older one", json.loads(report(ALICE, ids[0]).stdout)["jobs"][0]["external_id"], ids[0])
    node.daemon.end()


@part.case
def begun_and_ended_by_root(world, stack):
    """Root announces the user of a job; nobody else may."""
    node = Node(world, stack).start()
    begin = {"request": "begin", "job": node.name(1), "name": "train", "partition": "gpu", "uid": ALICE}
    for request in (begin, {"request": "end", "job": node.name(1)}):
        done = client(node, BOB, f"print(ask({request!r}))")
        equal("answer to Bob", done.communicate(timeout=20)[0].strip(), str({"error": "only root may begin, sample and end jobs"}))
    equal("end before it begins", node.ask({"request": "end", "job": node.name(1)}), {"error": "no such job is watched"})
    equal("begin", node.ask(begin), {})
    job = node.job(1, 0)
    node.daemon.wait_runs(1)
    job.do("read", 0, "in")
    equal("name", node.listed(ALICE)[node.name(1)]["name"], "train")
    equal("row", node.daemon.query("SELECT uid, job_name, partition FROM job WHERE slot = 1"), [(ALICE, "train", "gpu")])
    equal("begin again", list(node.ask(begin)), ["error"])
    equal("end", node.ask({"request": "end", "job": node.name(1)}), {})
    node.wait_ended(1)
    equal("state", node.listed(ALICE)[node.name(1)]["state"], "complete")
    check(os.path.exists(job.group), "the cgroup is gone")
    expect(world, world.tool.report(node.fetch(ALICE, 1))[1], lines_of(job.tally))
    equal("end again", list(node.ask({"request": "end", "job": node.name(1)})), ["error"])
    node.daemon.end()


@part.case
def announced_without_memory(world, stack):
    """A name for which there is no memory is said, and the job is watched."""
    library = world.tool.fresh(".so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, NO_COPY], check=True)
    node = Node(world, stack).start(env={"LD_PRELOAD": library, "NO_COPY_OF": "unlucky"})
    equal("begin", node.ask({"request": "begin", "job": node.name(1), "name": "unlucky", "uid": ALICE}), {})
    node.job(1, 0)
    node.daemon.wait_runs(1)
    equal("row", node.daemon.query("SELECT uid, job_name FROM job WHERE slot = 1"), [(ALICE, None)])
    errors = node.daemon.end()
    said = [line for line in errors.split("\n") if "announced" in line]
    equal("lines", len(said), 1)
    check(node.name(1).split(":")[1] in said[0] and "out of memory" in said[0], said[0])


@part.case
def ended_before_its_cgroup(world, stack):
    """A job that root ended stays ended while its cgroups come and go; its slot is another job's."""
    node = Node(world, stack).start()
    first = node.job(1, ALICE)
    node.daemon.wait_runs(1)
    equal("end", node.ask({"request": "end", "job": node.name(1)}), {})
    node.wait_ended(1)
    second = node.job(2, BOB)
    node.daemon.wait_runs(2)
    also = f"{os.path.dirname(node.root)}/freezer"
    for name in os.path.relpath(first.group, node.root).split("/"):
        also = machine.cgroup(stack, also, name)
    os.rmdir(also)
    end_process(first.process)
    end_group(first.group)
    node.job(3, ALICE)  # the daemon takes the records of cgroups in their order
    node.daemon.wait_runs(3)
    second.do("read", 0, "in")
    states = {name: job["state"] for name, job in node.listed(0).items()}
    equal("states", states, {node.name(1): "complete", node.name(2): "running", node.name(3): "running"})
    node.daemon.end()
    expect(world, node.daemon.report(second.group)[1], lines_of(second.tally))
    equal("runs", node.daemon.query("SELECT count(*) FROM run"), [(3,)])


@part.case
def sums_of_a_job(world, stack):
    """They are the rows'. The end by root does not wait for the next interval."""
    node = Node(world, stack).start("--interval", "10m")
    totals = {"request": "totals", "job": node.name(1)}
    job = node.job(1, ALICE)
    # Its answer comes after the cgroup was seen.
    equal("hello", list(node.ask({"request": "hello"})), ["version", "protocol"])
    job.do("read", 0, "in")
    equal("no rows yet", node.ask(totals), {"error": ABSENT})
    equal("end", node.ask({"request": "end", "job": node.name(1)}), {})
    node.daemon.until(lambda: node.ask(totals).get("state") == "complete", "its sums")
    got = node.ask(totals)
    lines = lines_of(job.tally)
    names = ("read_calls", "read_bytes", "lookups", "hits", "misses", "stall_ns")
    rows = node.daemon.query("SELECT read_calls, read_bytes, lookups, lookups - misses, misses, stall_ns, r.id, "
                             "duration_ns FROM job JOIN run r ON r.id = run_id WHERE slot = 1")
    equal("sums", [tuple(got[key] for key in (*names, "run", "duration_ns"))], rows)
    check(got["read_bytes"] >= sum(line["read_bytes"] for line in lines) > 0, f"{got}")
    equal("size of a page", got["page_size_bytes"], os.sysconf("SC_PAGESIZE"))
    expect(world, world.tool.report(node.fetch(ALICE, 1))[1], lines)
    for uid, answer in ((ALICE, got), (BOB, {"error": ABSENT})):
        done = client(node, uid, f"print(json.dumps(ask({totals!r})))")
        equal(f"answer to {uid}", json.loads(done.communicate(timeout=20)[0]), answer)
    node.daemon.end()


@part.case
def rows_after_too_many_copies(world, stack):
    """The command waits as long as the daemon says."""
    node = Node(world, stack).start()
    node.job(1, ALICE)
    node.daemon.wait_runs(1)
    snapshot = {"request": "snapshot", "job": node.name(1)}
    while "error" not in (answer := node.ask(snapshot)):
        pass
    check("too many rows were copied" in answer["error"] and answer["retry_s"] >= 1, f"{answer}")
    done = node.cachemon(0, node.name(1), "-o", world.tool.fresh(".db"))
    equal(f"status: {done.stderr}", done.returncode, 0)
    node.daemon.end()


@part.case
def waits_as_long_as_it_is_told(world, stack):
    """A daemon whose budget is spent for certain: the first answer is that of the case above."""
    path = world.tool.fresh(".socket")
    listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    listener.bind(path)
    listener.listen()
    command = subprocess.Popen([world.tool.cachemon, "jobs", "slurm:1", "-o", world.tool.fresh(".db"), "--socket", path],
                               stderr=subprocess.PIPE, text=True)
    stack.callback(end_process, command)
    asked = []
    for answer in ({"error": "too many rows were copied; try again in 2 s", "retry_s": 2}, {"error": ABSENT}):
        with listener.accept()[0] as connection:
            connection.recv(4096)
            asked.append(time.monotonic())
            connection.send(json.dumps(answer).encode())
    check(asked[1] - asked[0] >= 2, f"asks again after {asked[1] - asked[0]:.2f} s")
    equal("words", command.communicate(timeout=20)[1],
          f"cachemon: too many rows were copied; waiting 2 s\ncachemon: {ABSENT}\n")
    equal("status", command.returncode, 1)


CLIENT = """
import json, socket, struct, sys, time
path = sys.argv[1]
def connect(): # waits, as the product's client does, while the queue is full
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        s.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", 10, 0))
    s.connect(path)
    return s
def receive(s):
    try:
        return json.loads(s.recv(4096) or "null")
    except ConnectionError:
        return None
def ask(request):
    with connect() as s:
        s.send(json.dumps(request).encode())
        return receive(s)
"""


def client(node, uid, program):
    """A client of that user, which is not the product's."""
    p = subprocess.Popen([PYTHON, "-c", CLIENT + program, node.socket], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True, **as_user(uid))
    node.stack.callback(end_process, p)
    return p


HOSTILE = f"""
held = [connect() for _ in range({CONNECTIONS})]
turned = sum("too many connections" in (receive(s) or {{}}).get("error", "") for s in held[16:])
print(turned, flush=True)
closed = sum(receive(s) is None for s in held[:16])
print(closed, flush=True)
for s in held:
    s.close()
large = connect()
large.send(b"[" * 10000)
print(receive(large), flush=True)
print(ask({{"request": "snapshot", "job": "slurm:1"}}), flush=True)
while True: # goes on
    held = []
    for _ in range({CONNECTIONS}):
        try:
            held.append(connect())
            held[-1].send(b"[" * 4096)
        except OSError:
            pass
"""

TIMED = """
begin = time.monotonic()
answer = ask({"request": "jobs"})
print(json.dumps([time.monotonic() - begin, answer]))
"""


@part.case
def hostile_clients(world, stack):
    node = Node(world, stack).start()
    node.job(1, ALICE)
    node.daemon.wait_runs(1)
    hostile = client(node, MALLORY, HOSTILE)
    line = lambda: hostile.stdout.readline().strip()  # noqa: E731
    equal("connections that were turned away", line(), str(CONNECTIONS - 16))
    seconds, answer = json.loads(client(node, ALICE, TIMED).communicate(timeout=20)[0])
    equal("Alice's jobs", [job["job"] for job in answer["jobs"]], [node.name(1)])
    check(seconds < ANSWER_S, f"{seconds:.2f} s next to {CONNECTIONS} connections")
    equal("silent connections that were closed", line(), "16")
    equal("answer to 10,000 bytes", line(), str({"error": "a message has at most 4096 bytes"}))
    equal("answer for a job that is not there", line(), str({"error": ABSENT}))
    for _ in range(3):
        seconds, answer = json.loads(client(node, ALICE, TIMED).communicate(timeout=20)[0])
        equal("Alice's jobs", [job["job"] for job in answer["jobs"]], [node.name(1)])
        check(seconds < ANSWER_S, f"{seconds:.2f} s next to a client that never stops")
    if hostile.poll() is not None:
        raise Failed("the hostile client has ended")
    node.daemon.end()


if __name__ == "__main__":
    sys.exit(main(part))
