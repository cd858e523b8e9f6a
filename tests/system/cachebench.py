#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""CacheBench as a part of the tests: one cell, all of them with CACHEMON_FULL=1."""

import os
import sys

RUN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cachebench", "run")
os.execv(sys.executable, [sys.executable, RUN, *sys.argv[1:]])
