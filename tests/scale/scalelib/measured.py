# SPDX-License-Identifier: BSD-2-Clause
"""A run of 'watch' that is observed from outside: memory of the collector, kernel memory of its
maps, size of its database."""

import json
import os
import subprocess
import time

from faultlib.bpf import held_by
from faultlib.part import Skipped, expect
from faultlib.watch import Db

STEP_S, MAPS_STEP_S = 0.05, 0.2


def build_job(case):
    """scale_job.c, compiled."""
    out = case.path("scale_job")
    source = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                          "scale_job.c")
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o", out, source],
                   check=True)
    return out


def load(path):
    with open(path, encoding="ascii") as f:
        return json.load(f)


def status_kb(pid, field):
    """A line of /proc/PID/status, or None if the process is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            return next((int(line.split()[1]) for line in f if line.startswith(field + ":")), None)
    except (FileNotFoundError, ProcessLookupError):
        return None


def mapped_maps_kb(pid):
    """Pages of BPF maps in the resident memory of a process."""
    kb, inside = 0, False
    try:
        with open(f"/proc/{pid}/smaps", encoding="utf-8") as f:
            for line in f:
                if "-" in line.split(" ", 1)[0]:
                    inside = line.rstrip().endswith("anon_inode:bpf-map")
                elif inside and line.startswith("Rss:"):
                    kb += int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return kb


def maps_of(pid):
    """{name: bytes charged by the kernel} of the maps that a process holds."""
    ids = {number for kind, number in held_by(pid) if kind == "map"}
    shown = subprocess.run(["bpftool", "-j", "map", "show"], capture_output=True, check=False)
    if shown.returncode:
        return {}  # a map vanished while it was listed
    return {entry.get("name", str(entry["id"])): int(entry["bytes_memlock"])
            for entry in json.loads(shown.stdout) if entry["id"] in ids}


def size_of(path):
    """Bytes on disk, including the write-ahead log."""
    size = 0
    for name in (path, path + "-wal"):
        try:
            size += os.stat(name).st_blocks * 512
        except FileNotFoundError:
            pass
    return size


class Measured:
    """One run: the job's own count, the database, the observations."""

    def __init__(self, case, job, name, arguments, options=()):
        self.db = Db(case.path(name + ".db"))
        self.job_out, self.peak_out = case.path(name + ".json"), case.path(name + ".peak")
        self.marks = []  # (peak so far, pages of maps now), kB
        self.maps = []
        self.db_peak = 0
        err = case.path(name + ".err")
        start = time.monotonic()
        with open(err, "wb") as f:
            process = case.adopt(subprocess.Popen(
                [job, "peak", self.peak_out, case.cachemon, "watch", "--level", "full", *options,
                 "--db", self.db.path, "--", job, arguments[0], self.job_out,
                 *map(str, arguments[1:])],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=f))
        self._watch(process, int(process.stdout.readline()))
        self.seconds = time.monotonic() - start
        with open(err, encoding="utf-8", errors="replace") as f:
            said = f.read()
        expect(process.returncode == 0, f"cachemon cannot be started: {said!r}")
        self.end = load(self.peak_out)
        if self.end["status"] == 77:
            raise Skipped("this kernel has no cachestat(2)")
        expect(self.end["status"] == 0, f"status {self.end['status']}, says {said!r}")
        self.truth = load(self.job_out)
        self.db_size = size_of(self.db.path)

    def _watch(self, process, pid):
        """Until it ends. An exiting process has no memory any more."""
        maps_at = 0
        while process.poll() is None:
            peak, mapped = status_kb(pid, "VmHWM"), mapped_maps_kb(pid)
            if peak:
                self.marks.append((peak, mapped))
            if mapped and time.monotonic() >= maps_at:
                maps_at = time.monotonic() + MAPS_STEP_S
                self.maps.append(maps_of(pid))
            self.db_peak = max(self.db_peak, size_of(self.db.path))
            try:
                process.wait(STEP_S)
            except subprocess.TimeoutExpired:
                pass

    def own_bytes(self):
        """Peak of resident memory without the maps, including programs and libraries. A new peak
        was reached between two looks: it includes at least the smaller number of map pages.
        After the last look, everything counts."""
        own, before = 0, (0, 0)
        for peak, mapped in self.marks:
            if peak > before[0]:
                own = max(own, peak - min(mapped, before[1]))
            before = (peak, mapped)
        expect(before[0] and max(mapped for _, mapped in self.marks),
               "the run was too short to be looked at")
        late = self.end["peak_bytes"]
        return max(1024 * own, late if late > 1024 * before[0] else 0)

    def intervals(self):
        return self.db.one("SELECT count(*) FROM interval WHERE run_id = 1")
