#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of every system and layout are found by their cgroups, and counted exactly: each has a
process in the cgroup where its system would place it."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemon import Daemon, start_jobs, write_config  # noqa: E402
from syslib import machine  # noqa: E402
from syslib.jobworld import OPTIONS, expect, lines_of, main  # noqa: E402
from syslib.part import Part, Skipped, equal  # noqa: E402

part = Part(__doc__)
OWN = f"t{os.getpid()}"
NUMBER = 100000 + os.getpid() % 100000 * 10


def hexadecimal(i, digits=64):
    return f"{os.getpid():08x}{i:0{digits - 8}x}"


def uid(i):
    digits = hexadecimal(i, 32)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


class Layout:
    """option: what a user gives; identity: what the job is; path: of its process, from the root of
    cgroup v2."""

    def __init__(self, kind, identity, path, option=None):
        self.kind, self.identity, self.path, self.option = kind, identity, path, option or identity


def kubelet_slices(i, container):
    pod = f"{OWN}-kubepods-burstable-pod{uid(i).replace('-', '_')}.slice"
    return f"{OWN}-kubepods.slice/{OWN}-kubepods-burstable.slice/{pod}/{container}-{hexadecimal(i)}.scope"


LAYOUTS = {
    "slurm_of_systemd": Layout("slurm", f"{NUMBER}", f"{OWN}_slurmstepd.scope/job_{NUMBER}/step_0/user/task_0"),
    "service": Layout("unit", f"{OWN}.service", f"{OWN}.service", OWN),
    "service_in_a_slice": Layout("unit", f"{OWN}a@1.service", f"{OWN}.slice/{OWN}a@1.service"),
    "docker_of_systemd": Layout("container", hexadecimal(1), f"{OWN}x.slice/docker-{hexadecimal(1)}.scope"),
    "docker_of_cgroupfs": Layout("container", hexadecimal(2), f"{OWN}/{hexadecimal(2)}", hexadecimal(2)[:12]),
    "podman_of_systemd": Layout("container", hexadecimal(3), f"{OWN}y.slice/libpod-{hexadecimal(3)}.scope/container"),
    "podman_of_cgroupfs": Layout("container", hexadecimal(4), f"{OWN}/libpod-{hexadecimal(4)}"),
    "nerdctl": Layout("container", hexadecimal(5), f"{OWN}z.slice/nerdctl-{hexadecimal(5)}.scope"),
    "kubelet_of_cgroupfs": Layout("pod", uid(6), f"{OWN}/kubepods/besteffort/pod{uid(6)}/{hexadecimal(6)}"),
    "kubelet_of_systemd": Layout("pod", uid(7), kubelet_slices(7, "cri-containerd")),
    "kubelet_with_crio": Layout("pod", uid(8), kubelet_slices(8, "crio")),
    "static_pod": Layout("pod", hexadecimal(9, 32), f"{OWN}/kubepods/pod{hexadecimal(9, 32)}/{hexadecimal(9)}"),
    "libvirt_of_systemd": Layout("vm", f"{OWN}-a.b", f"machine-qemu\\x2d1\\x2d{OWN}\\x2da.b.scope/libvirt/emulator"),
    "libvirt_of_cgroupfs": Layout("vm", f"{OWN}c", f"{OWN}/qemu-2-{OWN}c.libvirt-qemu/emulator"),
}
# The same job in all of them; Slurm makes it in those that its settings name.
V1_KINDS = ("freezer", "memory", "cpuset", "cpuacct", "pids")


def nested(stack, root, path, made):
    """The cgroup at that path, and those above it."""
    for name in path.split("/"):
        root = f"{root}/{name}"
        if root not in made:
            made.add(machine.cgroup(stack, *root.rsplit("/", 1)))
    return root


def v2_places(stack, names):
    root = machine.v2_root()
    if not root:
        raise Skipped("no cgroup v2 here")
    made = set()
    return [nested(stack, root, LAYOUTS[name].path, made) for name in names]


def work(jobs):
    for i, job in enumerate(jobs):
        job.do("read", i % 12, "in")


@part.case
def found_by_the_daemon(world, stack):
    layouts = list(LAYOUTS.values())
    config = write_config(world, "jobs:\n  kinds: [slurm, unit, container, pod, vm]\n"
                                 f"  include: ['*:{OWN}*', '*:{hexadecimal(0)[:8]}*', 'slurm:{NUMBER}']\n"
                                 "  exclude: ['unit:*.slice', 'unit:*.scope']\n")
    daemon = Daemon(world, stack, [], *config)
    jobs, tallies = start_jobs(world, stack, v2_places(stack, LAYOUTS))
    daemon.wait_runs(len(layouts))
    work(jobs)
    daemon.end()
    runs = daemon.query("SELECT kind, external_id, run_id FROM job WHERE slot = 1 ORDER BY kind, external_id")
    equal("jobs", [run[:2] for run in runs], sorted((layout.kind, layout.identity) for layout in layouts))
    runs = {run[:2]: run[2] for run in runs}
    for layout, tally in zip(layouts, tallies):
        _, job = world.tool.report(daemon.db, str(runs[layout.kind, layout.identity]))
        expect(world, job, lines_of(tally))
        equal("processes", job["processes"], 1)


def watched(world, stack, names):
    """A watch of each by its option."""
    places = v2_places(stack, names)
    jobs, tallies = start_jobs(world, stack, places)
    for name, job, tally, place in zip(names, jobs, tallies, places):
        layout = LAYOUTS[name]
        watch = world.tool.watch(stack, [*OPTIONS, f"--{layout.kind}", layout.option])
        watch.wait_started()
        work(jobs)
        watch.wait_intervals(2)
        watch.interrupt()
        _, got, _ = watch.end()
        expect(world, got, lines_of(tally))
        equal("kind", got["kind"], layout.kind)
        top = place.removeprefix(machine.v2_root())
        cgroup = got["selector"].split("cgroup: ")[1].split(", ")[0].strip("'")
        equal(f"cgroup in {got['selector']}", top.startswith(cgroup), True)
        job.process.stdin.close()
        job.process.wait()


def watch_case(name):
    def case(world, stack):
        watched(world, stack, [name])
    case.__name__ = f"watched_{name}"
    part.case(case)


for layout_name in ("service", "docker_of_cgroupfs", "podman_of_systemd", "kubelet_of_systemd", "libvirt_of_systemd",
                    "slurm_of_systemd"):
    watch_case(layout_name)


@part.case
def pods_by_their_names(world, stack):
    """With the directories of logs that the kubelet makes for pods, also for an earlier one of that
    name."""
    names = ("kubelet_of_cgroupfs", "kubelet_of_systemd", "static_pod")
    pods = [f"{OWN}/web-{i}" for i in range(len(names))]
    logs = world.tool.fresh(".log")
    for pod, identity in [*zip(pods, (LAYOUTS[name].identity for name in names)), (pods[1], uid(90))]:
        os.makedirs(f"{logs}/pods/{pod.replace('/', '_')}_{identity}/app")
    prefix = ["unshare", "-m", "sh", "-c", f'mount --bind {logs} /var/log && exec "$@"', "sh"]
    config = write_config(world, f"jobs:\n  kinds: [pod]\n  include: ['pod:{OWN}/*']\n")
    daemon = Daemon(world, stack, [], *config, prefix=prefix)
    jobs, tallies = start_jobs(world, stack, v2_places(stack, names))
    daemon.wait_runs(len(names))
    given = [("--pod", pods[1]), ("--job", f"pod:{LAYOUTS[names[1]].identity}")]
    watches = [world.tool.watch(stack, [*OPTIONS, *words], prefix=list(prefix)) for words in given]
    for watch in watches:
        watch.wait_started()
    work(jobs)
    for watch, named in zip(watches, (None, pods[1])):
        watch.wait_intervals(2)
        watch.interrupt()
        _, got, _ = watch.end()
        expect(world, got, lines_of(tallies[1]))
        equal("name besides the given one", got["job_name"], named)
    errors = daemon.end()
    runs = {row[:2]: row[2] for row in
            daemon.query("SELECT external_id, job_name, run_id FROM job WHERE slot = 1 AND kind = 'pod'")}
    equal("pods", sorted(runs), sorted((LAYOUTS[name].identity, pod) for name, pod in zip(names, pods)))
    for name, pod, tally in zip(names, pods, tallies):
        _, job = world.tool.report(daemon.db, str(runs[LAYOUTS[name].identity, pod]))
        expect(world, job, lines_of(tally))
        said = [line for line in errors.splitlines() if f"watching pod: {LAYOUTS[name].identity}, cgroup: " in line]
        equal(f"lines about {pod}: {said}", [line.endswith(f", name: {pod}") for line in said], [True])


@part.case
def slurm_in_v1_alone(world, stack):
    """Each controller in which Slurm may make jobs, with two slurmd on the machine: the number of the
    job finds it."""
    for controller in V1_KINDS:
        root = f"/sys/fs/cgroup/{controller}"
        if not os.path.isdir(root):
            part.note(f"no v1 controller {controller} here")
            continue
        made = set()
        place, other = (nested(stack, root, f"slurm_{OWN}{node}/uid_0/job_{NUMBER + i}", made)
                        for i, node in enumerate("ab"))
        if controller == "cpuset":
            for path in sorted(made):
                for file in ("cpuset.cpus", "cpuset.mems"):
                    with open(f"{os.path.dirname(path)}/{file}", encoding="ascii") as f:
                        value = f.read()
                    with open(f"{path}/{file}", "w", encoding="ascii") as f:
                        f.write(value)
        (job, stranger), (tally, _) = start_jobs(world, stack, (place, other))
        watch = world.tool.watch(stack, [*OPTIONS, "--slurm", str(NUMBER)])
        watch.wait_started()
        work((job, stranger))
        watch.wait_intervals(2)
        watch.interrupt()
        _, got, _ = watch.end()
        expect(world, got, lines_of(tally))
        for p in (job, stranger):
            p.process.stdin.close()
            p.process.wait()


if __name__ == "__main__":
    sys.exit(main(part))
