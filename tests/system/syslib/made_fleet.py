# SPDX-License-Identifier: BSD-2-Clause
"""Databases of invented nodes, with every row known, and rows under names that a merge keeps."""

import contextlib
import glob
import hashlib
import os
import sqlite3

REPO = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
NEWEST = max(int(os.path.basename(n)[:3]) for n in glob.glob(os.path.join(REPO, "sql", "[0-9]*.sql")))
SECOND, PAGE = 10**9, 4096
STARTED_NS = 1790000000 * SECOND


def sql(name):
    with open(os.path.join(REPO, "sql", name), encoding="utf-8") as f:
        return f.read()


def migrated(path, versions):
    """Applies these migrations."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        for name in sorted(glob.glob(os.path.join(REPO, "sql", "[0-9]*.sql"))):
            number = int(os.path.basename(name)[:3])
            if number in versions:
                db.executescript(f"BEGIN; {sql(os.path.basename(name))}; PRAGMA user_version = {number}; COMMIT;")
    return path


def uuid_of(*words):
    h = hashlib.sha256(repr(words).encode()).hexdigest()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:32]}"


class Node:
    """A node's database: runs of its daemon, each of one job."""

    def __init__(self, path, host):
        self.path, self.host = path, host
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript(sql("schema.sql") + f"; PRAGMA user_version = {NEWEST}; BEGIN")

    def put(self, table, **columns):
        return self.db.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES "
                               f"({', '.join('?' * len(columns))})", tuple(columns.values())).lastrowid

    def run(self, external_id, *, counts=None, files=(), processes=(), intervals=3, state="complete", kind="slurm",
            uid=1000, wall_s=30, cpu_ns=7 * SECOND, mount=b"/data", start=0, **run):
        """counts: of the job; files: (path, size, pages brought in); processes: (pid, command,
        stall, reads)."""
        host = run.pop("host", self.host)
        run_id = self.put("run", uuid=run.pop("uuid", uuid_of(host, external_id, start)), cachemon="0.1.0", host=host,
                          kernel="6.18", arch="x86_64", started_ns=STARTED_NS + start, duration_ns=wall_s * SECOND,
                          state=state, writer_boot=f"boot of {host}", writer_pidns=1, writer_pid=1,
                          writer_start_ticks=1, level="full", read_on_ns=wall_s * SECOND, advice_mode="effects",
                          interval_ns=10 * SECOND, page_size_bytes=PAGE, memory_bytes=1 << 34, map_bytes=0, **run)
        self.put("probe", run_id=run_id, role="page_add", hook="tp_btf:mm_filemap_add_to_page_cache", state="live")
        self.put("unmeasured", run_id=run_id, counter="faults_minor", reason="not chosen")
        self.put("machine", run_id=run_id, memory_total_bytes=1 << 34, nr_cpus=64)
        self.put("device", run_id=run_id, dev_major=8, dev_minor=1, name="sda1", rotational=0, network=0)
        self.put("job", run_id=run_id, slot=0, name="(others)", selector="all others")
        job = self.put("job", run_id=run_id, slot=1, name=f"{kind}:{external_id}", selector=f"cgroup: /job_{external_id}",
                       processes=len(processes), wall_ns=wall_s * SECOND, cpu_ns=cpu_ns, kind=kind,
                       external_id=str(external_id), uid=uid, job_name="train", partition="gpu", **(counts or {}))
        self.put("filesystem", job_id=job, dev_major=8, dev_minor=1, type="ext4", mount=mount, cover="exact",
                 files=len(files))
        directory = self.put("directory", job_id=job, path=mount, files=len(files))
        file_ids = [self.put("file", job_id=job, directory_id=directory, dev_major=8, dev_minor=1, ino=100 + i, gen=1,
                             fstype="ext4", size_bytes=size, path=path, lookups=pages, misses=pages,
                             demand_pages=pages, prefetched_sync=0, prefetched_async=0, prefetched_willneed=0,
                             prefetched_readahead2=0, prefetched_mmap_around=0)
                    for i, (path, size, pages) in enumerate(files)]
        self.timeline(run_id, job, directory, file_ids[:2], processes, intervals)
        return run_id

    def timeline(self, run_id, job, directory, files, processes, intervals):
        ids = [self.put("interval", run_id=run_id, start_ns=at * 10 * SECOND, duration_ns=10 * SECOND,
                        read_on_ns=10 * SECOND) for at in range(intervals)]
        for table, what, things in (("job_interval", "job_id", [job]), ("directory_interval", "directory_id", [directory]),
                                    ("file_interval", "file_id", files)):
            self.db.executemany(f"INSERT INTO {table} (interval_id, {what}, read_calls, lookups, misses) VALUES (?, ?, ?, ?, ?)",
                                [(i, thing, at, 100 * at, at) for at, i in enumerate(ids) for thing in things])
        self.db.executemany("INSERT INTO machine_interval (interval_id, free_bytes) VALUES (?, ?)",
                            [(i, 1 << 30) for i in ids])
        self.db.executemany("INSERT INTO process_interval (interval_id, pid, command, stall_ns, stalls, rchar_bytes, "
                            "syscr_calls) VALUES (?, ?, ?, ?, 1, ?, 2)",
                            [(i, pid, command, stall // intervals, reads // intervals) for i in ids
                             for pid, command, stall, reads in processes])

    def done(self):
        self.db.commit()
        self.db.close()
        return self.path


# The rows of a table, named without the ids of one database.
NATURAL = {"run": ("uuid",), "job": ("run_id", "slot"), "directory": ("job_id", "path"),
           "file": ("job_id", "dev_major", "dev_minor", "ino", "gen"), "interval": ("run_id", "start_ns"),
           "traced_file": ("job_id", "dev_major", "dev_minor", "ino", "gen")}


def canonical(path, runs=None):
    """{table: sorted rows}, with names of runs, jobs and files in place of ids. runs: only these
    uuids."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        names, result = {}, {}
        tables = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB "
                                           "'sqlite_*' ORDER BY rowid")]

        def named(table, row):
            """The row with names; None if what it belongs to is not there."""
            new = {}
            for key in row.keys():
                parent = key[:-3] if key.endswith("_id") else ""
                if parent in NATURAL and row[key] is not None:
                    if row[key] not in names[parent]:
                        return None
                    new[key] = names[parent][row[key]]
                elif key != "id":
                    new[key] = row[key]
            return new

        for table in tables:
            rows = []
            for row in db.execute(f'SELECT * FROM "{table}"'):
                new = named(table, row)
                if new is None or (table == "run" and runs is not None and row["uuid"] not in runs):
                    continue
                rows.append(tuple(repr(new[k]) for k in sorted(new)))
                if table in NATURAL:
                    names.setdefault(table, {})[row["id"]] = tuple(new[k] for k in NATURAL[table])
            names.setdefault(table, {})
            result[table] = sorted(rows)
        return result
