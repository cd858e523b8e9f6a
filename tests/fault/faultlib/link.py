# SPDX-License-Identifier: BSD-2-Clause
"""Helpers that are linked with the program's own libraries."""

import os

from .part import Skipped

# In the order of cachemon/CMakeLists.txt: a library comes before those that it needs.
LIBRARIES = ["collector", "capture", "plan", "account", "job", "figures", "access", "base"]


def build_dir(cachemon):
    """Of the build that the program is from, and its sources."""
    build = os.environ.get("CACHEMON_BUILD") or os.path.dirname(os.path.dirname(cachemon))
    try:
        with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as f:
            for line in f:
                if line.startswith("CMAKE_HOME_DIRECTORY:"):
                    return build, line.strip().split("=", 1)[1]
    except FileNotFoundError:
        pass
    raise Skipped("the program is not in its build directory: nothing to link with")


def capture_flags(cachemon):
    """Compiler arguments: everything that loads and reads the probes."""
    build, source = build_dir(cachemon)
    return ["-DCACHEMON_VERSION=\"0\"", f"-I{source}", f"-I{build}/gen",
            f"-L{build}/cachemon", *[f"-l{name}" for name in LIBRARIES], "-lbpf", "-lcap",
            "-lelf", "-lz", "-lm"]
