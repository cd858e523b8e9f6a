#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A home on FUSE, as mounted by sshfs and gocryptfs, which root cannot enter: some verbs work
through sudo, and the others are refused with the reason before CMD runs."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import fuse, machine, reader  # noqa: E402
from syslib.accounts import Accounts, files_below  # noqa: E402
from syslib.part import Part, Skipped, check, equal  # noqa: E402

WHY = "FUSE without allow_other"
CAPS = "cap_bpf,cap_perfmon,cap_syslog"
part = Part(__doc__)


class World:
    def __init__(self, args, work, stack):
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True,
                               text=True)
        os.chmod(work, 0o755)
        self.accounts = Accounts(work, args.cachemon)
        self.user = self.accounts.user
        self.backing = os.path.join(work, "backing")
        self.local = os.path.join(work, "local")
        for place in (self.backing, self.local):
            os.mkdir(place, 0o700)
            os.chown(place, self.user.uid, self.user.uid)
        program = reader.build(work, "fusehome", "-D_GNU_SOURCE", "-Wl,--no-as-needed",
                               *flags.stdout.split())
        server = subprocess.Popen([program, str(self.user.uid), self.backing, self.user.home],
                                  stdout=subprocess.PIPE, text=True)
        stack.callback(server.wait)
        stack.callback(machine.unmount, self.user.home)
        equal("the FUSE server", server.stdout.readline(), "ready\n")
        self.accounts.run(self.user, "mkdir", "-p", "deep/er", status=0)

    def kept(self):
        return sorted(os.path.relpath(f, self.backing) for f in files_below(self.backing))


@part.case
def refused(world, _):
    """A database in the home, named in any way: the reason, what to do, nothing created, no CMD."""
    home = world.user.home
    try:
        os.listdir(home)
    except PermissionError:
        pass
    else:
        raise Skipped("root may enter it here: the module fuse has allow_sys_admin_access=Y")
    for argv, cwd in (([], None), (["--db", "rel.db"], None), (["--db", "../rel.db"], f"{home}/deep"),
                      (["--db", "er/x.db"], f"{home}/deep"), (["--db", f"{home}/x.db"], "/"),
                      (["--db", f"{home}/deep/er/x.db"], "/"), (["--db", f"{home}/no/x.db"], "/")):
        status, said = world.accounts.sudo("watch", *argv, "--", "echo", "CMD-ran", cwd=cwd)
        equal(f"{argv}: status", status, 125)
        check(WHY in said and "local disk" in said and "CMD-ran" not in said, f"{argv}: {said!r}")
        equal("files made", world.kept(), [])
    for argv in (["selftest", "--dir", home], ["doctor", f"{home}/deep"]):
        status, said = world.accounts.sudo(*argv)
        equal(f"{argv}: status", status, 1)
        check(WHY in said, f"{argv}: {said!r}")
    # Root without sudo.
    for argv in (["watch", "--db", f"{home}/x.db", "--", "true"], ["runs", "--db", f"{home}/x.db"]):
        status, said = world.accounts.root(*argv)
        check(status and WHY in said, f"{argv}: {said!r}")
    # An error with another reason is reported as usual.
    _, said = world.accounts.sudo("watch", "--db", f"{world.accounts.other.home}/x.db", "--", "true")
    check("(as user cmuser, who called sudo" in said and WHY not in said, f"{said!r}")


@part.case
def database_elsewhere(world, _):
    """With the database on a local disk the first command works, with its report in the home."""
    db = os.path.join(world.local, "x.db")
    for report in ("r.html", os.path.join(world.user.home, "abs.md")):
        status, said = world.accounts.sudo("watch", "--db", db, "--report", report, "--", "sh", "-c",
                                           "echo here >by-cmd; exit 7")
        equal("status", status, 7)
        check("page cache" in said and f"report: {report}" in said, f"{said!r}")
    equal("files made", world.kept(), ["abs.md", "by-cmd", "r.html"])
    for name in world.kept():
        equal("owner", os.stat(os.path.join(world.backing, name)).st_uid, world.user.uid)
    os.unlink(os.path.join(world.backing, "by-cmd"))


@part.case
def readers(world, _):
    """Verbs that measure nothing run as the user throughout, and so does a program with
    capabilities."""
    world.accounts.run(world.user, world.accounts.with_caps(CAPS), "watch", "--db", "own.db",
                       "--report", "own.html", "--", "true", status=0)
    for prefix in ([], ["sudo", "-n"]):
        for argv in (["report", "--db", "own.db", "-o", "again.md"], ["runs", "--db", "own.db"],
                     ["top", "--db", "own.db", "--batch", "--frames", "1"]):
            world.accounts.run(world.user, *prefix, world.accounts.program, *argv, status=0)
    equal("files made", world.kept(), ["abs.md", "again.md", "own.db", "own.html", "r.html"])


if __name__ == "__main__":
    sys.exit(fuse.main(part, World))
