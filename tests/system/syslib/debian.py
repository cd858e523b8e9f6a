# SPDX-License-Identifier: BSD-2-Clause
"""Programs of Debian packages that are unpacked but not installed, because installing them starts
their servers."""

import glob
import os
import shutil
import subprocess

from . import machine
from .part import Skipped


def program(work, package, name):
    """The machine's own, or the package's."""
    path = shutil.which(name)
    if path:
        return path
    place = f"{work}/packages/{package}"
    if not os.path.exists(place):
        os.makedirs(place)
        done = subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package],
                              cwd=place, capture_output=True, text=True)
        if done.returncode:
            raise Skipped(f"no package {package}: {done.stderr.strip().splitlines()[-1:]}")
        machine.run("dpkg", "-x", glob.glob(f"{place}/*.deb")[0], place)
    return f"{place}/usr/bin/{name}"
