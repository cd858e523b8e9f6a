#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The facts of the machine in a run: memory compared with sysinfo(2), devices with their ioctls,
the limit and the use of the job's cgroup with what was set and read."""

import contextlib
import ctypes
import fcntl
import os
import sqlite3
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE  # noqa: E402
from syslib.world import HOT_PAGES, World  # noqa: E402

ME = os.path.abspath(__file__)
LIMIT = 96 << 20
MIB = 1 << 20
BLKRAGET, BLKROTATIONAL, BLKSECTGET = 0x1263, 0x127E, 0x1267
SECTOR = 512

part = Part(__doc__)


def rows(db, sql):
    with contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as link:
        link.row_factory = sqlite3.Row
        return [dict(r) for r in link.execute(sql)]


class Sysinfo(ctypes.Structure):
    _fields_ = [("uptime", ctypes.c_long), ("loads", ctypes.c_ulong * 3),
                *((n, ctypes.c_ulong) for n in ("total", "free", "shared", "buffer", "swap",
                                                "free_swap")),
                ("procs", ctypes.c_ushort), ("pad", ctypes.c_ushort),
                ("high", ctypes.c_ulong), ("free_high", ctypes.c_ulong), ("unit", ctypes.c_uint)]


def sysinfo():
    info = Sysinfo()
    if ctypes.CDLL(None).sysinfo(ctypes.byref(info)):
        raise OSError("sysinfo")
    return info


def ask_device(path, request, kind):
    fd = os.open(path, os.O_RDONLY)
    try:
        return struct.unpack(kind, fcntl.ioctl(fd, request, b"\0" * struct.calcsize(kind)))[0]
    finally:
        os.close(fd)


def reader(world, stack, *cgroup):
    """Reads the hot file on command, in that cgroup if there is one."""
    p = subprocess.Popen([sys.executable, ME, "--work", world.hot], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
    stack.callback(p.wait)
    stack.callback(p.kill)
    for group in cgroup:
        machine.enter_cgroup(group, p.pid)
    return p


def read_once(p):
    p.stdin.write("read\n")
    p.stdin.flush()
    equal("the reader", p.stdout.readline(), "done\n")


@part.case
def constants_and_memory(world, stack):
    watch = world.tool.watch(stack, ["--level", "full"], [sys.executable, ME, "--read", world.hot])
    watch.end()
    info = sysinfo()
    told, = rows(watch.db, "SELECT * FROM machine")
    equal("memory", told["memory_total_bytes"], info.total * info.unit)
    equal("swap", told["swap_bytes"], info.swap * info.unit)
    equal("CPUs", told["nr_cpus"], os.sysconf("SC_NPROCESSORS_ONLN"))
    gauges = rows(watch.db, "SELECT * FROM machine_interval")
    equal("rows", len(gauges), rows(watch.db, "SELECT count(*) AS n FROM interval")[0]["n"])
    for g in gauges:
        for name in ("free_bytes", "available_bytes", "file_cached_bytes", "dirty_bytes"):
            check(g[name] is not None and 0 <= g[name] < told["memory_total_bytes"],
                  f"{name}: {g[name]}")
        # The file that was read is cached.
        check(g["file_cached_bytes"] >= HOT_PAGES * PAGE, f"cached: {g['file_cached_bytes']}")


@part.case
def the_device_that_was_read(world, stack):
    device = machine.run("findmnt", "-n", "-o", "SOURCE", world.data)
    setting = f"/sys/block/{os.path.basename(device)}/queue/read_ahead_kb"
    stack.callback(lambda: open(setting, "w", encoding="ascii").write(str(machine.READ_AHEAD_KB)))
    p = reader(world, stack)
    watch = world.tool.watch(stack, ["--level", "full", "--interval", "200ms", "--pid", str(p.pid)])
    watch.wait_started()
    read_once(p)
    watch.wait_intervals(2)
    first = ask_device(device, BLKRAGET, "l") * SECTOR // 1024
    with open(setting, "w", encoding="ascii") as f:
        f.write("512")
    watch.wait_intervals(2)
    watch.interrupt()
    watch.end()
    major, minor = map(int, world.dev.split(":"))
    told, = rows(watch.db, f"SELECT * FROM device WHERE dev_major = {major} AND "
                           f"dev_minor = {minor}")
    equal("name", f"/dev/{told['name']}", device)
    equal("read_ahead_kb at first", told["read_ahead_kb"], first)
    equal("rotational", told["rotational"], ask_device(device, BLKROTATIONAL, "H"))
    sectors = ask_device(device, BLKSECTGET, "H")
    if sectors < 65535:  # the maximum that fits into the ioctl's value
        equal("max_sectors_kb", told["max_sectors_kb"], sectors * SECTOR // 1024)
    equal("io_pages", told["io_pages"], told["max_sectors_kb"] * 1024 // PAGE)
    equal("network", told["network"], 0)
    changes = rows(watch.db, f"SELECT read_ahead_kb FROM device_change WHERE dev_major = {major} "
                             f"AND dev_minor = {minor}")
    equal("changes", [c["read_ahead_kb"] for c in changes], [512])


def number(group, *names):
    for name in names:
        path = os.path.join(group, name)
        if os.path.exists(path):
            with open(path, encoding="ascii") as f:
                return int(f.read())
    raise Skipped("no memory controller in that hierarchy")


def limited(world, stack, by_cgroup):
    root = machine.v1_root() or machine.v2_root()
    if not root:
        raise Skipped("no memory controller")
    outer = machine.cgroup(stack, root, f"cachemon-limit-{os.getpid()}-{by_cgroup}")
    limit = next((f for f in ("memory.limit_in_bytes", "memory.max")
                  if os.path.exists(f"{outer}/{f}")), None)
    if not limit:
        raise Skipped("no memory controller in that hierarchy")
    with open(f"{outer}/{limit}", "w", encoding="ascii") as f:
        f.write(str(LIMIT))
    inner = machine.cgroup(stack, outer, "job")
    p = reader(world, stack, inner)
    with open(world.hot, "rb") as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    watch = world.tool.watch(stack, ["--level", "full", "--interval", "200ms",
                                     *(["--cgroup", inner] if by_cgroup
                                       else ["--pid", str(p.pid)])])
    watch.wait_started()
    read_once(p)
    watch.wait_intervals(2)
    used = number(outer, "memory.usage_in_bytes", "memory.current")
    watch.wait_intervals(1)
    watch.interrupt()
    watch.end()
    told, = rows(watch.db, "SELECT limit_bytes, at FROM job_limit")
    equal("limit", told["limit_bytes"], LIMIT)
    equal("of", os.fsdecode(told["at"]), outer)
    first, *_, last = rows(watch.db, "SELECT * FROM machine_interval ORDER BY interval_id")
    equal("limit of the interval", last["job_limit_bytes"], LIMIT)
    part.note(f"used {last['job_usage_bytes']}, by the kernel {used}; "
              f"cached {first['job_file_bytes']} to {last['job_file_bytes']}")
    # The kernel batches charges per CPU.
    check(abs(last["job_usage_bytes"] - used) <= MIB, f"used: {last['job_usage_bytes']}")
    check(abs(last["job_file_bytes"] - HOT_PAGES * PAGE) <= MIB,
          f"cached: {last['job_file_bytes']}, read {HOT_PAGES * PAGE}")


@part.case
def limit_of_a_process(world, stack):
    limited(world, stack, False)


@part.case
def limit_of_a_cgroup(world, stack):
    limited(world, stack, True)


def read_all(path):
    with open(path, "rb") as f:
        while f.read(1 << 16):
            pass


def main():
    if sys.argv[1:2] == ["--read"]:
        return read_all(sys.argv[2])
    if sys.argv[1:2] == ["--work"]:
        for _ in sys.stdin:
            read_all(sys.argv[2])
            print("done", flush=True)
        return 0
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
