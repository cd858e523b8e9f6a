# SPDX-License-Identifier: BSD-2-Clause
"""Jobs that report each read with its reader, and the figures that must equal their sum."""

import json
import os
import subprocess
import sys

from . import machine, treework
from .machine import until
from .part import equal
from .reads import fill
from .tool import Tool, on_device

FILES = 12
PROGRAM = os.path.abspath(sys.argv[0])
COUNTS = ("read_calls", "read_bytes", "lookups")
OPTIONS = ("--level", "full", "--interval", "200ms")


class World:
    def __init__(self, args, work, stack):
        self.args = args
        self.tool = Tool(args.cachemon, work)
        self.stranger_calls = 0
        self.data = os.path.join(work, "data")
        machine.filesystem(stack, "ext4", f"{work}/data.img", self.data)
        os.rmdir(f"{self.data}/lost+found")
        for i in range(FILES):
            fill(f"{self.data}/{i:02}", 20 + 7 * i, odd=i)
        self.dev = machine.device_of(self.data)

    def argv(self, verb, tally, *rest):
        return [sys.executable, PROGRAM, "--work", verb, self.data, tally, *map(str, rest)]

    def start(self, stack, verb, tally, *rest, **popen):
        p = subprocess.Popen(self.argv(verb, tally, *rest), stdout=subprocess.PIPE, text=True,
                             **popen)
        stack.callback(end_process, p)
        return p

    def stranger(self, stack):
        """Reads the same files all the time and belongs to no job."""
        tally = self.tool.fresh(".stranger")
        p = subprocess.Popen([sys.executable, PROGRAM, "--stranger", self.data, tally])
        stack.callback(end_process, p)
        until(lambda: os.path.exists(tally), "the stranger reads")
        return p


def end_process(p):
    if p.poll() is None:
        p.kill()
    p.wait()


def lines_of(tally):
    with open(tally) as f:
        return [json.loads(line) for line in f]


def expect(world, job, lines):
    """The job's figures on the data's device are the sum of the readers' requests."""
    got = on_device(job, world.dev)
    for name in COUNTS:
        equal(name, got[name], sum(line[name] for line in lines))
    equal("hits and misses", got["hits"] + got["misses"], got["lookups"])


class Obedient:
    """A process that obeys orders: see treework.loop()."""

    def __init__(self, world, stack, tally, verb="loop"):
        self.process = world.start(stack, verb, tally, stdin=subprocess.PIPE)

    def do(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        equal(f"answer to {words[0]}", self.process.stdout.readline(), "done\n")


def strange(data, tally):
    job = treework.Job("stranger", data, tally)
    job.read_and_tell()
    while True:
        job.read(0, 3)


def main(part):
    """The main program of a part; its jobs are the same program with --work."""
    if sys.argv[1:2] == ["--work"]:
        return treework.work(*sys.argv[2:])
    if sys.argv[1:2] == ["--stranger"]:
        return strange(*sys.argv[2:])
    return part.main(World)
