# SPDX-License-Identifier: BSD-2-Clause
"""The guest's part of tests/bench/icount: python3 icount_guest.py BUILD, with results in /out.

Off, empty, cold and full alternate within one boot. Each turn is a new process of the loop, so
nothing remains of the turn before."""

import json
import os
import subprocess
import sys

FILE = "/scratch/hot"
FILE_BYTES = 32 << 20
OUT = "/out/blocks"
DB = "/scratch/db"
# At a thousand timer ticks a second, most blocks end before the next tick.
BLOCKS = 600
READS = 100
ROUNDS = 3
# The reads of icount_loop between its first blocks and those that count. At level full the first
# reads are sampled and traced.
WARM = {"full": 600000}
WARM_OTHERS = 2000


def make_file():
    with open(FILE, "wb") as f:
        for _ in range(FILE_BYTES >> 20):
            f.write(os.urandom(1 << 20))
        f.flush()
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with open(FILE, "rb", buffering=0) as f:
        while f.read(1 << 17):
            pass


def read_hook(cachemon):
    done = subprocess.run([cachemon, "doctor", "--json"], stdout=subprocess.PIPE, check=True)
    return next(r for r in json.loads(done.stdout)["roles"] if r["role"] == "read")


def blocks():
    with open(OUT) as f:
        return [[int(n) for n in line.split()] for line in f]


def counted_calls(cachemon):
    """Of the file: None if the level does not report it."""
    done = subprocess.run([cachemon, "report", "--db", DB, "--format", "json"],
                          stdout=subprocess.PIPE, check=True)
    files = json.loads(done.stdout)["jobs"][0]["files"]
    return next((f["totals"]["read_calls"] for f in files if f["path"] == FILE), None)


def main():
    build = sys.argv[1]
    cachemon = os.path.join(build, "cachemon/cachemon")
    loop = [os.path.join(build, "tests/bench/icount_loop"), FILE, OUT, str(BLOCKS), str(READS)]
    make_file()
    hook = read_hook(cachemon)
    result = {"release": os.uname().release, "hook": hook["hook"], "program": hook["program"],
              "reads": READS, "turns": []}
    for _ in range(ROUNDS):
        for what in ("off", "empty", "cold", "full"):
            warm = WARM.get(what, WARM_OTHERS)
            argv = [*loop, str(warm)]
            if what == "empty":
                argv.append(hook["hook"])
            elif what != "off":
                argv = [cachemon, "watch", "--job", "hot", "--db", DB, "--level", what, "--", *argv]
            subprocess.run(argv, check=True)
            all_blocks = blocks()
            turn = {"what": what, "young": all_blocks[:BLOCKS], "blocks": all_blocks[BLOCKS:]}
            if what in ("cold", "full"):
                turn["calls"] = counted_calls(cachemon)
                turn["calls_made"] = 2 * BLOCKS * READS + warm
            result["turns"].append(turn)
    with open("/out/icount.json", "w") as f:
        json.dump(result, f)


if __name__ == "__main__":
    main()
