# SPDX-License-Identifier: BSD-2-Clause
"""Numbers of system calls that differ between machines, and have no function in Python."""

import os

# aarch64 has the numbers of all newer machines.
NR_EXIT, NR_PIVOT_ROOT, NR_MEMBARRIER = ((60, 155, 324) if os.uname().machine == "x86_64" else
                                         (93, 41, 283))
