# SPDX-License-Identifier: BSD-2-Clause
"""The modules of run.py; they share no code with cachemon."""

import os
import sys

# For syslib, which the parts of tests/system use too.
sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                             "system"))
