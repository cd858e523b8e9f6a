# SPDX-License-Identifier: BSD-2-Clause
"""A program on a terminal: all of its output, as it arrives."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

from .part import Failed

BOUND_S = 60


class Screen:
    """stdout and stderr on one terminal; stdout can instead be a pipe that nobody reads."""

    def __init__(self, stack, argv, columns=80, rows=24, term="xterm", stdout=None, **popen):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {**os.environ, **popen.pop("env", {}), "TERM": term}
        self.begin = time.monotonic()
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stdout or slave, stderr=slave,
                                        start_new_session=True, env=environment, **popen)
        os.close(slave)
        self.said = b""
        stack.callback(self.close)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            os.close(self.master)

    def _read(self, seconds):
        """False: the output has ended."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            more = os.read(self.master, 65536)
        except OSError:
            return False
        self.said += more
        return bool(more)

    def until(self, condition, what):
        """Reads until condition(all output so far)."""
        end = time.monotonic() + BOUND_S
        while not condition(self.said):
            if not self._read(0.1) and not condition(self.said):
                raise Failed(f"{what}: the program ended and had said {self.said[-300:]!r}")
            if time.monotonic() > end:
                raise Failed(f"{what}: not within {BOUND_S} s; it said {self.said[-300:]!r}")

    def end(self):
        """Its status, with all of its output."""
        end = time.monotonic() + BOUND_S
        while self._read(0.1):
            if time.monotonic() > end:
                raise Failed(f"no end; it said {self.said[-300:]!r}")
        return self.process.wait(BOUND_S)
