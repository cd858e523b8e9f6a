# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the parts in tests/system and tests/scale; contains no code of cachemon."""

import os
import sys

# For control_groups and system_calls, which other tests use too.
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
