#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The live view of a running watch, or with its own watch: its content, what it leaves behind,
and messages meanwhile."""

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.machine import until  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.terminal import Terminal  # noqa: E402
from syslib.topworld import World, rate, read_frame  # noqa: E402
from syslib.users import NOBODY, PLAIN, program  # noqa: E402

part = Part(__doc__)

READER = ("import os, sys, time\nfd = os.open(sys.argv[1], os.O_RDONLY)\n"
          "while True:\n    for at in range(0, os.fstat(fd).st_size, 65536):\n        os.pread(fd, 65536, at)\n"
          "    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n    time.sleep(0.02)\n")


def reader(world, stack):
    path = world.tool.fresh(".data")
    with open(path, "wb") as f:
        f.write(os.urandom(8 << 20))
        os.fsync(f.fileno())
    process = subprocess.Popen([sys.executable, "-c", READER, path])
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process, os.path.basename(path)


@part.case
def beside_a_watch(world, stack):
    """A real run while it is written, with its file by name; and the same moments later."""
    process, name = reader(world, stack)
    watch = world.tool.watch(stack, ("--pid", str(process.pid), "--level", "full", "--job", "reader"))
    watch.wait_started()
    env = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    live = subprocess.Popen([world.cachemon, "top", "--batch", "--db", watch.db, "--rows", "files", "--frames",
                             "4"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=env)
    stack.callback(live.kill)
    terminal = Terminal(stack, world.work, 80, 24)
    terminal.type(f"{world.cachemon} top --db {watch.db} --rows files")
    terminal.wait(lambda s: name in s and "live" in s and "reader on" in s, "the file that is read")
    terminal.keys("q")
    frames = [read_frame(live) for _ in range(4)]
    watch.interrupt()
    watch.end()
    replay = world.batch("--replay", watch.db, "--rows", "files", env=env).split("\n\n")
    for frame in frames:
        check(frame in replay, f"not replayed:\n{frame}")


@part.case
def captures_by_itself(world, stack):
    """With a selector: it has its own watch, which ends with the view and leaves nothing."""
    process, name = reader(world, stack)
    place = os.path.join(world.work, "tmp")
    os.makedirs(place, exist_ok=True)
    for how in ("q", signal.SIGTERM, signal.SIGSEGV):
        terminal = Terminal(stack, world.work, 80, 24, TMPDIR=place)
        terminal.type(f"{world.cachemon} top --pid {process.pid} --rows files")
        terminal.wait(lambda s: name in s and "live" in s, "the file that is read")
        pid = terminal.child()
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            sets = dict(re.findall(r"^(Cap(?:Prm|Eff|Inh)):\s*([0-9a-f]+)", f.read(), re.M))
        equal("capabilities of the view", {k: int(v, 16) for k, v in sets.items()},
              {"CapPrm": 0, "CapEff": 0, "CapInh": 0})
        watch, = children(pid)
        if how == "q":
            terminal.keys(how)
        else:
            os.kill(pid, how)
        until(lambda: not os.path.exists(f"/proc/{watch}"), f"the end of watch after {how}")
        until(lambda: not os.path.exists(f"/proc/{pid}"), f"the end of top after {how}")
        if how != signal.SIGSEGV:
            equal(f"left behind after {how}", os.listdir(place), [])
    check(process.poll() is None, "the job was ended too")


@part.case
def first_rows_come_at_once(world, stack):
    """However long an interval is, the first one has at most 250 ms."""
    process, name = reader(world, stack)
    done = subprocess.run([world.cachemon, "top", "--pid", str(process.pid), "--rows", "files", "--interval", "20s",
                           "--batch", "--frames", "1"], capture_output=True, text=True, check=True)
    check(name in done.stdout and " 0:00:00" in done.stdout.splitlines()[0], f"the first frame: {done.stdout}")


SMALL_FILES = {"shard-a": 450, "shard-b": 180, "shard-c": 70}
READ_ALL = ("import os, sys\nfor folder, _, names in os.walk(sys.argv[1]):\n    for name in names:\n"
            "        with open(os.path.join(folder, name), 'rb', 0) as f:\n            f.read()\n")


def drop(root):
    """Its files leave the cache."""
    os.sync()
    for folder, _, names in os.walk(root):
        for name in names:
            fd = os.open(os.path.join(folder, name), os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


@part.case
def directories_are_exact(world, stack):
    """A dataset of more small files than an interval has rows for: each directory has the pages
    of its files, each of which is read once."""
    root, db = world.tool.fresh(".dataset"), world.tool.fresh(".db")
    for folder, number in SMALL_FILES.items():
        os.makedirs(os.path.join(root, folder))
        for i in range(number):
            with open(os.path.join(root, folder, f"{i}.jpg"), "wb") as f:
                f.write(os.urandom(4096))
    subprocess.run([world.cachemon, "watch", "--db", db, "--level", "full", "--interval", "60s", "--",
                    sys.executable, "-c", READ_ALL, root], check=True, stdin=subprocess.DEVNULL, capture_output=True)
    with contextlib.closing(sqlite3.connect(db)) as rows:
        seconds = rows.execute("SELECT duration_ns / 1e9 FROM interval").fetchall()
        equal("intervals", len(seconds), 1)
    shown = {}
    for line in world.batch("--replay", db, "--rows", "directories", env={"COLUMNS": "110"}).split("\n"):
        for folder in SMALL_FILES:
            if line.endswith(folder):
                shown[folder] = line.replace(" %", "%").split()[2]
    equal("lookups a second of each directory", shown,
          {folder: rate(int(number / seconds[0][0] + 0.5)) for folder, number in SMALL_FILES.items()})


FOLDERS, FILES_EACH, FILE_PAGES = 12, 250, 4


def uncached_pages(folder):
    """As fincore(1) counts them, not cachemon."""
    done = subprocess.run(["fincore", "--bytes", "--noheadings", "--output", "PAGES,SIZE",
                           *(entry.path for entry in os.scandir(folder))], check=True, capture_output=True, text=True)
    return sum((int(size) + 4095) // 4096 - int(cached) for cached, size in map(str.split, done.stdout.splitlines()))


def directory_sums(db):
    with contextlib.closing(sqlite3.connect(db)) as rows:
        return dict(rows.execute("SELECT CAST(path AS TEXT), sum(i.misses) FROM directory_interval AS i JOIN "
                                 "directory AS d ON d.id = directory_id GROUP BY 1").fetchall())


@part.case
def many_small_files(world, stack):
    """3,000 files in 12 directories, by default: each directory has all its pages in every
    interval, although an interval has rows for few of its files; live, and replayed."""
    root, missing = world.tool.fresh(".dataset"), {}
    for n in range(FOLDERS):
        folder = os.path.join(root, f"class-{n:02d}")
        os.makedirs(folder)
        for i in range(FILES_EACH):
            # Sizes differ, so that a sum of the wrong files shows.
            with open(os.path.join(folder, f"{i}.jpg"), "wb") as f:
                f.write(os.urandom(4096 * (FILE_PAGES - (i * n) % 2)))
    drop(root)
    for folder in map(os.path.abspath, (entry.path for entry in os.scandir(root))):
        missing[folder] = uncached_pages(folder)
    check(all(pages > FILES_EACH for pages in missing.values()), f"still cached: {missing}")
    watch = world.tool.watch(stack, (), [sys.executable, "-c", "input()\n" + READ_ALL, root], stdin=subprocess.PIPE)
    watch.wait_started()
    env = {"COLUMNS": "120", "LINES": "70"}
    live = [subprocess.Popen([world.cachemon, "top", "--batch", "--db", watch.db, *words], stdout=subprocess.PIPE,
                             stdin=subprocess.DEVNULL, text=True, env={**os.environ, "TZ": "UTC", **env})
            for words in ((), ("--rows", "directories"))]
    for view in live:
        stack.callback(view.kill)
        check(read_frame(view), "no frame")
    watch.process.stdin.write("\n")
    watch.finish()
    equal("status", watch.process.returncode, 0)
    frames = [view.communicate(timeout=60)[0] for view in live]
    equal("misses of each directory", {folder: directory_sums(watch.db).get(folder) for folder in missing}, missing)
    with contextlib.closing(sqlite3.connect(watch.db)) as rows:
        files, = rows.execute("SELECT coalesce(sum(misses), 0) FROM file_interval").fetchone()
        others = rows.execute("SELECT j.misses - (SELECT sum(misses) FROM directory_interval AS d WHERE "
                              "d.interval_id = j.interval_id) FROM job_interval AS j JOIN job ON job.id = j.job_id "
                              "WHERE slot = 1").fetchall()
        equal("misses of an interval in no directory", sorted(set(others) - {(None,)}), [(0,)])
    check(files < sum(missing.values()), "all files have rows, so this shows nothing")
    equal("directories in the live view", len(set(re.findall(r"/class-(\d\d)\b", frames[1]))), FOLDERS)
    # Next to the jobs too, once an interval has more files than rows.
    shown = [frame for frame in frames[0].split("\n\n") if re.search("WAITED/s DIRECTORY", frame)]
    check(shown and not any("[all other files]" in frame for frame in shown), frames[0])
    for words, text in (((), frames[0]), (("--rows", "directories"), frames[1])):
        replay = world.batch("--replay", watch.db, *words, env=env).split("\n\n")
        for frame in text.rstrip("\n").split("\n\n"):
            check(frame.rstrip("\n") in [again.rstrip("\n") for again in replay], f"not replayed:\n{frame}")
    # Zoomed into, a directory has a row for its files without one.
    terminal = Terminal(stack, world.work, 120, 24)
    terminal.type(f"{world.cachemon} top --db {watch.db} --rows directories")
    terminal.wait(lambda s: re.search(r"/class-\d\d\b", s), "the directories")
    terminal.keys("Home")
    terminal.keys("z")
    terminal.wait(lambda s: re.search(r"/class-\d\d/\[all other files\]", s), "the files without a row")
    terminal.keys("q")
    part.note(f"{FOLDERS * FILES_EACH} files: rows of files have {files} of {sum(missing.values())} missed pages")


# Three workers: the second one drops its pages, so that each of its reads waits for the disk. Each
# prints how long its reads took without using its CPU, how many there were, and their bytes.
WORKERS = """
import os, sys, time
ends = time.monotonic() + 3
for i, name in enumerate(sys.argv[1:]):
    if os.fork():
        continue
    fd, slept, calls, size = os.open(name, os.O_RDONLY), 0, 0, 0
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    while time.monotonic() < ends:
        if i == 1:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        began, cpu = time.monotonic_ns(), time.thread_time_ns()
        for at in range(0, os.fstat(fd).st_size, 65536):
            size += len(os.pread(fd, 4096 - i, at))
            calls += 1
        slept += time.monotonic_ns() - began - (time.thread_time_ns() - cpu)
    os.write(1, f"{i} {os.getpid()} {slept} {calls} {size}\\n".encode())
    os._exit(0)
for _ in sys.argv[1:]:
    os.wait()
"""


@part.case
def the_process_that_waits(world, stack):
    """The slow worker comes first, with the time that it slept by its own clock; the sum is the
    job's."""
    del stack
    db, names = world.tool.fresh(".db"), [world.tool.fresh(".data") for _ in range(3)]
    for name in names:
        with open(name, "wb") as f:
            f.write(os.urandom(8 << 20))
            os.fsync(f.fileno())
    done = subprocess.run([world.cachemon, "watch", "--db", db, "--level", "full", "--interval", "60s", "--",
                           sys.executable, "-c", WORKERS, *names], check=True, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    workers = [tuple(map(int, line.split())) for line in sorted(done.stdout.split("\n")) if line]
    equal("workers", [worker[0] for worker in workers], [0, 1, 2])
    _, pid, slept, calls, size = workers[1]
    with contextlib.closing(sqlite3.connect(db)) as rows:
        waited = dict(rows.execute("SELECT pid, sum(stall_ns) FROM process_interval GROUP BY 1").fetchall())
        read = {pid: tuple(rest) for pid, *rest in
                rows.execute("SELECT pid, sum(syscr_calls), sum(rchar_bytes) FROM process_interval GROUP BY 1")}
        whole = rows.execute("SELECT syscr_calls, rchar_bytes FROM job WHERE slot = 1").fetchone()
        seconds, = rows.execute("SELECT duration_ns / 1e9 FROM interval").fetchone()
        total, = rows.execute("SELECT stall_ns FROM job WHERE slot = 1").fetchone()
    equal("waiting of all processes", sum(waited.values()), total)
    # A switch between tasks is waiting here, and CPU time by the clock of the task.
    check(0.5 * slept < waited[pid] < 1.05 * slept, f"waited {waited[pid]} ns, slept {slept} ns by its own clock")
    # A fork has read nothing before.
    equal("read calls and bytes of the workers", {worker[1]: read.get(worker[1]) for worker in workers},
          {worker[1]: worker[3:] for worker in workers})
    equal("those of all processes", tuple(map(sum, zip(*read.values()))), whole)
    shown = world.batch("--replay", db, "--rows", "processes", env={"COLUMNS": "80"})
    lines = [line for line in shown.split("\n") if re.search(r" \d+ \S+$", line)]
    check(lines and re.search(rf" {pid} python3", lines[0]), f"process {pid} is not first:\n{shown}")
    equal("its read calls a second", lines[0].split()[-3], rate(int(calls / seconds + 0.5)))
    check(size > 0 and "READ/s" in shown, shown)


LIVE = "--live --level full --job reader"


def bpf_files(pid):
    """Descriptors of maps, programs and links."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return [name for name in found if "bpf" in name]


def children(pid):
    return list(map(int, subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True,
                                        check=True).stdout.split()))


@part.case
def watch_live(world, stack):
    """Full screen with the watch; q ends the view but not the watch, the end of the watch ends
    both."""
    process, _ = reader(world, stack)
    terminal = Terminal(stack, world.work, 100, 40)
    before, after = world.tool.fresh(".stty"), world.tool.fresh(".stty")
    db = world.tool.fresh(".db")
    terminal.type(f"stty -a > {before}; echo this was there")
    terminal.wait(lambda s: s.count("this was there") == 2, "a line on the screen")
    modes = terminal.modes()
    terminal.type(f"{world.cachemon} watch {LIVE} --pid {process.pid} --db {db}")
    terminal.wait(lambda s: "reader on" in s and "live" in s, "the view")
    # After a kill, these would stay behind: they must not keep its probes in the kernel.
    watch = terminal.child()
    check(bpf_files(watch), "the watch holds no map")
    equal("the view and the keeper of messages", len(children(watch)), 2)
    equal("maps, programs and links of these", [bpf_files(pid) for pid in children(watch)], [[], []])
    terminal.keys("q")
    terminal.wait(lambda s: "this was there" in s and "lookups" in s and "JOB" not in s, "the status line")
    check(os.path.exists(f"/proc/{terminal.child()}"), "the watch has ended with its view")
    terminal.keys("C-c")
    terminal.wait(lambda s: "train" not in s and s.rstrip().endswith("$"), "the shell")
    terminal.type("clear")
    terminal.wait(lambda s: s.strip() == "$", "an empty screen")  # earlier input too
    terminal.type(f"{world.cachemon} watch {LIVE} --pid {process.pid} --db {db} --duration 3s")
    terminal.wait(lambda s: "reader on" in s and "live" in s, "the view")
    screen = terminal.wait(lambda s: "--duration 3s" in s and s.rstrip().endswith("$"), "the shell")
    check("reader" in screen.split("--duration 3s")[1], f"no summary:\n{screen}")
    terminal.type(f"stty -a > {after}; echo done")
    terminal.wait(lambda s: s.rstrip().endswith("done\n$"), "the shell")
    equal("modes of the terminal", terminal.modes(), modes)
    with open(before, encoding="utf-8") as x, open(after, encoding="utf-8") as y:
        equal("stty -a", y.read(), x.read())


# Lines in parts with pauses, longer than a row, rewritten, coloured, and on both outputs. More rows
# than the terminal has; it ends in the middle of a line.
WRITER = """
import os, sys, time
for n in range(60):
    while n == 8 and not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    out = sys.stderr if n % 7 == 3 else sys.stdout
    out.write(f"line {n} begins")
    out.flush()
    time.sleep(0.03 if n % 5 else 0.12)
    if n % 10 == 4:
        out.write("x" * 100)
    if n % 10 == 6:
        out.write(f"\\rline {n} \\033[1mbegins\\033[0m")
    out.write(f" and ends {n}\\n")
    out.flush()
sys.stdout.write("an end without a newline")
"""


@part.case
def line_with_a_command(world, stack):
    """The status line uses the last row, and no line of a command on the same terminal is lost
    or overwritten."""
    terminal = Terminal(stack, world.work, 80, 12)
    script, go_on, db = (world.tool.fresh(end) for end in (".py", ".go", ".db"))
    with open(script, "w", encoding="utf-8") as f:
        f.write(WRITER)
    # A COLUMNS that differs from the terminal's width is ignored.
    terminal.type(f"clear; COLUMNS=50 {world.cachemon} watch --interval 100ms --db {db} -- "
                  f"{sys.executable} {script} {go_on}; "
                  "echo status $?")

    def line_is_last(screen):
        rows = screen.split("\n")[:12]
        return "lookups" in rows[-1] and any(row.startswith("line 7 begins and ends") for row in rows[:-1])

    terminal.wait(line_is_last, "the line in the last row, below the command's")
    terminal.resize(80, 16)
    terminal.wait(lambda s: "lookups" in s.split("\n")[15], "the line in the last row of a larger terminal")
    with open(go_on, "w", encoding="utf-8"):
        pass
    terminal.wait_for("status 0")
    said = [line.rstrip() for line in terminal.tmux("capture-pane", "-p", "-J", "-S", "-").split("\n")]
    want = [f"line {n} begins{'x' * 100 if n % 10 == 4 else ''} and ends {n}" for n in range(60)]
    want.append("an end without a newline")
    equal("lines of the command", [line for line in said if line.startswith(("line ", "an end"))], want)
    check(not any("lookups" in line and "miss" in line and "hit" in line and "own" in line for line in
                  terminal.screen().split("\n")), "the line is gone at the end")
    terminal.type("clear; seq 40")
    terminal.wait(lambda s: s.split("\n")[14].strip() == "40", "all rows scroll again")


WAITER = "until [ -e {go_on} ]; do sleep 0.05; done; exit 5"


class LineAndShell:
    """A watch with a status line and a command that waits, in a shell with job control."""

    def __init__(self, world, stack, end=""):
        self.go_on, self.db, script = (world.tool.fresh(end) for end in (".go", ".db", ".sh"))
        with open(script, "w", encoding="utf-8") as f:
            f.write(WAITER.format(go_on=self.go_on))
        self.terminal = Terminal(stack, world.work, 80, 12)
        stack.callback(self.let_go)
        self.terminal.type(f"clear; {world.cachemon} watch --interval 100ms --db {self.db} -- sh {script} {end}")

    def let_go(self):
        with open(self.go_on, "w", encoding="utf-8"):
            pass

    def wait_line(self, what):
        self.terminal.wait(lambda s: "lookups" in s.split("\n")[11] and s.count("lookups") == 1, what)
        equal(f"rows that scroll, {what}", self.rows_that_scroll(), "0 10")

    def rows_that_scroll(self):
        return self.terminal.tmux("display-message", "-p", "#{scroll_region_upper} #{scroll_region_lower}")

    def wait_no_line(self, what):
        until(lambda: self.rows_that_scroll() == "0 11", f"all rows scroll, {what}")
        self.terminal.wait(lambda s: "lookups" not in s, f"no line, {what}")

    def wait_samples(self, number=5):
        """That many more intervals: each would have shown a line."""
        def count():
            with contextlib.suppress(sqlite3.Error), \
                    contextlib.closing(sqlite3.connect(f"file:{self.db}?mode=ro", uri=True)) as rows:
                return rows.execute("SELECT count(*) FROM interval").fetchone()[0]
            return 0
        before = count()
        until(lambda: count() >= before + number, "more intervals")

    def stays_away(self, what):
        """Another program uses the whole terminal, with its own scroll region."""
        self.terminal.type("clear; printf '\\033[3;9r'; echo mine")
        self.terminal.wait(lambda s: s.startswith("mine\n"), "what the shell wrote")
        self.wait_samples()
        equal(f"rows that scroll, {what}", self.rows_that_scroll(), "2 8")
        check("lookups" not in self.terminal.screen(), f"a line, {what}:\n{self.terminal.screen()}")
        self.terminal.type("printf '\\033[r'; clear")
        self.terminal.wait(lambda s: s.strip() == "$", "an empty screen")


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


@part.case
def line_and_stop(world, stack):
    """Ctrl-Z gives the shell its whole terminal; the line is hidden in the background and comes
    back in the foreground."""
    line = LineAndShell(world, stack)
    line.wait_line("at first")
    watch = line.terminal.child()
    for how in ("stopped", "stopped again"):
        line.terminal.keys("C-z")
        until(lambda: state_of(watch) == "T", "a watch that is stopped")
        equal("states of the command", [state_of(pid) for pid in command_of(watch)], ["T"])
        line.wait_no_line(how)
        line.terminal.type("clear; seq 40")
        line.terminal.wait(lambda s: s.split("\n")[10].strip() == "40", "rows that scroll, the last one too")
        line.terminal.type("fg")
        line.wait_line(f"after it was {how}")
    line.terminal.keys("C-z")
    until(lambda: state_of(watch) == "T", "a watch that is stopped")
    line.terminal.type("bg")
    line.stays_away("in the background")
    line.terminal.type("fg")
    line.wait_line("in the foreground")
    line.let_go()
    line.wait_no_line("at the end")
    line.terminal.type("echo status $?")
    line.terminal.wait_for("status 5")


@part.case
def line_and_kill(world, stack):
    """kill -9: all rows scroll again, and nothing of the watch remains."""
    line = LineAndShell(world, stack)
    line.wait_line("at first")
    watch = line.terminal.child()
    keeper = until(lambda: set(children(watch)) - set(command_of(watch)), "a keeper").pop()
    until(lambda: not bpf_files(keeper), "a keeper without maps, programs and links")
    line.terminal.resize(80, 14)
    line.terminal.wait(lambda s: "lookups" in s.split("\n")[13], "the line in a larger terminal")
    keeper = until(lambda: set(children(watch)) - set(command_of(watch)) - {keeper}, "a keeper of that row").pop()
    os.kill(watch, signal.SIGKILL)
    until(lambda: line.rows_that_scroll() == "0 13", "all rows scroll")
    line.terminal.wait(lambda s: "lookups" not in s and s.rstrip().endswith("$"), "the shell, and no line")
    until(lambda: not os.path.exists(f"/proc/{keeper}"), "the end of the keeper")


@part.case
def line_in_the_background(world, stack):
    """A watch started with & writes no line over the programs that the shell runs meanwhile."""
    line = LineAndShell(world, stack, f"> {world.tool.fresh('.log')} &")
    line.wait_samples()
    line.wait_no_line("after &")
    line.stays_away("with &")
    line.terminal.type("fg")
    line.wait_line("in the foreground")
    line.let_go()
    line.wait_no_line("at the end")


def command_of(watch):
    """Processes that a watch runs, without those of its own program."""
    def name(pid):
        with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
            return f.read().strip()
    return [pid for pid in children(watch) if name(pid) != "cachemon"]


def views_of(pid):
    """Processes of a watch's session that still show its run."""
    found = []
    for each in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{each}/cmdline", encoding="utf-8", errors="replace") as f:
                argv = f.read().split("\0")
            with open(f"/proc/{each}/status", encoding="utf-8") as f:
                parent = next(line for line in f if line.startswith("PPid:")).split()[1]
            if argv[:2] == ["cachemon", "top"] and parent in (str(pid), "1"):
                found.append(each)
    return found


@part.case
def what_is_said_is_shown(world, stack):
    """The messages of a watch on stderr during its view appear on the terminal afterwards; of
    many, the first and last."""
    process, _ = reader(world, stack)
    for how, written in ((signal.SIGTERM, 1), (signal.SIGHUP, 1), (signal.SIGTERM, 40000), (signal.SIGSEGV, 1),
                         (signal.SIGKILL, 1)):
        terminal = Terminal(stack, world.work, 100, 24)
        before, after = world.tool.fresh(".stty"), world.tool.fresh(".stty")
        terminal.type(f"stty -a > {before}; echo ready")
        terminal.wait(lambda s: s.rstrip().endswith("ready\n$"), "the shell")
        terminal.type(f"{world.cachemon} watch {LIVE} --pid {process.pid} --db {world.tool.fresh('.db')}")
        terminal.wait(lambda s: "reader on" in s and "live" in s, "the view")
        pid = terminal.child()
        with open(f"/proc/{pid}/fd/2", "w", encoding="utf-8") as f:
            for i in range(written):
                f.write(f"said line {i}\n")
        os.kill(pid, how)
        terminal.wait(lambda s: f"said line {written - 1}\n" in s and "JOB" not in s, f"what was said, {how}")
        terminal.type(f"clear; stty -a > {after}; echo done")
        terminal.wait(lambda s: s.rstrip().endswith("done\n$") and "JOB" not in s, "the shell")
        equal("views that stay", views_of(pid), [])
        with open(before, encoding="utf-8") as x, open(after, encoding="utf-8") as y:
            equal(f"stty -a after {how}", y.read(), x.read())
        if written > 1:
            said = sum(len(f"said line {i}\n") for i in range(written))
            check(said > 4 * 32768, "too little was said")


@part.case
def view_is_killed(world, stack):
    """As on a kernel short of memory: the watch restores the terminal and continues."""
    process, _ = reader(world, stack)
    terminal = Terminal(stack, world.work, 100, 24)
    before, after = world.tool.fresh(".stty"), world.tool.fresh(".stty")
    terminal.type(f"stty -a > {before}; echo this was there")
    terminal.wait(lambda s: s.count("this was there") == 2, "a line on the screen")
    modes = terminal.modes()
    terminal.type(f"{world.cachemon} watch {LIVE} --pid {process.pid} --db {world.tool.fresh('.db')}")
    terminal.wait(lambda s: "reader on" in s and "live" in s, "the view")
    view, = views_of(terminal.child())
    os.kill(int(view), signal.SIGKILL)
    terminal.wait(lambda s: "this was there" in s and "lookups" in s and "JOB" not in s, "the status line")
    terminal.keys("C-c")
    terminal.wait(lambda s: s.rstrip().endswith("$"), "the shell")
    terminal.type(f"stty -a > {after}; echo done")
    terminal.wait(lambda s: "\ndone\n" in s, "the shell")
    equal("modes of the terminal", terminal.modes(), modes)
    with open(before, encoding="utf-8") as x, open(after, encoding="utf-8") as y:
        equal("stty -a", y.read(), x.read())


@part.case
def watch_live_with_a_command(world, stack):
    """Refused if both would use the same terminal; otherwise the status is the command's."""
    terminal = Terminal(stack, world.work, 120, 24)
    ran, out, db = world.tool.fresh(".ran"), world.tool.fresh(".out"), world.tool.fresh(".db")
    for redirect in ("", "> /dev/null", "< /dev/null", "< /dev/null > /dev/null"):
        terminal.type(f"clear; {world.cachemon} watch --live --db {db} -- touch {ran} {redirect}; echo status $?")
        screen = terminal.wait_for("status 2")
        check("another terminal" in screen.replace("\n", "") and not os.path.exists(ran), screen)
    check(not os.path.exists(db), "a database was made")
    terminal.type(f"clear; {world.cachemon} watch --live --db {db} -- sh -c 'echo said; sleep 3; exit 7' "
                  f"< /dev/null > {out} 2>&1; echo status $?")
    terminal.wait(lambda s: "JOB" in s and "live" in s, "the view")
    screen = terminal.wait_for("status 7")
    check("JOB" not in screen, screen)
    with open(out, encoding="utf-8") as f:
        text = f.read()
    check(text.startswith("said\n") and "\x1b" not in text, text)


def capture(stack, cachemon, place, pid, *words, env=None):
    """A view as text that captures by itself, once it shows something; and its watch."""
    process = subprocess.Popen([cachemon, "top", "--batch", "--pid", str(pid), "--interval", "100ms", *words],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                               env={**os.environ, "TMPDIR": place, **(env or {})})
    stack.callback(process.wait)
    stack.callback(process.kill)
    line = process.stdout.readline()
    check(line, f"nothing is shown: {line or process.stderr.read()}")
    return process, children(process.pid)[0]


def ids_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in f)
    return {name: fields[name].split() for name in ("Uid", "Gid", "Groups", "CapPrm", "CapEff", "CapInh")}


@part.case
def through_sudo(world, stack):
    """The view runs as the user before it reads anything; its watch as root, with a database of
    the user."""
    process, _ = reader(world, stack)
    place = os.path.join(world.work, "tmp-sudo")
    os.mkdir(place)
    os.chown(place, NOBODY, NOBODY)
    view, watch = capture(stack, world.cachemon, place, process.pid,
                          env={"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "SUDO_USER": "nobody"})
    ids, none = ids_of(view.pid), ["0" * 16]
    equal("the view", ids, {"Uid": [str(NOBODY)] * 4, "Gid": [str(NOBODY)] * 4, "Groups": [str(NOBODY)],
                            "CapPrm": none, "CapEff": none, "CapInh": none})
    # While it opens a file for the user, its effective user is the user.
    until(lambda: ids_of(watch)["Uid"][:3] == ["0"] * 3, "a watch of root's")
    folder = os.path.join(place, os.listdir(place)[0])
    owners = {name: os.stat(os.path.join(folder, name)).st_uid for name in [".", *os.listdir(folder)]}
    equal("owners", set(owners.values()), {NOBODY})
    view.send_signal(signal.SIGINT)
    view.communicate(timeout=60)
    until(lambda: not os.path.exists(f"/proc/{watch}"), "the end of watch")
    equal("left behind", os.listdir(place), [])


def captures(parent):
    """Directories of views that capture by themselves; other programs use /var/tmp too."""
    return {name for name in os.listdir(parent) if name.startswith("cachemon-top.")}


def foreign_things(place, elsewhere):
    """Names like that of a directory left behind, but of another kind or of another user."""
    os.mkdir(elsewhere)
    for name in ("run.db", "kept"):
        with open(os.path.join(elsewhere, name), "w", encoding="ascii") as f:
            f.write("kept")
    os.symlink(elsewhere, os.path.join(place, "cachemon-top.symlnk"))
    with open(os.path.join(place, "cachemon-top.a_file"), "w", encoding="ascii") as f:
        f.write("kept")
    os.mkfifo(os.path.join(place, "cachemon-top.a_fifo"))
    os.makedirs(os.path.join(place, "cachemon-top.others"))
    os.chown(os.path.join(place, "cachemon-top.others"), NOBODY - 1, NOBODY - 1)
    os.makedirs(os.path.join(place, "cachemon-top.unknwn", "sub"))
    os.symlink(os.path.join(elsewhere, "kept"), os.path.join(place, "cachemon-top.unknwn", "run.db-wal"))
    os.makedirs(os.path.join(place, "another"))
    return {f"cachemon-top.{end}" for end in ("symlnk", "a_file", "a_fifo", "others", "unknwn")} | {"another"}


@part.case
def killed_view(world, stack):
    """kill -9: its watch ends, however it got its capabilities; the next view removes what it
    left, and nothing else."""
    process, _ = reader(world, stack)
    place, elsewhere = os.path.join(world.work, "tmp-killed"), os.path.join(world.work, "elsewhere")
    os.mkdir(place)
    os.chmod(place, 0o777)
    foreign = foreign_things(place, elsewhere)
    user = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}
    wrapped = os.path.join(world.work, "run-top")
    # The loader hides TMPDIR from a program with capabilities.
    for words, env, parent in (([world.cachemon], {}, place), ([world.cachemon], user, place),
                               ([*PLAIN, program(world.tool, "cap_bpf,cap_perfmon")], {}, "/var/tmp")):
        with open(wrapped, "w", encoding="ascii") as f:
            f.write(f"#!/bin/sh\nexec {' '.join(words)} \"$@\"\n")
        os.chmod(wrapped, 0o755)
        other, _ = capture(stack, world.cachemon, place, process.pid)
        live = set(os.listdir(place)) - foreign
        equal("directories of a view that goes on", len(live), 1)
        before = captures(parent)
        view, watch = capture(stack, wrapped, place, process.pid, env=env)
        left = captures(parent) - before
        check(left, "the view has no directory")
        view.kill()
        until(lambda: not os.path.exists(f"/proc/{watch}"), "the end of watch")
        equal("what is left by a killed view", left - set(os.listdir(parent)), set())
        done = subprocess.run([wrapped, "top", "--batch", "--frames", "1", "--pid", str(process.pid)],
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                              env={**os.environ, "TMPDIR": place, **env})
        equal(f"status of the next view ({done.stderr})", done.returncode, 0)
        equal("what is left after the next view", left & set(os.listdir(parent)), set())
        equal("what else is there", set(os.listdir(place)), foreign | live)
        other.send_signal(signal.SIGINT)
        other.communicate(timeout=60)
        equal("what is there in the end", set(os.listdir(place)), foreign)
    equal("elsewhere", sorted(os.listdir(elsewhere)), ["kept", "run.db"])
    check(os.path.isdir(os.path.join(place, "cachemon-top.unknwn", "sub")), "a foreign directory is gone")


@part.case
def capture_that_fails(world, stack):
    done = subprocess.run([world.cachemon, "top", "--batch", "--pid", "4194303"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60, env={**os.environ, "TMPDIR": world.work})
    equal("status", done.returncode, 1)
    check("4194303" in done.stderr and not done.stdout, done.stderr)
    check(not [n for n in os.listdir(world.work) if n.startswith("cachemon-top.")], "something was left behind")


if __name__ == "__main__":
    sys.exit(part.main(World))
