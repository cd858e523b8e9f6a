# SPDX-License-Identifier: BSD-2-Clause
"""What the parts in tests/system and tests/scale share. Owns nothing of cachemon."""
