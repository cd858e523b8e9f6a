# SPDX-License-Identifier: BSD-2-Clause
"""The results of a guest, judged by the groups of figures that the doctor names."""

import json
import os
import re

GROUPS = {
    "reads": ("read_calls", "read_bytes", "lookups", "hits"),
    "delayed hits": ("delayed_hits",),
    "windows": ("misses", "demand_pages", "prefetched_pages", "sync_async", "willneed",
                "readahead2", "mmap_around", "untracked"),
    "fates": ("used", "used_late", "evicted_unused", "resident_unused"),
    "pages": ("written_pages", "added", "evicted", "evicted_dontneed", "evicted_drop_caches",
              "evicted_truncate", "evicted_direct_io", "balance"),
    "refaults": ("refaults", "refault_misses"),
    "faults": ("major",),
    "direct reads": ("direct_read_bytes",),
}
# Errors outside of figures: the law, the sums, losses, and failed tools.
REST = "the rest"
# Bytes by the NFS client's own count.
MOUNTSTATS = "mountstats"
# Root has no rights there: the output of nfs_home.py, in a guest whose file HOME_OF names the
# column.
HOME = "NFS home"
HOME_OF = "home"
GROUP_OF = {column: group for group, columns in GROUPS.items() for column in columns}


class Verdict:
    """One group on one filesystem: exact, off, failed, absent, or unseen (covered by no
    pattern)."""

    def __init__(self, state, text=None, why=None):
        self.state = state
        self.text = text or state
        self.why = why

    def __str__(self):
        return self.text


class Absent(Exception):
    """Nothing is measured here; the text gives the reason."""


def read_json(path):
    try:
        with open(path) as f:
            return json.load(f)
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def read_text(path):
    try:
        with open(path, errors="replace") as f:
            return f.read().strip()
    except FileNotFoundError:
        return ""


class Guest:
    """The output directory of one guest."""

    def __init__(self, out):
        self.out = out
        self.doctor = read_json(self.path("doctor.json")) or {}
        self.broken = self.why_broken()

    def path(self, name):
        return os.path.join(self.out, name)

    def why_broken(self):
        """Why nothing here can be judged: the guest failed, or watch and doctor disagree."""
        if not self.doctor:
            return f"doctor says nothing: {read_text(self.path('doctor.err')) or 'no output'}"
        status = read_text(self.path("watch.status"))
        possible = self.doctor["watch"]["possible"]
        if status != "0" and possible:
            last = read_text(self.path("watch.log")).splitlines()[-1:] or ["(silent)"]
            return f"doctor calls a watch possible, watch exits {status}: {last[0]}"
        if status == "0" and not possible:
            return f"watch works, doctor denies it: {self.doctor['watch']['reason']}"
        return None

    def missing(self, group):
        """The doctor's reason why a group is not measured; None: it is measured."""
        if not self.doctor["watch"]["possible"]:
            return self.doctor["watch"]["reason"]
        for entry in self.doctor["groups"]:
            if entry["group"] == group and not entry["measured"]:
                return entry["reason"]
        return None

    def judge(self, fs):
        """Verdict by group. Absent if the filesystem is not available."""
        if self.broken:
            return {REST: Verdict("failed", why=self.broken)}
        absent = read_text(self.path(fs + ".absent"))
        if absent:
            raise Absent(absent)
        if not self.doctor["watch"]["possible"]:
            return {group: Verdict("absent", why=self.missing(group)) for group in GROUPS}
        told = read_json(self.path(fs + ".json"))
        if told is None:
            last = read_text(self.path(fs + ".log")).splitlines()[-1:] or ["no output"]
            return {REST: Verdict("failed", why=f"truth gave no result: {last[0]}")}
        cells = told["cells"]
        verdicts = {group: self.judge_group(group, cells) for group in GROUPS}
        verdicts[REST] = self.judge_whole(fs, cells)
        if fs == "nfs":
            verdicts[MOUNTSTATS] = judge_part(read_text(self.path("nfs.part")))
        if read_text(self.path(HOME_OF)) == fs:
            verdicts[HOME] = judge_part(read_text(self.path("home.part")))
        return verdicts

    def judge_whole(self, fs, cells):
        """Errors outside of figures; every requested pattern must be there."""
        ran = {c["pattern"] for c in cells}
        lacking = [p for p in read_text(self.path(fs + ".patterns")).split() if p not in ran]
        if not lacking:
            return judge_rest(cells)
        last = read_text(self.path(fs + ".log")).splitlines()[-1:] or ["no output"]
        return Verdict("failed", why=f"{len(lacking)} patterns gave no result, from "
                                     f"{lacking[0]} on: {last[0][-200:]}")

    def judge_group(self, group, cells):
        found = [(c, name, e) for c in cells if c["state"] != "skipped"
                 for name, e in c["counters"].items() if GROUP_OF.get(name) == group]
        if not found:
            return Verdict("unseen", "-")
        off = [(c, name, e) for c, name, e in found if e["state"] == "off"]
        if off:
            silent = [e for _, _, e in off if e["off_by"] is None]
            text = "off" if silent else f"off by {sum(e['off_by'] for _, _, e in off)}"
            return Verdict("off", text, "; ".join(f"{c['pattern']}: {name} {e['got']} for "
                                                  f"{e['expected']}" for c, name, e in off))
        absent = [e["reason"] for _, _, e in found if e["state"] == "absent"]
        if absent:
            return Verdict("absent", why=self.missing(group) or absent[0])
        return Verdict("exact")


def judge_rest(cells):
    bad = sum(bool(notes_of(c)) for c in cells)
    known = [c for c in cells if c["state"] != "skipped"]
    if bad:
        return Verdict("failed", why=f"in {bad} of {len(cells)} patterns")
    return Verdict("exact") if known else Verdict("unseen", "-")


def judge_part(log):
    """The counts of a part of the tests, from its output."""
    wrong = [line for line in log.splitlines() if line.startswith("FAILED")]
    if wrong or not re.search(r"^[1-9]\d* passed, 0 failed", log, re.MULTILINE):
        return Verdict("failed", why="; ".join(wrong) or log.splitlines()[-1:] or "no output")
    return Verdict("exact")


def notes_of(cell):
    """Errors of a cell besides its figures."""
    if cell["state"] != "off":
        return []
    notes = [n for n in cell["notes"] if not n.startswith(("kept: ", "probe "))]
    return notes or ([] if cell["wrong"] else ["failed without saying why"])


def skipped(cells):
    return [(c["pattern"], c["skipped"]["reason"]) for c in cells if c["state"] == "skipped"]
