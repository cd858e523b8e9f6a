#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The live view of jobs that a node's daemon counts: each user sees the figures of their own jobs
while these run, and nothing of others."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from daemon import end_group  # noqa: E402
from node_users import ABSENT, ALICE, ANSWER_S, BOB  # noqa: E402
from node_users import PYTHON, TIMED, Node, as_user, client  # noqa: E402
from syslib import reads  # noqa: E402
from syslib.jobworld import end_process, main  # noqa: E402
from syslib.machine import enter_cgroup  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.terminal import Terminal  # noqa: E402
from syslib.topworld import rate, read_frame  # noqa: E402

part = Part(__doc__)
VIEWS = 8
TIMEOUT_S = 60
AS_USER = "setpriv --reuid {0} --regid {0} --clear-groups"
ENV = {"PATH": os.environ["PATH"], "HOME": "/", "TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": "110"}

# Reads a file once for each line, page by page.
READER = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for line in sys.stdin:
    at = 0
    while data := os.pread(fd, 4096, at):
        at += len(data)
    print(at, flush=True)
"""

# Reads each file below a directory once for each line.
FOLDER_READER = """
import os, sys
for line in sys.stdin:
    read = 0
    for folder, _, names in os.walk(sys.argv[1]):
        for name in names:
            with open(os.path.join(folder, name), "rb", 0) as f:
                read += len(f.read())
    print(read, flush=True)
"""
FOLDERS, FILES_EACH = 12, 250


class Reader:
    """A job of that user, which reads one file."""

    def __init__(self, node, i, uid):
        self.path = f"{node.world.data}/{i:02}"
        self.name = os.path.basename(self.path)
        self.pages = -(-os.stat(self.path).st_size // reads.PAGE)
        self.reads = 0
        with open(self.path, "rb") as f:
            reads.drop(f.fileno())
        self.group = node.group(i, uid)
        self.process = subprocess.Popen([PYTHON, "-c", READER, self.path], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, **as_user(uid))
        node.stack.callback(end_process, self.process)
        enter_cgroup(self.group, self.process.pid)

    def read(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        equal("bytes", int(self.process.stdout.readline()), os.stat(self.path).st_size)
        self.reads += 1

    def end(self):
        end_process(self.process)
        end_group(self.group)


def top(node, uid, *words):
    process = subprocess.Popen([node.world.tool.cachemon, "top", "--batch", "--socket", node.socket, *words],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=ENV, cwd="/", **as_user(uid))
    node.stack.callback(end_process, process)
    return process


def row_of(frame, reader):
    """Misses, lookups and prefetched pages a second, as they are shown."""
    row, = [line for line in frame.split("\n") if line.endswith(f"/data/{reader.name}")]
    words = row.replace(" %", "%").replace(" ms", "ms").replace(" s", "s").split()
    return words[1], words[2], words[4]


@part.case
def figures_are_those_of_the_reads(world, stack):
    """Two users at once. The pages that came are those in the cache, by cachestat(2). A moment has
    all of these intervals, because they are shorter than requested."""
    node = Node(world, stack).start("--interval", "10m")
    readers = {ALICE: Reader(node, 1, ALICE), BOB: Reader(node, 2, BOB)}
    node.ask({"request": "hello"})  # its answer comes after the cgroups were seen
    for uid, reader in readers.items():
        for _ in range(3 * (uid - ALICE + 1)):
            reader.read()
    for i in (1, 2):
        equal("end", node.ask({"request": "end", "job": node.name(i)}), {})
        node.wait_ended(i)
    views = {uid: top(node, uid, "--job", node.name(i), "--rows", "files", "--frames", "1")
             for uid, i in ((ALICE, 1), (BOB, 2))}
    for uid, view in views.items():
        reader = readers[uid]
        frame, errors = view.communicate(timeout=TIMEOUT_S)
        equal(f"status: {errors}", view.returncode, 0)
        (seconds,), = node.daemon.query("SELECT sum(duration_ns) / 1e9 FROM interval JOIN job USING (run_id) "
                                        f"WHERE slot = 1 AND uid = {uid}")
        misses, lookups, prefetched = row_of(frame, reader)
        equal("lookups", lookups, rate(int(reader.reads * reader.pages / seconds + 0.5)))
        with open(reader.path, "rb") as f:
            equal("pages in the cache", reads.cached_pages(f.fileno()), reader.pages)
        came = int(misses) + int(prefetched)  # each is rounded
        check(abs(came - reader.pages / seconds) <= 1, f"{came} of {reader.pages} pages in {seconds} s:\n{frame}")
        other, = (r for u, r in readers.items() if u != uid)
        check(f"/data/{other.name}" not in frame, f"the file of another user's job:\n{frame}")
    for i in (2, 9):  # Bob's, and one that is not there
        view = top(node, ALICE, "--job", node.name(i))
        equal("another job", (*view.communicate(timeout=TIMEOUT_S), view.returncode), ("", f"cachemon: {ABSENT}\n", 1))
    node.daemon.end()


def small_files(root):
    """The pages of each directory. Sizes differ, so that a sum of the wrong files shows."""
    pages = {}
    for n in range(FOLDERS):
        folder = f"{root}/class-{n:02d}"
        os.makedirs(folder)
        pages[folder] = 0
        for i in range(FILES_EACH):
            pages[folder] += 1 + i * n % 3
            with open(f"{folder}/{i}", "wb", 0) as f:
                f.write(os.urandom(reads.PAGE * (1 + i * n % 3)))
                reads.drop(f.fileno())
    return pages


@part.case
def directories_of_small_files(world, stack):
    """Far more files than the daemon keeps rows for, read twice: each directory has all its pages."""
    node = Node(world, stack).start("--interval", "10m")
    root = f"{world.data}/small"
    pages = small_files(root)
    group = node.group(1, ALICE)
    process = subprocess.Popen([PYTHON, "-c", FOLDER_READER, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, **as_user(ALICE))
    stack.callback(end_process, process)
    enter_cgroup(group, process.pid)
    node.ask({"request": "hello"})  # its answer comes after the cgroup was seen
    for _ in range(2):
        process.stdin.write("\n")
        process.stdin.flush()
        equal("bytes", int(process.stdout.readline()), sum(pages.values()) * reads.PAGE)
    equal("end", node.ask({"request": "end", "job": node.name(1)}), {})
    node.wait_ended(1)
    view = top(node, ALICE, "--job", node.name(1), "--rows", "directories", "--frames", "1")
    frame, errors = view.communicate(timeout=TIMEOUT_S)
    equal(f"status: {errors}", view.returncode, 0)
    with contextlib.closing(sqlite3.connect(node.fetch(ALICE, 1))) as db:
        seconds, files = db.execute("SELECT sum(duration_ns) / 1e9, (SELECT count(DISTINCT file_id) FROM "
                                    "file_interval) FROM interval").fetchone()
        sums = {path: counts for path, *counts in
                db.execute("SELECT CAST(path AS TEXT), sum(i.lookups), sum(i.misses) FROM directory_interval AS i "
                           "JOIN directory AS d ON d.id = directory_id GROUP BY 1")}
    check(files < len(pages) * FILES_EACH / 4, f"{files} files have rows, so this shows little")
    equal("lookups and misses of each directory", {folder: sums.get(folder) for folder in pages},
          {folder: [2 * n, n] for folder, n in pages.items()})
    # The view shortens long paths at their beginning, and marks what a busy kernel may have left out.
    shown = {line.rpartition("/")[2]: line.replace(" %", "%").replace(">=", "").split()[1:3]
             for line in frame.split("\n") if "/class-" in line}
    equal("misses and lookups a second of each directory", shown,
          {os.path.basename(folder): [rate(int(n / seconds + 0.5)), rate(int(2 * n / seconds + 0.5))]
           for folder, n in pages.items()})
    node.daemon.end()


def of_file(frame, reader):
    """The lines of the run and of that file. Names of others may become known later."""
    lines = frame.split("\n")
    return lines[:3] + [line for line in lines[3:] if line.endswith(f"/data/{reader.name}")]


@part.case
def follows_a_job_to_its_end(world, stack):
    """The moments that were shown live are those of the stored run; the view ends with the job."""
    node = Node(world, stack).start()
    reader = Reader(node, 1, ALICE)
    node.daemon.wait_runs(1)
    reader.read()
    view = top(node, ALICE, "--job", node.name(1), "--rows", "files")
    frames = []
    for _ in range(3):
        frames.append(read_frame(view))
        reader.read()
    reader.end()
    node.wait_ended(1)
    while frame := read_frame(view):
        frames.append(frame)
    equal("status", (view.wait(TIMEOUT_S), view.stderr.read()), (0, ""))
    replay = subprocess.run([world.tool.cachemon, "top", "--batch", "--rows", "files", "--replay",
                             node.fetch(ALICE, 1)], env=ENV, capture_output=True, text=True, check=True).stdout
    replay = replay.rstrip("\n").split("\n\n")
    check(len(frames) >= 3, f"{len(frames)} frames")
    equal("frames to the end", [of_file(f, reader) for f in frames], [of_file(f, reader) for f in replay[-len(frames):]])
    lookups, = node.daemon.query(f"SELECT lookups FROM file WHERE CAST(path AS TEXT) LIKE '%/data/{reader.name}'")
    equal("lookups", lookups, (reader.reads * reader.pages,))
    node.daemon.end()


@part.case
def all_own_jobs(world, stack):
    """Without a name: the job of a user who has one, a list for others."""
    node = Node(world, stack).start()
    readers = [Reader(node, i, uid) for i, uid in ((1, ALICE), (2, BOB), (3, BOB))]
    node.daemon.wait_runs(3)

    def first(uid):
        view = top(node, uid, "--frames", "1")
        frame, _ = view.communicate(timeout=TIMEOUT_S)
        equal("status", view.returncode, 0)
        return {i for i in (1, 2, 3) if node.name(i).split(":")[1] in frame}, frame
    equal("jobs of Alice", first(ALICE)[0], {1})
    equal("jobs of Bob", first(BOB)[0], {2, 3})
    equal("jobs of root", first(0)[0], {1, 2, 3})
    terminal = Terminal(stack, world.tool.work, 80, 24)
    terminal.type(f"{AS_USER.format(BOB)} {world.tool.cachemon} top --socket {node.socket}")
    numbers = [node.name(i).split(":")[1] for i in (2, 3)]
    terminal.wait(lambda s: all(n in s for n in numbers) and "2 jobs run" in s, "both jobs")
    terminal.keys("z")

    def directory(screen):
        for reader in readers:
            reader.read()
        return "/data" in screen and screen.rstrip().endswith("live")
    terminal.wait(directory, "the directories of one")
    terminal.keys("q")
    node.daemon.end()


@part.case
def while_the_daemon_restarts(world, stack):
    node = Node(world, stack).start()
    reader = Reader(node, 1, ALICE)
    node.daemon.wait_runs(1)
    terminal = Terminal(stack, world.tool.work, 80, 24)
    terminal.type(f"{AS_USER.format(ALICE)} {world.tool.cachemon} top --socket {node.socket} --job {node.name(1)} "
                  "--rows files")
    terminal.wait(lambda s: "run 1 " in s and "live" in s, "the job")
    db = node.daemon.db
    node.daemon.process.kill()
    node.daemon.process.wait()
    terminal.wait_for("the daemon does not answer; trying again")
    node.start(db=db)
    terminal.wait(lambda s: "run 2 " in s and "live" in s and "trying" not in s, "the job's next run")
    terminal.wait(lambda s: reader.read() or f"/data/{reader.name}" in s, "the file that is read")
    reader.end()
    terminal.wait(lambda s: s.rstrip().endswith("ended"), "the end")
    terminal.keys("q")
    node.daemon.end()


@part.case
def many_views_of_a_user(world, stack):
    """They keep neither other users nor the daemon's intervals waiting."""
    node = Node(world, stack).start("--interval", "1s")
    Reader(node, 1, ALICE).read()
    Reader(node, 2, BOB).read()
    node.daemon.wait_runs(2)
    views = [top(node, ALICE, "--job", node.name(1)) for _ in range(VIEWS)]
    for view in views[:2]:
        read_frame(view)
    for _ in range(3):
        seconds, answer = json.loads(client(node, BOB, TIMED).communicate(timeout=TIMEOUT_S)[0])
        equal("Bob's jobs", [job["job"] for job in answer["jobs"]], [node.name(2)])
        check(seconds < ANSWER_S, f"{seconds:.2f} s next to {VIEWS} views")
    node.daemon.wait_intervals([1, 2], 3)
    longest, = node.daemon.query("SELECT max(duration_ns) / 1e9 FROM interval")
    print(f"         longest interval {longest[0]:.2f} s of 1 s")
    node.daemon.end()


if __name__ == "__main__":
    sys.exit(main(part))
