# SPDX-License-Identifier: BSD-2-Clause
"""Invented runs, and the live view of them in a terminal."""

import os
import re
import subprocess

from .made_run import MadeRun
from .part import Failed, equal
from .terminal import Terminal
from .tool import Tool


class World:
    def __init__(self, args, work, _):
        self.tool = Tool(args.cachemon, work)
        self.cachemon = args.cachemon
        self.work = work
        self.cpu_seconds = getattr(args, "cpu_seconds", None)

    def made(self, stack, seconds, ended=True, **kind):
        made = MadeRun(self.tool.fresh(".db"), **kind)
        stack.callback(made.close)
        for _ in range(seconds):
            made.add()
        if ended:
            made.end()
        return made

    def top(self, stack, made, columns=80, rows=24, words="", **env):
        terminal = Terminal(stack, self.work, columns, rows, **env)
        terminal.type(f"{self.cachemon} top --db {made.path} {words}")
        terminal.wait_for("run 1")
        return terminal

    def batch(self, *words, env=None):
        done = subprocess.run([self.cachemon, "top", "--batch", *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env={**os.environ, "TZ": "UTC", **(env or {})}, timeout=60)
        equal(f"status of top --batch {words}", done.returncode, 0)
        return done.stdout


def rate(pages):
    """As in the view: three digits."""
    if pages < 1000:
        return str(pages)
    value = pages / 1000
    return f"{value:.2f}k" if value < 9.995 else f"{value:.1f}k" if value < 99.95 else f"{value:.0f}k"


def seconds_of(screen):
    """The time in the right corner of the first line."""
    found = re.search(r"(\d+):(\d\d):(\d\d)\s*$", screen.split("\n")[0])
    if not found:
        raise Failed(f"no time in: {screen.split(chr(10))[0]!r}")
    hours, minutes, seconds = map(int, found.groups())
    return hours * 3600 + minutes * 60 + seconds


def read_frame(process):
    lines = []
    while (line := process.stdout.readline()) not in ("", "\n"):
        lines.append(line)
    return "".join(lines).rstrip("\n")
