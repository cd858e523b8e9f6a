# SPDX-License-Identifier: BSD-2-Clause
"""The guest's part of tests/bench/icount for acts: python3 icount_acts_guest.py BUILD, with
results in /out/acts.json: {turn: {act: instructions}}.

A turn is a new process: without cachemon (off), with empty programs on the hooks of anonymous
faults and switches (empty), as the job of a watch (cold, full), or outside the job of a watch
(stranger)."""

import json
import os
import signal
import statistics
import subprocess
import sys

OUT = "/out/acts"
DB = "/scratch/acts.db"
BLOCKS = 20
EMPTY = ("tp_btf:page_fault_user", "tp_btf:sched_switch")


def figures():
    """The lower quartile of the blocks: no timer tick, no disk in the way."""
    blocks = {}
    with open(OUT) as f:
        for line in f:
            act, value = line.split()
            blocks.setdefault(act, []).append(float(value))
    return {act: statistics.quantiles(values, n=4)[0] for act, values in blocks.items()}


def beside(watch, argv):
    """Runs argv while another job is watched."""
    process = subprocess.Popen([*watch, "--level", "full", "--", "sh", "-c",
                                "echo begun; exec sleep 100000"], stdout=subprocess.PIPE)
    process.stdout.readline()
    try:
        subprocess.run(argv, check=True)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def main():
    build = sys.argv[1]
    cachemon = os.path.join(build, "cachemon/cachemon")
    acts = [os.path.join(build, "tests/bench/icount_acts"), "/scratch", OUT, str(BLOCKS)]
    watch = [cachemon, "watch", "--job", "acts", "--db", DB]
    turns = {}
    for turn in ("off", "empty", "cold", "full", "stranger"):
        if turn == "off":
            subprocess.run(acts, check=True)
        elif turn == "empty":
            subprocess.run([*acts, *EMPTY], check=True)
        elif turn == "stranger":
            beside(watch, acts)
        else:
            subprocess.run([*watch, "--level", turn, "--", *acts], check=True)
        turns[turn] = figures()
        print(turn, turns[turn], flush=True)
    with open("/out/acts.json", "w") as f:
        json.dump({"release": os.uname().release, "turns": turns}, f)


if __name__ == "__main__":
    main()
