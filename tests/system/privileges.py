#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Without root: with capabilities of the file or of the caller; which privileges a run keeps,
what CMD gets, and memory limits for the maps."""

import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, fill  # noqa: E402
from syslib.tool import Tool, tail  # noqa: E402
from syslib.users import NOBODY, PLAIN, ambient, program  # noqa: E402

BITS = {"chown": 0, "dac_override": 1, "fowner": 3, "kill": 5, "setgid": 6, "setuid": 7,
        "sys_ptrace": 19, "sys_admin": 21, "sys_resource": 24, "syslog": 34, "perfmon": 38,
        "bpf": 39}
MIB = 1 << 20
REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNIT = os.path.join(REPO, "examples", "systemd", "cachemon@.service")
DOCS = os.path.join(REPO, "docs", "privileges.md")
EXPOSURE_MAX = 1.5
PAGES = 512
# Reads the file page by page and shows its identity, then what its parent has.
JOB = """import os, sys
f = os.open(sys.argv[1], os.O_RDONLY)
for i in range(int(sys.argv[2])):
    os.pread(f, 4096, i * 4096)
def sets(pid):
    return [l.split() for l in open(f"/proc/{pid}/status") if l.startswith(("Cap", "Uid", "NoNew"))]
print(repr((sets("self"), sorted(os.environ.items()), sets(os.getppid()))))
"""
ENV = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "/nonexistent", "TMPDIR": "/var/tmp",
       "LD_BIND_NOW": "1", "HOME": "/", "LC_ALL": "C"}

part = Part(__doc__)


class World:
    def __init__(self, args, work, stack):
        os.chmod(work, 0o777)
        self.work = work
        self.tool = Tool(args.cachemon, work)
        self.data = fill(os.path.join(work, "data"), PAGES)
        os.chmod(self.data, 0o644)
        self.job = ["/usr/bin/python3", "-I", "-c", JOB, self.data, str(PAGES)]


def run(argv, status=0, **kwargs):
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=120 * machine.PATIENCE, **kwargs)
    if status is not None:
        check(done.returncode == status, f"{argv}: {done.returncode}: {tail(done.stderr)}")
    return done


def held(status, name="CapPrm:"):
    """The names in a set of /proc/PID/status."""
    mask = int(next(line[1] for line in status if line[0] == name), 16)
    known = {name for name, bit in BITS.items() if mask >> bit & 1}
    check(mask == sum(1 << BITS[name] for name in known), f"others are held too: {mask:#x}")
    return known


def judge(world, prefix, path, kept, *options):
    """One run: the figures of CMD's reads, the identity of CMD, and cachemon's privileges."""
    db = world.tool.fresh(".db")
    # As the user's own command would have, except for the parent.
    plain = eval(run([*PLAIN, *world.job], env=ENV).stdout)
    done = run([*prefix, path, "watch", "--db", db, *options, "--", *world.job], env=ENV)
    mine, env, parent = eval(done.stdout)
    equal("sets and ids of CMD", mine, plain[0])
    places = [value for name, value in env if name == "CACHEMON_MARKS"]
    check(len(places) == 1 and places[0].startswith("/"), f"places for marks: {places}")
    equal("environment of CMD", [pair for pair in env if pair[0] != "CACHEMON_MARKS"], plain[1])
    for name in ("CapPrm:", "CapEff:"):
        equal(f"{name} of the run", held(parent, name), kept)
    for name in ("CapInh:", "CapAmb:"):
        equal(f"{name} of the run", held(parent, name), set())
    equal("owner of the database", os.stat(db).st_uid, NOBODY)
    report, job = world.tool.report(db)
    if "cold" in options:
        return report, done
    files = [f for f in job["files"] if f["path"] == world.data]
    equal("rows of the file", len(files), 1)
    equal("calls and bytes", (files[0]["totals"]["read_calls"], files[0]["totals"]["read_bytes"]),
          (PAGES, PAGES * PAGE))
    equal("lookups", files[0]["totals"]["lookups"], PAGES)
    return report, done


@part.case
def by_file(world, _):
    """setcap; every level, because they attach differently."""
    path = program(world.tool, "cap_bpf,cap_perfmon")
    for level in ("full", "auto", "cold"):
        report, _ = judge(world, PLAIN, path, set(), "--level", level)
        equal("cost", report["run"]["cost"]["cpu_ns"], None)


@part.case
def by_caller(world, _):
    """setpriv, like AmbientCapabilities= of a unit."""
    judge(world, ambient("bpf", "perfmon"), program(world.tool), set(), "--level", "full")


@part.case
def file_gives_more(world, _):
    """Privileges needed only at the start are dropped; those used during the run are kept."""
    caps = "cap_bpf,cap_perfmon,cap_syslog"
    report, _ = judge(world, PLAIN, program(world.tool, caps), set(), "--level", "full")
    check(report["jobs"][0]["totals"]["evicted_pages"]["dontneed"] is not None,
          "CAP_SYSLOG is held and causes that need it are not measured")
    report, _ = judge(world, PLAIN, program(world.tool, caps + ",cap_sys_admin,cap_sys_ptrace"),
                      {"sys_admin", "sys_ptrace"}, "--level", "full")
    check(report["run"]["cost"]["cpu_ns"], "CAP_SYS_ADMIN is held and the cost is not known")


@part.case
def by_root(world, _):
    """A run of root, and one by sudo, whose files and signals are another user's."""
    for env, kept in (({}, {"sys_admin", "sys_ptrace", "dac_override", "chown", "fowner"}),
                      ({"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)},
                       {"sys_admin", "sys_ptrace", "setuid", "setgid", "kill"})):
        done = run([world.tool.cachemon, "watch", "--db", world.tool.fresh(".db"), "--",
                    *world.job], env={**ENV, **env})
        equal("the run has kept", held(eval(done.stdout)[2]), kept)


@part.case
def others_job(world, stack):
    """Another user's process, whose files nobody else may see: counted, and named."""
    private = os.path.join(world.work, "private")
    os.mkdir(private, 0o700)
    secret = fill(os.path.join(private, "secret"), PAGES)
    go, end = os.pipe(), os.pipe()
    job = subprocess.Popen(["sh", "-c", f"read x <&{go[0]}; cat {secret} >/dev/null; "
                            f"echo >&{end[1]}; read x <&{go[0]}"], pass_fds=(go[0], end[1]))
    stack.callback(job.wait)
    stack.callback(job.kill)
    watch = world.tool.watch(stack, ["--level", "full", "--interval", "100ms", "--pid",
                                     str(job.pid)], prefix=ambient("bpf", "perfmon"))
    watch.wait_started()
    os.write(go[1], b"\n")
    os.read(end[0], 1)
    os.write(go[1], b"\n")
    _, report, _ = watch.end()
    files = [f for f in report["files"] if f["path"] == secret]
    equal("rows of the file", len(files), 1)
    equal("bytes read", files[0]["totals"]["read_bytes"], PAGES * PAGE)


@part.case
def doctor_names(world, _):
    """Each missing capability by name, with its consequence."""
    for caps, missing in (("cap_bpf", {"CAP_PERFMON"}), ("cap_perfmon", {"CAP_BPF"}),
                          ("cap_bpf,cap_perfmon", set())):
        path = program(world.tool, caps)
        done = run([*PLAIN, path, "doctor", "--json"], status=1 if missing else 0)
        found = json.loads(done.stdout)["capabilities"]
        equal("required and missing", {c["name"] for c in found
                                       if c["required"] and not c["held"]}, missing)
        for c in found:
            check(c["for"] and c["without"], f"{c}: says too little")
            check(c["held"] or c["how"] or c["not_needed"], f"{c}: no way to get it")
        text = run([*PLAIN, path, "doctor"], status=None).stdout
        for name in missing:
            check(f"{name} is missing" in text, f"{name} is not named in {text!r}")


def mib(text):
    return float(re.sub(r" MiB$", "", text))


@part.case
def memory_limit(world, stack):
    """A cgroup smaller than the maps: refused, with the sizes; CMD is not run."""
    root = machine.v1_root()
    if not root or not os.path.exists(os.path.join(root, "memory.limit_in_bytes")):
        raise Skipped("no v1 memory controller here; tests/vm/systemd has the other")
    group = machine.cgroup(stack, root, f"cachemon-limit-{os.getpid()}")
    inner = machine.cgroup(stack, group, "inner")
    maps = json.loads(run([world.tool.cachemon, "doctor", "--json"]).stdout)["maps"]
    check(maps["fit"] and maps["reason"] is None, f"{maps}")
    marker = world.tool.fresh(".ran")
    watch = [world.tool.cachemon, "watch", "--db", world.tool.fresh(".db"), "--", "touch", marker]

    def inside(argv, limit, status):
        with open(f"{group}/memory.limit_in_bytes", "w", encoding="ascii") as f:
            f.write(str(limit))
        return run(["sh", "-c", f'echo $$ >{inner}/cgroup.procs; exec "$@"', "sh", *argv], status)

    limit = maps["bytes"] // MIB * MIB
    done = inside(watch, limit, 125)
    found = re.search(r"need ([\d.]+ MiB) of memory, but the limit of ([\d.]+ MiB) of "
                      r"cachemon's cgroup \((.*)\) leaves only ([\d.]+ MiB)", done.stderr)
    check(found, f"says {done.stderr!r}")
    check(mib(found[1]) * MIB >= maps["bytes"] > 0, f"maps {maps['bytes']}: {done.stderr}")
    equal("the limit", mib(found[2]), round(limit / MIB, 1))
    equal("the cgroup", found[3], group)
    check(mib(found[4]) <= mib(found[2]), done.stderr)
    check(not os.path.exists(marker), "CMD ran")
    told = json.loads(inside([world.tool.cachemon, "doctor", "--json"], limit, 1).stdout)["maps"]
    check(not told["fit"] and group in told["reason"], f"doctor: {told}")
    inside(watch, limit + 64 * MIB, 0)
    check(os.path.exists(marker), "CMD did not run")


@part.case
def unit_file(world, _):
    """systemd accepts the unit, and rates its exposure as low."""
    if not shutil.which("systemd-analyze"):
        raise Skipped("no systemd-analyze here")
    path = os.path.join(world.work, "cachemon@x.service")
    with open(UNIT, encoding="utf-8") as f, open(path, "w", encoding="utf-8") as out:
        out.write(f.read().replace("/usr/local/bin/cachemon", world.tool.cachemon))
    done = run(["systemd-analyze", "verify", path])
    check(not done.stderr and not done.stdout, f"verify: {done.stdout}{done.stderr}")
    told = run(["systemd-analyze", "security", "--offline=true", "--no-pager", path]).stdout
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", told)
    check(found and float(found[1]) <= EXPOSURE_MAX, f"security: {tail(told, 1)}")
    # The unit and the setcap line of the document name the same capabilities, and the program needs
    # them.
    with open(UNIT, encoding="utf-8") as f:
        given = re.search(r"^AmbientCapabilities=(.*)$", f.read(), re.M)[1].lower().split()
    with open(DOCS, encoding="utf-8") as f:
        setcap = re.search(r"setcap (\S+)\+ep", f.read())[1].split(",")
    equal("capabilities of the unit and of the setcap line", given, setcap)
    path = program(world.tool, ",".join(setcap))
    found = json.loads(run([*PLAIN, path, "doctor", "--json"]).stdout)
    held_now = [c["name"].lower() for c in found["capabilities"] if c["held"]]
    equal("held by that line", sorted(held_now), sorted(setcap))
    check(found["settings"]["kernel_addresses_readable"], "addresses are hidden from it")


@part.case
def locked_memory(world, _):
    """64 KiB of locked memory, as in containers: no problem if it does not apply to maps, and
    CMD keeps its own limit."""
    limit = 64 << 10
    for prefix in ([], ambient("bpf", "perfmon")):
        done = run(["prlimit", f"--memlock={limit}:{limit}", *prefix, program(world.tool), "watch",
                    "--db", world.tool.fresh(".db"), "--", "sh", "-c", "ulimit -l"])
        equal("the limit of CMD", done.stdout.strip(), str(limit >> 10))


if __name__ == "__main__":
    sys.exit(part.main(World))
