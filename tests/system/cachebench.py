#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""CacheBench as a part of the tests: a sample of each cell, or everything with CACHEMON_FULL=1."""

import os
import sys

RUN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cachebench", "run")
FEW = [] if os.environ.get("CACHEMON_FULL") == "1" else ["--brief"]
os.execv(sys.executable, [sys.executable, RUN, *FEW, *sys.argv[1:]])
