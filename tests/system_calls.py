# SPDX-License-Identifier: BSD-2-Clause
"""System call numbers that differ between machines, for calls without a function in Python."""

import os

# aarch64 has the numbers of all newer architectures.
NR_EXIT, NR_PIVOT_ROOT, NR_MEMBARRIER = ((60, 155, 324) if os.uname().machine == "x86_64" else
                                         (93, 41, 283))
