# SPDX-License-Identifier: BSD-2-Clause
"""Ways to start cachemon and the workload: as root, or as a user with a real account, through a
real sudo or with a copy of the program that has capabilities."""

import os
import shutil

from syslib.accounts import Accounts

# As in docs/privileges.md.
CAPS = "cap_bpf,cap_perfmon,cap_syslog"


class Root:
    def __init__(self, cachemon, wl):
        self.cachemon = cachemon and [cachemon]
        self.wl = wl
        self.user = None

    def argv(self, *argv):
        return list(argv)

    def own(self, *paths):
        """The workload writes there."""


class User(Root):
    def __init__(self, how, work, cachemon, wl):
        # The build tree may be in a directory that the user cannot enter.
        super().__init__(None, shutil.copy(wl, work))
        self.accounts = Accounts(work, cachemon)
        self.user = self.accounts.user
        if how == "sudo":
            self.cachemon = ["sudo", "-n", self.accounts.program]
        else:
            self.cachemon = [self.accounts.with_caps(CAPS)]

    def argv(self, *argv):
        # Neither sudo nor setpriv passes them on.
        env = [f"{k}={v}" for k, v in os.environ.items() if k.startswith("WL_")]
        if env and argv[0] == self.wl:
            argv = ["env", *env, *argv]
        return self.accounts.as_user(self.user, *argv)

    def own(self, *paths):
        for path in paths:
            os.chown(path, self.user.uid, self.user.uid)
            # Directories above belong to the test.
            os.chmod(os.path.dirname(path), 0o755)


def way_of(how, work, cachemon, wl):
    if how == "root":
        return Root(cachemon, wl)
    os.chmod(work, 0o755)
    place = os.path.join(work, how)
    os.mkdir(place, 0o755)
    return User(how, place, cachemon, wl)
