-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 4. References of sampled pages: what a miss-ratio curve is made of. A page is in the sample
-- when the hash of (file, page) lies below the threshold; every lookup of every such page is here, in
-- order. Runs recorded before have no rows here.

CREATE TABLE reference_sample (
	job_id INTEGER PRIMARY KEY REFERENCES job(id) ON DELETE CASCADE,
	state TEXT NOT NULL CHECK (state IN ('whole', 'broken')), -- broken: it ends before the run does
	reason TEXT,                            -- why it is broken
	threshold INTEGER NOT NULL CHECK (threshold BETWEEN 0 AND 4294967296), -- of 2^32
	pages INTEGER NOT NULL CHECK (pages >= 0),   -- distinct ones in the sample
	refs INTEGER NOT NULL CHECK (refs >= 0),     -- their lookups; removals are not among them
	lookups INTEGER NOT NULL CHECK (lookups >= 0), -- of the job while it was sampled
	distinct_pages INTEGER CHECK (distinct_pages >= 0), -- that the job looked up; NULL: not known
	distinct_error REAL CHECK (distinct_error >= 0)     -- relative standard error of that; 0: exact
) STRICT;

-- Pages that a falling threshold has put out of the sample may be left, and their entries: whoever
-- reads skips those whose hash is at or above it. Numbers may have gaps; each entry names a row.
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

-- What came between two samples.
CREATE TABLE reference_chunk (
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	seq INTEGER NOT NULL CHECK (seq >= 0),
	start_ns INTEGER NOT NULL,              -- since the start of the run
	lookups INTEGER NOT NULL,               -- of the job from its start to the end of the chunk
	refs INTEGER NOT NULL,                  -- entries in data, removals too
	data BLOB NOT NULL,                     -- a LEB128 varint for each: number << 1 | removed
	PRIMARY KEY (job_id, seq)
) STRICT, WITHOUT ROWID;

-- Why a job has no row in reference_sample.
CREATE TABLE reference_absent (
	job_id INTEGER PRIMARY KEY REFERENCES job(id) ON DELETE CASCADE,
	reason TEXT NOT NULL
) STRICT;
