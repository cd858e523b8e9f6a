# SPDX-License-Identifier: BSD-2-Clause
"""An invented run, interval by interval, as watch would write it: its content is known."""

import glob
import os
import sqlite3

REPO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
SECOND = 10**9
STARTED_NS = 1790000000 * SECOND
FILES, PER_DIRECTORY = 40, 10
COUNTS = ("read_calls", "read_bytes", "lookups", "delayed_hits", "misses", "demand_pages", "prefetched_sync",
          "prefetched_async", "prefetched_willneed", "prefetched_readahead2", "prefetched_mmap_around", "used",
          "used_late", "evicted_unused", "resident_unused", "untracked", "windows_sync", "windows_async",
          "windows_forced", "window_log2_2", "window_log2_5", "evicted_reclaim_kswapd", "evicted_reclaim_direct",
          "evicted_reclaim_memcg", "evicted_dontneed", "evicted_drop_caches", "evicted_truncate",
          "evicted_direct_io", "evicted_other", "refaults", "stall_ns", "stalls")


def counts(weight, second):
    """Counters of a file of this weight in this second; all known to the test."""
    lookups = 100 * weight + 10 * (second % 7)
    misses = 10 * weight + second % 5
    row = dict.fromkeys(COUNTS, 0)
    row.update(read_calls=lookups // 4, read_bytes=lookups * 4096, lookups=lookups, misses=misses,
               demand_pages=misses, prefetched_async=2 * weight, used=weight, evicted_unused=weight,
               windows_async=weight, window_log2_2=weight // 2, window_log2_5=weight - weight // 2,
               evicted_reclaim_kswapd=weight, refaults=weight // 2, stall_ns=misses * 100000, stalls=misses)
    return row


def added(rows):
    return {name: sum(row[name] for row in rows) for name in COUNTS}


class MadeRun:
    """A database with a run of one second per interval. files: paths, or byte strings for odd
    names."""

    def __init__(self, path, job="train", files=None, level="full"):
        self.path = path
        self.seconds = 0
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        for name in sorted(glob.glob(os.path.join(REPO, "sql", "[0-9]*.sql"))):
            with open(name, encoding="utf-8") as f:
                self.db.executescript(f.read())
            version = int(os.path.basename(name).split("_")[0])
        self.db.execute(f"PRAGMA user_version = {version}")
        self.files = files or [b"/data/%d/part-%02d.tar" % (i // PER_DIRECTORY, i) for i in range(FILES)]
        self.db.execute(
            "INSERT INTO run (id, uuid, cachemon, host, kernel, arch, started_ns, duration_ns, state, writer_boot, "
            "writer_pidns, writer_pid, writer_start_ticks, level, read_on_ns, advice_mode, interval_ns, "
            "page_size_bytes, memory_bytes, map_bytes) VALUES (1, 'u-made', '0', 'node', '6.18', 'x86_64', ?, 0, "
            "'open', 'b', 0, 1, 0, ?, 0, 'effects', ?, 4096, 17179869184, 0)", (STARTED_NS, level, SECOND))
        self.db.executemany("INSERT INTO job (id, run_id, slot, name, selector) VALUES (?, 1, ?, ?, ?)",
                            [(1, 1, job, "pid: 1"), (2, 0, "(others)", "all others")])
        folders = sorted({os.path.dirname(p) for p in self.files})
        self.db.executemany("INSERT INTO directory (id, job_id, path, files) VALUES (?, 1, ?, 10)",
                            [(i + 1, p) for i, p in enumerate(folders)])
        self.db.executemany(
            "INSERT INTO file (id, job_id, directory_id, dev_major, dev_minor, ino, gen, path) VALUES "
            "(?, 1, ?, 8, 1, ?, 1, ?)",
            [(i + 1, folders.index(os.path.dirname(p)) + 1, i + 10, p) for i, p in enumerate(self.files)])

    def insert(self, table, keys, row):
        names = [*keys, *row]
        self.db.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
                        [*keys.values(), *row.values()])

    def add(self, rest=0):
        """Adds one interval in a transaction; rest: the weight of files without a row."""
        s = self.seconds
        rows = [counts(i + 1, s) for i in range(len(self.files))]
        self.db.execute("BEGIN")
        self.db.execute("INSERT INTO interval (id, run_id, start_ns, duration_ns, read_on_ns) VALUES (?, 1, ?, ?, ?)",
                        (s + 1, s * SECOND, SECOND, SECOND))
        for i, row in enumerate(rows):
            self.insert("file_interval", {"interval_id": s + 1, "file_id": i + 1}, row)
        whole = added([*rows, counts(rest, s)] if rest else rows)
        self.insert("job_interval", {"interval_id": s + 1, "job_id": 1, "cpu_ns": SECOND // 2, "rchar_bytes": 1},
                    whole)
        self.insert("job_interval", {"interval_id": s + 1, "job_id": 2}, {"misses": 7, "lookups": 70})
        self.db.execute("UPDATE run SET duration_ns = ?", ((s + 1) * SECOND,))
        self.db.execute("COMMIT")
        self.seconds += 1
        return whole

    def end(self):
        self.db.execute("UPDATE run SET state = 'complete'")

    def close(self):
        self.db.close()
