# SPDX-License-Identifier: BSD-2-Clause
"""Workers in C, built when needed, and the reader among them, controlled through its pipes."""

import json
import os
import subprocess

from .machine import run
from .part import equal

SOURCES = os.path.dirname(os.path.abspath(__file__))


def build(work, name="reader", *options):
    program = os.path.join(work, name)
    if not os.path.exists(program):
        run(os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", "-Werror", *options, "-o",
            program, os.path.join(SOURCES, f"{name}.c"))
    return program


class Reader:
    """A process that reads pages of a file on command."""

    def __init__(self, program, path, stack):
        self.process = subprocess.Popen([program, path], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        stack.callback(self.kill)
        equal("the reader", self.process.stdout.readline(), "ready\n")

    def pid(self):
        return self.process.pid

    def start(self, how, reads):
        self.process.stdin.write(f"{how} {reads}\n")
        self.process.stdin.flush()

    def read(self, how, reads):
        self.start(how, reads)
        return json.loads(self.process.stdout.readline())

    def kill(self):
        self.process.kill()
        self.process.communicate()
