#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A kernel without BTF, a user without privileges, a clock that jumps, a fork storm, a cgroup or
a process that disappears, a CMD that cannot be run."""

import errno
import json
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from faultlib import refuse as refuse_program  # noqa: E402
from faultlib.cgroup import make_cgroup  # noqa: E402
from faultlib.part import Part, Skipped, expect, wait_until  # noqa: E402
from faultlib.watch import (BOUND_S, Db, Steady, Watch, check_gapless, committed,  # noqa: E402
                            run, wait_intervals)
from system_calls import NR_MEMBARRIER  # noqa: E402

part = Part("environment", __doc__, ("forks", 40000, 4000))

HOUR_S = 3600


def in_mounts(*commands):
    """Runs what follows in its own mount namespace, after these commands."""
    script = " && ".join([*commands, 'exec "$@"'])
    return ["unshare", "-m", "sh", "-c", script, "sh"]


def refused(case, prefix, words, cachemon=None, env=None):
    """watch cannot begin: an error names what is missing; 125 with CMD, 1 without; CMD is not
    run."""
    cachemon = cachemon or case.cachemon
    marker, db = case.path("cmd-ran"), case.path("refused", "run.db")
    os.makedirs(os.path.dirname(db), exist_ok=True)
    os.chmod(os.path.dirname(db), 0o777)
    for selector, status in ((["--", "touch", marker], 125), (["--pid", str(os.getpid())], 1)):
        done = run([cachemon, "watch", "--db", db, "--duration", "1s", *selector], prefix=prefix,
                   env=env)
        expect(done.status == status and not done.out, str(done))
        expect(1 <= len(done.lines()) <= 2 and done.err.startswith("cachemon: "), str(done))
        for word in words:
            expect(word in done.err, f"{word!r} is not in {done.err!r}")
    expect(not os.path.exists(marker), "CMD ran")


# ---- the kernel and privileges ----


@part.case("no BTF: watch says so, doctor too")
def no_btf(case):
    prefix = in_mounts("mount -t tmpfs none /sys/kernel/btf")
    refused(case, prefix, ["BTF"])
    done = run([case.cachemon, "doctor"], prefix=prefix)
    expect(done.status == 1 and b"BTF" in done.out, str(done))
    done = run([case.cachemon, "doctor", "--json"], prefix=prefix)
    expect(done.status == 1 and json.loads(done.out), str(done))


@part.case("BTF that is no BTF: watch says so, doctor too")
def bad_btf(case):
    junk = case.path("junk")
    for content in (b"", b"\x9f\xeb\x01\0", os.urandom(65536)):
        with open(junk, "wb") as f:
            f.write(content)
        prefix = in_mounts(f"mount --bind {junk} /sys/kernel/btf/vmlinux")
        refused(case, prefix, ["BTF"])
        done = run([case.cachemon, "doctor"], prefix=prefix)
        expect(done.status == 1 and b"BTF" in done.out, str(done))


def unprivileged_program(case):
    """A copy that any user can run."""
    os.chmod(case.dir, 0o755)
    program = case.path("cachemon")
    shutil.copy(case.cachemon, program)
    os.chmod(program, 0o755)
    return program


NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", "-all",
          "--bounding-set", "-all"]


@part.case("no privileges: watch names what is missing, doctor and readers work")
def no_privileges(case):
    program = unprivileged_program(case)
    refused(case, NOBODY, ["CAP_BPF", "CAP_PERFMON"], program)
    refused(case, ["setpriv", "--bounding-set", "-bpf,-sys_admin", "--inh-caps", "-bpf,-sys_admin"],
            ["CAP_BPF"], program)
    refused(case, ["setpriv", "--bounding-set", "-perfmon,-sys_admin",
                   "--inh-caps", "-perfmon,-sys_admin"], ["CAP_PERFMON"], program)
    done = run([program, "doctor"], prefix=NOBODY)
    expect(done.status == 1 and b"CAP_BPF" in done.out, str(done))
    db = case.path("run.db")
    expect(run([program, "watch", "--db", db, "--", "true"]).status == 0, "as root")
    # Only its owner can read it, until the owner permits others to.
    for verb in ("report", "runs"):
        done = run([program, verb, "--db", db], prefix=NOBODY)
        expect(done.status == 1 and len(done.lines()) <= 2, str(done))
    os.chmod(db, 0o644)
    for verb in ("report", "runs"):
        done = run([program, verb, "--db", db], prefix=NOBODY)
        expect(done.status == 0 and done.out, str(done))


@part.case("only CAP_BPF and CAP_PERFMON: works")
def least_privileges(case):
    program = unprivileged_program(case)
    os.chmod(case.dir, 0o777)
    caps = "+bpf,+perfmon"
    keep = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
            "--inh-caps", caps, "--ambient-caps", caps]
    db = Db(case.path("run.db"))
    done = run([program, "watch", "--db", db.path, "--", "sh", "-c", "exit 8"], prefix=keep)
    expect(done.status == 8, str(done))
    expect(db.run()["state"] == "complete" and db.job()["lookups"] > 0, str(db.job()))
    done = run([program, "watch", "--db", db.path, "--", "grep", "CapEff", "/proc/self/status"],
               prefix=keep)
    return done.out.decode().strip().replace("\t", " ")


def loaded(case):
    """Bytes of address space in which the program and its libraries can be loaded at all."""
    for size in range(8 << 20, 256 << 20, 2 << 20):
        if run([case.cachemon, "--version"], prefix=["prlimit", f"--as={size}", "--"]).status == 0:
            return size
    raise AssertionError("the program cannot be loaded in 256 MiB")


@part.case("too few descriptors, too little memory: said in a line or two")
def too_little(case):
    for limit in ("--nofile=12", "--nofile=30", *(f"--as={loaded(case) + more}" for more in (2 << 20, 8 << 20))):
        refused(case, ["prlimit", limit, "--"], [])


@part.case("membarrier is refused, as on CPUs without a tick: figures exact all the same")
def no_membarrier(case):
    steady = Steady(case)
    db = Db(case.path("run.db"))
    refuse = [sys.executable, refuse_program.__file__, str(NR_MEMBARRIER), str(errno.EINVAL)]
    ask = ("import ctypes; libc = ctypes.CDLL(None, use_errno=True); "
           f"print(libc.syscall({NR_MEMBARRIER}, 0, 0, 0), ctypes.get_errno())")
    probe = run([sys.executable, "-c", ask], prefix=refuse)
    expect(probe.out.split() == [b"-1", b"%d" % errno.EINVAL], f"it is not refused: {probe}")
    watch = Watch(case, ["--db", db.path, "--level", "full", "--interval", "100ms"],
                  steady.command, prefix=refuse)
    wait_intervals(watch, db, 5)
    steady.stop()
    done = watch.wait()
    expect(done.status == steady.status and not watch.complaints(), str(done))
    check_gapless(db.intervals())
    read, truth = db.file(steady.data), steady.done()
    expect((read["read_calls"], read["read_bytes"]) == (truth["calls"], truth["bytes"]),
           f"{read['read_calls']} calls, {read['read_bytes']} bytes; the job {truth}")


@part.case("no fdinfo: the memory of the maps is not known, and not 0")
def no_fdinfo(case):
    db = case.path("run.db")
    prefix = in_mounts("mount -t tmpfs none /proc/$$/fdinfo")
    for told, within in ((True, []), (False, prefix)):
        done = run([case.cachemon, "watch", "--db", db, "--", "true"], prefix=within)
        expect(done.status == 0, str(done))
        report = [case.cachemon, "report", "--db", db, "--format"]
        shown = run([*report, "text"]).out.decode()
        line = next(line for line in shown.splitlines() if line.startswith("memory of the maps"))
        bytes_of_maps = json.loads(run([*report, "json"]).out)["run"]["cost"]["map_bytes"]
        if told:
            expect(bytes_of_maps > 1 << 20 and "MiB" in line, f"{bytes_of_maps}: {line}")
        else:
            expect(bytes_of_maps is None and line.split()[-1] == "-", f"{bytes_of_maps}: {line}")


# ---- time ----


@part.case("the clock is set back, and forward, by an hour during a run")
def clock(case):
    library = case.helper("clock_jump", "-shared", "-fPIC")
    for seconds in (-HOUR_S, HOUR_S):
        trigger = case.path(f"jump{seconds}")
        env = {"LD_PRELOAD": library, "CLOCK_JUMP_FILE": trigger, "CLOCK_JUMP_S": str(seconds)}
        db = Db(case.path(f"run{seconds}.db"))
        steady = Steady(case, name=f"steady{seconds}")
        began, began_ns = time.monotonic_ns(), time.time_ns()
        watch = Watch(case, ["--level", "full", "--db", db.path, "--interval", "100ms"],
                      steady.command, env=env)
        steady.wait_started(watch)
        wait_intervals(watch, db, 3)
        with open(trigger, "wb"):
            pass
        before = committed(db)
        wait_intervals(watch, db, before + 3)
        steady.stop()
        expect(watch.wait().status == 7 and not watch.complaints(), str(watch.wait()))
        took_ns = time.monotonic_ns() - began
        db.sound()
        row = db.run()
        expect(row["state"] == "complete" and row["loss_intervals"] == 0, f"{row}")
        expect(0 < row["duration_ns"] < took_ns, f"duration {row['duration_ns']} of {took_ns} ns")
        expect(abs(row["started_ns"] - began_ns) < took_ns, f"started {row['started_ns']}")
        check_gapless(db.intervals())
        expect(db.file(steady.data)["read_bytes"] == steady.done()["bytes"], "bytes read")
        stall = db.job()["stall_ns"]
        expect(stall <= 2 * took_ns, f"stall_ns {stall}")
        # The next run may seem to have begun before the last one.
        done = run([case.cachemon, "watch", "--db", db.path, "--", "true"], env=env)
        expect(done.status == 0, str(done))
        expect(db.run()["id"] == 2 and db.run()["state"] == "complete", f"{db.run()}")
        expect(abs(db.run()["started_ns"] - began_ns) > HOUR_S * 10**9 // 2,
               "the second run did not see the other time: this test tests nothing")
        for verb in ("report", "runs"):
            done = run([case.cachemon, verb, "--db", db.path])
            expect(done.status == 0 and done.out, str(done))


# ---- processes ----


def storm(case, kind, loops, count):
    data = case.path("data")
    with open(data, "wb") as f:
        f.write(bytes(4096))
    db, out = Db(case.path(kind + ".db")), case.path(kind + ".json")
    done = run([case.cachemon, "watch", "--level", "full", "--db", db.path, "--",
                case.helper("forkstorm", "-pthread"), kind, str(loops), str(count), data, out])
    expect(done.status == 0, str(done))
    with open(out, encoding="ascii") as f:
        truth = json.load(f)
    db.sound()
    job, row, read = db.job(), db.run(), db.file(data)
    expect(job["processes"] == truth["processes"],
           f"{job['processes']} processes; there were {truth['processes']}")
    expect(job["alive"] == 0, f"{job['alive']} alive at the end")
    expect((read["read_calls"], read["lookups"]) == (truth["reads"], truth["reads"]),
           f"{read['read_calls']} calls, {read['lookups']} lookups; there were {truth['reads']}")
    lost = {name: row[name] for name in row if name.startswith("loss_") and row[name]}
    expect(not lost, f"lost {lost}")
    return truth


@part.case("forks as fast as two loops go: processes and reads exact, nothing lost")
def fork_storm(case):
    truth = storm(case, "fork", 2, case.options.count // 2)
    rate = truth["processes"] / truth["seconds"]
    return f"{truth['processes']} processes, {rate:.0f} a second"


@part.case("forks with vfork and exec, fork and exec, double forks, threads: exact")
def other_forks(case):
    rates = []
    for kind in ("vfork", "exec", "double", "thread"):
        truth = storm(case, kind, 2, case.options.count // 20)
        rates.append(f"{kind} {truth['processes'] / truth['seconds']:.0f}")
    return "processes a second: " + ", ".join(rates)


@part.case("a watched process ends: the run ends, complete")
def pid_ends(case):
    steady = Steady(case)
    job = case.adopt(subprocess.Popen(steady.command))
    wait_until(steady.started, "the job", BOUND_S)
    db = Db(case.path("run.db"))
    watch = Watch(case, ["--level", "full", "--db", db.path, "--interval", "100ms", "--pid",
                         job.pid])
    wait_intervals(watch, db, 3)
    steady.stop()
    job.wait()
    done = watch.wait()
    expect(done.status == 0 and not watch.complaints(), str(done))
    db.sound()
    row = db.run()
    expect(row["state"] == "complete" and row["exit_status"] is None, f"{row}")
    expect(0 < db.file(steady.data)["read_bytes"] <= steady.done()["bytes"], "bytes read")


@part.case("a watched process is killed and a child lives on: the run ends with the child")
def pid_leaves_child(case):
    steady = Steady(case)
    job = case.adopt(subprocess.Popen(["sh", "-c", '"$@" & wait', "sh", *steady.command]))
    wait_until(steady.started, "the job", BOUND_S)
    db = Db(case.path("run.db"))
    watch = Watch(case, ["--level", "full", "--db", db.path, "--interval", "100ms", "--pid",
                         job.pid])
    wait_intervals(watch, db, 3)
    job.kill()
    job.wait()
    before = committed(db)
    wait_intervals(watch, db, before + 5)
    bytes_then = db.file(steady.data)["read_bytes"]
    steady.stop()
    done = watch.wait()
    expect(done.status == 0 and not watch.complaints(), str(done))
    expect(db.run()["state"] == "complete", f"{db.run()}")
    expect(bytes_then <= db.file(steady.data)["read_bytes"] <= steady.done()["bytes"], "bytes read")


@part.case("a process that is not there: said, status 1")
def no_such_pid(case):
    job = subprocess.Popen(["true"])
    job.wait()
    done = run([case.cachemon, "watch", "--db", case.path("run.db"), "--pid", str(job.pid)])
    expect(done.status == 1 and len(done.lines()) == 1 and str(job.pid) in done.err, str(done))
    expect(not os.path.exists(case.path("run.db")), "a database was made")


# ---- cgroups ----


def vanish(case, version):
    cgroup = make_cgroup(case, version)
    db, steady = Db(case.path("run.db")), Steady(case)
    watch = Watch(case, ["--level", "full", "--db", db.path, "--interval", "100ms", "--cgroup",
                         cgroup])
    wait_intervals(watch, db, 1)
    job = case.adopt(subprocess.Popen(["sh", "-c", f'echo $$ >{cgroup}/cgroup.procs; exec "$@"',
                                       "sh", *steady.command]))
    wait_until(steady.started, "the job", BOUND_S)
    wait_intervals(watch, db, committed(db) + 3)
    steady.stop()
    expect(job.wait(BOUND_S) == 7, "the job")
    # An empty cgroup is not gone: processes of the job may enter it again.
    wait_intervals(watch, db, committed(db) + 3)
    os.rmdir(cgroup)
    done = watch.wait()
    expect(done.status == 0 and len(watch.complaints()) == 1, str(done))
    expect("is gone" in watch.complaints()[0], str(done))
    db.sound()
    row, truth = db.run(), steady.done()
    expect(row["state"] == "complete", f"{row}")
    read = db.file(steady.data)
    expect((read["read_calls"], read["read_bytes"]) == (truth["calls"], truth["bytes"]),
           f"{read['read_calls']} calls, {read['read_bytes']} bytes; the job {truth}")
    done = run([case.cachemon, "watch", "--db", db.path, "--cgroup", cgroup])
    expect(done.status == 1 and len(done.lines()) == 1, str(done))


@part.case("a cgroup of the v1 memory controller vanishes: said, complete, exact")
def vanish_v1(case):
    vanish(case, "v1")


@part.case("a v2 cgroup vanishes: said, complete, exact")
def vanish_v2(case):
    vanish(case, "v2")


# ---- CMD ----


@part.case("a CMD that does not exist: 127; that cannot be executed: 126; one line each")
def no_command(case):
    plain, no_interpreter = case.path("plain"), case.path("no-interpreter")
    with open(plain, "w", encoding="ascii") as f:
        f.write("exit 0\n")
    with open(no_interpreter, "w", encoding="ascii") as f:
        f.write("#!/no/such/interpreter\n")
    os.chmod(no_interpreter, 0o755)
    db = Db(case.path("run.db"))
    for command, status in (("no-such-command-anywhere", 127), (case.path("nothing"), 127),
                            (no_interpreter, 127), (plain, 126), (case.dir, 126),
                            (os.path.join(plain, "below"), 126)):
        done = run([case.cachemon, "watch", "--db", db.path, "--", command, "argument"])
        expect(done.status == status and not done.out, str(done))
        expect(len(done.lines()) == 1 and command in done.err, str(done))
        state = db.one("SELECT state FROM run ORDER BY id DESC LIMIT 1")
        expect(state != "open", f"{command}: cachemon ended by itself, its run stays 'open'")
    db.sound()
    expect(run([case.cachemon, "watch", "--db", db.path, "--", "true"]).status == 0, "afterwards")


@part.case("a CMD without an interpreter line is run by the shell, as a shell does")
def script(case):
    plain = case.path("plain")
    with open(plain, "w", encoding="ascii") as f:
        f.write("exit 42\n")
    os.chmod(plain, 0o755)
    done = run([case.cachemon, "watch", "--db", case.path("run.db"), "--", plain])
    expect(done.status == 42, str(done))


if __name__ == "__main__":
    part.main()
