#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The decisions of tests/run: which parts a command runs, how their results count, and how it
ends. Nothing is built or run: its functions are called."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Part, check, equal  # noqa: E402

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# For main(): everything except its decisions.
IDLE = """
install_packages() { :; }
build_tree() { :; }
as_owner() { :; }
begin() { add_counts 2 0 1; }
wait_part() { running=(); }
"""

part = Part(__doc__)


def called(script, *words):
    """(status, output) of a script that calls functions of tests/run."""
    done = subprocess.run(["bash", "-c", f". {REPO}/tests/run; {script}", "run", *words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


def lines(script):
    status, text = called(script)
    equal(script, status, 0)
    return text.split()


def run_by(settings):
    """The parts that run with these settings."""
    return lines(f'{settings}; for name in $(list_parts); do if wanted "$name"; then echo "$name"; fi; done')


@part.case
def sets(*_):
    """The quick set is a part of --all, which has everything except the parts that need full
    counts."""
    every, quick, full_only = lines("list_parts"), lines("echo $QUICK"), lines("echo $FULL_ONLY")
    equal("every part once", sorted(set(every)), sorted(every))
    equal("the quick set", sorted(run_by("parts=quick")), sorted(quick))
    equal("--all", run_by("parts=all"), [p for p in every if p not in full_only])
    equal("--full", run_by("parts=all full=1"), every)
    check(not set(full_only) - set(every), f"{full_only} are not all parts")
    check(not set(quick) & set(full_only), "the quick set has parts for --full")
    equal("--without", run_by("parts=all without=(vm)"), [p for p in every if p not in (*full_only, "vm")])
    equal("--only", run_by("parts=only only=(vm/privileges unit)"), ["unit", "vm/privileges"])
    kinds = lines('for name in $(list_parts); do kind_of "$name"; done')
    check(set(kinds) <= {"plain", "shared", "caches", "alone"}, f"{set(kinds)}")
    for name in quick:
        check(kinds[every.index(name)] != "alone", f"{name} of the quick set runs alone")


@part.case
def words(*_):
    """The parts that a command line selects; each counts as two passed and one skipped."""
    every, quick = (len(lines(script)) for script in ("list_parts", "echo $QUICK"))
    without = every - len(lines("echo $FULL_ONLY"))
    for line, parts in (([], quick), (["--all"], without), (["--full"], every), (["--only", "unit"], 1),
                        (["--all", "--only", "unit"], 1), (["--only", "unit", "--full"], 1),
                        (["--without", "unit"], quick - 1), (["--all", "--without", "vm"], without - 1)):
        status, text = called(f'{IDLE} main "$@"', *line)
        equal(f"status of {line}", status, 0)
        *before, closing = text.splitlines()
        equal(f"{line}", closing, f"{2 * parts} passed, 0 failed, {parts} skipped")
        rest = f"not run: {every - parts} other parts; tests/run --all: 60 minutes, tests/long: hours"
        equal(f"the line before, of {line}", before[-1] == rest, "--all" not in line and "--full" not in line
              and "--only" not in line)
        check(sum(b.startswith("not run: ") for b in before) <= 1, text)
    for line, status in ((["--some"], 2), (["--only"], 2), (["--only", "nothing"], 1), (["--help"], 0)):
        equal(f"status of {line}", called(f'{IDLE} main "$@"', *line)[0], status)
    status, text = called('main --list')
    rows = [row.split() for row in text.splitlines()]
    equal("--list", [name for _, name in rows], lines("list_parts"))
    equal("--list of the quick set", sorted(name for which, name in rows if which == "quick"),
          sorted(lines("echo $QUICK")))


@part.case
def results(world, _):
    """The sums after a part with such an end, and whether it is rerun."""
    log = os.path.join(world, "log")
    for text, status, sums, again in (
            ("3 passed, 0 failed, 1 skipped\n", 0, "3 0 1", False),
            ("3 passed, 0 failed\n", 0, "3 0 0", False),
            ("3 passed, 2 failed, 1 skipped\n", 1, "3 2 1", True),
            ("3 passed, 0 failed, 0 skipped\n", 1, "3 1 0", True),
            ("0 passed, 0 failed, 0 skipped\n", 0, "0 1 0", False),
            ("0 passed, 0 failed, 2 skipped\n", 77, "0 0 2", False),
            ("needs root\n", 77, "0 0 1", False),
            ("killed\n", 137, "0 1 0", True)):
        with open(log, "w", encoding="ascii") as f:
            f.write(text)
        got = called(f'log_of() {{ echo {log}; }}; take_result x {status} {log}; echo "$passed $failed $skipped";'
                     f' if is_for_again x {status}; then echo again; fi; if is_for_again x {status}; then echo'
                     f' twice; fi; if is_for_again fuzz {status}; then echo fuzz; fi')[1].splitlines()
        check(sums in got and (got[-1] == "again") == again, f"{text!r} and {status} give {got}")


@part.case
def told(world, _):
    """Reduced counts, and parts left out with their reason, are printed before the closing line."""
    log = os.path.join(world, "log")
    with open(log, "w", encoding="ascii") as f:
        f.write("loops: 2 of 9\nleft out: ext4 seq, disturbed 4 times, the last time: 3 by a|b\n"
                "1 passed, 0 failed, 1 skipped\n")
    status, text = called(f'{IDLE} run_parts() {{ take_result system/x.py 0 {log}; }}; main')
    equal("status", status, 0)
    equal("the last lines", text.splitlines()[-4:-2] + text.splitlines()[-1:],
          ["reduced: loops: 2 of 9", "left out: system/x.py: ext4 seq, disturbed 4 times, the last time: 3 by a|b",
           "1 passed, 0 failed, 1 skipped"])


@part.case
def documents(*_):
    """The README names both commands, and CI runs the one for every part."""
    with open(f"{REPO}/README.md", encoding="utf-8") as f:
        readme = f.read().splitlines()
    with open(f"{REPO}/.ci/run", encoding="utf-8") as f:
        check("run tests/run --all" in f.read().splitlines(), ".ci/run does not run every part")
    for command in ("tests/run", "tests/run --all"):
        check(f"    sudo {command}" in readme, f"README.md has no line for {command}")


if __name__ == "__main__":
    sys.exit(part.main(lambda args, work, _: work))
