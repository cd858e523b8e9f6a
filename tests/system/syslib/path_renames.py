# SPDX-License-Identifier: BSD-2-Clause
"""Names that change: renamed, linked, unlinked."""

import os

from .pathcase import PAGES, case, check_call, fill, libc, warm_file
from .reads import PAGE, identity

AT_FDCWD = -100
RENAME_EXCHANGE = 2

@case()
def renamed(w):
    """Between two intervals."""
    fd = w.open(f"{w.at.ext4}/f")
    w.read(fd)
    w.sync()
    os.rename(f"{w.at.ext4}/f", f"{w.at.ext4}/g")
    w.read(fd)
    w.expect(fd, f"{w.at.ext4}/g")


@case()
def renamed_at_once(w):
    """Read, renamed and read again within an interval."""
    fd = w.open(f"{w.at.ext4}/f")
    w.read(fd)
    os.rename(f"{w.at.ext4}/f", f"{w.at.ext4}/g")
    w.read(fd)
    w.expect(fd, f"{w.at.ext4}/g")


@case()
def renamed_after_reading(w):
    """Read, closed, renamed in a later interval, never touched again."""
    fd = w.open(f"{w.at.ext4}/f")
    w.read(fd)
    key = identity(fd)
    os.close(fd)
    w.sync()
    os.rename(f"{w.at.ext4}/f", f"{w.at.ext4}/g")
    w.sync()
    w.expect(key, f"{w.at.ext4}/g")


@case()
def renamed_often(w):
    """The last of many names, over several intervals."""
    fd = w.open(f"{w.at.ext4}/f")
    for i in range(8):
        os.rename(f"{w.at.ext4}/{'f' if not i else f'n{i - 1}'}", f"{w.at.ext4}/n{i}")
        w.read(fd)
        if i % 3 == 2:
            w.sync()
    w.expect(fd, f"{w.at.ext4}/n7")


@case()
def moved(w):
    """Into another directory, under the same name."""
    fd = w.open(f"{w.at.ext4}/f")
    w.read(fd)
    w.sync()
    os.mkdir(f"{w.at.ext4}/other")
    os.rename(f"{w.at.ext4}/f", f"{w.at.ext4}/other/f")
    w.read(fd)
    w.expect(fd, f"{w.at.ext4}/other/f")


def deleted_across_cpus(name, begin, end):
    """Read on one CPU, unlinked and read again on another, within an interval."""
    def function(w):
        cpus = sorted(os.sched_getaffinity(0))
        fd = w.open(f"{w.at.ext4}/f")
        os.sched_setaffinity(0, {cpus[begin]})
        w.read(fd)
        os.sched_setaffinity(0, {cpus[end]})
        os.unlink(f"{w.at.ext4}/f")
        w.read(fd)
        w.expect(fd, f"{w.at.ext4}/f", deleted=True)
    function.__name__ = name
    case()(function)


deleted_across_cpus("deleted_on_the_lower_cpu", -1, 0)
deleted_across_cpus("deleted_on_the_upper_cpu", 0, -1)


def grown_across_cpus(name, begin, end):
    """Read on one CPU, extended and read again on another, within an interval."""
    def function(w):
        cpus = sorted(os.sched_getaffinity(0))
        fd = os.open(f"{w.at.ext4}/f", os.O_RDWR)
        os.sched_setaffinity(0, {cpus[begin]})
        w.read(fd)
        os.sched_setaffinity(0, {cpus[end]})
        os.pwrite(fd, b"x", 100 * PAGE)
        w.read(fd)
        w.expect(fd, f"{w.at.ext4}/f", size=100 * PAGE + 1)
    function.__name__ = name
    case()(function)


grown_across_cpus("grown_on_the_lower_cpu", -1, 0)
grown_across_cpus("grown_on_the_upper_cpu", 0, -1)


def two_files(at):
    for name in ("a", "b"):
        fill(f"{at.ext4}/{name}", PAGES)


@case(two_files)
def exchanged(w):
    """Two files that swap their names."""
    a, b = w.open(f"{w.at.ext4}/a"), w.open(f"{w.at.ext4}/b")
    w.read(a, b)
    w.sync()
    names = [os.fsencode(f"{w.at.ext4}/{n}") for n in "ab"]
    check_call(libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE), "renameat2")
    w.read(a, b, b)
    w.expect(a, f"{w.at.ext4}/b")
    w.expect(b, f"{w.at.ext4}/a")


@case(two_files)
def replaced(w):
    """As in log rotation: b takes the place of a, which still exists without a name."""
    a, b = w.open(f"{w.at.ext4}/a"), w.open(f"{w.at.ext4}/b")
    w.read(a, b)
    w.sync()
    os.rename(f"{w.at.ext4}/b", f"{w.at.ext4}/a")
    w.read(a, b, b)
    w.sync()
    w.expect(a, f"{w.at.ext4}/a", deleted=True)
    w.expect(b, f"{w.at.ext4}/a")


def deep_file(at):
    os.makedirs(f"{at.ext4}/1/2/3/4/5/6")
    fill(f"{at.ext4}/1/2/3/4/5/6/f", PAGES)


def directory_renamed(level):
    """The directory that many levels above the file."""
    def function(w):
        parts = ["1", "2", "3", "4", "5", "6"]
        fd = w.open("/".join([w.at.ext4, *parts, "f"]))
        w.read(fd)
        w.sync()
        at = len(parts) - level
        old = "/".join([w.at.ext4, *parts[:at + 1]])
        parts[at] = "new"
        os.rename(old, "/".join([w.at.ext4, *parts[:at + 1]]))
        w.read(fd)
        w.sync()
        w.read(fd)
        w.expect(fd, "/".join([w.at.ext4, *parts, "f"]))
    function.__name__ = f"directory_{level}_above_renamed"
    return function


for above in (1, 2, 3, 4, 6):
    case(deep_file)(directory_renamed(above))


@case()
def unlinked_while_open(w):
    fd = w.open(f"{w.at.ext4}/f")
    w.read(fd)
    os.unlink(f"{w.at.ext4}/f")
    w.read(fd)
    w.sync()
    w.read(fd)
    w.expect(fd, f"{w.at.ext4}/f", deleted=True)


@case()
def unlinked_before_first_read(w):
    fd = w.open(f"{w.at.ext4}/f")
    os.unlink(f"{w.at.ext4}/f")
    w.read(fd)
    w.expect(fd, f"{w.at.ext4}/f", deleted=True)


@case()
def deleted_after_reading(w):
    """Read, closed, deleted in a later interval, never touched again."""
    fd = w.open(f"{w.at.ext4}/f")
    w.read(fd)
    key = identity(fd)
    os.close(fd)
    w.sync()
    os.unlink(f"{w.at.ext4}/f")
    w.sync()
    w.expect(key, f"{w.at.ext4}/f", deleted=True)


@case(warm_file)
def deleted_that_was_warm(w):
    """The file's pages were cached before the run: they are not the job's."""
    fd = w.open(f"{w.at.ext4}/f")
    w.read(fd)
    key = identity(fd)
    os.unlink(f"{w.at.ext4}/f")
    w.read(fd)
    os.close(fd)
    w.expect(key, f"{w.at.ext4}/f", deleted=True)


@case()
def directory_removed(w):
    os.mkdir(f"{w.at.ext4}/d")
    os.rename(f"{w.at.ext4}/f", f"{w.at.ext4}/d/f")
    fd = w.open(f"{w.at.ext4}/d/f")
    os.unlink(f"{w.at.ext4}/d/f")
    os.rmdir(f"{w.at.ext4}/d")
    w.read(fd)
    w.expect(fd, f"{w.at.ext4}/d/f", deleted=True)


@case()
def hard_linked(w):
    """Read under one name, an interval later under the other."""
    os.link(f"{w.at.ext4}/f", f"{w.at.ext4}/second")
    a = w.open(f"{w.at.ext4}/f")
    w.read(a)
    w.sync()
    b = w.open(f"{w.at.ext4}/second")
    w.read(b, b)
    w.expect(b, f"{w.at.ext4}/second")


@case()
def hard_link_removed(w):
    """The name it was read under is gone, the file is not: it must not be called deleted."""
    os.link(f"{w.at.ext4}/f", f"{w.at.ext4}/second")
    a = w.open(f"{w.at.ext4}/f")
    w.read(a)
    w.sync()
    os.unlink(f"{w.at.ext4}/f")
    w.read(a)
    w.sync()
    w.expect(a, f"{w.at.ext4}/f", f"{w.at.ext4}/second", deleted=False)


@case()
def hard_link_newest_removed(w):
    """Of two names, the one it was read under is removed: the other is the file's name."""
    os.link(f"{w.at.ext4}/f", f"{w.at.ext4}/second")
    a = w.open(f"{w.at.ext4}/second")
    w.read(a)
    os.unlink(f"{w.at.ext4}/second")
    # The kernel must know the other name: it is looked up, not read.
    os.stat(f"{w.at.ext4}/f")
    w.read(a)
    w.sync()
    w.expect(a, f"{w.at.ext4}/f", deleted=False)


@case()
def hard_links_all_removed(w):
    os.link(f"{w.at.ext4}/f", f"{w.at.ext4}/second")
    a = w.open(f"{w.at.ext4}/f")
    w.read(a)
    os.unlink(f"{w.at.ext4}/f")
    os.unlink(f"{w.at.ext4}/second")
    w.sync()
    w.read(a)
    w.expect(a, f"{w.at.ext4}/f", f"{w.at.ext4}/second", deleted=True)


@case(two_files)
def same_name_twice(w):
    """A file deleted and created again under its name: two files, both with that name."""
    path = f"{w.at.ext4}/a"
    fd = w.open(path)
    w.read(fd)
    key = identity(fd)
    os.unlink(path)
    w.sync()
    fill(path, PAGES)
    second = w.open(path)
    w.read(second, second)
    w.expect(key, path, deleted=True)
    w.expect(second, path)
