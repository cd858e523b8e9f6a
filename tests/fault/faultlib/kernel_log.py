# SPDX-License-Identifier: BSD-2-Clause
"""Messages of the kernel after this point."""

import os

from .part import Skipped


class KernelLog:
    def __init__(self, trouble):
        """trouble: a compiled expression; matching lines are trouble."""
        self.is_trouble = trouble
        self.found = []
        try:
            self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        except OSError as e:
            raise Skipped(f"the kernel log cannot be read: {e.strerror}") from e
        os.lseek(self.fd, 0, os.SEEK_END)

    def look(self):
        """Lines may be overwritten: read them before."""
        while True:
            try:
                text = os.read(self.fd, 8192).decode(errors="replace").split(";", 1)[-1]
            except BlockingIOError:
                return self.found
            except BrokenPipeError:  # overwritten before it was read
                self.found.append("(lines were lost)")
                continue
            if self.is_trouble.search(text):
                self.found.append(text.splitlines()[0])

    def trouble(self):
        found = self.look()
        os.close(self.fd)
        return found
