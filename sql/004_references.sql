-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 4. References of sampled pages, from which the miss-ratio curve is computed. A page is in
-- the sample when the hash of (file, page) is below the threshold. Every lookup of such a page is
-- here, in order. Runs from before have no rows here.

CREATE TABLE reference_sample (
	job_id INTEGER PRIMARY KEY REFERENCES job(id) ON DELETE CASCADE,
	state TEXT NOT NULL CHECK (state IN ('whole', 'broken')), -- broken: it ends before the run
	reason TEXT,                            -- why it is broken
	threshold INTEGER NOT NULL CHECK (threshold BETWEEN 0 AND 4294967296), -- of 2^32
	pages INTEGER NOT NULL CHECK (pages >= 0),   -- distinct pages in the sample
	refs INTEGER NOT NULL CHECK (refs >= 0),     -- lookups of these pages, without removals
	lookups INTEGER NOT NULL CHECK (lookups >= 0), -- all lookups of the job while sampled
	distinct_pages INTEGER CHECK (distinct_pages >= 0),
	                                        -- pages the job looked up; NULL: not known
	distinct_error REAL CHECK (distinct_error >= 0)     -- its relative standard error; 0: exact
) STRICT;

-- The threshold may fall during a run. Rows and entries of pages that are no longer in the sample
-- may remain: skip pages whose hash is at or above the threshold. Numbers may have gaps; each entry
-- names a row.
CREATE TABLE reference_page (
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	number INTEGER NOT NULL CHECK (number >= 0),
	dev_major INTEGER NOT NULL,
	dev_minor INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	gen INTEGER NOT NULL,
	page_index INTEGER NOT NULL,
	hash INTEGER NOT NULL CHECK (hash BETWEEN 0 AND 4294967295),
	PRIMARY KEY (job_id, number)
) STRICT, WITHOUT ROWID;

-- The references between two samples.
CREATE TABLE reference_chunk (
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	seq INTEGER NOT NULL CHECK (seq >= 0),
	start_ns INTEGER NOT NULL,              -- since the start of the run
	lookups INTEGER NOT NULL,
	                                        -- of the job, from its start to the end of this
	                                        -- chunk
	refs INTEGER NOT NULL,                  -- entries in data, including removals
	data BLOB NOT NULL,
	                                        -- one LEB128 varint per entry: number << 1 |
	                                        -- removed
	PRIMARY KEY (job_id, seq)
) STRICT, WITHOUT ROWID;

-- Why a job has no row in reference_sample.
CREATE TABLE reference_absent (
	job_id INTEGER PRIMARY KEY REFERENCES job(id) ON DELETE CASCADE,
	reason TEXT NOT NULL
) STRICT;
