# SPDX-License-Identifier: BSD-2-Clause
"""Makes a recording with readahead_record on a mounted filesystem: with its bdi, its io_pages,
tracefs.

Run as a program in a guest: recording.py RECORD PLACE FSTYPE OUT."""

import contextlib
import os
import subprocess
import sys
import tempfile

TRACEFS = "/sys/kernel/tracing"
PAGE_KB = 4
# Of every backing device that is not a disk (VM_READAHEAD_PAGES of the kernel).
IO_PAGES_ELSEWHERE = 32


def tracefs(stack):
    """Its mount point; if not mounted, it is mounted in a new place."""
    if not os.path.isdir(f"{TRACEFS}/events"):
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="cachemon-trace."))
        if subprocess.run(["mount", "-t", "tracefs", "trace", place],
                          stderr=subprocess.DEVNULL).returncode:
            return None
        stack.callback(subprocess.run, ["umount", place])
        return place
    return TRACEFS


def instance(stack, root):
    """A trace buffer of its own."""
    path = f"{root}/instances/cachemon-{os.getpid()}"
    os.mkdir(path)
    stack.callback(os.rmdir, path)
    stack.callback(write, f"{path}/events/enable", "0")
    with contextlib.suppress(FileNotFoundError):
        write(f"{path}/buffer_size_kb", "8192")
    return path


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def read(path):
    with open(path) as f:
        return f.read().strip()


def numbers(place):
    dev = os.stat(place).st_dev
    return f"{os.major(dev)}:{os.minor(dev)}"


def bdi_of(place, fstype):
    if fstype != "btrfs":
        return f"/sys/class/bdi/{numbers(place)}"
    uuid = subprocess.run(["findmnt", "-no", "UUID", place], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()
    return os.path.realpath(f"/sys/fs/btrfs/{uuid}/bdi")


def io_pages_of(place):
    path = f"/sys/dev/block/{numbers(place)}/queue/max_sectors_kb"
    return int(read(path)) // PAGE_KB if os.path.exists(path) else IO_PAGES_ELSEWHERE


def record(program, place, fstype, out, patterns=()):
    """None, or why it cannot be done here."""
    with contextlib.ExitStack() as stack:
        root = tracefs(stack)
        if not root:
            return "no tracefs"
        events = instance(stack, root)
        if not os.path.isdir(f"{events}/events/filemap/mm_filemap_add_to_page_cache"):
            return "this kernel has no tracepoint for pages that are added"
        bdi = bdi_of(place, fstype)
        before = read(f"{bdi}/read_ahead_kb")
        stack.callback(write, f"{bdi}/read_ahead_kb", before)
        with open(out, "w") as f:
            subprocess.run([program, os.path.join(place, "readahead"), bdi, events,
                            str(io_pages_of(place)), fstype, *patterns], stdout=f, check=True)
    return None


if __name__ == "__main__":
    sys.exit(record(*sys.argv[1:5], sys.argv[5:]))
