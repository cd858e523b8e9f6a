# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the parts in tests/fault and tests/scale."""

import os
import sys

# For control_groups and system_calls, which other tests use too.
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
