#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Another process of the same user, without capabilities, cannot trace cachemon, read its memory
or take its descriptors at any moment of a run, however cachemon got its capabilities. It can
trace CMD like any other program. A control shows that the attack succeeds against a program that
makes the mistake."""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.reader import build  # noqa: E402
from syslib.tool import Tool, tail  # noqa: E402
from syslib.users import NOBODY, PLAIN, ambient, program  # noqa: E402

WAYS = ("seize", "attach", "getfd", "mem", "fd")
CAPS = "cap_bpf,cap_perfmon,cap_syslog"
MORE_CAPS = CAPS + ",cap_sys_admin,cap_sys_ptrace"
TRIES_MIN = 3  # per run: with fewer, nothing was tried
TIMEOUT_S = 120
PR_GET_DUMPABLE = 3
# The access that a debugger of the user would need.
LOOK = f"""import ctypes, resource
print(ctypes.CDLL(None).prctl({PR_GET_DUMPABLE}), resource.getrlimit(resource.RLIMIT_CORE))
"""

part = Part(__doc__)
part.count_option("count", 200, 6, "attacked runs of each kind")


class World:
    def __init__(self, args, work, stack):
        os.chmod(work, 0o777)
        self.count = args.count
        self.tool = Tool(args.cachemon, work)
        self.tracer = build(work, "tracer")
        self.late = build(work, "late")
        os.chmod(self.tracer, 0o755)

    def attack(self, pid, name, ns, tries=0, gate="-"):
        done = subprocess.run(apart(0, [*PLAIN, self.tracer, str(pid), name, str(ns), str(tries), gate]),
                              capture_output=True, text=True, timeout=TIMEOUT_S)
        check(done.returncode == 0, f"the attacker ends with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def attacked(self, argv, name, ns, gate="-", env=None):
        """One run of a program, attacked from its beginning to its end."""
        victim = subprocess.Popen(apart(1, argv), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
        try:
            found = self.attack(victim.pid, name, ns, gate=gate)
            errors = victim.communicate(timeout=TIMEOUT_S)[1]
        finally:
            victim.kill()
            victim.communicate()
        return found, victim.returncode, errors


def apart(cpu, argv):
    """On a CPU of its own: a signal stops a process on another one at once."""
    cpus = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(cpus[cpu % len(cpus)]), *argv]


def ways_open(found):
    return [way for way in WAYS if found[way]]


def attack_run(world, argv, gate, *, env=None, count="stops"):
    """One run, into which every way must fail; returns how often it was stopped or tried. 0: the
    run does not count, because it ended too soon, or was stopped while the kernel loaded a program,
    which the kernel then refuses."""
    path = next(word for word in argv if word.endswith(".cachemon"))
    found, status, errors = world.attacked(argv, os.path.basename(path)[:15],
                                           world.tool.serial * 370 % 3000, gate, env)
    equal("open ways", ways_open(found), [])
    if status and "refused" in errors:
        return 0
    equal(f"status ({tail(errors)})", status, 0)
    return found[count] if found[count] >= TRIES_MIN else 0


def attack_runs(world, runs, make, **how):
    """That many runs that count, of those that make() returns: (argv, gate)."""
    tried, began = [], 0
    while len(tried) < runs:
        began += 1
        check(began <= 5 * runs + 20, f"{len(tried)} of {began} runs count")
        tried += filter(None, [attack_run(world, *make(), **how)])
    return f"0 of {runs} runs open, {sum(tried)} {how.get('count', 'stops')} in all"


def attack_watches(world, prefix, path, **how):
    """The full number of runs, stopped after the probes begin to load."""
    def make():
        db = world.tool.fresh(".db")
        return [*prefix, path, "watch", "--db", db, "--duration", "200ms", "--", "sleep",
                "0.02"], db + "-wal"

    part.note(attack_runs(world, world.count, make, **how))


@part.case
def by_file(world, _):
    attack_watches(world, PLAIN, program(world.tool, CAPS))


@part.case
def by_file_with_more(world, _):
    """A run that keeps capabilities to its end."""
    attack_watches(world, PLAIN, program(world.tool, MORE_CAPS))


@part.case
def by_caller(world, _):
    """setpriv, like AmbientCapabilities= of a unit: the program file has no capabilities, so the
    kernel makes the process traceable when it is executed."""
    attack_watches(world, ambient("bpf", "perfmon"), program(world.tool))


@part.case
def by_sudo(world, _):
    """Root's process for this user."""
    attack_watches(world, [], program(world.tool), count="tries",
                   env={"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)})


@part.case
def other_verbs(world, _):
    """Verbs that load probes without a watch, and one that may but does not."""
    path, db = program(world.tool, CAPS), world.tool.fresh(".db")
    world.tool.run("watch", "--db", db, "--", "true")
    os.chmod(db, 0o644)
    for verb, gate, count in ((["doctor", "--json"], "+", "tries"),
                              (["selftest", "--dir", world.tool.work], "+", "tries"),
                              (["top", "--db", db, "--batch", "--frames", "1"], "-", "stops")):
        attack_runs(world, max(1, world.count // 10),
                    lambda verb=verb, gate=gate: ([*PLAIN, path, *verb], gate), count=count)


@part.case
def can_win(world, _):
    """The same attack on an ordinary process of the user, and on a program that drops its
    capabilities before it forbids tracing."""
    sleep = subprocess.Popen([*PLAIN, "sleep", "60"])
    try:
        machine.until(lambda: comm(sleep.pid) == "sleep", "sleep is executed")
        found = world.attack(sleep.pid, "-", 30, 20)
    finally:
        sleep.kill()
        sleep.wait()
    equal("ways into an ordinary process", ways_open(found), list(WAYS))
    machine.run("setcap", f"{CAPS}+ep", world.late)
    os.chmod(world.late, 0o755)
    won = [ways_open(world.attacked([*PLAIN, world.late, "1000"], "late", 30)[0])
           for _ in range(world.count)]
    check(any(won), f"a gap of 1 ms was not found in {world.count} runs")
    part.note(f"a gap of 1 ms: {sum(map(bool, won))} of {world.count} runs open")


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        return f.read().strip()


@part.case
def command_as_usual(world, stack):
    """CMD can be traced by its user, and dumps core as it would without cachemon."""
    for prefix, path in ((PLAIN, program(world.tool, CAPS)),
                         (ambient("bpf", "perfmon"), program(world.tool))):
        plain = subprocess.run([*PLAIN, "/usr/bin/python3", "-I", "-c", LOOK], capture_output=True,
                               text=True, check=True).stdout
        check(plain.startswith("1 "), f"not dumpable without cachemon: {plain}")
        done = subprocess.run([*prefix, path, "watch", "--db", world.tool.fresh(".db"), "--",
                               "/usr/bin/python3", "-I", "-c", LOOK], capture_output=True,
                              text=True)
        equal(f"dumpable, limit of core files ({tail(done.stderr)})", done.stdout, plain)
        watch = subprocess.Popen([*prefix, path, "watch", "--db", world.tool.fresh(".db"), "--",
                                  "sh", "-c", "echo $$; exec sleep 60"], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True)
        stack.callback(watch.wait)
        stack.callback(watch.kill)
        cmd = int(watch.stdout.readline())
        machine.until(lambda: comm(cmd) == "sleep", "CMD is executed")
        equal("ways into CMD", ways_open(world.attack(cmd, "-", 30, 20)), list(WAYS))
        equal("ways into its cachemon", ways_open(world.attack(watch.pid, "-", 30, 20)), [])
        os.kill(cmd, 9)
        equal("status", watch.wait(timeout=TIMEOUT_S), 137)


if __name__ == "__main__":
    sys.exit(part.main(World))
