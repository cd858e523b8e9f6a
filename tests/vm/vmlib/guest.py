# SPDX-License-Identifier: BSD-2-Clause
"""One guest: QEMU without hardware virtualisation, sharing the machine's own root."""

import contextlib
import ctypes
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from . import initramfs

VIRTIOFSD = ("/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd")
BASE = "/var/tmp"


class Machine:
    """QEMU's machine for each Debian architecture."""

    def __init__(self, qemu, console, cpu, cpu_icount):
        self.qemu = qemu
        self.console = console
        self.cpu = cpu
        self.cpu_icount = cpu_icount


# Under icount a "rep movsb" is not always one instruction. The architecture's own pointer
# authentication takes most of an emulated CPU's time.
MACHINES = {
    "amd64": Machine(["qemu-system-x86_64", "-machine", "q35"], "ttyS0", "max", "max,-erms,-fsrm"),
    "arm64": Machine(["qemu-system-aarch64", "-machine", "virt,gic-version=3"], "ttyAMA0",
                     "max,pauth-impdef=on,lpa2=off", "max,pauth-impdef=on,lpa2=off"),
}
NATIVE = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
# All CPUs in one thread. With one thread per CPU, QEMU 7.2's cmpxchg16b loses flags, and kernels
# crash at boot. Without that instruction newer kernels have no memory for allocations of BPF
# programs.
ACCEL = "tcg,thread=single"
BOOTS = 3
# The time for the first boot; the second gets twice that: some hang at once, a busy machine is only
# slow.
START_S = 45
MKFS = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"],
        "btrfs": ["mkfs.btrfs", "-q", "-f"]}
APPEND = "loglevel=4 panic=-1 mitigations=off"
PR_SET_PDEATHSIG = 1
CONSOLE_LINES = 8


class Died(Exception):
    """The guest gave no result; the text has what is known about it."""


class TimedOut(Died):
    pass


def die_with_parent(sig=signal.SIGKILL):
    """For a forked child: it does not outlive a parent that is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, sig)


class Settings:
    def __init__(self, **given):
        self.scratch = "ext4"  # None: no disk
        self.scratch_mb = 4096
        self.memory_mb = 2048
        self.cpus = 2
        self.timeout_s = 300
        self.append = ""
        self.icount = False
        self.arch = NATIVE
        self.base = None  # a tree that lies over the machine's root, for another architecture
        self.first = False  # the command is the guest's first process, and ends the guest
        self.__dict__.update(given)


def script_of(command):
    """A single word is a script; several words are a program and its arguments."""
    line = command[0] if len(command) == 1 else shlex.join(command)
    return f"cd {shlex.quote(os.getcwd())} || cd /\n{line}\n"


class Guest:
    """kernel: a directory of tests/vm/kernels. out: a directory, /out in the guest."""

    def __init__(self, kernel, out, settings):
        self.kernel = kernel
        self.out = os.path.abspath(out)
        self.settings = settings

    def run(self, command):
        """Exit status of the command; its output is in out/log, the console in out/console."""
        os.makedirs(self.out, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="cachemon-guest.", dir=BASE) as work:
            self.prepare(work, command)
            for boot in range(1, BOOTS + 1):
                for name in ("started", "status", "ended", "log"):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(self.path(name))
                self.boot(work, START_S * boot)
                if os.path.exists(self.path("status")):
                    return int(self.read("status"))
                if os.path.exists(self.path("started")):
                    raise Died(f"it died under the command: {self.console_tail()}")
                os.replace(self.path("console"), self.path(f"console.{boot}"))
                print(f"guest: boot {boot} of {BOOTS} came to nothing: {self.console_tail(boot)}",
                      file=sys.stderr)
        raise Died(f"none of {BOOTS} boots reached the command: {self.console_tail(BOOTS)}")

    def path(self, name):
        return os.path.join(self.out, name)

    def read(self, name):
        with open(self.path(name), errors="replace") as f:
            return f.read().strip()

    def console_tail(self, boot=None):
        lines = self.read(f"console.{boot}" if boot else "console").splitlines()
        told = [line for line in lines if "guest: " in line or "Kernel panic" in line]
        return " | ".join((told or lines)[-CONSOLE_LINES:]) or "(silent)"

    def prepare(self, work, command):
        initramfs.make(self.kernel, os.path.join(work, "initramfs"), self.settings.base or "/")
        with open(self.path("command"), "w") as f:
            f.write(script_of(command))
        with open(self.path("settings"), "w") as f:
            f.write(f"KERNEL={shlex.quote(self.kernel)}\n"
                    f"BASE={'1' if self.settings.base else ''}\n"
                    f"SCRATCH={shlex.quote(self.settings.scratch or '')}\n"
                    f"FIRST={'1' if self.settings.first else ''}\n")

    @contextlib.contextmanager
    def share(self, work, tag, directory):
        """Shares a directory of the machine; returns QEMU's arguments for it."""
        socket = os.path.join(work, tag)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(socket)
        program = next(p for p in VIRTIOFSD if os.path.exists(p))
        with open(socket + ".log", "w") as log:
            server = subprocess.Popen(
                [program, f"--socket-path={socket}", "-o", f"source={directory}", "-o",
                 "cache=auto", "-o", "sandbox=chroot", "-o", "xattr", "--thread-pool-size=4"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent)
        try:
            deadline = time.monotonic() + 30
            while not os.path.exists(socket):
                if server.poll() is not None or time.monotonic() > deadline:
                    with open(socket + ".log") as log:
                        raise Died(f"virtiofsd does not start: {log.read().strip()}")
                time.sleep(0.02)
            yield ["-chardev", f"socket,id={tag},path={socket}",
                   "-device", f"vhost-user-fs-pci,chardev={tag},tag={tag}"]
        finally:
            end(server)

    def disk(self, work):
        if not self.settings.scratch:
            return []
        path = os.path.join(work, "disk")
        with open(path, "wb") as f:
            f.truncate(self.settings.scratch_mb << 20)
        subprocess.run([*MKFS[self.settings.scratch], path], check=True,
                       stdout=subprocess.DEVNULL)
        return ["-drive", f"file={path},format=raw,if=virtio,cache=unsafe,discard=unmap"]

    def machine(self, work):
        s = self.settings
        m = MACHINES[s.arch]
        cpu = ["-accel", ACCEL, "-cpu", m.cpu_icount if s.icount else m.cpu,
               "-smp", "1" if s.icount else str(s.cpus)]
        if s.icount:
            cpu += ["-icount", "shift=0,sleep=off"]
        return [*m.qemu, *cpu, "-m", str(s.memory_mb),
                "-nodefaults", "-no-reboot", "-display", "none", "-object",
                f"memory-backend-memfd,id=memory,size={s.memory_mb}M,share=on",
                "-numa", "node,memdev=memory", "-serial", f"file:{self.path('console')}",
                "-kernel", os.path.join(self.kernel, "vmlinuz"),
                "-initrd", os.path.join(work, "initramfs"),
                "-append", f"console={m.console} {APPEND} {s.append}".strip()]

    def boot(self, work, start_s):
        """Waits until the guest ends, by itself or by timeout."""
        with contextlib.ExitStack() as shares:
            shared = {"root": "/", "out": self.out}
            if self.settings.base:
                shared["base"] = self.settings.base
            argv = self.machine(work)
            for tag, directory in shared.items():
                argv += shares.enter_context(self.share(work, tag, directory))
            argv += self.disk(work)
            with open(self.path("qemu"), "w") as log:
                qemu = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                        preexec_fn=die_with_parent)
            try:
                self.wait(qemu, start_s)
            finally:
                end(qemu)
        if qemu.returncode > 0:
            raise Died(f"qemu exits {qemu.returncode}: {self.read('qemu')}")

    def wait(self, qemu, start_s):
        """A boot that hangs is retried; a command that hangs is not."""
        try:
            qemu.wait(min(start_s, self.settings.timeout_s))
        except subprocess.TimeoutExpired:
            if not os.path.exists(self.path("started")):
                return
        try:
            qemu.wait(max(0, self.settings.timeout_s - start_s))
        except subprocess.TimeoutExpired:
            raise TimedOut(f"not done after {self.settings.timeout_s} s: "
                           f"{self.console_tail()}") from None


def end(process):
    process.kill()
    process.wait()
