#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Containers and virtual machines of the programs themselves, where these are installed: the daemon
and watch find them by name and by ID, and their counts are exact."""

import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemon import Daemon  # noqa: E402
from syslib.jobworld import OPTIONS, Obedient, end_process, expect, lines_of, main  # noqa: E402
from syslib.machine import until  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, fill  # noqa: E402
from syslib.tool import on_device  # noqa: E402

part = Part(__doc__)
NAME = f"cachemon{os.getpid()}"
REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINKS = ("bin", "sbin", "lib", "lib64")  # into usr


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skipped(f"{program} is not installed")


class Place:
    """A root directory for a container, and the machine's directories that it has."""

    def __init__(self, world):
        self.root = world.tool.fresh(".root")
        self.ids = world.tool.fresh(".id")
        self.shared = {"/usr", sys.prefix, REPO, os.path.dirname(world.data)}
        for path in (*self.shared, "/proc", "/sys", "/dev", "/tmp"):
            os.makedirs(self.root + path, exist_ok=True)
        for name in LINKS:
            os.symlink(f"usr/{name}", f"{self.root}/{name}")

    def volumes(self):
        return [word for path in sorted(self.shared) for word in ("-v", f"{path}:{path}")]

    def identity(self):
        """As the program writes it."""
        until(lambda: os.path.exists(self.ids) and os.path.getsize(self.ids), "the container's ID")
        with open(self.ids, encoding="ascii") as f:
            return f.read().strip()


class Contained(Obedient):
    """A process that obeys, in a container."""

    def __init__(self, world, stack, runtime):
        self.tally = world.tool.fresh(".tally")
        self.process = subprocess.Popen([*runtime, *world.argv("loop", self.tally)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        stack.callback(end_process, self.process)

    def end(self):
        self.process.stdin.close()
        equal("status of the container", self.process.wait(60), 0)


def answers(*probe):
    return subprocess.run(probe, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def service(world, stack, argv, probe):
    """Starts a daemon, unless one answers already."""
    if answers(*probe):
        return
    log = world.tool.fresh(".log")
    with open(log, "w", encoding="utf-8") as f:
        daemon = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=f, stderr=f)

    def end():
        daemon.terminate()
        daemon.wait()

    stack.callback(end)
    until(lambda: daemon.poll() is not None or answers(*probe), argv[0])
    with open(log, encoding="utf-8") as f:
        equal(f"status of {argv[0]}: {f.read()[-800:]}", daemon.poll(), None)


def watched(world, stack, kind, option, read):
    """The figures that watch counts while the job reads."""
    seen = world.tool.watch(stack, [*OPTIONS, f"--{kind}", option])
    seen.wait_started()
    read()
    seen.wait_intervals(2)
    seen.interrupt()
    return seen.end()[1]


def watch_container(world, stack, job, option):
    before = len(lines_of(job.tally))
    got = watched(world, stack, "container", option, lambda: job.do("read", 3, "in"))
    expect(world, got, lines_of(job.tally)[before:])


def start_node(world, stack, kind):
    config, directory = world.tool.fresh(".yaml"), world.tool.fresh(".run")
    os.mkdir(directory)
    socket = f"{directory}/c/socket"
    with open(config, "w", encoding="ascii") as f:
        f.write(f"jobs:\n  kinds: [{kind}]\n  include: ['{kind}:{NAME}']\nsocket:\n  path: {socket}\n")
    daemon = Daemon(world, stack, [], "--config", config)
    daemon.until(lambda: os.path.exists(socket), "the socket")
    return daemon, socket


def expect_listed(world, socket, job):
    listed = json.loads(world.tool.run("jobs", "--json", "--socket", socket))["jobs"]
    equal("jobs", [(j["job"], j["name"], j["state"]) for j in listed], [(job, NAME, "running")])


def count_with_node(world, stack, runtime, identity):
    """The daemon is there first, so that it counts from the container's first read of the data."""
    daemon, socket = start_node(world, stack, "container")
    job = Contained(world, stack, runtime)
    daemon.wait_runs(1)
    job.do("read", 1, "in")
    daemon.wait_intervals([1])
    expect_listed(world, socket, f"container:{identity()}")
    # One report: on a slow machine the daemon may refuse to copy the rows twice.
    report = json.loads(world.tool.run("report", "--json", "--job", f"container:{NAME}", "--socket", socket))
    expect(world, report["jobs"][0], lines_of(job.tally))
    daemon.end()
    return job


def check_container(world, stack, place, runtime):
    job = count_with_node(world, stack, runtime, place.identity)
    watch_container(world, stack, job, NAME)
    job.end()


@part.case
def podman(world, stack):
    need("podman", "crun")
    place = Place(world)
    manager = "systemd" if os.path.isdir("/run/systemd/system") else "cgroupfs"
    check_container(world, stack, place, [
        "podman", "--cgroup-manager", manager, "run", "-i", "--rm", "--name", NAME, "--cidfile", place.ids,
        "--network", "none", *place.volumes(), "--rootfs", place.root])


@part.case
def docker(world, stack):
    need("dockerd", "docker", "containerd", "runc")
    service(world, stack, ["dockerd", "--iptables=false", "--bridge=none", "--storage-driver=vfs"], ["docker", "info"])
    place = Place(world)
    files = subprocess.Popen(["tar", "-C", place.root, "-c", "."], stdout=subprocess.PIPE)
    subprocess.run(["docker", "import", "-", NAME], stdin=files.stdout, stdout=subprocess.DEVNULL, check=True)
    files.wait()
    stack.callback(subprocess.run, ["docker", "rmi", NAME], stdout=subprocess.DEVNULL, check=False)
    check_container(world, stack, place, [
        "docker", "run", "-i", "--rm", "--name", NAME, "--cidfile", place.ids, "--network", "none",
        *place.volumes(), NAME])


@part.case
def containerd(world, stack):
    """A container of ctr has no ID besides its name."""
    need("containerd", "ctr", "runc")
    service(world, stack, ["containerd"], ["ctr", "version"])
    place = Place(world)
    mounts = [word for path in sorted(place.shared)
              for word in ("--mount", f"type=bind,src={path},dst={path},options=rbind:rw")]
    job = Contained(world, stack, ["ctr", "run", "--rm", *mounts, "--rootfs", place.root, NAME])
    job.do("read", 1, "in")
    watch_container(world, stack, job, NAME)
    job.end()


DOMAIN = """<domain type='qemu'><name>{name}</name><memory unit='MiB'>64</memory>
<os><type arch='x86_64'>hvm</type></os>
<devices><emulator>{qemu}</emulator><disk type='file' device='disk'><driver name='qemu' type='raw' cache='writeback'/>
<source file='{image}'/><target dev='vda' bus='virtio'/></disk></devices></domain>
"""
READS, READ_BYTES = 20, 65536


@part.case
def libvirt(world, stack):
    """A domain that is paused, so that its disk is read only by order of the monitor."""
    need("libvirtd", "virsh", "qemu-system-x86_64")
    service(world, stack, ["libvirtd"], ["virsh", "-c", "qemu:///system", "list"])
    daemon, socket = start_node(world, stack, "vm")
    image = fill(f"{world.data}/image", READS * READ_BYTES // PAGE)
    domain = world.tool.fresh(".xml")
    with open(domain, "w", encoding="ascii") as f:
        f.write(DOMAIN.format(name=NAME, image=image, qemu=shutil.which("qemu-system-x86_64")))

    def virsh(*words):
        done = subprocess.run(["virsh", "-c", "qemu:///system", *words], capture_output=True, text=True, check=False)
        equal(f"status of virsh {words[0]}: {done.stderr.strip()}", done.returncode, 0)
        return done.stdout

    def read():
        for i in range(READS):
            said = virsh("qemu-monitor-command", NAME, "--hmp",
                         f'qemu-io {drive} "read {i * READ_BYTES} {READ_BYTES}"')
            check(f"read {READ_BYTES}/{READ_BYTES} bytes" in said, said)

    virsh("create", "--paused", domain)
    stack.callback(virsh, "destroy", NAME)
    drive = virsh("qemu-monitor-command", NAME, "--hmp", "info block").split()[0]
    daemon.wait_runs(1)
    expect_listed(world, socket, f"vm:{NAME}")
    daemon.end()
    got = on_device(watched(world, stack, "vm", NAME, read), world.dev)
    equal("calls, bytes and lookups", (got["read_calls"], got["read_bytes"], got["lookups"]),
          (READS, READS * READ_BYTES, READS * READ_BYTES // PAGE))


if __name__ == "__main__":
    sys.exit(main(part))
