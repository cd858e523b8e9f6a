#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cachemon in a chroot: it works, and files have the names they have there."""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.reads import fill, identity  # noqa: E402
from syslib.tool import named_files, raw_path, tail  # noqa: E402
from syslib.world import World  # noqa: E402

part = Part(__doc__)
PAGES = 40
READ = ["/bin/sh", "-c", "cat \"$@\" > /dev/null", "sh"]


def make_jail(world, stack):
    """A plain directory with the host's top-level ones mounted in it, including /sys."""
    jail = world.tool.fresh(".jail")
    os.mkdir(jail)
    for entry in os.scandir("/"):
        place = f"{jail}/{entry.name}"
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), place)
        elif entry.is_dir():
            bind = ["--rbind", "--make-rprivate"] if entry.name == "sys" else ["--bind"]
            machine.mount(stack, *bind, entry.path, place)
    return jail


def run(jail, *argv):
    done = subprocess.run(["chroot", jail, *argv], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120)
    equal(f"status of {argv[1]} ({tail(done.stderr)})", done.returncode, 0)
    return done.stdout


def names_of(world, db):
    _, job = world.tool.report(db)
    return {f"{e['dev']} {e['ino']}": e for e in named_files(job)}


def expect(names, file, path, pages):
    entry = names.get(" ".join(identity(file).split()[:2]))
    check(entry, f"{path}: no entry")
    equal("path", raw_path(entry), path.encode())
    equal(f"lookups of {path}", entry["totals"]["lookups"], pages)


@part.case
def doctor(world, stack):
    jail = make_jail(world, stack)
    inside, outside = run(jail, world.tool.cachemon, "doctor"), world.tool.run("doctor")
    # It is measured each time.
    price = re.compile(r"vfs_calls adds [0-9.]+ ns")
    check(price.search(outside), f"no price of system calls: {outside}")
    equal("what doctor says", price.sub("", inside), price.sub("", outside))


@part.case
def names_below(world, stack):
    """On the jail's own filesystem, and on mounts in it."""
    jail = make_jail(world, stack)
    data = machine.mount(stack, "--bind", world.data, f"{jail}/data")
    files = {"/top": fill(f"{jail}/top", PAGES), "/data/f": fill(f"{data}/f", PAGES)}
    db = world.tool.fresh(".db")
    run(jail, world.tool.cachemon, "watch", "--level", "full", "--db", db, "--", *READ, *files)
    names = names_of(world, db)
    for path, file in files.items():
        expect(names, file, path, PAGES)


@part.case
def names_outside(world, stack):
    """For a job outside of it: files outside keep their whole path."""
    jail = make_jail(world, stack)
    outside = fill(f"{world.data}/outside", PAGES)
    below = fill(f"{jail}/below", PAGES)
    job = subprocess.Popen([*READ[:2], "read line; cat \"$@\" > /dev/null", "sh", outside, below],
                           stdin=subprocess.PIPE)
    stack.callback(job.wait)
    stack.callback(job.stdin.close)
    db = world.tool.fresh(".db")
    watch = world.tool.watch(stack, ["--level", "full", "--interval", "200ms", "--pid",
                                     str(job.pid)], db=db, prefix=["chroot", jail])
    watch.wait_started()
    job.stdin.write(b"\n")
    job.stdin.flush()
    watch.end()
    names = names_of(world, db)
    expect(names, outside, outside, PAGES)
    expect(names, below, "/below", PAGES)


if __name__ == "__main__":
    sys.exit(part.main(World))
