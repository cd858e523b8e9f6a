#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Several 'cachemon watch' share the programs of a node's daemon: each user gets the counts of the
own command, without privileges, as after a watch of its own."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemon import Daemon  # noqa: E402
from syslib import reads  # noqa: E402
from syslib.jobworld import FILES, end_process, expect, lines_of, main  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.tool import on_device  # noqa: E402

part = Part(__doc__)
ALICE, BOB = 4001, 4002
PYTHON = "/usr/bin/python3"  # every user may run it
MANY = 6
OF_USER = 8  # commands at once
TIMEOUT_S = 60
WAITS = "import sys; print('here', flush=True); sys.stdin.read()"
GONE = "cachemon: the daemon of this node has gone, so there will be no record of this run; the command goes on\n"


class Home:
    """A user, and the database."""

    def __init__(self, node, uid):
        self.node, self.uid = node, uid
        self.path = node.world.tool.fresh(f".{uid}")
        os.mkdir(self.path, 0o700)
        os.chown(self.path, uid, uid)
        self.db = f"{self.path}/own.db"
        self.env = {"HOME": self.path, "PATH": os.environ["PATH"]}

    def start(self, *command, options=(), **popen):
        words = [self.node.world.tool.cachemon, "watch", "--db", self.db, "--socket", self.node.socket, *options, "--", *command]
        p = subprocess.Popen(words, cwd=self.path, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, user=self.uid, group=self.uid, extra_groups=(), **popen)
        self.node.stack.callback(end_process, p)
        return p

    def reader(self, verb="forks"):
        """A command that records its reads."""
        tally = self.node.world.tool.fresh(".tally")
        os.close(os.open(tally, os.O_CREAT | os.O_WRONLY, 0o644))
        os.chown(tally, self.uid, self.uid)
        return tally, [PYTHON, *self.node.world.argv(verb, tally)[1:]]

    def rows(self, sql):
        with contextlib.closing(sqlite3.connect(f"file:{self.db}?mode=ro", uri=True)) as db:
            return db.execute(sql).fetchall()

    def cachemon(self, *words):
        return subprocess.run([self.node.world.tool.cachemon, *words], cwd=self.path, env=self.env, capture_output=True,
                              text=True, check=False, user=self.uid, group=self.uid, extra_groups=())


class Node:
    def __init__(self, world, stack, *options):
        self.world, self.stack = world, stack
        self.directory = world.tool.fresh(".run")
        self.socket = f"{self.directory}/cachemon/socket"
        os.mkdir(self.directory)
        config = world.tool.fresh(".yaml")
        with open(config, "w", encoding="ascii") as f:
            f.write(f"jobs:\n  include: [\"slurm:none\"]\nsocket:\n  path: {self.socket}\n")
        self.daemon = Daemon(world, stack, [], "--config", config, *options)
        self.daemon.until(lambda: os.path.exists(self.socket), "the socket")

    def home(self, uid):
        return Home(self, uid)

    def wait_jobs(self, number):
        self.daemon.until(lambda: self.daemon.query("SELECT count(*) FROM run WHERE state = 'open'") == [(number,)],
                          f"{number} runs")


def finish(process, status=0, given=None):
    out, errors = process.communicate(given, timeout=TIMEOUT_S)
    equal(f"status: {errors}", process.returncode, status)
    return out, errors


def links_to_programs(pid):
    """Descriptors of programs, maps and links, without the switch by which the daemon times them."""
    kinds = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            kinds.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return sorted(kind for kind in kinds if "bpf" in kind and "stats" not in kind)


def drop_all(world):
    for i in range(FILES):
        with open(f"{world.data}/{i:02}", "rb") as f:
            reads.drop(f.fileno())


@part.case
def a_user_without_privileges(world, stack):
    """Counts, names, status and verbs are those of a usual watch."""
    node = Node(world, stack)
    alice = node.home(ALICE)
    drop_all(world)
    tally, command = alice.reader()
    _, errors = finish(alice.start(*command, options=("--job", "train")))
    check("Job train" in errors or "train" in errors, errors)
    report, job = world.tool.report(alice.db)
    expect(world, job, lines_of(tally))
    equal("processes", job["processes"], 7)
    equal("state", report["run"]["state"], "complete")
    equal("status of the command", report["run"]["exit_status"], 0)
    equal("name", job["name"], "train")
    check(job["selector"].startswith("command: "), job["selector"])
    equal("runs", alice.rows("SELECT id FROM run"), [(1,)])
    equal("uuid", alice.rows("SELECT uuid FROM run"), node.daemon.query("SELECT uuid FROM run"))
    tally, command = alice.reader()
    finish(alice.start(*command, options=("--job", "train")))
    expect(world, world.tool.report(alice.db)[1], lines_of(tally))
    equal("files of both runs without a name", alice.rows(
        "SELECT count(*) FROM file f JOIN job j ON j.id = f.job_id WHERE j.slot = 1 AND f.path IS NULL AND f.read_calls > 0 "
        f"AND f.dev_major || ':' || f.dev_minor = '{world.dev}'"), [(0,)])
    for words in (("report",), ("advise",), ("compare", "1", "2"), ("runs",)):
        done = alice.cachemon(*words, "--db", alice.db)
        equal(f"status of {words}: {done.stderr}", done.returncode, 0)
    equal("files", sorted(os.listdir(alice.path)), ["own.db"])
    node.daemon.end()


@part.case
def two_users_on_shared_files(world, stack):
    """Each has the own reads; the pages that came are those of both together, by cachestat(2)."""
    node = Node(world, stack)
    homes = [node.home(ALICE), node.home(BOB), node.home(0)]
    drop_all(world)
    tallies, watches = [], []
    for home in homes:
        tally, command = home.reader()
        tallies.append(tally)
        watches.append(home.start(*command))
    for watch in watches:
        finish(watch)
    came = 0
    for home, tally in zip(homes, tallies):
        _, job = world.tool.report(home.db)
        expect(world, job, lines_of(tally))
        totals = on_device(job, world.dev)
        came += totals["demand_pages"] + totals["prefetched_pages"]
    cached = 0
    for i in range(FILES):
        with open(f"{world.data}/{i:02}", "rb") as f:
            cached += reads.cached_pages(f.fileno())
    check(cached, "no page came")
    equal("pages that came", came, cached)
    node.daemon.end()


@part.case
def programs_are_loaded_once(world, stack):
    """However many watch at once; none of them has a kernel object."""
    node = Node(world, stack)
    before = links_to_programs(node.daemon.process.pid)
    check(before, "the daemon has no programs")
    homes = [node.home(ALICE if i % 2 else BOB) for i in range(MANY)]
    watches = [home.start(PYTHON, "-c", WAITS) for home in homes]
    for watch in watches:
        equal("word of the command", watch.stdout.readline(), "here\n")
        equal("kernel objects of a watch", links_to_programs(watch.pid), [])
    equal("those of the daemon", links_to_programs(node.daemon.process.pid), before)
    for watch in watches:
        finish(watch, given="")
    for home in homes:
        equal("runs", home.rows("SELECT state FROM run"), [("complete",)])
    node.daemon.end()


@part.case
def too_many_of_a_user(world, stack):
    """Another user, and root, are not in the way."""
    node = Node(world, stack)
    alice = node.home(ALICE)
    watches = []
    for _ in range(OF_USER):
        watches.append(alice.start(PYTHON, "-c", WAITS))
        equal("word of the command", watches[-1].stdout.readline(), "here\n")
    _, errors = finish(alice.start(PYTHON, "-c", "print(1)"), 125)
    equal("words", errors, f"cachemon: {OF_USER} commands of this user are counted already: no more at once\n")
    for uid in (BOB, 0):
        finish(node.home(uid).start(PYTHON, "-c", "print(1)"))
    for watch in watches:
        finish(watch, given="")
    equal("runs", alice.rows("SELECT count(*) FROM run"), [(OF_USER,)])
    node.daemon.end()


@part.case
def commands_that_fail(world, stack):
    node = Node(world, stack)
    alice = node.home(ALICE)
    _, errors = finish(alice.start("/nonexistent/x"), 127)
    equal("words", errors, "cachemon: cannot run '/nonexistent/x': no such file\n")
    finish(alice.start(PYTHON, "-c", "import sys; sys.exit(3)"), 3)
    killed = alice.start(PYTHON, "-c", "import os; os.kill(os.getpid(), 9)")
    finish(killed, 128 + 9)
    equal("statuses", alice.rows("SELECT exit_status FROM run ORDER BY id"), [(127,), (3,), (128 + 9,)])
    node.daemon.end()


@part.case
def a_watch_that_is_killed(world, stack):
    """The command goes on; its run ends, and its slot is free."""
    node = Node(world, stack)
    alice = node.home(ALICE)
    watch = alice.start(PYTHON, "-c", "import os; print(os.getpid(), flush=True); import sys; sys.stdin.read(); print('end')")
    pid = int(watch.stdout.readline())
    node.wait_jobs(1)
    watch.kill()
    watch.wait()
    node.daemon.until(lambda: node.daemon.query("SELECT state FROM run") == [("complete",)], "the end of the run")
    with open(f"/proc/{pid}/comm", encoding="ascii") as f:
        check("python" in f.read(), "the command is gone")
    watch.stdin.close()
    equal("word of the command", watch.stdout.readline(), "end\n")
    tally, command = alice.reader()
    finish(alice.start(*command))
    expect(world, world.tool.report(alice.db)[1], lines_of(tally))
    node.daemon.end()


@part.case
def a_daemon_that_goes_away(world, stack):
    node = Node(world, stack)
    alice = node.home(ALICE)
    for how, status in ((0, 123), (5, 5)):
        node = Node(world, stack)
        alice = node.home(ALICE)
        watch = alice.start(PYTHON, "-c", f"{WAITS}; sys.exit({how})")
        equal("word of the command", watch.stdout.readline(), "here\n")
        node.daemon.process.kill()
        node.daemon.process.wait()
        equal("line", watch.stderr.readline(), GONE)
        _, errors = finish(watch, status, "")
        check(how or "its record is incomplete" in errors, errors)


@part.case
def another_users_process(world, stack):
    """Nobody can name a process: the one that connected is meant, if it is only its user's."""
    node = Node(world, stack)
    program = ("import json, os, socket, sys\n"
               "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
               "s.connect(sys.argv[1])\n"
               "def ask(**more):\n"
               "    s.send(json.dumps({'request': 'watch', 'name': 'x', 'command': 'x', **more}).encode())\n"
               "    return json.loads(s.recv(4096))\n")

    def client(rest, uid=ALICE):
        done = subprocess.run([PYTHON, "-c", program + rest, node.socket], capture_output=True, text=True, check=True,
                              user=uid, group=uid, extra_groups=())
        return json.loads(done.stdout)

    equal("another pid", client("print(json.dumps(ask(pid=1)))"), {"error": "unknown key 'pid' in this request"})
    # The process that connected has ended.
    gone = client("pid = os.fork()\n"
                  "if pid == 0:\n"
                  "    s.close(); s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1])\n"
                  "    a, b = os.pipe()\n"
                  "    if os.fork() == 0:\n"
                  "        os.close(b); os.read(a, 1)\n"
                  "        print(json.dumps(ask()), flush=True)\n"
                  "    os._exit(0)\n"
                  "os.waitpid(pid, 0)\n")
    check("error" in gone, f"{gone}")
    # It runs a program that gives privileges.
    setuid = client("pid = os.fork()\n"
                    "if pid == 0:\n"
                    "    s.close(); s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1])\n"
                    "    me = os.getpid()\n"
                    "    if os.fork() == 0:\n"
                    "        while os.stat(f'/proc/{me}').st_uid: pass\n"
                    "        print(json.dumps(ask()), flush=True)\n"
                    "        os._exit(0)\n"
                    "    os.execv('/usr/bin/su', ['su', 'root'])\n"
                    "os.waitpid(pid, 0)\n")
    equal("a program with privileges", setuid, {"error": "the process that asked is not only its user's: it has ended, "
                                                         "or has privileges"})
    finish(node.home(BOB).start("true"))  # samples were taken since
    equal("users with runs", node.daemon.query("SELECT DISTINCT uid FROM job WHERE slot = 1"), [(BOB,)])
    node.daemon.end()


@part.case
def inside_another_job(world, stack):
    """A command of a counted command is not taken from it; root's has programs of its own."""
    node = Node(world, stack)
    alice = node.home(ALICE)
    tally, command = alice.reader()
    inner = [world.tool.cachemon, "watch", "--db", f"{alice.path}/inner.db", "--socket", node.socket, "--", "true"]
    outer = alice.start("sh", "-c", f"{' '.join(inner)}; exec {' '.join(command)}")
    _, errors = finish(outer)
    check("cachemon: it is part of a job that is counted already\n" in errors, errors)
    expect(world, world.tool.report(alice.db)[1], lines_of(tally))
    equal("runs", alice.rows("SELECT count(*) FROM run"), [(1,)])
    node.daemon.end()


@part.case
def privileges_end_the_count(world, stack):
    """Reads of a program with privileges are not shown to the user who ran it, but to root."""
    program = f"{world.tool.fresh('.bin')}"
    shutil.copy("/usr/bin/cat", program)
    secret = world.tool.fresh(".secret")
    reads.fill(secret, 50)
    os.chmod(secret, 0o600)
    os.chmod(program, 0o4755)
    node = Node(world, stack)
    for uid, seen in ((ALICE, 0), (0, 1)):
        home = node.home(uid)
        out, _ = finish(home.start("sh", "-c", f"{program} {secret} | wc -c; cat {world.data}/00 >/dev/null"))
        equal("bytes of the program", int(out), 50 * reads.PAGE)
        names = [name for name, in home.rows("SELECT CAST(path AS TEXT) FROM file JOIN job ON job.id = job_id "
                                             "WHERE slot = 1 AND path IS NOT NULL")]
        equal("names of the secret", len([name for name in names if name.endswith(".secret")]), seen)
        equal("names of the data", len([name for name in names if name == f"{world.data}/00"]), 1)
    node.daemon.end()


@part.case
def not_by_the_daemon(world, stack):
    """Options that need programs of its own, and a daemon that is not there."""
    node = Node(world, stack)
    root = node.home(0)
    path = f"{root.path}/none"
    for words, line in ((("--socket", path), f"cachemon: cannot reach the daemon at {path}: No such file or directory\n"),):
        done = root.cachemon("watch", "--db", root.db, *words, "--", "true")
        equal("status", done.returncode, 125)
        equal("words", done.stderr, line)
    done = root.cachemon("watch", "--db", root.db, "--own", "--socket", path, "--", "true")
    equal("status of both", done.returncode, 2)
    watch = root.start("true", options=("--level", "full"))
    _, errors = finish(watch)
    check(errors.startswith("cachemon: the daemon of this node does not count with --level, so this command is counted by "
                            "programs of its own\n"), errors)
    equal("level", root.rows("SELECT level FROM run"), [("full",)])
    node.daemon.end()


if __name__ == "__main__":
    sys.exit(main(part))
