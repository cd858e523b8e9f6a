# SPDX-License-Identifier: BSD-2-Clause
"""Slurm on the loopback, in a directory of its own: controller, nodes, munge."""

import os
import shutil
import signal
import socket
import subprocess

from .machine import until, v1_root, v2_root
from .part import Failed, Skipped, equal
from .tool import tail

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "squeue", "sinfo")
# Several clusters may run at once, and each has the cgroups of the machine.
NODE = f"n{os.getpid()}"
SECOND_NODE = f"{NODE}b"
FIRST_JOB = (1000 + os.getpid() % 600000) * 100
# Reads each file that a line of its input names, and prints the number of calls and bytes. The call
# at the end of the file reads no page.
READER = """
import os, sys
for line in sys.stdin:
    fd = os.open(line.rstrip("\\n"), os.O_RDONLY)
    calls = size = 0
    while True:
        got = len(os.read(fd, 65536))
        if not got:
            break
        calls += 1
        size += got
    os.close(fd)
    print(calls, size, flush=True)
"""
CONF = """
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket={dir}/munge.sock
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool.%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.%n.log
MpiDefault=none
ProctrackType={proctrack}
TaskPlugin={task}
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
ReturnToService=2
SlurmdParameters=config_overrides
FirstJobId={first_job}
PartitionName=batch Nodes={nodes} Default=YES MaxTime=INFINITE State=UP
PlugStackConfig={dir}/plugstack.conf
"""
NODE_CONF = "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=2000\n"


# Without systemd, Slurm expects the slice in which systemd would have made its scope.
SLICE = "system.slice"
CONTROLLERS = "+cpu +memory +pids"


def make_slice():
    root = v2_root()
    os.makedirs(f"{root}/{SLICE}", exist_ok=True)
    for place in (root, f"{root}/{SLICE}"):
        with open(f"{place}/cgroup.subtree_control", "w", encoding="ascii") as f:
            f.write(CONTROLLERS)


def cgroup_plugin():
    """As on the machine: Slurm refuses cgroup v2 where v1 has controllers."""
    if v1_root():
        return "CgroupPlugin=autodetect\nCgroupMountpoint=/sys/fs/cgroup\n"
    make_slice()
    return "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"


def missing_program():
    """One of those that are not installed."""
    return next((p for p in PROGRAMS if not shutil.which(p, path="/usr/sbin:/usr/bin")), None)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Slurm:
    """memory: jobs get a cgroup with a limit of memory; cgroups: they get one at all; plugstack:
    lines that name plugins; more: lines of the configuration; nodes: each has a slurmd on this
    machine."""

    def __init__(self, stack, work, cgroups, memory, plugstack="", more="", nodes=(NODE,)):
        if missing_program():
            raise Skipped(f"{missing_program()} is not installed")
        self.dir = work
        os.mkdir(work, 0o755)
        with open(f"{work}/slurm.conf", "w") as f:
            host = socket.gethostname().split(".")[0]
            for node in nodes:
                f.write(NODE_CONF.format(node=node, host=host, port=free_port()))
            f.write(CONF.format(host=host, dir=work, nodes=",".join(nodes), first_job=FIRST_JOB, port=free_port(),
                                proctrack=f"proctrack/{'cgroup' if cgroups else 'linuxproc'}",
                                task=f"task/{'cgroup' if cgroups else 'none'}") + more)
        with open(f"{work}/plugstack.conf", "w") as f:
            f.write(plugstack)
        with open(f"{work}/cgroup.conf", "w") as f:
            f.write(f"{cgroup_plugin() if cgroups else ''}ConstrainCores=no\n"
                    f"ConstrainRAMSpace={'yes' if memory else 'no'}\n")
        self.env = {**os.environ, "SLURM_CONF": f"{work}/slurm.conf"}
        stack.callback(self.stop)
        self.pids = []
        self._munge()
        self._daemon("slurmctld", "slurmctld.pid")
        for node in nodes:
            self._daemon("slurmd", f"slurmd.{node}.pid", "-N", node)
        until(lambda: self.run("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * len(nodes), "idle nodes", 60)
        with open(f"{work}/reader.py", "w") as f:
            f.write(READER)

    def _munge(self):
        with open(f"{self.dir}/munge.key", "wb") as f:
            f.write(os.urandom(1024))
        os.chmod(f"{self.dir}/munge.key", 0o400)
        self._daemon("munged", "munged.pid", "--force", f"--socket={self.dir}/munge.sock",
                     f"--key-file={self.dir}/munge.key", f"--pid-file={self.dir}/munged.pid",
                     f"--log-file={self.dir}/munged.log", f"--seed-file={self.dir}/munge.seed")

    def _daemon(self, program, pid_file, *args):
        """In the background, and known by its pid file."""
        done = subprocess.run([f"/usr/sbin/{program}", *args], env=self.env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            raise Failed(f"{program} does not start: {tail(done.stdout)}")
        path = f"{self.dir}/{pid_file}"
        until(lambda: os.path.exists(path) and os.path.getsize(path), path)
        with open(path) as f:
            self.pids.append(int(f.read()))

    def stop(self):
        for pid in reversed(self.pids):
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                continue
            until(lambda p=pid: not os.path.exists(f"/proc/{p}"), f"the end of {pid}", 30)

    def run(self, *argv):
        return subprocess.run(argv, env=self.env, stdout=subprocess.PIPE, text=True).stdout

    def job(self, stack, name, user):
        return Job(self, stack, name, user)


class Job:
    """A step that reads the files that it is given."""

    def __init__(self, slurm, stack, name, user):
        self.process = subprocess.Popen(
            ["runuser", "-u", user, "--", "srun", "-u", "-n1", "-J", name, "-D", "/",
             "/usr/bin/python3", f"{slurm.dir}/reader.py"],
            env=slurm.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.callback(self.end)
        self.calls = self.bytes = 0
        until(lambda: slurm.run("squeue", "-h", "-n", name, "-t", "R", "-o", "%i").strip(),
              f"job {name} runs", 60)
        self.id = slurm.run("squeue", "-h", "-n", name, "-o", "%i").strip()

    def read(self, path, counted=True):
        self.process.stdin.write(path + "\n")
        self.process.stdin.flush()
        calls, size = map(int, self.process.stdout.readline().split())
        equal(f"bytes of {path}", size, os.path.getsize(path))
        self.calls += calls * counted
        self.bytes += size * counted

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
