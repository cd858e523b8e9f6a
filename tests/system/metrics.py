#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The file for a monitoring system: counts per mount are exact by the job's own account, counters
never fall, the file is always complete, Prometheus accepts it, and nothing else can be replaced."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import debian, machine, users  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE, Reads, fill  # noqa: E402
from syslib.world import World  # noqa: E402

ME = os.path.abspath(__file__)
INCOMPLETE = 123  # the status if CMD succeeded
PAGES = 256
NASTY = 'a "b" \\c'
SERIES = re.compile(r'([a-z0-9_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"')

part = Part(__doc__)


class Mounts(World):
    """Two filesystems; the name of one has characters that a label must escape."""

    def __init__(self, args, work, stack):
        super().__init__(args, work, stack)
        self.other = f"{work}/{NASTY}"
        machine.filesystem(stack, "ext4", f"{work}/other.img", self.other)

    def files(self):
        self.serial += 1
        return [fill(f"{place}/m{self.serial}", PAGES) for place in (self.data, self.other)]


def parse(text):
    """{(name, labels): value}; raises unless it is a complete, well-formed text."""
    series, family, seen = {}, None, set()
    check(text.endswith("\n"), "the last line is incomplete")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split()[2]
            check(family not in seen, f"two heads of {family}")
            seen.add(family)
            continue
        if line.startswith("# TYPE "):
            equal("family of a type", line.split()[2], family)
            continue
        match = SERIES.fullmatch(line)
        check(match, f"no series: {line!r}")
        equal("family of a series", match[1], family)
        labels = tuple((name, re.sub(r"\\(.)", lambda e: {"n": "\n"}.get(e[1], e[1]), value))
                       for name, value in LABEL.findall(match[2] or ""))
        check(not {"job", "instance", "path", "pid"} & {name for name, _ in labels}, line)
        check((match[1], labels) not in series, f"twice: {line}")
        series[match[1], labels] = float(match[3])
    return series


def read(path):
    with open(path, encoding="utf-8") as f:
        return parse(f.read())


def value(series, name, /, **labels):
    found = [v for (n, ls), v in series.items() if n == f"cachemon_{name}" and
             labels.items() <= dict(ls).items()]
    equal(f"series {name} {labels}", len(found), 1)
    return found[0]


def unescape(text):
    return re.sub(r"\\([0-7]{3})", lambda e: chr(int(e[1], 8)), text)


def mounted_devices():
    """{mount point: block devices there, None for another filesystem}, by the kernel's list."""
    devices = {}
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        for line in f:
            mount, _, filesystem = line.rstrip("\n").partition(" - ")
            number, point = mount.split(" ")[2], mount.split(" ")[4]
            kind, source, _ = filesystem.split(" ")
            block = (not number.startswith("0:") or kind == "btrfs") and source.startswith("/dev/")
            devices.setdefault(unescape(point), set()).add(unescape(source) if block else None)
    return devices


def check_devices(series, wanted):
    """Each series with a mount has its device; wanted: some of the mounts."""
    of, seen = mounted_devices(), {}
    for name, labels in series:
        labels = dict(labels)
        if labels.get("mount"):
            seen.setdefault(labels["mount"], set()).add(labels.get("device"))
        else:
            check("device" not in labels, f"a device without a mount: {name} {labels}")
    check(set(wanted) <= set(seen), f"no series of {set(wanted) - set(seen)}")
    for mount, devices in seen.items():
        check(len(devices) == 1 and devices <= of[mount], f"{mount}: {devices}, not {of[mount]}")
    for mount in wanted:
        check(seen[mount] != {None}, f"no device of {mount}")


def total(series, name):
    return sum(v for (n, _), v in series.items() if n == f"cachemon_{name}")


def work(*paths):
    """Reads each file twice, and reports what it read of each."""
    account = {}
    for path in paths:
        reads = Reads()
        reads.path(path)
        reads.path(path)
        account[path] = reads.total()
    print(json.dumps(account), flush=True)


def watched(world, stack, options, paths, job="train"):
    metrics = world.tool.fresh(".prom")
    watch = world.tool.watch(stack, [*options, "--job", job, "--metrics-file", metrics],
                             [sys.executable, "-B", ME, "--work", *paths])
    report, job, out = watch.end()
    return read(metrics), job["totals"], json.loads(out), report["run"]["sliced"]


@part.case
def counts_of_each_mount(world, stack):
    paths = world.files()
    series, totals, account, _ = watched(world, stack, ["--level", "full"], paths)
    for path in paths:
        mount, did = os.path.dirname(path), account[path]
        for name in ("read_calls", "read_bytes", "lookups"):
            equal(f"{name} of {mount}", value(series, f"job_{name}_total", mount=mount), did[name])
        # Each page was read from the disk once, by a miss or ahead of it.
        brought = value(series, "job_misses_total", mount=mount) + \
            value(series, "job_prefetched_pages_total", mount=mount)
        equal(f"pages of {mount}", brought, PAGES)
        equal(f"hits of {mount}", value(series, "job_hits_total", mount=mount),
              did["lookups"] - value(series, "job_misses_total", mount=mount))
    for name in ("read_calls", "read_bytes", "lookups", "hits", "misses", "prefetched_pages",
                 "refaults", "stalls"):
        equal(f"{name} of all mounts", total(series, f"job_{name}_total"), totals[name])
    check_devices(series, [os.path.dirname(path) for path in paths])
    equal("waiting", round(total(series, "job_stall_seconds_total") * 1e9), totals["stall_ns"])
    equal("origins", total(series, "job_prefetch_origin_pages_total"), totals["prefetched_pages"])
    equal("user", value(series, "job_info", user="root", name="train", manager="command"), 1)
    equal("running", value(series, "job_running"), 0)
    equal("losses", total(series, "losses_total"), 0)


@part.case
def by_default(world, stack):
    """Counts of the per-read hook are exact, or absent once it is off for a time."""
    paths = world.files()
    series, _, account, sliced = watched(world, stack, [], paths)
    names = {name for name, _ in series}
    for path in paths:
        mount = os.path.dirname(path)
        equal(f"pages of {mount}", value(series, "job_misses_total", mount=mount) +
              value(series, "job_prefetched_pages_total", mount=mount), PAGES)
        if not sliced:
            equal(f"lookups of {mount}", value(series, "job_lookups_total", mount=mount),
                  account[path]["lookups"])
    equal("lookups are absent", "cachemon_job_lookups_total" not in names, sliced)


def again(path):
    """Reads a cached file until the input ends."""
    os.set_blocking(0, False)
    with open(path, "rb", buffering=0) as f:
        while True:
            for at in range(0, os.fstat(f.fileno()).st_size, PAGE):
                os.pread(f.fileno(), PAGE, at)
            with contextlib.suppress(BlockingIOError):
                if not os.read(0, 1):
                    return


@part.case
def in_slices(world, stack):
    """No estimate and no lower bound is a counter; the exact ones go on."""
    metrics = world.tool.fresh(".prom")
    watch = world.tool.watch(stack, ["--max-overhead", "0.1%", "--metrics-file", metrics],
                             [sys.executable, "-B", ME, "--again", world.files()[0]],
                             stdin=subprocess.PIPE)
    watch.wait_sliced()
    watch.process.stdin.close()
    watch.process.stdin = None
    _, job, _ = watch.end()
    series = read(metrics)
    names = {name for name, _ in series}
    for name in ("lookups_total", "hits_total", "read_calls_total", "read_bytes_total",
                 "delayed_hits_total", "prefetch_fate_pages_total",
                 "prefetch_resident_unused_pages"):
        check(f"cachemon_job_{name}" not in names, f"{name} is not exact")
    equal("misses", total(series, "job_misses_total"), job["totals"]["misses"])
    equal("prefetched", total(series, "job_prefetched_pages_total"),
          job["totals"]["prefetched_pages"])


@part.case
def without_the_read_hook(world, stack):
    series, totals, _, _ = watched(world, stack, ["--level", "cold"], world.files())
    names = {name for name, _ in series}
    for name in ("lookups", "hits", "read_calls", "read_bytes", "delayed_hits"):
        check(f"cachemon_job_{name}_total" not in names, f"{name} was not measured")
    equal("misses", total(series, "job_misses_total"), totals["misses"])
    equal("live", value(series, "probe_live", role="read"), 0)


@part.case
def kind_of_a_job_found_by_name(world, stack):
    name, metrics = f"cachemon-named-{os.getpid()}", world.tool.fresh(".prom")
    root = machine.v2_root()
    if not root:
        raise Skipped("no cgroup v2 here")
    machine.cgroup(stack, root, name)
    watch = world.tool.watch(stack, ["--job", name, "--metrics-file", metrics])
    watch.wait_intervals(1)
    watch.interrupt()
    watch.end()
    equal("kind", value(read(metrics), "job_info", manager="cgroup", jobid=name), 1)


@part.case
def grows_while_it_runs(world, stack):
    path = world.files()[0]
    metrics = world.tool.fresh(".prom")
    watch = world.tool.watch(stack, ["--level", "full", "--metrics-file", metrics],
                             ["sh", "-c", f"while read -r line; do cat {path} > /dev/null; "
                              "echo done; done"], stdin=subprocess.PIPE)
    machine.until(lambda: os.path.exists(metrics), "the first text")
    before = read(metrics)
    equal("running", value(before, "job_running"), 1)
    for _ in range(3):
        calls = total(before, "job_read_bytes_total")
        watch.process.stdin.write("go\n")
        watch.process.stdin.flush()
        equal("the job", watch.process.stdout.readline(), "done\n")
        machine.until(lambda at=calls: total(read(metrics), "job_read_bytes_total") >=
                      at + PAGES * PAGE, "the bytes of a turn")
        now = read(metrics)
        for key, was in before.items():
            if key[0].endswith("_total"):
                check(key in now and now[key] >= was, f"{key} fell from {was} to {now.get(key)}")
        before = now
    watch.process.stdin.close()
    watch.process.stdin = None
    watch.end()
    equal("running at the end", value(read(metrics), "job_running"), 0)


@part.case
def prometheus_accepts_it(world, stack):
    tool = debian.program(world.work, "prometheus", "promtool")
    metrics = world.tool.fresh(".prom")
    world.tool.watch(stack, ["--level", "full", "--job", 'x"\\y\n\x01é', "--metrics-file", metrics],
                     ["cat", *world.files()], stdout=subprocess.DEVNULL).end()
    with open(metrics, "rb") as f:
        done = subprocess.run([tool, "check", "metrics"], stdin=f, capture_output=True, text=True)
    equal("promtool", (done.returncode, done.stdout + done.stderr), (0, ""))
    equal("name", value(read(metrics), "job_info", name='x"\\y\n\x01é'), 1)


@part.case
def refused(world, stack):
    """Before CMD starts, in one line, and without any file."""
    ran = world.tool.fresh(".ran")
    for name, why in ((f"{world.data}/x.db", "ending in .prom"), (".prom", "ending in .prom"),
                      (f"{world.data}/nowhere/x.prom", "No such file")):
        watch = world.tool.watch(stack, ["--metrics-file", name], ["touch", ran])
        _, errors = watch.finish()
        check(watch.process.returncode in (2, 125), f"{name}: {watch.process.returncode}")
        check(why in errors, f"{name}: {errors}")
        check(not os.path.exists(ran) and not os.path.exists(name), f"{name}: the command ran")


@part.case
def the_last_write_fails(world, _stack):
    """The error is printed, also after an earlier one, and the exit status is not 0; that of the
    command goes first."""
    folder = f"{world.work}/gone"
    for number, (status, ended, wait) in enumerate(((0, INCOMPLETE, 0), (0, INCOMPLETE, 4), (7, 7, 0))):
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        path, db = f"{folder}/job.prom", f"{world.work}/gone{number}.db"
        done = subprocess.run([world.args.cachemon, "watch", "--db", db, "--metrics-file", path, "--", "sh", "-c",
                               f"rm -r {folder}; sleep {wait}; exit {status}"], stderr=subprocess.PIPE, text=True)
        equal(f"exit status after {status}", done.returncode, ended)
        errors = [line for line in done.stderr.splitlines() if path in line]
        equal("errors", len(errors), 2 if wait else 1)
        check(all("No such file or directory" in line for line in errors), f"no reason: {errors}")


@part.case
def written_as_the_user(world, stack):
    """Nothing is written with privileges into a directory of root."""
    place = f"{world.data}/root"
    os.mkdir(place, 0o755)
    program = users.program(world.tool, "cap_bpf,cap_perfmon")
    done = subprocess.run([*users.PLAIN, program, "watch", "--db", "/tmp/none.db", "--metrics-file",
                           f"{place}/x.prom", "--", "true"], capture_output=True, text=True)
    equal("status", done.returncode, 125)
    check("Permission denied" in done.stderr, done.stderr)
    equal("files", os.listdir(place), [])


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(*sys.argv[2:])
    if sys.argv[1:2] == ["--again"]:
        return again(sys.argv[2])
    return part.main(Mounts)


if __name__ == "__main__":
    sys.exit(main())
