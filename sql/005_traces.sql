-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 5. All accesses to some of the job's files, for replays of readahead. Runs recorded before
-- have no rows here.

-- A file that was traced. Accesses of a chosen file are never left out: from its first chunk on all
-- are there until its last, which of a broken one is not the end of the run.
CREATE TABLE traced_file (
	id INTEGER PRIMARY KEY,
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	dev_major INTEGER NOT NULL,
	dev_minor INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	gen INTEGER NOT NULL,
	path BLOB,                              -- the last name seen
	fstype TEXT,
	size_bytes INTEGER,                     -- the last one seen
	ra_pages INTEGER,                       -- of its device when it was chosen
	io_pages INTEGER,
	max_order INTEGER,                      -- of its folios: 0 are single pages; NULL: not known
	stratum INTEGER,                        -- of its size when it was chosen: 0 is below 16 KiB, each next one 8 times as large; NULL: chosen for being read much
	stands_for REAL,                        -- files of its stratum, itself included; NULL: none, others do
	state TEXT NOT NULL CHECK (state IN ('whole', 'broken')),
	reason TEXT,                            -- of broken
	began TEXT NOT NULL CHECK (began IN ('cold', 'warm')), -- cold: with the first access in the run, none of its pages cached
	UNIQUE (job_id, dev_major, dev_minor, ino, gen)
) STRICT;

-- Events in order; cachemon/figures/trace_code.h has the encoding. A chunk can be read by itself.
CREATE TABLE trace_chunk (
	traced_file_id INTEGER NOT NULL REFERENCES traced_file(id) ON DELETE CASCADE,
	seq INTEGER NOT NULL,
	events INTEGER NOT NULL CHECK (events > 0),
	data BLOB NOT NULL,
	PRIMARY KEY (traced_file_id, seq)
) STRICT, WITHOUT ROWID;

-- Why a job has no traces, or none from some moment on.
CREATE TABLE trace_absent (
	job_id INTEGER PRIMARY KEY REFERENCES job(id) ON DELETE CASCADE,
	reason TEXT NOT NULL
) STRICT;
