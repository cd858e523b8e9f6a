# SPDX-License-Identifier: BSD-2-Clause
"""Users and a sudoers rule that exist only in a private mount namespace, with homes below the
work directory: a test acts as a real account, through a real sudo."""

import os
import re
import shlex
import shutil
import subprocess

from .machine import run
from .part import check

ENTER = """set -e
for f in passwd group shadow sudoers sudoers.d; do mount --bind "$1/$f" /etc/$f; done
hostname "$2"
shift 2
exec "$@"
"""


class Account:
    def __init__(self, name, uid, home):
        self.name, self.uid, self.home = name, uid, home

    def path(self, *names):
        return os.path.join(self.home, *names)

    def write(self, name, text, mode=0o600):
        """A file of the user, and its directories."""
        path = self.path(name)
        parent = os.path.dirname(path)
        os.makedirs(parent, exist_ok=True)
        while parent.startswith(self.home) and parent != os.path.dirname(self.home):
            os.chown(parent, self.uid, self.uid)
            parent = os.path.dirname(parent)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        os.chown(path, self.uid, self.uid)
        return path


class Accounts:
    """Two users with homes of mode 0700, of whom the first may run the program through sudo.

    homes: the directory of the homes, if not one below work. served: the same directory where
    root may write it, if homes is a network filesystem without rights for root."""

    HOST = "before.example"

    def __init__(self, work, program, homes=None, served=None):
        self.etc = os.path.join(work, "etc")
        os.mkdir(self.etc, 0o755)
        if not homes:
            homes = os.path.join(work, "home")
            os.mkdir(homes, 0o755)
        served = served or homes
        self.program = os.path.join(work, "cachemon")
        shutil.copy(program, self.program)
        os.chmod(self.program, 0o755)
        self.user = self._account("cmuser", 4801, homes, served)
        self.other = self._account("cmother", 4802, homes, served)
        self._etc(f"{self.user.name} ALL=(root) NOPASSWD:SETENV: {self.program}\n")

    @staticmethod
    def _account(name, uid, homes, served):
        os.mkdir(os.path.join(served, name), 0o700)
        os.chown(os.path.join(served, name), uid, uid)
        return Account(name, uid, os.path.join(homes, name))

    def _etc(self, rule):
        users = (self.user, self.other)
        for name, mode, line in (("passwd", 0o644, "{0.name}:x:{0.uid}:{0.uid}::{0.home}:/bin/sh\n"),
                                 ("group", 0o644, "{0.name}:x:{0.uid}:\n"),
                                 ("shadow", 0o640, "{0.name}:*:19000:0:99999:7:::\n")):
            with open(f"/etc/{name}", encoding="utf-8") as f:
                text = f.read()
            with open(os.path.join(self.etc, name), "w", encoding="utf-8") as f:
                f.write(text + "".join(line.format(u) for u in users))
                os.fchmod(f.fileno(), mode)
        os.mkdir(os.path.join(self.etc, "sudoers.d"), 0o755)
        with open(os.path.join(self.etc, "sudoers"), "w", encoding="utf-8") as f:
            f.write("Defaults env_reset\nroot ALL=(ALL:ALL) ALL\n" + rule)
            os.fchmod(f.fileno(), 0o440)

    def enter(self, *argv):
        """Runs argv as root where the accounts exist."""
        return ["unshare", "--mount", "--uts", "--propagation", "private", "/bin/sh", "-c", ENTER,
                "sh", self.etc, self.HOST, *argv]

    def become(self, who, *argv):
        return self.enter("setpriv", "--reuid", str(who.uid), "--regid", str(who.uid),
                          "--init-groups", "--inh-caps", "-all", "--reset-env", *argv)

    def as_user(self, who, *argv, cwd=None):
        """The command line that runs argv as one of them, in the home."""
        script = f"cd {shlex.quote(cwd or who.home)} && exec \"$@\""
        return self.become(who, "/bin/sh", "-c", script, "sh", *argv)

    def run(self, who, *argv, cwd=None, status=None, timeout=120):
        """(status, stdout and stderr) of argv as one of them."""
        done = subprocess.run(self.as_user(who, *argv, cwd=cwd), capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=timeout)
        said = (done.stdout + done.stderr).decode(errors="replace")
        if status is not None:
            check(done.returncode == status, f"{argv}: exits {done.returncode}: {said[-600:]}")
        return done.returncode, said

    def sudo(self, *argv, env=(), **kwargs):
        """cachemon as the first user through sudo."""
        return self.run(self.user, "sudo", "-n", *env, self.program, *argv, **kwargs)

    def root(self, *argv, timeout=120):
        """(status, stdout and stderr) of cachemon as root without sudo."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("SUDO_")}
        done = subprocess.run([self.program, *argv], capture_output=True, timeout=timeout, env=env,
                              stdin=subprocess.DEVNULL)
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    def with_caps(self, caps):
        """A copy of the program with file capabilities."""
        path = self.program + "." + re.sub(r"\W", "-", caps)
        if not os.path.exists(path):
            shutil.copy(self.program, path)
            os.chmod(path, 0o755)
            run("setcap", f"{caps}+ep", path)
        return path


def files_below(*tops):
    """Every regular file below, read as root: path -> bytes."""
    found = {}
    for top in tops:
        for parent, _, names in os.walk(top):
            for name in names:
                path = os.path.join(parent, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as f:
                        found[path] = f.read()
    return found
