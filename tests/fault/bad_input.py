#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Wrong command lines: every option of every verb with garbage, zero, a negative value, an
overflow, no value, an unknown unit. Exit 2, one or two lines on stderr, nothing on stdout, and
no effect."""

import os
import sys

sys.dont_write_bytecode = True

from faultlib.part import Part, expect  # noqa: E402
from faultlib.watch import run  # noqa: E402

part = Part("bad_input", __doc__)

HUGE = "99999999999999999999"  # above 2^64
NUMBERS = ["", " ", "abc", "-1", "+1", "1x", " 1", "1 ", "0x10", "1.0", "1e1", "1,000", "\u0661",
           HUGE, "-" + HUGE, "9" * 5000]
PIDS = NUMBERS + ["0", "2147483648", "18446744073709551616"]
DURATIONS = ["", "0", "0s", "0ms", "0.0s", "-1s", "+1s", "1 s", " 1s", "1s ", "s", "ms", "1d", "1w",
             "1us", "1S", "1.s", ".5s", "5.", "1,5s", "1.5.5s", "1s1s", "abc", HUGE + "s", "9223372036854775807h", "1e1s"]
INTERVALS = DURATIONS + ["99ms", "3601s", "2h"]
ENTRIES = NUMBERS + ["0", "7", "16777217", "1k"]
PERCENTS = ["", "0", "0%", "0.0", "-1", "+1", "101", "100.1", "abc", "1%%", "%", "1 %", "nan",
            "inf", "1e1", "0x1", "1,5", ".", HUGE]
WATCH = {
    "--pid": PIDS,
    "--cgroup": [""],
    "--job": [""],
    "--level": ["", "COLD", "warm", "0", "full ", "cold,full", "col"],
    "--max-overhead": PERCENTS,
    "--advice": ["", "call", "CALLS", "1", "calls,effects"],
    "--interval": INTERVALS,
    "--duration": DURATIONS,
    "--db": [""],
    "--report": ["", "report.pdf", "report.", "report.HTML "],
    "--block-entries": ENTRIES,
    "--row-entries": ENTRIES,
}
READER = {
    "--db": [""],
    "--run": [*NUMBERS, "first", "LAST", "9223372036854775808", "-last"],
    "--job": [""],
    "--format": ["", "pdf", "TEXT", "json,html", "txt "],
    "--files": [*NUMBERS, "2147483648", "all"],
    "--sort": ["", "HITS", "size"],
    "--rows": ["", "job", "FILES"],
    "--frames": [*NUMBERS, "0"],
    "-o": ["", "report.pdf", "report."],
}

# Other verbs that show a database, with their options from the list above.
OTHER_READERS = {
    ("advise",): ["--db", "--run", "--job", "--format", "-o"],
    ("compare", "1", "2"): ["--db", "--job", "--format", "-o"],
    ("whatif", "cache"): ["--db", "--run", "--job", "--format", "-o"],
    ("runs",): ["--db"],
    ("top",): ["--db", "--run", "--sort", "--rows", "--frames"],
}


class Place:
    """An empty working directory, which is checked afterwards."""

    def __init__(self, case):
        self.case = case
        self.dir = case.path("empty")
        os.mkdir(self.dir)
        # Where a command or a database at its default place would write.
        self.env = {"XDG_STATE_HOME": self.dir, "HOME": self.dir, "TERM": "xterm"}

    def run(self, *arguments):
        return run([self.case.cachemon, *arguments], cwd=self.dir, env=self.env)

    def untouched(self, done):
        left = os.listdir(self.dir)
        expect(not left, f"{shown(done)} made {left}")


def shown(done):
    return f"{' '.join(done.argv[1:])[:200]!r}: status {done.status}, stdout {done.out[:80]!r}, " \
           f"says {done.err[:400]!r}"


def refuse(place, *arguments):
    """A usage error, and nothing else."""
    done = place.run(*arguments)
    expect(done.status == 2, shown(done))
    expect(not done.out, shown(done))
    expect(1 <= len(done.lines()) <= 2, shown(done))
    expect(done.lines()[0].startswith("cachemon"), shown(done))
    expect("\x1b" not in done.err and "\r" not in done.err, f"not inert: {shown(done)}")
    place.untouched(done)
    return done


def fail(place, *arguments):
    """Valid, but impossible."""
    done = place.run(*arguments)
    expect(done.status == 1 and not done.out and 1 <= len(done.lines()) <= 2, shown(done))
    place.untouched(done)
    return done


def add_watch(option, values):
    @part.case(f"watch {option}: {len(values)} bad values, and none")
    def check(case):
        place = Place(case)
        command = ["--", "touch", "cmd-ran"]
        for value in values:
            done = refuse(place, "watch", option, value, *command)
            expect(option in done.err, f"the option is not named: {shown(done)}")
            if not value.startswith("-"):
                refuse(place, "watch", f"{option}={value}", *command)
        refuse(place, "watch", option)
        # The "--" before the command is not a value.
        refuse(place, "watch", option, *command)


def add_reader(verb, option, values):
    @part.case(f"{' '.join(verb)} {option}: {len(values)} bad values, and none")
    def check(case):
        place = Place(case)
        for value in values:
            done = refuse(place, *verb, option, value)
            expect(option in done.err, f"the option is not named: {shown(done)}")
        refuse(place, *verb, option)


for name_, values_ in WATCH.items():
    add_watch(name_, values_)
for name_, values_ in READER.items():
    if name_ not in ("--sort", "--rows", "--frames"):
        add_reader(["report"], name_, values_)
for verb_, names_ in OTHER_READERS.items():
    for name_ in names_:
        # There, any ending other than .json means text.
        bad_ = [""] if (verb_[0], name_) == ("whatif", "-o") else READER[name_]
        add_reader(verb_, name_, bad_)


@part.case("watch: selectors that exclude each other, none, a forgotten --")
def selectors(case):
    place = Place(case)
    command = ["--", "touch", "cmd-ran"]
    for arguments in ([], ["--"], ["--", ""], ["touch", "cmd-ran"], ["--pid", "1", *command],
                      ["--cgroup", "/", *command], ["--pid", "1", "--cgroup", "/"],
                      ["--pid", "1", "--pid", "2"], ["--cgroup", "/", "--cgroup", "/"],
                      ["--pid", "1", "touch", "cmd-ran"], ["touch", *command],
                      ["--level", "cold"]):
        refuse(place, "watch", *arguments)


@part.case("top: what excludes each other")
def top(case):
    place = Place(case)
    for arguments_ in (["--db", "a", "--replay", "b"], ["--replay", "a", "--replay", "b"], ["--db", "a", "--pid", "1"],
                       ["--run", "1", "--cgroup", "/"], ["--pid", "1", "--job", "x"], ["--pid", "x"], ["--job", ""],
                       ["--interval", "2s"], ["--level", "full"], ["--pid", "1", "--interval", "1"],
                       ["--pid", "1", "--level", "hot"], ["--frames", "3"], ["run.db"], ["--", "x"], []):
        refuse(place, "top", *arguments_)
    fail(place, "top", "--batch")
    fail(place, "top", "--batch", "--replay", "no-such.db")


@part.case("unknown options of every verb")
def unknown_options(case):
    place = Place(case)
    for verb in ("watch", "top", "report", "runs", "whatif", "doctor", "selftest"):
        for option in ("--no-such-option", "-z", "--pids", "--no-such=1", "--json=yes", "--help=1"):
            end = ["--", "touch", "cmd-ran"] if verb == "watch" else []
            refuse(place, verb, option, *end)


@part.case("arguments where none belong")
def arguments(case):
    place = Place(case)
    for line in (["report", "a.db", "b.db"], ["report", "--db", "a.db", "b.db"], ["advise", "a.db", "b.db"],
                 ["runs", "run.db"], ["doctor", "/", "/"], ["doctor", ""], ["selftest", "/tmp"], ["runs", "--db", ""], ["runs", "--db"],
                 ["selftest", "--dir"], ["selftest", "--dir", ""], ["report", "--", "x", "y"], ["top", "x"]):
        refuse(place, *line)


@part.case("unknown verbs, with a suggestion where one is near")
def verbs(case):
    place = Place(case)
    for verb, near in (("wtach", "watch"), ("watc", "watch"), ("Watch", "watch"),
                       ("reprot", "report"), ("reports", "report"), ("run", "runs"),
                       ("docter", "doctor"), ("self-test", "selftest"), ("selftets", "selftest"),
                       ("--verison", "--version"), ("--hlep", "--help"), ("hlep", "help")):
        done = refuse(place, verb)
        expect(f"'{near}'" in done.err and verb in done.err, shown(done))
    for verb in ("frobnicate", "", "-x", "-", "--", "\u00e9t\u00e9", "x" * 5000):
        done = refuse(place, verb)
        expect("cachemon --help" in done.err or "did you mean" in done.err, shown(done))
    done = place.run()
    expect(done.status == 2 and not done.out and "cachemon VERB [OPTION...]" in done.err, shown(done))


@part.case("what was typed is shown, but the terminal does not obey it")
def inert(case):
    place = Place(case)
    escape = "\x1b]0;x\x07\x1b[31m\r"
    for line in ([escape], ["w\x1batch"], ["watch", "--level", escape, "--", "true"],
                 ["watch", escape], ["watch", "--interval", escape, "--", "true"],
                 ["report", "--format", escape],
                 ["report", "-o", "x." + escape], ["runs", escape]):
        refuse(place, *line)
    for line in (["report", "--db", escape], ["report", escape], ["runs", "--db", escape], ["doctor", escape],
                 ["watch", "--job", escape], ["watch", "--cgroup", escape]):
        done = fail(place, *line)
        expect("\x1b" not in done.err and "\r" not in done.err, f"not inert: {shown(done)}")
    done = run([case.cachemon, "watch", "--db", case.path("run.db"), "--", escape])
    expect(done.status == 127 and "\x1b" not in done.err and "\r" not in done.err, shown(done))


@part.case("readers of a database that is not there, is a directory, is no database: 1")
def no_database(case):
    place = Place(case)
    text = case.path("text")
    with open(text, "w", encoding="ascii") as f:
        f.write("no database\n" * 500)
    for verb in ("report", "runs"):
        for path in ("absent.db", "no/such/dir.db", "/", text, os.path.join(text, "x"),
                     "/dev/null", "x" * 5000):
            fail(place, verb, "--db", path)
        fail(place, verb)


@part.case("a run or a job that is not in the database: 1")
def no_run(case):
    place = Place(case)
    db = case.path("run.db")
    expect(run([case.cachemon, "watch", "--db", db, "--", "true"]).status == 0, "a run")
    for line in (["--run", "2"], ["--run", "0"], ["--run", "9223372036854775807"],
                 ["--job", "other"]):
        fail(place, "report", "--db", db, *line)


@part.case("places that are not there: doctor, selftest")
def no_place(case):
    place = Place(case)
    fail(place, "doctor", "/no/such/place")
    fail(place, "selftest", "--dir", "/no/such/place")
    fail(place, "selftest", "--dir", case.cachemon)
    done = place.run("selftest", "--dir", "/dev/shm")
    expect(done.status == 1 and not done.out and len(done.lines()) <= 2, shown(done))


@part.case("help and version are no errors")
def help_and_version(case):
    place = Place(case)
    done = place.run("--version")
    expect(done.status == 0 and done.out.startswith(b"cachemon ") and not done.err, shown(done))
    verbs = ("watch", "top", "report", "advise", "ask", "explain", "whatif", "compare", "runs", "doctor", "selftest")
    for line in (["--help"], ["-h"], ["help"], *[["help", verb] for verb in verbs],
                 *[[verb, flag] for verb in verbs for flag in ("--help", "-h")]):
        done = place.run(*line)
        expect(done.status == 0 and b"\nEXAMPLES\n" in done.out and not done.err, shown(done))
        place.untouched(done)


if __name__ == "__main__":
    part.main()
