#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The command line as users see it: examples that run, a fast start, progress, pipes, terminals."""

import contextlib
import glob
import json
import os
import re
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import time

from syslib import machine
from syslib.made_fleet import Node
from syslib.made_jobs import make_database
from syslib.part import Part, Skipped, check, equal
from syslib.screen import Screen
from syslib.terminal import Terminal
from syslib.tool import Tool, tail

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VERBS = ["watch", "top", "report", "advise", "ask", "explain", "whatif", "compare", "runs", "mark", "merge",
         "doctor", "selftest"]
BOUND_S = 120
CLEAR = b"\r\x1b[K"
READER = """
import os, sys, time
end = time.monotonic() + float(sys.argv[1])
data = os.open("data/file", os.O_RDONLY)
while True:
    os.posix_fadvise(data, 0, 0, os.POSIX_FADV_DONTNEED)
    os.lseek(data, 0, os.SEEK_SET)
    while os.read(data, 65536):
        pass
    if time.monotonic() > end:
        break
"""

part = Part(__doc__)
part.count_option("starts", 9, 3, "starts of each verb, of which the quickest counts")


class World:
    """A directory in which every example works as it stands, except for PLACES."""

    def __init__(self, args, work, stack):
        self.tool = Tool(args.cachemon, work)
        self.work = work
        self.starts = args.starts
        self.place = os.path.join(work, "place")
        self.recorded = False
        os.makedirs(os.path.join(self.place, "data"))
        os.makedirs(os.path.join(self.place, "rules"))
        with open(os.path.join(self.place, "data", "file"), "wb") as f:
            f.write(os.urandom(4 << 20))
        self.write("train.py", READER.replace("sys.argv[1]", "0.3"))
        self.write("reader.py", READER)
        self.made = os.path.join(self.place, "made.db")
        make_database(self.made, ["train", "train"])
        self.eight = os.path.join(self.place, "eight.db")
        make_database(self.eight, ["train"] * 8)
        self.make_nodes("node1.db", "node2.db", "nodes/node3.db")
        self.write("job", "#!/bin/sh\nexec python3 reader.py 2.5\n", 0o755)
        tools = os.path.join(work, "bin")
        os.makedirs(tools)
        os.symlink(args.cachemon, os.path.join(tools, "cachemon"))
        # These tests run as root, with or without sudo.
        with open(os.path.join(tools, "sudo"), "w", encoding="ascii") as f:
            f.write('#!/bin/sh\nexec "$@"\n')
        os.chmod(os.path.join(tools, "sudo"), 0o755)
        self.env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}",
                    "CACHEMON_DB": os.path.join(self.place, "cachemon.db")}

    def make_nodes(self, *names):
        """A job on each of these nodes, and all.db with the first two, as the merge makes it."""
        os.makedirs(os.path.join(self.place, "nodes"))
        for name in names:
            node = Node(os.path.join(self.place, name), os.path.basename(name)[:-3])
            node.run(4711, counts={"lookups": 10, "misses": 1})
            node.done()
        self.tool.run("merge", os.path.join(self.place, "all.db"), *(os.path.join(self.place, n) for n in names[:2]))

    def write(self, name, text, mode=0o644):
        with open(os.path.join(self.place, name), "w", encoding="ascii") as f:
            f.write(text)
        os.chmod(os.path.join(self.place, name), mode)

    def shell(self, command, status=0):
        done = subprocess.run(["bash", "-c", command], cwd=self.place, env=self.env, capture_output=True,
                              text=True, timeout=BOUND_S, stdin=subprocess.DEVNULL)
        check(done.returncode == status,
              f"{command!r} exits {done.returncode}, not {status}: {tail(done.stderr)}")
        return done

    def record_pair(self, db):
        for _ in range(2):
            self.shell(f"cachemon watch --db {db} --job train --level full --interval 100ms -- ./job")

    def record(self):
        """Two runs that can be compared, in the default database and in run.db."""
        if self.recorded:
            return
        for db in ("cachemon.db", "run.db"):
            self.record_pair(db)
        self.recorded = True


def examples(world, *words):
    """The example commands at the top of a --help."""
    text = world.tool.run(*words, "--help")
    lines = text[text.index("\nEXAMPLES\n"):text.index("\nUSAGE\n")].splitlines()
    return [line.strip() for line in lines if re.match(r"  \S", line)]


def start_reader(world, stack, seconds):
    reader = subprocess.Popen(["python3", "reader.py", str(seconds)], cwd=world.place)
    stack.callback(reader.wait)
    stack.callback(reader.kill)
    return reader


def in_place(world, stack, command):
    """Replaces placeholders: a process, a cgroup, a directory, a duration, runs. The last two
    runs must be of one job when they are compared, whatever was watched before."""
    if "compare last-1 last" in command:
        world.record_pair("cachemon.db")
    if "compare 1 2 3 4 vs 5 6 7 8" in command:
        command += f" --db {world.eight}"
    if command.startswith("cachemon mark "):
        return f"sudo cachemon watch -- {command}"
    if "--pid 4321" in command:
        reader = start_reader(world, stack, 30)
        command = command.replace("4321", str(reader.pid)).replace("30s", "1s")
    if "/sys/fs/cgroup/batch" in command:
        root = machine.v2_root() or machine.v1_root()
        if not root:
            raise Skipped("no cgroups here")
        group = machine.cgroup(stack, root, f"cachemon-cli-{os.getpid()}")
        reader = start_reader(world, stack, 30)
        machine.enter_cgroup(group, reader.pid)
        command = command.replace("/sys/fs/cgroup/batch", group)
    command = command.replace("/srv/cachemon", os.path.join(world.place, "nodes"))
    return command.replace("/data", os.path.join(world.place, "data"))


def run_until_interrupted(world, stack, command):
    """Presses Ctrl-C once something was recorded, as a user would."""
    db = world.env["CACHEMON_DB"]

    def recorded():
        with contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True, timeout=10)) as found:
            return found.execute("SELECT EXISTS (SELECT 1 FROM interval JOIN run ON run.id = run_id"
                                 " WHERE state = 'open' AND run.duration_ns > 0)").fetchone()[0]

    with subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=world.place, env=world.env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        stack.callback(process.kill)
        machine.until(recorded, f"an interval of {command!r}")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=BOUND_S)
    equal(f"status of {command!r}: {tail(err)}", process.returncode, 0)
    return subprocess.CompletedProcess(command, 0, out, err)


def run_on_terminal(world, stack, command):
    """Shows a view, then leaves it with q; its status is that of the shell's line."""
    terminal = Terminal(stack, world.work, 80, 24, PATH=world.env["PATH"], CACHEMON_DB=world.env["CACHEMON_DB"])
    terminal.type(f"cd {world.place}; clear; {command}; echo status $?")
    shown = terminal.wait(lambda screen: "MISSES/s" in screen, f"the view of {command!r}", BOUND_S)
    terminal.keys("q")
    terminal.wait(lambda screen: re.search(r"^status 0$", screen, re.M), f"the end of {command!r}", BOUND_S)
    return subprocess.CompletedProcess(command, 0, shown, "")


def run_without_view(world, stack, command):
    """A view that fails before it is shown."""
    terminal = Terminal(stack, world.work, 200, 24, PATH=world.env["PATH"], CACHEMON_DB=world.env["CACHEMON_DB"])
    terminal.type(f"cd {world.place}; clear; {command}; echo status $?")
    shown = terminal.wait(lambda screen: re.search(r"^status \d+$", screen, re.M), f"the end of {command!r}", BOUND_S)
    check(re.search(r"^status 1$", shown, re.M), f"{command!r}: {shown}")
    return subprocess.CompletedProcess(command, 1, "", shown)


def run_live(world, stack, command):
    """A watch with its view, which ends with the watched command. The terminal has rows for
    warnings above the report."""
    terminal = Terminal(stack, world.work, 80, 60, PATH=world.env["PATH"], CACHEMON_DB=world.env["CACHEMON_DB"])
    terminal.type(f"cd {world.place}; clear; {command}; echo status $?")
    shown = terminal.wait(lambda screen: re.search(r"^status \d+$", screen, re.M), f"the end of {command!r}", BOUND_S)
    check(re.search(r"^status 0$", shown, re.M) and re.search(r"^cachemon: run \d+, job ", shown, re.M)
          and re.search(r"^waiting  ", shown, re.M), f"{command!r}: {shown}")
    return subprocess.CompletedProcess(command, 0, shown, "")


def run_example(world, stack, command):
    if "watch --live" in command:
        return run_live(world, stack, command)
    if "--slurm" in command or "top --job slurm:" in command:
        # This machine has no such job; slurm.py and node_top.py watch real ones.
        done = run_without_view(world, stack, command) if " top" in command else world.shell(command, 1)
        check("no Slurm job '4711'" in done.stderr, f"{command!r}: {done.stderr}")
        return done
    if " top" in command and "--batch" not in command:
        return run_on_terminal(world, stack, command)
    if "watch --cgroup" in command:
        return run_until_interrupted(world, stack, command)
    if " ask " in command and "--llm-dry-run" not in command:
        # These tests run as root, which never contacts a model.
        done = world.shell(f"CACHEMON_LLM_URL=http://127.0.0.1:9/v1 CACHEMON_LLM_MODEL=m {command}", 1)
        check("root" in done.stderr, f"{command!r}: {done.stderr}")
        return done
    return world.shell(command)


def run_examples(world, stack, found):
    check(found, "no examples")
    for command in found:
        done = run_example(world, stack, in_place(world, stack, command))
        # Output into a file or a directory prints nothing.
        check(done.stdout or done.stderr or " -o " in command or " --reports " in command, f"{command!r} says nothing")
        written = re.search(r" (?:-o|--report) (\S+\.html)", command)
        if written:
            with open(os.path.join(world.place, written[1]), encoding="utf-8") as f:
                check(f.read().startswith("<!DOCTYPE html>"), f"{command!r}: no page")
        if "--json" in command:
            json.loads(done.stdout)


def examples_case(*words):
    def case(world, stack):
        world.record()
        run_examples(world, stack, examples(world, *words))
    case.__name__ = f"examples_of_{words[0] if words else 'the_program'}"
    part.case(case)


examples_case()
for name in VERBS:
    examples_case(name)


def document(name):
    with open(f"{ROOT}/{name}", encoding="utf-8") as f:
        return f.read().replace("\\\n", "")


@part.case
def examples_of_the_documents(world, stack):
    """The commands of the README and its guide, in order. tests/run builds in its own way."""
    world.record()
    found = re.findall(r"^    ((?:sudo )?cachemon [a-z-].*|sqlite3 .*)$",
                       document("README.md") + document("docs/usage.md"), re.M)
    verbs = {command.split("cachemon ")[1].split()[0] for command in found if "cachemon " in command}
    equal("verbs that they show", verbs, {*VERBS, "help", "--help"})
    run_examples(world, stack, found)


@part.case
def documents_are_listed(*_):
    """The README is short, the index has every document, and links lead to existing files and
    headings."""
    check(os.path.getsize(f"{ROOT}/README.md") <= 8192, "README.md is larger than 8 KB")
    names = sorted(name for name in os.listdir(f"{ROOT}/docs") if name.endswith(".md") and name != "README.md")
    index = re.findall(r"\]\(([\w-]+\.md)\)", document("docs/README.md"))
    equal("documents in docs/README.md", sorted(set(index)), names)
    for path in ("README.md", *(f"docs/{name}" for name in ("README.md", *names))):
        for link, heading in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", document(path)):
            to = os.path.normpath(os.path.join(os.path.dirname(path), link)) if link else path
            check(os.path.exists(f"{ROOT}/{to}"), f"{path}: a link to {to}, which is not there")
            if heading:
                there = [re.sub(r"[^\w -]", "", line.lower()).strip().replace(" ", "-")
                         for line in re.findall(r"^#+ (.*)$", document(to), re.M)]
                check(heading in there, f"{path}: no heading {heading} in {to}")


@part.case
def readme_is_true(world, _):
    """The README's packages are those that the tests install, and each report that it or the guide
    shows is the recorded one."""
    text = document("README.md")
    with open(f"{ROOT}/tests/common.sh", encoding="utf-8") as f:
        wanted = re.search(r"^PACKAGES_BUILD=\(([^)]*)\)", f.read(), re.M)[1].split()
    equal("packages", re.search(r"apt-get install (.*)", text)[1].split(), wanted)
    with open(f"{ROOT}/examples/recorded/screen.txt", encoding="utf-8") as f:
        made = f.read()
    for path in ("README.md", "docs/usage.md"):
        shown = re.search(r"^    cachemon: run .*\n(?:    .*\n|\n(?=    ))+", document(path), re.M)
        check(shown, f"{path}: no report is shown")
        lines = [line[4:] for line in shown[0].rstrip().split("\n")]
        equal(f"{path}: the report that is shown", "\n".join(lines), made.rstrip())


def quickest(world, argv, stack):
    """Seconds until the first byte and CPU nanoseconds until then, the minimum of several
    starts."""
    seconds, cpu_ns = [], []
    env = {**world.env, "PAGER": "cat"}  # a long output must not wait for a key
    for _ in range(world.starts):
        screen = Screen(stack, argv, cwd=world.place, env=env)
        screen.until(lambda said: said, f"the first output of {argv[1:]}")
        seconds.append(time.monotonic() - screen.begin)
        with open(f"/proc/{screen.process.pid}/schedstat", encoding="ascii") as f:
            cpu_ns.append(int(f.read().split()[0]))
        screen.process.send_signal(signal.SIGINT)
        screen.end()
        screen.close()
    return min(seconds), min(cpu_ns)


@part.case
def first_output(world, stack):
    """Judged by CPU time until the first byte, which other load does not change. The time that a
    user waits is printed too."""
    world.record()
    cachemon = world.tool.cachemon
    base, _ = quickest(world, [cachemon, "--version"], stack)
    for line in (["--help"], ["top", "--batch", "--frames", "1"], ["report"], ["report", "--json"], ["advise"],
                 ["explain"], ["whatif", "cache"], ["whatif", "readahead"], ["compare", "last-1", "last"], ["runs"], ["doctor"],
                 ["doctor", "--json"], ["selftest"], ["watch", "--", "true"], ["watch", "--pid", "1"]):
        wall, cpu_ns = quickest(world, [cachemon, *line], stack)
        part.note(f"{' '.join(line)}: {wall * 1e3:.1f} ms to the first byte, {wall / base:.1f} times --version; "
                  f"{cpu_ns / 1e6:.1f} ms on a CPU")
        check(cpu_ns < 100e6, f"{line}: {cpu_ns / 1e6:.0f} ms of work before anything is said")


@contextlib.contextmanager
def locked(path):
    """Like a stuck writer: readers wait."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("BEGIN EXCLUSIVE")
        yield db
        db.execute("ROLLBACK")


@part.case
def progress(world, stack):
    """A report that has to wait: first a sign of life, then the seconds, then none of it
    remains."""
    db = os.path.join(world.place, "locked.db")
    world.shell("cp made.db locked.db")
    argv = [world.tool.cachemon, "report", "--db", db]
    with locked(db):
        screen = Screen(stack, argv, env=world.env)
        screen.until(lambda said: b"reading the database ..." in said, "a sign of life")
        equal("said at first", screen.said, CLEAR + b"reading the database ...")
        screen.until(lambda said: b"2 s so far" in said, "seconds")
    status = screen.end()
    equal("status", status, 0)
    line, _, report = screen.said.rpartition(CLEAR)
    check(line.startswith(CLEAR) and report.startswith(b"cachemon: run "), f"{screen.said[:400]!r}")
    check(b"\n" not in line and b"reading the database" not in report, "not cleared")
    check(all(len(shown) < 80 for shown in line.split(CLEAR)), "a line as wide as the terminal")


@part.case
def no_progress_where_none_belongs(world, stack):
    db = os.path.join(world.place, "locked.db")
    world.shell("cp made.db locked.db")
    argv = [world.tool.cachemon, "report", "--db", db, "--full"]
    with locked(db):
        dumb = Screen(stack, argv, term="dumb", env=world.env)
        piped = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=world.env)
        shown = Screen(stack, argv, env=world.env)
        shown.until(lambda said: b"2 s so far" in said, "a terminal's line")
    equal("dumb: status", dumb.end(), 0)
    out, err = piped.communicate(timeout=BOUND_S)
    equal("piped: stderr", err, b"")
    check(dumb.said.replace(b"\r\n", b"\n") == out and b"\x1b" not in out, "not what a pipe gets")


@part.case
def closed_pipe(world, stack):
    """A pipe closed by its reader: no traceback, no message, and the status of a signal or of
    success."""
    for line in ("report --json", "report --format csv", "explain", "explain prefetch-waste", "--help", "advise"):
        done = world.shell(f"CACHEMON_DB=made.db cachemon {line} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}")
        check(len(done.stderr.splitlines()) <= 1, f"{line}: {done.stderr!r}")
        check(done.stdout.strip() in ("0", "1", "141"), f"{line}: status {done.stdout.strip()}")


@part.case
def same_for_programs(world, stack):
    """--json is --format json; -o - is standard output; neither has colours or cursor movements."""
    for verb in ("report", "advise", "whatif cache", "compare last-1 last"):
        one = world.shell(f"cachemon {verb} --db made.db --json").stdout
        equal(f"{verb} --json", one, world.shell(f"cachemon {verb} --db made.db --format json -o -").stdout)
        json.loads(one)
    for line in ("report", "runs", "doctor", "advise", "--help", "report --help"):
        for env in ("", "NO_COLOR=1", "TERM=dumb"):
            screen = Screen(stack, ["sh", "-c", f"{env} CACHEMON_DB=made.db exec cachemon {line}"],
                            cwd=world.place, env=world.env)
            screen.end()
            text = screen.said.rpartition(CLEAR)[2]
            check(b"\x1b" not in text, f"{env} {line}: an escape in what is to be read")


@part.case
def interrupted(world, stack):
    """Ctrl-C while a report waits: it ends at once and writes nothing."""
    db = os.path.join(world.place, "locked.db")
    world.shell("cp made.db locked.db")
    with locked(db):
        screen = Screen(stack, [world.tool.cachemon, "report", "--db", db, "-o", "x.html"], cwd=world.place,
                        env=world.env)
        screen.until(lambda said: b"2 s so far" in said, "the wait")
        screen.process.send_signal(signal.SIGINT)
        equal("status", screen.end(), -signal.SIGINT)
    check(not glob.glob(os.path.join(world.place, "x.html*")), "something was written")


@part.case
def secrets_have_no_flag(world, stack):
    for verb in VERBS:
        words = world.tool.run(verb, "--help")
        # An option that names a FILE does not take the secret itself.
        for name, value in re.findall(r"^  (?:-\w, )?--([\w-]+)(?: (\S+))?", words, re.M):
            check(value == "FILE" or not re.search("key|password|token|secret", name), f"{verb} takes a secret: {name}")


@part.case
def no_network(world, stack):
    """Nothing is fetched or reported: only libcurl connects, and without --llm there is no
    connection, even if an endpoint is configured."""
    names = subprocess.run(["nm", "-D", world.tool.cachemon], capture_output=True, text=True, check=True).stdout
    used = set(re.findall(r"\bU (getaddrinfo|system|popen)\b", names))
    check("sqlite3_step" in names, "the names that it calls")
    equal("calls", used, set())
    # The sockets of a node's daemon are files. Only its metrics server listens on the network.
    sources = subprocess.run(["git", "grep", "-hoE", r"\<socket\([A-Z_0-9a-z]+", "--", "cachemon/*.c", "advisor/*.c",
                              ":!cachemon/daemon/metrics_http.c"],
                             cwd=ROOT, capture_output=True, text=True, check=True).stdout
    equal("sockets", set(sources.splitlines()), {"socket(AF_UNIX"})
    world.record()
    server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    endpoint = f"CACHEMON_LLM_URL=http://127.0.0.1:{server.getsockname()[1]}/v1 CACHEMON_LLM_MODEL=m"
    user = "SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody"
    db = "--db run.db"
    for command in (f"report {db}", f"advise {db}", f"runs {db}", f"compare {db} 1 2", f"whatif cache {db}",
                    f"top --batch --frames 1 {db}", "explain", "doctor", f"advise {db} --llm-dry-run",
                    f"watch {db} -- true"):
        world.shell(f"{endpoint} cachemon {command} >/dev/null")
    equal("connections", bool(select.select([server], [], [], 0)[0]), False)
    # A connection would be detected: the socket never answers, and the client is turned away.
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(["bash", "-c", f"chmod a+rwX . run.db; {endpoint} {user} exec cachemon advise {db} --llm"],
                       cwd=world.place, env=world.env, capture_output=True, timeout=5, check=False)
    equal("connections with --llm", bool(select.select([server], [], [], 0)[0]), True)


def rows():
    """The table of docs/cli.md: the source of each row."""
    with open(os.path.join(ROOT, "docs", "cli.md"), encoding="utf-8") as f:
        text = f.read()
    table = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line] for line in table if len(line) == 3][1:]


@part.case
def table_leans_on_tests(world, stack):
    """Each row of the table names an existing test, or says why there is none."""
    found = rows()
    check(len(found) > 60, f"{len(found)} rows")
    tested = 0
    for convention, what, test in found:
        names = re.findall(r"`(tests/[\w/.]+)(?:: (\w+))?`", test)
        check(names or what.startswith(("No:", "Not applicable:")) or test.startswith("read: "),
              f"{convention}: neither a test nor a reason")
        for path, name in names:
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                check(not name or re.search(rf"\b{name}\b", f.read()), f"{convention}: no {name} in {path}")
            tested += 1
    part.note(f"{len(found)} conventions, {tested} tests named")


if __name__ == "__main__":
    sys.exit(part.main(World))
