# SPDX-License-Identifier: BSD-2-Clause
"""What the parts in tests/fault and tests/scale share."""

import os
import sys

# For control_groups and system_calls, which they share with the others.
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
