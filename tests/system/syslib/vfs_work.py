# SPDX-License-Identifier: BSD-2-Clause
"""A process that makes calls of files and directories, one system call each, and counts them.

DIRECTORY N: writes a line, waits for a byte, works, writes its own account as a line of JSON, and
waits for another byte."""

import ctypes
import json
import os
import signal
import socket
import sys

KINDS = ("read", "write", "open", "mkdir", "rmdir", "unlink")
# Of x86-64; arm64 has only the last.
CREAT, OPENAT2 = 85, 437


class Account:
    def __init__(self):
        self.calls = dict.fromkeys(KINDS, 0)
        self.errors = dict.fromkeys(KINDS, 0)
        self.bytes = {"read": 0, "write": 0}
        self.created = 0
        # Those that reached a regular file, all of which are in DIRECTORY.
        self.file_calls = {"read": 0, "write": 0, "open": 0}
        self.file_bytes = {"read": 0, "write": 0}

    def do(self, kind, call, *args, regular=True, **more):
        """Its result; None: it failed."""
        self.calls[kind] += 1
        try:
            got = call(*args, **more)
        except OSError:
            self.errors[kind] += 1
            return None
        regular = regular and kind in self.file_calls
        if regular:
            self.file_calls[kind] += 1
        if kind in self.bytes:
            n = len(got) if isinstance(got, bytes) else got
            self.bytes[kind] += n
            self.file_bytes[kind] += regular and n
        return got

    def open(self, *args, creates=False, **more):
        fd = self.do("open", os.open, *args, **more)
        self.created += creates
        return fd


def by_number(number, *args):
    got = ctypes.CDLL(None, use_errno=True).syscall(number, *args)
    if got < 0:
        raise OSError(ctypes.get_errno(), "syscall")
    return got


def directories(a, d, dir_fd, n):
    for i in range(n):
        a.do("mkdir", os.mkdir, f"{d}/d{i}")
        a.do("mkdir", os.mkdir, f"e{i}", dir_fd=dir_fd)
    for i in range(10):
        a.do("mkdir", os.mkdir, f"{d}/d{i}")
    a.do("mkdir", os.mkdir, f"{d}/none/d")
    a.do("rmdir", os.rmdir, d)
    for i in range(n):
        a.do("rmdir", os.rmdir, f"{d}/d{i}")
        a.do("rmdir", os.rmdir, f"e{i}", dir_fd=dir_fd)
    for i in range(5):
        a.do("rmdir", os.rmdir, f"{d}/d{i}")


def files(a, d, dir_fd, n):
    flags = os.O_WRONLY | os.O_CREAT
    for i in range(n):
        os.close(a.open(f"{d}/f{i}", flags, creates=True))
        os.close(a.open(f"{d}/f{i}", flags))
        os.close(a.open(f"g{i}", flags | os.O_EXCL, dir_fd=dir_fd, creates=True))
        a.open(f"{d}/f{i}", flags | os.O_EXCL)
        os.close(a.open(f"{d}/f{i}", os.O_RDONLY))
    for i in range(7):
        a.open(f"{d}/none{i}", os.O_RDONLY)
    how = (ctypes.c_ulonglong * 3)(os.O_RDWR | os.O_CREAT, 0o600, 0)
    os.close(a.do("open", by_number, OPENAT2, -100, f"{d}/how".encode(), how, 24))
    a.created += 1
    a.do("unlink", os.unlink, f"{d}/how")
    if os.uname().machine == "x86_64":
        os.close(a.do("open", by_number, CREAT, f"{d}/creat".encode(), 0o600))
        a.created += 1
        a.do("unlink", os.unlink, f"{d}/creat")
    for i in range(n):
        a.do("unlink", os.unlink, f"{d}/f{i}")
        a.do("unlink", os.unlink, f"g{i}", dir_fd=dir_fd)
    for i in range(6):
        a.do("unlink", os.unlink, f"{d}/f{i}")
    a.do("unlink", os.unlink, d)


def restarted_read(a, out, into):
    """A signal interrupts it; its handler writes the byte, and the kernel begins it again."""
    os.set_blocking(out, True)
    os.set_blocking(into, False)
    signal.set_wakeup_fd(into)
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    a.do("read", os.read, out, 100, regular=False)
    signal.set_wakeup_fd(-1)
    a.calls["write"] += 1
    a.bytes["write"] += 1


def reads_and_writes(a, d, dir_fd, n):
    fd = a.open(f"{d}/data", os.O_RDWR | os.O_CREAT, creates=True)
    for i in range(n):
        a.do("write", os.write, fd, bytes(1000 + i))
        a.do("write", os.pwrite, fd, bytes(100), i)
        a.do("write", os.writev, fd, [bytes(1000)] * 4)
        a.do("write", os.pwritev, fd, [bytes(100)] * 4, 0)
        a.do("read", os.pread, fd, 500, 0)
        a.do("read", os.preadv, fd, [bytearray(1000)] * 4, 0)
        os.lseek(fd, 0, os.SEEK_SET)
        a.do("read", os.read, fd, 700)
        a.do("read", os.readv, fd, [bytearray(300), bytearray(5)])
    a.do("read", os.pread, fd, 500, 1 << 30)  # nothing
    one, other = socket.socketpair()
    out, into = os.pipe()
    null = a.open("/dev/null", os.O_RDWR, regular=False)
    for to, back in ((one.fileno(), other.fileno()), (into, out), (null, null)):
        a.do("write", os.write, to, bytes(300), regular=False)
        a.do("read", os.read, back, 4096, regular=False)
    a.do("read", os.read, dir_fd, 100)
    a.do("write", os.write, out, b"x")
    a.do("read", os.read, into, 1)
    os.set_blocking(out, False)
    a.do("read", os.read, out, 100)  # there is nothing yet
    restarted_read(a, out, into)
    shut = a.open(f"{d}/data", os.O_WRONLY)
    a.do("read", os.read, shut, 100)  # it may not be read, but it is a file
    a.file_calls["read"] += 1
    copy = a.open(f"{d}/copy", os.O_RDWR | os.O_CREAT, creates=True)
    # Neither read(2) nor write(2).
    os.sendfile(copy, fd, 0, 2000)
    os.copy_file_range(fd, copy, 1000, 0, 0)
    # They reach no file.
    for call, what in ((os.read, 10), (os.write, b"x")):
        try:
            call(9999, what)
        except OSError:
            pass
    a.do("unlink", os.unlink, f"{d}/data")
    a.do("unlink", os.unlink, f"{d}/copy")


def main():
    d, n = sys.argv[1], int(sys.argv[2])
    os.mkdir(d)
    dir_fd = os.open(d, os.O_RDONLY | os.O_DIRECTORY)
    a = Account()
    by_number(39)  # loads what it needs
    os.write(1, b"\n")
    a.do("read", os.read, 0, 1, regular=False)  # it ends when the process is in its job
    directories(a, d, dir_fd, n)
    files(a, d, dir_fd, n)
    reads_and_writes(a, d, dir_fd, n)
    os.write(1, json.dumps(vars(a)).encode() + b"\n")
    os.read(0, 1)


if __name__ == "__main__":
    main()
