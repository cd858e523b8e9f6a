# SPDX-License-Identifier: BSD-2-Clause
"""A part of the tests: its cases, one line for each, and the closing line."""

import argparse
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import traceback

from .reclaimed import Reclaimed

SKIP = 77
TRIES = 3  # for a case whose pages the kernel evicted meanwhile


class Failed(Exception):
    """An error that names the figure."""


class Skipped(Exception):
    """The reason why this machine cannot run the case."""


def check(truth, text):
    if not truth:
        raise Failed(text)


def equal(what, got, want):
    if got != want:
        diff = f" ({got - want:+d})" if isinstance(got, int) and isinstance(want, int) else ""
        raise Failed(f"{what}: expected {want!r}, got {got!r}{diff}")


class Part:
    """Cases are added with @part.case and run in the order in which they are written."""

    def __init__(self, description):
        self.cases = []
        self.notes = []
        self.parser = argparse.ArgumentParser(description=description)
        self.parser.add_argument("--cachemon", metavar="PATH", default=os.environ.get("CACHEMON")
                                 or shutil.which("cachemon"))
        self.parser.add_argument("--only", action="append", metavar="CASE")
        self.parser.add_argument("--list", action="store_true")
        self.parser.add_argument("--dir", default="/var/tmp", help="where images are made")
        self.parser.add_argument("--keep", action="store_true", help="leave what the cases wrote")
        self.full = os.environ.get("CACHEMON_FULL") == "1"

    def case(self, function):
        self.cases.append(function)
        return function

    def count_option(self, name, full, reduced, what):
        """A count that CI reduces; CACHEMON_FULL=1 selects the full one."""
        self.parser.add_argument(f"--{name}", type=int, default=full if self.full else reduced,
                                 metavar="N", help=f"{what} (full: {full}, else {reduced})")
        self.notes.append((name, what, full))

    def note(self, text):
        """A figure worth keeping next to the verdict."""
        print(f"        {text}", flush=True)

    def _arguments(self):
        args = self.parser.parse_args()
        known = [c.__name__ for c in self.cases]
        for name in args.only or []:
            if name not in known:
                self.parser.error(f"--only: no case '{name}'; there are: {' '.join(known)}")
        if not args.list and not args.cachemon:
            self.parser.error("no cachemon: give --cachemon PATH or set CACHEMON")
        if args.cachemon:
            args.cachemon = os.path.abspath(args.cachemon)
            if not os.access(args.cachemon, os.X_OK):
                self.parser.error(f"--cachemon: cannot run {args.cachemon}")
        return args

    def _run_one(self, function, world):
        try:
            with contextlib.ExitStack() as stack:
                function(world, stack)
            return "passed", ""
        except Skipped as e:
            return "skipped", str(e)
        except Failed as e:
            return "failed", str(e)
        except Exception as e:  # an exception in a case is a failure, and the other cases continue
            traceback.print_exc()
            return "failed", f"{type(e).__name__}: {e}"

    def _run_undisturbed(self, function, world, reclaimed):
        """A case that fails while the kernel reclaims pages of its files is repeated, and this
        is printed."""
        for _ in range(TRIES):
            reclaimed.begin()
            verdict, why = self._run_one(function, world)
            if verdict != "failed":
                break
            taken = reclaimed.by_whom()
            if not taken:
                break
            by = ", ".join(f"{n} by {who}" for who, n in sorted(taken.items()))
            self.note(f"{function.__name__}: {why}; of its files, folios reclaimed meanwhile: {by}")
        return verdict, why

    def main(self, make_world):
        args = self._arguments()
        if args.list:
            print("\n".join(c.__name__ for c in self.cases))
            return 0
        if os.geteuid():
            print("these tests need root: BPF, mounts, cgroups", file=sys.stderr)
            return SKIP
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(sig, lambda nr, _: sys.exit(128 + nr))
        counts = {"passed": 0, "failed": 0, "skipped": 0}
        for name, what, full in self.notes:
            value = getattr(args, name.replace("-", "_"))
            if value < full:
                print(f"{what}: {value} of {full}")
        with contextlib.ExitStack() as stack:
            work = tempfile.mkdtemp(prefix="cachemon-test.", dir=args.dir)
            if not args.keep:
                stack.callback(shutil.rmtree, work, ignore_errors=True)
            os.chmod(work, 0o755)
            world = make_world(args, work, stack)
            reclaimed = Reclaimed(stack, work)
            for function in self.cases:
                if args.only and function.__name__ not in args.only:
                    continue
                verdict, why = self._run_undisturbed(function, world, reclaimed)
                counts[verdict] += 1
                print(f"{verdict.upper():7} {function.__name__}{': ' + why if why else ''}",
                      flush=True)
        print(", ".join(f"{counts[k]} {k}" for k in ("passed", "failed", "skipped")))
        return 1 if counts["failed"] or not sum(counts.values()) else 0
