#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Users of a node who attack its daemon: they gain no right, and other users have their answers."""

import base64
import contextlib
import http.client
import json
import os
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemon import Daemon, make_groups, write_config  # noqa: E402
from node_metrics import Front  # noqa: E402
from node_users import ALICE, BOB, MALLORY, PYTHON, TIMED, Node, as_user, client  # noqa: E402
from syslib import machine  # noqa: E402
from syslib.jobworld import end_process, main  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402

part = Part(__doc__)


@part.case
def directory_of_another_user(world, _):
    """A user who can change the socket's directory could have root change any file's mode, or answer
    in the place of the daemon. So the daemon does not start there."""
    for name, mode, owner in (("others", 0o755, MALLORY), ("open", 0o777, 0), ("sticky", 0o1777, 0)):
        directory = world.tool.fresh(f".{name}")
        os.mkdir(directory)
        os.chmod(directory, mode)
        os.chown(directory, owner, owner)
        config = write_config(world, "", f"{directory}/socket")
        done = subprocess.run([world.tool.cachemon, "daemon", *config, "--db", world.tool.fresh(".db")],
                              capture_output=True, text=True, check=False, timeout=60)
        equal(f"status with {name}", done.returncode, 1)
        check(f"socket.path: others can change {directory}." in done.stderr, done.stderr)
        equal("files there", os.listdir(directory), [])


SIGNALS = """
import os, resource, signal, sys
pid = int(sys.argv[1])
for attack in (lambda: os.kill(pid, signal.SIGKILL), lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0)),
               lambda: os.setpriority(os.PRIO_PROCESS, pid, 19), lambda: os.sched_setaffinity(pid, {0})):
    try:
        attack()
        print("succeeds")
    except PermissionError:
        print("refused")
"""


@part.case
def signals_to_the_metrics_server(world, stack):
    """Its user is nobody's, not even that of the services that run as nobody."""
    front = Front(world, stack, make_groups(stack, 1, "signals"))
    pid = front.server()
    for uid in (65534, MALLORY):
        done = subprocess.run([PYTHON, "-c", SIGNALS, str(pid)], capture_output=True, text=True, check=True,
                              **as_user(uid))
        equal(f"attacks of {uid}", done.stdout.split(), ["refused"] * 4)
    equal("process", front.server(), pid)
    equal("status", front.ask("/")[0], 200)
    front.daemon.end()


def try_password(front, password, source):
    """The status for the user prom at that source address of this machine."""
    c = http.client.HTTPConnection("127.0.0.1", front.port, timeout=10, source_address=(source, 0))
    with contextlib.closing(c):
        pair = base64.b64encode(f"prom:{password}".encode()).decode()
        c.request("GET", "/metrics", headers={"Authorization": f"Basic {pair}"})
        return c.getresponse().status


@part.case
def guesses_from_elsewhere(world, stack):
    """When no more passwords are checked in a second, the right one has the same status as
    wrong ones, except where the scraper is."""
    done = subprocess.run(["perl", "-e", "print crypt('right', '$2b$04$abcdefghijklmnopqrstuu')"], capture_output=True,
                          text=True, check=True)
    front = Front(world, stack, make_groups(stack, 1, "guesses"), web=f"basic_auth_users:\n  prom: {done.stdout}\n")
    front.daemon.until(lambda: try_password(front, "right", "127.0.0.1") == 200, "the first figures")
    # A second may end between two guesses, and then the right one is checked.
    for i in range(20):
        source = f"127.0.0.{i + 2}"
        front.daemon.until(lambda s=source: try_password(front, "wrong", s) == 429, "the limit")
        status = try_password(front, "right", source)
        equal("status of the scraper", try_password(front, "right", "127.0.0.1"), 200)
        if status == 429:
            break
    equal("status from elsewhere", status, 429)
    front.daemon.end()


RUNS = 100000  # of the last weeks

MANY_REQUESTS = """
answers = []
while not answers or "error" not in answers[-1] or "retry_s" not in answers[-1]:
    answers.append(ask({"request": "jobs"}) or {})
print(json.dumps(answers[-1]))
"""


def add_runs(db, uid):
    """Runs like the first one, of that user."""
    with contextlib.closing(sqlite3.connect(db, timeout=60)) as rows, rows:
        for table, first, new in (("run", "", {"id": "1000 + i", "uuid": "'u' || i", "state": "'complete'"}),
                                  ("job", "WHERE slot = 1", {"id": "1000 + i", "run_id": "1000 + i",
                                                             "external_id": "'x' || i", "uid": str(uid)})):
            columns = [r[1] for r in rows.execute(f"PRAGMA table_info({table})")]
            picked = ", ".join(new.get(c, c) for c in columns)
            rows.execute(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {RUNS}) "
                         f"INSERT INTO {table} ({', '.join(columns)}) "
                         f"SELECT {picked} FROM (SELECT * FROM {table} {first} LIMIT 1), n")


@part.case
def requests_that_read_much(world, stack):
    """A user who asks again and again has a part of the daemon's time; others are answered."""
    node = Node(world, stack).start()
    node.job(1, ALICE)
    node.daemon.wait_runs(1)
    add_runs(node.daemon.db, BOB)
    hostile = client(node, MALLORY, MANY_REQUESTS)
    answer = json.loads(hostile.communicate(timeout=60)[0])
    check("too many rows were read" in answer["error"] and answer["retry_s"] >= 1, f"{answer}")
    equal("state of Alice's job", node.listed(ALICE)[node.name(1)]["state"], "running")
    check(node.ask({"request": "jobs"})["more"] > RUNS / 2, "root's list")
    node.daemon.end()


ODD = """
import array, os
odd = [b"{", b"x" * 4096, b"x" * 4097, b"x" * 100000, b"\\0", b'{"request":"jobs"}{}', b"[" * 4000]
for job in ("slurm:%", "slurm:_", "slurm:*", "slurm:' OR 1=1 --", JOB + ".", JOB[:-1], " " + JOB, JOB.upper()):
    odd += [json.dumps({"request": verb, "job": job}).encode() for verb in ("totals", "snapshot")]
odd += [json.dumps({"request": verb, "job": JOB}).encode() for verb in ("totals", "snapshot", "begin", "end", "sample")]
null = os.open("/dev/null", os.O_RDONLY)
for message in odd:
    while True:
        with connect() as s:
            s.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null] * 253))]
                      if message == odd[1] else [])
            answer = receive(s) or {}
        if "too many requests" not in answer.get("error", ""):
            break
    print(json.dumps(list(answer)), flush=True)
    print(len(odd), flush=True)
"""


@part.case
def odd_messages(world, stack):
    """Messages of every kind about another user's job, one with 253 descriptors: errors only, and no
    descriptor stays in the daemon."""
    node = Node(world, stack).start()
    node.job(1, ALICE)
    node.daemon.wait_runs(1)
    fds = f"/proc/{node.daemon.process.pid}/fd"
    node.ask({"request": "jobs"})
    before = len(os.listdir(fds))
    mallory = client(node, MALLORY, f"JOB = {node.name(1)!r}\n{ODD}")
    lines = mallory.communicate(timeout=60)[0].split("\n")[:-1]
    equal("answers", len(lines) // 2, int(lines[1]))
    equal("kinds of answers", set(lines[::2]), {'["error"]'})
    node.daemon.until(lambda: len(os.listdir(fds)) <= before, f"{before} descriptors")
    equal("state of Alice's job", node.listed(ALICE)[node.name(1)]["state"], "running")
    node.daemon.end()


KEEPS = """
import array, os
kept = 0
paths = []
while kept < 8:
    with connect() as s:
        s.send(json.dumps({"request": "snapshot", "job": JOB}).encode())
        text, control, _, _ = s.recvmsg(4096, 64)
    error = json.loads(text).get("error", "")
    if "are open" in error:
        break
    if control:
        fd, = array.array("i", control[0][2][:4])
        paths.append(os.open(f"/proc/self/fd/{fd}", os.O_PATH))
        os.close(fd)
        kept += 1
print(kept, flush=True)
sys.stdin.readline()
"""


@part.case
def rows_that_are_kept(world, stack):
    """A user keeps rows by descriptors that are not open files, from which they can be opened again."""
    node = Node(world, stack).start()
    node.job(1, ALICE)
    node.daemon.wait_runs(1)
    alice = client(node, ALICE, f"JOB = {node.name(1)!r}\n{KEEPS}")
    equal("files of rows", alice.stdout.readline().strip(), "4")
    node.daemon.end()


# The ids that subuid(5) gives to one user.
FILLS = """
import os
held = []
while True:
    for uid in range(100000, 100020):
        os.seteuid(uid)
        try:
            held.append(connect())
        except OSError:
            pass
        os.seteuid(0)
    if len(held) > 512:
        print("full", flush=True)
        for s in held[:256]:
            s.close()
        del held[:256]
"""


@part.case
def connections_of_many_ids(world, stack):
    """A user with many ids fills all places again and again; who speaks at once is answered. So it is
    when the daemon was started with a low limit of files."""
    node = Node(world, stack).start(prefix=("prlimit", "--nofile=200:4096"))
    node.job(1, ALICE)
    node.daemon.wait_runs(1)
    hostile = client(node, 0, FILLS)
    equal("hostile client", hostile.stdout.readline().strip(), "full")
    for _ in range(5):  # in a second at most
        answer = json.loads(client(node, ALICE, TIMED).communicate(timeout=20)[0])[1]
        equal("answer to Alice", [job["job"] for job in answer["jobs"]] if "jobs" in answer else answer, [node.name(1)])
    equal("end of the hostile client", hostile.poll(), None)
    node.daemon.end()


ENTERS = """
import os, sys
os.mkdir(sys.argv[1])
with open(sys.argv[1] + "/cgroup.procs", "w") as f:
    f.write(str(os.getpid()))
with open(sys.argv[2], "rb") as f:
    f.read()
print("in", flush=True)
sys.stdin.read()
"""


@part.case
def imitated_cgroups(world, stack):
    """A user who owns a cgroup makes one in it with the id of a container of root's, and one with
    the name of a virtual machine. Neither is a job, nor a part of one."""
    root = machine.v1_root()  # where she may move her process
    if not root:
        raise Skipped("no cgroup v1 here")
    name = f"{os.getpid():064x}"
    real = machine.cgroup(stack, machine.cgroup(stack, root, f"real-{os.getpid()}"), name)
    given = machine.cgroup(stack, root, f"given-{os.getpid()}")
    os.chown(given, MALLORY, MALLORY)
    path = world.tool.fresh(".socket")
    config = write_config(world, f"jobs:\n  kinds: [container, vm]\n  include: [\"container:{os.getpid():x}\", "
                          f"\"container:*{os.getpid():x}\", \"vm:false\"]\n", path)
    daemon = Daemon(world, stack, [], *config)
    daemon.wait_runs(1)
    text = world.tool.fresh(".text")
    with open(text, "wb") as f:
        f.write(bytes(1 << 20))
    os.chmod(text, 0o644)
    for made in (f"{given}/{name}", f"{given}/machine-qemu\\x2d1\\x2dfalse.scope"):
        mallory = subprocess.Popen([PYTHON, "-c", ENTERS, made, text], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, **as_user(MALLORY))
        stack.callback(os.rmdir, made)
        stack.callback(end_process, mallory)
        equal("Mallory's process", mallory.stdout.readline().strip(), "in")
    daemon.wait_intervals([daemon.run_of(real)])
    equal("jobs", daemon.query("SELECT external_id, read_bytes FROM job WHERE slot = 1"), [(name, 0)])
    daemon.end()


if __name__ == "__main__":
    sys.exit(main(part))
