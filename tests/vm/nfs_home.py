#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A home of mode 0700 on NFS, where root has no rights: the README's first command through sudo.

The server maps root to nobody (root_squash), so a root process can neither read nor write there.
The guest serves the home to itself."""

import json
import os
import re
import shutil
import stat
import sys

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "system"), os.path.join(TESTS, "truth")]

from syslib.accounts import Accounts  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.reads import PAGE, fill  # noqa: E402
from truthlib import nfs  # noqa: E402

SKIP = 77
PAGES = 256
# By the first command.
MADE = ("report.html:644", ".local/state/cachemon/cachemon.db:600")
part = Part(__doc__.splitlines()[0])


class World:
    def __init__(self, args, work, stack):
        os.chmod(work, 0o755)
        self.work = work
        self.data = fill(os.path.join(work, "data"), PAGES)
        os.chmod(self.data, 0o644)
        self.served, homes = os.path.join(work, "served"), os.path.join(work, "nfs")
        os.mkdir(self.served, 0o755)
        stack.enter_context(nfs.loopback(self.served, homes, root="root_squash"))
        self.accounts = Accounts(work, args.cachemon, homes, self.served)
        self.user, self.other = self.accounts.user, self.accounts.other
        try:
            os.listdir(self.user.home)
        except PermissionError:
            return
        raise RuntimeError("root may read the home: the server does not squash it")

    def kept(self, *names):
        """A file of the user's home on the server, where root may look at it."""
        return os.path.join(self.served, self.user.name, *names)

    def watch(self, *argv, **kwargs):
        status, said = self.accounts.sudo("watch", *argv, **kwargs)
        check("no summary" not in said and "page cache" in said, f"no summary: {said[-400:]!r}")
        return status, said

    def check_made(self, *names):
        """Only these files were made in the home, by its user: no temporary file, no SQLite log,
        no NFS name of a deleted file that is still open."""
        made = {}
        for parent, dirs, files in os.walk(self.kept()):
            for name in dirs + files:
                st = os.lstat(os.path.join(parent, name))
                path = os.path.relpath(os.path.join(parent, name), self.kept())
                equal(f"owner of {path}", (st.st_uid, st.st_gid), (self.user.uid,) * 2)
                if name in files:
                    made[path] = f"{stat.S_IMODE(st.st_mode):o}"
                elif path.startswith(".local"):
                    equal(f"mode of {path}", oct(stat.S_IMODE(st.st_mode)), oct(0o700))
        equal("files and modes", made, dict(n.split(":") for n in names))

    def read_bytes(self, name):
        with open(self.kept(name), encoding="utf-8") as f:
            files = json.load(f)["jobs"][0]["files"]
        return [f["totals"]["read_bytes"] for f in files if f["path"] == self.data]


@part.case
def first_command(world, _):
    """Database, summary and report, in the user's own directories, and nothing else."""
    _, said = world.watch("--job", "train", "--report", "report.html", "--", "cat", world.data,
                          status=0)
    check("report: report.html" in said, f"the report is not named: {said[-400:]!r}")
    world.check_made(*MADE)
    with open(world.kept("report.html"), encoding="utf-8") as f:
        text = f.read()
    check("train" in text and len(text) > 10000, f"no report: {text[:200]!r}")


@part.case
def named_places(world, _):
    """--db and --report, relative and absolute; the status is CMD's; a reader during the run."""
    user, sub = world.user, world.kept("sub")
    os.mkdir(sub)
    os.chown(sub, user.uid, user.uid)
    world.watch("--db", "rel.db", "--report", user.path("abs.json"), "--", "sh", "-c",
                f"cat {world.data}; exit 7", cwd=user.path("sub"), status=7)
    equal("bytes read of the file", world.read_bytes("abs.json"), [PAGES * PAGE])
    _, said = world.watch("--db", user.path("abs.db"), "--job", "second", "--report", "../rel.json",
                          "--", "sh", "-c", f"cat {world.data} >/dev/null; "
                          f"'{world.accounts.program}' runs --db ../abs.db",
                          cwd=user.path("sub"), status=0)
    check(re.search(r"\bopen\b.* second on", said), f"the run is not listed meanwhile: {said}")
    equal("bytes read of the file", world.read_bytes("rel.json"), [PAGES * PAGE])
    world.check_made(*MADE, "sub/rel.db:600", "abs.json:644", "abs.db:600", "rel.json:644")


@part.case
def later_commands(world, _):
    """Readers, with sudo and without."""
    user = world.user
    for prefix in ([], ["sudo", "-n"]):
        world.accounts.run(user, *prefix, world.accounts.program, "report", "--db", "abs.db", "-o",
                           "again.json", status=0)
        world.accounts.run(user, *prefix, world.accounts.program, "runs", "--db",
                           user.path("sub/rel.db"), "--reports", user.path("pages"), status=0)
        equal("bytes read of the file", world.read_bytes("again.json"), [PAGES * PAGE])
        for name in ("again.json", "pages", "pages/index.html"):
            equal(f"owner of {name}", os.stat(world.kept(name)).st_uid, user.uid)
        os.unlink(world.kept("again.json"))
        shutil.rmtree(world.kept("pages"))
    world.check_made(*MADE, "sub/rel.db:600", "abs.json:644", "abs.db:600", "rel.json:644")


@part.case
def denied(world, _):
    """A path that the user may not write is refused before CMD; one that root may not read is
    reported."""
    other = world.other.path("o.db")
    status, said = world.accounts.sudo("watch", "--db", other, "--", "echo", "CMD-ran")
    equal(f"status ({said})", status, 125)
    check("ermission" in said and "CMD-ran" not in said, f"says {said}")
    _, said = world.accounts.sudo("report", "--db", other)
    check("ermission denied" in said, f"says {said}")
    # Root without sudo.
    status, said = world.accounts.root("report", "--db", world.user.path("abs.db"))
    equal("status", status, 1)
    check("ermission denied" in said and "as root" in said, f"says {said}")
    status, said = world.accounts.root("watch", "--db", world.user.path("abs.db"), "--", "echo",
                                       "CMD-ran")
    equal(f"status ({said})", status, 125)
    check("ermission" in said and "CMD-ran" not in said, f"says {said}")


def main():
    why = None if {"-h", "--help", "--list"} & set(sys.argv) else nfs.lacks()
    if why:
        print(why, file=sys.stderr)
        return SKIP
    return part.main(World)


if __name__ == "__main__":
    sys.exit(main())
