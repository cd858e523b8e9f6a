#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A Python program that runs with fixed readahead advice: advised.py random|sequential DIR
PROGRAM ARGS...

Each file below DIR gets this advice as soon as it is opened, for reading or not. Later advice of
the program about random or sequential reading is left out; other advice stays."""

import builtins
import os
import runpy
import sys

ADVICE = {"random": os.POSIX_FADV_RANDOM, "sequential": os.POSIX_FADV_SEQUENTIAL}
OF_READAHEAD = (os.POSIX_FADV_NORMAL, os.POSIX_FADV_RANDOM, os.POSIX_FADV_SEQUENTIAL)
os_open, any_open, advise = os.open, builtins.open, os.posix_fadvise


def main():
    advice, place = ADVICE[sys.argv[1]], sys.argv[2].rstrip("/") + "/"

    def opened(path, flags, *more, **named):
        fd = os_open(path, flags, *more, **named)
        if str(path).startswith(place) and not flags & os.O_DIRECTORY:
            advise(fd, 0, 0, advice)
        return fd

    def file_opened(path, *more, **named):
        if str(path).startswith(place):
            named.setdefault("opener", opened)
        return any_open(path, *more, **named)

    def advised(fd, offset, length, kind):
        if kind not in OF_READAHEAD:
            advise(fd, offset, length, kind)

    os.open, builtins.open, os.posix_fadvise = opened, file_opened, advised
    sys.argv = sys.argv[3:]
    sys.path.insert(0, os.path.dirname(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
