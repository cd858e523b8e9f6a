# SPDX-License-Identifier: BSD-2-Clause
"""What the heap of a cachemon that writes a database is judged by."""

import os

# malloc then counts to the byte: chunks that it keeps aside are not allocated.
EXACT_HEAP = {**os.environ,
              "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"}
# cachemon/store/store_open.c allows 2000 KiB of pages, each with the 136 bytes that SQLite has for it; it
# takes 128 more for them. A page that a statement has its finger on is kept beyond that: of each of the
# trees that it is in, one a level. Measured were 3.
PAGE_CACHE_MAX = ((2000 << 10) // (4096 + 136) + 8) * (4096 + 264)
