# SPDX-License-Identifier: BSD-2-Clause
"""What run.py is made of. Owns nothing of cachemon."""

import os
import sys

# For syslib, which the parts of tests/system have in common.
sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                             "system"))
