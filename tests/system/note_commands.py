#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The commands of notes that change a device's readahead, run unchanged: on a disk, a partition,
a bind mount, below another mount, a subvolume of btrfs, and btrfs over two devices."""

import glob
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import notes  # noqa: E402
from syslib import machine  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402

SIZE = 300 << 20
BEFORE_KIB = 192  # a value that no note sets
# sudo is not needed here; the rule is written to another directory; other commands are not examined
LEAD = """set -eu
sudo() { "$@"; }
cachemon() { :; }
iostat() { :; }
"""

part = Part(__doc__)


class World:
    def __init__(self, args, work, stack):
        self.work = work
        self.serial = 0

    def loop(self, stack):
        self.serial += 1
        return machine.loop(stack, f"{self.work}/{self.serial}.img", SIZE)

    def place(self):
        self.serial += 1
        return os.path.join(self.work, f"place{self.serial}")


def made(kind, *devices):
    if not shutil.which(machine.MKFS[kind][0]):
        raise Skipped(f"{machine.MKFS[kind][0]} is not installed")
    machine.run(*machine.MKFS[kind], *devices)
    return devices[0]


def queue_of(device):
    return f"/sys/block/{os.path.basename(device)}/queue/read_ahead_kb"


def bdi_of(device):
    """For the btrfs that has the device: found by btrfs's own tool, not as the notes do it."""
    uuid = re.search(r"uuid: (\S+)", machine.run("btrfs", "filesystem", "show", device)).group(1)
    return f"/sys/fs/btrfs/{uuid}/bdi/read_ahead_kb"


def on_disk(world, stack):
    device = made("ext4", world.loop(stack))
    return machine.mount(stack, device, world.place()), queue_of(device)


def on_partition(world, stack):
    """Informs the kernel, whatever partition tables it can read."""
    world.serial += 1
    image = f"{world.work}/{world.serial}.img"
    with open(image, "wb") as f:
        f.truncate(SIZE)
    stack.callback(os.unlink, image)
    disk = machine.run("losetup", "--partscan", "--find", "--show", image)
    stack.callback(subprocess.run, ["losetup", "-d", disk])
    machine.run("addpart", disk, "1", "2048", str(SIZE // 512 - 2048))
    return machine.mount(stack, made("ext4", f"{disk}p1"), world.place()), queue_of(disk)


def on_bind_mount(world, stack):
    device = made("ext4", world.loop(stack))
    below = machine.mount(stack, device, world.place())
    os.mkdir(f"{below}/part")
    return machine.mount(stack, "--bind", f"{below}/part", world.place()), queue_of(device)


def on_another_mount(world, stack):
    place = world.place()
    machine.mount(stack, made("ext4", world.loop(stack)), place)
    device = made("ext4", world.loop(stack))
    return machine.mount(stack, device, place), queue_of(device)


def on_subvolume(world, stack):
    device = made("btrfs", world.loop(stack))
    top = machine.mount(stack, device, world.place())
    machine.run("btrfs", "subvolume", "create", f"{top}/sub")
    return machine.mount(stack, "-o", "subvol=sub", device, world.place()), bdi_of(device)


def on_two_devices(world, stack):
    device = made("btrfs", world.loop(stack), world.loop(stack))
    return machine.mount(stack, device, world.place()), bdi_of(device)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read().strip()


def typed():
    """(note, its shell text) of notes that look for the device of the data."""
    found = []
    for path in sorted(glob.glob(os.path.join(notes.NOTES, "*.md"))):
        note = notes.Note(os.path.basename(path)[:-3])
        found += [(note.name, code) for language, code in note.snippets
                  if language == "shell" and "%DIRECTORY%" in code and re.search(r"setra|read_ahead_kb", code)
                  and "mountpoint" not in code]
    return found


def run_as_typed(world, code, place):
    rules = f"{world.work}/rules"
    code = code.replace("%DIRECTORY%", place).replace("/etc/udev/rules.d/60-readahead.rules", rules)
    done = subprocess.run(["bash", "-c", LEAD + code], capture_output=True, text=True)
    check(done.returncode == 0, f"exits {done.returncode}: {done.stderr.strip()}")
    return done.stdout, rules


def try_note(world, name, code, place, setting):
    with open(setting, "w", encoding="ascii") as f:
        f.write(str(BEFORE_KIB))
    said, rules = run_as_typed(world, code, place)
    sectors, kib = re.findall(r"--setra (\d+)", code), re.findall(r"echo (\d+) \| sudo tee", code)
    equal(f"{name}: settings", (len(sectors), len(kib)), (len(sectors), len(sectors)))
    if not sectors:
        check(str(BEFORE_KIB) in said.split(), f"{name}: does not say {BEFORE_KIB}: {said!r}")
        return
    equal(f"{name}: the same for both kinds", int(sectors[0]), 2 * int(kib[0]))
    equal(f"{name}: read_ahead_kb after it", int(read(setting)), int(kib[0]))
    if "udev" in code:
        device = "btrfs-*" if "/btrfs/" in setting else setting.split("/")[3]
        check(f'KERNEL=="{device}"' in read(rules) and f'"{kib[0]}"' in read(rules), f"{name}: rule {read(rules)}")


def add_case(where):
    def case(world, stack):
        place, setting = where(world, stack)
        found = typed()
        check(len(found) >= 8, f"only {len(found)} notes have such commands")
        for name, code in found:
            try_note(world, name, code, place, setting)

    case.__name__ = where.__name__
    part.case(case)


for one in (on_disk, on_partition, on_bind_mount, on_another_mount, on_subvolume, on_two_devices):
    add_case(one)

if __name__ == "__main__":
    sys.exit(part.main(World))
