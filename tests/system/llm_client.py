#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The process that talks to a model: its user, its privileges, and how it ends. It is examined
while an endpoint of the test keeps it waiting."""

import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "llm")]

from llmlib import asking  # noqa: E402
from llmlib.asking import KEY, NOBODY, SLACK_S  # noqa: E402
from llmlib.server import Server  # noqa: E402
from syslib.machine import until  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402

part = Part(__doc__)
USER = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")
CAPABLE = ("--inh-caps", "-all,+net_raw,+sys_admin", "--ambient-caps", "-all,+net_raw,+sys_admin")
# Who starts it: root for a user, that user, and a user with inherited capabilities.
STARTERS = {"sudo": ((), {}), "user": ((*USER, "--inh-caps", "-all"), {"SUDO_UID": ""}),
            "capable": ((*USER, *CAPABLE), {"SUDO_UID": ""})}


class World(asking.World):
    def __init__(self, args, work, stack):
        super().__init__(args, work, stack)
        self.server = self.serve(stack, Server())

    def waiting(self, stack, name="silent", limit=60, prefix=(), env=None, **kwargs):
        """The client, while the server keeps it waiting."""
        name, url = self.url_of(self.server, name, "openai", "127.0.0.1")
        env = {k: v for k, v in {**asking.SUDO, **(env or {})}.items() if v}
        asker = self.start(["--url", url, "--model", "m", "--limit", str(int(limit * 1000))],
                           env=env, prefix=prefix, **kwargs)
        stack.callback(asker.wait)
        stack.callback(asker.kill)
        until(lambda: self.server.of(name) or asker.poll() is not None, "the request")
        check(asker.poll() is None, "ended at once")
        return asker

    def environment(self, env=None, key=KEY):
        # Each case names the user behind it.
        return {"PATH": "/usr/bin:/bin", **({"CACHEMON_LLM_KEY": key} if key else {}),
                **(asking.SUDO if env is None else env)}


def read(pid, name):
    with open(f"/proc/{pid}/{name}", "rb") as f:
        return f.read().decode("utf-8", "replace")


def children(pid):
    return read(pid, f"task/{pid}/children").split()


def status(pid):
    return dict(line.split(":\t", 1) for line in read(pid, "status").splitlines())


def said_by(asker):
    out, err = asker.communicate(timeout=60)
    equal("status and errors", (asker.returncode, err), (0, ""))
    return json.loads(out)


@part.case
def confined(world, stack):
    """The client has the user's ids, no capability and no way to get one, no other process, and no
    descriptors except its streams, those of its starter and its sockets. No other process of the
    user can read the key from its memory."""
    with open(world.path("open"), "w", encoding="ascii") as extra:
        for who, (prefix, env) in STARTERS.items():
            asker = world.waiting(stack, prefix=prefix, env=env, pass_fds=(extra.fileno(),))
            now = status(asker.pid)
            for name in ("Uid", "Gid"):
                equal(f"{who}: {name}", now[name].split(), [str(NOBODY)] * 4)
            check(set(now["Groups"].split()) <= {str(NOBODY)}, f"{who}: groups {now['Groups']}")
            for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                equal(f"{who}: {name}", int(now[name], 16), 0)
            equal(f"{who}: NoNewPrivs", now["NoNewPrivs"], "1")
            equal(f"{who}: signals caught", int(now["SigCgt"], 16), 0)
            equal(f"{who}: children", children(asker.pid), [])
            opened = {int(fd): os.readlink(f"/proc/{asker.pid}/fd/{fd}")
                      for fd in os.listdir(f"/proc/{asker.pid}/fd")}
            kinds = {name.split(":")[0] for fd, name in opened.items()
                     if fd > 2 and fd != extra.fileno()}
            check(kinds <= {"socket", "anon_inode", "pipe"}, f"{who}: has open {opened}")
            cores = read(asker.pid, "limits").split("Max core file size")[1].split()[:2]
            equal(f"{who}: core files", cores, ["0", "0"])
            check(KEY not in read(asker.pid, "cmdline"), f"{who}: the key is in the arguments")
            for name in ("environ", "mem"):
                peek = subprocess.run([*USER, "head", "-c", "1", f"/proc/{asker.pid}/{name}"],
                                      capture_output=True, text=True)
                check("denied" in peek.stderr, f"{who}: another process reads {name}: {peek}")
            asker.kill()


@part.case
def root_alone(world, _):
    """Root without a user behind it: no process, no request, one line, exit 0."""
    before = world.server.connections
    for env in ({}, {"SUDO_UID": "0", "SUDO_GID": "0"}):
        done = world.run(["--url", world.server.url("ok"), "--model", "m"], env=env)
        said = json.loads(done.stdout)
        equal("outcome", (done.returncode, said["outcome"], said["attempts"]),
              (0, "not_allowed", 0))
        check("root" in said["reason"] and "sudo" in said["reason"], said["reason"])
    equal("connections", world.server.connections, before)


@part.case
def rights_that_are_kept(world, _):
    """A process with capabilities, or root for a user, makes no query; without them it does."""
    before = world.server.connections
    options = ["--url", world.server.url("ok"), "--model", "m", "--keep-rights"]
    for prefix in ((*USER, *CAPABLE), ()):
        done = world.run(options, prefix=prefix)
        said = json.loads(done.stdout)
        equal("outcome", (done.returncode, said["outcome"], said["attempts"]), (0, "not_allowed", 0))
        check("privileges" in said["reason"] or "root" in said["reason"], said["reason"])
    equal("connections", world.server.connections, before)
    done = world.run(options, prefix=(*USER, "--inh-caps", "-all"))
    equal("without any", json.loads(done.stdout)["outcome"], "answered")


@part.case
def interrupted(world, stack):
    """Ends at once, by the signal."""
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        for who, (prefix, env) in STARTERS.items():
            asker = world.waiting(stack, prefix=prefix, env=env)
            os.kill(asker.pid, sig)
            equal(f"{who}: ended by", asker.wait(timeout=10), -sig)


@part.case
def limit(world, stack):
    """A client that is kept waiting reports its limit."""
    seconds = 2
    said = said_by(world.waiting(stack, limit=seconds))
    equal("outcome", said["outcome"], "unreachable")
    check("did not answer within" in said["reason"], said["reason"])
    check(seconds <= said["duration_ms"] / 1000 <= seconds + SLACK_S, f"took {said['duration_ms']} ms")


if __name__ == "__main__":
    sys.exit(part.main(World))
