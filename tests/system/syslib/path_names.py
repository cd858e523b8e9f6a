# SPDX-License-Identifier: BSD-2-Clause
"""Possible names: any byte, any depth, no name at all."""

import mmap
import os

from .pathcase import PAGES, case, check_call, fill, libc, touch
from .reads import PAGE, drop, identity

AT_FDCWD = -100
AT_SYMLINK_FOLLOW = 0x400

@case()
def mapped_only(w):
    fd = w.open(f"{w.at.ext4}/f")
    touch(fd)
    w.expect(fd, f"{w.at.ext4}/f")
    w.expect_only({"read_calls": 0, "read_bytes": 0, "lookups": 0})


@case()
def mapped_and_closed(w):
    """Only the mapping holds it, and it is unlinked."""
    fd = w.open(f"{w.at.ext4}/f")
    key = identity(fd)
    with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as m:
        os.close(fd)
        os.unlink(f"{w.at.ext4}/f")
        sum(m[i] for i in range(0, len(m), PAGE))
        w.expect(key, f"{w.at.ext4}/f", deleted=True)


@case()
def mapped_then_read_by_a_link(w):
    """The file's first events are not from calls, and have the mapping's name; only the name used
    by the later calls still exists."""
    fd = w.open(f"{w.at.ext4}/f")
    touch(fd)
    os.close(fd)
    os.link(f"{w.at.ext4}/f", f"{w.at.ext4}/g")
    os.unlink(f"{w.at.ext4}/f")
    fd = w.open(f"{w.at.ext4}/g")
    w.read(fd, fd, fd)
    w.expect(fd, f"{w.at.ext4}/g")


def descend(base, name, levels):
    """Steps of openat: the whole path may be longer than a call accepts."""
    at = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
        os.close(at)
        at = below
    return at


def deep(name, component, levels, absolute):
    def function(w):
        at = descend(w.at.ext4, component, levels)
        path = "/".join([w.at.ext4, *[component] * levels, "leaf"])
        fd = os.open("leaf", os.O_CREAT | os.O_RDWR, dir_fd=at)
        os.write(fd, os.urandom(PAGES * PAGE))
        drop(fd)
        w.read(fd)
        w.expect(fd, path, absolute=absolute)
    function.__name__ = name
    case(None)(function)



deep("deep_150_levels", "d", 150, True)
deep("deep_1500_levels", "d", 1500, True)
deep("deep_path_of_3900_bytes", "x" * 189, 20, True)

deep("deep_path_of_8000_bytes", "y" * 199, 40, False)

NAMES = (
    b"newline\nin the\n\nmiddle", b"tab\tand \x01\x02\x1f\x7f controls", b'"double" and \'single\'',
    b"back\\slash\\", b"looks like \\x41 an escape", b"\xff\xfe\x80 bad", b"half \xe2\x82 of three",
    b"\xff and \\x41 and \\", "ünïcödé 漢字".encode(), "\u202ertl\u200f\u2066".encode(),
    "\ufeffbom \U0001f600".encode(), b"\xed\xa0\x80 surrogate", b"\xc0\xaf overlong", b"&<>;|`$(x)",
    b" leading and trailing ", b"=1+1", b"-dash", b"~", b"%s%n", b"n" * 255, b"\xff" * 255, b"\x1b[31mred",
    b"(deleted)", b"f (deleted)", b"...", b"\n", b"null", b"comma,semi;",
)


def hostile_names(at):
    for name in NAMES:
        fill(os.path.join(os.fsencode(at.ext4), name), 2)


@case(hostile_names)
def any_byte(w):
    """One run with every kind of name; the bytes come back unchanged."""
    for i, name in enumerate(NAMES):
        path = os.path.join(os.fsencode(w.at.ext4), name)
        fd = os.open(path, os.O_RDONLY)
        for _ in range(i % 3 + 1):
            w.read(fd)
        w.expect(fd, path)


@case(None)
def hostile_directory(w):
    d = os.path.join(os.fsencode(w.at.ext4), b"dir\n\xff\\ \"")
    os.mkdir(d)
    fill(os.path.join(d, b"f"), PAGES)
    fd = os.open(os.path.join(d, b"f"), os.O_RDONLY)
    w.read(fd)
    w.expect(fd, os.path.join(d, b"f"))


def nameless_file(d):
    fd = os.open(d, os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(fd, os.urandom(PAGES * PAGE))
    drop(fd)
    return fd


@case(None)
def tmpfile(w):
    """O_TMPFILE: it never had a name, but counts."""
    for d in (w.at.ext4, w.at.xfs):
        fd = nameless_file(d)
        w.read(fd)
        w.expect(fd, deleted=None)


@case(None)
def tmpfile_linked(w):
    """Linked to a name later, and opened by it."""
    fd = nameless_file(w.at.ext4)
    w.read(fd)
    w.sync()
    names = [os.fsencode(n) for n in (f"/proc/self/fd/{fd}", f"{w.at.ext4}/named")]
    check_call(libc.linkat(AT_FDCWD, names[0], AT_FDCWD, names[1], AT_SYMLINK_FOLLOW), "linkat")
    named = w.open(f"{w.at.ext4}/named")
    w.read(named)
    w.sync()
    w.expect(fd, f"{w.at.ext4}/named", deleted=False)


@case(None)
def outside(w):
    """tmpfs and memfd keep their data elsewhere: none of their reads count."""
    path = f"/dev/shm/cachemon-test-{os.getpid()}"
    shm = os.open(path, os.O_CREAT | os.O_RDWR)
    os.unlink(path)
    for fd in (shm, os.memfd_create("cachemon-test")):
        os.write(fd, os.urandom(PAGES * PAGE))
        w.reads.all(fd)
        w.absent(fd)
