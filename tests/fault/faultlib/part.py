# SPDX-License-Identifier: BSD-2-Clause
"""A part of the tests: options, cases, one line per case, the closing line, the exit status."""

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

SKIP = 77
REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class Failed(Exception):
    """A failure; the text explains it."""


class Skipped(Exception):
    """This machine cannot run the case; the text says why."""


def expect(condition, text):
    if not condition:
        raise Failed(text)


def wait_until(condition, what, bound_s=60, step_s=0.01):
    """Waits for a condition and returns its result; the bound is only for failures."""
    end = time.monotonic() + bound_s
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {bound_s} s")
        time.sleep(step_s)


def full_counts():
    """Full counts, unless the caller requested the reduced ones."""
    return os.environ.get("CACHEMON_FULL", "1") != "0"


class Case:
    """Resources of a case: its own directory, and cleanup in any case."""

    def __init__(self, part, base):
        self.part = part
        self.options = part.options
        self.cachemon = part.options.cachemon
        self.dir = tempfile.mkdtemp(prefix="cachemon-fault.", dir=base)
        self.stack = contextlib.ExitStack()
        self.stack.callback(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def defer(self, function, *args, **kwargs):
        self.stack.callback(function, *args, **kwargs)

    def adopt(self, process):
        """Ends a process of this case that still runs at its end."""
        self.defer(stop_process, process)
        return process

    def helper(self, name, *flags):
        return self.part.helper(name, *flags)


def stop_process(process):
    if process.poll() is None:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()


class Part:
    def __init__(self, name, about, count=None):
        """count: (what is counted, full count, reduced count)."""
        self.name = name
        self.cases = []
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.count = count
        self.built = {}
        self.parser = argparse.ArgumentParser(prog=name, description=about)
        self.parser.add_argument("--cachemon", default=os.environ.get("CACHEMON") or
                                 os.path.join(REPO, "build", "cachemon", "cachemon"))
        self.parser.add_argument("--dir", default="/var/tmp",
                                 help="where files are made (a disk, not tmpfs)")
        self.parser.add_argument("--only", metavar="WORD", help="cases whose name holds it")
        if count:
            self.parser.add_argument("--count", type=int, metavar="N",
                                     default=count[1] if full_counts() else count[2],
                                     help=f"how often (default {count[1]})")
        self.options = None
        self.work = None

    def case(self, name):
        def add(function):
            self.cases.append((name, function))
            return function
        return add

    def helper(self, name, *flags):
        """NAME.c next to the part, compiled: returns its path."""
        if name not in self.built:
            out = os.path.join(self.work, name)
            source = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), name + ".c")
            subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o",
                            out, source, *flags], check=True)
            self.built[name] = out
        return self.built[name]

    def say(self, result, name, text=""):
        self.counts[result] += 1
        word = {"passed": "ok", "failed": "FAILED", "skipped": "skipped"}[result]
        print(f"{word:8}{name}{': ' if text else ''}{text}", flush=True)

    def run_case(self, name, function):
        case = Case(self, self.work)
        try:
            with case.stack:
                note = function(case)
            self.say("passed", name, note or "")
        except Skipped as e:
            self.say("skipped", name, str(e))
        except Failed as e:
            self.say("failed", name, str(e))
        except Exception as e:  # pylint: disable=broad-except
            traceback.print_exc()
            self.say("failed", name, f"{type(e).__name__}: {e}")

    def main(self):
        self.options = self.parser.parse_args()
        if os.geteuid():
            print(f"{self.name}: needs root")
            sys.exit(SKIP)
        # The invoker is root unless a case says otherwise, whoever called sudo.
        for name in ("SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "CACHEMON_DB"):
            os.environ.pop(name, None)
        self.options.cachemon = os.path.abspath(self.options.cachemon)
        if not os.access(self.options.cachemon, os.X_OK):
            self.parser.error(f"no program {self.options.cachemon}; give --cachemon")
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        with tempfile.TemporaryDirectory(prefix="cachemon-fault.", dir=self.options.dir) as work:
            os.chmod(work, 0o755)
            self.work = work
            os.environ["XDG_STATE_HOME"] = os.path.join(work, "state")
            for name, function in self.cases:
                if not self.options.only or self.options.only in name:
                    self.run_case(name, function)
        if self.count and self.options.count < self.count[1]:
            print(f"{self.count[0]}: {self.options.count} of {self.count[1]}")
        counts = self.counts
        print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
        sys.exit(1 if counts["failed"] else 0)
