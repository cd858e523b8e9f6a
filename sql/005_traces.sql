-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 5. All accesses to some of the job's files, for readahead replays. Runs from before have
-- no rows here.

-- A traced file. Its accesses are complete from its first chunk to its last. The last chunk of a
-- broken trace is earlier than the end of the run.
CREATE TABLE traced_file (
	id INTEGER PRIMARY KEY,
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	dev_major INTEGER NOT NULL,
	dev_minor INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	gen INTEGER NOT NULL,
	path BLOB,                              -- last name seen
	fstype TEXT,
	size_bytes INTEGER,                     -- last size seen
	ra_pages INTEGER,                       -- readahead of its device when it was chosen
	io_pages INTEGER,
	max_order INTEGER,
	                                        -- largest folio order; 0: single pages; NULL: not
	                                        -- known
	stratum INTEGER,
	                                        -- class of its size when chosen: 0 is below 16 KiB,
	                                        -- each next one 8 times as large; NULL: chosen
	                                        -- because it was read most
	stands_for REAL,
	                                        -- files of its stratum that it represents, itself
	                                        -- included; NULL: it represents none
	state TEXT NOT NULL CHECK (state IN ('whole', 'broken')),
	reason TEXT,                            -- of broken
	began TEXT NOT NULL CHECK (began IN ('cold', 'warm')),
	                                        -- cold: traced since its first access in the run,
	                                        -- with none of its pages cached
	UNIQUE (job_id, dev_major, dev_minor, ino, gen)
) STRICT;

-- Events in order, encoded as in cachemon/figures/trace_code.h. Each chunk can be decoded alone.
CREATE TABLE trace_chunk (
	traced_file_id INTEGER NOT NULL REFERENCES traced_file(id) ON DELETE CASCADE,
	seq INTEGER NOT NULL,
	events INTEGER NOT NULL CHECK (events > 0),
	data BLOB NOT NULL,
	PRIMARY KEY (traced_file_id, seq)
) STRICT, WITHOUT ROWID;

-- Why a job has no traces, or none after some time.
CREATE TABLE trace_absent (
	job_id INTEGER PRIMARY KEY REFERENCES job(id) ON DELETE CASCADE,
	reason TEXT NOT NULL
) STRICT;
