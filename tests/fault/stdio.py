#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""CMD's inputs and outputs: stdin, stdout and stderr are its own, and so are its descriptors,
its working directory, environment, signals and limits. cachemon writes only to stderr, and
nothing there until the end unless it is a terminal."""

import contextlib
import errno
import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import termios

sys.dont_write_bytecode = True

from faultlib.part import REPO, Part, expect, full_counts, wait_until  # noqa: E402
from faultlib.watch import BOUND_S, Db, Steady, Watch, run, wait_intervals  # noqa: E402

part = Part("stdio", __doc__)


def watch(case, command, *options, **keywords):
    return run([case.cachemon, "watch", "--db", case.path("run.db"), *options, "--", *command],
               **keywords)


def shell(case, script, **keywords):
    """A script in which $WATCH is cachemon watch."""
    start = f"WATCH='{case.cachemon} watch --db {case.path('run.db')} --'\n"
    return run(["sh", "-c", start + script], **keywords)


@part.case("stdout is CMD's alone, to the byte")
def stdout(case):
    done = shell(case, "$WATCH printf x | cat")
    expect(done.out == b"x" and done.status == 0, str(done))
    expect(done.err.startswith("cachemon: run 1"), str(done))
    done = shell(case, "$WATCH true")
    expect(done.out == b"", str(done))
    data = os.urandom(8 << 20)
    with open(case.path("data"), "wb") as f:
        f.write(data)
    done = watch(case, ["cat", case.path("data")])
    expect(done.out == data, f"{len(done.out)} bytes of {len(data)}, or others")


@part.case("stderr of CMD comes through; of cachemon only the summary, no live line in a pipe")
def stderr(case):
    steady, db = Steady(case), Db(case.path("run.db"))
    process = Watch(case, ["--db", db.path, "--interval", "100ms"],
                    ["sh", "-c", 'echo from CMD >&2; exec "$@"', "sh", *steady.command],
                    env={"TERM": "xterm"})
    steady.wait_started(process)
    wait_intervals(process, db, 5)
    expect(process.err() == "from CMD\n", f"while it runs: {process.err()!r}")
    steady.stop()
    done = process.wait()
    expect(done.status == 7, str(done))
    expect(done.err.startswith("from CMD\ncachemon: run 1"), str(done))
    expect("\r" not in done.err and "\x1b" not in done.err, f"live line in a pipe: {done.err!r}")


def resize(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def on_terminal(case, term, meanwhile=lambda terminal, read: None):
    """The output on a terminal at stderr; stdout is a pipe."""
    steady, db = Steady(case, name="steady-" + term), Db(case.path(term + ".db"))
    master, slave = os.openpty()
    resize(slave, 80)
    seen = bytearray()

    def read():
        with contextlib.suppress(BlockingIOError):
            while True:
                seen.extend(os.read(master, 65536))
        return seen

    os.set_blocking(master, False)
    argv = [case.cachemon, "watch", "--db", db.path, "--interval", "100ms", "--", "sh", "-c",
            'printf out; exec "$@"', "sh", *steady.command]
    process = case.adopt(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=slave, env={**os.environ, "TERM": term}))
    try:
        wait_until(lambda: read() is seen and process.poll() is None and steady.started(),
                   "the start of CMD", BOUND_S)
        wait_until(lambda: read() is seen and len(db.intervals()) > 5, "intervals", BOUND_S, 0.1)
        meanwhile(slave, read)
        steady.stop()
        wait_until(lambda: read() is seen and process.poll() is not None, "the end", BOUND_S)
        with contextlib.suppress(OSError):
            read()
    finally:
        os.close(slave)
        os.close(master)
    expect(process.returncode == 7 and process.stdout.read() == b"out", f"{process.returncode}")
    return seen.decode()


# The escapes that begin a line in the last row, and keep that row from scrolling.
LINE = "\x1b[0m\x1b[K"
REGION = "\x1b[1;23r"


@part.case("a live line on a terminal, cleared before the summary; none on a dumb one")
def terminal(case):
    text = on_terminal(case, "xterm")
    expect(text.count(LINE) >= 5 and "lookups" in text, f"no live line: {text!r}")
    before, summary = text[:text.index("cachemon: run 1")], text[text.index("cachemon: run 1"):]
    expect(before.rfind("\x1b[r") > before.rfind(REGION), f"the last row is kept from scrolling: {text!r}")
    expect(before.rfind(LINE) > before.rfind("lookups"), f"not cleared: {text!r}")
    expect("\x1b" not in summary, f"live line after the summary: {summary!r}")
    text = on_terminal(case, "dumb")
    expect(text.startswith("cachemon: run 1") and "\x1b" not in text, f"dumb: {text!r}")


def line_at(terminal, columns, read):
    """A live line of this width: the first text may be of the previous width, and the last may
    be incomplete."""
    begins = LINE.encode()
    resize(terminal, columns)
    shown = read().count(begins)
    wait_until(lambda: read().count(begins) >= shown + 3, "live lines", BOUND_S)
    return read().split(begins)[-2].split(b"\x1b8")[0].decode()


@part.case("the live line is one line: it stays off the right edge")
def narrow(case):
    fields = (("hit", 11), ("miss", 39), ("cost", 78))

    def narrow_down(terminal, read):
        # The whole line starts to fit at a width between 75 and 81 columns.
        some = (*range(81, 74, -1), 40, 20, 5, 3)
        for columns in (200, 104, *(range(103, 2, -1) if full_counts() else some)):
            line = line_at(terminal, columns, read)
            text = line.rstrip(" ")
            expect("\n" not in line and "\r" not in line, f"{columns} columns: {line!r}")
            expect(len(text) < columns, f"{len(text)} of {columns} columns: {line!r}")
            # Everything that fits is shown; marks of estimates need room too.
            marks = text.count("~")
            expect(all(re.search(word, text) for word, needs in fields if columns >= needs + marks),
                   f"{columns} columns: {line!r}")

    on_terminal(case, "xterm", narrow_down)


@part.case("stdin reaches CMD, to the byte")
def stdin(case):
    data = os.urandom(4 << 20)
    done = watch(case, ["cat"], stdin=data)
    expect(done.out == data and done.status == 0, f"{len(done.out)} bytes of {len(data)}")
    done = shell(case, "printf 'a b' | $WATCH sh -c 'read first rest; printf %s \"$rest$first\"'")
    expect(done.out == b"ba", str(done))
    # Input that CMD does not read is left for the next command.
    done = shell(case, "(printf 'one\\ntwo\\n') | { $WATCH sh -c 'read l'; cat; }")
    expect(done.out == b"two\n", str(done))


@part.case("a reader of CMD that goes away: SIGPIPE ends CMD, as without cachemon")
def sigpipe(case):
    done = shell(case, "{ $WATCH yes; echo $? >&2; } | head -n 1")
    expect(done.out == b"y\n", str(done))
    expect(done.lines()[-1] == "141", str(done))


def descriptors(listing):
    """{number: target} from the output of ls -l."""
    with open(listing, encoding="utf-8") as f:
        return {line.split()[8]: line.split()[-1] for line in f if "->" in line}


@part.case("closed descriptors stay closed and are not confused with cachemon's own")
def closed(case):
    for numbers in ("0", "1", "2", "01", "12", "012"):
        close = " ".join(f"{fd}>&-" for fd in numbers)
        out = case.path("out")
        done = shell(case, f"$WATCH sh -c 'ls -l /proc/$$/fd >{out}; ls -l /proc/$PPID/fd "
                     f">{out}.parent; exit 3' {close}")
        expect(done.status == 3 and not done.out, f"{close}: {done}")
        listed = descriptors(out)
        # The redirection of this very list, and the shell's descriptors for it, are its own.
        foreign = {fd: target for fd, target in listed.items() if "bpf" in target or
                   "run.db" in target or "socket:" in target}
        expect(not foreign, f"{close}: CMD has {foreign}")
        # A message of cachemon must not go into a socket or a database that got descriptor 2.
        own = descriptors(out + ".parent")
        for fd in numbers:
            expect(own[fd] == "/dev/null", f"{close}: cachemon's descriptor {fd} is {own[fd]}")
        Db(case.path("run.db")).sound()
    runs = Db(case.path("run.db")).rows("SELECT state, exit_status FROM run")
    expect(runs == [{"state": "complete", "exit_status": 3}] * 6, f"{runs}")


STATE = """
pwd; umask; ulimit -a; ulimit -Ha; nice
grep -E '^(Sig(Ign|Blk|Cgt)|Seccomp|NoNewPrivs|Uid|Gid|Groups|Cap...):' /proc/self/status
cat /proc/self/oom_score_adj; env | sort | grep -v '^_='; ls /proc/self/fd
awk '{print $5, $6}' /proc/$$/stat
printf '%s|' "$0" "$@"
"""


@part.case("CMD's world is the caller's: directory, limits, signals, environment, descriptors")
def world(case):
    # $5, $6: process group and session; both runs are below one shell.
    words = ["sh", "", "a b", "--", "--db", "*", "\n", "\u00e9"]
    quoted = " ".join("'" + word + "'" for word in words)
    with open(case.path("state"), "w", encoding="ascii") as f:
        f.write(STATE)
    script = (f"cd {case.dir}; umask 027; ulimit -n 777; exec 9</dev/null; export CASE=x\n"
              f"trap '' USR1 HUP\n"
              f"sh {case.path('state')} {quoted} >plain\n"
              f"$WATCH sh {case.path('state')} {quoted} >watched\n")
    done = shell(case, script)
    expect(done.status == 0, str(done))
    with open(case.path("plain"), encoding="utf-8") as f:
        plain = f.read()
    with open(case.path("watched"), encoding="utf-8") as f:
        watched = f.read()
    # The only added variable.
    watched, added = re.subn(r"^CACHEMON_MARKS=/.*\n", "", watched, flags=re.M)
    expect(added == 1, f"{added} places for marks")
    differ = [(a, b) for a, b in zip(plain.splitlines(), watched.splitlines()) if a != b]
    expect("CASE=x" in plain and "\n9\n" in plain, f"this test tests nothing: {plain!r}")
    # Ignored by the caller: only HUP, INT and QUIT stay ignored (nohup); see job/command.h.
    differ = [pair for pair in differ if not pair[0].startswith("SigIgn")]
    expect(not differ and len(plain.splitlines()) == len(watched.splitlines()),
           f"(without, with cachemon): {differ[:5]}")


@part.case("results on stdout, diagnostics on stderr: report and runs")
def results(case):
    expect(watch(case, ["true"]).status == 0, "a run")
    db = ["--db", case.path("run.db")]
    for arguments in (["report"], ["runs"], ["runs", "--json"],
                      *[["report", "--format", name] for name in
                        ("text", "md", "html", "json", "csv", "yaml")]):
        done = run([case.cachemon, *arguments, *db])
        expect(done.status == 0 and done.out and not done.err, str(done))
        # A pipe closed by its reader is not reported as an error.
        short = run(["sh", "-c", '"$@" | head -c 1; exit 0', "sh", case.cachemon, *arguments, *db])
        expect(len(short.out) == 1 and len(short.lines()) <= 1, str(short))


def keys_of(tree):
    if isinstance(tree, dict):
        return set(tree) | {key for value in tree.values() for key in keys_of(value)}
    return {key for value in tree for key in keys_of(value)} if isinstance(tree, list) else set()


@part.case("docs/json.md names every key that is printed")
def documented(case):
    expect(watch(case, ["true"]).status == 0, "a run")
    db = ["--db", case.path("run.db")]
    with open(os.path.join(REPO, "docs", "json.md"), encoding="utf-8") as f:
        named = set(re.findall(r'"(\w+)"', f.read()))
    for arguments in (["report", "--format", "json", *db], ["runs", "--json", *db],
                      ["doctor", "--json", case.dir]):
        done = run([case.cachemon, *arguments])
        tree = json.loads(done.out)
        # In the output of doctor, names of counters are keys.
        tree["unmeasured"] = {}
        keys = {re.sub("_(estimated|lower_bound|escaped)$", "", key) for key in keys_of(tree)}
        expect(len(keys) > 15 and keys <= named, f"{arguments[0]}: {sorted(keys - named)}")


@part.case("a full disk behind stdout: one line says so, status 1")
def full(case):
    expect(watch(case, ["true"]).status == 0, "a run")
    db = ["--db", case.path("run.db")]
    for arguments in (["--version"], ["doctor"], ["runs", *db], ["runs", "--json", *db],
                      *[["report", "--format", name, *db] for name in
                        ("text", "md", "html", "json", "csv", "yaml")]):
        done = run(["sh", "-c", '"$@" >/dev/full', "sh", case.cachemon, *arguments])
        expect(done.status == 1 and len(done.lines()) == 1 and "cannot write" in done.err,
               str(done))


@part.case("the terminal itself is never written to: no terminal, no trouble")
def no_terminal(case):
    done = watch(case, ["sh", "-c", "exit 2"], env={"TERM": ""})
    expect(done.status == 2 and "\x1b" not in done.err, str(done))
    with contextlib.suppress(OSError):
        os.close(os.open("/dev/tty", os.O_RDONLY))
        return "this test has a terminal; cachemon ran in a session without one"
    return os.strerror(errno.ENXIO)


if __name__ == "__main__":
    part.main()
