#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""NFSv4 from a guest to itself, compared with mountstats.

That counts bytes as the client handled them: read through the cache, by direct I/O, and
requested from the server. The server's own reads are of another file and by other tasks."""

import contextlib
import os
import sys

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "system"), os.path.join(TESTS, "truth")]

from syslib.fscase import (BYTES, World, asynchronous_is_counted, cached_is_exact,  # noqa: E402
                           crooked_is_what_it_gives, direct_is_counted, fill, is_covered,
                           past_the_hooks, split_as_the_cache_says)
from syslib.part import Part, Skipped, check, equal  # noqa: E402
from syslib.reads import PAGE  # noqa: E402
from truthlib import nfs  # noqa: E402

SKIP = 77
part = Part(__doc__.splitlines()[0])


class NfsWorld(World):
    def __init__(self, args, work, stack):
        super().__init__(args, work, stack)
        self.export, self.mount = self.place("export"), self.place("nfs")
        os.mkdir(self.export)
        stack.enter_context(nfs.loopback(self.export, self.mount))
        self.hooked = self.has("direct_nfs")
        self.cover = "exact" if self.hooked else "partly"


@contextlib.contextmanager
def asked(world):
    """The change of mountstats during the block."""
    before, delta = nfs.mountstats(world.mount), {}
    yield delta
    delta.update({k: v - before[k] for k, v in nfs.mountstats(world.mount).items()})


@part.case
def cached_reads_are_exact(world, stack):
    path = f"{world.mount}/data"
    fill(f"{world.export}/data")
    is_covered(world, path, "nfs4", world.cover, "direct reads" if world.hooked else "O_DIRECT")
    # The same reading twice: before the watch, and during it.
    with asked(world) as did:
        entry, told = cached_is_exact(world, stack, path, world.mount, "nfs4", world.cover)
    t = entry["totals"]
    equal("bytes read by mountstats", did["normal"], 2 * t["read_bytes"])
    brought = t["demand_pages"] + t["prefetched_pages"]
    equal("bytes asked of the server, of two readings", did["server"], 2 * brought * PAGE)
    equal("direct bytes by mountstats", did["direct"], 0)
    check(0 < did["calls"] <= 2 * brought, f"{did['calls']} READ calls for 2 x {brought} pages")
    equal("misses", t["misses"], told["misses"])


@part.case
def direct_reads_are_told(world, stack):
    fill(f"{world.export}/direct")
    path = f"{world.mount}/direct"
    with asked(world) as did:
        if world.hooked:
            direct_is_counted(world, stack, path)
        else:
            past_the_hooks(world, stack, "direct", path)
    equal("direct bytes by mountstats, of two readings", did["direct"], 2 * BYTES)
    equal("bytes through the cache by mountstats", did["normal"], 0)


@part.case
def odd_direct_reads_are_told(world, stack):
    if not world.hooked:
        raise Skipped("no hook of direct reads over NFS")
    path = f"{world.mount}/odd"
    fill(f"{world.export}/odd")
    with asked(world) as did:
        split_as_the_cache_says(world, stack, path, "fresh")
        crooked_is_what_it_gives(world, stack, path)
    equal("direct bytes by mountstats, of two readings", did["direct"], 2 * (BYTES + 4 * PAGE))
    with asked(world) as did:
        asynchronous_is_counted(world, stack, path, "libaio")
    equal("direct bytes by mountstats, asynchronous", did["direct"], BYTES)


def main():
    why = None if {"-h", "--help", "--list"} & set(sys.argv) else nfs.lacks()
    if why:
        print(why, file=sys.stderr)
        return SKIP
    return part.main(NfsWorld)


if __name__ == "__main__":
    sys.exit(main())
