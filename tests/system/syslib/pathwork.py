# SPDX-License-Identifier: BSD-2-Clause
"""Both sides of the path cases: the worker that runs under cachemon, and the judge.

All cases are one job and one run, each in its own process, because they chroot and unshare. A
case reports what it read and the names of the file. If an interval must pass, it asks for one by
a line on stdout, and gets a line on stdin."""

import json
import os
import sys
import traceback

from .part import Failed, check, equal
from .pathcase import cases
from .reads import Reads, identity
from .tool import named_files, raw_path


class Places:
    """Directories of one case, on each filesystem of the part."""

    def __init__(self, base, case):
        self.base = base
        self.case = case

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        path = os.path.join(self.base, name, self.case)
        os.makedirs(path, exist_ok=True)
        return path


class Worker:
    def __init__(self, base, case):
        self.at = Places(base, case)
        self.reads = Reads()
        self.expected = []

    def open(self, path):
        return os.open(path, os.O_RDONLY)

    def read(self, *fds):
        for fd in fds:
            self.reads.all(fd)

    def sync(self):
        """Returns when everything done so far is in the database."""
        print("sync", flush=True)
        if not sys.stdin.readline():
            sys.exit("nobody watches any more")

    def expect(self, file, *paths, deleted=False, absolute=True, counts_of=None,
               size=None):
        """The right names of this file; none: it must be listed without one.

        file is a descriptor, or the result of identity(); counts_of is the descriptor that was
        read, if it is another layer's. absolute=False: a path that is marked as incomplete at
        its beginning is right too. deleted=None: either is right. size: in bytes, if the case is
        about it."""
        key = identity(file) if isinstance(file, int) else file
        read = key if counts_of is None else identity(counts_of)
        self.expected.append({
            "id": key, "counts": self.reads.files.get(read), "deleted": deleted,
            "absolute": absolute, "size": size, "paths": [os.fsencode(p).hex() for p in paths]})

    def expect_only(self, counts):
        """Other counts for the last file reported."""
        self.expected[-1]["counts"] = counts

    def absent(self, fd):
        self.expected.append({"id": identity(fd), "absent": True})

    def expect_block(self, path, counts):
        self.expected.append({"block": path, "counts": counts})


def work_one(base, name):
    worker = Worker(base, name)
    error = None
    try:
        cases[name].work(worker)
    except Exception:  # sent to the judge, which names the case
        error = traceback.format_exc()
    print(json.dumps({"case": name, "error": error, "expected": worker.expected}), flush=True)
    return worker


def work(base, names):
    """One after the other; each process stays with its open files until all are done."""
    end, hold = os.pipe()
    for name in names:
        done, told = os.pipe()
        if not os.fork():
            os.close(hold)
            os.close(done)
            kept = work_one(base, name)
            os.close(told)
            os.read(end, 1)
            os._exit(0 if kept else 1)
        os.close(told)
        os.read(done, 1)
        os.close(done)
    os.close(hold)
    for _ in names:
        os.wait()
    return 0


def entry_of(job, key):
    dev, ino, gen = key.split()
    found = [e for e in named_files(job) if e["dev"] == dev and e["ino"] == int(ino)
             and gen in ("-", str(e["gen"]))]
    check(len(found) < 2, f"{len(found)} entries of one file, {key}")
    return found[0] if found else None


def judge(expected, job):
    for want in expected:
        if "block" in want:
            judge_block(want, job)
            continue
        entry = entry_of(job, want["id"])
        if want.get("absent"):
            reads = entry["totals"]["read_calls"] if entry else 0
            equal(f"reads of {want['id']}, whose data is not in the page cache's files", reads, 0)
            continue
        judge_one(want, entry)


def judge_block(want, job):
    """All of its nodes have one device and one name, the kernel's."""
    found = [e for e in named_files(job) if raw_path(e) == want["block"].encode()]
    equal(f"entries of {want['block']}", len(found), 1)
    for name, value in want["counts"].items():
        equal(f"{want['block']}: {name}", found[0]["totals"][name], value)


def short(path):
    return repr(path if len(path) < 120 else path[:40] + b"[...]" + path[-60:])


def judge_one(want, entry):
    paths = [bytes.fromhex(p) for p in want["paths"]]
    label = short(paths[0][-60:]) if paths else f"file {want['id']}"
    check(entry, f"{label}: no entry of {want['id']}")
    got = raw_path(entry)
    unknown_beginning = got is not None and not got.startswith(b"/")
    if not paths:
        check(got is None, f"{label}: it has no name, yet the report says {got!r}")
    elif unknown_beginning and not want["absolute"]:
        check(any(p.endswith(got.lstrip(b".")) for p in paths),
              f"{label}: {short(got)} is not the end of its path")
    elif got not in paths:
        raise Failed(f"named {short(got or b'')}, not {' or '.join(map(short, paths))}")
    if want["deleted"] is not None:
        equal(f"{label}: deleted", bool(entry.get("deleted")), want["deleted"])
    if want["size"] is not None:
        equal(f"{label}: bytes", entry["size_bytes"], want["size"])
    for name, value in (want["counts"] or {}).items():
        equal(f"{label}: {name}", entry["totals"][name], value)


class PathRun:
    """The one run of all cases; made when the first of them is judged."""

    def __init__(self, tool, base, program, names):
        self.tool = tool
        self.base = base
        self.program = program
        self.names = names
        self.job = None
        self.broken = None
        self.told = {}

    def _serve(self, watch):
        for line in watch.process.stdout:
            if line == "sync\n":
                watch.wait_intervals(2)
                watch.process.stdin.write("go\n")
                watch.process.stdin.flush()
            else:
                answer = json.loads(line)
                self.told[answer["case"]] = answer

    def run(self, stack):
        for name in self.names:
            cases[name].before(Places(self.base, name))
        watch = self.tool.watch(stack, ["--level", "full", "--interval", "100ms"],
                                [sys.executable, self.program, "--work", self.base, *self.names],
                                stdin=-1, encoding="utf-8")
        self._serve(watch)
        _, self.job, _ = watch.end()

    def judge(self, name, stack):
        check(not self.broken, f"the run of all cases failed: {self.broken}")
        if self.job is None:
            try:
                self.run(stack)
            except Exception as e:
                self.broken = e
                raise
        told = self.told.get(name)
        check(told, "the worker said nothing")
        check(not told["error"], f"the worker: {told['error']}")
        check(told["expected"], "the worker expects nothing")
        judge(told["expected"], self.job)
