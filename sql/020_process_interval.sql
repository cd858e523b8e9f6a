-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 20. How long each process of the job waited for the page cache in each interval. Each
-- interval has the 64 processes that waited longest; the rest of the job's stall_ns was in others.
-- Older runs have no rows.

CREATE TABLE process_interval (
	interval_id INTEGER NOT NULL REFERENCES interval(id) ON DELETE CASCADE,
	pid INTEGER NOT NULL CHECK (pid >= 0),  -- as cachemon sees it; 0: it has none there
	command TEXT,                           -- of its first thread, at most 15 bytes
	stall_ns INTEGER NOT NULL CHECK (stall_ns >= 0),
	stalls INTEGER NOT NULL CHECK (stalls >= 0),
	PRIMARY KEY (interval_id, pid)
) STRICT, WITHOUT ROWID;
