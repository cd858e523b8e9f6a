#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The daemon of a node as a service: what it reports to its manager, settings that it reads again,
and what a restart loses."""

import os
import select
import signal
import socket
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemon import Daemon, end_group, make_groups, start_jobs  # noqa: E402
from node_users import ADMINS, MALLORY, Node  # noqa: E402
from syslib.jobworld import COUNTS, end_process, expect, lines_of, main  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.tool import on_device  # noqa: E402

part = Part(__doc__)
WATCHDOG_S = 4
DAY_NS = 86400 * 10**9


class Manager:
    """Receives what a service reports, as systemd does."""

    def __init__(self, world, stack, **more):
        self.socket = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.socket.bind(path := world.tool.fresh(".notify"))
        self.env = {**os.environ, "NOTIFY_SOCKET": path, **more}
        self.seen = []

    def until(self, *wanted, timeout=60):
        """The next reports, up to the last wanted one; the wanted are among them in this order."""
        self.socket.settimeout(timeout)
        got = []
        while wanted:
            got.append(self.socket.recv(4096).decode())
            if wanted[0] in got[-1].splitlines():
                wanted = wanted[1:]
        self.seen += got
        return got


class Service(Node):
    """A daemon with settings that change."""

    def __init__(self, world, stack, manager):
        super().__init__(world, stack)
        self.manager = manager
        self.config = world.tool.fresh(".yaml")

    def write(self, jobs=None, admin="none", more=""):
        include = [self.name(i) for i in jobs] if jobs else [f"slurm:{self.number // 10}?"]
        self.write_text(f"jobs:\n  kinds: [slurm]\n  include: {include}\n"
                        f"socket:\n  path: {self.socket}\n  admin_group: {admin}\n{more}")

    def write_text(self, text):
        with open(self.config, "w", encoding="ascii") as f:
            f.write(text)

    def start(self, **more):
        self.daemon = Daemon(self.world, self.stack, [], "--config", self.config, env=self.manager.env, **more)
        self.manager.until("READY=1")
        self.said()
        return self

    def said(self):
        """The lines since the last call: they are written before the report."""
        errors = self.daemon.process.stderr.fileno()
        readable = select.select([errors], [], [], 0)[0]
        return os.read(errors, 1 << 16).decode().splitlines() if readable else []

    def read_again(self):
        """The line about it."""
        self.daemon.process.send_signal(signal.SIGHUP)
        self.manager.until("RELOADING=1", "READY=1")
        return [line for line in self.said() if "settings" in line]

    def state(self, i):
        number = self.name(i).split(":")[1]
        return self.daemon.query("SELECT r.state FROM run r JOIN job j ON j.run_id = r.id WHERE j.slot = 1 AND "
                                 f"j.external_id = '{number}' ORDER BY r.id DESC LIMIT 1")


@part.case
def reports_to_its_manager(world, stack):
    manager = Manager(world, stack, WATCHDOG_USEC=str(WATCHDOG_S * 10**6))
    service = Service(world, stack, manager)
    service.write()
    first = service.job(1, 0)
    service.start()
    equal("jobs of a daemon that is ready", list(service.listed(0)), [])
    manager.until("STATUS=watching 1 job")
    service.daemon.wait_runs(1)
    second = service.job(2, 0)
    manager.until("STATUS=watching 2 jobs")
    for job in (first, second):
        end_process(job.process)
        end_group(job.group)
    manager.until("STATUS=watching 0 jobs")
    for _ in range(3):
        manager.until("WATCHDOG=1", timeout=WATCHDOG_S)
    service.daemon.process.send_signal(signal.SIGTERM)
    manager.until("STOPPING=1")
    service.daemon.end()
    equal("readiness", sum("READY=1" in text for text in manager.seen), 1)


@part.case
def other_jobs_are_selected(world, stack):
    service = Service(world, stack, Manager(world, stack))
    service.write([1])
    service.start()
    jobs = [service.job(i, 0) for i in (1, 2)]
    service.daemon.wait_runs(1)
    jobs[0].do("read", 0, "in")
    service.write([2])
    equal("what is said", service.read_again(), ["cachemon: read the settings again"])
    service.daemon.wait_runs(2)
    jobs[0].do("read", 0, "in")
    jobs[1].do("read", 1, "in")
    service.wait_ended(1)
    equal("state of the job that is selected now", service.state(2), [("open",)])
    service.daemon.end()
    expect(world, service.daemon.report(jobs[0].group)[1], lines_of(jobs[0].tally)[:1])
    expect(world, service.daemon.report(jobs[1].group)[1], lines_of(jobs[1].tally))


@part.case
def wrong_settings(world, stack):
    """They change nothing, and the line says what is wrong."""
    service = Service(world, stack, Manager(world, stack))
    service.write([1])
    service.start()
    job = service.job(1, 0)
    service.daemon.wait_runs(1)
    job.do("read", 0, "in")
    same = "cachemon: the settings stay as they were: "
    service.write_text("jobs:\n  exclude: [\"*\"]\ninterval: soon\n")
    equal("a wrong value", [line[:len(same) + len(service.config) + 13] for line in service.read_again()],
          [f"{same}{service.config}:3: interval:"])
    service.write([2], admin="nosuchgroup")
    equal("a group that does not exist", service.read_again(),
          [f"{same}no group 'nosuchgroup'. Make it, or change socket.admin_group"])
    os.unlink(service.config)
    equal("no file", service.read_again(), [f"{same}cannot read {service.config}: No such file or directory"])
    service.write([1], more=f"interval: 7s\ndatabase: {service.config}.db\n")
    equal("what cannot change", service.read_again(),
          ["cachemon: read the settings again; restart the daemon to change database, interval"])
    job.do("read", 1, "in")
    equal("state", service.state(1), [("open",)])
    service.daemon.end()
    check(not os.path.exists(f"{service.config}.db"), "another database was made")
    equal("runs", service.daemon.query("SELECT count(*), min(interval_ns) FROM run"), [(1, 200_000_000)])
    expect(world, service.daemon.report(job.group)[1], lines_of(job.tally))


@part.case
def another_admin_group(world, stack):
    service = Service(world, stack, Manager(world, stack))
    service.write()
    service.start()
    service.job(1, 0)
    service.daemon.wait_runs(1)
    equal("jobs of a member", set(service.listed(MALLORY, ADMINS.gr_gid)), set())
    for admin, jobs in ((ADMINS.gr_name, {service.name(1)}), ("none", set())):
        service.write(admin=admin)
        equal("what is said", service.read_again(), ["cachemon: read the settings again"])
        equal(f"jobs of a member with {admin}", set(service.listed(MALLORY, ADMINS.gr_gid)), jobs)
    service.daemon.end()


@part.case
def another_retention(world, stack):
    """A run of two days ago is deleted when runs are kept for a day only."""
    service = Service(world, stack, Manager(world, stack))
    service.write()
    service.start()
    job = service.job(1, 0)
    service.daemon.wait_runs(1)
    service.daemon.end()
    db = service.daemon.db
    with sqlite3.connect(db) as rows:
        rows.execute("UPDATE run SET started_ns = started_ns - 2 * ?", (DAY_NS,))
    rows.close()
    kept = f"database: {db}\ninterval: 1s\nretention: {{age: %s, size: none}}\n"
    service.write(more=kept % "none")
    service.start(db=db, named=False)
    service.daemon.wait_runs(2)
    service.daemon.wait_intervals([2])
    equal("runs while all are kept", service.daemon.query("SELECT count(*) FROM run"), [(2,)])
    service.write(more=kept % "1d")
    equal("what is said", service.read_again(), ["cachemon: read the settings again"])
    service.daemon.until(lambda: service.daemon.query("SELECT id FROM run") == [(2,)], "the old run is deleted")
    check(job.process.poll() is None, "the job has ended")
    service.daemon.end()


@part.case
def killed_and_started_again(world, stack):
    """The database has the reads of the job before the last interval, and those since the next daemon
    was ready."""
    manager = Manager(world, stack)
    service = Service(world, stack, manager)
    service.write()
    job = service.job(1, 0)
    service.start()
    service.daemon.wait_runs(1)
    job.do("read", 0, "in")
    service.daemon.wait_intervals([1])
    kept = lines_of(job.tally)
    job.do("read", 1, "in")
    service.daemon.process.kill()
    service.daemon.process.wait()
    at_most = lines_of(job.tally)
    service.start(db=service.daemon.db)
    job.do("read", 2, "in")
    service.daemon.end()
    runs = [world.tool.report(service.daemon.db, str(i)) for i in (1, 2)]
    equal("states", [run["run"]["state"] for run, _ in runs], ["cut", "complete"])
    got = on_device(runs[0][1], world.dev)
    for name in COUNTS:
        least, most = (sum(line[name] for line in lines) for lines in (kept, at_most))
        check(least <= got[name] <= most, f"{name} before the kill: {got[name]}, not {least} to {most}")
    expect(world, runs[1][1], lines_of(job.tally)[len(at_most):])


@part.case
def hangup_of_a_terminal(world, stack):
    """Without settings it ends as with any signal, and the runs are complete."""
    groups = make_groups(stack, 1, "hup")
    (job,), (tally,) = start_jobs(world, stack, groups)
    daemon = Daemon(world, stack, groups)
    daemon.wait_runs(1)
    job.do("read", 0, "in")
    daemon.process.send_signal(signal.SIGHUP)
    _, errors = daemon.process.communicate(timeout=60)
    equal(f"status: {errors}", daemon.process.returncode, 0)
    report, figures = daemon.report(groups[0])
    equal("state", report["run"]["state"], "complete")
    expect(world, figures, lines_of(tally))


if __name__ == "__main__":
    sys.exit(main(part))
