# SPDX-License-Identifier: BSD-2-Clause
"""The existing BPF objects, and the processes that hold them. Uses bpf(2) without taking
references, which would keep an object alive."""

import ctypes
import os
import platform
import struct

from .part import wait_until

SYSCALL = {"x86_64": 321, "aarch64": 280}[platform.machine()]
NEXT_ID = {"prog": 11, "map": 12, "btf": 23, "link": 31}
OBJ_GET_INFO_BY_FD, BTF_GET_FD_BY_ID = 15, 19
# Names in /proc/PID/fd, and the key of the id in fdinfo.
FILES = {"bpf-prog": ("prog", "prog_id"), "bpf-map": ("map", "map_id"),
         "bpf_link": ("link", "link_id"), "bpf_iter": None, "btf": ("btf", "btf_id")}
KINDS = ("link", "prog", "map", "btf")

LIBC = ctypes.CDLL(None, use_errno=True)


def next_id(kind, after):
    """The next id, or None."""
    attr = ctypes.create_string_buffer(struct.pack("III", after, 0, 0) + bytes(116))
    if LIBC.syscall(SYSCALL, NEXT_ID[kind], attr, len(attr)):
        if ctypes.get_errno() == 2:
            return None
        raise OSError(ctypes.get_errno(), f"bpf(2), next {kind}")
    return struct.unpack_from("I", attr, 4)[0]


def exists(kind, number):
    """An object that is being freed has id 0."""
    return number > 0 and next_id(kind, number - 1) == number


def is_kernels(kind, number):
    """BTF of the kernel or of a module exists as long as that does, whoever opened it."""
    if kind != "btf":
        return False
    attr = ctypes.create_string_buffer(struct.pack("III", number, 0, 0) + bytes(116))
    fd = LIBC.syscall(SYSCALL, BTF_GET_FD_BY_ID, attr, len(attr))
    if fd < 0:
        return False
    info = ctypes.create_string_buffer(32)  # struct bpf_btf_info, kernel_btf comes last
    try:
        attr = ctypes.create_string_buffer(
            struct.pack("IIQ", fd, len(info), ctypes.addressof(info)) + bytes(112))
        return not LIBC.syscall(SYSCALL, OBJ_GET_INFO_BY_FD, attr, len(attr)) and \
            struct.unpack_from("I", info, 28)[0] == 1
    finally:
        os.close(fd)


def ids(kind):
    found, last = set(), 0
    while (last := next_id(kind, last)) is not None:
        found.add(last)
    return found


def everything():
    return {(kind, number) for kind in KINDS for number in ids(kind)}


def descriptors(pid):
    """((kind, id), fdinfo) of the objects that a process has open; nothing if it has ended."""
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return
    for name in names:
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if not target.startswith("anon_inode:"):
                continue
            entry = FILES.get(target[len("anon_inode:"):].strip("[]"))
            if entry:
                with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as f:
                    fields = dict(line.split(":", 1) for line in f if ":" in line)
                yield (entry[0], int(fields[entry[1]])), fields
        except (OSError, KeyError):
            continue


def held_by(pid):
    return {entry for entry, _ in descriptors(pid)}


def processes():
    return [name for name in os.listdir("/proc") if name.isdigit()]


def held_by_anyone():
    held = set()
    for pid in processes():
        held |= held_by(pid)
    return held


def held_maps_bytes():
    """The memory of all maps that processes have open."""
    maps = {entry: int(fields["memlock"]) for pid in processes()
            for entry, fields in descriptors(pid) if entry[0] == "map"}
    return sum(maps.values())


def orphans(among):
    """Objects that no process has open. They may include objects that are just being created or
    closed: ask again."""
    alive = {entry for entry in among if exists(*entry)}
    return alive and {entry for entry in alive - held_by_anyone() if exists(*entry)}


def wait_no_orphans(before):
    """Objects created since then that no process holds."""
    def none():
        return not orphans(everything() - before)
    wait_until(none, "the end of all objects without a holder", 10, 0.05)


def pins():
    """Everything in the BPF filesystems mounted here."""
    found = set()
    with open("/proc/self/mounts", encoding="utf-8") as f:
        places = [line.split()[1] for line in f if line.split()[2] == "bpf"]
    for place in places:
        for directory, names, files in os.walk(place):
            found |= {os.path.join(directory, name) for name in names + files}
    return found


def describe(entries):
    return ", ".join(f"{kind} {number}" for kind, number in sorted(entries))
