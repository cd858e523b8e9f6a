#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Through a real sudo, by a real unprivileged user: the first command works in a home of mode
0700, and files given by name are opened with that user's rights only."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import machine  # noqa: E402
from syslib.accounts import Accounts, files_below  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.reads import PAGE, fill  # noqa: E402

PAGES = 256
SECRET = "launch code 0000-hunter2-S3cret"
FORMATS = ("html", "md", "json", "txt", "csv", "yaml")
FLIP = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	alarm(300);
	for (;;)
		renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE);
}
"""

part = Part(__doc__)
part.count_option("races", 200, 20, "attempts of a race for a link")


class World:
    def __init__(self, args, work, stack):
        if not shutil.which("sudo"):
            raise SystemExit("sudo.py: there is no sudo here")
        os.chmod(work, 0o755)
        self.work = work
        self.races = args.races
        self.accounts = Accounts(work, args.cachemon)
        self.user, self.other = self.accounts.user, self.accounts.other
        self.data = fill(os.path.join(work, "data"), PAGES)
        os.chmod(self.data, 0o644)
        self.vault = os.path.join(work, "vault")
        os.mkdir(self.vault, 0o700)
        self.secrets = {}
        for name in ("key", "secret.md", "secret.sql", "thresholds"):
            path = os.path.join(self.vault, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(f"{SECRET} = 17\n[{SECRET}]\n-- {SECRET}\n")
            os.chmod(path, 0o600)
            self.secrets[name] = path
        # A database of the user, recorded once.
        self.db = self.user.path("base.db")
        self.accounts.sudo("watch", "--db", self.db, "--job", "base", "--", "cat", self.data,
                           status=0)

    def leaked(self, said, what):
        check(SECRET not in said, f"{what}: prints what only root may read: {said[-300:]!r}")
        for path, data in files_below(self.user.home, self.other.home).items():
            check(SECRET.encode() not in data, f"{what}: {path} holds what only root may read")

    def flip(self, stack, a, b):
        """Exchanges two names of the user as fast as possible."""
        source, program = (os.path.join(self.work, f"flip{e}") for e in (".c", ""))
        if not os.path.exists(program):
            with open(source, "w", encoding="ascii") as f:
                f.write(FLIP)
            subprocess.run(["cc", "-O2", "-o", program, source], check=True)
        flip = subprocess.Popen(["setpriv", "--reuid", str(self.user.uid), "--regid",
                                 str(self.user.uid), "--clear-groups", program, a, b])
        stack.callback(flip.wait)
        stack.callback(flip.kill)


def owned(path, uid, mode=None):
    st = os.stat(path)
    equal(f"owner of {path}", (st.st_uid, st.st_gid), (uid, uid))
    if mode is not None:
        equal(f"mode of {path}", oct(stat.S_IMODE(st.st_mode)), oct(mode))


@part.case
def first_command(world, _):
    """watch --job --report -- CMD in a home that only its user may enter: database, summary,
    report."""
    user = world.user
    equal("mode of the home", stat.S_IMODE(os.stat(user.home).st_mode), 0o700)
    for ending in FORMATS:
        name = f"report.{ending}"
        _, said = world.accounts.sudo("watch", "--job", "train", "--report", name, "--",
                                      "cat", world.data, status=0)
        check("no summary" not in said and "page cache" in said, f"no summary: {said[-400:]!r}")
        check(f"report: {name}" in said, f"the report is not named: {said[-400:]!r}")
        owned(user.path(name), user.uid)
        with open(user.path(name), encoding="utf-8") as f:
            text = f.read()
        check("train" in text and len(text) > 200, f"{name} is no report: {text[:200]!r}")
        if ending == "json":
            read = [f["totals"]["read_bytes"] for f in json.loads(text)["jobs"][0]["files"]
                    if f["path"] == world.data]
            equal("bytes read of the file", read, [PAGES * PAGE])
    db = user.path(".local/state/cachemon/cachemon.db")
    owned(db, user.uid, 0o600)
    equal("files in its directory", os.listdir(os.path.dirname(db)), ["cachemon.db"])
    left = [n for n in os.listdir(user.home) if n.startswith(".cachemon-")]
    equal("temporary files left", left, [])


@part.case
def later_commands(world, _):
    """The commands after the first one, with sudo and without, by relative names."""
    user, run = world.user, world.accounts.run
    os.makedirs(user.path("sub"), exist_ok=True)
    os.chown(user.path("sub"), user.uid, user.uid)
    world.accounts.sudo("watch", "--db", "rel.db", "--report", "../rel.html", "--", "cat",
                        world.data, cwd=user.path("sub"), status=0)
    owned(user.path("sub", "rel.db"), user.uid, 0o600)
    owned(user.path("rel.html"), user.uid)
    for prefix in ([], ["sudo", "-n"]):
        for argv in (["report", "--db", "rel.db", "-o", "again.md"],
                     ["advise", "--db", "rel.db", "-o", "again.html"],
                     ["runs", "--db", "rel.db", "--reports", "pages"],
                     ["compare", "--db", "rel.db", "1", "1", "-o", "same.md"],
                     ["top", "--db", "rel.db", "--batch", "--frames", "1"],
                     ["whatif", "cache", "--db", "rel.db"]):
            status, said = run(user, *prefix, world.accounts.program, *argv,
                               cwd=user.path("sub"))
            check(status in (0, 1) and "ermission denied" not in said, f"{argv}: {said[-300:]}")
            for name in ("again.md", "again.html", "same.md", "pages"):
                if name in argv:
                    owned(user.path("sub", name), user.uid)
        for name in ("again.md", "again.html", "same.md"):
            os.unlink(user.path("sub", name))
        shutil.rmtree(user.path("sub", "pages"))


@part.case
def environment(world, _):
    """HOME, XDG_* and CACHEMON_* of a privileged process are those of the invoker."""
    user = world.user
    for env, db in ((["CACHEMON_DB=" + user.path("named.db")], "named.db"),
                    (["XDG_STATE_HOME=" + user.path("state")], "state/cachemon/cachemon.db"),
                    (["HOME=/root", "CACHEMON_DB="], ".local/state/cachemon/cachemon.db")):
        _, said = world.accounts.sudo("watch", "--job", "env", "--", "cat", world.data, env=env, status=0)
        owned(user.path(db), user.uid, 0o600)
        # The commands to copy name it only if a plain command would find another one: in each, or
        # once before them if they would become too long.
        path, plain = re.escape(user.path(db)), "cachemon report --run [0-9]+ --full"
        named = f"cachemon report --db {path} --run [0-9]+ --full|export CACHEMON_DB={path}\n *{plain}"
        usual = db.startswith(".local")
        check(re.search(plain if usual else named, said), f"{env}: the commands to copy: {said[-400:]}")
        equal(f"{env}: the database is named", path.replace("\\", "") in said, not usual)
        _, said = world.accounts.sudo("runs", env=env, status=0)
        check("env" in said, f"{env}: runs does not list it: {said}")
    for env in (["CACHEMON_DB=" + world.vault + "/new.db"], ["XDG_STATE_HOME=" + world.vault]):
        status, said = world.accounts.sudo("watch", "--", "true", env=env)
        equal(f"{env}: status", status, 125)
        check("ermission denied" in said, f"{env}: {said}")
    equal("files in the vault", sorted(os.listdir(world.vault)), sorted(world.secrets))


def readers(world):
    """Every option that names something to read, pointed at files that only root may read."""
    user, vault = world.user, world.vault
    rules, notes = user.path("rules"), user.path("notes")
    for place, names in ((rules, {"thresholds": "thresholds", "x.sql": "secret.sql",
                                  "y.md": "secret.md"}),
                         (notes, {"a.md": "secret.md", "b.md": "key"})):
        shutil.rmtree(place, ignore_errors=True)
        os.mkdir(place)
        for name, target in names.items():
            os.symlink(os.path.join(vault, target), os.path.join(place, name))
    key = world.secrets["key"]
    watch = ["watch", "--db", user.path("w.db"), "--report", user.path("w.html")]
    yield [*watch, "--rules", rules, "--", "true"]
    yield [*watch, "--rules", vault, "--", "true"]
    for verb in (["report"], ["advise"], ["explain"], ["runs"], ["compare", "1", "1"],
                 ["__complete", "finding"]):
        db = [] if verb[0] in ("explain",) else ["--db", world.db]
        for where in (rules, vault):
            yield [*verb, *db, "--rules", where]
    for verb in (["report"], ["advise"], ["ask", "why?"]):
        for where in (notes, vault):
            yield [*verb, "--db", world.db, "--llm-dry-run", "--notes", where]
        ask = [*verb, "--db", world.db, *([] if verb[0] == "ask" else ["--llm"]),
               "--llm-url", "http://127.0.0.1:9/v1", "--llm-model", "m"]
        yield [*ask, "--llm-key-file", key]
        yield [*ask, "--llm-ca", key]
    for verb in (["report"], ["runs"], ["whatif", "cache"], ["top", "--batch", "--frames", "1"]):
        yield [*verb, "--db", os.path.join(vault, "root.db")]
        yield [*verb, "--db", key]
    yield ["doctor", vault + "/key"]
    yield ["selftest", "--dir", vault]


@part.case
def reads_as_the_user(world, _):
    """No option makes cachemon read a file that the user may not, or show whether it exists."""
    root_db = os.path.join(world.vault, "root.db")
    subprocess.run([world.accounts.program, "watch", "--db", root_db, "--job", SECRET, "--", "true"],
                   check=True, capture_output=True)
    nr = 0
    for argv in readers(world):
        _, said = world.accounts.sudo(*argv)
        world.leaked(said, " ".join(argv))
        nr += 1
    # Without options, from the user's configuration.
    for kind, names in (("rules", ("thresholds", "x.sql", "y.md")), ("notes", ("a.md",))):
        place = world.user.path(".config", "cachemon", kind)
        os.makedirs(place)
        for name in names:
            os.symlink(world.secrets["secret.md"], os.path.join(place, name))
    for argv in (["watch", "--db", world.user.path("w.db"), "--report", world.user.path("w.html"),
                  "--", "true"], ["report", "--db", world.db], ["advise", "--db", world.db],
                 ["explain"], ["ask", "--db", world.db, "--llm-dry-run", "why?"]):
        _, said = world.accounts.sudo(*argv)
        world.leaked(said, " ".join(argv) + " with a configuration")
        nr += 1
    shutil.rmtree(world.user.path(".config"))
    for missing in ("there", "not-there"):
        _, said = world.accounts.sudo("report", "--db", f"{world.vault}/{missing}")
        check("ermission denied" in said, f"{missing}: {said}")
    os.unlink(root_db)
    equal("files in the vault", sorted(os.listdir(world.vault)), sorted(world.secrets))
    part.note(f"{nr} commands that name what only root may read")


@part.case
def writes_as_the_user(world, _):
    """No option makes cachemon write where the user may not: links, directories, groups."""
    user, vault = world.user, world.vault
    os.symlink(world.secrets["key"], user.path("link.html"))
    before = files_below(vault)
    for argv in (["watch", "--db", user.path("w.db"), "--report", user.path("link.html"), "--", "true"],
                 ["watch", "--db", vault + "/new.db", "--", "true"],
                 ["watch", "--db", user.path("link.html"), "--", "true"],
                 ["report", "--db", world.db, "-o", user.path("link.html")],
                 ["report", "--db", world.db, "-o", vault + "/r.html"],
                 ["advise", "--db", world.db, "-o", vault + "/r.html"],
                 ["runs", "--db", world.db, "--reports", vault + "/pages"],
                 ["compare", "--db", world.db, "1", "1", "-o", vault + "/c.html"]):
        status, said = world.accounts.sudo(*argv)
        check(status, f"{argv}: succeeds: {said}")
        equal(f"{argv}: files in the vault", files_below(vault), before)


@part.case
def groups_of_the_user(world, _):
    """Root's groups give no rights: a database and a directory that group root may write."""
    user = world.user
    place = os.path.join(world.work, "group-root")
    os.mkdir(place, 0o770)
    os.chmod(place, 0o770)
    open_place = os.path.join(world.work, "group-root-open")
    os.mkdir(open_place)
    os.chmod(open_place, 0o775)
    db = os.path.join(place, "root.db")
    subprocess.run([world.accounts.program, "watch", "--db", db, "--job", "mine", "--", "true"],
                   check=True, capture_output=True)
    shutil.copy(db, os.path.join(open_place, "root.db"))
    for path in (db, os.path.join(open_place, "root.db")):
        os.chmod(path, 0o660)
    before = files_below(place, open_place)
    for argv in (["watch", "--db", db, "--", "true"],
                 ["watch", "--db", os.path.join(open_place, "root.db"), "--", "true"],
                 ["watch", "--db", os.path.join(open_place, "new.db"), "--", "true"],
                 ["watch", "--db", user.path("w.db"), "--report", open_place + "/r.html", "--", "true"],
                 ["report", "--db", db]):
        status, said = world.accounts.sudo(*argv)
        check(status and ("ermission" in said or "belongs to user 0" in said),
              f"{argv}: exits {status}: {said}")
        equal(f"{argv}: files", files_below(place, open_place), before)


@part.case
def roots_own_files(world, _):
    """A root shell opened by sudo keeps SUDO_UID: the refusal names the user it was tried as,
    and the command that it suggests works."""
    db, page = (os.path.join(world.vault, name) for name in ("root.db", "root.html"))
    shell = world.accounts.enter("env", f"SUDO_UID={world.user.uid}", f"SUDO_GID={world.user.uid}",
                                 "SUDO_USER=cmuser")
    hint = ["sudo", "env", "-u", "SUDO_UID"]
    for argv in (["watch", "--db", db, "--report", page, "--", "true"],
                 ["report", "--db", db, "-o", page], ["runs", "--db", db], ["advise", "--db", db],
                 ["whatif", "cache", "--db", db], ["compare", "--db", db, "1", "1"],
                 ["top", "--db", db, "--batch", "--frames", "1"], ["doctor", db]):
        command = [world.accounts.program, *argv]
        done = subprocess.run([*shell, *command], capture_output=True, text=True)
        check(done.returncode, f"{argv}: succeeds as the user")
        check(f"(as user cmuser, who called sudo; for root's own files: {' '.join(hint)} cachemon "
              in done.stderr, f"{argv}: {done.stderr!r}")
        done = subprocess.run([*shell, *hint, *command], capture_output=True, text=True)
        check(done.returncode in (0, 1) and "denied" not in done.stderr, f"{argv}: {done.stderr!r}")
    for path in (db, page):
        owned(path, 0)
        os.unlink(path)


@part.case
def races(world, stack):
    """A name that alternates between a writable file and a sysctl that the user may not write."""
    user = world.user
    os.mkdir(user.path("race"))
    os.chown(user.path("race"), user.uid, user.uid)
    a, b = user.path("race", "p.html"), user.path("race", "q.html")
    os.symlink("/dev/null", a)
    os.symlink("/proc/sys/kernel/hostname", b)
    direct = 'echo x >/proc/sys/kernel/hostname; cat /proc/sys/kernel/hostname'
    _, said = world.accounts.run(user, "sh", "-c", direct)
    check(world.accounts.HOST in said, f"the user may set the host's name: {said}")
    world.flip(stack, a, b)
    script = ('for i in $(seq "$1"); do sudo -n "$2" report --db "$3" -o "$4" >/dev/null 2>&1; '
              'h=$(cat /proc/sys/kernel/hostname); [ "$h" = "$5" ] || { echo "changed to $h"; exit 3; }; '
              "done")
    status, said = world.accounts.run(user, "sh", "-c", script, "sh", str(world.races),
                                      world.accounts.program, world.db, a, world.accounts.HOST,
                                      timeout=900)
    equal(f"report -o: {said}", status, 0)
    script = script.replace("report --db", "watch --job '|/tmp/x' --db").replace(
        '-o "$4"', '--report "$4" -- true')
    status, said = world.accounts.run(user, "sh", "-c", script, "sh", str(max(world.races // 4, 5)),
                                      world.accounts.program, user.path("w.db"), a,
                                      world.accounts.HOST, timeout=900)
    equal(f"watch --report: {said}", status, 0)


def victim(world, stack):
    """A process of another user in a directory that nobody else may search."""
    place = world.other.path("priv", "open")
    os.makedirs(os.path.join(place, "pub"))
    world.other.write("priv/open/rules/thresholds", f"{SECRET} = 1\n", 0o644)
    for path, mode in (("priv", 0o700), ("priv/open", 0o755), ("priv/open/rules", 0o755)):
        os.chmod(world.other.path(path), mode)
    os.chmod(os.path.join(place, "pub"), 0o777)
    proc = subprocess.Popen(world.accounts.become(
        world.other, "/bin/sh", "-c", f"cd {place} && exec sleep 600"))
    stack.callback(shutil.rmtree, world.other.path("priv"))
    stack.callback(proc.wait)
    stack.callback(proc.kill)
    machine.until(lambda: comm(proc.pid) == "sleep", "the victim is in its directory")
    return proc.pid, place


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        return f.read().strip()


@part.case
def working_directories(world, stack):
    """/proc/PID/cwd of another user's process gives no access to places that the user may not
    enter, however cachemon got its privileges."""
    pid, place = victim(world, stack)
    way = f"/proc/{pid}/cwd"
    _, said = world.accounts.run(world.user, "ls", way + "/")
    check("ermission denied" in said, f"the user may go there: {said}")
    before = files_below(place)
    caps = ("cap_bpf,cap_perfmon,cap_syslog,cap_sys_ptrace",
            "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_sys_admin")
    for prefix in (["sudo", "-n", world.accounts.program],
                   *([world.accounts.with_caps(c)] for c in caps)):
        for argv in (["watch", "--db", f"{way}/pub/mine.db", "--", "true"],
                     ["watch", "--db", world.user.path("w.db"), "--report", f"{way}/pub/r.html",
                      "--", "true"],
                     ["watch", "--db", world.user.path("w.db"), "--report", world.user.path("w.md"),
                      "--rules", f"{way}/rules", "--", "true"],
                     ["report", "--db", world.db, "--rules", f"{way}/rules"],
                     ["report", "--db", world.db, "-o", f"{way}/pub/r.html"],
                     ["selftest", "--dir", f"{way}/pub"],
                     ["doctor", f"{way}/rules/thresholds"]):
            _, said = world.accounts.run(world.user, *prefix, *argv)
            check(SECRET not in said and "ermission denied" in said, f"{argv}: {said[-300:]}")
            equal(f"{prefix} {argv}: files of the other user", files_below(place), before)


if __name__ == "__main__":
    sys.exit(part.main(World))
