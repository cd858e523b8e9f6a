# SPDX-License-Identifier: BSD-2-Clause
"""The guest's part of tests/bench/peers: peers_guest.py errors|cost|calls BUILD ROOT, results in
/out.

ROOT holds the other tools, except for calls. Each is used as in its manual, and read from its
terminal output."""

import contextlib
import json
import os
import pty
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

import icount_guest
import peers_calls
import peers_work
from peers_work import WORKLOADS

DIR = "/scratch/work"
DB = "/tmp/peers.db"
START_S = 1000000  # bcc compiles; and under icount the clock jumps ahead while the CPU idles
EMPTY_RUNS = 2


class Silent(Exception):
    """The tool does not print its answer; the text is its output."""


class Terminal:
    """A program of ROOT on its own terminal."""

    def __init__(self, root, *argv):
        master, slave = pty.openpty()
        self.lines = []
        self.more = threading.Condition()
        self.process = subprocess.Popen(["chroot", root, *argv], stdin=subprocess.DEVNULL,
                                        stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.reader = threading.Thread(target=self.read, args=(master,), daemon=True)
        self.reader.start()

    def read(self, master):
        with open(master, errors="replace") as f, contextlib.suppress(OSError):
            for line in f:
                with self.more:
                    self.lines.append(line.strip())
                    self.more.notify_all()
        with self.more:
            self.lines.append(None)
            self.more.notify_all()

    def after(self, seen, pattern, bound_s=START_S):
        """(the match, the number of lines) of the first such line after those seen."""
        end = time.monotonic() + bound_s
        with self.more:
            while True:
                for at, line in enumerate(self.lines[seen:], seen + 1):
                    if line is None:
                        raise Silent(self.said())
                    match = re.search(pattern, line)
                    if match:
                        return match, at
                if not self.more.wait(end - time.monotonic()):
                    raise Silent(f"nothing like {pattern} in {bound_s} s: {self.said()}")

    def said(self):
        return " | ".join(line for line in self.lines if line)[-600:]

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self):
        if self.process.poll() is None:
            self.interrupt()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(60)
        self.process.kill()
        self.process.wait()


class Rows:
    """A tool that prints a row per interval: its answer for a workload is the sum of the rows from
    the beginning to the end of the workload."""

    def __init__(self, argv, ready, row):
        self.argv, self.ready, self.row = argv, ready, row
        self.terminal = None

    def start(self, root):
        self.terminal = Terminal(root, *self.argv)
        return self.terminal.after(0, self.ready)

    def measure(self, work):
        _, seen = self.terminal.after(len(self.terminal.lines), self.row)
        work()
        done = len(self.terminal.lines)
        rows = []
        while True:
            match, seen = self.terminal.after(seen, self.row)
            rows.append([float(v) for v in match.groups()])
            if seen > done:
                return [sum(column) for column in zip(*rows)], len(rows)

    def idle(self):
        """For a row in which nothing happens."""
        values, rows = self.measure(lambda: None)
        return [value / rows for value in values]

    def end(self):
        if self.terminal:
            self.terminal.end()


class Summary:
    """A tool that prints everything at its end."""

    def __init__(self, argv, ready, told):
        self.argv, self.ready, self.told = argv, ready, told
        self.root = self.terminal = None

    def start(self, root):
        self.root = root
        self.terminal = Terminal(root, *self.argv)
        self.seen = self.terminal.after(0, self.ready)[1]

    def measure(self, work):
        if self.terminal.process.poll() is not None:
            self.start(self.root)
        work()
        self.terminal.interrupt()
        match, _ = self.terminal.after(self.seen, self.told)
        self.terminal.process.wait()
        return [float(v) for v in match.groups()], 1

    def idle(self):
        """The tool prints no rows: its output for an empty workload contains what it prints without
        one."""
        return [0, 0]

    def end(self):
        if self.terminal:
            self.terminal.end()


NUMBER = r"([\d.]+)"
TOOLS = {
    "cachestat (bcc)": lambda: Rows(["/usr/sbin/cachestat-bpfcc", "4"], "^HITS",
                                     rf"^{NUMBER}\s+{NUMBER}\s+\d+\s+[\d.]+%"),
    "vfsstat (libbpf-tools)": lambda: Rows(["/usr/sbin/vfsstat-libbpf", "1"], r"READ/s",
                                           rf"^\S+:?\s+{NUMBER}\s+{NUMBER}\s"),
    "readahead (libbpf-tools)": lambda: Summary(
        ["/usr/sbin/readahead-libbpf"], "Tracing", rf"unused/total pages:\s*{NUMBER}/{NUMBER}"),
}


def keep(what, result):
    with open(f"/out/{what}.json", "w", encoding="ascii") as f:
        json.dump({"release": os.uname().release, "tools": result}, f)


def mount(root):
    subprocess.run(["mount", "-t", "devpts", "pts", "/dev/pts"], check=True)
    for name in ("proc", "sys", "dev"):
        subprocess.run(["mount", "--rbind", "/" + name, os.path.join(root, name)], check=True)


def in_child(name):
    """A workload, without the start of a program."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            peers_work.run(name, DIR)
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(pid, 0)[1]:
        raise RuntimeError(f"workload {name} failed")


def cached_around(name, work):
    """Runs it, and compares the expected counts with the kernel's."""
    before = peers_work.cached(DIR, name)
    result = work()
    want, after = WORKLOADS[name], peers_work.cached(DIR, name)
    # Pages that a workload writes itself did not exist before.
    found = (want.written or before, after - (want.written or before))
    if before and want.written or found != (want.hits, want.misses):
        raise RuntimeError(f"{name}: the kernel says {before}, then {after}")
    return result


def errors_of(tool, root):
    try:
        tool.start(root)
        # The tool's answers for no work, and for a process that does nothing.
        idle = tool.idle()
        noise = []
        for _ in range(EMPTY_RUNS):
            values, rows = tool.measure(lambda: in_child("empty"))
            noise.append([v - i * rows for v, i in zip(values, idle)])
        noise = [statistics.median(column) for column in zip(*noise)]
        told = {}
        for name in WORKLOADS:
            peers_work.prepare(name, DIR)
            values, rows = cached_around(name, lambda name=name: tool.measure(
                lambda: in_child(name)))
            told[name] = {"said": values, "rows": rows, "net": [
                v - n - i * rows for v, n, i in zip(values, noise, idle)]}
        return {"idle": idle, "noise": noise, "told": told}
    except Silent as e:
        return {"fails": str(e)}
    finally:
        tool.end()


def errors_of_cachemon(cachemon):
    told = {}
    for name, workload in WORKLOADS.items():
        peers_work.prepare(name, DIR)
        job = ["python3", peers_work.__file__, name, DIR]
        cached_around(name, lambda job=job: subprocess.run(
            [cachemon, "watch", "--level", "full", "--db", DB, "--job", "peers", "--", *job],
            check=True))
        done = subprocess.run([cachemon, "report", "--db", DB, "--format", "json"],
                              stdout=subprocess.PIPE, check=True)
        path = os.path.join(DIR, workload.file)
        told[name] = next(f["totals"] for f in json.loads(done.stdout)["jobs"][0]["files"]
                          if f["path"] == path)
    return {"told": told}


def errors(build, root):
    cachemon = os.path.join(build, "cachemon/cachemon")
    with open("/sys/block/vda/queue/read_ahead_kb", "w", encoding="ascii") as f:
        f.write("128")
    os.mkdir(DIR)
    peers_work.make_files(DIR)
    result = {"cachemon": errors_of_cachemon(cachemon)}
    for name, make in TOOLS.items():
        keep("errors", result)
        result[name] = errors_of(make(), root)
    return result


def loop(build):
    argv = [os.path.join(build, "tests/bench/icount_loop"), icount_guest.FILE, icount_guest.OUT,
            str(icount_guest.BLOCKS), str(icount_guest.READS)]
    subprocess.run(argv, check=True)
    return statistics.quantiles([clock / icount_guest.READS for clock, _ in icount_guest.blocks()],
                                n=4)[0]


def cost_of(tool, root, build):
    try:
        tool.start(root)
        return {"reads": [loop(build) for _ in range(2)]}
    except Silent as e:
        return {"fails": str(e)}
    finally:
        tool.end()


def cost(build, root):
    icount_guest.make_file()
    result = {"nothing": {"reads": [loop(build)]}}
    for name, make in TOOLS.items():
        keep("cost", result)
        result[name] = cost_of(make(), root, build)
    result["nothing"]["reads"].append(loop(build))
    return result


def main():
    what, build, root = sys.argv[1:]
    if what == "calls":
        keep(what, peers_calls.calls(build))
        return
    mount(root)
    keep(what, {"errors": errors, "cost": cost}[what](build, root))


if __name__ == "__main__":
    main()
