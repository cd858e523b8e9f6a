# SPDX-License-Identifier: BSD-2-Clause
"""An unprivileged user, and the ways in which cachemon gets capabilities for it."""

import os
import shutil

from . import machine

NOBODY = 65534
USER = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
PLAIN = [*USER, "--inh-caps", "-all"]


def ambient(*names):
    """Like AmbientCapabilities= of a unit."""
    caps = ",".join("+" + name for name in names)
    return [*USER, "--inh-caps", "-all," + caps, "--ambient-caps", "-all," + caps]


def program(tool, caps=None):
    """A copy of cachemon with file capabilities, which any user may run."""
    path = tool.fresh(".cachemon")
    shutil.copy(tool.cachemon, path)
    os.chmod(path, 0o755)
    if caps:
        machine.run("setcap", f"{caps}+ep", path)
    return path
