# SPDX-License-Identifier: BSD-2-Clause
"""Limits for the heap of a cachemon that writes a database."""

import os

# Makes malloc's count exact to the byte: chunks that it caches would count as allocated.
EXACT_HEAP = {**os.environ,
              "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"}
# cachemon/store/store_open.c allows 2000 KiB of pages, each with SQLite's 136 bytes of overhead,
# plus 128 of allocation. A page used by a statement is kept in addition: one per level of each open
# tree. Measured were 3.
PAGE_CACHE_MAX = ((2000 << 10) // (4096 + 136) + 8) * (4096 + 264)
