#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The live view in a tmux terminal: its content, compared with a run made here, at three sizes,
live and replayed; keys; and the restored terminal, however the view ends. Cases that need probes
are in top_watch.py."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Part, check, equal  # noqa: E402
from syslib.terminal import Terminal  # noqa: E402
from syslib.topworld import World, rate, read_frame, seconds_of  # noqa: E402

part = Part(__doc__)
part.count_option("cpu-seconds", 60, 10, "seconds of the view's CPU time")

SIZES = ((40, 10), (80, 24), (200, 60))
CPU_SHARE_MAX = 0.01
HOSTILE = [b"/data/\x1b[2J\x1b]0;gone\x07", b"/data/\xe2\x80\xaegpj", b"/data/\xff\xfe", b"/data/a\nb\rc",
           b"/data/\x9b31m"]


@part.case
def three_sizes(world, stack):
    """The figures of the invented run, for jobs, directories and files, as wide as fits."""
    made = world.made(stack, 30)
    whole = made.add()
    for columns, rows in SIZES:
        terminal = world.top(stack, made, columns, rows)
        screen = terminal.settled()
        equal(f"time at {columns}x{rows}", seconds_of(screen), 31)
        row = next(line for line in screen.split("\n") if re.search(r"\btrain( {2,}\d.*)?$", line) and "run" not in line)
        for name in ("misses", "lookups"):
            check(f" {rate(whole[name])} " in row, f"{columns}x{rows}: no {name} {rate(whole[name])} in {row!r}")
        check(all(len(line) <= columns for line in screen.split("\n")), f"too wide for {columns}")
        equal(f"all columns at {columns}x{rows}", "REFAULTS/s" in screen, columns == 200)
        equal(f"sparkline at {columns}x{rows}", "█" in screen, rows > 10)
        terminal.keys("Tab")
        terminal.wait_for("DIRECTORY")
        terminal.wait_for("/data/3")
        terminal.keys("Tab")
        terminal.wait_for("FILE")
        # The last line is for keys, four or more lines are above the rows.
        files = min(40, rows - (4 if rows < 14 else 5))
        terminal.wait(lambda s: "part-39.tar" in s and len(re.findall(r"part-\d\d\.tar", s)) == files,
                      f"{files} files at {columns}x{rows}")
        terminal.keys("q")
        terminal.wait(lambda s: "FILE" not in s, "the shell's screen")


@part.case
def keys_work(world, stack):
    made = world.made(stack, 60)
    terminal = world.top(stack, made, words="--rows files")
    terminal.wait_for("part-39")
    terminal.keys("/")
    terminal.keys("-l", "part-1")
    terminal.wait(lambda s: "part-19" in s and "part-39" not in s, "only what has part-1")
    terminal.keys("Enter")
    terminal.wait_for("only: part-1")
    terminal.keys("Escape")
    terminal.wait_for("part-39")
    terminal.keys("r")
    terminal.wait(lambda s: "part-00" in s and "part-39" not in s, "the least first")
    terminal.keys("End")
    terminal.wait_for("part-39")
    terminal.keys("Enter")
    screen = terminal.wait_for("Windows by pages")
    check("\n/data/3/part-39.tar" in screen, f"another row's detail:\n{screen}")
    equal("windows of the file", re.search(r"this moment: (\d+)", screen).group(1), "40")
    terminal.keys("Escape", "2")
    terminal.wait_for("DIRECTORY")
    terminal.keys("Home", "z")
    screen = terminal.wait_for("only: /data/0/")
    check("part-09" in screen and "part-10" not in screen, screen)
    terminal.keys("BSpace")
    terminal.wait(lambda s: "DIRECTORY" in s and "only" not in s, "the directories again")
    terminal.keys("z")
    terminal.wait_for("only: /data/0/")
    terminal.keys("Escape")
    terminal.wait(lambda s: "DIRECTORY" in s and "only" not in s, "the directories again, by Esc")
    terminal.keys("z")
    terminal.wait_for("only: /data/0/")
    terminal.keys("2")
    terminal.wait(lambda s: "DIRECTORY" in s and "/data/3" in s and "only" not in s, "all directories")
    terminal.keys("3", "r")
    terminal.wait(lambda s: "part-39" in s and "only" not in s, "all of them, the most first")
    terminal.keys("<")
    terminal.wait(lambda s: "▴HITS" in s, "the other order")
    terminal.keys("?")
    terminal.wait_for("rows with this name")
    terminal.keys("x")
    terminal.wait_for("FILE")
    terminal.keys("q")
    terminal.wait(lambda s: "FILE" not in s, "the shell's screen")


@part.case
def time_is_travelled(world, stack):
    """Back and forth through the intervals; each moment equals the frame of a replay."""
    made = world.made(stack, 60)
    frames = world.batch("--replay", made.path, env={"COLUMNS": "80", "LINES": "23", "LC_ALL": "C.UTF-8"})
    frames = frames.rstrip("\n").split("\n\n")
    equal("frames", len(frames), 60)
    terminal = world.top(stack, made)
    equal("time", seconds_of(terminal.settled()), 60)

    def shown(screen):
        return "\n".join(line.rstrip() for line in screen.split("\n")[:23]).rstrip("\n")

    def at(second, *keys):
        terminal.keys(*keys)
        terminal.wait(lambda s: shown(s) == frames[second - 1],
                      f"the frame of second {second} after {keys}")

    at(59, "Left")
    at(57, "Left", "Left")
    at(58, "Right")
    at(48, "[")
    at(58, "]")
    at(60, "]")
    at(31, "g", "3", "0", "Enter")
    at(21, "g", "0", ":", "2", "0", "Enter")
    terminal.keys(" ")
    terminal.wait(lambda s: seconds_of(s) >= 23 and "playing" in s, "a replay that plays on")
    at(60, "l")
    terminal.keys("g", "x", "Enter")
    terminal.wait_for("give a time such as 90")


@part.case
def replay_begins_at_the_start(world, stack):
    """On a screen too: the first moment, then one after the other."""
    made = world.made(stack, 60)
    terminal = Terminal(stack, world.work, 80, 24)
    terminal.type(f"{world.cachemon} top --replay {made.path}")
    first = seconds_of(terminal.wait(lambda s: "run 1" in s and "playing" in s, "a replay that plays"))
    check(first <= 3, f"began at second {first}")
    terminal.wait(lambda s: "playing" in s and first < seconds_of(s) < first + 10, "a replay that plays on")
    terminal.keys("l")
    terminal.wait(lambda s: seconds_of(s) == 60, "the end")


@part.case
def files_beside_jobs(world, stack):
    """From 120 columns, the files with the longest waits first; a terminal that shrinks shows
    only jobs."""
    made = world.made(stack, 10)
    made.db.execute("UPDATE file_interval SET stall_ns = 1000000 * (1 + (file_id * 7) % 40)")
    terminal = world.top(stack, made, 120, 40)
    screen = terminal.wait(lambda s: "JOB" in s and "FILE" in s, "both tables")
    names = re.findall(r"part-(\d\d)\.tar", screen)
    equal("files by waiting", names[:5],
          [f"{i:02d}" for i in sorted(range(40), key=lambda i: -((i + 1) * 7 % 40))][:5])
    terminal.keys("Tab")
    terminal.wait(lambda s: "DIRECTORY" in s and "FILE" in s, "directories and files")
    terminal.resize(100, 30)
    terminal.wait(lambda s: "DIRECTORY" in s and "FILE" not in s, "directories alone")


@part.case
def follows_what_is_written(world, stack):
    made = world.made(stack, 3, ended=False)
    terminal = world.top(stack, made)
    terminal.wait(lambda s: seconds_of(s) == 3 and "live" in s, "second 3")
    made.add()
    terminal.wait(lambda s: seconds_of(s) == 4, "second 4")
    terminal.keys("p")
    terminal.wait_for("held")
    made.add()
    made.add()
    equal("a moment that is held", seconds_of(terminal.settled()), 4)
    terminal.keys("p")
    terminal.wait(lambda s: seconds_of(s) == 6 and "live" in s, "second 6")
    made.end()
    terminal.wait_for("ended")


@part.case
def begins_before_the_first_interval(world, stack):
    made = world.made(stack, 0, ended=False)
    terminal = world.top(stack, made)
    terminal.wait_for("No interval has been recorded yet.")
    made.add()
    terminal.wait(lambda s: seconds_of(s) == 1 and "train" in s, "the first interval")


@part.case
def resized(world, stack):
    made = world.made(stack, 30)
    # A size that the shell exported for another terminal is ignored.
    terminal = world.top(stack, made, COLUMNS="30", LINES="5")
    for columns, rows in ((80, 24), (40, 10), (200, 60), (12, 4), (80, 24), (1, 1), (80, 24)):
        terminal.resize(columns, rows)
        if columns < 40:
            terminal.settled()
            continue
        terminal.wait(lambda s: "run 1" in s and ("READ/s" in s) == (columns == 200) and
                      s.split("\n")[0].rstrip().endswith("0:00:30") and
                      len(s.split("\n")[0].rstrip()) == columns and
                      "ended" in s.rstrip("\n").split("\n")[-1], f"a frame of {columns}x{rows} to its last line")


def as_it_was(world, stack, how, by=None):
    """stty -a, the screen and the terminal's modes before and after the view."""
    made = world.made(stack, 10)
    terminal = Terminal(stack, world.work, 80, 24)
    before, after = world.tool.fresh(".stty"), world.tool.fresh(".stty")
    terminal.type(f"stty -a > {before}; echo this was there")
    terminal.wait(lambda s: s.count("this was there") == 2, "a line on the screen")
    modes, screen = terminal.modes(), terminal.settled().rstrip("\n")
    terminal.type(f"{world.cachemon} top --db {made.path}")
    terminal.wait_for("run 1")
    equal("the other screen while it is shown", terminal.modes()[0], "1")
    if by is None:
        terminal.keys(how)
    else:
        os.kill(terminal.child(), by)
    terminal.wait(lambda s: s.startswith(screen), f"the screen of before, after {how}")
    terminal.type(f"echo status $?; stty -a > {after}; echo done")
    shown = terminal.wait(lambda s: s.rstrip().endswith("done\n$"), "the shell")
    check(shown.startswith(screen), f"{how}: the screen was\n{screen}\nand is\n{shown}")
    check("\ndone\n" in shown, f"{how}: what is typed is not seen")
    equal(f"{how}: modes of the terminal", terminal.modes(), modes)
    with open(before, encoding="utf-8") as x, open(after, encoding="utf-8") as y:
        equal(f"{how}: stty -a", y.read(), x.read())
    return int(re.search(r"status (\d+)\n", shown).group(1))


@part.case
def leaves_the_terminal_as_it_was(world, stack):
    equal("status", as_it_was(world, stack, "q"), 0)
    equal("status after ^C", as_it_was(world, stack, "C-c"), 128 + signal.SIGINT)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT"):
        number = getattr(signal, name)
        equal(f"status after {name}", as_it_was(world, stack, name, number), 128 + number)


@part.case
def stopped_and_continued(world, stack):
    """^Z and fg: the shell has its terminal in between."""
    made = world.made(stack, 10)
    terminal = Terminal(stack, world.work, 80, 24)
    before, after = world.tool.fresh(".stty"), world.tool.fresh(".stty")
    terminal.type(f"stty -a > {before}; {world.cachemon} top --db {made.path}")
    terminal.wait_for("run 1")
    terminal.keys("C-z")
    terminal.wait_for("Stopped")
    terminal.type(f"stty -a > {after}; echo done")
    terminal.wait_for("\ndone\n")
    with open(before, encoding="utf-8") as x, open(after, encoding="utf-8") as y:
        equal("stty -a", y.read(), x.read())
    terminal.type("fg")
    terminal.wait(lambda s: "run 1" in s and "Stopped" not in s, "the view")
    terminal.keys("Left")
    terminal.wait(lambda s: seconds_of(s) == 9, "a moment before")
    terminal.keys("q")
    terminal.wait_for("Stopped")


def refuses(world, made, env, stdin=subprocess.DEVNULL):
    done = subprocess.run([world.cachemon, "top", "--db", made.path], capture_output=True, text=True,
                          stdin=stdin, env={**os.environ, **env}, timeout=60)
    equal(f"status with {env}", done.returncode, 2)
    equal("lines of the complaint", done.stderr.count("\n"), 1)
    check("--batch" in done.stderr and not done.stdout, done.stderr)


@part.case
def no_terminal(world, stack):
    made = world.made(stack, 3)
    for term in ("dumb", "xterm", "", "no-such-terminal"):
        refuses(world, made, {"TERM": term})
    terminal = Terminal(stack, world.work, 80, 24, TERM="dumb")
    terminal.type(f"{world.cachemon} top --db {made.path}; echo status $?")
    screen = terminal.wait_for("status 2")
    check("--batch" in screen.replace("\n", ""), screen)


def colours(text):
    """Escapes with colours: 30 to 49 of the standard ones, 90 to 107."""
    found = set()
    for words in re.findall(r"\x1b\[([0-9;]*)m", text):
        for word in words.split(";"):
            if word and (30 <= int(word) <= 38 or 40 <= int(word) <= 48 or int(word) >= 90):
                found.add(int(word))
    return found


@part.case
def without_colour(world, stack):
    made = world.made(stack, 10)
    for env, has in (({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "vt100"}, False)):
        terminal = world.top(stack, made, words="--rows files", **env)
        terminal.settled()
        text = terminal.screen(escapes=True)
        equal(f"colours with {env}", bool(colours(text)), has)
        # The selected row is visible anyway.
        chosen = 46 if has else 7
        check(re.search(rf"\x1b\[[0-9;]*{chosen}m[^\n]*part-39", text), f"{env}: no row is chosen:\n{text!r}")


@part.case
def without_utf8(world, stack):
    made = world.made(stack, 10, files=["/d/ä日".encode(), b"/d/plain"])
    for locale in ("C", "POSIX"):
        terminal = world.top(stack, made, words="--rows files", LC_ALL=locale)
        terminal.keys("Enter")
        screen = terminal.wait_for("Windows by pages")
        check(screen.isascii(), screen)
        check("/d/\\u00e4\\u65e5" in screen, screen)
        for words in ("", "--rows directories"):
            screen = world.top(stack, made, 120, 40, words=words, LC_ALL=locale).wait_for("FILE")
            check(screen.isascii(), screen)
    for locale in ("C.UTF-8", "xx_YY.utf8"):
        check("ä日" in world.top(stack, made, words="--rows files", LC_ALL=locale).settled(), f"not itself in {locale}")


@part.case
def hostile_names(world, stack):
    """Names of files, directories and jobs with control characters."""
    made = world.made(stack, 10, files=HOSTILE, job="\x1b[2J\x1b]0;gone\x07train")
    for locale in ("C.UTF-8", "C"):
        terminal = world.top(stack, made, LC_ALL=locale)
        title = terminal.tmux("display-message", "-p", "#{pane_title}")
        for _ in range(3):
            screen = terminal.settled()
            check(screen.startswith("run 1  \\x1b[2J"), f"the first line:\n{screen}")
            check("\u202e" not in screen and "\x1b" not in screen, repr(screen))
            terminal.keys("Enter")
            terminal.wait_for("Windows")
            terminal.keys("Enter", "Tab")
        equal("the title", terminal.tmux("display-message", "-p", "#{pane_title}"), title)


@part.case
def live_is_replayed(world, stack):
    """A replay is equal, to the byte, to what was written live."""
    made = world.made(stack, 1, ended=False)
    for rows in ("jobs", "directories", "files"):
        env = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": "150", "LINES": "40"}
        live = subprocess.Popen([world.cachemon, "top", "--batch", "--db", made.path, "--rows", rows, "--frames",
                                 "9"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=env)
        stack.callback(live.kill)
        frames = [read_frame(live)]
        first = seconds_of(frames[0])
        for i in range(8):
            # None is left out, even if two arrive at once.
            made.add(rest=5 * (i % 2))
            if i % 3:
                frames.append(read_frame(live))
        frames += [read_frame(live) for _ in range(9 - len(frames))]
        equal(f"{rows}: status", live.wait(60), 0)
        replay = world.batch("--replay", made.path, "--rows", rows, env=env).split("\n\n")
        equal(f"{rows}: times", [seconds_of(f) for f in frames], list(range(first, first + 9)))
        for frame in frames:
            equal(f"{rows}: frame of second {seconds_of(frame)}", frame, replay[seconds_of(frame) - 1])


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def other_runs(made, number):
    """Finished runs with a job each, older than the one that is written."""
    made.db.execute("CREATE TEMP TABLE t AS SELECT * FROM run")
    made.db.execute("BEGIN")
    for i in range(2, number + 2):
        made.db.execute("UPDATE t SET id = ?, uuid = ?, state = 'complete', duration_ns = 1000000000", (i, f"u-{i}"))
        made.db.execute("INSERT INTO main.run SELECT * FROM t")
        made.db.execute("INSERT INTO job (run_id, slot, name, selector, lookups, misses) VALUES (?, 1, ?, 'pid: 1', "
                        "1000, ?)", (i, f"job{i}", i))
    made.db.execute("COMMIT")


@part.case
def all_runs(world, stack):
    """The jobs of other runs, and their content."""
    made = world.made(stack, 5)
    other_runs(made, 3)
    terminal = world.top(stack, made, words="--rows runs --run 1")
    screen = terminal.wait_for("run 4: job4")
    check(screen.index("run 4: job4") < screen.index("run 2: job2"), f"not by misses:\n{screen}")
    check("newest runs" in screen or "whole runs" in screen, f"not said what it is:\n{screen}")
    check(re.search(r" 4 .* 1\.00k .*run 4: job4", screen), f"figures of run 4:\n{screen}")
    terminal.keys("Home")
    terminal.keys("/")
    terminal.keys("-l", "job3")
    terminal.keys("Enter")
    terminal.wait(lambda s: "run 4" not in s and "run 3: job3" in s, "the third alone")
    terminal.keys("z")
    terminal.wait(lambda s: s.startswith("run 3") and "DIRECTORY" in s, "directories of the third")
    terminal.keys("BSpace")
    terminal.wait(lambda s: s.startswith("run 1") and "run 3: job3" in s, "the list")


@part.case
def costs_little(world, stack):
    """A refresh per second, with the largest number of files per interval, all of it on the
    screen."""
    files = [b"/data/%d/some-longer-name-%04d.tar" % (i % 10, i) for i in range(256)]
    made = world.made(stack, 130, ended=False, files=files)
    other_runs(made, 10000)
    for rows in ("runs", "files", "directories", "jobs"):
        terminal = world.top(stack, made, 200, 60, f"--rows {rows}")
        terminal.keys("Enter")
        terminal.wait_for("Windows by pages")
        pid = terminal.child()
        stop = threading.Event()
        begun, cpu = time.monotonic(), cpu_seconds(pid)
        while time.monotonic() - begun < world.cpu_seconds:
            made.add()
            stop.wait(1)
        share = (cpu_seconds(pid) - cpu) / (time.monotonic() - begun)
        part.note(f"{rows} and detail, 200x60, a refresh a second: {share * 100:.2f} % of a CPU over {world.cpu_seconds} s")
        check(share < CPU_SHARE_MAX, f"{share * 100:.2f} % of a CPU, {CPU_SHARE_MAX * 100} % allowed")
        terminal.keys("q")


if __name__ == "__main__":
    sys.exit(part.main(World))
