# SPDX-License-Identifier: BSD-2-Clause
"""The troubles of the machine during endurance_core.py, taken in turns."""

import errno
import os
import subprocess
import sys

from endurance_load import MEMORY_MAX, fill
from faultlib.part import Failed, expect, wait_until
from control_groups import remove_cgroup  # on faultlib's path

CPU = "/sys/devices/system/cpu/cpu1/online"
IMAGE_BYTES = 320 << 20
HOG_BYTES = MEMORY_MAX * 3 // 4
KEPT_KB = 160 << 10  # of the whole machine's memory
MKFS = {"xfs": ["mkfs.xfs", "-q", "-f"], "ext4": ["mkfs.ext4", "-q", "-F"],
        "btrfs": ["mkfs.btrfs", "-q", "-f"]}


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def command(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout.strip()


def memory_kb(*names):
    fields = dict(line.split(":") for line in read("/proc/meminfo").splitlines())
    return {name: int(fields[name].split()[0]) for name in names}


def cpu(on):
    write(CPU, str(int(on)))
    expect(read(CPU).strip() == str(int(on)), f"CPU 1 is not {'on' if on else 'off'}line")


def cpu_goes():
    cpu(False)
    cpu(True)


class Filesystem:
    """A filesystem is mounted, read and unmounted; a module is loaded and unloaded with it."""

    def __init__(self, load, kind, module=False):
        self.load, self.kind, self.module = load, kind, module
        self.image = os.path.join(load.dir, f"{kind}.image")
        self.place = os.path.join(load.dir, f"{kind}.mount")

    def __call__(self):
        data = os.path.join(self.place, "data")
        if not os.path.exists(self.image):
            self.make(data)
        self.mounted(lambda: self.load.once(data))

    def make(self, data):
        os.mkdir(self.place)
        with open(self.image, "wb") as f:
            f.truncate(IMAGE_BYTES)
        command(*MKFS[self.kind], self.image)
        self.mounted(lambda: fill(data, 256))

    def mounted(self, work):
        if self.module:
            command("modprobe", self.kind)
        # Direct I/O: the cached reads of a loop device from its image would be charged to the
        # cgroup.
        device = command("losetup", "--find", "--show", "--direct-io=on", self.image)
        try:
            command("mount", "-t", self.kind, device, self.place)
            try:
                work()
            finally:
                command("umount", self.place)
        finally:
            command("losetup", "-d", device)
        if self.module:  # its last user, a kernel worker, may still be exiting
            wait_until(lambda: not subprocess.run(["modprobe", "-r", self.kind], check=False,
                                                  capture_output=True).returncode,
                       "the module's end", 60, 0.1)


class Cgroups:
    """Cgroups are created, used and removed; at: below the load's own, or in another tree."""

    def __init__(self, load, at=None):
        self.load, self.at = load, at or load.cgroup
        self.other = [load.cgroup] if at else []

    def __call__(self):
        for nr in range(3):
            path = os.path.join(self.at, f"{os.path.basename(self.load.cgroup)}.child{nr}")
            os.mkdir(path)
            try:
                self.load.once(os.path.join(self.load.dir, "child"), *self.other, path)
            finally:
                remove_cgroup(path, wait_until)


class Reclaim:
    """By command: as much as there is, or what a lower limit evicts."""

    def __init__(self, load):
        self.load = load

    def __call__(self):
        order = os.path.join(self.load.cgroup, "memory.reclaim")
        if not os.path.exists(order):
            self.load.limit(MEMORY_MAX // 2)
            self.load.limit(MEMORY_MAX)
            return
        try:
            write(order, "16M")
        except OSError as e:
            if e.errno != errno.EAGAIN:  # there was less to reclaim
                raise


class Hog:
    """Takes most of the load's memory."""

    def __init__(self, load):
        self.load = load

    def __call__(self):
        self.load.do(lambda: bytearray(b"1") * HOG_BYTES)


class WholeMemory:
    """A process takes the machine's free memory from time to time."""

    def __init__(self):
        self.turns = 0

    def __call__(self):
        take = memory_kb("MemAvailable")["MemAvailable"] - KEPT_KB
        if take > 0 and self.turns % 8 == 2:
            command(sys.executable, "-c", f"bytearray(b'1') * ({take} << 10)")
        self.turns += 1


class Churn:
    def __init__(self, troubles, left_out=None):
        """troubles: {name: function}. left_out: {name: why not here}."""
        self.troubles, self.left_out = troubles, left_out or {}
        self.turns = 0

    def attempt(self):
        """One turn; a trouble that the machine refuses is left out from then on."""
        for name, trouble in list(self.troubles.items()):
            try:
                trouble()
            except (OSError, Failed) as e:
                del self.troubles[name]
                self.left_out[name] = str(e)

    def turn(self):
        for trouble in self.troubles.values():
            trouble()
        self.turns += 1

    def told(self):
        left = "; ".join(f"{name} ({why})" for name, why in self.left_out.items())
        return f"{', '.join(self.troubles)}; left out: {left or 'nothing'}"
