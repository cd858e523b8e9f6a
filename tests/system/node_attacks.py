#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Users of a node who attack its daemon: they gain no right, and other users have their answers."""

import json
import os
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemon import write_config  # noqa: E402
from node_users import ALICE, BOB, MALLORY, Node, as_user, client  # noqa: E402
from syslib.jobworld import main  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402

part = Part(__doc__)


@part.case
def directory_of_another_user(world, _):
    """Whoever can change the socket's directory could have root change any file's mode, or answer in
    the place of the daemon. So the daemon does not start there."""
    for name, mode, owner in (("others", 0o755, MALLORY), ("open", 0o777, 0), ("sticky", 0o1777, 0)):
        directory = world.tool.fresh(f".{name}")
        os.mkdir(directory)
        os.chmod(directory, mode)
        os.chown(directory, owner, owner)
        config = write_config(world, "", f"{directory}/socket")
        done = subprocess.run([world.tool.cachemon, "daemon", *config, "--db", world.tool.fresh(".db")],
                              capture_output=True, text=True, check=False, timeout=60)
        equal(f"status with {name}", done.returncode, 1)
        check(f"socket.path: others can change {directory}." in done.stderr, done.stderr)
        equal("files there", os.listdir(directory), [])


if __name__ == "__main__":
    sys.exit(main(part))
